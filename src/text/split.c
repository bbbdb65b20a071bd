#include "text/split.h"

#include "text/unicode.h"
#include "text/utf8.h"

/* The regular expressions that the scanners stand for (spec/qwen3_tts.md, 2.2), alternatives in order; the first that fits anywhere wins, so
 * backtracking shows only where a comment below says so.
 *
 *  qwen2    (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N} |  ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *  mistral  [^\r\n\p{L}\p{N}]?U*S+ | [^\r\n\p{L}\p{N}]?U+S* | \p{N} |  ?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *           U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], S = [\p{Ll}\p{Lm}\p{Lo}\p{M}]
 */
enum {
    UPPER = PL_CAPITAL | PL_LETTER | PL_MARK,
    LOWER = PL_SMALL | PL_LETTER | PL_MARK,
    UNCASED = PL_LETTER | PL_MARK,
    NOT_PREFIX = PL_LINE_END | PL_ANY_LETTER | PL_NUMBER,
    NOT_OTHER = PL_SPACE | PL_ANY_LETTER | PL_NUMBER,
};

typedef struct character {
    uint32_t point;
    unsigned kind;
    size_t end;
} character;

static character get(pl_span text, size_t at)
{
    character c;
    size_t length;
    c.point = pl_utf8_get(text.text + at, &length);
    c.kind = pl_kind(c.point);
    c.end = at + length;
    return c;
}

/* End of the run of characters that have one of `kinds`. */
static size_t run_of(pl_span text, size_t at, unsigned kinds)
{
    while (at < text.length) {
        character c = get(text, at);
        if (!(c.kind & kinds))
            break;
        at = c.end;
    }
    return at;
}

static size_t run_without(pl_span text, size_t at, unsigned kinds)
{
    while (at < text.length) {
        character c = get(text, at);
        if (c.kind & kinds)
            break;
        at = c.end;
    }
    return at;
}

/* Small letters only; U+017F, the long s, is an s to a reader that ignores case. */
static char small_at(pl_span text, size_t at)
{
    if (at >= text.length)
        return '\0';
    unsigned char c = (unsigned char)text.text[at];
    if (c >= 'A' && c <= 'Z')
        return (char)(c + 32);
    if (c == 0xC5 && (unsigned char)text.text[at + 1] == 0xBF)
        return 's';
    return (char)c;
}

/* End of 's 't 're 've 'm 'll 'd behind the apostrophe at `at`, or `at`. */
static size_t contraction(pl_span text, size_t at)
{
    char first = small_at(text, at + 1), second;
    switch (first) {
    case 's': return at + ((unsigned char)text.text[at + 1] == 0xC5 ? 3 : 2);
    case 't':
    case 'm':
    case 'd': return at + 2;
    case 'r':
    case 'v':
    case 'l': second = small_at(text, at + 2); return second == (first == 'l' ? 'l' : 'e') ? at + 3 : at;
    default: return at;
    }
}

/* \s*[\r\n]+ | \s+(?!\S) | \s+ : up to the last line end of the run; else all of it at the end of the text; else all but its last space. */
static size_t spaces(pl_span text, size_t at)
{
    size_t end = at, line_end = at, last = at;
    while (end < text.length) {
        character c = get(text, end);
        if (!(c.kind & PL_SPACE))
            break;
        last = end;
        end = c.end;
        if (c.kind & PL_LINE_END)
            line_end = end;
    }
    if (line_end > at)
        return line_end;
    return end == text.length || last == at ? end : last;
}

/* [^\s\p{L}\p{N}]+ and the line ends (with mistral also slashes) behind it. */
static size_t others(pl_span text, size_t at, bool slashes)
{
    size_t end = run_without(text, at, NOT_OTHER);
    while (end < text.length && (text.text[end] == '\r' || text.text[end] == '\n' || (slashes && text.text[end] == '/')))
        end++;
    return end;
}

/* The alternatives that both have: numbers, other characters with a space before them or without, spaces. */
static size_t common(pl_span text, size_t at, character c, bool slashes)
{
    if (c.kind & PL_NUMBER)
        return c.end;
    if (!(c.kind & PL_SPACE))
        return others(text, at, slashes);
    if (c.point == ' ' && c.end < text.length && !(get(text, c.end).kind & NOT_OTHER))
        return others(text, c.end, slashes);
    return spaces(text, at);
}

static size_t qwen2_next(pl_span text, size_t at)
{
    character c = get(text, at);
    if (c.point == '\'') {
        size_t end = contraction(text, at);
        if (end > at)
            return end;
    }
    if (c.kind & PL_ANY_LETTER)
        return run_of(text, c.end, PL_ANY_LETTER);
    if (!(c.kind & NOT_PREFIX) && c.end < text.length) {
        character second = get(text, c.end);
        if (second.kind & PL_ANY_LETTER)
            return run_of(text, second.end, PL_ANY_LETTER);
    }
    return common(text, at, c, false);
}

/* U*S+ : U takes all it can; when no S follows, it gives back to the last character that S may take too. `at` when nothing fits. */
static size_t lower_word(pl_span text, size_t at)
{
    size_t end = at, given_back = at;
    while (end < text.length) {
        character c = get(text, end);
        if (!(c.kind & UPPER))
            break;
        end = c.end;
        if (c.kind & UNCASED)
            given_back = end;
    }
    size_t word = run_of(text, end, LOWER);
    return word > end ? word : given_back;
}

/* U+S* */
static size_t upper_word(pl_span text, size_t at)
{
    size_t end = run_of(text, at, UPPER);
    return end > at ? run_of(text, end, LOWER) : at;
}

static size_t mistral_next(pl_span text, size_t at)
{
    size_t (*const words[])(pl_span, size_t) = {lower_word, upper_word};
    character c = get(text, at);
    for (int i = 0; i < 2; i++) {
        if (!(c.kind & NOT_PREFIX)) { /* the optional character first, then without it: a mark can be either */
            size_t end = words[i](text, c.end);
            if (end > c.end)
                return end;
        }
        size_t end = words[i](text, at);
        if (end > at)
            return end;
    }
    return common(text, at, c, true);
}

size_t pl_split_next(parley_splitter splitter, pl_span text, size_t at)
{
    return splitter == PARLEY_SPLITTER_MISTRAL ? mistral_next(text, at) : qwen2_next(text, at);
}
