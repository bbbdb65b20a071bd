/* Text from standard input, handed to a session while it comes. */
#ifndef CLI_LIVE_TEXT_H
#define CLI_LIVE_TEXT_H

#include <parley/tts.h>

#include "buffer.h"

/* Start from {0}. What a file of this text would lose (cli_text_input()) is kept back until more follows: a byte order mark, the last line end. */
typedef struct cli_live {
    cli_buffer pending; /* read, not handed on */
    size_t read;
    bool begun, ended;
} cli_live;

/* Hands on what is there; with `wait` waits for more, or the end, first. A signal ends the wait. */
parley_status cli_live_feed(cli_live *live, parley_tts *session, bool wait, parley_error *error);

#endif
