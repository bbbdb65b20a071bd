#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "weights/container.h"
#include "weights_files.h"

#include <string.h>

typedef struct model {
    pl_source *source;
    pl_container container;
} model;

static void open_path(model *m, const char *path, const char *gguf)
{
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, path, &m->source, &error), PARLEY_OK);
    parley_status status =
        gguf ? pl_gguf_open(NULL, m->source, gguf, &m->container, &error) : pl_safetensors_open(NULL, m->source, "", &m->container, &error);
    if (status != PARLEY_OK)
        fail_msg("%s", error.text);
}

/* The status of opening files in memory; a container that opens stays in `m`. */
static parley_status open_memory(model *m, const parley_memory_file *files, size_t n, bool gguf, parley_error *error)
{
    *error = (parley_error){0};
    assert_int_equal(pl_source_open_memory(NULL, files, n, &m->source, error), PARLEY_OK);
    parley_status status =
        gguf ? pl_gguf_open(NULL, m->source, files[0].name, &m->container, error) : pl_safetensors_open(NULL, m->source, "", &m->container, error);
    if (status != PARLEY_OK)
        pl_source_close(m->source);
    return status;
}

static void close_model(model *m)
{
    pl_container_close(&m->container);
    pl_source_close(m->source);
}

typedef struct known {
    const char *name;
    pl_type type;
    int rank;
    int64_t shape[PL_MAX_RANK];
    uint64_t position;
    uint8_t first[8], last[4];
} known;

static void expect_tensors(const pl_container *c, const known *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const pl_entry *entry = pl_container_find(c, rows[i].name);
        assert_non_null(entry);
        assert_string_equal(entry->name, rows[i].name);
        assert_int_equal(entry->tensor.type, rows[i].type);
        assert_int_equal(entry->tensor.rank, rows[i].rank);
        for (int d = 0; d < rows[i].rank; d++)
            assert_int_equal(entry->tensor.shape[d], rows[i].shape[d]);
        assert_int_equal(entry->tensor.bytes, pl_row_bytes(entry->tensor.type, pl_tensor_values(&entry->tensor)));
        assert_int_equal(entry->position, rows[i].position);
        const uint8_t *data = entry->tensor.data;
        assert_memory_equal(data, rows[i].first, sizeof rows[i].first);
        assert_memory_equal(data + entry->tensor.bytes - 4, rows[i].last, sizeof rows[i].last);
        assert_int_equal(pl_first_not_finite(&entry->tensor), -1);
        assert_false(entry->used);
    }
}

/* ------------------------------------------------------------------ safetensors */

static void test_safetensors_file(void **state)
{
    (void)state;
    static const known rows[] = {
        {"talker.code_predictor.lm_head.0.weight",
         PL_BF16,
         2,
         {64, 32},
         10696,
         {0x12, 0x3f, 0xd1, 0x3e, 0x36, 0x3f, 0xe6, 0x3e},
         {0xf7, 0xbd, 0xcb, 0xbd}},
        {"talker.model.layers.1.self_attn.q_proj.weight",
         PL_BF16,
         2,
         {192, 32},
         476680,
         {0x37, 0x3e, 0x24, 0xbe, 0xcc, 0xbd, 0x1e, 0xbe},
         {0x66, 0x3e, 0x9d, 0xbd}},
        {"talker.text_projection.linear_fc2.weight",
         PL_BF16,
         2,
         {32, 64},
         640520,
         {0x08, 0x3e, 0x9a, 0xbe, 0xd5, 0xba, 0x1c, 0xbe},
         {0xe2, 0xbc, 0x40, 0x3e}},
    };
    model m;
    open_path(&m, TEST_DATA "/models/tts_a_custom", NULL);
    assert_string_equal(m.container.format, "safetensors");
    assert_string_equal(m.container.file, "model.safetensors");
    assert_int_equal(m.container.n_entries, 94);
    assert_int_equal(m.container.file_bytes, 644616);
    assert_string_equal(m.container.entries[0].name, rows[0].name);
    assert_string_equal(m.container.entries[0].stored, "BF16");
    expect_tensors(&m.container, rows, sizeof rows / sizeof *rows);
    assert_null(pl_container_find(&m.container, "talker.code_predictor.lm_head.0"));
    assert_null(pl_container_find(&m.container, ""));
    assert_null(pl_container_find(&m.container, "__metadata__"));
    close_model(&m);
}

