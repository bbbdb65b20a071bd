/* Japanese words from MeCab, which is loaded when it is asked for: the program does not need it to be built or to run. */
#ifndef CLI_MECAB_H
#define CLI_MECAB_H

#include "common.h"

typedef struct cli_mecab cli_mecab;

/* Loads libmecab with the dictionary of its configuration. Errors: MISSING (the library, or its dictionary), UNSUPPORTED (the dictionary is not in
 * UTF-8), MEMORY. */
parley_status cli_mecab_open(cli_mecab **mecab, parley_error *error);
void cli_mecab_close(cli_mecab *mecab);

/* A parley_split_fn; the context is the cli_mecab. */
parley_status cli_mecab_split(void *mecab, const char *text, size_t length, unsigned char *begins, parley_error *error);

#endif
