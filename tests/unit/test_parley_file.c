/* Files of the dialect parley, made from golden checkpoints and changed: they open, or an error says what is wrong; no byte leads outside. */
#include "weights/container.h"
#include "weights/gguf_write.h"

#include "support/random.h"

#include <parley/parley.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct made_file {
    uint8_t *bytes;
    size_t size, capacity;
    size_t limit; /* bytes after which writing fails; 0: none */
} made_file;

static parley_status take(void *context, const void *bytes, size_t size, parley_error *error)
{
    made_file *f = context;
    if (f->limit && f->size + size > f->limit) {
        snprintf(error->text, sizeof error->text, "the disk is full");
        return error->status = PARLEY_IO;
    }
    if (f->size + size > f->capacity) {
        f->capacity = 2 * (f->size + size);
        f->bytes = realloc(f->bytes, f->capacity);
        assert_non_null(f->bytes);
    }
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
    return PARLEY_OK;
}

static parley_status make(const char *checkpoint, const parley_quantize_options *types, made_file *f, parley_error *error)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, checkpoint);
    return parley_quantize(path, NULL, types, take, f, NULL, NULL, error);
}

static parley_quantize_options all_of(parley_weight weight)
{
    parley_quantize_options o;
    parley_quantize_options_init(&o);
    o.talker = o.predictor = o.codec = o.encoder = weight;
    return o;
}

static made_file made(const char *checkpoint, parley_weight weight)
{
    made_file f = {0};
    parley_error error = {0};
    parley_quantize_options types = all_of(weight);
    if (make(checkpoint, &types, &f, &error) != PARLEY_OK)
        fail_msg("%s: %s", checkpoint, error.text);
    return f;
}

static parley_status open_bytes(const uint8_t *bytes, size_t size, parley_error *error)
{
    parley_open_options options;
    parley_model *model;
    const parley_memory_file file = {"model.gguf", bytes, size};
    parley_open_options_init(&options);
    options.parts = PARLEY_PARTS_CLONE;
    options.threads = 1;
    parley_status status = parley_model_open_memory(&file, 1, &options, &model, error);
    if (status == PARLEY_OK)
        parley_model_close(model);
    return status;
}

/* ------------------------------------------------------------------ what is refused */

/* Where the value of a key, or the first item of an array, begins. */
static size_t value_of(const made_file *f, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 8; i + length < f->size; i++) {
        uint64_t size;
        memcpy(&size, f->bytes + i - 8, sizeof size);
        if (size == length && memcmp(f->bytes + i, key, length) == 0)
            return i + length + 4;
    }
    fail_msg("no key %s", key);
    return 0;
}

static void changed_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t at; /* bytes behind the value's begin */
        uint32_t word;
        parley_status status;
        const char *text;
    } rows[] = {
        {"parley.version", 0, 2, PARLEY_UNSUPPORTED, "'parley.version' is 2, only 1"},
        {"parley.layout", 0, 99, PARLEY_UNSUPPORTED, "'parley.layout' is 99, only 1"},
        {"parley.packed.types", 12, 14, PARLEY_FORMAT, "no type that is packed"},     /* q6_k */
        {"parley.packed.types", 12, 0, PARLEY_SHAPE, "bytes of panels are expected"}, /* f32: twice the bytes */
        {"parley.packed.types", 12, 4000, PARLEY_FORMAT, "no type that is packed"},
        {"parley.packed.shapes", 12, 0, PARLEY_FORMAT, "no shape"},
        {"parley.packed.shapes", 12, 0x80000000u, PARLEY_FORMAT, "no shape"},
        {"parley.packed.shapes", 16, 0x7FFFFFFF, PARLEY_SHAPE, "is expected"},
        {"parley.packed.shapes", 20, 1, PARLEY_OK, ""}, /* an axis of 1 */
        {"parley.packed.names", 20, 0x41414141, PARLEY_FORMAT, "no such tensor"},
        {"parley.family", 8, 0x33333333, PARLEY_FAMILY, "'parley'"},
    };
    made_file f = made("models/tts_a_custom", PARLEY_WEIGHT_KEEP);
    parley_error error = {0};
    assert_int_equal(open_bytes(f.bytes, f.size, &error), PARLEY_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t before[4], *at = f.bytes + value_of(&f, rows[i].key) + rows[i].at;
        memcpy(before, at, 4);
        memcpy(at, &rows[i].word, 4);
        parley_status status = open_bytes(f.bytes, f.size, &error);
        if (status != rows[i].status || (status != PARLEY_OK && !strstr(error.text, rows[i].text)))
            fail_msg("row %zu: %d, %s", i, (int)status, error.text);
        memcpy(at, before, 4);
    }
    free(f.bytes);
}

