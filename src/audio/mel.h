/* Log-mel spectra: the front ends of the speaker encoder (spec/qwen3_tts.md 5.1) and of recognition (spec/qwen3_asr.md 2.2), as data. */
#ifndef PL_AUDIO_MEL_H
#define PL_AUDIO_MEL_H

#include "base/arena.h"
#include "base/pool.h"

typedef enum pl_mel_log {
    PL_MEL_LOG_NATURAL, /* ln(max(mel, floor)) */
    PL_MEL_LOG_WHISPER  /* log10(max(mel, floor)), not below the item's maximum - 8, (x + 4) / 4 */
} pl_mel_log;

typedef struct pl_mel_shape {
    int sample_rate, fft, window, hop, bands; /* window: periodic Hann, <= fft */
    int padding;                              /* samples reflected at both ends (edge not repeated) */
    bool power;                               /* |X|^2; else sqrt(|X|^2 + 1e-9) */
    double low, high;                         /* Hz; Slaney scale and area norm */
    float floor;
    pl_mel_log log;
    bool ceil_frames; /* zero-pad the tail to a multiple of hop: ceil(n / hop) frames; else floor */
} pl_mel_shape;

typedef struct pl_mel pl_mel; /* tables; immutable */

/* Errors: ARGUMENT (a shape that cannot be), MEMORY. */
parley_status pl_mel_open(const parley_allocator *allocator, const pl_mel_shape *shape, pl_mel **mel, parley_error *error);
void pl_mel_close(pl_mel *mel);

/* Weight of a bin of the spectrum in a band. */
float pl_mel_weight(const pl_mel *mel, int bin, int band);

/* Frames of `samples`; 0 when there are too few for the reflection, which needs more than `padding`. */
int64_t pl_mel_frames(const pl_mel *mel, int64_t samples);

/* pcm -> out [frames][bands]. Spread over the pool; results do not depend on it. `scratch` holds what the frames need. MEMORY. */
parley_status pl_mel_run(const pl_mel *mel, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, float *out, parley_error *error);

/* Some frames of the sound, to out [frames][bands]: the same as those of the whole, but for the floor of PL_MEL_LOG_WHISPER. It is that of `*most`,
 * the largest value so far (-INFINITY at first), which these frames raise. */
parley_status pl_mel_run_part(const pl_mel *mel, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, int64_t first, int64_t frames,
                              float *most, float *out, parley_error *error);

#endif
