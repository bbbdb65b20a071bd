#include "weights/scan.h"

#include "base/checked.h"
#include "weights/parts.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

parley_status pl_scan_expected(const pl_scan *scan, const char *what)
{
    uint64_t position = scan->base + scan->at;
    const char *end = scan->at >= scan->size ? ", where the text ends" : "";
    return pl_fail_at(scan->error, PARLEY_FORMAT, position, "%s: %s expected at byte %" PRIu64 "%s", scan->where, what, position, end);
}

/* The next byte, 0 at the end: a zero byte is nowhere right. */
static uint8_t peek(const pl_scan *scan)
{
    return scan->at < scan->size ? scan->text[scan->at] : 0;
}

static void skip_space(pl_scan *scan)
{
    while (scan->at < scan->size && memchr(" \t\n\r", scan->text[scan->at], 4))
        scan->at++;
}

parley_status pl_scan_expect(pl_scan *scan, char c)
{
    char what[] = {'\'', c, '\'', '\0'};
    skip_space(scan);
    if (peek(scan) != (uint8_t)c)
        return pl_scan_expected(scan, what);
    scan->at++;
    return PARLEY_OK;
}

parley_status pl_scan_end(pl_scan *scan)
{
    skip_space(scan);
    return scan->at < scan->size ? pl_scan_expected(scan, "the end of the JSON text") : PARLEY_OK;
}

/* ------------------------------------------------------------------ strings */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind "\u". */
static bool hex_unit(pl_scan *scan, uint32_t *unit)
{
    if (scan->size - scan->at < 4)
        return false;
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(scan->text[scan->at + (size_t)i]);
        if (digit < 0)
            return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    scan->at += 4;
    return true;
}

