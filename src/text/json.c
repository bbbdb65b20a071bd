#include "text/json.h"

#include "text/utf8.h"

#include <string.h>

enum { DEEPEST = 64 };

parley_status pl_json_fail(const pl_json *json, const char *expected)
{
    return pl_fail_at(json->error, PARLEY_FORMAT, json->at, "%s: expected %s at byte %zu", json->name, expected, json->at);
}

parley_status pl_json_start(pl_json *json, const char *name, pl_span text, pl_arena *arena, parley_error *error)
{
    *json = (pl_json){name, text, 0, arena, error};
    json->at = pl_utf8_check(text.text, text.length);
    if (json->at != text.length)
        return pl_json_fail(json, "valid UTF-8");
    json->at = 0;
    return PARLEY_OK;
}

/* The character at the place reached, NUL at the end. */
static char peek(const pl_json *json)
{
    return json->at < json->text.length ? json->text.text[json->at] : '\0';
}

static char peek_token(pl_json *json)
{
    while (json->at < json->text.length) {
        char c = json->text.text[json->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return c;
        json->at++;
    }
    return '\0';
}

parley_status pl_json_enter(pl_json *json, char bracket)
{
    if (peek_token(json) != bracket)
        return pl_json_fail(json, bracket == '{' ? "'{'" : "'['");
    json->at++;
    return PARLEY_OK;
}

parley_status pl_json_next(pl_json *json, char closing, bool *first, bool *more)
{
    char c = peek_token(json);
    *more = c != closing;
    if (c == closing || (c == ',' && !*first))
        json->at++;
    else if (!*first)
        return pl_json_fail(json, closing == '}' ? "',' or '}'" : "',' or ']'");
    *first = false;
    return PARLEY_OK;
}

parley_status pl_json_key(pl_json *json, pl_span *key)
{
    PL_TRY(pl_json_string(json, key));
    if (peek_token(json) != ':')
        return pl_json_fail(json, "':'");
    json->at++;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ strings */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four digits at `at`, which is inside a string that ends somewhere behind; -1 when there are none. */
static int32_t hex4(const char *text)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* \uXXXX at the place reached, a pair of surrogates as one; passes it. -1 for what is none. */
static int32_t unicode_escape(pl_json *json)
{
    const char *s = json->text.text + json->at;
    size_t left = json->text.length - json->at;
    int32_t high = left >= 6 ? hex4(s + 2) : -1;
    if (high < 0 || (high >= 0xDC00 && high < 0xE000))
        return -1;
    json->at += 6;
    if (high < 0xD800 || high >= 0xE000)
        return high;
    int32_t low = left >= 12 && s[6] == '\\' && s[7] == 'u' ? hex4(s + 8) : -1;
    if (low < 0xDC00 || low >= 0xE000)
        return -1;
    json->at += 6;
    return 0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00));
}

static parley_status escape(pl_json *json, char *out, size_t *length)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char kind = json->at + 1 < json->text.length ? json->text.text[json->at + 1] : '\0';
    if (kind == 'u') {
        int32_t point = unicode_escape(json);
        if (point < 0)
            return pl_json_fail(json, "\\u and a code point in hexadecimal digits");
        *length += pl_utf8_put((uint32_t)point, out + *length);
        return PARLEY_OK;
    }
    const char *found = kind ? strchr(from, kind) : NULL;
    if (!found)
        return pl_json_fail(json, "a known escape");
    out[(*length)++] = to[found - from];
    json->at += 2;
    return PARLEY_OK;
}

/* Moves to the quote that ends the string; whether there are escapes on the way. */
static parley_status find_quote(pl_json *json, bool *escapes)
{
    *escapes = false;
    for (; json->at < json->text.length; json->at++) {
        char c = json->text.text[json->at];
        if (c == '"')
            return PARLEY_OK;
        if ((unsigned char)c < 0x20)
            return pl_json_fail(json, "no control character in a string");
        if (c == '\\') {
            *escapes = true;
            json->at++;
        }
    }
    json->at = json->text.length;
    return pl_json_fail(json, "'\"' at the end of a string");
}

