/* JSON documents of a checkpoint's folder. */
#include "models/json.h"

#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

/* A tree takes up to some 35 times its text: with this bound no document can take more than the 4 MiB that any file may. Real ones have 5 kB. */
enum { MAX_BYTES = 100000 };

static bool only_space(const char *text, const char *end)
{
    while (text < end && strchr(" \t\r\n", *text) && *text)
        text++;
    return text == end;
}

static parley_status parse(pl_bytes bytes, const char *where, cJSON **json, parley_error *error)
{
    const char *text = (const char *)bytes.data, *end = text;
    if (bytes.size > MAX_BYTES)
        return pl_fail(error, PARLEY_FORMAT, "%s: has %zu bytes, at most %d are expected", where, bytes.size, MAX_BYTES);
    size_t valid = pl_utf8_check(text, bytes.size);
    if (valid < bytes.size)
        return pl_fail_at(error, PARLEY_FORMAT, valid, "%s: not UTF-8 at byte %zu", where, valid);
    *json = cJSON_ParseWithLengthOpts(text, bytes.size, &end, 0);
    size_t at = end >= text && end <= text + bytes.size ? (size_t)(end - text) : 0;
    if (!*json)
        return pl_fail_at(error, PARLEY_FORMAT, at, "%s: not JSON at byte %zu", where, at);
    if (cJSON_IsObject(*json) && only_space(text + at, text + bytes.size))
        return PARLEY_OK;
    const char *what = cJSON_IsObject(*json) ? "more text after the JSON object" : "a JSON object is expected";
    cJSON_Delete(*json);
    *json = NULL;
    return pl_fail_at(error, PARLEY_FORMAT, at, "%s: %s", where, what);
}

parley_status pl_model_json(pl_source *source, const char *folder, const char *name, cJSON **json, parley_error *error)
{
    char path[64], where[PL_MODEL_WHERE];
    pl_bytes bytes;
    *json = NULL;
    snprintf(path, sizeof path, "%s%s", folder, name);
    pl_source_describe(source, path, where, sizeof where);
    PL_TRY(pl_source_map(source, path, &bytes, error));
    return parse(bytes, where, json, error);
}

static parley_status member(const cJSON *object, const char *key, size_t length, const char *where, const cJSON **value, parley_error *error)
{
    *value = NULL;
    for (const cJSON *item = object->child; item; item = item->next) {
        if (strncmp(item->string, key, length) != 0 || item->string[length])
            continue;
        if (*value)
            return pl_fail(error, PARLEY_FORMAT, "%s: key '%.*s' is there twice", where, (int)length, key);
        *value = item;
    }
    return PARLEY_OK;
}

parley_status pl_model_json_find(const cJSON *json, const char *path, const char *where, const cJSON **value, parley_error *error)
{
    const cJSON *at = json;
    for (const char *key = path; at && *key;) {
        size_t length = strcspn(key, ".");
        if (!cJSON_IsObject(at))
            return pl_fail(error, PARLEY_FORMAT, "%s: '%.*s' is to be an object", where, key > path ? (int)(key - path - 1) : 0, path);
        PL_TRY(member(at, key, length, where, &at, error));
        if (cJSON_IsNull(at))
            at = NULL;
        key += length + (key[length] == '.');
    }
    *value = at;
    return PARLEY_OK;
}

parley_status pl_model_json_text(const cJSON *json, const char *path, const char *where, const char **text, parley_error *error)
{
    const cJSON *value;
    PL_TRY(pl_model_json_find(json, path, where, &value, error));
    if (value && !cJSON_IsString(value))
        return pl_fail(error, PARLEY_FORMAT, "%s: '%s' is to be a text", where, path);
    *text = value ? value->valuestring : "";
    return PARLEY_OK;
}
