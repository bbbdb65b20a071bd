/* Every file of fuzz/corpus/tokenizer/ through the fuzz target, which traps when something does not hold. */
#include "tokenizer_fixture.h"

#include <dirent.h>

#include "../../fuzz/fuzz_tokenizer.c"

static void corpus(void **state)
{
    (void)state;
    static const char folder[] = TEST_SOURCE "/fuzz/corpus/tokenizer";
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[300];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "../../fuzz/corpus/tokenizer/%s", entry->d_name);
        pl_span input = read_data(name);
        assert_int_equal(LLVMFuzzerTestOneInput((const uint8_t *)input.text, input.length), 0);
        free_span(input);
        count++;
    }
    closedir(directory);
    assert_true(count >= 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
