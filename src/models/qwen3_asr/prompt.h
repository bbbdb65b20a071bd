/* Ids of the prompts of recognition and alignment (spec/qwen3_asr.md 4.1, 5.2). Template tokens are placed by id; callers' text is plain text. */
#ifndef PL_MODELS_QWEN3_ASR_PROMPT_H
#define PL_MODELS_QWEN3_ASR_PROMPT_H

#include "models/qwen3_asr/config.h"
#include "text/tokenizer.h"

typedef struct asr_prompt {
    pl_ids ids;
    size_t audio_at; /* first of the `audio_rows` places that take the tower's rows */
    int64_t audio_rows;
} asr_prompt;

/* `language`: as the prompt spells it; NULL: not forced. FORMAT (invalid UTF-8 in the context), MEMORY. */
parley_status pl_asr_prompt(const asr_config *config, const pl_tokenizer *tokenizer, pl_tokenize_options tokenizing, pl_span context,
                            const char *language, int64_t audio_rows, asr_prompt *prompt, parley_error *error);

/* Audio, then each unit with two <timestamp> behind it; slots [2 * n_units]: the places of these. */
parley_status pl_asr_align_prompt(const asr_config *config, const pl_tokenizer *tokenizer, pl_tokenize_options tokenizing, const pl_span *units,
                                  size_t n_units, int64_t audio_rows, asr_prompt *prompt, int *slots, parley_error *error);

#endif
