/* Sampler: Philox, rules, filters and draws. Stored vectors: golden/tts_sampler, written by the official package. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cJSON.h>
#include <math.h>

#include "sample/greedy.h"
#include "sample/sampler.h"
#include "support/npy.h"

enum { MOST = 3072, DRAWS = 100000 };

static float work[MOST], scores[MOST];
static uint8_t seen[(MOST + 7) / 8];

static const parley_sampling plain = {.temperature = 1, .top_p = 1, .top_k = 0, .repetition_penalty = 1};
static const parley_sampling usual = {.temperature = 0.9f, .top_p = 1, .top_k = 50, .repetition_penalty = 1.05f};

static int count_finite(const float *row, int n)
{
    int finite = 0;
    for (int i = 0; i < n; i++)
        finite += isfinite(row[i]) != 0;
    return finite;
}

/* Chooses from a copy. */
static int32_t choose(const float *row, int n, const parley_sampling *sampling, float u)
{
    int32_t id = -1;
    float copy[MOST];
    parley_error error;
    memcpy(copy, row, (size_t)n * sizeof *row);
    assert_int_equal(pl_choose(copy, n, sampling, u, work, &id, &error), PARLEY_OK);
    assert_in_range(id, 0, n - 1);
    return id;
}

/* Bell-shaped scores from the generator itself: sum of four draws. */
static void make_row(float *row, int n, uint32_t which, float scale)
{
    for (int i = 0; i < n; i++) {
        float sum = -2;
        for (uint32_t j = 0; j < 4; j++)
            sum += pl_draw(77 + j, (uint32_t)i, which);
        row[i] = scale * sum;
    }
}

/* ------------------------------------------------------------------ generator */

static void philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t key[2], counter[4], out[4];
    } known[] = {
        {{0, 0}, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        pl_philox4x32(known[i].key, known[i].counter, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

static void draws_are_counted_not_kept(void **state)
{
    (void)state;
    const uint64_t seed = 0x299f31d0a4093822u;
    const uint32_t key[2] = {0xa4093822, 0x299f31d0}, counter[4] = {12, 3, 0, 0};
    uint32_t out[4];
    pl_philox4x32(key, counter, out);
    float first = pl_draw(seed, 12, 3);
    assert_true(first == (float)(out[0] >> 8) / 16777216.0f);
    assert_true(pl_draw(seed, 12, 4) != first);
    assert_true(pl_draw(seed, 13, 3) != first);
    assert_true(pl_draw(seed, 3, 12) != first);
    assert_true(pl_draw(seed + 1, 12, 3) != first);
    assert_true(pl_draw(seed ^ (uint64_t)1 << 63, 12, 3) != first);
    assert_true(pl_draw(seed, 12, 3) == first);
}

static void draws_fill_the_unit_interval(void **state)
{
    (void)state;
    float least = 1, most = 0;
    double sum = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        float u = pl_draw(5, i, 0);
        least = fminf(least, u);
        most = fmaxf(most, u);
        sum += (double)u;
    }
    assert_true(least >= 0 && least < 2e-4f);
    assert_true(most < 1 && most > 1 - 2e-4f);
    assert_true(fabs(sum / DRAWS - 0.5) < 4 / sqrt(12.0 * DRAWS));
}

/* ------------------------------------------------------------------ stored vectors */

typedef struct vector {
    const cJSON *json;
    int n, kept;
    bool sampled, loose; /* loose: which of several equal scores stayed is not defined */
    pl_score_rules rules;
    parley_sampling sampling;
    int32_t history[64];
} vector;

static double number(const cJSON *json, const char *name, double absent)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    assert_true(!item || cJSON_IsNumber(item));
    return item ? item->valuedouble : absent;
}

static bool is_true(const cJSON *json, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, name));
}

static void read_rules(const cJSON *json, vector *v)
{
    const cJSON *history = cJSON_GetObjectItemCaseSensitive(json, "history"), *item;
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(json, "suppress")->valuestring, "2048..3071 but eos");
    v->rules = (pl_score_rules){.history = v->history,
                                .penalty = (float)number(json, "repetition_penalty", NAN),
                                .end_id = (int32_t)number(json, "eos", NAN),
                                .suppress_from = 2048,
                                .suppress_to = 3072};
    cJSON_ArrayForEach(item, history)
    {
        assert_in_range(v->rules.n_history, 0, 63);
        v->history[v->rules.n_history++] = item->valueint;
    }
    v->rules.ban_end = v->rules.n_history < (int)number(json, "min_new_tokens", NAN);
}

