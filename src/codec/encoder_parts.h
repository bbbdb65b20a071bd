/* The inside of the codec encoder: its layers (immutable, in the model's arena) and one call's way through them. */
#ifndef PL_CODEC_ENCODER_PARTS_H
#define PL_CODEC_ENCODER_PARTS_H

#include "codec/encoder.h"
#include "codec/parts.h"

enum {
    ENCODER_FRAME_STEP = 2, /* stride of the convolution behind the transformer: 25 to 12.5 rows a second */
    ENCODER_FRAME_PAST = 2  /* rows that it reads in front of its first one */
};

typedef struct encoder_stage {
    pl_conv res1, res2, down;
    int ratio; /* stride of down, whose kernel has 2 * ratio taps */
} encoder_stage;

struct pl_codec_encoder {
    pl_encoder_shape shape;
    pl_conv conv0, conv1;
    encoder_stage stages[PL_CODEC_MAX_RATES];
    pl_transformer transformer;
    pl_conv downsample;
    pl_linear semantic_in, acoustic_in;
    pl_linear *codebooks; /* [groups]: r -> r . c - |c|^2 / 2 for all rows c. The largest is the nearest row. Packed float32 */
    int samples_per_frame;
};

/* How the work is cut. Results do not depend on it. */
typedef struct encoder_pieces {
    int buffer;  /* floats of a stage's buffer, whose rows are worked on at once */
    int outputs; /* but so many rows behind the stage at least */
    int tokens;  /* rows of the transformer at once */
    int frames;  /* likewise of the quantiser */
} encoder_pieces;

/* Work space of a stage, for `outputs` rows behind it. */
typedef struct encoder_space {
    float *x;             /* [rows][c]: its input, the residual stream */
    codec_rows res, down; /* inputs of the convolutions, behind ELU */
    int outputs;
} encoder_space;

typedef struct encoder_run {
    pl_compute *compute;
    const pl_codec_encoder *encoder;
    const encoder_pieces *pieces;
    const pl_stop *stop;
    const pl_tap *tap;
    parley_error *error;

    const float *pcm; /* the samples that come next */
    int64_t frames;
    int64_t left[PL_CODEC_MAX_RATES + 1]; /* rows in front of stage i that are still to come; the last: of the transformer's input */
    encoder_space stages[PL_CODEC_MAX_RATES];
    codec_rows samples, last; /* inputs of conv0 and conv1 */
    float *hidden;            /* [rows][c / 2], largest stage */
    float *rows;              /* [ENCODER_FRAME_PAST + n25 + 1][width]: input and output of the transformer */
    float *quantised;         /* [frames][width] */
} encoder_run;

/* CANCELLED when the caller wants that. */
parley_status pl_encoder_poll(const encoder_run *run);

/* y [rows][out] (+)= convolution over x, which begins `taps - stride` rows before the first new one. */
void pl_encoder_convolve(const encoder_run *run, const pl_conv *conv, int stride, const float *x, int rows, float *y, bool accumulate);

/* The convolutions' work space out of `arena`. left[] is set. MEMORY. */
parley_status pl_encoder_space(encoder_run *run, pl_arena *arena);

/* All samples -> run->rows, from row ENCODER_FRAME_PAST on. CANCELLED. */
parley_status pl_encoder_convolutions(encoder_run *run);

/* run->quantised -> codes [frames][groups]. VALUE (the network gave something that is not finite), MEMORY, CANCELLED. */
parley_status pl_encoder_quantise(encoder_run *run, int32_t *codes);

/* pl_codec_encode() with other pieces. */
parley_status pl_encoder_run_pieces(encoder_run *run, int64_t samples, int32_t *codes);

#endif
