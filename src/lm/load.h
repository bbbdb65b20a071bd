/* Views of a decoder's weights -> a transformer. */
#ifndef PL_LM_LOAD_H
#define PL_LM_LOAD_H

#include "nn/transformer.h"

/* One gated block, upstream's shapes; q_norm, k_norm: data NULL when absent. */
typedef struct pl_lm_block_tensors {
    pl_tensor norm1, norm2;   /* [width] */
    pl_tensor q, k, v, o;     /* [heads * head, width], [kv_heads * head, width] x 2, [width, heads * head] */
    pl_tensor q_norm, k_norm; /* [head] */
    pl_tensor gate, up, down; /* [ffn, width] x 2, [width, ffn] */
} pl_lm_block_tensors;

/* Packs shape.layers blocks and the final norm [width]. MEMORY. */
parley_status pl_lm_load(pl_loader *loader, pl_transformer_shape shape, const pl_lm_block_tensors *blocks, const pl_tensor *norm,
                         pl_transformer *transformer, parley_error *error);

#endif
