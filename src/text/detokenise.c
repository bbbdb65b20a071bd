#include "text/strings.h"

#include <string.h>

/* Bytes of the tokens that make text; `out` NULL: only their number. */
static size_t copy_bytes(const pl_tokenizer *tokenizer, const int32_t *ids, size_t count, char *out)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        pl_span bytes = pl_token_bytes(tokenizer, ids[i]);
        if (pl_token_is_special(tokenizer, ids[i]))
            continue;
        if (out && bytes.length)
            memcpy(out + at, bytes.text, bytes.length);
        at += bytes.length;
    }
    return at;
}

parley_status pl_detokenize(pl_arena *arena, const pl_tokenizer *tokenizer, const int32_t *ids, size_t count, pl_span *text, parley_error *error)
{
    size_t n = copy_bytes(tokenizer, ids, count, NULL);
    char *raw = pl_arena_alloc_raw(arena, n, 1);
    if (!raw)
        return pl_fail_memory(error, "a text");
    copy_bytes(tokenizer, ids, count, raw);
    return pl_utf8_lossy(arena, (pl_span){raw, n}, text, error);
}
