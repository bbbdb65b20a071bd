/* Bytes that grow. A failed allocation is remembered (`failed`) and checked once, where the bytes are used. */
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include "common.h"

typedef struct cli_buffer {
    char *data; /* NUL behind the bytes, NULL while empty */
    size_t size, capacity;
    bool failed;
} cli_buffer;

void cli_append(cli_buffer *buffer, const void *bytes, size_t size);
void cli_append_text(cli_buffer *buffer, const char *text);
void cli_appendf(cli_buffer *buffer, const char *format, ...) CLI_PRINTF(2, 3);
/* Room for `size` more bytes at data + size; false when out of memory. */
bool cli_buffer_reserve(cli_buffer *buffer, size_t size);
void cli_buffer_free(cli_buffer *buffer);

/* Reads a file whole; "-" is standard input. Errors: MISSING, IO, LIMIT (more than `limit` bytes), MEMORY, each naming `what` and the path. */
parley_status cli_read_file(const char *path, const char *what, size_t limit, cli_buffer *bytes, parley_error *error);

#endif
