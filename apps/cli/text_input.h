/* The text to speak or to tokenise: an argument, a file, or standard input. */
#ifndef CLI_TEXT_INPUT_H
#define CLI_TEXT_INPUT_H

#include "buffer.h"

enum { CLI_TEXT_MAX = 16 << 20 }; /* bytes */

/* `argument` and `file` (NULL: not given; "-": standard input) exclude each other; with neither, standard input is read unless it is a terminal.
 * One line end at the end of a file is removed. Errors: ARGUMENT, LIMIT and those of reading files. */
parley_status cli_text_input(const char *argument, const char *file, cli_buffer *text, parley_error *error);

#endif
