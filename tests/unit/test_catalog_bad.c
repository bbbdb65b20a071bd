/* The damaged files that tests/golden/gguf_bad/gguf_bad.py derives (CTest's fixture does so), opened as a whole model with a good codec: every row of
 * the table ends as it says, within its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalog_files.h"
#include "limit_allocator.h"

#include <cjson/cJSON.h>

static cJSON *read_table(void)
{
    memory_model m = {0};
    assert_true(add_file(&m, TEST_DATA "/gguf_bad/table.json", "table"));
    cJSON *table = cJSON_ParseWithLength(m.files[0].data, m.files[0].size);
    free_model(&m);
    assert_non_null(table);
    return table;
}

static const char *text_of(const cJSON *row, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, key));
    assert_non_null(text);
    return text;
}

static bool expects(const cJSON *row, const char *outcome)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(row, "expect"))
    {
        if (strcmp(item->valuestring, outcome) == 0)
            return true;
    }
    return false;
}

static size_t bytes_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = 0;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (file)
        fclose(file);
    return size > 0 ? (size_t)size : 0;
}

/* Of all files that an opening may read. */
static size_t bytes_below(const char *path, const char *codec)
{
    static const char *const names[] = {"", "/model.safetensors", "/speech_tokenizer/model.safetensors", "/config.json"};
    char name[1200];
    size_t total = bytes_of(codec);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "%s%s", path, names[i]);
        size_t size = bytes_of(name);
        total += size < 1 << 28 ? size : 0; /* a folder has no size that means anything */
    }
    return total;
}

/* Opens, then checks the values: a fault there is what the table calls value. */
static parley_status outcome(const tts_open *what, const parley_allocator *allocator, loaded *l)
{
    PL_TRY(load_with(allocator, what, l));
    unload(l);
    tts_open check = *what;
    check.any = true;
    PL_TRY(load_with(allocator, &check, l));
    bool finite = l->findings[PARLEY_FINDING_VALUE] == 0;
    assert_int_equal(l->findings[PARLEY_FINDING_MISSING] + l->findings[PARLEY_FINDING_SHAPE] + l->findings[PARLEY_FINDING_TYPE], 0);
    unload(l);
    return finite ? PARLEY_OK : PARLEY_VALUE;
}

static void check_row(const cJSON *row)
{
    static const char codec[] = TEST_DATA "/gguf_qwentts_a_custom/codec-q8_0.gguf";
    char path[1100];
    const char *name = text_of(row, "name");
    snprintf(path, sizeof path, "%s/%s", GGUF_BAD_FILES, text_of(row, "file"));
    bool gguf = strstr(path, ".gguf") != NULL;
    limit_allocator memory = {.limit = 2 * bytes_below(path, codec) + (4 << 20), .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    loaded l;
    parley_status status = outcome(&(tts_open){.path = path, .codec_path = gguf ? codec : NULL}, &allocator, &l);
    if (!expects(row, parley_status_name(status)))
        fail_msg("%s: %s %s (files are made by the test gguf_bad_files)", name, parley_status_name(status), l.error.text);
    if (memory.exceeded || memory.held)
        fail_msg("%s: memory at most %zu of %zu, %zu left", name, memory.most, memory.limit, memory.held);
}

static void test_table(void **state)
{
    (void)state;
    cJSON *table = read_table();
    size_t rows = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, table)
    {
        check_row(row);
        rows++;
    }
    assert_int_equal(rows, 283);
    cJSON_Delete(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
