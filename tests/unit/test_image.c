/* Tokenizers as bytes: what comes back tokenises alike, and no bytes lead outside or round in circles. */
#include "tokenizer_fixture.h"

#include "base/hash.h"
#include "support/random.h"
#include "text/image.h"

typedef struct image {
    uint8_t *bytes;
    size_t size;
} image;

static image image_of(const pl_tokenizer *tokenizer)
{
    image i = {.size = pl_tokenizer_image(tokenizer, NULL)};
    i.bytes = malloc(i.size);
    assert_non_null(i.bytes);
    assert_int_equal(pl_tokenizer_image(tokenizer, i.bytes), i.size);
    return i;
}

static pl_tokenizer *open_image(const image *i)
{
    pl_tokenizer *tokenizer = NULL;
    parley_error error = {0};
    if (pl_tokenizer_from_image(NULL, i->bytes, i->size, &tokenizer, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    return tokenizer;
}

static image small_image(void)
{
    vocabulary_files files = small_files();
    pl_tokenizer *tokenizer = open_files(files);
    image i = image_of(tokenizer);
    pl_tokenizer_close(tokenizer);
    free_files(files);
    return i;
}

static void vectors_hold(void **state)
{
    (void)state;
    vocabulary_files files = published_files();
    pl_tokenizer *built = open_files(files);
    image i = image_of(built);
    pl_tokenizer *read = open_image(&i);
    text_vectors v = read_vectors("tts_text/real.json");
    assert_int_equal(pl_tokenizer_size(read), pl_tokenizer_size(built));
    for (size_t k = 0; k < v.count; k++)
        expect_ids(read, v.items[k].text, true, PARLEY_SPLITTER_QWEN2, &v.items[k].lists[IDS]);
    for (int32_t id = 0; id < pl_tokenizer_size(built); id++) {
        pl_span a = pl_token_bytes(built, id), b = pl_token_bytes(read, id);
        assert_true(a.length == b.length && memcmp(a.text, b.text, a.length) == 0 && pl_token_is_special(built, id) == pl_token_is_special(read, id));
    }
    image again = image_of(read);
    assert_int_equal(again.size, i.size);
    assert_memory_equal(again.bytes, i.bytes, i.size);
    free(again.bytes);
    free_vectors(&v);
    pl_tokenizer_close(read);
    pl_tokenizer_close(built);
    free(i.bytes);
    free_files(files);
}

/* Files hold images: another hash or structure needs another PL_IMAGE_VERSION, and then another digest here. */
static void the_bytes_are_those_of_version_1(void **state)
{
    (void)state;
    static const uint8_t expected[4] = {0x93, 0xA1, 0xD5, 0x83};
    uint8_t digest[PL_HASH_SIZE];
    image i = small_image();
    pl_hash_of(i.bytes, i.size, digest);
    if (PL_IMAGE_VERSION != 1 || memcmp(digest, expected, sizeof expected) != 0)
        fail_msg("version %d, digest 0x%02x, 0x%02x, 0x%02x, 0x%02x", PL_IMAGE_VERSION, digest[0], digest[1], digest[2], digest[3]);
    free(i.bytes);
}

static void unaligned_bytes_are_copied(void **state)
{
    (void)state;
    image i = small_image();
    uint8_t *moved = malloc(i.size + 1);
    assert_non_null(moved);
    memcpy(moved + 1, i.bytes, i.size);
    image other = {moved + 1, i.size};
    pl_tokenizer *tokenizer = open_image(&other);
    memset(moved, 0, i.size + 1);
    assert_true(pl_tokenizer_find(tokenizer, (pl_span){"<|im_start|>", 12}) > 0);
    pl_tokenizer_close(tokenizer);
    free(moved);
    free(i.bytes);
}

/* Whatever opens must tokenise and go back to text. */
static bool survives(const image *i)
{
    static const char hello[] = "Hello, <|im_start|>world! \xE4\xBD\xA0\xE5\xA5\xBD 1234 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const pl_span text = {hello, sizeof hello - 1};
    pl_tokenizer *tokenizer = NULL;
    parley_error error = {0};
    parley_status status = pl_tokenizer_from_image(NULL, i->bytes, i->size, &tokenizer, &error);
    if (status != PARLEY_OK) {
        assert_true((status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED) && error.text[0] && !tokenizer);
        return false;
    }
    pl_ids ids = {.allocator = pl_default_allocator()};
    pl_arena arena;
    pl_span back;
    pl_arena_init(&arena, NULL, 4096);
    assert_int_equal(pl_tokenize(tokenizer, text, (pl_tokenize_options){true, PARLEY_SPLITTER_QWEN2}, &ids, &error), PARLEY_OK);
    assert_int_equal(pl_detokenize(&arena, tokenizer, ids.ids, ids.count, &back, &error), PARLEY_OK);
    pl_arena_free(&arena);
    pl_ids_free(&ids);
    pl_tokenizer_close(tokenizer);
    return true;
}

static void damaged_images_are_refused_or_work(void **state)
{
    (void)state;
    image i = small_image();
    test_random r = {5};
    int refused = 0;
    for (size_t size = 0; size < i.size; size += size < 64 ? 1 : 997) {
        image cut = {malloc(size + 1), size};
        assert_non_null(cut.bytes);
        memcpy(cut.bytes, i.bytes, size);
        assert_false(survives(&cut));
        free(cut.bytes);
    }
    for (int k = 0; k < 4000; k++) {
        size_t at = k < 32 ? (size_t)k : (size_t)test_below(&r, (int)i.size);
        uint8_t before = i.bytes[at];
        i.bytes[at] = (uint8_t)(before ^ (1 << test_below(&r, 8)));
        refused += !survives(&i);
        i.bytes[at] = before;
    }
    assert_true(refused > 400);
    assert_true(survives(&i));
    free(i.bytes);
}

/* A table without an empty slot would be searched for ever; a tree that bites its tail walked for ever. */
static void circles_are_refused(void **state)
{
    (void)state;
    image i = small_image();
    uint32_t head[8];
    memcpy(head, i.bytes, sizeof head);
    size_t by_bytes = sizeof head + ((size_t)head[2] + 1) * 4, merges = by_bytes + (size_t)head[4] * 4 + 1024;
    size_t nodes = merges + (size_t)head[5] * 16 + 1024;
    uint8_t *copy = malloc(i.size);
    assert_non_null(copy);
    image changed = {copy, i.size};
    memcpy(copy, i.bytes, i.size);
    memset(copy + by_bytes, 0, (size_t)head[4] * 4);
    assert_false(survives(&changed));
    memcpy(copy, i.bytes, i.size);
    memset(copy + merges, 0, (size_t)head[5] * 16);
    assert_false(survives(&changed));
    memcpy(copy, i.bytes, i.size);
    memcpy(copy + nodes + 2 * 16 + 4, (uint32_t[]){2}, 4); /* node 2 its own sibling */
    assert_false(survives(&changed));
    memcpy(copy, i.bytes, i.size);
    memcpy(copy + nodes + 2 * 16, (uint32_t[]){1}, 4); /* node 1 below node 2 */
    assert_false(survives(&changed));
    free(copy);
    free(i.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(the_bytes_are_those_of_version_1),
        cmocka_unit_test(unaligned_bytes_are_copied),
        cmocka_unit_test(damaged_images_are_refused_or_work),
        cmocka_unit_test(circles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
