/* The seeds of fuzz_model through its target, with each key's name spoilt and each file cut, as a plain test; the seeds are whole models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../fuzz/fuzz_model.c"

#define SEEDS TEST_SOURCE "/fuzz/corpus/model"

typedef void (*try_bytes)(const uint8_t *bytes, size_t size);

static void each_seed(try_bytes function)
{
    pl_source *source;
    const char *const *names;
    size_t n;
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, SEEDS, &source, &error), PARLEY_OK);
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    assert_true(n >= 7);
    for (size_t i = 0; i < n; i++) {
        pl_bytes bytes;
        assert_int_equal(pl_source_map(source, names[i], &bytes, &error), PARLEY_OK);
        function(bytes.data, bytes.size);
    }
    pl_source_close(source);
}

/* In a block of exactly its size. */
static void run_copy(const uint8_t *bytes, size_t size, size_t at, uint8_t change)
{
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    if (at < size)
        copy[at] ^= change;
    assert_int_equal(LLVMFuzzerTestOneInput(copy, size), 0);
    free(copy);
}

static void as_it_is(const uint8_t *bytes, size_t size)
{
    run_copy(bytes, size, size, 0);
}

/* Every 13th byte with a letter's case turned or the highest bit set: names, kinds, counts, sizes. */
static void changed(const uint8_t *bytes, size_t size)
{
    for (size_t at = 4; at < size; at += 13) {
        run_copy(bytes, size, at, 0x20);
        run_copy(bytes, size, at, 0x81);
    }
}

static void cut(const uint8_t *bytes, size_t size)
{
    for (size_t n = 5; n < size; n += 1 + size / 200)
        run_copy(bytes, n, n, 0);
}

static void test_seeds(void **state)
{
    (void)state;
    each_seed(as_it_is);
}

static void test_changed(void **state)
{
    (void)state;
    each_seed(changed);
}

static void test_cut(void **state)
{
    (void)state;
    each_seed(cut);
}

/* A seed that is damaged already would test little. */
static void test_whole(void **state)
{
    static const struct {
        const char *name;
        bool speaks;
    } rows[] = {{"llama_tts", true}, {"llama_design", true}, {"llama_asr", false}, {"llama_aligner", false}, {"llama_tied", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_source *source;
        pl_bytes bytes;
        parley_error error = {0};
        pl_model_files files;
        size_t sum = 0;
        assert_int_equal(pl_source_open(NULL, SEEDS, &source, &error), PARLEY_OK);
        assert_int_equal(pl_source_map(source, rows[i].name, &bytes, &error), PARLEY_OK);
        size_t first = (size_t)bytes.data[0] | (size_t)bytes.data[1] << 8;
        input in = {.allocator = pl_default_allocator(),
                    .files = {{"a", bytes.data + 4, first}, {"b", bytes.data + 4 + first, bytes.size - 4 - first}}};
        pl_files_request what = request_of(&in);
        parley_status status = (rows[i].speaks ? pl_tts_files_open : pl_asr_files_open)(NULL, &what, &files, &error);
        if (status == PARLEY_OK)
            status = (rows[i].speaks ? use_tts : use_asr)(&in, &files, &sum, &error);
        if (status != PARLEY_OK)
            fail_msg("%s: %s", rows[i].name, error.text);
        pl_model_files_close(&files);
        pl_source_close(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
