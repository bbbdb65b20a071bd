/* Codes -> PCM: residual vector quantiser, latent transformer, ConvNeXt upsampling, vocoder (spec/qwen3_tts.md 6.3, 6.6). Every layer is causal and
 * keeps its state, so that frames may come in pieces of any size: the PCM is bit-equal to that of one piece. float32 arithmetic, or
 * 8-bit products where the loader was told so. */
#ifndef PL_CODEC_DECODER_H
#define PL_CODEC_DECODER_H

#include "base/tap.h"
#include "nn/transformer.h"

enum { PL_CODEC_MAX_RATES = 8, PL_CODEC_UNITS = 3 };

typedef struct pl_codec_shape {
    int groups;                               /* codes a frame; the first comes from the semantic quantiser */
    int codebook_size;                        /* rows of a codebook */
    int codebook_width;                       /* entries of a row (256) */
    int rvq_width;                            /* behind the output projections (512) */
    int latent;                               /* 1024 */
    pl_transformer_shape transformer;         /* gated blocks, LayerScale, window 72 */
    int n_ratios, ratios[PL_CODEC_MAX_RATES]; /* ConvNeXt upsampling: 2 2 */
    int decoder_dim;                          /* channels behind the vocoder's first convolution; halved by each block */
    int n_rates, rates[PL_CODEC_MAX_RATES];   /* 8 5 4 3 */
    int sample_rate;                          /* Hz */
} pl_codec_shape;

int pl_codec_samples_per_frame(const pl_codec_shape *shape);

typedef struct pl_snake_tensors {
    pl_tensor alpha, beta; /* [channels] */
} pl_snake_tensors;

/* Views of all weights in upstream's shapes (row-major); the family fills them in. data NULL: absent. */
typedef struct pl_codec_tensors {
    pl_tensor *codebooks;              /* [groups] of [codebook_size, codebook_width]: sums, or final rows when usages[i].data is NULL */
    pl_tensor *usages;                 /* [groups] of [codebook_size]: row = sum / max(usage, 1e-5) */
    pl_tensor first_out, rest_out;     /* [rvq_width, codebook_width(, 1)] */
    pl_conv_tensors pre_conv;          /* [latent, rvq_width, k] */
    pl_conv_tensors in_proj, out_proj; /* [width, latent], [latent, width] */
    pl_tensor norm;                    /* [width] */
    struct pl_codec_block_tensors {
        pl_tensor norm1, norm2, q, k, v, o, attention_scale, ffn_scale, gate, up, down;
    } * blocks; /* [transformer.layers] */
    struct pl_codec_up_tensors {
        pl_conv_tensors conv;                    /* transposed: [latent, latent, ratio] */
        pl_conv_tensors depthwise;               /* [latent, 1, k] */
        pl_tensor norm_weight, norm_bias, gamma; /* [latent] */
        pl_conv_tensors pw1, pw2;                /* [4 latent, latent], [latent, 4 latent] */
    } up[PL_CODEC_MAX_RATES];
    pl_conv_tensors voc0; /* [decoder_dim, latent, k] */
    struct pl_codec_stage_tensors {
        pl_snake_tensors snake; /* [in] */
        pl_conv_tensors conv;   /* transposed: [in, in / 2, 2 rate] */
        struct {
            pl_snake_tensors act1, act2;  /* [in / 2] */
            pl_conv_tensors conv1, conv2; /* [in / 2, in / 2, k], [in / 2, in / 2, 1]; dilations 1 3 9 */
        } units[PL_CODEC_UNITS];
    } stages[PL_CODEC_MAX_RATES];
    pl_snake_tensors last_snake;
    pl_conv_tensors last_conv; /* [1, channels, k] */
    bool snake_is_final;       /* alpha and 1 / beta are stored as used, not as logarithms */
} pl_codec_tensors;

/* What a row's sum is divided by: how many chose it, with a floor for those that nearly nothing chose. */
static inline float pl_codec_row_count(float usage)
{
    return usage > 1e-5f ? usage : 1e-5f;
}

typedef struct pl_codec_decoder pl_codec_decoder;

/* Packs the weights into the loader's arena; shapes have been checked against `shape` before. MEMORY. */
parley_status pl_codec_decoder_load(pl_loader *loader, const pl_codec_shape *shape, const pl_codec_tensors *tensors, pl_codec_decoder **decoder,
                                    parley_error *error);
const pl_codec_shape *pl_codec_decoder_shape(const pl_codec_decoder *decoder);

/* Whether its wide layers compute in 8 bits; multiplications and additions of the products of a frame. */
bool pl_codec_decoder_is_int8(const pl_codec_decoder *decoder);
double pl_codec_decoder_operations(const pl_codec_decoder *decoder);

typedef struct pl_codec_state pl_codec_state;

parley_status pl_codec_state_open(const parley_allocator *allocator, const pl_codec_decoder *decoder, pl_codec_state **state, parley_error *error);
void pl_codec_state_close(pl_codec_state *state);

/* Back to silence before the first frame; memory is kept. */
void pl_codec_state_reset(pl_codec_state *state);

/* Makes `to` (of the same decoder) go on where `from` stands. MEMORY. */
parley_status pl_codec_state_copy(pl_codec_state *to, const pl_codec_state *from, parley_error *error);

/* Bytes that a state holds (its memory does not grow with the number of frames). */
uint64_t pl_codec_state_bytes(const pl_codec_state *state);

/* codes [frames][groups] -> pcm [frames * samples_per_frame], clamped to -1..1. `taps` as docs (golden/codec.md) name them, in pieces along time when
 * many frames come at once. Errors: ARGUMENT (a code out of range, naming frame and group; nothing was decoded), VALUE (PCM not
 * finite, naming the frame), LIMIT, MEMORY: behind these three the state has to be reset. */
parley_status pl_codec_decode(pl_compute *compute, const pl_codec_decoder *decoder, pl_codec_state *state, const int32_t *codes, int64_t frames,
                              float *pcm, const pl_tap *tap, parley_error *error);

/* The reference's schedule: 300 frames at a time behind 25 of context, each piece from scratch. Uses and resets `state`. */
parley_status pl_codec_decode_reference(pl_compute *compute, const pl_codec_decoder *decoder, pl_codec_state *state, const int32_t *codes,
                                        int64_t frames, float *pcm, const pl_tap *tap, parley_error *error);

/* Samples to cut off the front: trunc(ref / max(total, 1) * samples) in double, in this order of evaluation (spec 6.5). */
uint64_t pl_codec_cut(uint64_t ref_frames, uint64_t total_frames, uint64_t samples);

#endif
