/* labels: sanitize */
/* The seeds of the fuzz target of sound files through the same function, which aborts when something does not hold. */
#include "base/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../fuzz/fuzz_audio.c"

/* Each seed in a block of exactly its size, whole and cut. */
static void test_seeds(void **state)
{
    (void)state;
    pl_source *source;
    const char *const *names;
    size_t n;
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, TEST_SOURCE "/fuzz/corpus/audio", &source, &error), PARLEY_OK);
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    assert_true(n >= 15);
    for (size_t i = 0; i < n; i++) {
        pl_bytes bytes;
        assert_int_equal(pl_source_map(source, names[i], &bytes, &error), PARLEY_OK);
        for (size_t size = bytes.size;; size -= size / 5 + 1) {
            uint8_t *copy = malloc(size ? size : 1);
            assert_non_null(copy);
            memcpy(copy, bytes.data, size);
            assert_int_equal(LLVMFuzzerTestOneInput(copy, size), 0);
            free(copy);
            if (size == 0)
                break;
        }
    }
    pl_source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