/* Bytes and bits of the head and the tokenizer anywhere: an error, or a model that opens. */
static void damaged_heads(void **state)
{
    (void)state;
    static const char *const checkpoints[] = {"models/tts_a_custom", "models/asr_a", "models/align_a"};
    test_random r = {23};
    for (size_t k = 0; k < sizeof checkpoints / sizeof *checkpoints; k++) {
        made_file f = made(checkpoints[k], PARLEY_WEIGHT_KEEP);
        parley_error error = {0};
        int refused = 0;
        size_t head = 60000 < f.size ? 60000 : f.size;
        for (int i = 0; i < 600; i++) {
            uint8_t *at = f.bytes + test_below(&r, (int)head), before = *at;
            *at = (uint8_t)(test_below(&r, 2) ? before ^ (1 << test_below(&r, 8)) : test_below(&r, 256));
            parley_status status = open_bytes(f.bytes, f.size, &error);
            assert_true(status == PARLEY_OK || error.text[0]);
            refused += status != PARLEY_OK;
            *at = before;
        }
        assert_true(refused > 60);
        for (size_t size = 0; size < f.size; size += f.size / 61 + 1) {
            uint8_t *cut = malloc(size + 1);
            assert_non_null(cut);
            memcpy(cut, f.bytes, size);
            assert_int_not_equal(open_bytes(cut, size, &error), PARLEY_OK);
            free(cut);
        }
        free(f.bytes);
    }
}

/* Panels at any address. */
static void unaligned_files_open(void **state)
{
    (void)state;
    made_file f = made("models/tts_a_custom", PARLEY_WEIGHT_KEEP);
    uint8_t *moved = malloc(f.size + 1);
    parley_error error = {0};
    assert_non_null(moved);
    memcpy(moved + 1, f.bytes, f.size);
    assert_int_equal(open_bytes(moved + 1, f.size, &error), PARLEY_OK);
    free(moved);
    free(f.bytes);
}

/* ------------------------------------------------------------------ what is written */

static void a_second_time_gives_the_same_bytes(void **state)
{
    (void)state;
    static const char *const checkpoints[] = {"models/tts_b_base", "models/asr_b", "models/align_a"};
    for (size_t k = 0; k < sizeof checkpoints / sizeof *checkpoints; k++) {
        made_file first = made(checkpoints[k], PARLEY_WEIGHT_BF16), second = {0};
        char path[] = "/tmp/parley-test-XXXXXX";
        int fd = mkstemp(path);
        FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
        parley_error error = {0};
        assert_true(file && fwrite(first.bytes, 1, first.size, file) == first.size && fclose(file) == 0);
        if (parley_quantize(path, NULL, NULL, take, &second, NULL, NULL, &error) != PARLEY_OK)
            fail_msg("%s", error.text);
        remove(path);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.bytes, second.bytes, first.size);
        free(first.bytes);
        free(second.bytes);
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    made_file files[2] = {{0}, {0}};
    parley_quantize_options types = all_of(PARLEY_WEIGHT_Q8_0);
    for (int i = 0; i < 2; i++) {
        parley_open_options options;
        parley_error error = {0};
        parley_open_options_init(&options);
        options.threads = i ? 3 : 1;
        assert_int_equal(parley_quantize(TEST_SOURCE "/models/parley-small-tts", &options, &types, take, &files[i], NULL, NULL, &error), PARLEY_OK);
    }
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].bytes, files[1].bytes, files[0].size);
    free(files[0].bytes);
    free(files[1].bytes);
}