static void test_safetensors_folder(void **state)
{
    (void)state;
    static const known rows[] = {
        {"decoder.decoder.2.block.3.conv2.conv.weight",
         PL_F32,
         3,
         {4, 4, 1},
         64752,
         {0xa6, 0x61, 0xab, 0xbc, 0x9d, 0xb1, 0x17, 0x3e},
         {0x0f, 0xa0, 0x6b, 0xbe}},
        {"decoder.decoder.2.block.4.act1.alpha", PL_F32, 1, {4}, 64816, {0x74, 0x7c, 0x7b, 0xbe, 0x2d, 0x06, 0x12, 0xbf}, {0x4d, 0x85, 0xb1, 0xbe}},
    };
    model m;
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, TEST_DATA "/models/tts_a_custom", &m.source, &error), PARLEY_OK);
    assert_int_equal(pl_safetensors_open(NULL, m.source, "speech_tokenizer/", &m.container, &error), PARLEY_OK);
    assert_int_equal(m.container.n_entries, 290);
    assert_string_equal(m.container.entries[0].file, "speech_tokenizer/model.safetensors");
    expect_tensors(&m.container, rows, sizeof rows / sizeof *rows);
    close_model(&m);
    assert_int_equal(pl_source_open(NULL, TEST_DATA "/models/tts_a_custom", &m.source, &error), PARLEY_OK);
    assert_int_equal(pl_safetensors_open(NULL, m.source, "absent/", &m.container, &error), PARLEY_MISSING);
    pl_source_close(m.source);
}

#define ENTRY(name, dtype, shape, offsets) "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define MAP(...)                           "{\"metadata\":{},\"weight_map\":{" __VA_ARGS__ "}}"

/* Three shards that are not in the order of their names, all in a folder. */
static void test_shards(void **state)
{
    (void)state;
    static const char map[] = MAP("\"c\":\"w-3\",\"a\":\"w-1\",\"b\":\"w-2\",\"b2\":\"w-2\"");
    static made_file made[3];
    make_safetensors(&made[0], "{" ENTRY("a", "F32", "[2]", "[0,8]") "}", 8);
    make_safetensors(&made[1], "{" ENTRY("b", "BF16", "[1,2,1]", "[4,8]") "," ENTRY("b2", "F16", "[2]", "[0,4]") "}", 8);
    make_safetensors(&made[2], "{\"__metadata__\":{\"format\":\"pt\"}," ENTRY("c", "I32", "[]", "[0,4]") "} ", 4);
    const parley_memory_file files[] = {{"model.safetensors.index.json", map, strlen(map)},
                                        {"w-1", made[0].bytes, made[0].size},
                                        {"w-2", made[1].bytes, made[1].size},
                                        {"w-3", made[2].bytes, made[2].size}};
    model m;
    parley_error error;
    assert_int_equal(open_memory(&m, files, 4, false, &error), PARLEY_OK);
    const pl_container *c = &m.container;
    assert_int_equal(c->n_entries, 4);
    assert_int_equal(c->file_bytes, files[0].size + files[1].size + files[2].size + files[3].size);
    assert_string_equal(c->file, "w-3");
    assert_string_equal(pl_container_find(c, "b2")->file, "w-2");
    assert_int_equal(pl_container_find(c, "b")->tensor.rank, 3);
    assert_memory_equal(pl_container_find(c, "b")->tensor.data, "\4\5\6\7", 4);
    assert_int_equal(pl_container_find(c, "c")->tensor.rank, 0);
    assert_int_equal(pl_container_find(c, "c")->tensor.bytes, 4);
    close_model(&m);
    for (size_t n = 1; n < 4; n++)
        assert_int_equal(open_memory(&m, files, n, false, &error), PARLEY_MISSING);
}

