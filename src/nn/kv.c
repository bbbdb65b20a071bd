#include "nn/kv.h"

#include <inttypes.h>
#include <string.h>

void pl_kv_init(pl_kv *kv, const parley_allocator *allocator, pl_kv_shape shape)
{
    *kv = (pl_kv){.shape = shape, .allocator = *allocator, .row_bytes = pl_row_bytes(shape.type, shape.width)};
    kv->block_bytes = (size_t)shape.layers * 2 * (size_t)shape.heads * PL_KV_BLOCK * kv->row_bytes;
}

uint64_t pl_kv_bytes(const pl_kv *kv, int64_t positions)
{
    return (uint64_t)((positions + PL_KV_BLOCK - 1) / PL_KV_BLOCK) * kv->block_bytes;
}

static void release_block(pl_kv *kv, uint8_t *block)
{
    pl_release(&kv->allocator, block, 1, kv->block_bytes);
}

void pl_kv_free(pl_kv *kv)
{
    for (int64_t i = 0; i < kv->used; i++)
        release_block(kv, kv->blocks[i]);
    for (int64_t i = 0; i < kv->n_spare; i++)
        release_block(kv, kv->spare[i]);
    pl_release(&kv->allocator, kv->blocks, (size_t)kv->capacity, sizeof *kv->blocks);
    pl_release(&kv->allocator, kv->spare, (size_t)kv->capacity, sizeof *kv->spare);
    *kv = (pl_kv){0};
}

/* Both lists of pointers have the same capacity, so that dropping never allocates. */
static parley_status grow_lists(pl_kv *kv, int64_t wanted, parley_error *error)
{
    if (wanted <= kv->capacity)
        return PARLEY_OK;
    int64_t capacity = kv->capacity * 2 > wanted ? kv->capacity * 2 : wanted < 16 ? 16 : wanted;
    uint8_t **blocks = pl_alloc(&kv->allocator, (size_t)capacity, sizeof *blocks);
    uint8_t **spare = pl_alloc(&kv->allocator, (size_t)capacity, sizeof *spare);
    if (!blocks || !spare) {
        pl_release(&kv->allocator, blocks, (size_t)capacity, sizeof *blocks);
        pl_release(&kv->allocator, spare, (size_t)capacity, sizeof *spare);
        return pl_fail_memory(error, "the list of cache blocks");
    }
    if (kv->capacity) {
        memcpy(blocks, kv->blocks, (size_t)kv->capacity * sizeof *blocks);
        memcpy(spare, kv->spare, (size_t)kv->capacity * sizeof *spare);
    }
    pl_release(&kv->allocator, kv->blocks, (size_t)kv->capacity, sizeof *kv->blocks);
    pl_release(&kv->allocator, kv->spare, (size_t)kv->capacity, sizeof *kv->spare);
    kv->blocks = blocks;
    kv->spare = spare;
    kv->capacity = capacity;
    return PARLEY_OK;
}

static uint8_t *take_block(pl_kv *kv)
{
    if (kv->n_spare > 0)
        return kv->spare[--kv->n_spare];
    uint8_t *block = pl_alloc(&kv->allocator, 1, kv->block_bytes);
    if (block)
        kv->bytes += kv->block_bytes;
    if (kv->bytes > kv->high_water)
        kv->high_water = kv->bytes;
    return block;
}

parley_status pl_kv_reserve(pl_kv *kv, int64_t count, parley_error *error)
{
    if (count > kv->shape.limit - kv->length)
        return pl_fail(error, PARLEY_LIMIT, "%" PRId64 " positions are wanted behind %" PRId64 ", the model has %" PRId64, count, kv->length,
                       kv->shape.limit);
    int64_t wanted = (kv->length + count + PL_KV_BLOCK - 1) / PL_KV_BLOCK;
    PL_TRY(grow_lists(kv, wanted, error));
    while (kv->used < wanted) {
        uint8_t *block = take_block(kv);
        if (!block)
            return pl_fail_memory(error, "a cache block");
        kv->blocks[kv->used++] = block;
    }
    return PARLEY_OK;
}

void pl_kv_truncate(pl_kv *kv, int64_t length)
{
    if (length < kv->length)
        kv->length = length;
    if (length == 0) /* blocks dropped at the front come back */
        for (int64_t i = 0; i < kv->used; i++)
            if (!kv->blocks[i]) {
                kv->blocks[i] = kv->blocks[kv->used - 1];
                kv->blocks[--kv->used] = NULL;
                i--;
            }
}

parley_status pl_kv_copy_prefix(pl_kv *to, const pl_kv *from, int64_t length, parley_error *error)
{
    pl_kv_truncate(to, 0);
    PL_TRY(pl_kv_reserve(to, length, error));
    for (int64_t i = 0; i * PL_KV_BLOCK < length; i++)
        memcpy(to->blocks[i], from->blocks[i], to->block_bytes);
    to->length = length;
    return PARLEY_OK;
}

parley_status pl_kv_copy(pl_kv *to, const pl_kv *from, parley_error *error)
{
    pl_kv_truncate(to, 0);
    PL_TRY(pl_kv_reserve(to, from->used * PL_KV_BLOCK < from->shape.limit ? from->used * PL_KV_BLOCK : from->shape.limit, error));
    for (int64_t i = from->used - 1; i >= 0; i--)
        if (from->blocks[i]) {
            memcpy(to->blocks[i], from->blocks[i], to->block_bytes);
        } else {
            to->spare[to->n_spare++] = to->blocks[i];
            to->blocks[i] = NULL;
        }
    to->length = from->length;
    return PARLEY_OK;
}

void pl_kv_drop_before(pl_kv *kv, int64_t position)
{
    int64_t end = position / PL_KV_BLOCK;
    for (int64_t i = (end < kv->used ? end : kv->used) - 1; i >= 0 && kv->blocks[i]; i--) {
        kv->spare[kv->n_spare++] = kv->blocks[i];
        kv->blocks[i] = NULL;
    }
}

size_t pl_kv_offset(const pl_kv *kv, int layer, int head, bool value)
{
    size_t plane = ((size_t)layer * 2 + (value ? 1 : 0)) * (size_t)kv->shape.heads + (size_t)head;
    return plane * PL_KV_BLOCK * kv->row_bytes;
}

void pl_kv_write(const pl_kernels *k, pl_kv *kv, int layer, int head, bool value, int64_t position, const float *row)
{
    uint8_t *block = kv->blocks[position / PL_KV_BLOCK];
    k->encode(kv->shape.type, row, kv->shape.width, block + pl_kv_offset(kv, layer, head, value) + (size_t)(position % PL_KV_BLOCK) * kv->row_bytes);
}
