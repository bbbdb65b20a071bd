/* Option tables: forms, ranges, errors, help. */
#include "options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct fields {
    cli_flag flag;
    cli_text text, second;
    cli_int whole, choice;
    cli_real real, open;
    cli_seed seed;
} fields;

static const char *const choices[] = {"red", "green", NULL};

static const cli_option rows[] = {
    {.name = "--flag", .letter = 'g', .kind = CLI_FLAG, .offset = offsetof(fields, flag), .help = "a flag"},
    {.name = "--text", .letter = 't', .kind = CLI_TEXT, .offset = offsetof(fields, text), .value = "TEXT", .help = "a text"},
    {.name = "--second", .alias = "-t2", .kind = CLI_TEXT, .offset = offsetof(fields, second), .value = "TEXT", .help = "another text"},
    {.name = "--whole", .kind = CLI_INT, .offset = offsetof(fields, whole), .value = "N", .help = "a number", .low = 1, .high = 256},
    {.name = "--real", .kind = CLI_REAL, .offset = offsetof(fields, real), .value = "X", .help = "a number", .low = 0, .high = 10},
    {.name = "--open", .kind = CLI_REAL, .offset = offsetof(fields, open), .value = "X", .help = "a share", .low = 0, .high = 1, .above = true},
    {.name = "--seed", .kind = CLI_SEED, .offset = offsetof(fields, seed), .value = "N", .help = "a seed"},
    {.name = "--choice", .kind = CLI_CHOICE, .offset = offsetof(fields, choice), .help = "a colour", .choices = choices},
};

static const cli_command command = {
    .name = "test", .usage = "[options]", .about = "Tests.", .options = rows, .n_options = CLI_COUNT(rows), .max_arguments = 2};

/* Parses words that stand between spaces. */
static parley_status parse(const char *line, fields *f, cli_arguments *arguments, parley_error *error)
{
    static char words[300];
    static char *argv[20]; /* the arguments that are left stay in it */
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    *f = (fields){0};
    *error = (parley_error){0};
    return cli_parse(&command, argc, argv, f, arguments, error);
}

static void test_forms(void **state)
{
    (void)state;
    fields f;
    cli_arguments a;
    parley_error error;
    assert_int_equal(parse("one --flag --text a --whole=256 --real 1e-1 --open 1 --seed 18446744073709551615 --choice green two", &f, &a, &error),
                     PARLEY_OK);
    assert_true(f.flag.given);
    assert_string_equal(f.text.value, "a");
    assert_int_equal(f.whole.value, 256);
    assert_true(f.real.value == 0.1);
    assert_true(f.open.value == 1.0);
    assert_true(f.seed.value == UINT64_MAX);
    assert_int_equal(f.choice.value, 1);
    assert_int_equal(a.count, 2);
    assert_string_equal(a.values[1], "two");
    assert_int_equal(parse("-g -t - -- --flag -x", &f, &a, &error), PARLEY_OK);
    assert_string_equal(f.text.value, "-");
    assert_int_equal(a.count, 2);
    assert_string_equal(a.values[0], "--flag");
    assert_int_equal(parse("-tabc -", &f, &a, &error), PARLEY_OK);
    assert_string_equal(f.text.value, "abc");
    assert_string_equal(a.values[0], "-");
    assert_int_equal(parse("--text=--flag=x --real=0", &f, &a, &error), PARLEY_OK);
    assert_string_equal(f.text.value, "--flag=x");
    assert_int_equal(parse("--text=", &f, &a, &error), PARLEY_OK);
    assert_string_equal(f.text.value, "");
    assert_false(f.whole.given);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--flag=1", "takes no value"},
        {"--flag --flag", "--flag is given twice"},
        {"--text a --text=b", "--text is given twice"},
        {"--text", "--text needs a value (TEXT)"},
        {"--text --flag", "--text needs a value"},
        {"--text -- x", "--text needs a value"},
        {"--choice", "red, green"},
        {"--choice blue", "red, green, not \"blue\""},
        {"--choice Red", "not \"Red\""},
        {"--whole 0", "1 to 256, not \"0\""},
        {"--whole 257", "1 to 256"},
        {"--whole 1.0", "whole number"},
        {"--whole 0x10", "whole number"},
        {"--whole=", "whole number"},
        {"--whole 1x", "whole number"},
        {"--whole 99999999999999999999", "1 to 256"},
        {"--real nan", "0 to 10"},
        {"--real inf", "0 to 10"},
        {"--real -0.1", "0 to 10"},
        {"--real 10.001", "0 to 10"},
        {"--real 1e999", "0 to 10"},
        {"--real 0x1p3", "0 to 10"},
        {"--real 1..2", "0 to 10"},
        {"--real .", "0 to 10"},
        {"--real 1e", "0 to 10"},
        {"--open 0", "above 0, up to 1"},
        {"--open 1.0000001", "above 0, up to 1"},
        {"--seed -1", "18446744073709551615"},
        {"--seed 18446744073709551616", "18446744073709551615"},
        {"--seed 1.5", "18446744073709551615"},
        {"a b c", "one argument too many"},
    };
    for (size_t i = 0; i < CLI_COUNT(cases); i++) {
        fields f;
        cli_arguments a;
        parley_error error;
        if (parse(cases[i].line, &f, &a, &error) != PARLEY_ARGUMENT || !strstr(error.text, cases[i].says))
            fail_msg("%s: %s", cases[i].line, error.text);
    }
}

