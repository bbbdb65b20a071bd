/* .npy files: what numpy writes is read, what is written reads back, damaged headers are errors. */
#include "npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* A file of a given version, header text and elements. */
static size_t make_file(char *file, int version, const char *text, const void *elements, size_t bytes)
{
    size_t length = strlen(text), at = 8;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        file[at++] = (char)(length >> (8 * i));
    memcpy(file + at, text, length);
    memcpy(file + at + length, elements, bytes);
    return at + length + bytes;
}

static parley_status parse(int version, const char *text, const void *elements, size_t bytes, cli_npy *array, parley_error *error)
{
    char file[1024];
    size_t size = make_file(file, version, text, elements, bytes);
    return cli_npy_parse("x.npy", file, size, array, error);
}

static void test_reads_versions_and_types(void **state)
{
    (void)state;
    const float floats[6] = {0.0f, -1.5f, 2.0f, 3.0f, 4.0f, 1e-30f};
    const int32_t ints[4] = {1, -2, INT32_MAX, INT32_MIN};
    const int64_t longs[2] = {-7, 2147483647};
    cli_npy a;
    parley_error error = {0};
    for (int version = 1; version <= 3; version++) {
        assert_int_equal(parse(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", floats, 24, &a, &error), PARLEY_OK);
        assert_int_equal(a.type, 'f');
        assert_int_equal(a.rank, 2);
        assert_int_equal(a.shape[0], 2);
        assert_int_equal(a.shape[1], 3);
        assert_memory_equal(a.floats, floats, sizeof floats);
        cli_npy_free(&a);
    }
    assert_int_equal(parse(1, "{\"shape\":(4,),\"descr\":\"<i4\",\"fortran_order\":False}", ints, 16, &a, &error), PARLEY_OK);
    assert_int_equal(a.type, 'i');
    assert_memory_equal(a.ints, ints, sizeof ints);
    cli_npy_free(&a);
    assert_int_equal(parse(1, "{'descr': '<i8', 'fortran_order': True, 'shape': (2,), }", longs, 16, &a, &error), PARLEY_OK);
    assert_int_equal(a.ints[0], -7);
    assert_int_equal(a.ints[1], 2147483647);
    cli_npy_free(&a);
    assert_int_equal(parse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", floats, 4, &a, &error), PARLEY_OK);
    assert_int_equal(a.rank, 0);
    assert_int_equal(a.count, 1);
    cli_npy_free(&a);
    assert_int_equal(parse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }", floats, 0, &a, &error), PARLEY_FORMAT);
    assert_int_equal(parse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 999999999999999999), }", floats, 0, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 0);
    cli_npy_free(&a);
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
        parley_status status;
        const char *says;
    } cases[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8, PARLEY_UNSUPPORTED, ">f4"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 8, PARLEY_UNSUPPORTED, "<f8"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 8, PARLEY_UNSUPPORTED, "column-major"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8, PARLEY_FORMAT, "do not fit the shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 8, PARLEY_FORMAT, "do not fit the shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0, PARLEY_FORMAT, "more than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 0, PARLEY_FORMAT, "do not fit"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 8, PARLEY_FORMAT, "dimension expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, PARLEY_FORMAT, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2), }", 8, PARLEY_FORMAT, "8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", 8, PARLEY_FORMAT, "expected"},
        {"{'descr': '<f4', 'fortran_order': False, }", 8, PARLEY_FORMAT, "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, PARLEY_FORMAT, "twice"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8, PARLEY_FORMAT, "quoted word"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", 8, PARLEY_FORMAT, "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x", 8, PARLEY_FORMAT, "behind"},
        {"", 8, PARLEY_FORMAT, "expected"},
    };
    const float elements[2] = {1.0f, 2.0f};
    for (size_t i = 0; i < CLI_COUNT(cases); i++) {
        cli_npy a;
        parley_error error = {0};
        assert_int_equal(parse(1, cases[i].text, elements, cases[i].bytes, &a, &error), cases[i].status);
        assert_non_null(strstr(error.text, cases[i].says));
        assert_null(a.floats);
    }
}

static void test_refuses_other_files(void **state)
{
    (void)state;
    char file[256];
    const float one = 1.0f;
    cli_npy a;
    parley_error error = {0};
    const char *text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    size_t size = make_file(file, 1, text, &one, 4);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_not_equal(cli_npy_parse("x.npy", file, cut, &a, &error), PARLEY_OK);
    file[6] = 4;
    assert_int_equal(cli_npy_parse("x.npy", file, size, &a, &error), PARLEY_UNSUPPORTED);
    file[6] = 2; /* then the length takes four bytes: absurd ones here */
    assert_int_equal(cli_npy_parse("x.npy", file, size, &a, &error), PARLEY_FORMAT);
    assert_int_equal(cli_npy_parse("x.npy", "PK\3\4 some archive", 17, &a, &error), PARLEY_FORMAT);
    const int64_t wide = 2147483648;
    assert_int_equal(parse(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", &wide, 8, &a, &error), PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "2147483648"));
}

static void test_writes_what_it_reads(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{6, 0, 0}, {2, 3, 0}, {1, 2, 3}};
    const float floats[6] = {1, 2, 3, -4, 5e20f, 6};
    for (int rank = 1; rank <= 3; rank++) {
        cli_buffer out = {0};
        cli_npy a;
        parley_error error = {0};
        cli_npy_header(&out, 'f', shapes[rank - 1], rank);
        assert_int_equal(out.size % 64, 0);
        cli_npy_elements(&out, 'f', floats, 6);
        assert_int_equal(cli_npy_parse("x", out.data, out.size, &a, &error), PARLEY_OK);
        assert_int_equal(a.rank, rank);
        assert_memory_equal(a.shape, shapes[rank - 1], (size_t)rank * sizeof(int64_t));
        assert_memory_equal(a.floats, floats, sizeof floats);
        cli_npy_free(&a);
        cli_buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_versions_and_types),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_refuses_other_files),
        cmocka_unit_test(test_writes_what_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
