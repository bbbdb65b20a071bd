#include "json_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

parley_status cli_json_fail(const cli_json_in *in, parley_error *error, parley_status status, const char *format, ...)
{
    char text[300], place[40];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (in->line)
        snprintf(place, sizeof place, "line %zu", in->line);
    else
        snprintf(place, sizeof place, "byte %zu", in->at);
    cli_fail(error, status, "%.150s, %s: %s", in->name, place, text);
    error->position = in->at;
    return status;
}

char cli_json_peek(cli_json_in *in)
{
    while (in->at < in->size && strchr(" \t\r\n", in->data[in->at]) && in->data[in->at])
        in->at++;
    return in->at < in->size ? in->data[in->at] : 0;
}

bool cli_json_accept(cli_json_in *in, char token)
{
    if (cli_json_peek(in) != token || in->at == in->size)
        return false;
    in->at++;
    return true;
}

/* What comes next, for a message. */
static const char *found(cli_json_in *in, char text[16])
{
    char c = cli_json_peek(in);
    if (in->at == in->size)
        return "the end";
    if (c > ' ' && c < 0x7F)
        snprintf(text, 16, "'%c'", c);
    else
        snprintf(text, 16, "byte 0x%02X", (unsigned char)c);
    return text;
}

parley_status cli_json_expect(cli_json_in *in, char token, parley_error *error)
{
    char text[16];
    if (cli_json_accept(in, token))
        return PARLEY_OK;
    return cli_json_fail(in, error, PARLEY_FORMAT, "'%c' expected, found %s", token, found(in, text));
}

bool cli_json_null(cli_json_in *in)
{
    if (cli_json_peek(in) != 'n' || in->size - in->at < 4 || memcmp(in->data + in->at, "null", 4) != 0)
        return false;
    in->at += 4;
    return true;
}

static parley_status read_hex(cli_json_in *in, uint32_t *value, parley_error *error)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        char c = in->at < in->size ? in->data[in->at] : 0;
        const char *digits = "0123456789abcdef0123456789ABCDEF", *digit = c ? strchr(digits, c) : NULL;
        if (!digit)
            return cli_json_fail(in, error, PARLEY_FORMAT, "four hexadecimal digits expected after \\u");
        *value = *value * 16 + (uint32_t)((digit - digits) % 16);
        in->at++;
    }
    return PARLEY_OK;
}

static void append_code_point(cli_buffer *text, uint32_t c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3F));
    bytes[0] = (char)(lead[n] | c);
    cli_append(text, bytes, n);
}

/* Behind "\u": characters beyond 16 bits come as two halves. */
static parley_status read_unicode(cli_json_in *in, cli_buffer *text, parley_error *error)
{
    uint32_t c, low;
    CLI_TRY(read_hex(in, &c, error));
    if (c >= 0xD800 && c < 0xDC00 && in->size - in->at >= 2 && in->data[in->at] == '\\' && in->data[in->at + 1] == 'u') {
        in->at += 2;
        CLI_TRY(read_hex(in, &low, error));
        if (low < 0xDC00 || low > 0xDFFF)
            return cli_json_fail(in, error, PARLEY_FORMAT, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    if (c >= 0xD800 && c < 0xE000)
        return cli_json_fail(in, error, PARLEY_FORMAT, "half of a surrogate pair");
    append_code_point(text, c);
    return PARLEY_OK;
}

static parley_status read_escape(cli_json_in *in, cli_buffer *text, parley_error *error)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = in->at < in->size ? in->data[in->at] : 0;
    const char *name = c ? strchr(names, c) : NULL;
    if (!name && c != 'u')
        return cli_json_fail(in, error, PARLEY_FORMAT, "an escape that JSON does not have");
    in->at++;
    if (c == 'u')
        return read_unicode(in, text, error);
    cli_append(text, &values[name - names], 1);
    return PARLEY_OK;
}

parley_status cli_json_text(cli_json_in *in, cli_buffer *text, parley_error *error)
{
    char what[16];
    if (cli_json_peek(in) != '"')
        return cli_json_fail(in, error, PARLEY_FORMAT, "a text in quotes expected, found %s", found(in, what));
    in->at++;
    cli_buffer_reserve(text, 1); /* an empty text is one, too */
    while (in->at < in->size) {
        size_t start = in->at;
        while (in->at < in->size && (unsigned char)in->data[in->at] >= 0x20 && in->data[in->at] != '"' && in->data[in->at] != '\\')
            in->at++;
        cli_append(text, in->data + start, in->at - start);
        char c = in->at < in->size ? in->data[in->at++] : 0;
        if (c == '"')
            return text->failed ? cli_fail_memory(error) : PARLEY_OK;
        if (c != '\\')
            break;
        CLI_TRY(read_escape(in, text, error));
    }
    return cli_json_fail(in, error, PARLEY_FORMAT, "a text without closing quote, or with a control character");
}

/* Digits of a whole number; `*overflow` when it does not fit 64 bits. */
static parley_status read_digits(cli_json_in *in, const char *what, uint64_t *value, bool *overflow, parley_error *error)
{
    size_t start = in->at;
    *value = 0;
    *overflow = false;
    for (; in->at < in->size && in->data[in->at] >= '0' && in->data[in->at] <= '9'; in->at++) {
        *overflow = __builtin_mul_overflow(*value, (uint64_t)10, value) || *overflow;
        *overflow = __builtin_add_overflow(*value, (uint64_t)(in->data[in->at] - '0'), value) || *overflow;
    }
    bool fraction = in->at < in->size && in->data[in->at] && strchr(".eE", in->data[in->at]);
    if (in->at == start || fraction || (in->at - start > 1 && in->data[start] == '0'))
        return cli_json_fail(in, error, PARLEY_FORMAT, "%s must be a whole number", what);
    return PARLEY_OK;
}

parley_status cli_json_int32(cli_json_in *in, int32_t *value, parley_error *error)
{
    uint64_t size;
    bool overflow, negative = cli_json_accept(in, '-');
    CLI_TRY(read_digits(in, "a code", &size, &overflow, error));
    if (overflow || size > (uint64_t)INT32_MAX + negative)
        return cli_json_fail(in, error, PARLEY_FORMAT, "a number beyond 32 bits");
    *value = (int32_t)(negative ? -(int64_t)size : (int64_t)size);
    return PARLEY_OK;
}

parley_status cli_json_uint64(cli_json_in *in, uint64_t *value, parley_error *error)
{
    bool overflow;
    cli_json_peek(in);
    CLI_TRY(read_digits(in, "the value (0 or more)", value, &overflow, error));
    return overflow ? cli_json_fail(in, error, PARLEY_FORMAT, "a number beyond 64 bits") : PARLEY_OK;
}

parley_status cli_json_end(cli_json_in *in, parley_error *error)
{
    char text[16];
    cli_json_peek(in);
    return in->at == in->size ? PARLEY_OK : cli_json_fail(in, error, PARLEY_FORMAT, "nothing more expected, found %s", found(in, text));
}
