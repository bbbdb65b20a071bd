/* The three files of a tokenizer: what is read, what is refused, and at which byte. */
#include "tokenizer_fixture.h"

static pl_span bytes_vocab; /* the 256 tokens of single bytes, without the closing brace */

static int set_up(void **state)
{
    (void)state;
    writer w = {.text = malloc(8192)};
    assert_non_null(w.text);
    for (uint32_t point = 0; point < 324; point++) {
        char text[4];
        if (pl_byte_of(point) >= 0)
            write_json_token(&w, (const char *[]){text, ""}, (size_t[]){pl_utf8_put(point, text), 0});
    }
    assert_int_equal(w.id, 256);
    bytes_vocab = (pl_span){w.text, w.length};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free_span(bytes_vocab);
    return 0;
}

static pl_span with_bytes(const char *rest, size_t length)
{
    char *text = malloc(bytes_vocab.length + length);
    assert_non_null(text);
    memcpy(text, bytes_vocab.text, bytes_vocab.length);
    memcpy(text + bytes_vocab.length, rest, length);
    return (pl_span){text, bytes_vocab.length + length};
}

static pl_span text_of(const char *text)
{
    return (pl_span){text, strlen(text)};
}

static parley_status parse(pl_span vocab, const char *merges, const char *config, parley_error *error)
{
    pl_tokenizer *tokenizer = NULL;
    parley_status status = pl_tokenizer_parse(NULL, vocab, text_of(merges), text_of(config), &tokenizer, error);
    assert_int_equal(tokenizer != NULL, status == PARLEY_OK);
    pl_tokenizer_close(tokenizer);
    return status;
}

static void expect_refusal(pl_span vocab, const char *merges, const char *config, parley_status status, size_t position, const char *part)
{
    parley_error error = {0};
    parley_status got = parse(vocab, merges, config, &error);
    if (got != status || error.position != position || !strstr(error.text, part))
        fail_msg("%s at %zu '%s', expected %s at %zu '%s'", parley_status_name(got), (size_t)error.position, error.text, parley_status_name(status),
                 position, part);
}

static void bad_vocab(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        size_t position; /* in `rest` */
        const char *part;
    } rows[] = {
        {"", 0, "',' or '}'"},
        {", \"ab\": 256", 11, "',' or '}'"},
        {", \"ab\": 256} x", 13, "the end"},
        {", \"ab\" 256}", 7, "':'"},
        {", \"ab\": -1}", 8, "whole number"},
        {", \"ab\": 1.5}", 8, "whole number"},
        {", \"ab\": 01}", 8, "whole number"},
        {", \"ab\": 99999999999}", 8, "whole number"},
        {", \"ab\": 4194303}", 8, "whole number from 0 to"},
        {", \"ab\": \"256\"}", 8, "whole number"},
        {", \"ab\": 255}", 7, "two tokens with id 255"},
        {", \"\": 256}", 5, "empty spelling"},
        {", ab: 256}", 2, "a string"},
        {", \"ab: 256}", 11, "end of a string"},
        {", \"a\tb\": 256}", 4, "control character"},
        {", \"a\\qb\": 256}", 4, "escape"},
        {", \"\\ud800\": 256}", 9, "code point"},
        {", \"\\udc00\": 256}", 3, "code point"},
        {", \"\\u12g4\": 256}", 3, "code point"},
        {", \"a\xFF\": 256}", 4, "UTF-8"},
        {", \"a b\": 256}", 3, "token 256"},
        {", \"A\": 256}", 3, "tokens 32 and 256"},
        {",, \"ab\": 256}", 1, "a string"},
        {", }", 2, "a string"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pl_span vocab = with_bytes(rows[i].rest, strlen(rows[i].rest));
        expect_refusal(vocab, "", "", PARLEY_FORMAT, bytes_vocab.length + rows[i].position, rows[i].part);
        free_span(vocab);
    }
    expect_refusal(text_of("{}"), "", "", PARLEY_FORMAT, 0, "vocabulary of 0 tokens");
    expect_refusal(text_of(""), "", "", PARLEY_FORMAT, 0, "'{'");
    expect_refusal(text_of("  [1]"), "", "", PARLEY_FORMAT, 2, "'{'");
    expect_refusal(text_of("{\"a\": 65536}"), "", "", PARLEY_FORMAT, 0, "no token for byte 0x00");
}

