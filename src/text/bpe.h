/* Byte pair encoding by rank. */
#ifndef PL_TEXT_BPE_H
#define PL_TEXT_BPE_H

#include "text/buffer.h"

#define PL_NO_RANK UINT32_MAX

/* Tokens left and right, side by side, become `product`; lower ranks go first. Open addressing, linear probing; product UINT32_MAX = empty slot. */
typedef struct pl_merge {
    uint32_t left, right, rank, product;
} pl_merge;

typedef struct pl_merges {
    pl_merge *slots;
    size_t mask; /* slots - 1, a power of two less one */
} pl_merges;

/* Room for `count` merges, empty; false when there is no memory. */
bool pl_merges_init(pl_merges *merges, pl_arena *arena, size_t count);

/* The entry of the pair, NULL when there is none. */
const pl_merge *pl_merges_find(const pl_merges *merges, uint32_t left, uint32_t right);

/* False when the pair is there already. At most as many as pl_merges_init was told. */
bool pl_merges_add(pl_merges *merges, pl_merge merge);

/* Merges `symbols` (tokens of single bytes) in place: again and again the leftmost pair of the lowest rank below `rank_limit`. `*count` goes from the
 * number of bytes to that of tokens. O(n log n). Errors: MEMORY, LIMIT (2^30 bytes in one word). */
parley_status pl_bpe(const pl_merges *merges, uint32_t rank_limit, uint32_t *symbols, size_t *count, pl_buffer *scratch, parley_error *error);

#endif
