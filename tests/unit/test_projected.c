/* labels: threads */
/* Projected rows of the predictor's tables: what is kept is what was computed, and sessions do not show whether it was. */
#include "engine/model.h"
#include "models/qwen3_tts/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "limit_allocator.h"
#include "support/speak.h"

static const char text[] = "It is a fine day.";

/* ------------------------------------------------------------------ rows */

enum { TABLES = 3, ROWS = 50, WIDTH = 8, THREADS = 4 };

static void make_row(int table, int64_t row, float *out)
{
    for (int i = 0; i < WIDTH; i++)
        out[i] = (float)((table * ROWS + (int)row) * WIDTH + i);
}

static void check_row(const pl_projected *p, int table, int64_t row)
{
    float expected[WIDTH];
    const float *found = pl_projected_find(p, table, row);
    make_row(table, row, expected);
    assert_non_null(found);
    assert_memory_equal(found, expected, sizeof expected);
}

static void rows_stay_as_they_came(void **state)
{
    (void)state;
    pl_arena arena;
    pl_projected p;
    float row[WIDTH];
    limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&limit);
    pl_arena_init(&arena, &allocator, 1 << 12);
    pl_projected_open(&p, &arena, TABLES, ROWS, WIDTH, true);
    assert_true(p.int8);
    assert_null(pl_projected_find(&p, 1, 49));
    make_row(1, 49, row);
    pl_projected_keep(&p, 1, 49, row);
    check_row(&p, 1, 49);
    assert_null(pl_projected_find(&p, 2, 0)); /* its neighbour */
    make_row(0, 0, row);
    pl_projected_keep(&p, 1, 49, row);
    check_row(&p, 1, 49);
    pl_arena_free(&arena);
    assert_int_equal(limit.held, 0);
}

static void without_memory_nothing_is_kept(void **state)
{
    (void)state;
    pl_arena arena;
    pl_projected p;
    float row[WIDTH] = {0};
    limit_allocator limit = {.limit = SIZE_MAX, .left = 0};
    parley_allocator allocator = limit_interface(&limit);
    pl_arena_init(&arena, &allocator, 1 << 12);
    pl_projected_open(&p, &arena, TABLES, ROWS, WIDTH, false);
    pl_projected_keep(&p, 0, 0, row);
    assert_null(pl_projected_find(&p, 0, 0));
    pl_arena_free(&arena);
}

static void *use_all(void *context)
{
    const pl_projected *p = context;
    float row[WIDTH];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < TABLES * ROWS; i++) {
            make_row(i / ROWS, i % ROWS, row);
            const float *found = pl_projected_find(p, i / ROWS, i % ROWS);
            if (found && memcmp(found, row, sizeof row) != 0)
                return context;
            pl_projected_keep(p, i / ROWS, i % ROWS, row);
        }
    return NULL;
}

static void many_threads_share_them(void **state)
{
    (void)state;
    pl_arena arena;
    pl_projected p;
    pthread_t threads[THREADS];
    void *wrong;
    limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&limit);
    pl_arena_init(&arena, &allocator, 1 << 12);
    pl_projected_open(&p, &arena, TABLES, ROWS, WIDTH, false);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_all, &p), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    for (int i = 0; i < TABLES * ROWS; i++)
        check_row(&p, i / ROWS, i % ROWS);
    pl_arena_free(&arena);
}

/* ------------------------------------------------------------------ sessions */

static int64_t kept(const tts_model *m)
{
    int64_t count = 0;
    for (int table = 0; table < m->config.groups - 2; table++)
        for (int64_t row = 0; row < m->config.codebook_size; row++)
            count += pl_projected_find(&m->network.projected, table, row) != NULL;
    return count;
}

static parley_tts_options sampled(const parley_model *model, parley_activations activations, uint64_t seed)
{
    parley_tts_options o;
    parley_tts_options_init(model, &o);
    o.budget = PARLEY_BUDGET_FRAMES;
    o.max_frames = 12;
    o.activations = activations;
    o.seed = seed;
    return o;
}

/* Cold, warm, and without room for rows, in both arithmetics: the rows of one of them are kept. */
static void sessions_do_not_show_them(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_b_design"), NULL, 2, NULL), *other = open_model(MODEL("tts_b_design"), NULL, 2, NULL);
    tts_model *m = model->state, *without = other->state;
    assert_non_null(m->network.projected.values);
    without->network.projected.values = NULL;
    for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
        bool keeps = m->network.projected.int8 == (arithmetic == PARLEY_ACTIVATIONS_INT8);
        int64_t before = kept(m);
        for (uint64_t seed = 0; seed < 3; seed++) {
            parley_tts_options o = sampled(model, (parley_activations)arithmetic, seed), p = sampled(other, (parley_activations)arithmetic, seed);
            speech cold = speak(model, &o, text), warm = speak(model, &o, text), plain = speak(other, &p, text);
            same_speech(&cold, &plain);
            same_speech(&warm, &plain);
            assert_true(plain.frames > 1);
            free_speech(&cold);
            free_speech(&warm);
            free_speech(&plain);
        }
        assert_true(keeps ? kept(m) > before + 12 : kept(m) == before);
    }
    assert_int_equal(kept(without), 0);
    parley_model_close(model);
    parley_model_close(other);
}

/* Equal widths: there is no projection and no room for its rows. */
static void others_pay_nothing(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 1, NULL);
    assert_null(((const tts_model *)model->state)->network.projected.made);
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay_as_they_came),  cmocka_unit_test(without_memory_nothing_is_kept),
        cmocka_unit_test(many_threads_share_them), cmocka_unit_test(sessions_do_not_show_them),
        cmocka_unit_test(others_pay_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
