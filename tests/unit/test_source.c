#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sort.h"
#include "base/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512 };

typedef struct folder {
    char path[64];
} folder;

static const char *in(const folder *f, const char *name)
{
    static char text[PATH];
    snprintf(text, sizeof text, "%s/%s", f->path, name);
    return text;
}

static void write_file(const folder *f, const char *name, const char *content)
{
    FILE *file = fopen(in(f, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    assert_int_equal(fclose(file), 0);
}

static const char *const made[] = {"b.txt", "A.txt", "empty", "sub/inner.txt", "secret", "pipe", "link", "dangling", "to_pipe", "to_sub", "loop"};

static int make_folder(void **state)
{
    folder *f = calloc(1, sizeof *f);
    assert_non_null(f);
    strcpy(f->path, "/tmp/parley_source_XXXXXX");
    assert_non_null(mkdtemp(f->path));
    assert_int_equal(mkdir(in(f, "sub"), 0700), 0);
    write_file(f, "b.txt", "bee");
    write_file(f, "A.txt", "eh");
    write_file(f, "empty", "");
    write_file(f, "sub/inner.txt", "inside");
    write_file(f, "secret", "hidden");
    assert_int_equal(chmod(in(f, "secret"), 0), 0);
    assert_int_equal(mkfifo(in(f, "pipe"), 0600), 0);
    assert_int_equal(symlink("b.txt", in(f, "link")), 0);
    assert_int_equal(symlink("nowhere", in(f, "dangling")), 0);
    assert_int_equal(symlink("pipe", in(f, "to_pipe")), 0);
    assert_int_equal(symlink("sub", in(f, "to_sub")), 0);
    assert_int_equal(symlink("loop", in(f, "loop")), 0);
    *state = f;
    return 0;
}

static int drop_folder(void **state)
{
    folder *f = *state;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(in(f, made[i]));
    rmdir(in(f, "sub"));
    int result = rmdir(f->path);
    free(f);
    return result;
}

static pl_source *opened(const char *path)
{
    pl_source *source = NULL;
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, path, &source, &error), PARLEY_OK);
    assert_non_null(source);
    return source;
}

static void expect_bytes(pl_source *source, const char *name, const char *content)
{
    pl_bytes bytes = {0}, again = {0};
    parley_error error = {0};
    assert_true(pl_source_has(source, name));
    assert_int_equal(pl_source_map(source, name, &bytes, &error), PARLEY_OK);
    assert_non_null(bytes.data);
    assert_int_equal(bytes.size, strlen(content));
    assert_memory_equal(bytes.data, content, bytes.size);
    assert_int_equal(pl_source_map(source, name, &again, &error), PARLEY_OK);
    assert_ptr_equal(bytes.data, again.data);
    pl_source_drop(source, bytes.data, bytes.size);
    assert_memory_equal(bytes.data, content, bytes.size);
}

static void expect_refused(pl_source *source, const char *name, parley_status expected)
{
    pl_bytes bytes;
    parley_error error = {0};
    assert_false(pl_source_has(source, name));
    assert_int_equal(pl_source_map(source, name, &bytes, &error), expected);
    assert_int_equal(error.status, expected);
    assert_true(strlen(error.text) > 0);
}

static void test_directory(void **state)
{
    const folder *f = *state;
    pl_source *source = opened(f->path);
    char text[PATH];
    assert_true(pl_source_is_directory(source));
    assert_string_equal(pl_source_name(source), f->path);
    pl_source_describe(source, "b.txt", text, sizeof text);
    assert_string_equal(text, in(f, "b.txt"));
    expect_bytes(source, "b.txt", "bee");
    expect_bytes(source, "sub/inner.txt", "inside");
    expect_bytes(source, "to_sub/inner.txt", "inside");
    expect_bytes(source, "empty", "");
    expect_bytes(source, "link", "bee");
    pl_source_close(source);
}

static void test_list(void **state)
{
    const folder *f = *state;
    pl_source *source = opened(f->path);
    static const char *const expected[] = {"A.txt", "b.txt", "empty", "link", "secret"};
    const char *const *names, *const *again;
    size_t n, m;
    parley_error error = {0};
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    assert_int_equal(n, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], expected[i]);
    assert_int_equal(pl_source_list(source, &again, &m, &error), PARLEY_OK);
    assert_ptr_equal(names, again);
    assert_int_equal(n, m);
    pl_source_close(source);
}

static void test_names_outside(void **state)
{
    const folder *f = *state;
    static const char *const names[] = {"..", "../x", "sub/../b.txt", "sub/..", "/etc/passwd", "", "a//../b", "sub//.."};
    pl_source *source = opened(f->path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_refused(source, names[i], PARLEY_ARGUMENT);
    expect_refused(source, "..b.txt", PARLEY_MISSING);
    expect_refused(source, "sub/b..", PARLEY_MISSING);
    pl_source_close(source);
}

static void test_refused(void **state)
{
    const folder *f = *state;
    pl_source *source = opened(f->path);
    expect_refused(source, "absent", PARLEY_MISSING);
    expect_refused(source, "b.txt/x", PARLEY_MISSING);
    expect_refused(source, "dangling", PARLEY_MISSING);
    expect_refused(source, "sub", PARLEY_UNSUPPORTED);
    expect_refused(source, "pipe", PARLEY_UNSUPPORTED);
    expect_refused(source, "to_pipe", PARLEY_UNSUPPORTED);
    expect_refused(source, "loop", PARLEY_IO);
    pl_bytes bytes;
    parley_error error = {0};
    if (geteuid() != 0)
        assert_int_equal(pl_source_map(source, "secret", &bytes, &error), PARLEY_IO);
    pl_source_close(source);
}

static void test_paths(void **state)
{
    const folder *f = *state;
    static const struct {
        const char *path;
        parley_status status;
    } absolute[] = {{"/dev/null", PARLEY_UNSUPPORTED}, {"/dev/zero", PARLEY_UNSUPPORTED}, {"", PARLEY_MISSING}, {NULL, PARLEY_ARGUMENT}};
    static const struct {
        const char *name;
        parley_status status;
    } rows[] = {{"pipe", PARLEY_UNSUPPORTED}, {"to_pipe", PARLEY_UNSUPPORTED}, {"absent", PARLEY_MISSING},
                {"b.txt/", PARLEY_MISSING},   {"dangling", PARLEY_MISSING},    {"loop", PARLEY_IO}};
    pl_source *source;
    parley_error error = {0};
    for (size_t i = 0; i < sizeof absolute / sizeof *absolute; i++)
        assert_int_equal(pl_source_open(NULL, absolute[i].path, &source, &error), absolute[i].status);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(pl_source_open(NULL, in(f, rows[i].name), &source, &error), rows[i].status);
        assert_null(source);
        assert_non_null(strstr(error.text, f->path));
    }
}