/* The same name in two shards. */
static void test_shards_twice(void **state)
{
    (void)state;
    static const char map[] = MAP("\"a\":\"w-1\",\"b\":\"w-2\"");
    made_file first, second;
    make_safetensors(&first, "{" ENTRY("a", "F32", "[2]", "[0,8]") "}", 8);
    make_safetensors(&second, "{" ENTRY("a", "F32", "[2]", "[0,8]") "," ENTRY("b", "F32", "[1]", "[8,12]") "}", 12);
    const parley_memory_file files[] = {
        {"model.safetensors.index.json", map, strlen(map)}, {"w-1", first.bytes, first.size}, {"w-2", second.bytes, second.size}};
    model m;
    parley_error error;
    assert_int_equal(open_memory(&m, files, 3, false, &error), PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "twice"));
}

static void test_indices(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        parley_status status;
    } rows[] = {
        {MAP("\"a\":\"w\""), PARLEY_OK},
        {" { \"weight_map\" : { \"\\u0061\" : \"\\u0077\" } , \"x\" : [ [ ] ] } \n", PARLEY_OK},
        {MAP("\"a\":\"w\",\"b\":\"w\""), PARLEY_MISSING},
        {MAP("\"a\":\"v\""), PARLEY_MISSING},
        {MAP(""), PARLEY_MISSING},
        {MAP("\"a\":\"../w\""), PARLEY_FORMAT},
        {MAP("\"a\":\"/w\""), PARLEY_FORMAT},
        {MAP("\"a\":\"sub/w\""), PARLEY_FORMAT},
        {MAP("\"a\":\"..\""), PARLEY_FORMAT},
        {MAP("\"a\":\"\""), PARLEY_FORMAT},
        {MAP("\"a\":\"w\\u0000\""), PARLEY_FORMAT},
        {MAP("\"a\":null"), PARLEY_FORMAT},
        {MAP("\"a\":\"w\","), PARLEY_FORMAT},
        {"{\"weight_map\":{\"a\":\"w\"},\"weight_map\":{\"a\":\"w\"}}", PARLEY_FORMAT},
        {"{\"weight_map\":[]}", PARLEY_FORMAT},
        {"{}", PARLEY_FORMAT},
        {"", PARLEY_FORMAT},
        {"[]", PARLEY_FORMAT},
        {MAP("\"a\":\"w\"") "x", PARLEY_FORMAT},
    };
    made_file shard;
    make_safetensors(&shard, "{" ENTRY("a", "F32", "[2]", "[0,8]") "}", 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const parley_memory_file files[] = {{"model.safetensors.index.json", rows[i].index, strlen(rows[i].index)}, {"w", shard.bytes, shard.size}};
        model m;
        parley_error error;
        assert_int_equal(open_memory(&m, files, 2, false, &error), rows[i].status);
        if (rows[i].status == PARLEY_OK)
            close_model(&m);
    }
}

