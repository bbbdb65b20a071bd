/* Lines on standard error: errors, remarks, the summary, and a progress line that is drawn on a terminal only. */
#ifndef CLI_NOTICE_H
#define CLI_NOTICE_H

#include "common.h"

/* "parley: TEXT". Control characters of what others wrote (file names, model files) are replaced: they could steer the terminal. */
void cli_notice(const char *format, ...) CLI_PRINTF(1, 2);
/* The longer texts that no error holds; in pieces, without prefix. */
void cli_notice_raw(const char *text);

/* Warnings and errors of the library go to cli_notice(). */
extern const parley_logger cli_logger;

/* Frames so far and their speed against real time; drawn at most ten times a second. */
typedef struct cli_progress {
    bool on;
    double started, drawn; /* seconds */
} cli_progress;

void cli_progress_start(cli_progress *progress, bool quiet);
/* `done` of `total` texts are said first when there are several. */
void cli_progress_draw(cli_progress *progress, uint64_t frames, double audio_seconds, size_t done, size_t total);
/* Seconds of sound that are heard, of those that are known of (0: of a stream), and the speed; `done` of `total` files first when there are several.
 */
void cli_progress_draw_heard(cli_progress *progress, double heard, double known, size_t done, size_t total);
void cli_progress_end(cli_progress *progress);

#endif
