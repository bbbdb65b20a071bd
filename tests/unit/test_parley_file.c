/* Files of the dialect parley, made from golden checkpoints and changed: they open, or an error says what is wrong; no byte leads outside. */
#include "base/hash.h"
#include "models/catalogue.h"
#include "models/parley.h"
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
        int at; /* bytes behind the value's begin; -8: the end of the name */
        uint32_t word;
        parley_status status;
        const char *text;
    } rows[] = {
        {"parley.version", 0, 2, PARLEY_UNSUPPORTED, "'parley.version' is 2, only 1"},
        {"parley.layout", 0, 99, PARLEY_UNSUPPORTED, "'parley.layout' is 99, only 1"},
        {"parley.packed.types", 12, 3, PARLEY_FORMAT, "no type that is packed"},        /* q4_1 */
        {"parley.packed.types", 12, 14, PARLEY_SHAPE, "a multiple of 256 is expected"}, /* q6_k */
        {"parley.packed.types", 12, 0, PARLEY_SHAPE, "bytes of panels are expected"},   /* f32: twice the bytes */
        {"parley.packed.types", 12, 4000, PARLEY_FORMAT, "no type that is packed"},
        {"parley.packed.shapes", 12, 0, PARLEY_FORMAT, "no shape"},
        {"parley.packed.shapes", 12, 0x80000000u, PARLEY_FORMAT, "no shape"},
        {"parley.packed.shapes", 16, 0x7FFFFFFF, PARLEY_SHAPE, "is expected"},
        {"parley.packed.shapes", 20, 1, PARLEY_OK, ""}, /* an axis of 1 */
        {"parley.packed.names", 20, 0x41414141, PARLEY_FORMAT, "no such tensor"},
        {"parley.family", 8, 0x33333333, PARLEY_FAMILY, "'parley'"},
        {"qwen3-tts.text.is_projected", 0, 1 | 22 << 8, PARLEY_FORMAT, "projected already"}, /* true; behind it the next key's length */
        {"qwen3-tts.text.is_projected", -8, 0x41414141, PARLEY_MISSING, "is_projected"},
        {"qwen3-tts-tokenizer.decoder.snake_is_final", -8, 0x41414141, PARLEY_MISSING, "snake_is_final"},
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

/* A file with one packed tensor `t` of a shape and so many bytes, opened as a container. */
static void open_packed(const int32_t shape[4], size_t bytes, pl_source **source, pl_container *container)
{
    static uint8_t file[1 << 16];
    static const int32_t type = 0; /* f32 */
    const parley_allocator allocator = pl_default_allocator();
    pl_gguf_head head;
    uint8_t *made_head;
    size_t size;
    parley_error error;
    pl_gguf_head_init(&head, &allocator);
    pl_gguf_put_int(&head, PL_PARLEY_VERSION, PL_PARLEY_FORMAT);
    pl_gguf_put_int(&head, PL_PARLEY_LAYOUT, PL_PACK_VERSION);
    pl_gguf_put_texts(&head, PL_PARLEY_NAMES, 1);
    pl_gguf_put_item(&head, "t");
    pl_gguf_put_ints(&head, PL_PARLEY_TYPES, &type, 1);
    pl_gguf_put_ints(&head, PL_PARLEY_SHAPES, shape, 4);
    pl_gguf_put_tensor(&head, "t", PL_OTHER, (const int64_t[]){(int64_t)bytes}, 1, bytes);
    assert_int_equal(pl_gguf_head_finish(&head, &made_head, &size, &error), PARLEY_OK);
    assert_true(size + bytes <= sizeof file);
    memcpy(file, made_head, size);
    memset(file + size, 0, bytes);
    pl_release(&allocator, made_head, size, 1);
    pl_gguf_head_free(&head);
    const parley_memory_file memory = {"f", file, size + bytes};
    assert_int_equal(pl_source_open_memory(NULL, &memory, 1, source, &error), PARLEY_OK);
    assert_int_equal(pl_gguf_open(NULL, *source, "f", container, &error), PARLEY_OK);
    assert_int_equal(pl_parley_prepare(container, "f", &error), PARLEY_OK);
}

/* Panels are taken only as the matrix that they are the whole of. */
static void panels_must_fit_their_use(void **state)
{
    (void)state;
    static const struct {
        int32_t stored[4];
        size_t bytes;
        int64_t shape[4];
        int rank;
        pl_use use;
        parley_status status; /* of the first fault */
    } rows[] = {
        {{20, 8}, 32 * 8 * 4, {20, 8}, 2, {PL_FORM_LINEAR, 1}, PARLEY_OK},
        {{20, 8}, 32 * 8 * 4, {20, 8}, 2, {PL_FORM_ROWS, 1}, PARLEY_UNSUPPORTED}, /* a table */
        {{1, 8}, 16 * 8 * 4, {8}, 1, {PL_FORM_ROWS, 1}, PARLEY_UNSUPPORTED},      /* a norm */
        {{20, 8}, 32 * 8 * 4 - 4, {20, 8}, 2, {PL_FORM_LINEAR, 1}, PARLEY_SHAPE}, /* a value short */
        {{20, 8}, 20 * 8 * 4, {20, 8}, 2, {PL_FORM_LINEAR, 1}, PARLEY_SHAPE},     /* without the padding */
        {{20, 8}, 32 * 8 * 4 + 64, {20, 8}, 2, {PL_FORM_LINEAR, 1}, PARLEY_SHAPE},
        {{20, 8}, 32 * 8 * 4, {8, 20}, 2, {PL_FORM_LINEAR, 1}, PARLEY_SHAPE},
        {{20, 8, 3}, 32 * 24 * 4, {20, 8, 3}, 3, {PL_FORM_CONV, 1}, PARLEY_OK},
        {{6, 10, 4}, 32 * 12 * 4, {6, 10, 4}, 3, {PL_FORM_TRANSPOSED, 2}, PARLEY_OK}, /* 20 rows of 2 taps */
        {{6, 10, 4}, 48 * 6 * 4, {6, 10, 4}, 3, {PL_FORM_TRANSPOSED, 4}, PARLEY_OK},  /* 40 rows of one */
        {{6, 10, 4}, 48 * 6 * 4, {6, 10, 4}, 3, {PL_FORM_TRANSPOSED, 2}, PARLEY_SHAPE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_source *source;
        pl_container container;
        pl_findings findings = {0};
        pl_tensor out = {0};
        open_packed(rows[i].stored, rows[i].bytes, &source, &container);
        pl_catalogue_take(&findings, pl_container_find(&container, "t"), rows[i].shape, rows[i].rank, rows[i].use, &out);
        if (findings.status != rows[i].status || (out.data != NULL) != (rows[i].status == PARLEY_OK) || (out.data && !out.packed))
            fail_msg("row %zu: %d, %s", i, (int)findings.status, findings.text);
        pl_container_close(&container);
        pl_source_close(source);
    }
}

/* Files hold panels: another layout needs another PL_PACK_VERSION, and then other digests here. */
static void panels_are_those_of_layout_1(void **state)
{
    (void)state;
    static const struct {
        pl_type type;
        uint8_t digest[4];
    } rows[] = {{PL_F32, {0xA4, 0x80, 0x4B, 0xE7}},  {PL_F16, {0xED, 0xFB, 0x64, 0xA6}},  {PL_BF16, {0xCF, 0xC3, 0x3B, 0x64}},
                {PL_Q8_0, {0xC5, 0x51, 0xFD, 0x70}}, {PL_Q4_0, {0x5D, 0x55, 0x75, 0xDE}}, {PL_Q4_K, {0x25, 0x08, 0xF0, 0x8F}},
                {PL_Q6_K, {0xFC, 0x29, 0x23, 0x94}}};
    enum { ROWS = 20, COLS = 256 };
    test_random r = {31};
    float values[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        values[i] = test_float(&r, 1.0f);
    assert_int_equal(PL_PACK_VERSION, 1);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint8_t source[ROWS * COLS * 4], panels[2 * PL_PANEL * COLS * 4], digest[PL_HASH_SIZE];
        pl_matrix matrix = {.type = rows[k].type, .rows = ROWS, .cols = COLS, .panel_bytes = pl_panel_bytes(rows[k].type, COLS)};
        const pl_pack_map map = {.outer = ROWS, .stride_o = COLS, .taps = 1, .width = COLS, .stride_c = 1};
        pl_encode(rows[k].type, values, ROWS * COLS, source);
        pl_pack(&matrix, panels, rows[k].type, source, &map, 0, 2);
        pl_hash_of(panels, 2 * matrix.panel_bytes, digest);
        if (memcmp(digest, rows[k].digest, sizeof rows[k].digest) != 0)
            fail_msg("%s: {0x%02X, 0x%02X, 0x%02X, 0x%02X}", pl_type_info(rows[k].type)->name, digest[0], digest[1], digest[2], digest[3]);
    }
}

/* Bytes and bits of the head and the tokenizer anywhere: an error, or a model that opens. */
static void damaged_heads(void **state)
{
    (void)state;
    static const char *const checkpoints[] = {"models/tts_a_custom", "models/asr_a", "models/align_a", "gguf_llama_tts_l"};
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
        cmocka_unit_test(changed_keys),           cmocka_unit_test(panels_must_fit_their_use),  cmocka_unit_test(panels_are_those_of_layout_1),
        cmocka_unit_test(damaged_heads),          cmocka_unit_test(unaligned_files_open),       cmocka_unit_test(a_second_time_gives_the_same_bytes),
        cmocka_unit_test(threads_change_nothing), cmocka_unit_test(writing_ends_with_the_sink), cmocka_unit_test(rules_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
