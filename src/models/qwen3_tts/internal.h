/* What the files of the loader share; of no use outside this folder. */
#ifndef PL_MODELS_QWEN3_TTS_INTERNAL_H
#define PL_MODELS_QWEN3_TTS_INTERNAL_H

#include "models/qwen3_tts/tensors.h"

#include <cjson/cJSON.h>

/* Longest name of a file or tensor in an error text. */
enum { TTS_WHERE = 240, TTS_NAME = 128 };

/* ------------------------------------------------------------------ configuration files (json.c) */

/* Parses a JSON object of a container's folder. Errors: MISSING, FORMAT, IO, MEMORY. Release with cJSON_Delete(). */
parley_status pl_tts_json(pl_source *source, const char *folder, const char *name, cJSON **json, parley_error *error);

/* The value at "a.b.c"; NULL when it is not there or null. A key that occurs twice, and a step into what is no object, are FORMAT. */
parley_status pl_tts_json_find(const cJSON *json, const char *path, const char *where, const cJSON **value, parley_error *error);

/* ------------------------------------------------------------------ values by table (values.c) */

typedef enum tts_kind { TTS_INT, TTS_INT64, TTS_FLOAT, TTS_DOUBLE, TTS_BOOL, TTS_TEXT, TTS_INTS } tts_kind;

/* In which files a value must be there; elsewhere what the structure held before stays. */
enum { TTS_OPTIONAL = 0, TTS_NEED_HF = 1 << TTS_HF, TTS_NEED_QWENTTS = 1 << TTS_QWENTTS, TTS_NEED_QTS = 1 << TTS_QTS };

typedef struct tts_row {
    size_t field; /* offset in the structure; TTS_INTS: of an int that counts, with PL_CODEC_MAX_RATES ints behind it */
    tts_kind kind;
    unsigned need;
    double low, high;    /* inclusive; of texts unused */
    const char *json;    /* path in the JSON document */
    const char *keys[5]; /* of GGUF files, tried in this order */
} tts_row;

/* A value that must be one of a few when it is there: anything else is understood by no code here. */
typedef struct tts_only {
    const char *json, *key; /* either may be NULL */
    const char *allowed;    /* "silu", "null|0": lists are "5,3,3" or, when all items are equal, that item */
} tts_only;

/* Where values come from: a JSON document, or GGUF files that are searched in order. */
typedef struct tts_values {
    pl_arena *arena; /* texts go there */
    tts_dialect dialect;
    const cJSON *json;
    const pl_container *places[2];
    const char *where; /* for messages */
    parley_error *error;
} tts_values;

parley_status pl_tts_values_read(const tts_values *from, const tts_row *rows, size_t count, void *target);
parley_status pl_tts_values_only(const tts_values *from, const tts_only *rows, size_t count);

/* ------------------------------------------------------------------ languages and speakers (names.c) */

/* Reads both tables; ids are checked against config->codec_vocabulary, dialects of speakers against the languages. */
parley_status pl_tts_names_read(const tts_values *from, tts_config *config);

/* ------------------------------------------------------------------ tensors (tensors.c) */

/* The entry of name + suffix, by the first of the names separated by '|' that is there; NULL when there is none. */
pl_entry *pl_tts_find(const tts_container *container, const char *names, const char *suffix);

/* Size of axis `axis` of a tensor of `rank` axes, whose leading axes of 1 may be absent; 0 when there is no such tensor. */
int64_t pl_tts_dim(const tts_container *container, const char *name, int rank, int axis);

/* Names of the predictor's input projection without ".weight". */
const char *pl_tts_projection_names(tts_dialect dialect);

#endif
