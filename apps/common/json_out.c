#include "json_out.h"

#include <math.h>
#include <string.h>

static void append_character(cli_buffer *out, const char *text, size_t length)
{
    static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *name = length == 1 && *text ? strchr(names, *text) : NULL;
    if (length == 0)
        cli_append_text(out, "\xEF\xBF\xBD");
    else if (name)
        cli_appendf(out, "\\%c", letters[name - names]);
    else if (length == 1 && ((unsigned char)*text < 0x20 || *text == 0x7F))
        cli_appendf(out, "\\u%04x", (unsigned)*text);
    else
        cli_append(out, text, length);
}

static void append_quoted(cli_buffer *out, const char *text, size_t length)
{
    cli_append(out, "\"", 1);
    for (size_t at = 0; at < length;) {
        size_t n = cli_utf8_character(text + at, length - at);
        append_character(out, text + at, n);
        at += n ? n : 1;
    }
    cli_append(out, "\"", 1);
}

/* What stands in front of a value: comma and key. */
static void lead(cli_json *json, const char *key)
{
    if (json->comma)
        cli_append_text(json->out, ", ");
    json->comma = true;
    if (!key)
        return;
    append_quoted(json->out, key, strlen(key));
    cli_append_text(json->out, ": ");
}

void cli_json_open(cli_json *json, const char *key, char bracket)
{
    lead(json, key);
    cli_append(json->out, &bracket, 1);
    json->comma = false;
}

void cli_json_close(cli_json *json, char bracket)
{
    cli_append(json->out, &bracket, 1);
    json->comma = true;
}

void cli_json_string_n(cli_json *json, const char *key, const char *text, size_t length)
{
    lead(json, key);
    append_quoted(json->out, text, length);
}

void cli_json_string(cli_json *json, const char *key, const char *text)
{
    cli_json_string_n(json, key, text, strlen(text));
}

void cli_json_whole(cli_json *json, const char *key, int64_t value)
{
    lead(json, key);
    cli_appendf(json->out, "%lld", (long long)value);
}

void cli_json_unsigned(cli_json *json, const char *key, uint64_t value)
{
    lead(json, key);
    cli_appendf(json->out, "%llu", (unsigned long long)value);
}

void cli_json_real(cli_json *json, const char *key, double value)
{
    lead(json, key);
    if (isfinite(value))
        cli_appendf(json->out, "%.9g", value);
    else
        cli_append_text(json->out, "null");
}

void cli_json_bool(cli_json *json, const char *key, bool value)
{
    lead(json, key);
    cli_append_text(json->out, value ? "true" : "false");
}

void cli_json_nothing(cli_json *json, const char *key)
{
    lead(json, key);
    cli_append_text(json->out, "null");
}

void cli_json_ids(cli_json *json, const char *key, const int32_t *ids, size_t count)
{
    cli_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        cli_json_whole(json, NULL, ids[i]);
    cli_json_close(json, ']');
}

void cli_json_raw(cli_json *json, const char *key, const cli_buffer *value)
{
    lead(json, key);
    cli_append(json->out, value->data, value->size);
    json->out->failed = json->out->failed || value->failed;
}