static void read_vector(const cJSON *json, vector *v)
{
    bool first = strcmp(cJSON_GetObjectItemCaseSensitive(json, "of")->valuestring, "c0") == 0;
    *v = (vector){.json = json, .n = first ? 3072 : 2048};
    v->kept = (int)number(json, "kept", NAN);
    v->sampled = is_true(json, "do_sample");
    v->loose = is_true(json, "equals_at_the_cut");
    v->sampling.temperature = v->sampled ? (float)number(json, "temperature", NAN) : 0;
    v->sampling.top_k = (int32_t)number(json, "top_k", NAN);
    v->sampling.top_p = (float)number(json, "top_p", NAN);
    if (first)
        read_rules(json, v);
}

/* Scores are single operations on float32 values: they must agree to the last bit. */
static void check_listed(const vector *v)
{
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(v->json, "ids");
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(v->json, "scores");
    const cJSON *probabilities = cJSON_GetObjectItemCaseSensitive(v->json, "probabilities");
    if (!ids)
        return;
    assert_int_equal(cJSON_GetArraySize(ids), v->kept);
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < v->n; i++)
        max = fmax(max, (double)scores[i]);
    for (int i = 0; i < v->n; i++)
        sum += exp((double)scores[i] - max);
    int at = -1;
    for (int i = 0; i < v->kept; i++) {
        for (at++; at < v->n && scores[at] == -INFINITY; at++)
            ;
        assert_in_range(at, 0, v->n - 1);
        if (v->loose)
            continue;
        assert_int_equal(at, cJSON_GetArrayItem(ids, i)->valueint);
        assert_true(scores[at] == (float)cJSON_GetArrayItem(values, i)->valuedouble);
        assert_true(fabs(exp((double)scores[at] - max) / sum - cJSON_GetArrayItem(probabilities, i)->valuedouble) < 1e-6);
    }
}

