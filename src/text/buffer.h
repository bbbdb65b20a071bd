/* Scratch memory that grows and is kept from one piece of text to the next. */
#ifndef PL_TEXT_BUFFER_H
#define PL_TEXT_BUFFER_H

#include "base/arena.h"

typedef struct pl_buffer {
    parley_allocator allocator;
    void *data;
    size_t capacity; /* bytes */
} pl_buffer;

/* At least `count` * `size` bytes, the first `keep` bytes preserved. What was taken from data before may have moved. */
parley_status pl_buffer_reserve(pl_buffer *buffer, size_t count, size_t size, size_t keep, parley_error *error);
void pl_buffer_free(pl_buffer *buffer);

#endif
