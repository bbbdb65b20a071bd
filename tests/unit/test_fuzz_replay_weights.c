/* The seeds of the fuzz targets through the same functions, as a plain test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LLVMFuzzerTestOneInput fuzz_gguf
#include "../../fuzz/fuzz_gguf.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_safetensors
#include "../../fuzz/fuzz_safetensors.c"
#undef LLVMFuzzerTestOneInput

/* Each seed in a block of exactly its size. The targets abort when something is wrong. */
static void replay(const char *folder, int (*target)(const uint8_t *data, size_t size))
{
    pl_source *source;
    const char *const *names;
    size_t n;
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, folder, &source, &error), PARLEY_OK);
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    assert_true(n >= 4);
    for (size_t i = 0; i < n; i++) {
        pl_bytes bytes;
        assert_int_equal(pl_source_map(source, names[i], &bytes, &error), PARLEY_OK);
        uint8_t *copy = malloc(bytes.size ? bytes.size : 1);
        assert_non_null(copy);
        memcpy(copy, bytes.data, bytes.size);
        assert_int_equal(target(copy, bytes.size), 0);
        free(copy);
    }
    pl_source_close(source);
}

static void test_gguf(void **state)
{
    (void)state;
    replay(TEST_SOURCE "/fuzz/corpus/gguf", fuzz_gguf);
}

static void test_safetensors(void **state)
{
    (void)state;
    replay(TEST_SOURCE "/fuzz/corpus/safetensors", fuzz_safetensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gguf), cmocka_unit_test(test_safetensors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