static int compare_floats(const void *a, const void *b)
{
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Where equal scores lie at the cut, the values that stay are defined though their ids are not. `best_scores` are the largest ones. */
static void check_values(const vector *v)
{
    const cJSON *best = cJSON_GetObjectItemCaseSensitive(v->json, "best_scores");
    const cJSON *listed = best ? best : cJSON_GetObjectItemCaseSensitive(v->json, "scores");
    int count = cJSON_GetArraySize(listed);
    float wanted[MOST], sorted[MOST];
    assert_in_range(count, 1, v->kept);
    for (int i = 0; i < count; i++)
        wanted[i] = (float)cJSON_GetArrayItem(listed, i)->valuedouble;
    memcpy(sorted, scores, (size_t)v->n * sizeof *scores);
    qsort(wanted, (size_t)count, sizeof *wanted, compare_floats);
    qsort(sorted, (size_t)v->n, sizeof *sorted, compare_floats);
    assert_memory_equal(wanted, sorted + v->n - count, (size_t)count * sizeof *wanted);
}

static void check_whole_row(const vector *v)
{
    const cJSON *file = cJSON_GetObjectItemCaseSensitive(v->json, "file");
    if (!file)
        return;
    char path[512];
    snprintf(path, sizeof path, "%s/tts_sampler/%s.npy", TEST_DATA, file->valuestring);
    npy_array whole = npy_load(path);
    assert_int_equal(whole.count, v->n);
    for (int i = 0; i < v->n; i++)
        assert_true(scores[i] == whole.f[i]);
    npy_free(&whole);
}

/* A draw in the middle of each id's part of [0, 1) must give that id; parts narrower than the draws' own step are left out. */
static void check_draws(const vector *v, const float *row)
{
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(v->json, "ids"), *id;
    const cJSON *probability = cJSON_GetObjectItemCaseSensitive(v->json, "probabilities")->child;
    double sum = 0;
    cJSON_ArrayForEach(id, ids)
    {
        double p = probability->valuedouble;
        if (p > 1e-5)
            assert_int_equal(choose(row, v->n, &v->sampling, (float)(sum + p / 2)), id->valueint);
        sum += p;
        probability = probability->next;
    }
}

static void check_vector(const vector *v, const float *row)
{
    float ruled[MOST];
    int wanted = (int)number(v->json, "argmax", NAN);
    memcpy(ruled, row, (size_t)v->n * sizeof *row);
    pl_apply_rules(ruled, v->n, &v->rules, seen);
    memcpy(scores, ruled, (size_t)v->n * sizeof *ruled);
    int kept = v->sampled ? pl_filter_scores(scores, v->n, &v->sampling, work) : count_finite(scores, v->n);
    assert_int_equal(kept, v->kept);
    assert_int_equal(count_finite(scores, v->n), v->kept);
    check_listed(v);
    check_values(v);
    check_whole_row(v);
    parley_sampling greedy = v->sampling;
    greedy.temperature = 0;
    if (!v->loose)
        assert_int_equal(choose(v->sampled ? scores : ruled, v->n, &greedy, 0.9f), wanted);
    if (!v->sampled)
        assert_int_equal(choose(ruled, v->n, &v->sampling, 0.9f), wanted);
    else if (!v->loose && cJSON_GetObjectItemCaseSensitive(v->json, "ids"))
        check_draws(v, ruled);
}

static void stored_vectors(void **state)
{
    (void)state;
    npy_array c0 = npy_load(TEST_DATA "/tts_sampler/c0_rows.npy"), pred = npy_load(TEST_DATA "/tts_sampler/pred_rows.npy");
    char *text = npy_read_file(TEST_DATA "/tts_sampler/vectors.json", NULL);
    cJSON *all = cJSON_Parse(text);
    const cJSON *json;
    int count = 0;
    cJSON_ArrayForEach(json, all)
    {
        vector v;
        read_vector(json, &v);
        const npy_array *rows = v.n == 3072 ? &c0 : &pred;
        int row = (int)number(json, "row", NAN);
        assert_in_range(row, 0, rows->shape[0] - 1);
        assert_int_equal(rows->shape[1], v.n);
        check_vector(&v, rows->f + row * v.n);
        count++;
    }
    assert_int_equal(count, 54);
    cJSON_Delete(all);
    free(text);
    npy_free(&c0);
    npy_free(&pred);
}

/* ------------------------------------------------------------------ rules */

static void greedy_obeys_penalty_and_ban(void **state)
{
    (void)state;
    const parley_sampling greedy = {.temperature = 0, .top_p = 1};
    const int32_t history[] = {2, 2, 2, -1, 99};
    pl_score_rules rules = {.history = history, .n_history = 5, .penalty = 2, .end_id = 5};
    const float row[] = {3, -4, 5, -1, 2.6f, 2.9f};
    memcpy(scores, row, sizeof row);
    pl_apply_rules(scores, 6, &rules, seen);
    assert_true(scores[2] == 2.5f); /* once, though it came three times */
    assert_int_equal(choose(scores, 6, &greedy, 0), 0);

    const float ends[] = {3, -4, 5, -1, 2.6f, 9};
    memcpy(scores, ends, sizeof ends);
    pl_apply_rules(scores, 6, &rules, seen);
    assert_int_equal(choose(scores, 6, &greedy, 0), 5);
    rules.ban_end = true;
    memcpy(scores, ends, sizeof ends);
    pl_apply_rules(scores, 6, &rules, seen);
    assert_int_equal(choose(scores, 6, &greedy, 0), 0);
}

static void penalty_lowers_both_signs(void **state)
{
    (void)state;
    const int32_t history[] = {0, 1, 2, 3};
    const pl_score_rules rules = {.history = history, .n_history = 4, .penalty = 1.05f, .end_id = -1};
    float row[] = {2, -2, 0, -INFINITY, 2};
    pl_apply_rules(row, 5, &rules, seen);
    assert_true(row[0] == 2 / 1.05f && row[1] == -2 * 1.05f && row[2] == 0 && row[3] == -INFINITY && row[4] == 2);
}

static void suppression_spares_the_end(void **state)
{
    (void)state;
    pl_score_rules rules = {.penalty = 1, .end_id = 6, .suppress_from = 4, .suppress_to = 100};
    float row[9] = {0};
    pl_apply_rules(row, 9, &rules, seen);
    for (int i = 0; i < 9; i++)
        assert_int_equal(row[i] == 0, i < 4 || i == 6);
    rules.ban_end = true;
    pl_apply_rules(row, 9, &rules, seen);
    assert_true(row[6] == -INFINITY);
    rules = (pl_score_rules){.penalty = 1, .end_id = 40, .ban_end = true, .suppress_from = -3, .suppress_to = 1};
    pl_apply_rules(row, 9, &rules, seen);
    assert_true(row[0] == -INFINITY && row[1] == 0);
}

/* ------------------------------------------------------------------ filters */

static void ties_with_the_kth_survive(void **state)
{
    (void)state;
    parley_sampling sampling = plain;
    const float row[] = {1, 3, 2, 2, 5, 2, 1};
    static const int kept[] = {7, 1, 2, 5, 5, 5, 7, 7, 7}; /* by top_k; 0 is off, 6 ends among the ones */
    for (sampling.top_k = 0; sampling.top_k < 9; sampling.top_k++) {
        memcpy(scores, row, sizeof row);
        assert_int_equal(pl_filter_scores(scores, 7, &sampling, work), kept[sampling.top_k]);
        for (int i = 0; i < 7; i++)
            assert_true(scores[i] == row[i] || scores[i] == -INFINITY);
        assert_true(scores[4] == 5);
    }
}

static void greedy_takes_the_lowest_of_equals(void **state)
{
    (void)state;
    const float row[] = {-INFINITY, -2, -1, -1, -1};
    const parley_sampling cold = {.temperature = 0, .top_p = 1}, one = {.temperature = 1, .top_p = 1, .top_k = 1};
    assert_int_equal(choose(row, 5, &cold, 0.99f), 2);
    assert_int_equal(choose(row, 5, &one, 0.99f), 2);
}

static void top_p_keeps_the_lowest_of_equals(void **state)
{
    (void)state;
    parley_sampling sampling = plain;
    sampling.top_p = 0.6f; /* of 8 equal ones: sums 1/8 .. 3/8 are at most 0.4, so 5 stay */
    for (int i = 0; i < 8; i++)
        scores[i] = 1.5f;
    assert_int_equal(pl_filter_scores(scores, 8, &sampling, work), 5);
    for (int i = 0; i < 8; i++)
        assert_int_equal(scores[i] == 1.5f, i < 5);
    sampling.top_p = 0; /* the best alone */
    const float row[] = {1, 7, 7, 2};
    memcpy(scores, row, sizeof row);
    assert_int_equal(pl_filter_scores(scores, 4, &sampling, work), 1);
    assert_true(scores[1] == 7);
}

/* The rule in its plain form: all scores sorted upwards, cumulative float32 probabilities. */
static int count_top_p_plainly(const float *row, int n, float top_p)
{
    float sorted[MOST];
    double weights = 0, sum = 0;
    int kept = 0;
    memcpy(sorted, row, (size_t)n * sizeof *row);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_floats);
    for (int i = 0; i < n; i++)
        weights += (double)expf(sorted[i] - sorted[n - 1]);
    for (int i = 0; i < n; i++) {
        sum += (double)(expf(sorted[i] - sorted[n - 1]) / (float)weights);
        kept += (float)sum > (float)(1.0 - (double)top_p) || i == n - 1;
    }
    return kept;
}