static void writing_ends_with_the_sink(void **state)
{
    (void)state;
    parley_quantize_options types = all_of(PARLEY_WEIGHT_KEEP);
    made_file whole = made("models/tts_a_custom", PARLEY_WEIGHT_KEEP);
    for (size_t limit = 1; limit < whole.size; limit += whole.size / 7) {
        made_file f = {.limit = limit};
        parley_error error = {0};
        assert_int_equal(make("models/tts_a_custom", &types, &f, &error), PARLEY_IO);
        assert_string_equal(error.text, "the disk is full");
        free(f.bytes);
    }
    free(whole.bytes);
}

static void rules_of_types(void **state)
{
    (void)state;
    static const struct {
        const char *checkpoint;
        parley_quantize_options types;
        parley_status status;
        const char *text;
    } rows[] = {
        {"models/tts_a_custom", {sizeof(parley_quantize_options), 0, PARLEY_WEIGHT_Q4_0, 0, 0, false}, PARLEY_ARGUMENT, "--predictor q4_0: "},
        {"models/tts_a_custom", {sizeof(parley_quantize_options), 0, PARLEY_WEIGHT_Q4_0, 0, 0, true}, PARLEY_OK, ""},
        {"models/asr_a", {sizeof(parley_quantize_options), 0, 0, 0, PARLEY_WEIGHT_Q6_K, false}, PARLEY_ARGUMENT, "--encoder q6_k: "},
        {"models/tts_a_custom",
         {sizeof(parley_quantize_options), PARLEY_WEIGHT_Q4_K, 0, 0, 0, false},
         PARLEY_ARGUMENT,
         "q4_k takes multiples of 256"},
        {"gguf_asr_a", {sizeof(parley_quantize_options), PARLEY_WEIGHT_Q4_0, 0, 0, 0, false}, PARLEY_ARGUMENT, "be rounded twice"},
        {"gguf_asr_a", {sizeof(parley_quantize_options), PARLEY_WEIGHT_F32, 0, 0, 0, false}, PARLEY_ARGUMENT, "gain nothing"},
        {"gguf_asr_a", {sizeof(parley_quantize_options), PARLEY_WEIGHT_F32, 0, 0, 0, true}, PARLEY_OK, ""},
        {"gguf_asr_a", {sizeof(parley_quantize_options), PARLEY_WEIGHT_Q8_0, 0, 0, PARLEY_WEIGHT_Q8_0, false}, PARLEY_OK, ""},
        {"models/tts_a_custom", {sizeof(parley_quantize_options), (parley_weight)99, 0, 0, 0, false}, PARLEY_ARGUMENT, "talker: 99"},
        {"models/tts_a_custom", {1, 0, 0, 0, 0, false}, PARLEY_ARGUMENT, "parley_quantize_options_init"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made_file f = {0};
        parley_error error = {0};
        parley_status status = make(rows[i].checkpoint, &rows[i].types, &f, &error);
        if (status != rows[i].status || (status != PARLEY_OK && !strstr(error.text, rows[i].text)))
            fail_msg("row %zu: %d, %s", i, (int)status, error.text);
        assert_true(status == PARLEY_OK || f.size == 0);
        free(f.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_keys),           cmocka_unit_test(damaged_heads),
        cmocka_unit_test(unaligned_files_open),   cmocka_unit_test(a_second_time_gives_the_same_bytes),
        cmocka_unit_test(threads_change_nothing), cmocka_unit_test(writing_ends_with_the_sink),
        cmocka_unit_test(rules_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
