/* Embeddings -> hidden states and scores: a causal decoder is a transformer and the heads on it. */
#ifndef PL_LM_DECODER_H
#define PL_LM_DECODER_H

#include "nn/transformer.h"

/* y [width] = the sum of one row of each table (any type): tables[i][ids[i]], in this order. */
void pl_embed_sum(const pl_kernels *k, const pl_tensor *const *tables, const int32_t *ids, int count, int width, float *y);

/* A forward, then the head on every wanted row: scores [forward->n_rows][head->w.rows]; forward->rows NULL takes all rows. `head` NULL: none. */
parley_status pl_decoder_forward(pl_compute *compute, const pl_transformer *network, const pl_forward *forward, const pl_linear *head, float *scores,
                                 parley_error *error);

#endif
