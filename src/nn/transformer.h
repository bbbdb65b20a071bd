/* One decoder for all networks (spec/causal_decoder.md): a forward of n new tokens of B sequences through a stack of blocks, with their caches.
 * Prefill, chunked prefill, single steps, ragged batches and rollback are all this function. */
#ifndef PL_NN_TRANSFORMER_H
#define PL_NN_TRANSFORMER_H

#include "nn/kv.h"
#include "nn/linear.h"

#include <stdatomic.h>

typedef enum pl_block_kind {
    PL_BLOCK_GATED, /* RMSNorm, silu(gate) * up, down: talker, predictor, codec decoder, text models */
    PL_BLOCK_PLAIN  /* LayerNorm with bias, gelu(up), down: encoders */
} pl_block_kind;

typedef struct pl_transformer_shape {
    pl_block_kind kind;
    int layers, width;         /* model width */
    int heads, kv_heads, head; /* head: dimension of one */
    int ffn;
    float eps;      /* of the norms */
    double theta;   /* rotary base; 0: no rotation */
    int64_t window; /* a position sees itself and window - 1 before it; 0: all before it */
    int64_t block;  /* 0: causal. Else positions of one block (position / block) see each other, both ways, and nothing else; a block's
                       positions must come in one call */
} pl_transformer_shape;

/* All vectors [width] unless noted; NULL where the network has none. */
typedef struct pl_block {
    const float *norm1, *norm1_bias, *norm2, *norm2_bias;
    pl_linear q, k, v, o;                     /* [heads * head, width], [kv_heads * head, width] x 2, [width, heads * head] */
    const float *q_norm, *k_norm;             /* [head] RMSNorm over each head, before the rotation */
    const float *attention_scale, *ffn_scale; /* LayerScale: factors of what is added to the residual stream */
    const float *ffn_input_scale;             /* factors of the FFN's input, behind its norm */
    pl_linear gate, up, down;                 /* [ffn, width] x 2, [width, ffn]; no gate in plain blocks */
} pl_block;

typedef struct pl_transformer {
    pl_transformer_shape shape;
    pl_block *blocks;
    const float *norm, *norm_bias;  /* behind the last layer; NULL: none */
    const float *inverse_frequency; /* [head / 2], see pl_transformer_prepare */
} pl_transformer;

/* Allocates the blocks (zeroed) and the table of frequencies. */
parley_status pl_transformer_prepare(pl_arena *arena, pl_transformer_shape shape, pl_transformer *transformer, parley_error *error);

/* The cache of one sequence of this network. */
void pl_transformer_kv(const pl_transformer *transformer, const parley_allocator *allocator, pl_type type, int64_t limit, pl_kv *kv);

/* New tokens of one sequence; they stand behind kv->length. */
typedef struct pl_tokens {
    pl_kv *kv;
    int count;
} pl_tokens;

/* Called behind each layer with rows of [rows][width]; what: "attn" (attention behind its output projection, before the residual) or "out" (residual
 * stream behind the layer). */
typedef void (*pl_layer_tap)(void *context, int layer, const char *what, const float *data, int rows, int width);

typedef struct pl_forward {
    float *x; /* [n][width], n = sum of the counts; used up as work space */
    const pl_tokens *sequences;
    int n_sequences;
    const int *rows; /* rows of x whose result is wanted, ascending; NULL: all. The last layer computes nothing else behind its keys. */
    int n_rows;
    float *out;                /* [n_rows][width]: behind the final norm */
    const atomic_bool *cancel; /* polled between layers; NULL: never */
    pl_layer_tap tap;          /* NULL: none */
    void *tap_context;
} pl_forward;

/* Errors: LIMIT, MEMORY, CANCELLED. Then no sequence has changed its length. */
parley_status pl_transformer_forward(pl_compute *compute, const pl_transformer *transformer, const pl_forward *forward, parley_error *error);

#endif
