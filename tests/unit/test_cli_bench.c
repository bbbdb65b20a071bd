/* Earlier figures of bench --compare. */
#include "bench_earlier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static parley_status read_text(const char *text, cli_bench_earlier *earlier, parley_error *error)
{
    char path[] = "/tmp/parley-bench-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    parley_status status = cli_bench_earlier_read(path, earlier, error);
    unlink(path);
    return status;
}

static void rows_are_found_by_what_they_timed(void **state)
{
    (void)state;
    cli_bench_earlier earlier;
    parley_error error;
    assert_int_equal(read_text("[{\"stage\":\"a\",\"shape\":\"s\",\"type\":\"q8_0\",\"level\":\"avx2\",\"threads\":2,\"seconds\":0.25,"
                               "\"seconds_low\":1e-3,\"limit\":null},\n {\"stage\":\"b\", \"shape\":\"\", \"type\":\"\", \"level\":\"avx2\","
                               "\"seconds\": 5e-1}]\n",
                               &earlier, &error),
                     PARLEY_OK);
    parley_bench_row row = {.stage = "a", .shape = "s", .type = "q8_0", .level = "avx2"};
    assert_true(cli_bench_earlier_seconds(&earlier, &row) == 0.25);
    row.level = "scalar";
    assert_true(cli_bench_earlier_seconds(&earlier, &row) == 0.0);
    row = (parley_bench_row){.stage = "b", .shape = "", .type = "", .level = "avx2"};
    assert_true(cli_bench_earlier_seconds(&earlier, &row) == 0.5);
    cli_bench_earlier_free(&earlier);
    assert_int_equal(read_text("[]", &earlier, &error), PARLEY_OK);
    assert_true(cli_bench_earlier_seconds(&earlier, &row) == 0.0);
    cli_bench_earlier_free(&earlier);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "[{\"stage\":\"a\"]",
        "[{\"seconds\":}]",
        "[{\"seconds\":1.2.3}]",
        "[{\"seconds\":[1]}]",
        "[{]",
        "[{\"a\":1},]",
        "[] x",
        "[{\"stage\" 1}]",
        "[{\"seconds\":1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cli_bench_earlier earlier;
        parley_error error;
        assert_int_equal(read_text(bad[i], &earlier, &error), PARLEY_FORMAT);
        assert_non_null(strstr(error.text, "parley-bench-"));
        assert_null(earlier.rows);
    }
    cli_bench_earlier earlier;
    parley_error error;
    assert_int_equal(cli_bench_earlier_read("/nonexistent/figures.json", &earlier, &error), PARLEY_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_found_by_what_they_timed), cmocka_unit_test(other_files_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
