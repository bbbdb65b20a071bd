#include "text/buffer.h"

#include "base/checked.h"

#include <string.h>

parley_status pl_buffer_reserve(pl_buffer *buffer, size_t count, size_t size, size_t keep, parley_error *error)
{
    size_t bytes;
    if (!pl_mul_size(count, size, &bytes))
        return pl_fail_memory(error, "scratch memory for text");
    if (bytes <= buffer->capacity)
        return PARLEY_OK;
    if (bytes < 1024)
        bytes = 1024;
    if (bytes < buffer->capacity + buffer->capacity / 2)
        bytes = buffer->capacity + buffer->capacity / 2;
    void *data = pl_alloc(&buffer->allocator, bytes, 1);
    if (!data)
        return pl_fail_memory(error, "scratch memory for text");
    if (keep)
        memcpy(data, buffer->data, keep);
    pl_release(&buffer->allocator, buffer->data, buffer->capacity, 1);
    buffer->data = data;
    buffer->capacity = bytes;
    return PARLEY_OK;
}

void pl_buffer_free(pl_buffer *buffer)
{
    pl_release(&buffer->allocator, buffer->data, buffer->capacity, 1);
    buffer->data = NULL;
    buffer->capacity = 0;
}
