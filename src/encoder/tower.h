/* Log-mel -> audio embeddings: the audio tower of Qwen3-ASR (spec/qwen3_asr.md 2.3 to 2.6). float32 arithmetic for activations throughout the stem;
 * layers as the compute says. Memory is linear in the length of the sound, and of the work space constant with windows. */
#ifndef PL_ENCODER_TOWER_H
#define PL_ENCODER_TOWER_H

#include "base/tap.h"
#include "nn/transformer.h"

enum { PL_TOWER_CONVS = 3 };

typedef struct pl_tower_shape {
    int mels;                      /* 128 */
    int width, layers, heads, ffn; /* d, .. */
    int out;                       /* text hidden */
    int channels;                  /* of the stem: 480 */
    int window;                    /* n_window: half a chunk, in frames (50) */
    int window_infer;              /* n_window_infer: frames of an attention window (800) */
} pl_tower_shape;

/* Views in upstream's shapes. */
typedef struct pl_tower_tensors {
    pl_conv_tensors convs[PL_TOWER_CONVS]; /* [channels, 1 or channels, 3, 3] (frequency, time), [channels] */
    pl_tensor conv_out;                    /* [width, channels * mels / 8], no bias; column = channel * (mels / 8) + frequency */
    struct pl_tower_block_tensors {
        pl_conv_tensors norm1, norm2, q, k, v, o, fc1, fc2;
    } * blocks;                            /* [layers] */
    pl_conv_tensors ln_post, proj1, proj2; /* [width]; [width, width]; [out, width] */
} pl_tower_tensors;

typedef struct pl_tower pl_tower;

parley_status pl_tower_load(pl_loader *loader, const pl_tower_shape *shape, const pl_tower_tensors *tensors, pl_tower **tower, parley_error *error);
const pl_tower_shape *pl_tower_shape_of(const pl_tower *tower);

/* Rows that `frames` give: tokens of full chunks plus those of the rest. */
int64_t pl_tower_tokens(const pl_tower_shape *shape, int64_t frames);

typedef struct pl_tower_options {
    bool full_attention;       /* every row sees all rows; else windows of window_infer frames */
    bool continues;            /* sound came before: the rest of a chunk alone is padded to a chunk, as it is behind others */
    const atomic_bool *cancel; /* polled between chunks and layers; NULL: never */
    pl_tap tap; /* tower_stem, tower_embed, tower_layer_<i>, tower_ln_post, tower_out as golden/asr.md names them, whole or in pieces along time */
} pl_tower_options;

/* mel [frames][mels], frames >= 1 -> out [pl_tower_tokens()][out]. Errors: CANCELLED, MEMORY. */
parley_status pl_tower_run(pl_compute *compute, const pl_tower *tower, const float *mel, int64_t frames, const pl_tower_options *options, float *out,
                           parley_error *error);

#endif
