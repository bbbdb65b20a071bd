#include "models/qwen3_asr/prompt.h"

#include <string.h>

typedef struct builder {
    const asr_config *config;
    const pl_tokenizer *tokenizer;
    pl_tokenize_options tokenizing;
    asr_prompt *p;
    parley_error *error;
} builder;

static parley_status put(builder *b, int32_t id)
{
    return pl_ids_push(&b->p->ids, id, b->error);
}

static parley_status put_text(builder *b, pl_span text)
{
    return pl_tokenize(b->tokenizer, text, b->tokenizing, &b->p->ids, b->error);
}

static pl_span span(const char *text)
{
    return (pl_span){text, strlen(text)};
}

/* Two texts that stand between the same special tokens are one piece to the tokenizer. */
static parley_status put_joined(builder *b, const char *first, pl_span second)
{
    const parley_allocator *allocator = &b->p->ids.allocator;
    size_t length = strlen(first), size = length + second.length;
    char *piece = pl_alloc(allocator, size, 1);
    if (!piece)
        return pl_fail_memory(b->error, "a prompt");
    memcpy(piece, first, length);
    if (second.length)
        memcpy(piece + length, second.text, second.length);
    parley_status status = put_text(b, (pl_span){piece, size});
    pl_release(allocator, piece, size, 1);
    if (status != PARLEY_OK && b->error && b->error->position >= length)
        b->error->position -= length; /* of the caller's text */
    return status;
}

static parley_status put_audio(builder *b, int64_t rows)
{
    PL_TRY(put(b, b->config->audio_start));
    b->p->audio_at = b->p->ids.count;
    b->p->audio_rows = rows;
    for (int64_t i = 0; i < rows; i++)
        PL_TRY(put(b, b->config->audio_token));
    return put(b, b->config->audio_end);
}

static parley_status put_end(builder *b)
{
    PL_TRY(put(b, b->config->im_end));
    return put_text(b, span("\n"));
}

static parley_status put_answer(builder *b, const char *language)
{
    enum { LONGEST = 80 };
    char forced[LONGEST] = "";
    PL_TRY(put(b, b->config->im_start));
    if (!language)
        return put_text(b, span("assistant\n"));
    strncat(strcpy(forced, "language "), language, LONGEST - sizeof "language ");
    PL_TRY(put_joined(b, "assistant\n", span(forced)));
    return put(b, b->config->asr_text);
}

parley_status pl_asr_prompt(const asr_config *config, const pl_tokenizer *tokenizer, pl_tokenize_options tokenizing, pl_span context,
                            const char *language, int64_t audio_rows, asr_prompt *prompt, parley_error *error)
{
    builder b = {config, tokenizer, tokenizing, prompt, error};
    PL_TRY(put(&b, config->im_start));
    PL_TRY(put_joined(&b, "system\n", context));
    PL_TRY(put_end(&b));
    PL_TRY(put(&b, config->im_start));
    PL_TRY(put_text(&b, span("user\n")));
    PL_TRY(put_audio(&b, audio_rows));
    PL_TRY(put_end(&b));
    return put_answer(&b, language);
}

parley_status pl_asr_align_prompt(const asr_config *config, const pl_tokenizer *tokenizer, pl_tokenize_options tokenizing, const pl_span *units,
                                  size_t n_units, int64_t audio_rows, asr_prompt *prompt, int *slots, parley_error *error)
{
    builder b = {config, tokenizer, tokenizing, prompt, error};
    PL_TRY(put_audio(&b, audio_rows));
    for (size_t i = 0; i < n_units; i++) {
        PL_TRY(put_text(&b, units[i]));
        for (int end = 0; end < 2; end++) {
            slots[2 * i + (size_t)end] = (int)prompt->ids.count;
            PL_TRY(put(&b, config->timestamp));
        }
    }
    return PARLEY_OK;
}
