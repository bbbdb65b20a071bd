#include "text/tokenizer.h"

#include <string.h>

static parley_status grow(pl_ids *ids, parley_error *error)
{
    size_t capacity = ids->capacity ? ids->capacity + ids->capacity / 2 : 64;
    int32_t *larger = capacity > ids->capacity ? pl_alloc(&ids->allocator, capacity, sizeof(int32_t)) : NULL;
    if (!larger)
        return pl_fail_memory(error, "token ids");
    if (ids->count)
        memcpy(larger, ids->ids, ids->count * sizeof(int32_t));
    pl_release(&ids->allocator, ids->ids, ids->capacity, sizeof(int32_t));
    ids->ids = larger;
    ids->capacity = capacity;
    return PARLEY_OK;
}

parley_status pl_ids_push(pl_ids *ids, int32_t id, parley_error *error)
{
    if (ids->count == ids->capacity)
        PL_TRY(grow(ids, error));
    ids->ids[ids->count++] = id;
    return PARLEY_OK;
}

void pl_ids_free(pl_ids *ids)
{
    pl_release(&ids->allocator, ids->ids, ids->capacity, sizeof(int32_t));
    ids->ids = NULL;
    ids->count = ids->capacity = 0;
}
