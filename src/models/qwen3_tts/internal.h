/* What the files of the loader share; of no use outside this folder. */
#ifndef PL_MODELS_QWEN3_TTS_INTERNAL_H
#define PL_MODELS_QWEN3_TTS_INTERNAL_H

#include "models/catalogue.h"
#include "models/qwen3_tts/tensors.h"
#include "models/values.h"
#include "weights/gguf_write.h"

/* In which files a value must be there; elsewhere what the structure held before stays. */
enum {
    TTS_OPTIONAL = 0,
    TTS_NEED_HF = 1 << TTS_HF,
    TTS_NEED_QWENTTS = 1 << TTS_QWENTTS,
    TTS_NEED_QTS = 1 << TTS_QTS,
    TTS_NEED_PARLEY = 1 << TTS_PARLEY
};

/* ------------------------------------------------------------------ languages and speakers (names.c) */

/* Reads both tables; ids are checked against config->codec_vocabulary, dialects of speakers against the languages. */
parley_status pl_tts_names_read(const pl_values *from, tts_config *config);

/* Both tables as keys. MEMORY. */
parley_status pl_tts_names_write(const tts_config *config, pl_arena *arena, pl_gguf_head *head, parley_error *error);

/* ------------------------------------------------------------------ tensors (tensors.c) */

/* The entry of name + suffix, by the first of the names separated by '|' that is there; NULL when there is none. */
pl_entry *pl_tts_find(const tts_container *container, const char *names, const char *suffix);

/* Size of axis `axis` of a tensor of `rank` axes, whose leading axes of 1 may be absent; 0 when there is no such tensor. */
int64_t pl_tts_dim(const tts_container *container, const char *name, int rank, int axis);

/* Names of the predictor's input projection without ".weight". */
const char *pl_tts_projection_names(tts_dialect dialect);

#endif
