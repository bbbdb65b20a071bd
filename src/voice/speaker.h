/* PCM -> speaker vector: mel and an ECAPA-TDNN (spec/qwen3_tts.md 5). */
#ifndef PL_VOICE_SPEAKER_H
#define PL_VOICE_SPEAKER_H

#include "base/stop.h"
#include "base/tap.h"
#include "nn/linear.h"

enum { PL_SPEAKER_MIN_FRAMES = 5, PL_SPEAKER_MIN_SAMPLES = 1280, PL_SPEAKER_BLOCKS = 3, PL_SPEAKER_MAX_SCALE = 16 };

typedef struct pl_speaker_shape {
    int channels, mfa_channels, attention_channels, se_channels, scale, mels; /* 0 when absent */
} pl_speaker_shape;

/* Views in upstream's shapes: kernels [out, in, k], biases [out]. */
typedef struct pl_speaker_tensors {
    pl_conv_tensors conv0; /* [channels, mels, 5] */
    struct pl_speaker_block_tensors {
        pl_conv_tensors tdnn1, tdnn2;                  /* [channels, channels, 1] */
        pl_conv_tensors res[PL_SPEAKER_MAX_SCALE - 1]; /* scale - 1 of [channels / scale, channels / scale, 3]; dilation 2, 3, 4 by block */
        pl_conv_tensors se1, se2;                      /* [se_channels, channels, 1] and back */
    } blocks[PL_SPEAKER_BLOCKS];
    pl_conv_tensors mfa;      /* [mfa, 3 channels, 1] */
    pl_conv_tensors asp_tdnn; /* [attention, 3 mfa, 1] */
    pl_conv_tensors asp_conv; /* [mfa, attention, 1] */
    pl_conv_tensors fc;       /* [vector length, 2 mfa, 1] */
} pl_speaker_tensors;

typedef struct pl_speaker pl_speaker;

parley_status pl_speaker_load(pl_loader *loader, const pl_speaker_shape *shape, const pl_speaker_tensors *tensors, pl_speaker **speaker,
                              parley_error *error);
int pl_speaker_length(const pl_speaker *speaker); /* entries of a vector */

/* mel [frames][bands], frames >= PL_SPEAKER_MIN_FRAMES -> vector. Taps as golden/codec.md names them (mel is the caller's). Float32 arithmetic.
 * `stop` NULL or asked between layers and slices of time. Errors: CANCELLED, VALUE (the vector is not finite), MEMORY. */
parley_status pl_speaker_run(pl_compute *compute, const pl_speaker *speaker, const float *mel, int64_t frames, float *vector, const pl_stop *stop,
                             const pl_tap *tap, parley_error *error);

#endif