static void escapes_in_spellings(void **state)
{
    (void)state;
    static const char rest[] = ", \"\\u0041\\u00e9\\u0120\\/\\\"\\\\b\":256 ,\n\t\"x\\u0041\" : 257\r\n}";
    pl_span vocab = with_bytes(rest, sizeof rest - 1);
    pl_tokenizer *tokenizer = open_files((vocabulary_files){vocab, text_of(""), text_of("")});
    assert_int_equal(pl_token_bytes(tokenizer, 256).length, 7);
    assert_memory_equal(pl_token_bytes(tokenizer, 256).text, "A\xE9 /\"\\b", 7);
    assert_int_equal(pl_tokenizer_find(tokenizer, text_of("xA")), 257);
    pl_tokenizer_close(tokenizer);
    free_span(vocab);
}

static void merges(void **state)
{
    (void)state;
    static const struct {
        const char *merges;
        parley_status status;
        size_t position;
        const char *part;
    } rows[] = {
        {"", PARLEY_OK, 0, ""},
        {"#version: 0.2\na b\n# #\n", PARLEY_OK, 0, ""},
        {"#version: 0.2\r\na b\r\n# #", PARLEY_OK, 0, ""},
        {"a b\n\n# #\n\n", PARLEY_OK, 0, ""},
        {"# #\na b", PARLEY_OK, 0, ""},
        {"a b\n#version: 0.2\n", PARLEY_FORMAT, 4, "merge 1 '#version: 0.2'"},
        {"#version: 0.2\na b\nab\n", PARLEY_FORMAT, 18, "merge 1 'ab'"},
        {"a b\na  b\n", PARLEY_FORMAT, 4, "merge 1"},
        {"a b\nb a\n", PARLEY_FORMAT, 4, "together"},
        {"a b\na \xFF\n", PARLEY_FORMAT, 6, "UTF-8"},
        {"a b\na b\n", PARLEY_FORMAT, 0, "merge 1, which makes token 256, occurs twice"},
    };
    static const char rest[] = ", \"ab\": 256, \"##\": 257}";
    pl_span vocab = with_bytes(rest, sizeof rest - 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].status != PARLEY_OK) {
            expect_refusal(vocab, rows[i].merges, "", rows[i].status, rows[i].position, rows[i].part);
            continue;
        }
        pl_tokenizer *tokenizer = open_files((vocabulary_files){vocab, text_of(rows[i].merges), text_of("")});
        pl_ids ids = ids_of(tokenizer, text_of("ab##"), false, PARLEY_SPLITTER_QWEN2);
        assert_int_equal(ids.count, rows[i].merges[0] ? 2 : 4); /* a line that begins with '#' is no comment */
        pl_ids_free(&ids);
        pl_tokenizer_close(tokenizer);
    }
    free_span(vocab);
}

#define TOKEN(rest) "{\"added_tokens_decoder\": {\"300\": {\"content\": \"<x>\"" rest "}}}"

