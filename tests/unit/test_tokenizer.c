/* Text vectors of the reference, on the published vocabulary and on a small one. */
#include "tokenizer_fixture.h"

typedef struct fixture {
    vocabulary_files published_files, small_files;
    pl_tokenizer *published, *small;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f.published_files = published_files();
    f.small_files = small_files();
    f.published = open_files(f.published_files);
    f.small = open_files(f.small_files);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    pl_tokenizer_close(f->published);
    pl_tokenizer_close(f->small);
    free_files(f->published_files);
    free_files(f->small_files);
    return 0;
}

/* The list that says what text from strangers gives: bare, else plain, else ids. */
static const pl_ids *bare_of(const text_vector *v)
{
    for (int k = BARE; k > IDS; k--)
        if (v->lists[k].capacity)
            return &v->lists[k];
    return &v->lists[IDS];
}

/* `others`: where no list of the other splitter is given, it gives the same ids. */
static void check_vectors(const pl_tokenizer *tokenizer, const char *name, size_t count, bool others)
{
    text_vectors vectors = read_vectors(name);
    assert_int_equal(vectors.count, count);
    for (size_t i = 0; i < vectors.count; i++) {
        const text_vector *v = &vectors.items[i];
        assert_true(v->lists[IDS].capacity > 0);
        expect_ids(tokenizer, v->text, true, PARLEY_SPLITTER_QWEN2, &v->lists[IDS]);
        expect_ids(tokenizer, v->text, false, PARLEY_SPLITTER_QWEN2, bare_of(v));
        if (others)
            expect_ids(tokenizer, v->text, true, PARLEY_SPLITTER_MISTRAL, &v->lists[v->lists[OTHER].capacity ? OTHER : IDS]);
    }
    free_vectors(&vectors);
}

static void published_vectors(void **state)
{
    const fixture *f = *state;
    check_vectors(f->published, "tts_text/real.json", 233, true);
}

/* Nasty strings, read by Hugging Face tokenizers 0.22.2. */
static void extra_vectors(void **state)
{
    const fixture *f = *state;
    check_vectors(f->published, "tts_text/extra.json", 114, true);
}

static void small_vectors(void **state)
{
    const fixture *f = *state;
    check_vectors(f->small, "tts_text/small.json", 233, false);
}

/* A tokenizer that got everything wrong in the same way would pass above if the vectors were empty: the texts are those of the input list. */
static void vectors_are_the_texts(void **state)
{
    (void)state;
    text_vectors vectors = read_vectors("tts_text/real.json");
    pl_span file = read_data("tts_text/texts.json");
    pl_json json;
    pl_arena arena;
    pl_span text;
    bool first = true, more;
    pl_arena_init(&arena, NULL, 4096);
    assert_int_equal(pl_json_start(&json, "texts.json", file, &arena, NULL), PARLEY_OK);
    assert_int_equal(pl_json_enter(&json, '['), PARLEY_OK);
    for (size_t i = 0;; i++) {
        assert_int_equal(pl_json_next(&json, ']', &first, &more), PARLEY_OK);
        if (!more) {
            assert_int_equal(i, vectors.count);
            break;
        }
        assert_int_equal(pl_json_string(&json, &text), PARLEY_OK);
        assert_int_equal(text.length, vectors.items[i].text.length);
        assert_memory_equal(text.text, vectors.items[i].text.text, text.length);
    }
    pl_arena_free(&arena);
    free_span(file);
    free_vectors(&vectors);
}

/* ------------------------------------------------------------------ shapes that take quadratic time when done carelessly */

static pl_ids ids_of_run(const pl_tokenizer *tokenizer, const char *unit, size_t count, parley_splitter splitter)
{
    size_t length = strlen(unit);
    char *text = malloc(length * count);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * length, unit, length);
    pl_ids ids = ids_of(tokenizer, (pl_span){text, length * count}, true, splitter);
    free(text);
    return ids;
}

static void check_run(const pl_tokenizer *tokenizer, const char *unit, size_t count, size_t expected)
{
    for (int splitter = 0; splitter < 2; splitter++) {
        pl_ids ids = ids_of_run(tokenizer, unit, count, (parley_splitter)splitter);
        size_t bytes = 0;
        for (size_t i = 0; i < ids.count; i++)
            bytes += pl_token_bytes(tokenizer, ids.ids[i]).length;
        assert_int_equal(bytes, strlen(unit) * count);
        assert_int_equal(ids.count, expected);
        pl_ids_free(&ids);
    }
}

static void megabytes_of_one_thing(void **state)
{
    const fixture *f = *state;
    enum { MEGABYTE = 1 << 20 };
    check_run(f->published, "a", MEGABYTE, MEGABYTE / 8);   /* aaaaaaaa */
    check_run(f->published, " ", MEGABYTE, MEGABYTE / 128); /* 128 spaces a token */
    check_run(f->published, "7", MEGABYTE, MEGABYTE);       /* a digit a token */
    check_run(f->published, "\n", MEGABYTE, MEGABYTE / 32);
    check_run(f->published, "\xCC\x81", MEGABYTE / 2, MEGABYTE / 2);
    check_run(f->published, "<|im_en", MEGABYTE / 7, MEGABYTE / 7 * 4); /* never the whole of an added token */
}

