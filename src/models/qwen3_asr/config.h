/* What the configuration of a Qwen3-ASR or Qwen3-ForcedAligner checkpoint says, whatever the dialect (spec/qwen3_asr.md 1; spec/gguf_dialects.md B).
 */
#ifndef PL_MODELS_QWEN3_ASR_CONFIG_H
#define PL_MODELS_QWEN3_ASR_CONFIG_H

#include "encoder/tower.h"
#include "nn/transformer.h"

enum { ASR_MAX_END_IDS = 8 };

typedef struct asr_language {
    const char *name; /* as the prompt spells it: "English" */
    const char *code; /* "en"; "" where none is known */
} asr_language;

/* Of the log-mel front end. Other values than these are refused. */
typedef struct asr_front {
    int32_t sample_rate; /* 16000 */
    int32_t fft;         /* 400: window and transform */
    int32_t hop;         /* 160 */
    int32_t mels;        /* 128 */
} asr_front;

typedef struct asr_config {
    bool aligner; /* a head of classes over positions of <timestamp>, instead of one over the vocabulary */
    pl_tower_shape tower;
    pl_transformer_shape text;
    asr_front front;
    int32_t vocabulary;     /* rows of the token embedding */
    int32_t head_rows;      /* the vocabulary, or the aligner's classes */
    bool tied;              /* the embedding is the head; a stored head is a copy that nobody reads */
    int32_t context_length; /* positions */
    int32_t timestamp_ms;   /* of a class; 0 for recognisers */
    /* Ids. Those that the files do not name are looked up in the tokenizer by their spelling; -1: there is none. */
    int32_t audio_token, audio_start, audio_end;
    int32_t im_start, im_end, asr_text, timestamp;
    int32_t end_ids[ASR_MAX_END_IDS]; /* any of them ends the answer; none for an aligner whose files name none */
    int n_end_ids;
    const asr_language *languages; /* in the order of the files */
    int n_languages;
} asr_config;

/* The languages of the family, in upstream's order. */
const asr_language *pl_asr_languages(int *count);

#endif
