/* The inside of the codec decoder: its layers (immutable, in the model's arena) and the state of one stream. */
#ifndef PL_CODEC_PARTS_H
#define PL_CODEC_PARTS_H

#include "codec/decoder.h"
#include "codec/rows.h"

enum {
    /* Frames that go through the front (quantiser to first vocoder convolution) at once. The weights, 460 MB in the published size, are read once a
     * piece, 16 ms at 28 GB/s: with 16 frames 1 ms a frame. */
    CODEC_PIECE = 16,
    /* Floats of a vocoder buffer (rows x channels). The stages take their input in smaller pieces, so that the buffers of one stage (768 KiB each)
     * stay in the cache however many frames come, and the early, wide stages still see 256 rows for each reading of their weights. Measured:
     * 64 Ki cost 12 % more, from 192 Ki on it makes no difference. */
    CODEC_BUFFER = 192 * 1024,
    /* A stream's positions are moved back when this many have come beyond the window; so the list of cache blocks never grows. */
    CODEC_POSITIONS = 896
};

typedef struct codec_up {
    pl_conv conv;
    const float *depthwise, *depthwise_bias; /* [taps][latent], [latent] */
    int taps;
    const float *norm_weight, *norm_bias, *gamma; /* [latent] */
    pl_linear pw1, pw2;
} codec_up;

typedef struct codec_unit {
    pl_snake act1, act2;
    pl_conv conv1, conv2;
} codec_unit;

typedef struct codec_stage {
    pl_snake snake; /* of the input */
    pl_conv conv;   /* transposed, halves the channels */
    codec_unit units[PL_CODEC_UNITS];
} codec_stage;

/* The convolution to samples: one output. */
typedef struct codec_last {
    const float *weight; /* [taps][width] */
    float bias;
    int taps, width;
} codec_last;

struct pl_codec_decoder {
    pl_codec_shape shape;
    const float **codebooks;       /* [groups] of [codebook_size][codebook_width] */
    pl_linear first_out, rest_out; /* [rvq_width, codebook_width] */
    pl_conv pre_conv;
    pl_linear in_proj, out_proj;
    pl_transformer transformer;
    codec_up up[PL_CODEC_MAX_RATES];
    pl_conv voc0;
    codec_stage stages[PL_CODEC_MAX_RATES];
    pl_snake last_snake;
    codec_last last;
    int upsampling, samples_per_frame; /* product of ratios; of ratios and rates */
    bool int8;                         /* products of q8_0 matrices with 8-bit activations */
};

/* Whether a convolution's input is rounded to 8 bits. */
static inline bool pl_codec_is_int8(const pl_codec_decoder *decoder, const pl_conv *conv)
{
    return decoder->int8 && conv->linear.w.type == PL_Q8_0 && !conv->linear.exact;
}

/* Final rows of a codebook, [size][width]; usage->data NULL: `sums` holds them. */
parley_status pl_codec_codebook_rows(pl_loader *loader, int size, int width, const pl_tensor *sums, const pl_tensor *usage, float *rows,
                                     parley_error *error);

enum { CODEC_MAX_ROWS = 3 + PL_CODEC_MAX_RATES * (3 + PL_CODEC_UNITS) };

struct pl_codec_state {
    pl_arena arena;
    const pl_codec_decoder *decoder;
    pl_kv kv;
    int64_t rebase_at; /* length of the cache at which its positions are moved back; 0: never (no window) */
    int64_t rebase_by;
    float *cosine, *sine; /* [head / 2] */

    /* front, a piece of CODEC_PIECE frames; `up` rows at the last ratio */
    float *codes, *first, *rvq; /* [piece][codebook_width], [piece][rvq_width] x 2 */
    float *latent, *model;      /* [up rows][latent], [piece][width] */
    float *hidden, *wide;       /* [up rows][latent], [up rows][4 latent] */
    codec_rows pre_conv, up_conv[PL_CODEC_MAX_RATES], up_depthwise[PL_CODEC_MAX_RATES], voc0;

    /* vocoder: input of each stage, of each residual unit, of the last convolution; x is the residual stream of the stage at work */
    codec_rows stages[PL_CODEC_MAX_RATES], units[PL_CODEC_MAX_RATES][PL_CODEC_UNITS], last;
    int stage_rows[PL_CODEC_MAX_RATES]; /* input rows that a stage takes at once */
    float *x, *y;                       /* [rows][channels], largest stage */
    pl_q8_rows y8;                      /* y behind its activation, where that is 8 bits wide */
    float *voc0_out, *raw;              /* [rows][decoder_dim], [samples] */

    codec_rows *all[CODEC_MAX_ROWS]; /* every buffer with history, for resets */
    int n_all;
};

/* One call's way through the decoder. */
typedef struct codec_run {
    pl_compute *compute;
    const pl_codec_decoder *decoder;
    pl_codec_state *state;
    float *pcm;          /* where the next samples go; NULL: they are only context */
    int64_t first_frame; /* frame of the caller's that this run begins with, for messages */
    int64_t samples;     /* finished in this run */
    const pl_tap *tap;
    parley_error *error;
} codec_run;

/* Refuses codes that are no row of a codebook, before any work. */
parley_status pl_codec_check_codes(const pl_codec_shape *shape, const int32_t *codes, int64_t frames, parley_error *error);

/* Checked codes -> samples, any number of frames. */
parley_status pl_codec_run_frames(codec_run *run, const int32_t *codes, int64_t frames);

/* `rows` new rows wait in state->voc0: from the first convolution to samples. */
parley_status pl_codec_vocoder(codec_run *run, int rows);

#endif
