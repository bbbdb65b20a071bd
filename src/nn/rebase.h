/* Endless sequences: positions of a windowed transformer are moved back towards 0. */
#ifndef PL_NN_REBASE_H
#define PL_NN_REBASE_H

#include "nn/transformer.h"

/* Takes `shift` (a multiple of PL_KV_BLOCK) off all positions of a cache of type F32: blocks before it are reused, the keys that stay are turned back
 * by `shift`. Attention depends on differences of positions only, so results change by rounding alone; but float32 angles stay exact to 1e-7 of the
 * largest position, and the list of blocks stays short. */
void pl_transformer_rebase(const pl_compute *compute, const pl_transformer *transformer, pl_kv *kv, int64_t shift, float *cosine, float *sine);

#endif
