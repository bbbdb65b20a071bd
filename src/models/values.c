/* Configuration values by table, from JSON or from GGUF keys. */
#include "models/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One value as it was found, before its range is checked. */
typedef struct found {
    const char *name; /* path or key, for messages; NULL: nothing was found */
    double number;
    pl_span text;
    int64_t items[PL_MAX_VALUES];
    size_t n_items;
} found;

static const char *const expected[] = {
    [PL_INT] = "a whole number",
    [PL_INT64] = "a whole number",
    [PL_FLOAT] = "a number",
    [PL_DOUBLE] = "a number",
    [PL_BOOL] = "true or false",
    [PL_TEXT] = "a text",
    [PL_INTS] = "a list of 1 to 8 whole numbers",
};

static parley_status unexpected(const pl_values *from, const pl_value_row *row, const char *name)
{
    return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' is to be %s", from->where, name, expected[row->kind]);
}

/* ------------------------------------------------------------------ JSON */

/* Doubles hold all whole numbers up to 2^53, and no limit in the tables is above. */
static bool whole(const cJSON *value)
{
    return cJSON_IsNumber(value) && value->valuedouble == floor(value->valuedouble) && fabs(value->valuedouble) < 9e15;
}

static bool json_items(const cJSON *value, found *out)
{
    if (!cJSON_IsArray(value))
        return false;
    for (const cJSON *item = value->child; item; item = item->next) {
        if (!whole(item) || out->n_items == PL_MAX_VALUES)
            return false;
        out->items[out->n_items++] = (int64_t)item->valuedouble;
    }
    return out->n_items > 0;
}

static bool json_take(const pl_value_row *row, const cJSON *value, found *out)
{
    switch (row->kind) {
    case PL_INT:
    case PL_INT64: out->number = value->valuedouble; return whole(value);
    case PL_FLOAT:
    case PL_DOUBLE: out->number = value->valuedouble; return cJSON_IsNumber(value);
    case PL_BOOL: out->number = cJSON_IsTrue(value); return cJSON_IsBool(value);
    case PL_TEXT: out->text = (pl_span){value->valuestring, value->valuestring ? strlen(value->valuestring) : 0}; return cJSON_IsString(value);
    case PL_INTS: return json_items(value, out);
    }
    return false;
}

static parley_status from_json(const pl_values *from, const pl_value_row *row, found *out)
{
    const cJSON *value;
    PL_TRY(pl_model_json_find(from->json, row->json, from->where, &value, from->error));
    if (!value)
        return PARLEY_OK;
    out->name = row->json;
    return json_take(row, value, out) ? PARLEY_OK : unexpected(from, row, row->json);
}

/* ------------------------------------------------------------------ GGUF */

static parley_status gguf_items(const pl_values *from, const pl_value_row *row, const pl_container *place, const char *key, found *out)
{
    parley_status status;
    int64_t *items;
    size_t count;
    if (!pl_gguf_ints(place, key, PL_MAX_VALUES, &items, &count, from->arena, &status, from->error))
        return status;
    if (count < 1)
        return unexpected(from, row, key);
    memcpy(out->items, items, count * sizeof *items);
    out->n_items = count;
    return PARLEY_OK;
}

static parley_status gguf_take(const pl_values *from, const pl_value_row *row, const pl_container *place, const char *key, found *out)
{
    parley_status status = PARLEY_OK;
    int64_t integer = 0;
    bool flag = false;
    pl_gguf_text text = {"", 0};
    switch (row->kind) {
    case PL_INT:
    case PL_INT64:
        if (pl_gguf_int(place, key, &integer, &status, from->error))
            out->number = (double)integer;
        break;
    case PL_FLOAT:
    case PL_DOUBLE: pl_gguf_float(place, key, &out->number, &status, from->error); break;
    case PL_BOOL:
        if (pl_gguf_bool(place, key, &flag, &status, from->error))
            out->number = flag;
        break;
    case PL_TEXT:
        if (pl_gguf_string(place, key, &text, &status, from->error))
            out->text = (pl_span){text.text, text.length};
        break;
    case PL_INTS: return gguf_items(from, row, place, key, out);
    }
    return status;
}

