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

static void check_vectors(const pl_tokenizer *tokenizer, const char *name, size_t count, size_t least_others)
{
    text_vectors vectors = read_vectors(name);
    size_t others = 0;
    assert_int_equal(vectors.count, count);
    for (size_t i = 0; i < vectors.count; i++) {
        const text_vector *v = &vectors.items[i];
        assert_true(v->lists[IDS].capacity > 0);
        expect_ids(tokenizer, v->text, true, PARLEY_SPLITTER_QWEN2, &v->lists[IDS]);
        expect_ids(tokenizer, v->text, false, PARLEY_SPLITTER_QWEN2, bare_of(v));
        if (!v->lists[OTHER].capacity)
            continue;
        expect_ids(tokenizer, v->text, true, PARLEY_SPLITTER_MISTRAL, &v->lists[OTHER]);
        others++;
    }
    assert_true(others >= least_others);
    free_vectors(&vectors);
}

static void published_vectors(void **state)
{
    const fixture *f = *state;
    check_vectors(f->published, "tts_text/real.json", 233, 6);
}

static void small_vectors(void **state)
{
    const fixture *f = *state;
    check_vectors(f->small, "tts_text/small.json", 233, 0);
}

/* Where real.json gives no other list, the other splitter gives the same ids. */
static void other_splitter_is_the_same_elsewhere(void **state)
{
    const fixture *f = *state;
    text_vectors vectors = read_vectors("tts_text/real.json");
    for (size_t i = 0; i < vectors.count; i++)
        if (!vectors.items[i].lists[OTHER].capacity)
            expect_ids(f->published, vectors.items[i].text, true, PARLEY_SPLITTER_MISTRAL, &vectors.items[i].lists[IDS]);
    free_vectors(&vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(small_vectors),
        cmocka_unit_test(other_splitter_is_the_same_elsewhere),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
