/* The weights of a checkpoint as networks: audio tower and text decoder. */
#ifndef PL_MODELS_QWEN3_ASR_NETWORK_H
#define PL_MODELS_QWEN3_ASR_NETWORK_H

#include "lm/decoder.h"
#include "models/qwen3_asr/tensors.h"

typedef struct asr_network {
    pl_tower *tower;
    pl_tensor token_embedding; /* [vocabulary, width], in the file; data NULL: tied, rows come out of the head */
    pl_transformer text;
    pl_linear head; /* [head_rows, width] */
    uint64_t packed_bytes;
} asr_network;

/* Packs everything into `arena` (the model's). MEMORY. */
parley_status pl_asr_network_load(pl_arena *arena, pl_pool *pool, asr_files *files, const asr_config *config, const asr_tensors *tensors,
                                  asr_network *network, parley_error *error);

/* Embedding of one id: y [width]. */
void pl_asr_embed(const pl_kernels *k, const asr_network *network, int32_t id, float *y);

#endif