/* 40 bytes of data behind each header. */
static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        parley_status status;
        const char *text; /* in the message */
    } rows[] = {
        {"{}", PARLEY_OK, ""},
        {"{\"__metadata__\":{}}  \n", PARLEY_OK, ""},
        {"{" ENTRY("a", "F32", "[2]", "[0,8]") "," ENTRY("b", "F16", "[2]", "[36,40]") "}", PARLEY_OK, ""},
        {"{" ENTRY("a", "F32", "[0]", "[40,40]") "," ENTRY("b", "F32", "[3,0]", "[4,4]") "," ENTRY("c", "F32", "[2]", "[0,8]") "}", PARLEY_OK, ""},
        {"{" ENTRY("a\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00", "F32", "[2]", "[1,9]") "}", PARLEY_OK, ""},
        {"{\"a\":{\"new\":[{}],\"shape\":[2],\"data_offsets\":[0,8],\"dtype\":\"F32\"}}", PARLEY_OK, ""},
        {"{" ENTRY("a", "F32", "[2]", "[0,8]") "," ENTRY("\\u0061", "F32", "[2]", "[8,16]") "}", PARLEY_FORMAT, "twice"},
        {"{" ENTRY("a", "F32", "[2]", "[0,8]") "," ENTRY("b", "F32", "[2]", "[4,12]") "}", PARLEY_FORMAT, "share"},
        {"{" ENTRY("a", "F32", "[2]", "[33,41]") "}", PARLEY_FORMAT, "data_offsets"},
        {"{" ENTRY("a", "F32", "[2]", "[8,0]") "}", PARLEY_FORMAT, "data_offsets"},
        {"{" ENTRY("a", "F32", "[2]", "[0,7]") "}", PARLEY_FORMAT, "bytes"},
        {"{" ENTRY("a", "F4", "[3]", "[0,1]") "}", PARLEY_FORMAT, "'a'"},
        {"{" ENTRY("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", PARLEY_FORMAT, "'a'"},
        {"{" ENTRY("a", "F32", "[9223372036854775808]", "[0,0]") "}", PARLEY_FORMAT, "2^63"},
        {"{" ENTRY("a", "F32", "[18446744073709551616]", "[0,0]") "}", PARLEY_FORMAT, "whole number"},
        {"{" ENTRY("a", "F32", "[02]", "[0,8]") "}", PARLEY_FORMAT, "expected at byte"},
        {"{" ENTRY("a", "F32", "[1,1,1,1,2]", "[0,8]") "}", PARLEY_UNSUPPORTED, "4 axes"},
        {"{" ENTRY("a", "Q7", "[2]", "[0,8]") "}", PARLEY_UNSUPPORTED, "Q7"},
        {"{" ENTRY("a", "f32", "[2]", "[0,8]") "}", PARLEY_UNSUPPORTED, "f32"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", PARLEY_FORMAT, "twice"},
        {"{" ENTRY("a\\u0000", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "zero"},
        {"{" ENTRY("\\ud83d", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "escape"},
        {"{" ENTRY("\\udc00", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "escape"},
        {"{" ENTRY("\\x", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "escape"},
        {"{" ENTRY("\xed\xa0\x80", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "UTF-8"},
        {"{" ENTRY("\xc0\xaf", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "UTF-8"},
        {"{" ENTRY("a\n", "F32", "[2]", "[0,8]") "}", PARLEY_FORMAT, "quote"},
        {"{" ENTRY("a", "F32", "[2]", "[0,8]") ",}", PARLEY_FORMAT, "'\"'"},
        {"{\"__metadata__\":{\"x\":01}}", PARLEY_FORMAT, "value"},
        {"{\"__metadata__\":{\"x\":1.}}", PARLEY_FORMAT, "value"},
        {"{\"__metadata__\":{\"x\":tru}}", PARLEY_FORMAT, "value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made_file f;
        model m;
        parley_error error;
        make_safetensors(&f, rows[i].header, 40);
        const parley_memory_file file = {"model.safetensors", f.bytes, f.size};
        assert_int_equal(open_memory(&m, &file, 1, false, &error), rows[i].status);
        if (!strstr(error.text, rows[i].text))
            fail_msg("row %zu: %s", i, error.text);
        if (rows[i].status == PARLEY_OK)
            close_model(&m);
    }
}

static void test_names_and_types(void **state)
{
    (void)state;
    made_file f;
    model m;
    parley_error error;
    make_safetensors(&f, "{" ENTRY("\\\"\\u00fC\\ud83d\\ude00", "I64", "[2]", "[0,16]") "," ENTRY("b", "BOOL", "[3]", "[16,19]") "}", 19);
    const parley_memory_file file = {"model.safetensors", f.bytes, f.size};
    assert_int_equal(open_memory(&m, &file, 1, false, &error), PARLEY_OK);
    const pl_entry *entry = pl_container_find(&m.container, "\"\xc3\xbc\xf0\x9f\x98\x80");
    assert_non_null(entry);
    assert_int_equal(entry->tensor.type, PL_OTHER);
    assert_int_equal(entry->tensor.shape[0], 2);
    assert_int_equal(entry->tensor.bytes, 16);
    assert_string_equal(entry->stored, "I64");
    assert_string_equal(pl_container_find(&m.container, "b")->stored, "BOOL");
    close_model(&m);
}

/* ------------------------------------------------------------------ GGUF */

static void test_gguf_tensors(void **state)
{
    (void)state;
    static const known rows[] = {
        {"code_pred.lm_head.0.weight", PL_Q8_0, 2, {64, 32}, 20992, {0x91, 0x24, 0x20, 0x17, 0x28, 0x19, 0xe4, 0x6b}, {0x3e, 0x22, 0xee, 0xf2}},
        {"talker.blk.1.attn_q.weight", PL_Q8_0, 2, {192, 32}, 270144, {0x95, 0x1a, 0x38, 0xce, 0xe1, 0xd0, 0x35, 0xf0}, {0x60, 0xec, 0x6b, 0xdb}},
        {"talker.text_proj.fc2.bias", PL_F32, 1, {32}, 357824, {0x00, 0x00, 0x27, 0x3e, 0x00, 0x00, 0xae, 0x3d}, {0x00, 0x00, 0x05, 0xbd}},
    };
    model m;
    open_path(&m, TEST_DATA "/gguf_qwentts_a_custom/talker-q8_0.gguf", "talker-q8_0.gguf");
    assert_string_equal(m.container.format, "gguf");
    assert_string_equal(m.container.file, "talker-q8_0.gguf");
    assert_int_equal(m.container.n_entries, 94);
    assert_int_equal(m.container.n_values, 65);
    assert_int_equal(m.container.file_bytes, 360128);
    assert_string_equal(m.container.entries[0].stored, "Q8_0");
    expect_tensors(&m.container, rows, sizeof rows / sizeof *rows);
    close_model(&m);
}

/* The exact pair holds the same BF16 numbers as the upstream directory. */
static void test_gguf_equals_upstream(void **state)
{
    (void)state;
    model gguf, upstream;
    open_path(&gguf, TEST_DATA "/gguf_qwentts_a_custom/talker-bf16.gguf", "talker-bf16.gguf");
    open_path(&upstream, TEST_DATA "/models/tts_a_custom", NULL);
    const pl_entry *a = pl_container_find(&gguf.container, "talker.blk.1.attn_q.weight");
    const pl_entry *b = pl_container_find(&upstream.container, "talker.model.layers.1.self_attn.q_proj.weight");
    assert_int_equal(a->tensor.type, b->tensor.type);
    assert_int_equal(a->tensor.bytes, b->tensor.bytes);
    assert_memory_equal(a->tensor.shape, b->tensor.shape, sizeof a->tensor.shape);
    assert_memory_equal(a->tensor.data, b->tensor.data, a->tensor.bytes);
    close_model(&gguf);
    close_model(&upstream);
}

static void expect_text(pl_gguf_text text, const char *expected)
{
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.text, expected, text.length);
}

static void test_gguf_keys(void **state)
{
    (void)state;
    model m;
    open_path(&m, TEST_DATA "/gguf_qwentts_a_custom/talker-q8_0.gguf", "talker-q8_0.gguf");
    const pl_container *c = &m.container;
    parley_error error = {0};
    parley_status status;
    int64_t whole;
    double real;
    bool flag = false;
    pl_gguf_text text;
    assert_true(pl_gguf_int(c, "qwen3-tts.talker.vocab_size", &whole, &status, &error));
    assert_int_equal(whole, 1088);
    assert_true(pl_gguf_float(c, "qwen3-tts.talker.rope.freq_base", &real, &status, &error));
    assert_true(real == 1e6);
    assert_true(pl_gguf_bool(c, "generation.do_sample", &flag, &status, &error));
    assert_true(flag);
    assert_true(pl_gguf_string(c, "general.name", &text, &status, &error));
    expect_text(text, "Qwen3-TTS-12Hz-0.6B-custom_voice");
    assert_false(pl_gguf_int(c, "qwen3-tts.absent", &whole, &status, &error));
    assert_int_equal(status, PARLEY_OK);
    assert_int_equal(error.status, PARLEY_OK);
    assert_false(pl_gguf_int(c, "general.name", &whole, &status, &error));
    assert_int_equal(status, PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "general.name"));
    close_model(&m);
}

static void test_gguf_arrays(void **state)
{
    (void)state;
    static const char *const speakers[] = {"serena", "ryan"};
    model m;
    open_path(&m, TEST_DATA "/gguf_qwentts_a_custom/talker-q8_0.gguf", "talker-q8_0.gguf");
    const pl_container *c = &m.container;
    parley_error error = {0};
    parley_status status;
    pl_arena arena;
    int64_t *ids;
    pl_gguf_text *texts;
    size_t n;
    pl_arena_init(&arena, NULL, 4096);
    assert_true(pl_gguf_ints(c, "qwen3-tts.codec.speaker_ids", 5, &ids, &n, &arena, &status, &error));
    assert_int_equal(n, 5);
    assert_int_equal(ids[0], 0x43A);
    assert_int_equal(ids[4], 0x37E);
    assert_true(pl_gguf_strings(c, "qwen3-tts.codec.speaker_names", &texts, &n, &arena, &status, &error));
    assert_int_equal(n, 5);
    expect_text(texts[0], speakers[0]);
    expect_text(texts[1], speakers[1]);
    assert_true(pl_gguf_strings(c, "qwen3-tts.codec.speaker_dialects", &texts, &n, &arena, &status, &error));
    expect_text(texts[0], "");
    assert_true(pl_gguf_strings(c, "tokenizer.ggml.tokens", &texts, &n, &arena, &status, &error));
    assert_int_equal(n, 533);
    expect_text(texts[0], "!");
    assert_true(pl_gguf_strings(c, "tokenizer.ggml.merges", &texts, &n, &arena, &status, &error));
    assert_int_equal(n, 242);
    expect_text(texts[0], "\xc4\xa0 \xc4\xa0");
    assert_false(pl_gguf_strings(c, "tokenizer.ggml.token_type", &texts, &n, &arena, &status, &error));
    assert_int_equal(status, PARLEY_FORMAT);
    size_t used = arena.used;
    assert_false(pl_gguf_ints(c, "qwen3-tts.codec.speaker_ids", 4, &ids, &n, &arena, &status, &error));
    assert_int_equal(status, PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "5 items, at most 4"));
    assert_int_equal(arena.used, used);
    assert_false(pl_gguf_ints(c, "tokenizer.ggml.merges", 9, &ids, &n, &arena, &status, &error));
    assert_int_equal(status, PARLEY_FORMAT);
    pl_arena_free(&arena);
    close_model(&m);
}

static void count_key(void *context, pl_gguf_text rest, const char *key)
{
    size_t *seen = context;
    assert_int_equal(strncmp(key, "generation.", 11), 0);
    assert_ptr_equal(rest.text, key + 11);
    assert_int_equal(rest.length, strlen(key) - 11);
    ++*seen;
}

static void test_gguf_each(void **state)
{
    (void)state;
    model m;
    size_t seen = 0;
    open_path(&m, TEST_DATA "/gguf_qwentts_a_custom/talker-q8_0.gguf", "talker-q8_0.gguf");
    pl_gguf_each(&m.container, "generation.", count_key, &seen);
    assert_int_equal(seen, 10);
    pl_gguf_each(&m.container, "nothing.", count_key, &seen);
    assert_int_equal(seen, 10);
    close_model(&m);
}

/* All value types of the made file: k.a is u8 40, k.b i8 -1, and so on. */
static void test_gguf_types(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        bool whole, real, flag;
        int64_t value;
    } rows[] = {
        {"k.a", true, false, false, 40}, {"k.b", true, false, false, -1}, {"k.c", true, false, false, 42}, {"k.d", true, false, false, -1},
        {"k.e", true, false, false, 44}, {"k.f", true, false, false, -1}, {"k.g", false, true, false, 0},  {"k.h", false, false, true, 1},
        {"k.i", false, false, false, 0}, {"k.j", false, false, false, 0}, {"k.k", true, false, false, 50}, {"k.l", true, false, false, 51},
        {"k.m", false, true, false, 0},
    };
    made_file f;
    model m;
    parley_error error;
    make_gguf(&f);
    const parley_memory_file file = {"any name", f.bytes, f.size};
    assert_int_equal(open_memory(&m, &file, 1, true, &error), PARLEY_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t whole = 0;
        double real = 0;
        bool flag = false;
        parley_status status;
        assert_int_equal(pl_gguf_int(&m.container, rows[i].key, &whole, &status, &error), rows[i].whole);
        assert_int_equal(status, rows[i].whole ? PARLEY_OK : PARLEY_FORMAT);
        assert_int_equal(whole, rows[i].whole ? rows[i].value : 0);
        assert_int_equal(pl_gguf_float(&m.container, rows[i].key, &real, &status, &error), rows[i].real);
        assert_int_equal(pl_gguf_bool(&m.container, rows[i].key, &flag, &status, &error), rows[i].flag);
        assert_int_equal(flag, rows[i].flag);
        assert_true(!rows[i].real || real == (rows[i].key[2] == 'g' ? 1.5 : -2.5));
    }
    close_model(&m);
}

/* Version, alignment and layout of a file with one tensor of `bytes` at `offset`, `padding` bytes from the header's end rounded up to 32. */
static parley_status open_one(uint32_t version, uint32_t rank, const uint64_t *ne, uint32_t type, uint64_t offset, size_t bytes, parley_error *error)
{
    made_file f;
    model m;
    put_head(&f, version, 1, 0);
    put_tensor(&f, "w", rank, ne, type, offset);
    put_padding(&f, 32);
    while (bytes-- > 0)
        put(&f, "", 1);
    const parley_memory_file file = {"f", f.bytes, f.size};
    parley_status status = open_memory(&m, &file, 1, true, error);
    if (status == PARLEY_OK)
        close_model(&m);
    return status;
}

static void test_gguf_layout(void **state)
{
    (void)state;
    static const struct {
        uint32_t version, rank;
        uint64_t ne[4];
        uint32_t type;
        uint64_t offset;
        size_t bytes;
        parley_status status;
        const char *text;
    } rows[] = {
        {3, 1, {4}, 0, 0, 16, PARLEY_OK, ""},
        {2, 1, {4}, 0, 0, 16, PARLEY_OK, ""},
        {3, 4, {256, 1, 1, 2}, 12, 32, 320, PARLEY_OK, ""},
        {1, 1, {4}, 0, 0, 16, PARLEY_UNSUPPORTED, "version 1"},
        {0x03000000, 1, {4}, 0, 0, 16, PARLEY_UNSUPPORTED, "big-endian"},
        {0x02000000, 1, {4}, 0, 0, 16, PARLEY_UNSUPPORTED, "big-endian"},
        {3, 1, {4}, 0, 0, 15, PARLEY_FORMAT, "after the file"},
        {3, 1, {4}, 0, 16, 64, PARLEY_FORMAT, "multiple of 32"},
        {3, 1, {4}, 0, UINT64_MAX - 31, 16, PARLEY_FORMAT, "after the file"},
        {3, 1, {128}, 12, 0, 144, PARLEY_FORMAT, "Q4_K"},
        {3, 2, {16, 2}, 8, 0, 34, PARLEY_FORMAT, "Q8_0"},
        {3, 1, {4}, 24, 0, 4, PARLEY_OK, ""},
        {3, 1, {4}, 25, 0, 16, PARLEY_UNSUPPORTED, "I16 (number 25)"},
        {3, 1, {4}, 26, 0, 16, PARLEY_UNSUPPORTED, "I32 (number 26)"},
        {3, 1, {4}, 28, 0, 32, PARLEY_UNSUPPORTED, "F64 (number 28)"},
        {3, 1, {4}, 5, 0, 16, PARLEY_UNSUPPORTED, "number 5"},
        {3, 0, {4}, 0, 0, 16, PARLEY_FORMAT, "0 axes"},
        {3, 3, {UINT64_C(1) << 32, UINT64_C(1) << 31, 2}, 0, 0, 16, PARLEY_FORMAT, "'w'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parley_error error;
        assert_int_equal(open_one(rows[i].version, rows[i].rank, rows[i].ne, rows[i].type, rows[i].offset, rows[i].bytes, &error), rows[i].status);
        assert_non_null(strstr(error.text, rows[i].text));
    }
}

static void test_is_gguf(void **state)
{
    (void)state;
    assert_true(pl_is_gguf((pl_bytes){(const uint8_t *)"GGUFx", 5}));
    assert_false(pl_is_gguf((pl_bytes){(const uint8_t *)"GGUF", 3}));
    assert_false(pl_is_gguf((pl_bytes){(const uint8_t *)"GGML", 4}));
}

/* ------------------------------------------------------------------ finite values */

typedef struct poison {
    pl_type type;
    size_t at; /* of the number in the block */
    uint32_t bits[3];
    size_t size;
} poison;

/* In the second of three blocks, at an odd address: found at its first value; an ordinary number there is not. */
static void expect_found(const poison *p)
{
    uint8_t bytes[3 * 256 + 1] = {0};
    const pl_type_facts *facts = pl_type_info(p->type);
    pl_tensor t = {.type = p->type, .rank = 1, .shape = {3 * facts->values}, .data = bytes + 1, .bytes = 3 * (size_t)facts->bytes};
    assert_int_equal(pl_first_not_finite(&t), -1);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < p->size; i++)
            bytes[1 + (size_t)facts->bytes + p->at + i] = (uint8_t)(p->bits[k] >> (8 * i));
        assert_int_equal(pl_first_not_finite(&t), k < 2 ? facts->values : -1);
    }
}

static void test_not_finite(void **state)
{
    (void)state;
    static const poison rows[] = {
        {PL_F32, 0, {0x7F800000, 0xFFC00001, 0x7F7FFFFF}, 4},
        {PL_BF16, 0, {0x7F80, 0xFFC1, 0xFF7F}, 2},
        {PL_F16, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q8_0, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q4_0, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q4_1, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q4_1, 2, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q5_0, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q5_1, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q5_1, 2, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q2_K, 80, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q2_K, 82, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q3_K, 108, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q4_K, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q4_K, 2, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q5_K, 0, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q5_K, 2, {0x7C00, 0xFE01, 0xFBFF}, 2},
        {PL_Q6_K, 208, {0x7C00, 0xFE01, 0xFBFF}, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_found(&rows[i]);
}

static void test_finite_long(void **state)
{
    (void)state;
    enum { N = 10000 };
    float *values = calloc(N, sizeof *values);
    assert_non_null(values);
    pl_tensor t = {.type = PL_F32, .rank = 2, .shape = {N / 100, 100}, .data = values, .bytes = N * sizeof *values};
    static const int64_t places[] = {N - 1, 8192, 8191, 4096, 4095, 1, 0};
    assert_int_equal(pl_first_not_finite(&t), -1);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memcpy(&values[places[i]], "\0\0\x80\x7f", 4);
        assert_int_equal(pl_first_not_finite(&t), places[i]);
    }
    t.type = PL_I32;
    assert_int_equal(pl_first_not_finite(&t), -1);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_file),
        cmocka_unit_test(test_safetensors_folder),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_shards_twice),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_names_and_types),
        cmocka_unit_test(test_gguf_tensors),
        cmocka_unit_test(test_gguf_equals_upstream),
        cmocka_unit_test(test_gguf_keys),
        cmocka_unit_test(test_gguf_arrays),
        cmocka_unit_test(test_gguf_each),
        cmocka_unit_test(test_gguf_types),
        cmocka_unit_test(test_gguf_layout),
        cmocka_unit_test(test_is_gguf),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_finite_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
