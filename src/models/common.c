#include "models/common.h"

#include <string.h>

enum { INFO_CHUNK = 1 << 14 };

/* The info comes first, so that its address is the block's. */
typedef struct owned_info {
    parley_info info;
    pl_arena arena;
} owned_info;

parley_status pl_owned_info_open(const parley_allocator *allocator, parley_info **info, pl_arena **arena, parley_error *error)
{
    owned_info *owned = pl_alloc(allocator, 1, sizeof *owned);
    if (!owned)
        return pl_fail_memory(error, "information");
    *owned = (owned_info){0};
    pl_arena_init(&owned->arena, allocator, INFO_CHUNK);
    *info = &owned->info;
    *arena = &owned->arena;
    return PARLEY_OK;
}

/* Declared in parley/core.h: whoever makes an info knows how to free it. */
void parley_info_free(parley_info *info)
{
    if (!info)
        return;
    owned_info *owned = (owned_info *)info;
    parley_allocator allocator = owned->arena.allocator;
    pl_arena_free(&owned->arena);
    pl_release(&allocator, owned, 1, sizeof *owned);
}

parley_status pl_model_tokenize(const pl_environment *env, const pl_tokenizer *tokenizer, const char *text, size_t length, bool special_tokens,
                                int32_t **ids, size_t *count, parley_error *error)
{
    if (!tokenizer)
        return pl_fail(error, PARLEY_STATE, "the model was opened without its tokenizer");
    pl_ids list = {.allocator = env->allocator};
    pl_tokenize_options options = {.added_tokens = special_tokens, .splitter = env->splitter};
    parley_status status = pl_tokenize(tokenizer, (pl_span){text ? text : "", length}, options, &list, error);
    *count = list.count;
    *ids = NULL;
    if (status == PARLEY_OK && list.count) { /* its size is its count, since that is how it is released */
        *ids = pl_alloc(&env->allocator, list.count, sizeof **ids);
        status = *ids ? PARLEY_OK : pl_fail_memory(error, "ids");
        for (size_t i = 0; *ids && i < list.count; i++)
            (*ids)[i] = list.ids[i];
    }
    pl_ids_free(&list);
    return status;
}

parley_status pl_copy_text(pl_arena *arena, const char *text, const char **copy, parley_error *error)
{
    *copy = pl_arena_text(arena, text ? text : "", text ? strlen(text) : 0);
    return *copy ? PARLEY_OK : pl_fail_memory(error, "information");
}

static parley_type_use *use_of(parley_type_use *use, size_t *n, const char *type)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(use[i].type, type) == 0)
            return &use[i];
    use[*n].type = type;
    return &use[(*n)++];
}

parley_status pl_count_types(pl_arena *arena, const pl_container *container, parley_info *info, parley_error *error)
{
    parley_type_use *use = PL_NEW_ARRAY(arena, parley_type_use, PL_TYPE_COUNT);
    if (!use)
        return pl_fail_memory(error, "information");
    for (size_t i = 0; i < info->n_types; i++)
        use[i] = info->types[i];
    for (size_t i = 0; i < container->n_entries; i++) {
        const pl_tensor *t = &container->entries[i].tensor;
        parley_type_use *u = use_of(use, &info->n_types, pl_type_info(t->type)->name);
        u->tensors++;
        u->bytes += t->bytes;
        info->parameters += t->type == PL_OTHER ? 0 : (uint64_t)pl_tensor_values(t); /* a vocabulary, say, is none */
    }
    info->types = use;
    return PARLEY_OK;
}
