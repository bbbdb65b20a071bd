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
    TTS_NEED_LLAMA = 1 << TTS_LLAMA,
    TTS_NEED_PARLEY = 1 << TTS_PARLEY
};

/* ------------------------------------------------------------------ languages and speakers (names.c) */

/* The names of the rows of llama's joined vocabulary: text, then codec (spec/gguf_dialects.md D.2). They lie in an arena of their own. */
typedef struct tts_joined {
    pl_arena arena;
    const pl_gguf_text *text, *codec;
    size_t n_text, n_codec;
} tts_joined;

/* Rows of text and codec in a text model's file. MISSING, FORMAT. */
parley_status pl_tts_joined_sizes(const tts_container *c, int32_t *text, int32_t *codec, parley_error *error);

/* Reads the names for config->text_vocabulary and codec_vocabulary, to be closed in any case; then the ids that they tell. MISSING, FORMAT, MEMORY.
 */
parley_status pl_tts_joined_open(const pl_values *from, const tts_config *config, tts_joined *joined);
parley_status pl_tts_joined_ids(const pl_values *from, const tts_joined *joined, tts_config *config);
void pl_tts_joined_close(tts_joined *joined);

/* Reads both tables, of llama files by the names of `joined` (else NULL); ids are checked against config->codec_vocabulary, dialects of speakers
 * against the languages. */
parley_status pl_tts_names_read(const pl_values *from, const tts_joined *joined, tts_config *config);

/* Both tables as keys. MEMORY. */
parley_status pl_tts_names_write(const tts_config *config, pl_arena *arena, pl_gguf_head *head, parley_error *error);

/* ------------------------------------------------------------------ tensors (tensors.c) */

/* The entry of name + suffix, by the first of the names separated by '|' that is there; NULL when there is none. */
pl_entry *pl_tts_find(const tts_container *container, const char *names, const char *suffix);

/* Size of axis `axis` of a tensor of `rank` axes, whose leading axes of 1 may be absent; 0 when there is no such tensor. */
int64_t pl_tts_dim(const tts_container *container, const char *name, int rank, int axis);

/* Names of the predictor's input projection without ".weight". */
const char *pl_tts_projection_names(int dialect);

#endif
