/* Options and text -> the rows of the talker's prompt (spec/qwen3_tts.md 2 and 3). */
#ifndef PL_MODELS_QWEN3_TTS_PROMPT_H
#define PL_MODELS_QWEN3_TTS_PROMPT_H

#include "models/qwen3_tts/network.h"

/* What of the prompt is a voice, resolved and checked. */
typedef struct tts_voice {
    const tts_speaker *speaker; /* NULL: none */
    const float *xvector;       /* [talker width]; NULL: none */
    const int32_t *ref_codes;   /* [ref_frames][groups]; NULL: none */
    int64_t ref_frames;
    const char *ref_text;
} tts_voice;

enum { TTS_PAD, TTS_BOS, TTS_EOS, TTS_FIXED }; /* first entries of tts_prompt.projected */
enum { TTS_NO_TEXT = -1, TTS_NO_CODEC = -1, TTS_XVECTOR = -2, TTS_FIRST_REF = -3 };

/* One position: a projected text row plus a codec row. */
typedef struct tts_position {
    int32_t text;  /* index into `projected`, or TTS_NO_TEXT */
    int32_t codec; /* row of the codec embedding, TTS_NO_CODEC, TTS_XVECTOR, or TTS_FIRST_REF - f: sum of reference frame f */
} tts_position;

typedef struct tts_prompt {
    pl_ids text_ids, instruct_ids, ref_ids; /* of the whole templated strings */
    pl_ids projected;                       /* text ids whose projection is needed; the first TTS_FIXED are pad, bos, eos */
    tts_position *positions;                /* [length] */
    int32_t length;                         /* 0: there is too little text for a prompt */
    pl_ids trailing;                        /* indices into `projected`, fed along with the frames; pad behind them */
    int32_t text_length;                    /* ids of the text alone that are known */
} tts_prompt;

typedef struct tts_prompt_input {
    const tts_config *config;
    const pl_tokenizer *tokenizer;
    pl_tokenize_options tokenizing;
    pl_span text;
    bool open;            /* more text is to come: only ids that stay are taken */
    const char *instruct; /* NULL: none */
    int32_t language;     /* codec row; -1: automatic */
    parley_layout layout;
    tts_voice voice;
} tts_prompt_input;

/* Fills `prompt`, whose lists live in `arena` (ids in the arena's allocator: free with pl_tts_prompt_free). FORMAT (UTF-8), MEMORY. */
parley_status pl_tts_prompt_build(pl_arena *arena, const tts_prompt_input *input, tts_prompt *prompt, parley_error *error);
void pl_tts_prompt_free(tts_prompt *prompt);

/* Takes the ids that `input->text`, longer or complete now, has more into the trailing rows; the prompt is not empty. FORMAT, MEMORY. */
parley_status pl_tts_prompt_extend(pl_arena *arena, const tts_prompt_input *input, tts_prompt *prompt, parley_error *error);

/* Projections of all of prompt->projected: [count][talker width]. Float32 arithmetic whatever the weights: it is done once. */
parley_status pl_tts_project_text(pl_compute *compute, const tts_network *network, const tts_config *config, const int32_t *ids, int64_t count,
                                  float *out, parley_error *error);

/* Sum of the code embeddings of one frame [groups]: y [talker width]. */
void pl_tts_embed_frame(const pl_kernels *k, const tts_network *network, const tts_config *config, const int32_t *codes, float *y);

/* What the rows of a prompt are made from. */
typedef struct tts_prompt_rows {
    const tts_network *network;
    const tts_config *config;
    const tts_prompt *prompt;
    const tts_voice *voice;
    const float *projected;
} tts_prompt_rows;

/* Rows first .. first + count - 1 of the prompt: out [count][talker width]. */
void pl_tts_prompt_embed(const pl_kernels *k, const tts_prompt_rows *rows, int32_t first, int32_t count, float *out);

#endif
