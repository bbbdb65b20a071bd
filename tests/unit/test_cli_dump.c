/* Taps to files: pieces are joined along the first axis, names and shapes are checked, own results are not taken from taps. */
#include "dump.h"
#include "npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/parley_dump_XXXXXX";
static char directory[100];

static void read_array(const char *name, cli_npy *array)
{
    char path[200];
    parley_error error = {0};
    snprintf(path, sizeof path, "%s/%s.npy", directory, name);
    assert_int_equal(cli_npy_read(path, name, array, &error), PARLEY_OK);
    unlink(path);
}

static void test_pieces_are_joined(void **state)
{
    (void)state;
    static const char *const own[] = {"pcm", NULL};
    const float rows[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int32_t ids[2] = {7, -8};
    cli_dump dump;
    cli_npy array;
    parley_error error = {0};
    assert_int_equal(cli_dump_open(&dump, directory, own, &error), PARLEY_OK);
    for (int i = 0; i < 4; i++) /* other names come between */ {
        cli_dump_tap(&dump, "hidden", 'f', rows + 2 * i, (int64_t[]){1, 2}, 2);
        cli_dump_tap(&dump, i % 2 ? "odd" : "even", 'f', rows, (int64_t[]){2, 2, 2}, 3);
        cli_dump_tap(&dump, "pcm", 'f', rows, (int64_t[]){8}, 1);
    }
    cli_dump_tap(&dump, "ids", 'i', ids, (int64_t[]){2}, 1);
    cli_dump_tap(&dump, "none", 'f', NULL, (int64_t[]){0, 5}, 2);
    cli_dump_add(&dump, "pcm", 'f', rows, (int64_t[]){3}, 1);
    assert_int_equal(cli_dump_write(&dump, &error), PARLEY_OK);
    read_array("hidden", &array);
    assert_int_equal(array.shape[0], 4);
    assert_int_equal(array.shape[1], 2);
    assert_memory_equal(array.floats, rows, sizeof rows);
    cli_npy_free(&array);
    read_array("odd", &array);
    assert_int_equal(array.rank, 3);
    assert_int_equal(array.shape[0], 4);
    cli_npy_free(&array);
    read_array("even", &array);
    cli_npy_free(&array);
    read_array("ids", &array);
    assert_memory_equal(array.ints, ids, sizeof ids);
    cli_npy_free(&array);
    read_array("none", &array);
    assert_int_equal(array.shape[0], 0);
    assert_int_equal(array.shape[1], 5);
    cli_npy_free(&array);
    read_array("pcm", &array);
    assert_int_equal(array.count, 3);
    cli_npy_free(&array);
    cli_dump_close(&dump);
    assert_int_equal(access(directory, F_OK), -1); /* made here, empty again */
}

static void expect_failure(const char *name, char type, const int64_t *shape, int rank)
{
    const float rows[64] = {0};
    cli_dump dump;
    parley_error error = {0};
    assert_int_equal(cli_dump_open(&dump, directory, NULL, &error), PARLEY_OK);
    cli_dump_tap(&dump, "good", 'f', rows, (int64_t[]){2, 3}, 2);
    cli_dump_tap(&dump, name, type, rows, shape, rank);
    cli_dump_tap(&dump, "late", 'f', rows, (int64_t[]){2, 3}, 2);
    assert_int_equal(cli_dump_write(&dump, &error), PARLEY_INTERNAL);
    cli_dump_close(&dump);
    assert_int_equal(access(directory, F_OK), -1);
}

static void test_wrong_taps(void **state)
{
    (void)state;
    const int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    expect_failure("", 'f', shape, 1);
    expect_failure("../x", 'f', shape, 1);
    expect_failure("a/b", 'f', shape, 1);
    expect_failure("a.b", 'f', shape, 1);
    expect_failure("a_name_of_more_than_sixty_characters_which_no_stage_will_ever_have", 'f', shape, 1);
    expect_failure("x", 'd', shape, 1);
    expect_failure("x", 'f', shape, 0);
    expect_failure("x", 'f', shape, 9);
    expect_failure("x", 'f', (int64_t[]){-1}, 1);
    expect_failure("x", 'f', (int64_t[]){INT64_MAX, 3}, 2);
    expect_failure("good", 'f', (int64_t[]){2, 4}, 2);
    expect_failure("good", 'f', (int64_t[]){6}, 1);
    expect_failure("good", 'i', (int64_t[]){2, 3}, 2);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(directory, sizeof directory, "%s/dump", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces_are_joined), cmocka_unit_test(test_wrong_taps)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
