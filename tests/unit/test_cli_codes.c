/* Codes as JSON and .npy. */
#include "codes.h"
#include "npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_json_reads(void **state)
{
    (void)state;
    const char *text = " [ [1, -2,3],\n[2147483647,-2147483648 , 0] ]\n";
    const int32_t want[6] = {1, -2, 3, INT32_MAX, INT32_MIN, 0};
    cli_codes codes;
    parley_error error = {0};
    assert_int_equal(cli_codes_parse_json("c.json", text, strlen(text), &codes, &error), PARLEY_OK);
    assert_int_equal(codes.frames, 2);
    assert_int_equal(codes.groups, 3);
    assert_memory_equal(codes.values, want, sizeof want);
    cli_codes_free(&codes);
}

static void test_json_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        parley_status status;
        const char *says;
    } cases[] = {
        {"[[1,2],[3]]", PARLEY_FORMAT, "ragged codes: row 1 has 1, row 0 has 2"},
        {"[[1],[2,3]]", PARLEY_FORMAT, "ragged"},
        {"[]", PARLEY_ARGUMENT, "no codes"},
        {"[[]]", PARLEY_ARGUMENT, "no codes"},
        {"[[1],[]]", PARLEY_FORMAT, "ragged"},
        {"", PARLEY_FORMAT, "found the end"},
        {"[[1.5]]", PARLEY_FORMAT, "whole number"},
        {"[[1e3]]", PARLEY_FORMAT, "whole number"},
        {"[[01]]", PARLEY_FORMAT, "whole number"},
        {"[[\"1\"]]", PARLEY_FORMAT, "whole number"},
        {"[[null]]", PARLEY_FORMAT, "whole number"},
        {"[[true]]", PARLEY_FORMAT, "whole number"},
        {"[[-]]", PARLEY_FORMAT, "whole number"},
        {"[[2147483648]]", PARLEY_FORMAT, "beyond 32 bits"},
        {"[[-2147483649]]", PARLEY_FORMAT, "beyond 32 bits"},
        {"[[99999999999999999999999]]", PARLEY_FORMAT, "beyond 32 bits"},
        {"[[1,]]", PARLEY_FORMAT, "whole number"},
        {"[[1] [2]]", PARLEY_FORMAT, "',' expected, found '['"},
        {"[[1]", PARLEY_FORMAT, "found the end"},
        {"[[1]] x", PARLEY_FORMAT, "found 'x'"},
        {"[1, 2]", PARLEY_FORMAT, "'[' expected, found '1'"},
        {"{\"codes\": [[1]]}", PARLEY_FORMAT, "'[' expected"},
        {"[[1,2]\xFF]", PARLEY_FORMAT, "byte 0xFF"},
    };
    for (size_t i = 0; i < CLI_COUNT(cases); i++) {
        cli_codes codes;
        parley_error error = {0};
        assert_int_equal(cli_codes_parse_json("c.json", cases[i].text, strlen(cases[i].text), &codes, &error), cases[i].status);
        if (!strstr(error.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, error.text);
        assert_null(codes.values);
    }
}

static parley_status parse_array(char type, const int64_t *shape, int rank, const void *elements, size_t count, cli_codes *codes, parley_error *error)
{
    cli_buffer bytes = {0};
    cli_npy_header(&bytes, type, shape, rank);
    cli_npy_elements(&bytes, type, elements, count);
    parley_status status = cli_codes_parse_npy("c.npy", bytes.data, bytes.size, codes, error);
    cli_buffer_free(&bytes);
    return status;
}

static void test_npy(void **state)
{
    (void)state;
    const int32_t values[6] = {1, 2, 3, 4, 5, 6};
    const float floats[6] = {0};
    cli_codes codes;
    parley_error error = {0};
    assert_int_equal(parse_array('i', (int64_t[]){3, 2}, 2, values, 6, &codes, &error), PARLEY_OK);
    assert_int_equal(codes.frames, 3);
    assert_int_equal(codes.groups, 2);
    assert_memory_equal(codes.values, values, sizeof values);
    assert_int_equal(cli_codes_check(&codes, "--teacher", 2, &error), PARLEY_OK);
    assert_int_equal(cli_codes_check(&codes, "--teacher", 16, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "2 codes a frame, the model has 16"));
    cli_codes_free(&codes);
    assert_int_equal(parse_array('i', (int64_t[]){6}, 1, values, 6, &codes, &error), PARLEY_FORMAT);
    assert_int_equal(parse_array('i', (int64_t[]){1, 3, 2}, 3, values, 6, &codes, &error), PARLEY_FORMAT);
    assert_int_equal(parse_array('f', (int64_t[]){3, 2}, 2, floats, 6, &codes, &error), PARLEY_FORMAT);
    assert_int_equal(parse_array('i', (int64_t[]){0, 2}, 2, values, 0, &codes, &error), PARLEY_ARGUMENT);
    assert_int_equal(parse_array('i', (int64_t[]){3, 0}, 2, values, 0, &codes, &error), PARLEY_ARGUMENT);
}

static void test_writes_what_it_reads(void **state)
{
    (void)state;
    const int32_t values[6] = {0, 63, 2047, 4, 5, 6};
    static const char *const names[] = {"a.json", "a.npy"};
    for (size_t i = 0; i < 2; i++) {
        cli_buffer bytes = {0};
        cli_codes codes;
        parley_error error = {0};
        cli_codes_write(&bytes, names[i], values, 3, 2);
        parley_status status =
            i ? cli_codes_parse_npy("a", bytes.data, bytes.size, &codes, &error) : cli_codes_parse_json("a", bytes.data, bytes.size, &codes, &error);
        assert_int_equal(status, PARLEY_OK);
        assert_int_equal(codes.frames, 3);
        assert_int_equal(codes.groups, 2);
        assert_memory_equal(codes.values, values, sizeof values);
        cli_codes_free(&codes);
        cli_buffer_free(&bytes);
    }
    cli_buffer none = {0};
    cli_codes_write(&none, "a.json", NULL, 0, 16);
    assert_string_equal(none.data, "[]\n");
    cli_buffer_free(&none);
}

static void test_names(void **state)
{
    (void)state;
    parley_error error = {0};
    assert_int_equal(cli_codes_name("x.NPY", "--codes", &error), PARLEY_OK);
    assert_int_equal(cli_codes_name("x.json", "--codes", &error), PARLEY_OK);
    assert_int_equal(cli_codes_name("npy", "--codes", &error), PARLEY_ARGUMENT);
    assert_int_equal(cli_codes_name("", "--codes", &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, ".npy or .json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_reads),           cmocka_unit_test(test_json_refuses), cmocka_unit_test(test_npy),
        cmocka_unit_test(test_writes_what_it_reads), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