static parley_status from_gguf(const pl_values *from, const pl_value_row *row, found *out)
{
    for (size_t p = 0; p < 2 && from->places[p]; p++)
        for (size_t k = 0; k < sizeof row->keys / sizeof *row->keys && row->keys[k]; k++) {
            if (!pl_gguf_has(from->places[p], row->keys[k]))
                continue;
            out->name = row->keys[k];
            return gguf_take(from, row, from->places[p], row->keys[k], out);
        }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ storing */

static parley_status check_range(const pl_values *from, const pl_value_row *row, const char *name, double number)
{
    if (number >= row->low && number <= row->high)
        return PARLEY_OK;
    return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' is %.9g, %.9g to %.9g is expected", from->where, name, number, row->low, row->high);
}

static parley_status store_items(const pl_values *from, const pl_value_row *row, const found *value, int *target)
{
    for (size_t i = 0; i < value->n_items; i++) {
        PL_TRY(check_range(from, row, value->name, (double)value->items[i]));
        target[1 + i] = (int)value->items[i];
    }
    target[0] = (int)value->n_items;
    return PARLEY_OK;
}

static parley_status store_text(const pl_values *from, const found *value, const char **target)
{
    if (memchr(value->text.text, 0, value->text.length) || pl_utf8_check(value->text.text, value->text.length) != value->text.length)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' is no UTF-8 text", from->where, value->name);
    *target = pl_arena_text(from->arena, value->text.text, value->text.length);
    return *target ? PARLEY_OK : pl_fail_memory(from->error, "the configuration");
}

static parley_status store(const pl_values *from, const pl_value_row *row, const found *value, void *target)
{
    void *field = (char *)target + row->field;
    if (row->kind == PL_TEXT)
        return store_text(from, value, field);
    if (row->kind == PL_INTS)
        return store_items(from, row, value, field);
    if (row->kind == PL_BOOL) {
        *(bool *)field = value->number != 0.0;
        return PARLEY_OK;
    }
    PL_TRY(check_range(from, row, value->name, value->number));
    switch (row->kind) {
    case PL_INT: *(int32_t *)field = (int32_t)value->number; break;
    case PL_INT64: *(int64_t *)field = (int64_t)value->number; break;
    case PL_FLOAT: *(float *)field = (float)value->number; break;
    default: *(double *)field = value->number; break;
    }
    return PARLEY_OK;
}

static const char *name_of(const pl_values *from, const pl_value_row *row)
{
    size_t k = 0;
    while (from->last && k + 1 < sizeof row->keys / sizeof *row->keys && row->keys[k + 1])
        k++;
    return from->json ? row->json : row->keys[k];
}

parley_status pl_values_read(const pl_values *from, const pl_value_row *rows, size_t count, void *target)
{
    for (size_t i = 0; i < count; i++) {
        found value = {0};
        if (from->json ? !rows[i].json : !rows[i].keys[0])
            continue;
        PL_TRY(from->json ? from_json(from, &rows[i], &value) : from_gguf(from, &rows[i], &value));
        if (value.name)
            PL_TRY(store(from, &rows[i], &value, target));
        else if (rows[i].need & (1u << from->dialect))
            return pl_fail(from->error, PARLEY_MISSING, "%s: '%s' is not there", from->where, name_of(from, &rows[i]));
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ writing */

static bool in_range(const pl_value_row *row, double number)
{
    return number >= row->low && number <= row->high;
}

static void write_row(const pl_value_row *row, const char *key, const void *field, pl_gguf_head *head)
{
    switch (row->kind) {
    case PL_INT:
        if (in_range(row, *(const int32_t *)field))
            pl_gguf_put_int(head, key, *(const int32_t *)field);
        break;
    case PL_INT64:
        if (in_range(row, (double)*(const int64_t *)field))
            pl_gguf_put_int(head, key, *(const int64_t *)field);
        break;
    case PL_FLOAT:
        if (in_range(row, (double)*(const float *)field))
            pl_gguf_put_float(head, key, *(const float *)field);
        break;
    case PL_DOUBLE:
        if (in_range(row, *(const double *)field))
            pl_gguf_put_double(head, key, *(const double *)field);
        break;
    case PL_BOOL: pl_gguf_put_bool(head, key, *(const bool *)field); break;
    case PL_TEXT: pl_gguf_put_text(head, key, *(const char *const *)field); break;
    case PL_INTS:
        if (*(const int *)field > 0)
            pl_gguf_put_ints(head, key, (const int *)field + 1, (size_t) * (const int *)field);
        break;
    }
}

void pl_values_write(const pl_value_row *rows, size_t count, const void *source, pl_gguf_head *head)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].keys[0])
            write_row(&rows[i], rows[i].keys[0], (const char *)source + rows[i].field, head);
}

