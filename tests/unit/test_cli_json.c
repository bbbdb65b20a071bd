/* JSON in and out: escapes, numbers, UTF-8, and job lists. */
#include "jobs.h"
#include "json_in.h"
#include "json_out.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void expect_text(const char *text, size_t length, const char *want)
{
    cli_buffer out = {0};
    cli_json json = {.out = &out};
    cli_json_string_n(&json, NULL, text, length);
    assert_string_equal(out.data, want);
    cli_buffer_free(&out);
}

static void test_escapes(void **state)
{
    (void)state;
    expect_text("", 0, "\"\"");
    expect_text("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    expect_text("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    expect_text("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    expect_text("\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80", 11, "\"\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80\"");
    /* Not UTF-8: a lone continuation, an overlong form, a surrogate, above U+10FFFF, cut off. */
    expect_text("\x80", 1, "\"\xEF\xBF\xBD\"");
    expect_text("\xC0\xAF", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_text("\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_text("\xF4\x90\x80\x80", 4, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_text("\xE4\xB8", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

static void test_structure(void **state)
{
    (void)state;
    cli_buffer out = {0};
    cli_json json = {.out = &out};
    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "empty", '[');
    cli_json_close(&json, ']');
    cli_json_ids(&json, "ids", (int32_t[]){1, -2}, 2);
    cli_json_unsigned(&json, "seed", UINT64_MAX);
    cli_json_whole(&json, "low", INT64_MIN);
    cli_json_real(&json, "tenth", 0.1);
    cli_json_real(&json, "none", NAN);
    cli_json_real(&json, "endless", INFINITY);
    cli_json_real(&json, "small", 1.5e-20);
    cli_json_bool(&json, "yes", true);
    cli_json_nothing(&json, "nothing");
    cli_json_close(&json, '}');
    assert_string_equal(out.data, "{\"empty\": [], \"ids\": [1, -2], \"seed\": 18446744073709551615, \"low\": -9223372036854775808, \"tenth\": 0.1, "
                                  "\"none\": null, \"endless\": null, \"small\": 1.5e-20, \"yes\": true, \"nothing\": null}");
    cli_buffer_free(&out);
}

static parley_status read_text(const char *json, cli_buffer *text, parley_error *error)
{
    cli_json_in in = {.name = "x", .data = json, .size = strlen(json)};
    text->size = 0;
    return cli_json_text(&in, text, error);
}

static void test_reads_texts(void **state)
{
    (void)state;
    cli_buffer text = {0};
    parley_error error = {0};
    assert_int_equal(read_text(" \"a\\n\\\"\\\\\\/\\u00e9\\uD83D\\ude00\\u0000z\"", &text, &error), PARLEY_OK);
    assert_int_equal(text.size, 13);
    assert_memory_equal(text.data, "a\n\"\\/\xC3\xA9\xF0\x9F\x98\x80\0z", 13);
    static const char *const bad[] = {"\"abc",       "\"a\nb\"",           "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
                                      "\"\\udc00\"", "\"\\ud800\\u0041\"", "abc",     "",          "\"\\"};
    for (size_t i = 0; i < CLI_COUNT(bad); i++)
        assert_int_equal(read_text(bad[i], &text, &error), PARLEY_FORMAT);
    cli_buffer_free(&text);
}

static void test_jobs(void **state)
{
    (void)state;
    const char *lines =
        "{\"text\":\"one\"}\r\n\n  \n{\"seed\":18446744073709551615,\"voice\":\"\",\"text\":\"a\\u0000b\",\"language\":null,\"instruct\":\"calm\"}";
    cli_jobs jobs;
    parley_error error = {0};
    assert_int_equal(cli_jobs_parse("j", lines, strlen(lines), &jobs, &error), PARLEY_OK);
    assert_int_equal(jobs.count, 2);
    assert_string_equal(jobs.rows[0].text.data, "one");
    assert_null(jobs.rows[0].voice.data);
    assert_false(jobs.rows[0].has_seed);
    assert_int_equal(jobs.rows[1].text.size, 3);
    assert_non_null(jobs.rows[1].voice.data);
    assert_int_equal(jobs.rows[1].voice.size, 0);
    assert_null(jobs.rows[1].language.data);
    assert_string_equal(jobs.rows[1].instruct.data, "calm");
    assert_true(jobs.rows[1].seed == UINT64_MAX);
    cli_jobs_free(&jobs);
}

static void test_bad_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        parley_status status;
        const char *says;
    } cases[] = {
        {"{\"text\":\"a\",\"speed\":1}", PARLEY_ARGUMENT, "unknown key \"speed\""},
        {"{\"voice\":\"a\"}", PARLEY_ARGUMENT, "no \"text\""},
        {"{\"text\":null}", PARLEY_FORMAT, "text in quotes"},
        {"{\"text\":5}", PARLEY_FORMAT, "text in quotes"},
        {"{\"text\":\"a\",\"text\":\"b\"}", PARLEY_FORMAT, "twice"},
        {"{\"text\":\"a\",\"seed\":1,\"seed\":2}", PARLEY_FORMAT, "twice"},
        {"{\"text\":\"a\",\"seed\":-1}", PARLEY_FORMAT, "whole number"},
        {"{\"text\":\"a\",\"seed\":1.0}", PARLEY_FORMAT, "whole number"},
        {"{\"text\":\"a\",\"seed\":18446744073709551616}", PARLEY_FORMAT, "beyond 64 bits"},
        {"{\"text\":\"a\",\"voice\":\"x\\u0000y\"}", PARLEY_FORMAT, "NUL"},
        {"{\"text\":\"a\"} {}", PARLEY_FORMAT, "nothing more"},
        {"{\"text\":\"a\",}", PARLEY_FORMAT, "text in quotes"},
        {"{\"text\" \"a\"}", PARLEY_FORMAT, "':' expected"},
        {"[\"a\"]", PARLEY_FORMAT, "'{' expected"},
        {"{\"text\":\"a\"", PARLEY_FORMAT, "found the end"},
    };
    for (size_t i = 0; i < CLI_COUNT(cases); i++) {
        char file[200];
        cli_jobs jobs;
        parley_error error = {0};
        snprintf(file, sizeof file, "{\"text\":\"good\"}\n\n%s\n", cases[i].line);
        assert_int_equal(cli_jobs_parse("j.jsonl", file, strlen(file), &jobs, &error), cases[i].status);
        if (!strstr(error.text, cases[i].says) || !strstr(error.text, "j.jsonl, line 3"))
            fail_msg("%s: %s", cases[i].line, error.text);
        assert_null(jobs.rows);
    }
    cli_jobs jobs;
    parley_error error = {0};
    assert_int_equal(cli_jobs_parse("j", "\n \n", 3, &jobs, &error), PARLEY_ARGUMENT);
    assert_int_equal(cli_jobs_parse("j", NULL, 0, &jobs, &error), PARLEY_ARGUMENT);
}

static void test_lines(void **state)
{
    (void)state;
    cli_jobs jobs;
    parley_error error = {0};
    assert_int_equal(cli_jobs_lines("t", "a\r\n\n b \n\r\n\0c", 12, &jobs, &error), PARLEY_OK);
    assert_int_equal(jobs.count, 3);
    assert_string_equal(jobs.rows[0].text.data, "a");
    assert_string_equal(jobs.rows[1].text.data, " b ");
    assert_int_equal(jobs.rows[2].text.size, 2);
    cli_jobs_free(&jobs);
    assert_int_equal(cli_jobs_lines("t", "\n\r\n", 3, &jobs, &error), PARLEY_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes), cmocka_unit_test(test_structure), cmocka_unit_test(test_reads_texts),
        cmocka_unit_test(test_jobs),    cmocka_unit_test(test_bad_jobs),  cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
