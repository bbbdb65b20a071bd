/* Building a vocabulary: from arrays as a GGUF file gives them, with merges put back, and what is refused and where. */
#include "tokenizer_fixture.h"

/* The published vocabulary as arrays of a GGUF file: 151,936 tokens, the added ones among them, holes behind. */
typedef struct arrays {
    vocabulary_files files;
    pl_tokenizer *parsed;
    pl_arena arena;
    pl_span *tokens, *merges;
    size_t n_tokens, n_merges;
    pl_added_token *added;
    size_t n_added;
} arrays;

enum { ROWS = 151936, BASE = 151643, ADDED = 33, MERGES = 151387 };

static void read_tokens(arrays *a)
{
    pl_json json;
    bool first = true, more;
    uint32_t id;
    assert_int_equal(pl_json_start(&json, "vocab.json", a->files.vocab, &a->arena, NULL), PARLEY_OK);
    assert_int_equal(pl_json_enter(&json, '{'), PARLEY_OK);
    for (pl_span key;;) {
        assert_int_equal(pl_json_next(&json, '}', &first, &more), PARLEY_OK);
        if (!more)
            break;
        assert_int_equal(pl_json_key(&json, &key), PARLEY_OK);
        assert_int_equal(pl_json_whole(&json, ROWS - 1, &id), PARLEY_OK);
        a->tokens[id] = key;
    }
    for (id = BASE; id < BASE + ADDED; id++) {
        a->tokens[id] = pl_token_bytes(a->parsed, (int32_t)id);
        a->added[a->n_added++] = (pl_added_token){(int32_t)id, a->tokens[id], true};
    }
    a->n_tokens = ROWS;
}

static void read_merges(arrays *a)
{
    const char *line = strchr(a->files.merges.text, '\n') + 1;
    for (; *line; line = strchr(line, '\n') + 1)
        a->merges[a->n_merges++] = (pl_span){line, (size_t)(strchr(line, '\n') - line)};
    assert_int_equal(a->n_merges, MERGES);
}

static int set_up(void **state)
{
    static arrays a;
    a.files = published_files();
    a.parsed = open_files(a.files);
    pl_arena_init(&a.arena, NULL, 1 << 16);
    a.tokens = PL_NEW_ARRAY(&a.arena, pl_span, ROWS);
    a.merges = PL_NEW_ARRAY(&a.arena, pl_span, MERGES + 1);
    a.added = PL_NEW_ARRAY(&a.arena, pl_added_token, ADDED);
    assert_true(a.tokens && a.merges && a.added);
    read_tokens(&a);
    read_merges(&a);
    *state = &a;
    return 0;
}

static int tear_down(void **state)
{
    arrays *a = *state;
    pl_tokenizer_close(a->parsed);
    pl_arena_free(&a->arena);
    free_files(a->files);
    return 0;
}

static pl_vocabulary as_vocabulary(const arrays *a)
{
    return (pl_vocabulary){a->tokens, a->n_tokens, a->merges, a->n_merges, a->added, a->n_added, false};
}

