#include "json_body.h"

#include <math.h>
#include <string.h>

/* cJSON is lenient where JSON is not: control characters, "01", "\uzzzz" (which ends its string). What of a text is not RFC 8259's is found here;
 * each function returns what is wrong, NULL when nothing is, and moves `at` to the last byte of what it read. The text ends with a NUL. */

static const char *escape_fault(const char *text)
{
    if (*text && strchr("\"\\/bfnrt", *text))
        return NULL;
    if (*text != 'u' || strspn(text + 1, "0123456789abcdefABCDEF") < 4)
        return "an escape that is none";
    return strncmp(text, "u0000", 5) ? NULL : "a string with \\u0000";
}

static const char *string_fault(const char *text, size_t *at)
{
    for (++*at; text[*at] != '"'; ++*at) {
        const char *fault = NULL;
        if ((unsigned char)text[*at] < ' ')
            return text[*at] ? "a control character in a string" : "a string without an end";
        if (text[*at] == '\\')
            fault = escape_fault(text + ++*at);
        if (fault)
            return fault;
    }
    return NULL;
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

static const char *number_fault(const char *text, size_t *at)
{
    static const char fault[] = "a number that is none";
    const char *p = text + *at;
    p += *p == '-';
    if (!digits(p) || (*p == '0' && digits(p) > 1))
        return fault;
    p += digits(p);
    if (*p == '.' && !digits(p + 1))
        return fault;
    p += *p == '.' ? 1 + digits(p + 1) : 0;
    if (*p == 'e' || *p == 'E') {
        p += p[1] == '+' || p[1] == '-' ? 2 : 1;
        if (!digits(p))
            return fault;
        p += digits(p);
    }
    *at = (size_t)(p - text) - 1;
    return NULL;
}

static const char *token_fault(const char *text, size_t *at)
{
    char c = text[*at];
    if (c == '"')
        return string_fault(text, at);
    if (strchr("-+.0123456789", c))
        return number_fault(text, at);
    return strchr(" \t\r\n{}[]:,", c) || (c >= 'a' && c <= 'z') ? NULL : "a character that stands for nothing";
}

static parley_status check_shape(const char *text, size_t size, parley_error *error)
{
    size_t depth = 0, values = 0, valid = cli_utf8_valid(text, size);
    if (valid < size)
        return cli_fail(error, PARLEY_ARGUMENT, "JSON: no UTF-8 at byte %zu", valid);
    for (size_t at = 0; at < size; at++) {
        char c = text[at];
        const char *fault = token_fault(text, &at);
        if (fault)
            return cli_fail(error, PARLEY_ARGUMENT, "JSON: %s at byte %zu", fault, at);
        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        values += c == ',' || c == '{' || c == '[';
        if (depth > SRV_JSON_DEPTH)
            return cli_fail(error, PARLEY_ARGUMENT, "JSON: nested deeper than %d at byte %zu", (int)SRV_JSON_DEPTH, at);
        if (values > SRV_JSON_VALUES)
            return cli_fail(error, PARLEY_ARGUMENT, "JSON: more than %d values", (int)SRV_JSON_VALUES);
    }
    return PARLEY_OK;
}

/* cJSON ends at a NUL where it is told to allow nothing behind the value; a NUL inside is none of JSON's characters anyway. */
parley_status srv_json_parse(const char *bytes, size_t size, cJSON **json, parley_error *error)
{
    const char *end = NULL, *nul = size ? memchr(bytes, 0, size) : NULL;
    if (size == 0)
        return cli_fail(error, PARLEY_ARGUMENT, "the body is empty, it must be a JSON object");
    if (nul)
        return cli_fail(error, PARLEY_ARGUMENT, "JSON: a NUL at byte %zu", (size_t)(nul - bytes));
    CLI_TRY(check_shape(bytes, size, error));
    *json = cJSON_ParseWithLengthOpts(bytes, size + 1, &end, true); /* with the NUL of the buffer, which that option asks for */
    if (!*json)
        return cli_fail(error, PARLEY_ARGUMENT, "no well-formed JSON at byte %zu", end ? (size_t)(end - bytes) : 0);
    if (cJSON_IsObject(*json))
        return PARLEY_OK;
    cJSON_Delete(*json);
    *json = NULL;
    return cli_fail(error, PARLEY_ARGUMENT, "the body must be a JSON object");
}

static const srv_json_row *find_row(const srv_json_row *rows, size_t n_rows, const char *name)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}

static parley_status fail_unknown(const srv_json_row *rows, size_t n_rows, const char *name, parley_error *error)
{
    cli_buffer list = {0};
    for (size_t i = 0; i < n_rows; i++)
        cli_appendf(&list, "%s%s", i ? ", " : "", rows[i].name);
    cli_fail(error, PARLEY_ARGUMENT, "unknown field \"%.60s\"; there are %.300s", name, list.failed ? "" : list.data);
    cli_buffer_free(&list);
    return PARLEY_ARGUMENT;
}

static bool store(const srv_json_row *row, const cJSON *item, char *fields)
{
    void *to = fields + row->offset;
    double number = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    switch (row->kind) {
    case SRV_TEXT: *(const char **)to = item->valuestring; return cJSON_IsString(item);
    case SRV_NUMBER: *(srv_number *)to = (srv_number){true, number}; return isfinite(number);
    case SRV_BOOL: *(srv_bool *)to = (srv_bool){true, cJSON_IsTrue(item)}; return cJSON_IsBool(item);
    case SRV_SEED: /* a double holds whole numbers up to 2^53 exactly */
        if (!(number >= 0 && number <= 9007199254740992.0 && number == floor(number)))
            return false;
        *(srv_seed *)to = (srv_seed){true, (uint64_t)number};
        return true;
    case SRV_ANY: *(const cJSON **)to = item; return true;
    }
    return false;
}

static const char *const kind_names[] = {"a string", "a number", "true or false", "a whole number from 0 to 9007199254740992", "a value"};

parley_status srv_json_fields(const cJSON *object, const srv_json_row *rows, size_t n_rows, void *fields, const char **param, parley_error *error)
{
    uint64_t seen = 0; /* a bit a row */
    for (const cJSON *item = object->child; item; item = item->next) {
        const srv_json_row *row = find_row(rows, n_rows, item->string);
        *param = item->string;
        if (!row)
            return fail_unknown(rows, n_rows, item->string, error);
        uint64_t bit = (uint64_t)1 << (row - rows);
        if (seen & bit)
            return cli_fail(error, PARLEY_ARGUMENT, "the field \"%s\" is given twice", row->name);
        seen |= bit;
        if (!cJSON_IsNull(item) && !store(row, item, fields))
            return cli_fail(error, PARLEY_ARGUMENT, "\"%s\" must be %s", row->name, kind_names[row->kind]);
    }
    *param = NULL;
    return PARLEY_OK;
}

const char *srv_json_known(const srv_json_row *rows, size_t n_rows, const char *name)
{
    const srv_json_row *row = find_row(rows, n_rows, name);
    return row ? row->name : NULL;
}
