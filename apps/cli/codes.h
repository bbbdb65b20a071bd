/* Codes in files: JSON ([[one whole number a group], ..], a row a frame) or NumPy int32 .npy, told apart by the file's name. */
#ifndef CLI_CODES_H
#define CLI_CODES_H

#include "buffer.h"

typedef struct cli_codes {
    int32_t *values; /* [frames][groups] */
    size_t frames;
    int32_t groups;
} cli_codes;

/* Reads a file. Errors: ARGUMENT (a name with another ending, no codes), FORMAT (ragged rows, other than whole numbers, with the place), and those
 * of reading files. `what` says in messages what the codes are for. Values are not checked against a codebook: the library does. */
parley_status cli_codes_read(const char *path, const char *what, cli_codes *codes, parley_error *error);
parley_status cli_codes_parse_json(const char *name, const char *data, size_t size, cli_codes *codes, parley_error *error);
parley_status cli_codes_parse_npy(const char *name, const void *data, size_t size, cli_codes *codes, parley_error *error);
void cli_codes_free(cli_codes *codes);

/* ARGUMENT unless the codes have `groups` a frame, those of the model. */
parley_status cli_codes_check(const cli_codes *codes, const char *what, int32_t groups, parley_error *error);

/* Whether a file of this name can hold codes; the error lists the endings. */
parley_status cli_codes_name(const char *path, const char *what, parley_error *error);
/* The bytes of a file of this name. */
void cli_codes_write(cli_buffer *out, const char *path, const int32_t *values, size_t frames, int32_t groups);

#endif
