/* What of the last answer a streaming step hands on to the model (spec/qwen3_asr.md 6.1). */
#ifndef PL_MODELS_QWEN3_ASR_PREFIX_H
#define PL_MODELS_QWEN3_ASR_PREFIX_H

#include "text/tokenizer.h"

typedef struct pl_prefix_rule {
    size_t unfixed; /* tokens at the end that are given up */
    size_t cold;    /* first steps that hand on nothing */
    bool last;      /* the step at the end of the input: at least one token stays, and a character cut in two may too */
    parley_splitter splitter;
} pl_prefix_rule;

/* `raw`: the whole answer so far, header included; `step` counts from 0. The prefix lies in the arena; where a character is cut in two it ends in
 * U+FFFD. Errors: FORMAT (raw is no UTF-8), MEMORY. */
parley_status pl_stream_prefix(pl_arena *arena, const pl_tokenizer *tokenizer, pl_span raw, size_t step, const pl_prefix_rule *rule, pl_span *prefix,
                               parley_error *error);

#endif
