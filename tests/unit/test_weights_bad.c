/* The damaged files that tests/golden/gguf_bad/gguf_bad.py derives (CTest's fixture does so), as far as the containers are concerned: those whose
 * fault lies in the container are refused with a status that the table allows, all others open, and weights that are not finite are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../fuzz/weights_walk.h"
#include "limit_allocator.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* Beginnings of the names whose fault lies in the container; rows that may be "ok" are not counted among them. */
static const char *const container_faults[] = {
    "gguf_empty",        "gguf_cut_",           "gguf_magic",        "gguf_version_", "gguf_tensor_count_", "gguf_key_count_", "gguf_key_length_",
    "gguf_name_length_", "gguf_string_length_", "gguf_value_type_",  "gguf_array_",   "gguf_duplicate_",    "gguf_alignment_", "gguf_dimensions_",
    "gguf_size_",        "gguf_row_33",         "gguf_tensor_type_", "gguf_offset_",  "gguf_overlap",       "hf_no_weights",   "hf_weights_",
    "hf_header_",        "hf_data_cut",         "hf_name_twice",     "hf_dtype_",     "hf_offsets_",        "hf_overlap",      "hf_shape_",
    "hf_entry_",         "hf_shard_",           "hf_index_",
};

/* Opens as a file of one tensor less; the loader finds what is missing. */
static const char *const exceptions[] = {"gguf_tensor_count_less"};

static cJSON *read_table(void)
{
    FILE *file = fopen(TEST_DATA "/gguf_bad/table.json", "rb");
    assert_non_null(file);
    static char text[1 << 17];
    size_t n = fread(text, 1, sizeof text - 1, file);
    assert_true(feof(file) && n > 0);
    fclose(file);
    text[n] = '\0';
    cJSON *table = cJSON_Parse(text);
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

static bool fault_in_container(const cJSON *row)
{
    const char *name = text_of(row, "name");
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (strcmp(name, exceptions[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof container_faults / sizeof *container_faults; i++)
        if (strncmp(name, container_faults[i], strlen(container_faults[i])) == 0)
            return true;
    return false;
}

static size_t not_finite(const pl_container *c, const char **name)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_entries; i++)
        if (pl_first_not_finite(&c->entries[i].tensor) >= 0) {
            *name = c->entries[i].name;
            n++;
        }
    return n;
}

/* What the table says of weights: "value" names one tensor, "ok" none. */
static void check_values(const cJSON *row, const pl_container *c)
{
    const char *name = "";
    size_t bad = not_finite(c, &name);
    if (expects(row, "value") && !expects(row, "missing")) {
        assert_int_equal(bad, 1);
        assert_true(strstr(name, "norm") || strstr(name, "attn_q"));
    } else if (expects(row, "ok")) {
        assert_int_equal(bad, 0);
    }
}

/* Bytes of all files that the container may map. */
static size_t bytes_below(pl_source *source)
{
    const char *const *names;
    size_t n, total = 0;
    parley_error error = {0};
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    for (size_t i = 0; i < n; i++) {
        pl_bytes bytes;
        if (strstr(names[i], "model") || strstr(names[i], "gguf")) {
            assert_int_equal(pl_source_map(source, names[i], &bytes, &error), PARLEY_OK);
            total += bytes.size;
        }
    }
    return total;
}

static void check_row(const cJSON *row)
{
    char path[1024];
    const char *file = text_of(row, "file");
    snprintf(path, sizeof path, "%s/%s", GGUF_BAD_FILES, file);
    pl_source *source;
    parley_error error = {0};
    if (pl_source_open(NULL, path, &source, &error) != PARLEY_OK)
        fail_msg("%s (made by the test gguf_bad_files)", error.text);
    limit_allocator memory = {.limit = 2 * bytes_below(source) + (4 << 20), .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    pl_container container;
    uint64_t sum = 0;
    bool gguf = !pl_source_is_directory(source);
    parley_status status =
        gguf ? pl_gguf_open(&allocator, source, file, &container, &error) : pl_safetensors_open(&allocator, source, "", &container, &error);
    bool either = expects(row, "ok") && (expects(row, "format") || expects(row, "missing"));
    bool may_open = !fault_in_container(row) || expects(row, "ok"), may_fail = fault_in_container(row) || either;
    if (status == PARLEY_OK ? !may_open : !(may_fail && expects(row, parley_status_name(status))))
        fail_msg("%s: %s %s", file, parley_status_name(status), error.text);
    if (status == PARLEY_OK) {
        assert_true(walk_container(&allocator, &container, &sum));
        check_values(row, &container);
        pl_container_close(&container);
    }
    pl_source_close(source);
    assert_false(memory.exceeded);
    assert_int_equal(memory.held, 0);
}

static void test_table(void **state)
{
    (void)state;
    cJSON *table = read_table();
    size_t rows = 0, faults = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, table)
    {
        check_row(row);
        rows++;
        faults += fault_in_container(row) && !expects(row, "ok");
    }
    assert_int_equal(rows, 283);
    assert_true(faults > 120);
    cJSON_Delete(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
