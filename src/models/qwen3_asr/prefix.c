#include "models/qwen3_asr/prefix.h"

#include "text/strings.h"

#include <string.h>

/* Bytes of the first `count` tokens. */
static parley_status decode(pl_arena *arena, const pl_tokenizer *tokenizer, const pl_ids *ids, size_t count, pl_span *text, parley_error *error)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += pl_token_bytes(tokenizer, ids->ids[i]).length;
    char *out = pl_arena_alloc_raw(arena, length, 1);
    if (!out)
        return pl_fail_memory(error, "the prefix of a streaming step");
    *text = (pl_span){out, length};
    for (size_t i = 0; i < count; i++) {
        pl_span bytes = pl_token_bytes(tokenizer, ids->ids[i]);
        memcpy(out, bytes.text, bytes.length);
        out += bytes.length;
    }
    return PARLEY_OK;
}

/* Offset of the first place that decodes to U+FFFD: bytes that are no UTF-8, or that character itself. */
static size_t first_replacement(pl_span text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t valid = pl_utf8_check(text.text, text.length);
    for (size_t at = 0; at + 3 <= valid; at++)
        if (memcmp(text.text + at, replacement, 3) == 0)
            return at;
    return valid;
}

/* Cuts tokens off the end until the rest decodes without U+FFFD. */
static void drop_broken(const pl_tokenizer *tokenizer, const pl_ids *ids, size_t count, pl_span *text)
{
    size_t good = first_replacement(*text), whole = text->length;
    while (text->length > good || (text->length < whole && (text->text[text->length] & 0xC0) == 0x80))
        text->length -= pl_token_bytes(tokenizer, ids->ids[--count]).length;
}

static parley_status cut(pl_arena *arena, const pl_tokenizer *tokenizer, const pl_ids *ids, const pl_prefix_rule *rule, pl_span *prefix,
                         parley_error *error)
{
    size_t count = ids->count > rule->unfixed ? ids->count - rule->unfixed : 0;
    if (rule->last && count == 0 && ids->count)
        count = 1;
    PL_TRY(decode(arena, tokenizer, ids, count, prefix, error));
    if (rule->last)
        return pl_utf8_lossy(arena, *prefix, prefix, error);
    drop_broken(tokenizer, ids, count, prefix);
    return PARLEY_OK;
}

parley_status pl_stream_prefix(pl_arena *arena, const pl_tokenizer *tokenizer, pl_span raw, size_t step, const pl_prefix_rule *rule, pl_span *prefix,
                               parley_error *error)
{
    *prefix = (pl_span){"", 0};
    if (step < rule->cold || raw.length == 0)
        return PARLEY_OK;
    pl_ids ids = {.allocator = arena->allocator};
    parley_status status = pl_tokenize(tokenizer, raw, (pl_tokenize_options){true, rule->splitter}, &ids, error);
    if (status == PARLEY_OK)
        status = cut(arena, tokenizer, &ids, rule, prefix, error);
    pl_ids_free(&ids);
    return status;
}
