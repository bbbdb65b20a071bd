/* The two ways of merging against the plainest one: look for the leftmost pair of the lowest rank, merge it, start again. */
#include "tokenizer_fixture.h"

enum { LETTERS = 4, MERGES = 60, LONGEST = 300 };

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static size_t plain_bpe(const pl_merges *merges, uint32_t rank_limit, uint32_t *symbols, size_t count)
{
    for (;;) {
        const pl_merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            const pl_merge *merge = pl_merges_find(merges, symbols[i], symbols[i + 1]);
            if (merge && merge->rank < rank_limit && (!best || merge->rank < best->rank)) {
                best = merge;
                at = i;
            }
        }
        if (!best)
            return count;
        symbols[at] = best->product;
        for (size_t i = at + 1; i + 1 < count; i++)
            symbols[i] = symbols[i + 1];
        count--;
    }
}

/* Random merges of random tokens, also such that no training would give: low ranks of long tokens. */
static void random_merges(pl_merges *merges, pl_arena *arena, uint64_t *seed)
{
    assert_true(pl_merges_init(merges, arena, MERGES));
    uint32_t tokens = LETTERS;
    for (uint32_t rank = 0; rank < MERGES; rank++) {
        uint32_t most = tokens < 24 ? tokens : 24;
        pl_merge merge = {next_random(seed) % most, next_random(seed) % most, next_random(seed) % 2 ? rank : 1000 - rank, tokens};
        tokens += pl_merges_add(merges, merge);
    }
}

static void same_as_the_plain_way(void **state)
{
    (void)state;
    uint64_t seed = 1;
    pl_buffer scratch = {.allocator = pl_default_allocator()};
    for (int round = 0; round < 600; round++) {
        pl_arena arena;
        pl_merges merges;
        pl_arena_init(&arena, NULL, 4096);
        random_merges(&merges, &arena, &seed);
        for (int word = 0; word < 8; word++) {
            uint32_t symbols[LONGEST], expected[LONGEST];
            size_t count = 1 + next_random(&seed) % (word < 4 ? 40 : LONGEST), letters = 1 + next_random(&seed) % LETTERS;
            uint32_t limit = word % 4 == 3 ? next_random(&seed) % MERGES : PL_NO_RANK;
            for (size_t i = 0; i < count; i++)
                symbols[i] = expected[i] = next_random(&seed) % (uint32_t)letters;
            size_t plain = plain_bpe(&merges, limit, expected, count);
            assert_int_equal(pl_bpe(&merges, limit, symbols, &count, &scratch, NULL), PARLEY_OK);
            assert_int_equal(count, plain);
            assert_memory_equal(symbols, expected, count * sizeof(uint32_t));
        }
        pl_arena_free(&arena);
    }
    pl_buffer_free(&scratch);
}

static void table_of_merges(void **state)
{
    (void)state;
    pl_arena arena;
    pl_merges merges;
    pl_arena_init(&arena, NULL, 4096);
    assert_true(pl_merges_init(&merges, &arena, 10000));
    for (uint32_t i = 0; i < 10000; i++)
        assert_true(pl_merges_add(&merges, (pl_merge){i / 100, i % 100, i, i + 5}));
    assert_false(pl_merges_add(&merges, (pl_merge){7, 9, 1, 2}));
    for (uint32_t i = 0; i < 10000; i++) {
        const pl_merge *merge = pl_merges_find(&merges, i / 100, i % 100);
        assert_non_null(merge);
        assert_int_equal(merge->rank, i);
        assert_int_equal(merge->product, i + 5);
    }
    assert_null(pl_merges_find(&merges, 100, 0));
    assert_null(pl_merges_find(&merges, UINT32_MAX, UINT32_MAX));
    pl_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_plain_way),
        cmocka_unit_test(table_of_merges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
