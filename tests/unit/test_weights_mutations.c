/* Every byte of the header of a small file flipped, every length cut: an error or a correct load, never a crash, a hang, or memory above twice the
 * file plus 4 MiB. Each damaged file lies in a block of exactly its size, so that a sanitizer sees any read outside of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../fuzz/weights_walk.h"
#include "limit_allocator.h"
#include "weights_files.h"

typedef parley_status (*open_files)(const parley_allocator *allocator, pl_source *source, pl_container *container, parley_error *error);

typedef struct outcomes {
    size_t loads, errors;
} outcomes;

static parley_status open_gguf(const parley_allocator *allocator, pl_source *source, pl_container *container, parley_error *error)
{
    return pl_gguf_open(allocator, source, "model.gguf", container, error);
}

static parley_status open_safetensors(const parley_allocator *allocator, pl_source *source, pl_container *container, parley_error *error)
{
    return pl_safetensors_open(allocator, source, "", container, error);
}

static void check_error(parley_status status, const parley_error *error)
{
    assert_true(status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED || status == PARLEY_MISSING);
    assert_int_equal(error->status, status);
    assert_true(strlen(error->text) > 0);
    assert_true(strlen(error->text) < sizeof error->text);
}

static void try_files(const parley_memory_file *files, size_t n, open_files open, outcomes *seen)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += files[i].size;
    limit_allocator memory = {.limit = 2 * total + (4 << 20), .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    parley_error error = {0};
    pl_source *source;
    pl_container container;
    uint64_t sum = 0;
    assert_int_equal(pl_source_open_memory(&allocator, files, n, &source, &error), PARLEY_OK);
    parley_status status = open(&allocator, source, &container, &error);
    if (status == PARLEY_OK) {
        assert_true(walk_container(&allocator, &container, &sum));
        pl_container_close(&container);
        seen->loads++;
    } else {
        check_error(status, &error);
        seen->errors++;
    }
    pl_source_close(source);
    assert_false(memory.exceeded);
    assert_int_equal(memory.held, 0);
}

/* The files with number `which` replaced by a copy of `size` bytes, in which byte `at` is xored. */
static void try_changed(const parley_memory_file *files, size_t n, size_t which, size_t size, size_t at, uint8_t mask, open_files open,
                        outcomes *seen)
{
    parley_memory_file changed[4];
    memcpy(changed, files, n * sizeof *files);
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, files[which].data, size);
    if (at < size)
        copy[at] ^= mask;
    changed[which] = (parley_memory_file){files[which].name, copy, size};
    try_files(changed, n, open, seen);
    free(copy);
}

/* Changes of file `which`, whose first `header` bytes describe the rest. */
static void mutate(const parley_memory_file *files, size_t n, size_t which, size_t header, open_files open)
{
    static const uint8_t masks[] = {0xFF, 0x01, 0x80, 0x20};
    outcomes whole = {0}, flips = {0}, cuts = {0};
    try_files(files, n, open, &whole);
    assert_int_equal(whole.loads, 1);
    for (size_t at = 0; at < header; at++)
        for (size_t i = 0; i < sizeof masks; i++)
            try_changed(files, n, which, files[which].size, at, masks[i], open, &flips);
    for (size_t size = 0; size < files[which].size; size++)
        try_changed(files, n, which, size, SIZE_MAX, 0, open, &cuts);
    assert_int_equal(cuts.loads, 0);
    assert_int_equal(flips.loads + flips.errors, header * sizeof masks);
    assert_true(flips.loads > 0 && flips.errors > flips.loads / 4);
}

static void test_gguf(void **state)
{
    (void)state;
    made_file f;
    make_gguf(&f);
    parley_memory_file file = {"model.gguf", f.bytes, f.size};
    mutate(&file, 1, 0, f.header, open_gguf);
}

static const char shard_1[] = "{\"__metadata__\":{\"format\":\"pt\"},\"a.weight\":{\"dtype\":\"BF16\",\"shape\":[4,3],\"data_offsets\":[0,24]},"
                              "\"a.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}   ";
static const char shard_2[] = "{\"b.\\u00e9\\n\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]},"
                              "\"n\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[2,10]}}";
static const char index_text[] = "{\"metadata\":{\"total_size\":42,\"x\":[1.5e3,true,null,{}]},\"weight_map\":{\"a.weight\":\"m-1.safetensors\","
                                 "\"a.bias\":\"m-1.safetensors\",\"b.\\u00E9\\n\":\"m-2.safetensors\",\"n\":\"m-2.safetensors\"}}";

static void test_safetensors(void **state)
{
    (void)state;
    made_file f;
    make_safetensors(&f, shard_1, 32);
    parley_memory_file file = {"model.safetensors", f.bytes, f.size};
    mutate(&file, 1, 0, f.header, open_safetensors);
}