static pl_tokenizer *build(const pl_vocabulary *vocabulary)
{
    pl_tokenizer *tokenizer = NULL;
    parley_error error = {0};
    if (pl_tokenizer_build(NULL, vocabulary, &tokenizer, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    return tokenizer;
}

static void expect_same_merges(const pl_tokenizer *a, const pl_tokenizer *b)
{
    size_t count = 0;
    for (size_t i = 0; i <= a->merges.mask; i++) {
        const pl_merge *merge = &a->merges.slots[i];
        if (merge->product == UINT32_MAX)
            continue;
        const pl_merge *other = pl_merges_find(&b->merges, merge->left, merge->right);
        assert_non_null(other);
        assert_int_equal(other->rank, merge->rank);
        assert_int_equal(other->product, merge->product);
        count++;
    }
    assert_int_equal(count, MERGES);
}

static void expect_vectors(const pl_tokenizer *tokenizer)
{
    text_vectors vectors = read_vectors("tts_text/real.json");
    for (size_t i = 0; i < vectors.count; i++)
        expect_ids(tokenizer, vectors.items[i].text, true, PARLEY_SPLITTER_QWEN2, &vectors.items[i].lists[IDS]);
    free_vectors(&vectors);
}

static void arrays_give_the_same_ids(void **state)
{
    const arrays *a = *state;
    pl_vocabulary vocabulary = as_vocabulary(a);
    pl_tokenizer *tokenizer = build(&vocabulary);
    assert_int_equal(pl_tokenizer_size(tokenizer), ROWS);
    assert_int_equal(pl_token_bytes(tokenizer, ROWS - 1).length, 0);
    expect_same_merges(tokenizer, a->parsed);
    expect_vectors(tokenizer);
    pl_tokenizer_close(tokenizer);
}

/* Nothing is missing: nothing may change. */
static void repair_leaves_whole_merges_alone(void **state)
{
    const arrays *a = *state;
    pl_vocabulary vocabulary = as_vocabulary(a);
    vocabulary.repair_merges = true;
    pl_tokenizer *tokenizer = build(&vocabulary);
    expect_same_merges(tokenizer, a->parsed);
    pl_tokenizer_close(tokenizer);
}

static size_t drop_comments(const arrays *a, pl_span *kept)
{
    size_t count = 0;
    for (size_t i = 0; i < a->n_merges; i++)
        if (a->merges[i].text[0] != '#')
            kept[count++] = a->merges[i];
    assert_int_equal(count, 151291);
    return count;
}

static void repair_puts_back_96_merges(void **state)
{
    const arrays *a = *state;
    pl_vocabulary vocabulary = as_vocabulary(a);
    pl_span *kept = malloc(MERGES * sizeof *kept);
    assert_non_null(kept);
    vocabulary.merges = kept;
    vocabulary.n_merges = drop_comments(a, kept);
    pl_tokenizer *broken = build(&vocabulary);
    pl_ids ids = ids_of(broken, (pl_span){"####", 4}, true, PARLEY_SPLITTER_QWEN2);
    assert_int_equal(ids.count, 4); /* what the loss does */
    pl_ids_free(&ids);
    pl_tokenizer_close(broken);
    vocabulary.repair_merges = true;
    pl_tokenizer *repaired = build(&vocabulary);
    expect_same_merges(repaired, a->parsed);
    expect_same_merges(a->parsed, repaired);
    expect_vectors(repaired);
    pl_tokenizer_close(repaired);
    free(kept);
}

/* The same on the small vocabulary, whose '#' merges are its last but for some. */
static void repair_of_a_small_vocabulary(void **state)
{
    (void)state;
    vocabulary_files files = small_files();
    pl_tokenizer *whole = open_files(files);
    pl_span tokens[600] = {0}, merges[600];
    size_t n_merges = 0, dropped = 0;
    for (int32_t id = 0; id < 500; id++) { /* spelled again from the bytes */
        static char spellings[500][128];
        pl_span bytes = pl_token_bytes(whole, id);
        for (size_t i = 0; i < bytes.length; i++)
            for (uint32_t point = 33; point < 324; point++)
                if (pl_byte_of(point) == (unsigned char)bytes.text[i])
                    tokens[id].length += pl_utf8_put(point, spellings[id] + tokens[id].length);
        tokens[id].text = spellings[id];
    }
    for (const char *line = strchr(files.merges.text, '\n') + 1, *end; (end = strchr(line, '\n')); line = end + 1) {
        merges[n_merges] = (pl_span){line, (size_t)(end - line)};
        n_merges += line[0] != '#';
        dropped += line[0] == '#';
    }
    assert_true(dropped > 0);
    pl_vocabulary vocabulary = {.tokens = tokens, .n_tokens = 500, .merges = merges, .n_merges = n_merges, .repair_merges = true};
    pl_tokenizer *repaired = build(&vocabulary);
    for (size_t i = 0; i <= whole->merges.mask; i++) {
        const pl_merge *merge = &whole->merges.slots[i];
        if (merge->product == UINT32_MAX)
            continue;
        const pl_merge *other = pl_merges_find(&repaired->merges, merge->left, merge->right);
        assert_non_null(other);
        assert_int_equal(other->rank, merge->rank);
    }
    pl_tokenizer_close(repaired);
    pl_tokenizer_close(whole);
    free_files(files);
}

static void finding_tokens(void **state)
{
    const arrays *a = *state;
    static const struct {
        const char *spelling;
        int32_t id;
    } rows[] = {{"assistant", 77091},
                {"user", 872},
                {"\xC4\x8A", 198},
                {"\xC4\xA0", 220},
                {"<|im_start|>", 151644},
                {"<tts_text_bos_single>", 151674},
                {"<|audio_pad|>", 151675},
                {"!", 0},
                {"<|im_start|", -1},
                {"<|im_start|>x", -1},
                {"", -1},
                {" ", -1},
                {"\n", -1},
                {"qqqqzzzz", -1},
                {"\xC5\x84", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(pl_tokenizer_find(a->parsed, (pl_span){rows[i].spelling, strlen(rows[i].spelling)}), rows[i].id);
    char spelling[2 * 400];
    for (size_t i = 0; i < sizeof spelling; i += 2)
        memcpy(spelling + i, "\xC4\xA0", 2);
    assert_int_equal(pl_tokenizer_find(a->parsed, (pl_span){spelling, sizeof spelling}), -1);
    assert_true(pl_tokenizer_find(a->parsed, (pl_span){spelling, 2 * 128}) > 0);
    assert_int_equal(pl_tokenizer_size(a->parsed), 151676);
    for (int32_t id = 0; id < BASE; id++)
        assert_int_equal(pl_tokenizer_find(a->parsed, a->tokens[id]), id);
}

/* A token of 300 bytes is found by its spelling too, which takes the slow way. */
static void bytes_of_tokens(void **state)
{
    const arrays *a = *state;
    assert_int_equal(pl_token_bytes(a->parsed, 198).length, 1);
    assert_memory_equal(pl_token_bytes(a->parsed, 198).text, "\n", 1);
    assert_memory_equal(pl_token_bytes(a->parsed, 104307).text, "\xE5\xA4\xA9\xE6\xB0\x94", 6);
    assert_int_equal(pl_token_bytes(a->parsed, 151644).length, 12);
    assert_int_equal(pl_token_bytes(a->parsed, -1).length, 0);
    assert_int_equal(pl_token_bytes(a->parsed, 151676).length, 0);
    char *long_token = malloc(300);
    pl_span tokens[257];
    memcpy(tokens, a->tokens, 256 * sizeof(pl_span));
    memset(long_token, 'x', 300);
    tokens[256] = (pl_span){long_token, 300};
    pl_tokenizer *tokenizer = build(&(pl_vocabulary){.tokens = tokens, .n_tokens = 257});
    assert_int_equal(pl_tokenizer_find(tokenizer, tokens[256]), 256);
    assert_int_equal(pl_tokenizer_find(tokenizer, (pl_span){long_token, 299}), -1);
    pl_tokenizer_close(tokenizer);
    free(long_token);
}

static size_t held_bytes;

static void *counting_alloc(void *context, size_t size, size_t alignment)
{
    (void)context;
    void *memory = NULL;
    held_bytes += size;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}

static void counting_release(void *context, void *memory, size_t size)
{
    (void)context;
    held_bytes -= size;
    free(memory);
}

static void memory_is_modest(void **state)
{
    const arrays *a = *state;
    parley_allocator allocator = {counting_alloc, counting_release, NULL};
    pl_tokenizer *tokenizer = NULL;
    assert_int_equal(pl_tokenizer_parse(&allocator, a->files.vocab, a->files.merges, a->files.config, &tokenizer, NULL), PARLEY_OK);
    assert_in_range(held_bytes, 1, 10u << 20);
    pl_tokenizer_close(tokenizer);
    assert_int_equal(held_bytes, 0);
}

/* ------------------------------------------------------------------ what is refused */

static void expect_refusal(const pl_vocabulary *vocabulary, const char *part)
{
    pl_tokenizer *tokenizer = NULL;
    parley_error error = {0};
    assert_int_equal(pl_tokenizer_build(NULL, vocabulary, &tokenizer, &error), PARLEY_FORMAT);
    assert_int_equal(error.status, PARLEY_FORMAT);
    if (!strstr(error.text, part))
        fail_msg("'%s' does not say '%s'", error.text, part);
    assert_null(tokenizer);
}

#define SPAN(text) ((pl_span){(text), sizeof(text) - 1})

static void bad_tokens(void **state)
{
    const arrays *a = *state;
    static const struct {
        size_t id;
        pl_span spelling;
        const char *part;
    } rows[] = {
        {256, {"a b", 3}, "token 256"},          {256, {"\xC5\x84", 2}, "token 256"},  {256, {"\xC4", 1}, "token 256"},
        {256, {"\xE4\xBD\xA0", 3}, "token 256"}, {256, {"A", 1}, "tokens 32 and 256"}, {7, {"", 0}, "no token for byte 0x28"},
        {256, {"\x7F", 1}, "token 256"},         {256, {"\xC2\xAD", 2}, "token 256"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pl_span tokens[257];
        memcpy(tokens, a->tokens, sizeof tokens);
        tokens[rows[i].id] = rows[i].spelling;
        expect_refusal(&(pl_vocabulary){.tokens = tokens, .n_tokens = 257}, rows[i].part);
    }
    expect_refusal(&(pl_vocabulary){.tokens = a->tokens, .n_tokens = 0}, "vocabulary of 0 tokens");
    expect_refusal(&(pl_vocabulary){.tokens = a->tokens, .n_tokens = (size_t)1 << 40}, "vocabulary of");
}

static void bad_merges(void **state)
{
    const arrays *a = *state;
    static const struct {
        pl_span merge;
        const char *part;
    } rows[] = {
        {{"", 0}, "merge 1"},       {{"ab", 2}, "merge 1 'ab'"},  {{" a", 2}, "merge 1"},        {{"a ", 2}, "merge 1"},
        {{"i n g", 5}, "merge 1"},  {{"i x", 3}, "together"},     {{"zz a", 4}, "the left one"}, {{"a zz", 4}, "the right one"},
        {{"\xFF a", 3}, "merge 1"}, {{"i n", 3}, "occurs twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pl_span merges[2] = {SPAN("i n"), rows[i].merge};
        expect_refusal(&(pl_vocabulary){.tokens = a->tokens, .n_tokens = 400, .merges = merges, .n_merges = 2}, rows[i].part);
    }
}

static void bad_added_tokens(void **state)
{
    const arrays *a = *state;
    static const struct {
        pl_added_token added[2];
        const char *part;
    } rows[] = {
        {{{300, {"<x>", 3}, true}, {300, {"<y>", 3}, true}}, "two added tokens have id 300"},
        {{{300, {"<x>", 3}, true}, {301, {"<x>", 3}, true}}, "spelled '<x>'"},
        {{{300, {"", 0}, true}, {301, {"<x>", 3}, true}}, "added token 300"},
        {{{300, {"\xC3", 1}, true}, {301, {"<x>", 3}, true}}, "added token 300"},
        {{{300, {"<x>", 3}, true}, {-1, {"<y>", 3}, true}}, "id -1"},
        {{{300, {"<x>", 3}, true}, {1 << 30, {"<y>", 3}, true}}, "added token 1"},
        {{{300, {"<x>", 3}, true}, {32, {"<y>", 3}, true}}, "id 32"},
        {{{300, {"<x>", 3}, true}, {301, {"A", 1}, true}}, "token 32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refusal(&(pl_vocabulary){.tokens = a->tokens, .n_tokens = 256, .added = rows[i].added, .n_added = 2}, rows[i].part);
}

static void repair_that_cannot_be(void **state)
{
    const arrays *a = *state;
    pl_span tokens[259], merges[2] = {SPAN("b c"), SPAN("a b")};
    memcpy(tokens, a->tokens, 256 * sizeof(pl_span));
    tokens[256] = SPAN("#ab");
    tokens[257] = SPAN("ab");
    tokens[258] = SPAN("bc");
    pl_vocabulary vocabulary = {.tokens = tokens, .n_tokens = 259, .merges = merges + 1, .n_merges = 1, .repair_merges = true};
    expect_refusal(&vocabulary, "token 256"); /* made before its parts: three remain */
    vocabulary.merges = merges;
    vocabulary.n_merges = 2;
    expect_refusal(&vocabulary, "order"); /* 258 before 257 */
    vocabulary.repair_merges = false;
    pl_tokenizer_close(build(&vocabulary));
}

/* A longer added token wins over a shorter one, the leftmost over both. */
static void added_tokens_longest_leftmost(void **state)
{
    const arrays *a = *state;
    static const pl_added_token added[] = {
        {300, {"ab", 2}, false}, {301, {"abcd", 4}, false}, {302, {"bcde", 4}, false}, {303, {"e\xCC\x81", 3}, false}};
    static const struct {
        const char *text;
        int32_t ids[8];
        size_t count;
    } rows[] = {{"abcde", {301, 68}, 2}, {"abce", {300, 66, 68}, 3},          {"xbcde", {87, 302}, 2},
                {"abab", {300, 300}, 2}, {"aabcabcd", {64, 300, 66, 301}, 4}, {"\xC3\xA9", {127, 102}, 2},
                {"e\xCC\x81", {303}, 1}};
    pl_tokenizer *tokenizer = build(&(pl_vocabulary){.tokens = a->tokens, .n_tokens = 256, .added = added, .n_added = 4});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pl_ids ids = ids_of(tokenizer, (pl_span){rows[i].text, strlen(rows[i].text)}, true, PARLEY_SPLITTER_QWEN2);
        assert_int_equal(ids.count, rows[i].count);
        assert_memory_equal(ids.ids, rows[i].ids, ids.count * sizeof(int32_t));
        pl_ids_free(&ids);
    }
    pl_tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_give_the_same_ids),
        cmocka_unit_test(repair_leaves_whole_merges_alone),
        cmocka_unit_test(repair_puts_back_96_merges),
        cmocka_unit_test(repair_of_a_small_vocabulary),
        cmocka_unit_test(finding_tokens),
        cmocka_unit_test(bytes_of_tokens),
        cmocka_unit_test(memory_is_modest),
        cmocka_unit_test(bad_tokens),
        cmocka_unit_test(bad_merges),
        cmocka_unit_test(bad_added_tokens),
        cmocka_unit_test(repair_that_cannot_be),
        cmocka_unit_test(added_tokens_longest_leftmost),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
