/* Any bytes as weights in safetensors. A first byte of 'i' makes the rest up to a line "----" the index and what follows its only shard, "s";
 * any other input is model.safetensors as it is. */
#include "weights_walk.h"

#include "../tests/limit_allocator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t split(const uint8_t *data, size_t size, parley_memory_file files[2])
{
    static const char mark[] = "\n----\n";
    files[0] = (parley_memory_file){"model.safetensors", data, size};
    if (size == 0 || data[0] != 'i')
        return 1;
    for (size_t i = 1; i + 6 <= size; i++)
        if (memcmp(data + i, mark, 6) == 0) {
            files[0] = (parley_memory_file){"model.safetensors.index.json", data + 1, i - 1};
            files[1] = (parley_memory_file){"s", data + i + 6, size - i - 6};
            return 2;
        }
    return 1;
}

static bool is_expected(parley_status status)
{
    return status == PARLEY_OK || status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED || status == PARLEY_MISSING;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_allocator memory = {.limit = 2 * size + (4 << 20), .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    parley_memory_file files[2];
    size_t n = split(data, size, files);
    parley_error error = {0};
    pl_source *source;
    pl_container container;
    uint64_t sum = 0;
    if (pl_source_open_memory(&allocator, files, n, &source, &error) != PARLEY_OK)
        abort();
    parley_status status = pl_safetensors_open(&allocator, source, "", &container, &error);
    if (!is_expected(status) || (status == PARLEY_OK && !walk_container(&allocator, &container, &sum)))
        abort();
    if (status == PARLEY_OK)
        pl_container_close(&container);
    pl_source_close(source);
    if (memory.exceeded || memory.held != 0)
        abort();
    return (int)(sum & 0);
}
