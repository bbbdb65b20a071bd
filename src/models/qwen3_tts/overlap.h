/* The codec beside the frames that follow: when both run at once, and with which threads. */
#ifndef PL_MODELS_QWEN3_TTS_OVERLAP_H
#define PL_MODELS_QWEN3_TTS_OVERLAP_H

#include "base/background.h"
#include "base/pool.h"

/* All NULL: in turn. */
typedef struct tts_overlap {
    pl_background *thread;   /* decodes, and leads `codec` */
    pl_pool *codec, *frames; /* together as many threads as the model may use */
} tts_overlap;

/* Stays in turn where that is faster. MEMORY, IO. */
parley_status pl_tts_overlap_open(const parley_allocator *allocator, int threads, bool int8, tts_overlap *overlap, parley_error *error);
void pl_tts_overlap_close(tts_overlap *overlap);

/* The pool for frames: `all`, or less of it while the codec is at work. */
pl_pool *pl_tts_overlap_pool(const tts_overlap *overlap, pl_pool *all);

#endif