static void config(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        parley_status status;
        size_t position;
        const char *part;
    } rows[] = {
        {"", PARLEY_OK, 0, ""},
        {"{}", PARLEY_OK, 0, ""},
        {"{\"a\": [1, -2.5e+3, {\"b\": null}, [], {}, \"x\\n\", true, false], \"add_prefix_space\": false}", PARLEY_OK, 0, ""},
        {TOKEN(", \"special\": true"), PARLEY_OK, 0, ""},
        {TOKEN(", \"special\": false, \"normalized\": false, \"lstrip\": false, \"rstrip\": false, \"single_word\": false, \"other\": [1]"),
         PARLEY_OK, 0, ""},
        {TOKEN(""), PARLEY_UNSUPPORTED, 51, "normalized true"},
        {TOKEN(", \"special\": true, \"normalized\": true"), PARLEY_UNSUPPORTED, 88, "'<x>' has normalized true"},
        {TOKEN(", \"special\": true, \"lstrip\": true"), PARLEY_UNSUPPORTED, 84, "lstrip"},
        {TOKEN(", \"special\": true, \"rstrip\": true"), PARLEY_UNSUPPORTED, 84, "rstrip"},
        {TOKEN(", \"special\": true, \"single_word\": true"), PARLEY_UNSUPPORTED, 89, "single_word"},
        {TOKEN(", \"special\": 1"), PARLEY_FORMAT, 63, "true or false"},
        {"{\"add_prefix_space\": true}", PARLEY_UNSUPPORTED, 20, "add_prefix_space"},
        {"{\"add_bos_token\": true}", PARLEY_UNSUPPORTED, 17, "add_bos_token"},
        {"{\"added_tokens_decoder\": []}", PARLEY_FORMAT, 25, "'{'"},
        {"{\"added_tokens_decoder\": {\"3x\": {}}}", PARLEY_FORMAT, 31, "an id"},
        {"{\"added_tokens_decoder\": {\"007\": {}}}", PARLEY_FORMAT, 32, "an id"},
        {"{\"added_tokens_decoder\": {\"9999999\": {}}}", PARLEY_FORMAT, 36, "an id"},
        {"{\"added_tokens_decoder\": {\"70000\": {\"content\": \"x\", \"special\": true}}}", PARLEY_FORMAT, 0, "id 70000"},
        {"{\"added_tokens_decoder\": {\"300\": {\"special\": true}}}", PARLEY_FORMAT, 50, "\"content\""},
        {"{\"added_tokens_decoder\": {}, \"added_tokens_decoder\": {}}", PARLEY_FORMAT, 52, "not two"},
        {"{\"added_tokens_decoder\": {}", PARLEY_FORMAT, 27, "',' or '}'"},
        {"{\"a\": tru}", PARLEY_FORMAT, 6, "a value"},
        {"{\"a\": 1.}", PARLEY_FORMAT, 8, "digits"},
        {"{\"a\": 1e}", PARLEY_FORMAT, 8, "digits"},
        {"{\"a\": 01}", PARLEY_FORMAT, 8, "a value"},
        {"{\"a\": [1 2]}", PARLEY_FORMAT, 9, "',' or ']'"},
        {"{\"a\": [1,]}", PARLEY_FORMAT, 9, "a value"},
    };
    pl_span vocab = with_bytes("}", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        parley_error error = {0};
        if (rows[i].status != PARLEY_OK)
            expect_refusal(vocab, "", rows[i].config, rows[i].status, rows[i].position, rows[i].part);
        else if (parse(vocab, "", rows[i].config, &error) != PARLEY_OK)
            fail_msg("%s", error.text);
    }
    free_span(vocab);
}

static void depth_has_a_limit(void **state)
{
    (void)state;
    char text[6 + 20000] = "{\"a\": ";
    memset(text + 6, '[', sizeof text - 6);
    text[sizeof text - 1] = '\0';
    pl_span vocab = with_bytes("}", 1);
    expect_refusal(vocab, "", text, PARLEY_FORMAT, 6 + 64, "64 levels");
    free_span(vocab);
}

/* Every beginning of good files is refused in an orderly way. */
static void truncated_files(void **state)
{
    (void)state;
    vocabulary_files files = small_files();
    for (size_t length = 0; length < files.vocab.length; length += length % 13 + 1) {
        parley_error error = {0};
        pl_tokenizer *tokenizer = NULL;
        pl_span vocab = {files.vocab.text, length};
        assert_int_equal(pl_tokenizer_parse(NULL, vocab, files.merges, files.config, &tokenizer, &error), PARLEY_FORMAT);
        assert_true(error.position <= length);
    }
    for (size_t length = 1; length + 2 < files.config.length; length += length % 13 + 1) {
        parley_error error = {0};
        pl_tokenizer *tokenizer = NULL;
        pl_span config_json = {files.config.text, length};
        assert_int_equal(pl_tokenizer_parse(NULL, files.vocab, files.merges, config_json, &tokenizer, &error), PARLEY_FORMAT);
        assert_true(error.position <= length);
    }
    free_files(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_vocab), cmocka_unit_test(escapes_in_spellings), cmocka_unit_test(merges),
        cmocka_unit_test(config),    cmocka_unit_test(depth_has_a_limit),    cmocka_unit_test(truncated_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