/* ------------------------------------------------------------------ values that must be one of a few */

typedef struct shown {
    char text[100];
} shown;

static bool one_of(const char *value, const char *allowed)
{
    for (size_t length; *allowed; allowed += length + (allowed[length] == '|')) {
        length = strcspn(allowed, "|");
        if (strlen(value) == length && strncmp(value, allowed, length) == 0)
            return true;
    }
    return false;
}

static void show_scalar(const cJSON *value, shown *out)
{
    if (cJSON_IsString(value))
        snprintf(out->text, sizeof out->text, "%s", value->valuestring);
    else if (cJSON_IsNumber(value))
        snprintf(out->text, sizeof out->text, "%.9g", value->valuedouble);
    else if (cJSON_IsBool(value))
        snprintf(out->text, sizeof out->text, "%s", cJSON_IsTrue(value) ? "true" : "false");
    else
        snprintf(out->text, sizeof out->text, "%s", cJSON_IsArray(value) ? "a list" : cJSON_IsObject(value) ? "an object" : "null");
}

/* A list of equal items is shown as that item. */
static void show(const cJSON *value, shown *out)
{
    show_scalar(value, out);
    if (!cJSON_IsArray(value))
        return;
    if (!value->child) {
        snprintf(out->text, sizeof out->text, "[]");
        return;
    }
    shown first = {""}, item;
    size_t length = 0;
    bool equal = true;
    out->text[0] = '\0';
    for (const cJSON *i = value->child; i && length < sizeof out->text; i = i->next) {
        show_scalar(i, &item);
        if (i == value->child)
            first = item;
        equal = equal && strcmp(item.text, first.text) == 0;
        length += (size_t)snprintf(out->text + length, sizeof out->text - length, "%s%s", i == value->child ? "" : ",", item.text);
    }
    if (equal)
        *out = first;
}

static bool show_gguf(const pl_container *place, const char *key, shown *out)
{
    parley_status status;
    int64_t integer;
    double number;
    bool flag;
    pl_gguf_text text;
    if (!pl_gguf_has(place, key))
        return false;
    if (pl_gguf_int(place, key, &integer, &status, NULL))
        snprintf(out->text, sizeof out->text, "%" PRId64, integer);
    else if (pl_gguf_bool(place, key, &flag, &status, NULL))
        snprintf(out->text, sizeof out->text, "%s", flag ? "true" : "false");
    else if (pl_gguf_float(place, key, &number, &status, NULL))
        snprintf(out->text, sizeof out->text, "%.9g", number);
    else if (pl_gguf_string(place, key, &text, &status, NULL))
        snprintf(out->text, sizeof out->text, "%.*s", text.length < 90 ? (int)text.length : 90, text.text);
    else
        snprintf(out->text, sizeof out->text, "of another kind");
    return true;
}

parley_status pl_values_only(const pl_values *from, const pl_value_only *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        shown value;
        const char *name = from->json ? rows[i].json : rows[i].key;
        const cJSON *json = NULL;
        if (!name)
            continue;
        if (from->json)
            PL_TRY(pl_model_json_find(from->json, name, from->where, &json, from->error));
        if (json)
            show(json, &value);
        else if (from->json || !show_gguf(from->places[0], name, &value))
            continue;
        if (!one_of(value.text, rows[i].allowed))
            return pl_fail(from->error, PARLEY_UNSUPPORTED, "%s: '%s' is %s, only %s is supported", from->where, name, value.text, rows[i].allowed);
    }
    return PARLEY_OK;
}
