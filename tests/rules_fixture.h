/* Golden vectors in JSON for tests of rules, read with cJSON; texts as spans. A test that cannot find its data fails. */
#ifndef TESTS_RULES_FIXTURE_H
#define TESTS_RULES_FIXTURE_H

#include "tokenizer_fixture.h"

#include <cjson/cJSON.h>

static inline cJSON *read_case(const char *name)
{
    pl_span file = read_data(name);
    cJSON *json = cJSON_ParseWithLength(file.text, file.length);
    free_span(file);
    assert_non_null(json);
    return json;
}

static inline const cJSON *member(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item)
        fail_msg("no member %s", key);
    return item;
}

static inline int64_t whole(const cJSON *item)
{
    assert_true(cJSON_IsNumber(item));
    return (int64_t)item->valuedouble;
}

static inline pl_span span_of(const char *text)
{
    return (pl_span){text, strlen(text)};
}

/* A string, or an empty one for null. */
static inline pl_span text_of(const cJSON *item)
{
    return cJSON_IsString(item) ? span_of(item->valuestring) : (pl_span){"", 0};
}

static inline void assert_span(pl_span got, const char *expected)
{
    if (got.length != strlen(expected) || memcmp(got.text, expected, got.length) != 0)
        fail_msg("expected \"%s\", got \"%.*s\"", expected, (int)got.length, got.text);
}

#endif
