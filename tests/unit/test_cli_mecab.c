/* Japanese words from MeCab; skipped where it is not installed (./check installs it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mecab.h"
#include "support/random.h"

static int open_mecab(void **state)
{
    parley_error error = {0};
    cli_mecab *mecab = NULL;
    parley_status status = cli_mecab_open(&mecab, &error);
    *state = mecab;
    return status == PARLEY_OK || status == PARLEY_MISSING ? 0 : -1;
}

static int close_mecab(void **state)
{
    cli_mecab_close(*state);
    return 0;
}

/* The text with a bar before each word. */
static const char *words(cli_mecab *mecab, const char *text, size_t length)
{
    static char out[1 << 17];
    parley_error error = {0};
    unsigned char *begins = calloc(length + 1, 1);
    size_t at = 0;
    assert_non_null(begins);
    assert_true(2 * length + 1 <= sizeof out);
    if (cli_mecab_split(mecab, text, length, begins, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < length; i++) {
        assert_true(!begins[i] || ((unsigned char)text[i] & 0xC0) != 0x80);
        if (begins[i])
            out[at++] = '|';
        out[at++] = text[i];
    }
    assert_int_equal(begins[length], 0);
    free(begins);
    out[at] = '\0';
    return out;
}

static void finds_words(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {" \n", " \n"},
        {"今日はいい天気ですね。", "|今日|は|いい|天気|です|ね|。"},
        {"すもももももももものうち", "|すもも|も|もも|も|もも|の|うち"},
        {"123円、４５人ABC", "|1|2|3|円|、|４|５|人|ABC"},
        {"東京タワー に\n行った", "|東京|タワー |に\n|行っ|た"},
    };
    if (!*state)
        skip();
    for (size_t i = 0; i < CLI_COUNT(cases); i++)
        assert_string_equal(words(*state, cases[i][0], strlen(cases[i][0])), cases[i][1]);
}

/* Long runs, NULs, control characters, other scripts, emoji: no byte is lost, no word begins inside a character. */
static void takes_anything(void **state)
{
    static const char *const pieces[] = {"東",   "は", "タ", "ー", "。",   "！",           "a", "7", " ", "\n", "\x01",
                                         "\x7F", "、", "👩",  "é",  "สวัสดี", "\xE2\x80\x8D", "　"};
    static char text[60000];
    test_random r = {3};
    if (!*state)
        skip();
    for (int round = 0; round < 300; round++) {
        size_t length = 0, most = round % 50 ? 300 : sizeof text - 1000;
        while (length < most) {
            const char *piece = pieces[test_below(&r, (int)CLI_COUNT(pieces))];
            for (int copies = test_below(&r, 9) ? 1 : test_below(&r, 40); copies > 0; copies--) {
                memcpy(text + length, piece, strlen(piece));
                length += strlen(piece);
            }
            if (!test_below(&r, 40))
                text[length++] = '\0';
        }
        words(*state, text, length);
    }
    memset(text, 'x', sizeof text); /* longer than what MeCab counts */
    words(*state, text, sizeof text);
    for (size_t i = 0; i + 3 <= sizeof text; i += 3)
        memcpy(text + i, "東", 3);
    words(*state, text, sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_words), cmocka_unit_test(takes_anything)};
    return cmocka_run_group_tests(tests, open_mecab, close_mecab);
}