static void filters_equal_plain_forms(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 120; which++) {
        float row[MOST], sorted[MOST];
        int n = 2 + (int)(pl_draw(1, which, 0) * 400);
        parley_sampling sampling = plain;
        make_row(row, n, which, which % 3 ? 4.0f : 12.0f);
        if (which % 2)
            for (int i = 0; i < n; i++)
                row[i] = roundf(row[i]); /* many ties */
        sampling.top_p = pl_draw(2, which, 0);
        memcpy(scores, row, (size_t)n * sizeof *row);
        assert_int_equal(pl_filter_scores(scores, n, &sampling, work), count_top_p_plainly(row, n, sampling.top_p));

        sampling = plain;
        sampling.top_k = 2 + (int)(pl_draw(3, which, 0) * (float)n);
        memcpy(sorted, row, (size_t)n * sizeof *row);
        qsort(sorted, (size_t)n, sizeof *sorted, compare_floats);
        float kth = sampling.top_k < n ? sorted[n - sampling.top_k] : sorted[0];
        memcpy(scores, row, (size_t)n * sizeof *row);
        pl_filter_scores(scores, n, &sampling, work);
        for (int i = 0; i < n; i++)
            assert_true(scores[i] == (row[i] < kth ? -INFINITY : row[i]));
    }
}

