/* Keys and values of one sequence: memory grows by blocks of 64 positions, for all layers and heads of the network at once. Rows that were never
 * written are never read. */
#ifndef PL_NN_KV_H
#define PL_NN_KV_H

#include "base/arena.h"
#include "kernels/kernels.h"

typedef struct pl_kv_shape {
    pl_type type;             /* F32 F16 BF16 Q8_0 (32 divides width) */
    int layers, heads, width; /* key heads; head dimension */
    int64_t limit;            /* most positions */
} pl_kv_shape;

typedef struct pl_kv {
    pl_kv_shape shape;
    parley_allocator allocator;
    size_t row_bytes, block_bytes;
    uint8_t **blocks;       /* by position / 64; NULL where dropped */
    int64_t capacity, used; /* of `blocks`: pointers allocated, blocks begun */
    uint8_t **spare;        /* dropped blocks kept for reuse */
    int64_t n_spare;
    int64_t length;             /* positions held (dropped ones included) */
    uint64_t bytes, high_water; /* of blocks allocated */
} pl_kv;

void pl_kv_init(pl_kv *kv, const parley_allocator *allocator, pl_kv_shape shape);
void pl_kv_free(pl_kv *kv);

/* Bytes of blocks that `positions` take. */
uint64_t pl_kv_bytes(const pl_kv *kv, int64_t positions);

/* Makes room for `count` positions behind `length`. LIMIT (names both numbers) or MEMORY; the sequence stays as it was. */
parley_status pl_kv_reserve(pl_kv *kv, int64_t count, parley_error *error);

/* Forgets all positions, or those from `length` on; memory is kept. */
void pl_kv_truncate(pl_kv *kv, int64_t length);

/* Makes `to` begin with the first `length` positions of `from` (same shape, none of them dropped). */
parley_status pl_kv_copy_prefix(pl_kv *to, const pl_kv *from, int64_t length, parley_error *error);

/* Makes `to` a copy of `from` (same shape), dropped blocks included. */
parley_status pl_kv_copy(pl_kv *to, const pl_kv *from, parley_error *error);

/* Positions before this one are not needed again: whole blocks of them are reused. */
void pl_kv_drop_before(pl_kv *kv, int64_t position);

/* From a block's first byte to the row of position 0 of that block. */
size_t pl_kv_offset(const pl_kv *kv, int layer, int head, bool value);

/* Writes one head's row of position `position` (reserved before). */
void pl_kv_write(const pl_kernels *k, pl_kv *kv, int layer, int head, bool value, int64_t position, const float *row);

#endif
