/* Any bytes as a GGUF file: an error or a container that can be read, within the bound on memory. */
#include "weights_walk.h"

#include "../tests/limit_allocator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_allocator memory = {.limit = 2 * size + (4 << 20), .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    parley_memory_file file = {"model.gguf", data, size};
    parley_error error = {0};
    pl_source *source;
    pl_container container;
    uint64_t sum = 0;
    if (pl_source_open_memory(&allocator, &file, 1, &source, &error) != PARLEY_OK)
        abort();
    parley_status status = pl_gguf_open(&allocator, source, "model.gguf", &container, &error);
    if (status == PARLEY_OK && !walk_container(&allocator, &container, &sum))
        abort();
    if (status == PARLEY_OK)
        pl_container_close(&container);
    else if (status != PARLEY_FORMAT && status != PARLEY_UNSUPPORTED)
        abort();
    pl_source_close(source);
    if (memory.exceeded || memory.held != 0)
        abort();
    return (int)(sum & 0);
}
