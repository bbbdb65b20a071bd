/* Names in any case, as the reference lowers them; ids back to text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text/strings.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
    return pl_same_lower((pl_span){a, strlen(a)}, (pl_span){b, strlen(b)});
}

static void test_same_lower(void **state)
{
    (void)state;
    assert_true(same("", ""));
    assert_true(same("RYAN", "ryan"));
    assert_true(same("\xC3\x89lodie", "\xC3\xA9lodie"));
    assert_true(same("\xD0\x97\xD0\x9E\xD0\xAF", "\xD0\xB7\xD0\xBE\xD1\x8F"));
    assert_true(same("\xC4\xB0x", "i\xCC\x87x")); /* one capital that lowers to two characters */
    assert_false(same("ryan", "rya"));
    assert_false(same("rya", "ryan"));
    assert_false(same("\xC3\x9F", "ss")); /* lowered, not folded */
}

/* A vocabulary of single bytes, one of them special. */
static pl_tokenizer *bytes_tokenizer(pl_arena *arena)
{
    static const char special[] = "<|x|>";
    pl_span *tokens = PL_NEW_ARRAY(arena, pl_span, 257);
    int next = 256;
    for (int b = 0; b < 256; b++) {
        bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        int point = plain ? b : next++;
        char *text = PL_NEW_ARRAY(arena, char, 3);
        if (point < 0x80) {
            text[0] = (char)point;
        } else {
            text[0] = (char)(0xC0 | point >> 6);
            text[1] = (char)(0x80 | (point & 0x3F));
        }
        tokens[b] = (pl_span){text, strlen(text)};
    }
    tokens[256] = (pl_span){"", 0};
    pl_added_token added = {256, {special, sizeof special - 1}, true};
    pl_vocabulary vocabulary = {.tokens = tokens, .n_tokens = 257, .added = &added, .n_added = 1};
    parley_allocator allocator = pl_default_allocator();
    pl_tokenizer *tokenizer = NULL;
    parley_error error = {0};
    if (pl_tokenizer_build(&allocator, &vocabulary, &tokenizer, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    return tokenizer;
}

static void check(pl_arena *arena, const pl_tokenizer *tokenizer, const int32_t *ids, size_t count, const char *wanted)
{
    pl_span text;
    assert_int_equal(pl_detokenize(arena, tokenizer, ids, count, &text, NULL), PARLEY_OK);
    assert_int_equal(text.length, strlen(wanted));
    assert_memory_equal(text.text, wanted, text.length);
}

static void test_detokenize(void **state)
{
    (void)state;
    static const int32_t plain[] = {'a', 256, 0xC3, 0xA9, ' '}, cut[] = {'a', 0xE4, 0xBB}, broken[] = {0xFF, 0xE4, 'b'};
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 14);
    pl_tokenizer *tokenizer = bytes_tokenizer(&arena);
    assert_true(pl_token_is_special(tokenizer, 256));
    assert_false(pl_token_is_special(tokenizer, 'a'));
    assert_false(pl_token_is_special(tokenizer, -1));
    assert_false(pl_token_is_special(tokenizer, 257));
    check(&arena, tokenizer, NULL, 0, "");
    check(&arena, tokenizer, plain, 5, "a\xC3\xA9 ");
    check(&arena, tokenizer, cut, 3, "a\xEF\xBF\xBD");
    check(&arena, tokenizer, broken, 3,
          "\xEF\xBF\xBD\xEF\xBF\xBD"
          "b");
    pl_tokenizer_close(tokenizer);
    pl_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_lower), cmocka_unit_test(test_detokenize)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