/* The canonical order of a megabyte of marks, all of the higher class before all of the lower: 2^35 moves for an insertion sort. */
static void megabyte_of_marks_out_of_order(void **state)
{
    const fixture *f = *state;
    enum { EACH = 1 << 18 };
    char *text = malloc(4 * EACH);
    assert_non_null(text);
    for (size_t i = 0; i < 2 * EACH; i++)
        memcpy(text + 2 * i, i < EACH ? "\xCC\x81" : "\xCC\x96", 2);
    pl_ids ids = ids_of(f->published, (pl_span){text, 4 * EACH}, true, PARLEY_SPLITTER_QWEN2);
    pl_ids low = ids_of(f->published, (pl_span){text + 2 * EACH, 2 * EACH}, true, PARLEY_SPLITTER_QWEN2);
    assert_true(ids.count > low.count);
    assert_memory_equal(ids.ids, low.ids, 1000 * sizeof(int32_t));
    free(text);
    pl_ids_free(&ids);
    pl_ids_free(&low);
}

/* ------------------------------------------------------------------ malformed text, memory */

static void malformed_text_names_the_byte(void **state)
{
    const fixture *f = *state;
    static const struct {
        const char *text;
        size_t length, offset;
    } rows[] = {
        {"abc\x80", 4, 3},
        {"\xC3", 1, 0},
        {"12345678\xC0\x80", 10, 8},
        {"x\xE0\x9F\xBF", 4, 1},
        {"x\xED\xA0\x80", 4, 1},
        {"\xF0\x8F\xBF\xBF", 4, 0},
        {"\xF4\x90\x80\x80", 4, 0},
        {"a\0\xF5\x80\x80\x80", 6, 2},
        {"\xE4\xBD\xA0\xE4\xBD", 5, 3},
        {"<|im_end|>\xFF", 11, 10},
        {"\xC3\xA9\xFE", 3, 2},
        {"\xF0\x9F\x98", 3, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pl_ids ids = {.allocator = pl_default_allocator()};
        parley_error error = {0};
        assert_int_equal(pl_ids_push(&ids, 7, NULL), PARLEY_OK);
        pl_span text = {rows[i].text, rows[i].length};
        assert_int_equal(pl_tokenize(f->small, text, (pl_tokenize_options){true, PARLEY_SPLITTER_QWEN2}, &ids, &error), PARLEY_FORMAT);
        assert_int_equal(error.status, PARLEY_FORMAT);
        assert_int_equal(error.position, rows[i].offset);
        assert_int_equal(ids.count, 1);
        pl_ids_free(&ids);
    }
}

typedef struct failing {
    int left;
    size_t held;
} failing;

static void *failing_alloc(void *context, size_t size, size_t alignment)
{
    failing *f = context;
    void *memory = NULL;
    if (f->left-- <= 0 || posix_memalign(&memory, alignment, size))
        return NULL;
    f->held += size;
    return memory;
}

static void failing_release(void *context, void *memory, size_t size)
{
    failing *f = context;
    f->held -= size;
    free(memory);
}

/* Every allocation fails once: MEMORY, nothing kept, and in the end it works. */
static void every_allocation_may_fail(void **state)
{
    const fixture *f = *state;
    static const char text[] = "e\xCC\x81\xCC\x96 a long-ish text <|im_end|> ======================================================";
    for (int n = 0;; n++) {
        failing memory = {n, 0};
        parley_allocator allocator = {failing_alloc, failing_release, &memory};
        pl_ids ids = {.allocator = allocator};
        parley_error error = {0};
        pl_tokenizer *tokenizer = NULL;
        parley_status status = pl_tokenizer_parse(&allocator, f->small_files.vocab, f->small_files.merges, f->small_files.config, &tokenizer, &error);
        if (status == PARLEY_OK) {
            status = pl_tokenize(tokenizer, (pl_span){text, sizeof text - 1}, (pl_tokenize_options){true, PARLEY_SPLITTER_QWEN2}, &ids, &error);
            pl_tokenizer_close(tokenizer);
        }
        pl_ids_free(&ids);
        assert_int_equal(memory.held, 0);
        if (status == PARLEY_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(status, PARLEY_MEMORY);
        assert_int_equal(error.status, PARLEY_MEMORY);
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(extra_vectors),
        cmocka_unit_test(small_vectors),
        cmocka_unit_test(vectors_are_the_texts),
        cmocka_unit_test(megabytes_of_one_thing),
        cmocka_unit_test(megabyte_of_marks_out_of_order),
        cmocka_unit_test(malformed_text_names_the_byte),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
