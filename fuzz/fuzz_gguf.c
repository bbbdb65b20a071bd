/* Any bytes as a GGUF file: an error or a container that can be read, within the bound on memory; its parts that are of the dialect parley too. */
#include "weights_walk.h"

#include "../tests/limit_allocator.h"
#include "models/parley.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a file of our own holds beyond other files: packed tensors keep their bytes, and whatever tokenizer opens must take a text. */
static void try_own(const parley_allocator *allocator, pl_container *container)
{
    static const pl_span text = {"Hello, <|im_start|>!", 20};
    parley_error error = {0};
    pl_tokenizer *tokenizer;
    if (pl_parley_prepare(container, "model.gguf", &error) == PARLEY_OK)
        for (size_t i = 0; i < container->n_entries; i++)
            if (container->entries[i].tensor.packed && (container->entries[i].tensor.rank < 2 || container->entries[i].tensor.shape[0] < 1))
                abort();
    if (pl_parley_tokenizer(allocator, container, "model.gguf", &tokenizer, &error) != PARLEY_OK)
        return;
    pl_ids ids = {.allocator = *allocator};
    parley_status status = pl_tokenize(tokenizer, text, (pl_tokenize_options){true, PARLEY_SPLITTER_QWEN2}, &ids, &error);
    if (status != PARLEY_OK && status != PARLEY_MEMORY)
        abort();
    pl_ids_free(&ids);
    pl_tokenizer_close(tokenizer);
}

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
        try_own(&allocator, &container);
    if (status == PARLEY_OK)
        pl_container_close(&container);
    else if (status != PARLEY_FORMAT && status != PARLEY_UNSUPPORTED)
        abort();
    pl_source_close(source);
    if (memory.exceeded || memory.held != 0)
        abort();
    return (int)(sum & 0);
}