/* ------------------------------------------------------------------ draws */

/* Chi-square of DRAWS choices against softmax(row / temperature) of the ids that stay. */
static double chi_square(const float *row, int n, const parley_sampling *sampling, uint64_t seed)
{
    static int seen_times[MOST];
    double total = 0, sum = 0;
    memset(seen_times, 0, sizeof seen_times);
    for (uint32_t i = 0; i < DRAWS; i++)
        seen_times[choose(row, n, sampling, pl_draw(seed, i / 16, i % 16))]++;
    memcpy(scores, row, (size_t)n * sizeof *row);
    pl_filter_scores(scores, n, sampling, work);
    for (int i = 0; i < n; i++)
        total += exp((double)scores[i]);
    for (int i = 0; i < n; i++) {
        double expected = DRAWS * exp((double)scores[i]) / total;
        if (expected == 0)
            assert_int_equal(seen_times[i], 0);
        else
            sum += (seen_times[i] - expected) * (seen_times[i] - expected) / expected;
    }
    return sum;
}

/* Limits: critical values of chi-square for p = 1e-4 with 3 and 49 degrees of freedom. */
static void draws_follow_the_distribution(void **state)
{
    (void)state;
    const float small[] = {0, 1, -INFINITY, 2, -1};
    float wide[64];
    assert_true(chi_square(small, 5, &plain, 1) < 21.108);
    make_row(wide, 64, 1, 1.5f);
    assert_true(chi_square(wide, 64, &usual, 2) < 94.597);
}

/* An end that is only 51st is not an exception of top-k. */
static void end_of_rank_51_is_never_drawn(void **state)
{
    (void)state;
    float row[60];
    for (int i = 0; i < 60; i++)
        row[i] = 1.0f - 0.001f * (float)i;
    row[55] = row[50]; /* the end: ranks 51 */
    row[50] = 0;
    bool last_drawn = false;
    for (uint32_t i = 0; i < DRAWS; i++) {
        int32_t id = choose(row, 60, &usual, pl_draw(9, i, 0));
        assert_in_range(id, 0, 49);
        last_drawn |= id == 49;
    }
    assert_true(last_drawn);
}

static void same_counter_same_choice(void **state)
{
    (void)state;
    float row[200];
    int differ_frame = 0, differ_group = 0, differ_seed = 0;
    make_row(row, 200, 4, 2);
    for (uint32_t i = 0; i < 200; i++) {
        int32_t id = choose(row, 200, &usual, pl_draw(3, i, 1));
        assert_int_equal(choose(row, 200, &usual, pl_draw(3, i, 1)), id);
        differ_frame += choose(row, 200, &usual, pl_draw(3, i + 1, 1)) != id;
        differ_group += choose(row, 200, &usual, pl_draw(3, i, 2)) != id;
        differ_seed += choose(row, 200, &usual, pl_draw(4, i, 1)) != id;
    }
    assert_true(differ_frame > 150 && differ_group > 150 && differ_seed > 150);
}

/* ------------------------------------------------------------------ edges */

static void one_finite_score_is_taken(void **state)
{
    (void)state;
    const float alone[] = {-7};
    float row[20];
    for (int i = 0; i < 20; i++)
        row[i] = -INFINITY;
    row[13] = -3e38f;
    const parley_sampling all[] = {plain, usual, {.temperature = 0.01f, .top_p = 0.5f, .top_k = 3}, {.temperature = 0, .top_p = 1}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (float u = 0; u < 1; u += 0.25f) {
            assert_int_equal(choose(row, 20, &all[i], u), 13);
            assert_int_equal(choose(alone, 1, &all[i], u), 0);
        }
        assert_int_equal(choose(row, 20, &all[i], 0x1.fffffep-1f), 13);
    }
}