static void test_one_file(void **state)
{
    const folder *f = *state;
    pl_source *source = opened(in(f, "b.txt"));
    const char *const *names;
    size_t n;
    char text[PATH];
    parley_error error = {0};
    assert_false(pl_source_is_directory(source));
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    assert_int_equal(n, 1);
    assert_string_equal(names[0], "b.txt");
    expect_bytes(source, "b.txt", "bee");
    expect_refused(source, "A.txt", PARLEY_MISSING);
    pl_source_describe(source, "b.txt", text, sizeof text);
    assert_string_equal(text, in(f, "b.txt"));
    pl_source_close(source);
}

/* Pages inside the range are dropped and come back from the file; a range that is not mapped is left alone. */
static void test_drop(void **state)
{
    const folder *f = *state;
    enum { SIZE = 5 * 4096 + 100 };
    char *content = malloc(SIZE + 1);
    assert_non_null(content);
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (char)('a' + i % 23);
    content[SIZE] = '\0';
    write_file(f, "b.txt", content);
    pl_source *source = opened(f->path);
    pl_bytes bytes;
    parley_error error = {0};
    assert_int_equal(pl_source_map(source, "b.txt", &bytes, &error), PARLEY_OK);
    assert_int_equal(bytes.size, SIZE);
    assert_memory_equal(bytes.data, content, SIZE);
    pl_source_drop(source, bytes.data + 100, SIZE - 200);
    assert_memory_equal(bytes.data, content, SIZE);
    pl_source_drop(source, bytes.data, SIZE);
    char own[3 * 4096];
    memset(own, 'x', sizeof own);
    pl_source_drop(source, own, sizeof own);
    pl_source_drop(source, bytes.data, SIZE_MAX);
    assert_memory_equal(bytes.data, content, SIZE);
    assert_int_equal(own[4096], 'x');
    pl_source_close(source);
    free(content);
}

static void test_memory(void **state)
{
    (void)state;
    const parley_memory_file files[] = {{"z.json", "zed", 3}, {"sub/model.bin", "deep", 4}, {"a.json", NULL, 0}};
    const char *const *names;
    size_t n;
    pl_source *source;
    parley_error error = {0};
    assert_int_equal(pl_source_open_memory(NULL, files, 3, &source, &error), PARLEY_OK);
    assert_true(pl_source_is_directory(source));
    assert_string_equal(pl_source_name(source), "memory");
    assert_int_equal(pl_source_list(source, &names, &n, &error), PARLEY_OK);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "a.json");
    assert_string_equal(names[1], "z.json");
    expect_bytes(source, "sub/model.bin", "deep");
    expect_bytes(source, "a.json", "");
    expect_refused(source, "b.json", PARLEY_MISSING);
    expect_refused(source, "../z.json", PARLEY_ARGUMENT);
    pl_source_close(source);
    assert_int_equal(pl_source_open_memory(NULL, files, 1, &source, &error), PARLEY_OK);
    assert_false(pl_source_is_directory(source));
    pl_source_close(source);
}

static void test_memory_arguments(void **state)
{
    (void)state;
    const parley_memory_file twice[] = {{"a", "x", 1}, {"a", "y", 1}}, nameless = {NULL, "x", 1}, empty = {"", "x", 1}, hollow = {"a", NULL, 4};
    pl_source *source;
    parley_error error = {0};
    assert_int_equal(pl_source_open_memory(NULL, twice, 2, &source, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_source_open_memory(NULL, &nameless, 1, &source, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_source_open_memory(NULL, &empty, 1, &source, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_source_open_memory(NULL, &hollow, 1, &source, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_source_open_memory(NULL, twice, 0, &source, &error), PARLEY_ARGUMENT);
    assert_null(source);
    pl_source_close(NULL);
}

static int by_value(const void *context, uint32_t a, uint32_t b)
{
    const int *values = context;
    return (values[a] > values[b]) - (values[a] < values[b]);
}

static void test_sort(void **state)
{
    (void)state;
    int values[200];
    uint32_t order[200];
    for (size_t n = 0; n <= 200; n++) {
        bool seen[200] = {false};
        for (size_t i = 0; i < n; i++)
            values[i] = (int)(i * 7919 % 101);
        pl_sort(order, n, by_value, values);
        for (size_t i = 0; i < n; i++) {
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
            assert_true(i == 0 || values[order[i - 1]] <= values[order[i]]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_directory, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_list, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_names_outside, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_refused, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_paths, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_one_file, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_drop, make_folder, drop_folder),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_arguments),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