static void test_unknown_option_is_reported_with_the_list(void **state)
{
    (void)state;
    fields f;
    cli_arguments a;
    parley_error error;
    static const char *const lines[] = {"--bogus", "--tex a", "--texts a", "-z", "--", "---"};
    for (size_t i = 0; i < CLI_COUNT(lines); i++) {
        parley_status want = strcmp(lines[i], "--") ? PARLEY_ARGUMENT : PARLEY_OK;
        assert_int_equal(parse(lines[i], &f, &a, &error), want);
        assert_string_equal(error.text, ""); /* printed already */
    }
}

static void test_help(void **state)
{
    (void)state;
    fields f;
    cli_arguments a;
    parley_error error;
    assert_int_equal(parse("--whole 0 --help", &f, &a, &error), PARLEY_OK);
    assert_true(a.help);
    assert_int_equal(parse("-- --help", &f, &a, &error), PARLEY_OK);
    assert_false(a.help);
    cli_buffer text = {0};
    cli_help(&command, &text);
    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        assert_non_null(strstr(text.data, rows[i].name));
        assert_non_null(strstr(text.data, rows[i].help));
    }
    assert_non_null(strstr(text.data, "--choice red|green"));
    assert_non_null(strstr(text.data, "(1 to 256)"));
    assert_non_null(strstr(text.data, "(above 0, up to 1)"));
    cli_buffer_free(&text);
}

/* A short form of two letters is the whole word: what is written together with a letter stays that letter's value. */
static void test_alias(void **state)
{
    (void)state;
    fields f;
    cli_arguments a;
    parley_error error;
    assert_int_equal(parse("-t2 b -t a", &f, &a, &error), PARLEY_OK);
    assert_string_equal(f.second.value, "b");
    assert_string_equal(f.text.value, "a");
    assert_int_equal(parse("-t2b --second=c", &f, &a, &error), PARLEY_OK);
    assert_string_equal(f.text.value, "2b");
    assert_string_equal(f.second.value, "c");
    assert_int_equal(parse("-t -t2", &f, &a, &error), PARLEY_ARGUMENT);
    assert_int_equal(parse("-t2", &f, &a, &error), PARLEY_ARGUMENT);
    assert_int_equal(parse("-t2 a --second b", &f, &a, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "--second is given twice"));
    cli_buffer text = {0};
    cli_help(&command, &text);
    assert_non_null(strstr(text.data, "  -t2, --second TEXT"));
    cli_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alias),  cmocka_unit_test(test_forms),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_unknown_option_is_reported_with_the_list),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
