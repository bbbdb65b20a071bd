/* Ctrl-C: the first one ends what runs in good order where that is possible, the second one ends the process. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <parley/asr.h>

#include "common.h"

/* Starts the thread that waits for SIGINT, SIGTERM and SIGHUP (blocked everywhere else, so that nothing has to be safe inside a handler), and
 * ignores SIGPIPE and SIGXFSZ, whose writes then fail with an error. Before any other thread is started. */
parley_status cli_signals_start(parley_error *error);

/* With `on` the first signal from here on cancels instead of ending the process, without it no longer. Whether one came that cancels. */
bool cli_signals_graceful(bool on);
bool cli_signals_cancelled(void);

enum { CLI_MAX_SESSIONS = 64 };

/* Sessions that a signal cancels; one that is watched after the signal is cancelled at once. */
void cli_signals_watch(parley_tts *session);
void cli_signals_watch_asr(parley_asr *session);
/* Of either kind. */
void cli_signals_unwatch(const void *session);

#endif