/* One character of \uXXXX, or of two such that are a surrogate pair. */
static bool hex_character(pl_scan *scan, uint32_t *character)
{
    uint32_t low;
    if (!hex_unit(scan, character) || (*character >= 0xDC00 && *character < 0xE000))
        return false;
    if (*character < 0xD800 || *character >= 0xDC00)
        return true;
    if (scan->size - scan->at < 2 || scan->text[scan->at] != '\\' || scan->text[scan->at + 1] != 'u')
        return false;
    scan->at += 2;
    if (!hex_unit(scan, &low) || low < 0xDC00 || low >= 0xE000)
        return false;
    *character = 0x10000 + ((*character - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static size_t put_utf8(uint32_t c, char out[4])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(heads[n] | c);
    return n;
}

/* What follows a backslash, as bytes. */
static bool escape(pl_scan *scan, char out[4], size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint8_t c = peek(scan);
    scan->at += scan->at < scan->size;
    *n = 1;
    if (c == 'u') {
        uint32_t character;
        if (!hex_character(scan, &character))
            return false;
        *n = put_utf8(character, out);
        return true;
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (found)
        out[0] = to[found - from];
    return found != NULL;
}

/* The bytes up to the next quote or backslash, copied. */
static parley_status plain_run(pl_scan *scan, char *text, size_t *length)
{
    size_t begin = scan->at;
    for (uint8_t c = peek(scan); c >= 0x20 && c != '"' && c != '\\'; c = peek(scan))
        scan->at++;
    size_t n = scan->at - begin;
    if (!pl_is_utf8(scan->text + begin, n)) {
        scan->at = begin;
        return pl_scan_expected(scan, "UTF-8 text");
    }
    if (text && n)
        memcpy(text + *length, scan->text + begin, n);
    *length += n;
    return PARLEY_OK;
}

parley_status pl_scan_string(pl_scan *scan, char *text, size_t *length)
{
    size_t n = 0;
    PL_TRY(pl_scan_expect(scan, '"'));
    for (;;) {
        PL_TRY(plain_run(scan, text, &n));
        uint8_t c = peek(scan);
        if (c != '"' && c != '\\')
            return pl_scan_expected(scan, "a closing quote");
        scan->at++;
        if (c == '"')
            break;
        char bytes[4];
        size_t count;
        if (!escape(scan, bytes, &count) || (text && bytes[0] == '\0'))
            return pl_scan_expected(scan, "a valid escape (in names none of a zero character)");
        if (text)
            memcpy(text + n, bytes, count);
        n += count;
    }
    if (text)
        text[n] = '\0';
    if (length)
        *length = n;
    return PARLEY_OK;
}

parley_status pl_scan_key(pl_scan *scan, char *text, size_t *length)
{
    PL_TRY(pl_scan_string(scan, text, length));
    return pl_scan_expect(scan, ':');
}

/* ------------------------------------------------------------------ numbers and the rest */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

parley_status pl_scan_uint(pl_scan *scan, uint64_t *value)
{
    static const char what[] = "a whole number of 0 to 2^64 - 1";
    skip_space(scan);
    size_t begin = scan->at;
    uint64_t number = 0;
    bool fits = is_digit(peek(scan));
    for (uint8_t c = peek(scan); fits && is_digit(c); c = peek(scan)) {
        fits = pl_mul_u64(number, 10, &number) && pl_add_u64(number, (uint64_t)(c - '0'), &number);
        scan->at++;
    }
    uint8_t next = peek(scan);
    if (!fits || next == '.' || next == 'e' || next == 'E' || (scan->text[begin] == '0' && scan->at - begin > 1)) {
        scan->at = begin;
        return pl_scan_expected(scan, what);
    }
    *value = number;
    return PARLEY_OK;
}

parley_status pl_scan_more(pl_scan *scan, char closing, bool *first, bool *more)
{
    skip_space(scan);
    *more = peek(scan) != (uint8_t)closing;
    if (!*more)
        scan->at++;
    else if (!*first)
        PL_TRY(pl_scan_expect(scan, ','));
    *first = false;
    return PARLEY_OK;
}

static size_t skip_digits(pl_scan *scan)
{
    size_t begin = scan->at;
    while (is_digit(peek(scan)))
        scan->at++;
    return scan->at - begin;
}

static parley_status skip_number(pl_scan *scan)
{
    scan->at += peek(scan) == '-';
    bool zero = peek(scan) == '0';
    size_t whole = skip_digits(scan);
    bool right = whole > 0 && !(zero && whole > 1);
    if (right && peek(scan) == '.') {
        scan->at++;
        right = skip_digits(scan) > 0;
    }
    if (right && (peek(scan) | 0x20) == 'e') {
        scan->at++;
        scan->at += peek(scan) == '+' || peek(scan) == '-';
        right = skip_digits(scan) > 0;
    }
    return right ? PARLEY_OK : pl_scan_expected(scan, "a value");
}

static bool skip_word(pl_scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (scan->size - scan->at >= n && memcmp(scan->text + scan->at, words[i], n) == 0) {
            scan->at += n;
            return true;
        }
    }
    return false;
}

static parley_status skip_value(pl_scan *scan, int depth);

static parley_status skip_nested(pl_scan *scan, bool object, int depth)
{
    if (depth == MAX_DEPTH)
        return pl_scan_expected(scan, "JSON nested at most 32 deep");
    scan->at++;
    bool first = true, more;
    for (;;) {
        PL_TRY(pl_scan_more(scan, object ? '}' : ']', &first, &more));
        if (!more)
            return PARLEY_OK;
        if (object)
            PL_TRY(pl_scan_key(scan, NULL, NULL));
        PL_TRY(skip_value(scan, depth + 1));
    }
}

static parley_status skip_value(pl_scan *scan, int depth)
{
    skip_space(scan);
    uint8_t c = peek(scan);
    if (c == '{' || c == '[')
        return skip_nested(scan, c == '{', depth);
    if (c == '"')
        return pl_scan_string(scan, NULL, NULL);
    return skip_word(scan) ? PARLEY_OK : skip_number(scan);
}

parley_status pl_scan_skip(pl_scan *scan)
{
    return skip_value(scan, 0);
}
