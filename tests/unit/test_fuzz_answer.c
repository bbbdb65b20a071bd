/* Every file of fuzz/corpus/answer/, each cut of it and random texts through the fuzz target, which traps when something does not hold. */
#include "tokenizer_fixture.h"

#include <dirent.h>

#include "../../fuzz/fuzz_answer.c"
#include "support/random.h"

static void replay(const char *file)
{
    char name[300];
    snprintf(name, sizeof name, "../../fuzz/corpus/answer/%s", file);
    pl_span input = read_data(name);
    for (size_t length = 0; length <= input.length; length++)
        assert_int_equal(LLVMFuzzerTestOneInput((const uint8_t *)input.text, length), 0);
    free_span(input);
}

static void corpus(void **state)
{
    (void)state;
    DIR *directory = opendir(TEST_SOURCE "/fuzz/corpus/answer");
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        replay(entry->d_name);
        count++;
    }
    closedir(directory);
    assert_true(count >= 16);
}

/* Characters and pieces that the rules look at. */
static const char *const pieces[] = {
    "language ",
    "LANGUAGE ",
    "none",
    "None",
    "<asr_text>",
    "\n",
    "\r\n",
    "\xE3\x80\x80",
    "\xC2\x85",
    "\xE2\x80\xA8",
    "\xEF\xBB\xBF",
    "a",
    "ab",
    "ha ",
    "\xC3\x9F",
    "\xC4\xB0",
    "\xE4\xBD\xA0",
    "\xE3\x81\xAF",
    "\xE3\x82\xAB",
    "\xE3\x83\xBC",
    "\xEC\x95\x88\xEB\x85\x95",
    "'",
    "7",
    ",",
    "\xCC\x81",
    "\xF0\x9F\x98\x80",
    "\xE0\xB8\xAA",
    "\x1C",
    " ",
    "\xE4",
    "\xBD",
};

static size_t random_text(test_random *r, char *out, size_t most)
{
    size_t length = 0;
    int broken = test_below(r, 4) == 0 ? 2 : 0;
    while (length + 40 * 12 < most && test_below(r, 12)) {
        const char *piece = pieces[test_below(r, (int)(sizeof pieces / sizeof pieces[0]) - 2 + broken)];
        for (int copies = test_below(r, 3) ? 1 : 1 + test_below(r, 30); copies > 0; copies--) {
            memcpy(out + length, piece, strlen(piece));
            length += strlen(piece);
        }
    }
    return length;
}

static void random_inputs(void **state)
{
    (void)state;
    static char text[2000];
    test_random r = {17};
    for (int round = 0; round < 20000; round++) {
        text[0] = "afujktblmw"[round % 10];
        assert_int_equal(LLVMFuzzerTestOneInput((const uint8_t *)text, 1 + random_text(&r, text + 1, sizeof text - 1)), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus), cmocka_unit_test(random_inputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