/* Draws at the ends: what has fallen or weighs nothing is not chosen by 0 nor by the largest draw. */
static void ends_of_the_walk(void **state)
{
    (void)state;
    const float row[] = {-INFINITY, -200, 1, 1, -200, -INFINITY};
    assert_int_equal(choose(row, 6, &plain, 0), 2);
    assert_int_equal(choose(row, 6, &plain, 0.5f), 3);
    assert_int_equal(choose(row, 6, &plain, 0x1.fffffep-1f), 3);
}

/* A quotient out of float's range must not make the choice NaN: the best has all the weight. */
static void tiny_temperature_is_greedy(void **state)
{
    (void)state;
    const parley_sampling tiny = {.temperature = 1e-39f, .top_p = 0.5f, .top_k = 3};
    const float high[] = {20, 30, 29.9f}, low[] = {-20, -30, -19};
    for (float u = 0; u < 1; u += 0.25f) {
        assert_int_equal(choose(high, 3, &tiny, u), 1);
        assert_int_equal(choose(low, 3, &tiny, u), 2);
    }
    memcpy(scores, low, sizeof low);
    assert_int_equal(pl_filter_scores(scores, 3, &tiny, work), 1);
    assert_true(scores[2] == -19);
}

static void unusable_scores_are_refused(void **state)
{
    (void)state;
    static const struct {
        float row[4];
        int n;
        const char *names;
    } bad[] = {
        {{1, NAN, 2, 3}, 4, "score 1 "},
        {{1, 2, 3, INFINITY}, 4, "score 3 "},
        {{-INFINITY, -INFINITY, 0, 0}, 2, "none is"},
        {{0, 0, 0, 0}, 0, "none is"},
    };
    const parley_sampling all[] = {plain, usual, {.temperature = 0, .top_p = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0] * 3; i++) {
        int32_t id = -5;
        parley_error error = {0};
        memcpy(scores, bad[i / 3].row, sizeof bad[i / 3].row);
        assert_int_equal(pl_choose(scores, bad[i / 3].n, &all[i % 3], 0.5f, work, &id, &error), PARLEY_VALUE);
        assert_int_equal(error.status, PARLEY_VALUE);
        assert_non_null(strstr(error.text, bad[i / 3].names));
        assert_int_equal(id, -5);
        assert_int_equal(pl_filter_scores(scores, bad[i / 3].n, &all[i % 3], work), 0);
    }
}

static void test_best_score_and_its_likelihood(void **state)
{
    (void)state;
    static const float row_of_four[] = {-1, 2, 2, 0.5f}, bad[] = {1, NAN}, infinite[] = {INFINITY, 0}, none[] = {-INFINITY, -INFINITY};
    int32_t id = -1;
    float logprob = 0;
    assert_int_equal(pl_greedy(row_of_four, 4, &id, &logprob, NULL), PARLEY_OK);
    assert_int_equal(id, 1);
    assert_true(fabs((double)logprob + log(exp(-3.0) + 2 + exp(-1.5))) < 1e-6);
    assert_int_equal(pl_greedy(bad, 2, &id, NULL, NULL), PARLEY_VALUE);
    assert_int_equal(pl_greedy(infinite, 2, &id, NULL, NULL), PARLEY_VALUE);
    assert_int_equal(pl_greedy(none, 2, &id, NULL, NULL), PARLEY_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(draws_are_counted_not_kept),
        cmocka_unit_test(draws_fill_the_unit_interval),
        cmocka_unit_test(stored_vectors),
        cmocka_unit_test(greedy_obeys_penalty_and_ban),
        cmocka_unit_test(penalty_lowers_both_signs),
        cmocka_unit_test(suppression_spares_the_end),
        cmocka_unit_test(ties_with_the_kth_survive),
        cmocka_unit_test(greedy_takes_the_lowest_of_equals),
        cmocka_unit_test(top_p_keeps_the_lowest_of_equals),
        cmocka_unit_test(filters_equal_plain_forms),
        cmocka_unit_test(draws_follow_the_distribution),
        cmocka_unit_test(end_of_rank_51_is_never_drawn),
        cmocka_unit_test(same_counter_same_choice),
        cmocka_unit_test(one_finite_score_is_taken),
        cmocka_unit_test(ends_of_the_walk),
        cmocka_unit_test(tiny_temperature_is_greedy),
        cmocka_unit_test(unusable_scores_are_refused),
        cmocka_unit_test(test_best_score_and_its_likelihood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
