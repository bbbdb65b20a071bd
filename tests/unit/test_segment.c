/* Cuts of long sounds (golden case asr_split) and the level rule (asr_rules). */
#include "rules_fixture.h"

#include "audio/segment.h"
#include "support/random.h"

#include <math.h>

enum { RATE = 16000 };

/* The signal of the case: its formula stands in case.json. */
static float *sawtooth(const cJSON *item, int64_t count)
{
    float *samples = malloc((size_t)count * sizeof *samples);
    const cJSON *dip, *dips = member(item, "dips_s");
    bool zero = strcmp(member(item, "signal")->valuestring, "zero") == 0;
    assert_non_null(samples);
    for (int64_t i = 0; i < count; i++) {
        int64_t level = 8;
        cJSON_ArrayForEach(dip, dips)
        {
            int64_t here = 1 + llabs((long long)(i - (int64_t)floor(dip->valuedouble * RATE))) / 1000;
            level = here < level ? here : level;
        }
        samples[i] = zero ? 0 : (float)((i * 7919 % 4001 - 2000) * level) / 32768;
    }
    return samples;
}

static void check_case(const cJSON *item)
{
    int64_t count = whole(member(item, "samples"));
    pl_segment_rule rule = pl_segment_reference(whole(member(item, "limit_s")) * RATE, RATE);
    const cJSON *starts = member(item, "starts");
    float *samples = sawtooth(item, count);
    const pl_segment *segments;
    size_t n;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 4096);
    assert_int_equal(pl_segments(&arena, samples, count, &rule, &segments, &n, NULL), PARLEY_OK);
    assert_int_equal(n, cJSON_GetArraySize(starts));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(segments[i].start, whole(cJSON_GetArrayItem(starts, (int)i)));
        assert_int_equal(segments[i].length, whole(cJSON_GetArrayItem(member(item, "lengths"), (int)i)));
        assert_int_equal(segments[i].padded, whole(cJSON_GetArrayItem(member(item, "padded_lengths"), (int)i)));
        assert_true((double)segments[i].start / RATE == cJSON_GetArrayItem(member(item, "offsets_s"), (int)i)->valuedouble);
    }
    pl_arena_free(&arena);
    free(samples);
}

static void cuts(void **state)
{
    (void)state;
    cJSON *json = read_case("asr_split/case.json");
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(json, "cases"))
    {
        check_case(item);
        count++;
    }
    assert_int_equal(count, 10);
    cJSON_Delete(json);
}

/* Pieces follow each other, none is empty or too long, whatever limit and sound. */
static void covers(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static float samples[COUNT];
    test_random r = {3};
    for (int round = 0; round < 400; round++) {
        pl_segment_rule rule = {1 + test_below(&r, 3000), test_below(&r, 2000), 1 + test_below(&r, 200), test_below(&r, 50), round % 2};
        int64_t count = test_below(&r, COUNT), at = 0;
        for (int64_t i = 0; i < count; i++)
            samples[i] = round % 3 ? test_float(&r, 1) : 0.1f;
        const pl_segment *segments;
        size_t n;
        pl_arena arena;
        pl_arena_init(&arena, NULL, 4096);
        assert_int_equal(pl_segments(&arena, samples, count, &rule, &segments, &n, NULL), PARLEY_OK);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(segments[i].start, at);
            assert_true(segments[i].length > 0 && segments[i].length <= rule.limit + (rule.strict ? 0 : rule.expand));
            assert_int_equal(segments[i].padded, n > 1 && segments[i].length < rule.least ? rule.least : segments[i].length);
            at += segments[i].length;
        }
        assert_int_equal(at, count);
        pl_arena_free(&arena);
    }
}

/* A constant sound: every window is as quiet as the first, however its value rounds. */
static void first_of_equals(void **state)
{
    (void)state;
    enum { COUNT = 25 * RATE };
    float *samples = malloc(COUNT * sizeof *samples);
    assert_non_null(samples);
    static const float values[] = {0.1f, 0.3333333f, 1e-3f, 0.77777f};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        for (int i = 0; i < COUNT; i++)
            samples[i] = i % 2 ? values[v] : -values[v];
        pl_segment_rule rule = pl_segment_reference(10 * RATE, RATE);
        for (int64_t start = 0; start + rule.limit < COUNT; start += 5 * RATE)
            assert_int_equal(pl_segment_end(samples, COUNT, start, &rule), start + 5 * RATE);
        rule.strict = true;
        samples[7 * RATE + 5] = 0;
        assert_int_equal(pl_segment_end(samples, COUNT, 0, &rule), 7 * RATE + 5);
    }
    free(samples);
}

static void levels(void **state)
{
    (void)state;
    cJSON *json = read_case("asr_rules/case.json");
    const cJSON *item, *value;
    int checked = 0;
    cJSON_ArrayForEach(item, member(json, "levels"))
    {
        float samples[8];
        int64_t count = 0;
        const cJSON *in = member(item, "in"), *out = member(item, "out");
        if (cJSON_IsArray(in->child)) /* several channels: the audio input's business */
            continue;
        cJSON_ArrayForEach(value, in) samples[count++] = (float)value->valuedouble;
        pl_level(samples, count);
        for (int64_t i = 0; i < count; i++)
            assert_true(samples[i] == (float)cJSON_GetArrayItem(out, (int)i)->valuedouble);
        assert_int_equal(count, cJSON_GetArraySize(out));
        checked++;
    }
    assert_int_equal(checked, 6);
    cJSON_Delete(json);
}

static void levels_what_is_not_finite(void **state)
{
    (void)state;
    float samples[] = {NAN, INFINITY, -INFINITY, 0.5f, -3};
    pl_level(samples, 5);
    assert_true(samples[0] == 0 && samples[1] == 1 && samples[2] == -1 && samples[3] == 0.5f && samples[4] == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts), cmocka_unit_test(covers), cmocka_unit_test(first_of_equals), cmocka_unit_test(levels),
                                       cmocka_unit_test(levels_what_is_not_finite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