static void test_shards(void **state)
{
    (void)state;
    made_file first, second;
    make_safetensors(&first, shard_1, 32);
    make_safetensors(&second, shard_2, 10);
    const parley_memory_file files[] = {{"model.safetensors.index.json", index_text, strlen(index_text)},
                                        {"m-1.safetensors", first.bytes, first.size},
                                        {"m-2.safetensors", second.bytes, second.size}};
    mutate(files, 3, 0, strlen(index_text), open_safetensors);
    mutate(files, 3, 1, first.header, open_safetensors);
    mutate(files, 3, 2, second.header, open_safetensors);
}

/* Out of memory at each allocation in turn: MEMORY, and nothing stays behind. */
static void exhaust(const parley_memory_file *files, size_t n, open_files open)
{
    size_t failures = 0;
    for (size_t left = 0; left < 1000; left++) {
        limit_allocator memory = {.limit = SIZE_MAX / 2, .left = left};
        parley_allocator allocator = limit_interface(&memory);
        parley_error error = {0};
        pl_source *source = NULL;
        pl_container container;
        parley_status status = pl_source_open_memory(&allocator, files, n, &source, &error);
        if (status == PARLEY_OK)
            status = open(&allocator, source, &container, &error);
        if (status == PARLEY_OK)
            pl_container_close(&container);
        pl_source_close(source);
        assert_int_equal(memory.held, 0);
        if (status == PARLEY_OK)
            break;
        assert_int_equal(status, PARLEY_MEMORY);
        failures++;
    }
    assert_in_range(failures, 3, 999);
}

static void test_no_memory(void **state)
{
    (void)state;
    made_file f, first, second;
    make_gguf(&f);
    make_safetensors(&first, shard_1, 32);
    make_safetensors(&second, shard_2, 10);
    const parley_memory_file gguf = {"model.gguf", f.bytes, f.size};
    const parley_memory_file files[] = {{"model.safetensors.index.json", index_text, strlen(index_text)},
                                        {"m-1.safetensors", first.bytes, first.size},
                                        {"m-2.safetensors", second.bytes, second.size}};
    exhaust(&gguf, 1, open_gguf);
    exhaust(files, 3, open_safetensors);
}

/* As many of the smallest tensors and keys as are let through, and one more: memory stays within the bound in the worst files. */
static void test_crowded_gguf(void **state)
{
    (void)state;
    enum { N = PL_MAX_ENTRIES, MOST = (N + 1) * (8 + 5 + 4 + 1 + 8 + 5 + 4 + 8 + 4 + 8) + (N + 1) * 8 + 64 };
    uint8_t *bytes = calloc(1, MOST);
    assert_non_null(bytes);
    for (size_t extra = 0; extra < 2; extra++) {
        size_t n = N + extra, at = 0;
        made_file *f = malloc(sizeof *f);
        assert_non_null(f);
        put_head(f, 3, n, N);
        put_key(f, "general.alignment", 4), put_number(f, 8, 4);
        memcpy(bytes, f->bytes, at = f->size);
        for (size_t i = 0; i < 2 * n; i++) {
            char name[24];
            snprintf(name, sizeof name, "%zx", i);
            f->size = 0;
            if (i + 1 < N)
                put_key(f, name, 0), put_number(f, 0, 1);
            else if (i >= n)
                put_tensor(f, name, 1, (const uint64_t[]){1}, 1, (i - n) * 8);
            memcpy(bytes + at, f->bytes, f->size);
            at += f->size;
        }
        size_t size = (at + 7) / 8 * 8 + n * 8;
        assert_true(size <= MOST);
        parley_memory_file file = {"model.gguf", bytes, size};
        outcomes seen = {0};
        try_files(&file, 1, open_gguf, &seen);
        assert_int_equal(seen.loads, extra == 0);
        free(f);
    }
    free(bytes);
}

static void test_crowded_safetensors(void **state)
{
    (void)state;
    enum { N = PL_MAX_ENTRIES, MOST = (N + 1) * 70 };
    char *bytes = malloc(MOST);
    assert_non_null(bytes);
    for (size_t extra = 0; extra < 2; extra++) {
        size_t at = 8;
        for (size_t i = 0; i < N + extra; i++)
            at += (size_t)snprintf(bytes + at, MOST - at, "%c\"%zx\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? ',' : '{', i);
        bytes[at++] = '}';
        uint64_t header = at - 8;
        for (size_t i = 0; i < 8; i++)
            bytes[i] = (char)(header >> (8 * i));
        parley_memory_file file = {"model.safetensors", bytes, at};
        outcomes seen = {0};
        try_files(&file, 1, open_safetensors, &seen);
        assert_int_equal(seen.loads, extra == 0);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf),      cmocka_unit_test(test_safetensors),  cmocka_unit_test(test_shards),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_crowded_gguf), cmocka_unit_test(test_crowded_safetensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
