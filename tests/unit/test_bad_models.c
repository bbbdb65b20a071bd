/* Damaged model files (golden/gguf_bad) through the public interface: each leads to one of the outcomes that its row allows, within memory of twice
 * the files plus 4 MiB; rows that must work give the good file's codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "limit_allocator.h"
#include "support/npy.h"
#include "support/speak.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <sys/stat.h>

#define CODEC TEST_DATA "/gguf_qwentts_a_custom/codec-q8_0.gguf"
enum { SLACK = 4 << 20, FRAMES = 4, GROUPS = 16 };

static cJSON *table;

static int read_table(void **state)
{
    (void)state;
    char *bytes = npy_read_file(TEST_DATA "/gguf_bad/table.json", NULL);
    table = cJSON_Parse(bytes);
    free(bytes);
    return table ? 0 : -1;
}

static int free_table(void **state)
{
    (void)state;
    cJSON_Delete(table);
    return 0;
}

static const char *field(const cJSON *row, const char *key)
{
    return cJSON_GetObjectItem(row, key)->valuestring;
}

static bool expects(const cJSON *row, const char *outcome)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(row, "expect")) if (strcmp(item->valuestring, outcome) == 0) return true;
    return false;
}

static size_t size_of(const char *path)
{
    struct stat st;
    size_t sum = 0;
    if (stat(path, &st) != 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return (size_t)st.st_size;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char inner[900];
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            sum += size_of(inner);
    }
    closedir(dir);
    return sum;
}

/* Codes of a short greedy run; the status of what went wrong. */
static parley_status run(const char *path, bool gguf, const parley_allocator *allocator, int32_t *codes, parley_error *error)
{
    parley_open_options options;
    parley_model *model = NULL;
    parley_tts *session = NULL;
    float pcm[1920];
    size_t count = 1;
    parley_open_options_init(&options);
    options.threads = 1;
    options.allocator = allocator;
    options.codec_path = gguf ? CODEC : NULL;
    parley_status status = parley_model_open(path, &options, &model, error);
    if (status == PARLEY_OK) {
        parley_tts_options o = plain_options(model, FRAMES);
        status = parley_tts_open(model, &o, &session, error);
    }
    if (status == PARLEY_OK)
        status = parley_tts_push_text(session, "It is so.", 9, error);
    if (status == PARLEY_OK)
        status = parley_tts_finish_text(session, error);
    while (status == PARLEY_OK && count > 0)
        status = parley_tts_pull(session, pcm, 1920, &count, error);
    if (status == PARLEY_OK) {
        parley_tts_result result;
        parley_tts_result_get(session, &result);
        memcpy(codes, result.codes, result.frames * (size_t)result.groups * sizeof *codes);
    }
    parley_tts_close(session);
    parley_model_close(model);
    return status;
}

static void ignore_finding(void *context, const parley_finding *finding)
{
    (void)context, (void)finding;
}

/* Rows that open with other numbers than the good file's, as their texts say. */
static bool has_other_numbers(const cJSON *row)
{
    const char *name = field(row, "name");
    return expects(row, "value") || strcmp(name, "gguf_block_count_less") == 0 || strcmp(name, "hf_dtype_f16") == 0;
}

/* A check must come to an end without a fault of its own, whatever the file. */
static void check_too(const char *path, bool gguf, const parley_allocator *allocator)
{
    parley_open_options options;
    parley_error error = {0};
    size_t faults;
    parley_open_options_init(&options);
    options.allocator = allocator;
    options.codec_path = gguf ? CODEC : NULL;
    parley_status status = parley_check(path, &options, ignore_finding, NULL, &faults, &error);
    assert_true(status != PARLEY_INTERNAL && status != PARLEY_MEMORY);
}

static void test_every_row(void **state)
{
    (void)state;
    int32_t good_gguf[FRAMES * GROUPS], good_hf[FRAMES * GROUPS], codes[FRAMES * GROUPS];
    parley_error error = {0};
    check_ok(run(TEST_DATA "/gguf_qwentts_a_custom/talker-q8_0.gguf", true, NULL, good_gguf, &error), &error);
    check_ok(run(TEST_DATA "/models/tts_a_custom", false, NULL, good_hf, &error), &error);
    int wrong = 0, rows = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, table)
    {
        char path[700];
        snprintf(path, sizeof path, "%s/%s", GGUF_BAD_FILES, field(row, "file"));
        bool gguf = strstr(field(row, "file"), ".gguf") != NULL;
        limit_allocator counter = {.limit = 2 * (size_of(path) + (gguf ? size_of(CODEC) : 0)) + SLACK, .left = SIZE_MAX};
        parley_allocator allocator = limit_interface(&counter);
        memset(&error, 0, sizeof error);
        parley_status status = run(path, gguf, &allocator, codes, &error);
        bool fine = expects(row, parley_status_name(status)) && !counter.exceeded && counter.held == 0;
        if (status == PARLEY_OK && !has_other_numbers(row))
            fine = fine && memcmp(codes, gguf ? good_gguf : good_hf, sizeof codes) == 0;
        if (status != PARLEY_OK)
            fine = fine && error.status == status && error.text[0] != '\0';
        if (!fine)
            printf("%s (%s): %s \"%s\"%s%s\n", field(row, "name"), field(row, "what"), parley_status_name(status), error.text,
                   counter.exceeded ? ", too much memory" : "", status == PARLEY_OK ? ", or other codes" : "");
        wrong += !fine;
        rows++;
        check_too(path, gguf, &allocator);
    }
    printf("%d rows\n", rows);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, read_table, free_table);
}
