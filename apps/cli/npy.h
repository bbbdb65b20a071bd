/* NumPy .npy files: arrays of little-endian float32 or int32 in C order; int64 is read where the values fit. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "buffer.h"

enum { CLI_NPY_MAX_RANK = 8 };

typedef struct cli_npy {
    char type; /* 'f' float32, 'i' int32 */
    int rank;
    int64_t shape[CLI_NPY_MAX_RANK];
    size_t count; /* elements */
    float *floats;
    int32_t *ints; /* the one that is not of this type is NULL */
} cli_npy;

/* Reads format versions 1 to 3. `name` is for messages. Errors: FORMAT (with the position), UNSUPPORTED (element type, column-major order), MEMORY.
 */
parley_status cli_npy_parse(const char *name, const void *data, size_t size, cli_npy *array, parley_error *error);
parley_status cli_npy_read(const char *path, const char *what, cli_npy *array, parley_error *error);
void cli_npy_free(cli_npy *array);

/* Appends the header, and the elements behind it. */
void cli_npy_header(cli_buffer *out, char type, const int64_t *shape, int rank);
void cli_npy_elements(cli_buffer *out, char type, const void *elements, size_t count);

#endif
