/* Alignment of sound that is longer than the model takes: windows, each with the sound to a quiet place and more text than can be said in it. The
 * decoder is causal, so what follows a word in the text does not change the word's times; words whose times are not near the window's end stand, and
 * the next window begins at a pause between two of them. The same again where the stamps of a window stand still before its end. */
#ifndef PL_MODELS_QWEN3_ASR_WINDOWS_H
#define PL_MODELS_QWEN3_ASR_WINDOWS_H

#include "models/qwen3_asr/units.h"

typedef struct pl_window {
    int64_t first, samples; /* of the sound */
    size_t unit, n_units;   /* of the text */
} pl_window;

/* The model on one window: raw [2 * n_units], ms from the window's beginning. */
typedef struct pl_window_stage {
    parley_status (*align)(void *context, const pl_window *window, int64_t *raw, parley_error *error);
    void *context;
} pl_window_stage;

typedef struct pl_windowed {
    const float *pcm; /* PARLEY_ASR_RATE */
    int64_t samples;  /* >= 1 */
    int64_t limit;    /* samples that the model takes at once, at least a second */
    const pl_units *units;
    int64_t *raw, *times; /* out [2 * units], ms of the sound: the model's, and repaired, non-decreasing */
    size_t n_windows;     /* out */
    unsigned doubts;      /* out: PL_DOUBT_ of all and of the windows */
} pl_windowed;

/* A sound within the limit is one window unless its stamps stand still. Every window takes the walk on by an eighth of the limit or more. Errors:
 * MEMORY, LIMIT, those of the stage. */
parley_status pl_align_windows(pl_arena *scratch, pl_windowed *job, const pl_window_stage *stage, parley_error *error);

#endif
