#include "text/tokenizer.h"

#include <string.h>

/* The lead bytes of well-formed UTF-8 (Unicode, table 3-7), how many bytes follow, and what the first of these may be. */
static const struct {
    unsigned char first, last, follow, low, high;
} leads[] = {
    {0x00, 0x7F, 0, 0, 0},       {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF}, {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F},
    {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F},
};

/* Length of the character at `s`, or, with *whole false, of the longest beginning of one (at least one byte). */
static size_t character(const unsigned char *s, size_t n, bool *whole)
{
    size_t i = 0, length = 1;
    while (i < sizeof leads / sizeof leads[0] && (s[0] < leads[i].first || s[0] > leads[i].last))
        i++;
    *whole = i < sizeof leads / sizeof leads[0];
    if (!*whole)
        return 1;
    for (; length <= leads[i].follow; length++) {
        unsigned char low = length == 1 ? leads[i].low : 0x80, high = length == 1 ? leads[i].high : 0xBF;
        if (length >= n || s[length] < low || s[length] > high) {
            *whole = false;
            return length;
        }
    }
    return length;
}

static const char replacement[] = "\xEF\xBF\xBD";
enum { REPLACEMENT = sizeof replacement - 1 };

/* `raw` -> valid UTF-8 in `out` (room for REPLACEMENT bytes a byte); returns the length. */
static size_t repair(const unsigned char *raw, size_t n, char *out)
{
    size_t at = 0;
    for (size_t i = 0, length; i < n; i += length) {
        bool whole;
        length = character(raw + i, n - i, &whole);
        memcpy(out + at, whole ? (const char *)raw + i : replacement, whole ? length : REPLACEMENT);
        at += whole ? length : REPLACEMENT;
    }
    return at;
}

static size_t copy_bytes(const pl_tokenizer *tokenizer, const int32_t *ids, size_t count, unsigned char *out)
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

parley_status pl_detokenize(const parley_allocator *allocator, const pl_tokenizer *tokenizer, const int32_t *ids, size_t count, char **text,
                            size_t *length, parley_error *error)
{
    size_t n = copy_bytes(tokenizer, ids, count, NULL);
    unsigned char *raw = pl_alloc(allocator, n, 1);
    char *wide = pl_alloc(allocator, n, REPLACEMENT);
    *text = NULL;
    if (raw && wide) {
        copy_bytes(tokenizer, ids, count, raw);
        *length = repair(raw, n, wide);
        *text = pl_alloc(allocator, *length + 1, 1);
    }
    if (*text) {
        memcpy(*text, wide, *length);
        (*text)[*length] = '\0';
    }
    pl_release(allocator, raw, n, 1);
    pl_release(allocator, wide, n, REPLACEMENT);
    return *text ? PARLEY_OK : pl_fail_memory(error, "a text");
}