/* What lies from the place reached to `end`, escapes resolved: never longer than it is written. */
static parley_status unescape(pl_json *json, size_t end, pl_span *value)
{
    char *out = pl_arena_alloc_raw(json->arena, end - json->at, 1);
    size_t length = 0;
    if (!out)
        return pl_fail_memory(json->error, "strings of JSON");
    while (json->at < end) {
        if (peek(json) == '\\')
            PL_TRY(escape(json, out, &length));
        else
            out[length++] = json->text.text[json->at++];
    }
    *value = (pl_span){out, length};
    return PARLEY_OK;
}

parley_status pl_json_string(pl_json *json, pl_span *value)
{
    bool escapes;
    if (peek_token(json) != '"')
        return pl_json_fail(json, "a string");
    size_t begin = ++json->at;
    PL_TRY(find_quote(json, &escapes));
    size_t end = json->at;
    *value = (pl_span){json->text.text + begin, end - begin};
    if (escapes) {
        json->at = begin;
        PL_TRY(unescape(json, end, value));
    }
    json->at = end + 1;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ other values */

static bool take_word(pl_json *json, const char *word)
{
    size_t length = strlen(word);
    if (json->text.length - json->at < length || memcmp(json->text.text + json->at, word, length) != 0)
        return false;
    json->at += length;
    return true;
}

parley_status pl_json_bool(pl_json *json, bool *value)
{
    peek_token(json);
    *value = take_word(json, "true");
    return *value || take_word(json, "false") ? PARLEY_OK : pl_json_fail(json, "true or false");
}

static size_t take_digits(pl_json *json)
{
    size_t begin = json->at;
    while (peek(json) >= '0' && peek(json) <= '9')
        json->at++;
    return json->at - begin;
}

parley_status pl_json_whole(pl_json *json, uint32_t most, uint32_t *value)
{
    uint64_t number = 0;
    peek_token(json);
    size_t begin = json->at, digits = take_digits(json);
    char next = peek(json);
    bool good = digits > 0 && digits <= 10 && next != '.' && next != 'e' && next != 'E' && (digits == 1 || json->text.text[begin] != '0');
    for (size_t i = begin; good && i < json->at; i++)
        number = number * 10 + (uint64_t)(json->text.text[i] - '0');
    if (!good || number > most) {
        json->at = begin;
        return pl_fail_at(json->error, PARLEY_FORMAT, begin, "%s: expected a whole number from 0 to %u at byte %zu", json->name, (unsigned)most,
                          begin);
    }
    *value = (uint32_t)number;
    return PARLEY_OK;
}

static parley_status skip_number(pl_json *json)
{
    if (peek(json) == '-')
        json->at++;
    bool zero = peek(json) == '0';
    size_t digits = take_digits(json);
    if (digits == 0 || (zero && digits > 1))
        return pl_json_fail(json, "a value");
    if (peek(json) == '.') {
        json->at++;
        if (take_digits(json) == 0)
            return pl_json_fail(json, "digits");
    }
    if (peek(json) == 'e' || peek(json) == 'E') {
        json->at++;
        if (peek(json) == '+' || peek(json) == '-')
            json->at++;
        if (take_digits(json) == 0)
            return pl_json_fail(json, "digits");
    }
    return PARLEY_OK;
}

static parley_status skip_value(pl_json *json, int depth);

static parley_status skip_members(pl_json *json, char bracket, int depth)
{
    bool first = true, more;
    pl_span key;
    if (depth == DEEPEST)
        return pl_json_fail(json, "no more than 64 levels");
    PL_TRY(pl_json_enter(json, bracket));
    for (;;) {
        PL_TRY(pl_json_next(json, bracket == '{' ? '}' : ']', &first, &more));
        if (!more)
            return PARLEY_OK;
        if (bracket == '{')
            PL_TRY(pl_json_key(json, &key));
        PL_TRY(skip_value(json, depth + 1));
    }
}

static parley_status skip_value(pl_json *json, int depth)
{
    pl_span text;
    char c = peek_token(json);
    if (c == '{' || c == '[')
        return skip_members(json, c, depth);
    if (c == '"')
        return pl_json_string(json, &text);
    if (take_word(json, "true") || take_word(json, "false") || take_word(json, "null"))
        return PARLEY_OK;
    return skip_number(json);
}

parley_status pl_json_skip(pl_json *json)
{
    return skip_value(json, 0);
}

parley_status pl_json_end(pl_json *json)
{
    peek_token(json);
    return json->at == json->text.length ? PARLEY_OK : pl_json_fail(json, "the end of the text");
}

bool pl_span_is(pl_span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}
