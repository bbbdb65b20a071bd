/* The audio tower against stored results of the official package (golden asr_tower_*), and against itself: threads, windows, lengths. */
/* labels: threads */
#include "base/cpu.h"
#include "support/clip_mel.h"
#include "support/npy.h"
#include "support/tower_fixture.h"
#include "limit_allocator.h"

#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

/* ------------------------------------------------------------------ recording */

enum { MAX_STAGES = 16, MELS = 128 };

typedef struct stage {
    char name[32];
    float *data;
    size_t count;
    int64_t width;
} stage;

typedef struct record {
    stage stages[MAX_STAGES];
    int count;
} record;

static stage *find_stage(record *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->stages[i].name, name) == 0)
            return &r->stages[i];
    return NULL;
}

static void on_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    record *r = context;
    stage *s = find_stage(r, name);
    assert_int_equal(type, 'f');
    assert_int_equal(rank, strstr(name, "conv2d") ? 3 : 2); /* time, channels, bands */
    int64_t width = shape[1] * (rank == 3 ? shape[2] : 1);
    size_t count = (size_t)(shape[0] * width);
    if (!s) {
        assert_true(r->count < MAX_STAGES);
        s = &r->stages[r->count++];
        snprintf(s->name, sizeof s->name, "%s", name);
        s->width = width;
    }
    assert_int_equal(s->width, width);
    s->data = realloc(s->data, (s->count + count) * sizeof *s->data);
    assert_non_null(s->data);
    memcpy(s->data + s->count, data, count * sizeof *s->data);
    s->count += count;
}

static void record_free(record *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->stages[i].data);
    *r = (record){0};
}

/* ------------------------------------------------------------------ golden cases */

/* Within 3e-5 of the largest value: at 1e-4 the tanh form of GELU would pass for the erf form. */
static void compare(const char *folder, const char *name, const float *got, const float *expected, size_t count)
{
    float largest = 0.0f, worst = 0.0f;
    for (size_t i = 0; i < count; i++)
        largest = fabsf(expected[i]) > largest ? fabsf(expected[i]) : largest;
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(got[i]));
        worst = fabsf(got[i] - expected[i]) > worst ? fabsf(got[i] - expected[i]) : worst;
    }
    if (worst > 3e-5f * largest)
        fail_msg("%s %s: differs by %.3g of the largest value %.9g", folder, name, (double)(worst / largest), (double)largest);
}

static const char *const stage_names[] = {"tower_conv2d1", "tower_conv2d2", "tower_conv2d3", "tower_stem", "tower_embed",
                                          "tower_layer_0", "tower_layer_1", "tower_ln_post", "tower_out"};
enum { N_STAGE_NAMES = sizeof stage_names / sizeof *stage_names };

static bool load_if_there(const char *folder, const char *name, npy_array *array)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s.npy", TEST_DATA, folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    fclose(file);
    *array = npy_load(path);
    return true;
}

typedef struct golden_case {
    const char *folder;
    bool full;
    int stages;           /* arrays of stages that the folder holds */
    int64_t frames;       /* rows: pl_tower_tokens of them */
    const char *clips[3]; /* the sound; none: the folder brings its mel */
    int repeats;
} golden_case;

static const golden_case cases[] = {
    {"asr_tower_a_tiny", true, 9, 12, {NULL}, 0},
    {"asr_tower_a_bells", true, 6, 57, {"bells"}, 1},
    {"asr_tower_a_hum", true, 6, 100, {"hum"}, 1},
    {"asr_tower_a_bursts", false, 6, 105, {"bursts"}, 1},
    {"asr_tower_a_chirp", false, 6, 130, {"chirp"}, 1},
    {"asr_tower_a_long_full", true, 1, 1176, {"long"}, 3},
    {"asr_tower_a_long_windowed", false, 3, 1176, {"long"}, 3},
    {"asr_tower_b_tiny", false, 6, 12, {NULL}, 0},
    {"asr_tower_b_chirp", true, 6, 130, {"chirp"}, 1},
    {"asr_tower_b_long_windowed", false, 1, 1176, {"long"}, 3},
};

static const float *long_mel(int64_t *frames)
{
    static const char *const clips[] = {"chirp", "bells", "bursts", "hum"};
    static float *mel;
    static int64_t count;
    if (!mel) {
        clip_audio audio = {0};
        for (int i = 0; i < 12; i++)
            clip_append(&audio, clips[i % 4]);
        mel = clip_mel(&audio, &count);
        free(audio.samples);
    }
    *frames = count;
    return mel;
}

/* The case's mel, the caller's to free. */
static float *case_mel(const golden_case *c, int64_t *frames)
{
    npy_array stored;
    const float *from;
    clip_audio audio = {0};
    if (c->clips[0] && strcmp(c->clips[0], "long") != 0) {
        clip_append(&audio, c->clips[0]);
        float *mel = clip_mel(&audio, frames);
        free(audio.samples);
        return mel;
    }
    if (!c->clips[0]) {
        assert_true(load_if_there(c->folder, "mel", &stored));
        *frames = stored.shape[0];
        from = stored.f;
    } else {
        from = long_mel(frames);
    }
    float *mel = malloc((size_t)*frames * MELS * sizeof *mel);
    assert_non_null(mel);
    memcpy(mel, from, (size_t)*frames * MELS * sizeof *mel);
    if (!c->clips[0])
        npy_free(&stored);
    return mel;
}

/* [tokens][out], the caller's to free. */
static float *run_tower(tower_fixture *f, const float *mel, int64_t frames, bool full, record *r)
{
    parley_error error;
    pl_tower_options options = {.full_attention = full};
    if (r)
        options.tap = (pl_tap){on_tap, r};
    float *out = calloc((size_t)(pl_tower_tokens(&f->shape, frames) * f->shape.out), sizeof *out);
    assert_non_null(out);
    tower_fixture_need(pl_tower_run(&f->compute, f->tower, mel, frames, &options, out, &error), &error);
    return out;
}

static void check_case(tower_fixture *f, const golden_case *c)
{
    int64_t frames;
    float *mel = case_mel(c, &frames);
    record r = {0};
    int seen = 0;
    assert_int_equal(frames, c->frames);
    float *out = run_tower(f, mel, frames, c->full, &r);
    for (int i = 0; i < N_STAGE_NAMES; i++) {
        npy_array expected;
        if (!load_if_there(c->folder, stage_names[i], &expected))
            continue;
        stage *s = find_stage(&r, stage_names[i]);
        assert_non_null(s);
        assert_int_equal(s->count, expected.count);
        compare(c->folder, stage_names[i], s->data, expected.f, s->count);
        npy_free(&expected);
        seen++;
    }
    assert_int_equal(seen, c->stages);
    stage *last = find_stage(&r, "tower_out");
    assert_memory_equal(last->data, out, last->count * sizeof *out);
    record_free(&r);
    free(out);
    free(mel);
}

/* Levels to test: the scalar one and the best that this build has for this processor. */
static int levels(parley_cpu *list)
{
    parley_cpu best;
    parley_error error;
    list[0] = PARLEY_CPU_SCALAR;
    tower_fixture_need(pl_cpu_choose(PARLEY_CPU_BEST, &best, &error), &error);
    list[1] = best;
    return best != PARLEY_CPU_SCALAR && pl_kernels_for(best) ? 2 : 1;
}

static parley_cpu best_level(void)
{
    parley_cpu list[2];
    return list[levels(list) - 1];
}

static void test_golden(void **state)
{
    (void)state;
    parley_cpu list[2];
    int n = levels(list);
    for (int l = 0; l < n; l++)
        for (const char *const *model = (const char *const[]){"asr_a", "asr_b", NULL}; *model; model++) {
            tower_fixture *f = tower_fixture_open(*model, list[l], 2);
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (cases[i].folder[10] == (*model)[4] && (list[l] == list[n - 1] || cases[i].frames < 200)) /* scalar is slow */
                    check_case(f, &cases[i]);
            tower_fixture_close(f);
        }
}

/* ------------------------------------------------------------------ agreement with itself */

static void same_rows(const float *a, const float *b, int64_t rows, int64_t width)
{
    assert_memory_equal(a, b, (size_t)(rows * width) * sizeof *a);
}

static void test_threads(void **state)
{
    (void)state;
    int64_t frames;
    const float *mel = long_mel(&frames);
    for (int full = 0; full < 2; full++) {
        float *reference = NULL;
        for (int threads = 1; threads <= 4; threads *= 2) {
            tower_fixture *f = tower_fixture_open("asr_a", best_level(), threads);
            float *out = run_tower(f, mel, frames, full, NULL);
            if (reference)
                same_rows(out, reference, pl_tower_tokens(&f->shape, frames), f->shape.out);
            else
                reference = out;
            if (out != reference)
                free(out);
            tower_fixture_close(f);
        }
        free(reference);
    }
}

/* Windows see nothing of each other: one alone gives the bits that it has in the clip. Whole attention differs. */
static void test_window_alone(void **state)
{
    (void)state;
    int64_t frames;
    const float *mel = long_mel(&frames);
    tower_fixture *f = tower_fixture_open("asr_b", best_level(), 2);
    float *whole = run_tower(f, mel, frames, false, NULL), *first = run_tower(f, mel, 800, false, NULL),
          *second = run_tower(f, mel + (int64_t)800 * MELS, frames - 800, false, NULL), *full = run_tower(f, mel, frames, true, NULL);
    same_rows(first, whole, 104, f->shape.out);
    same_rows(second, whole + (int64_t)104 * f->shape.out, 49, f->shape.out);
    assert_memory_not_equal(full, whole, (size_t)(153 * f->shape.out) * sizeof *full);
    free(whole), free(first), free(second), free(full);
    tower_fixture_close(f);
}

/* Up to a window both kinds of attention are one. */
static void test_short_is_full(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 8, 9, 99, 100, 101, 799, 800};
    int64_t frames;
    const float *mel = long_mel(&frames);
    tower_fixture *f = tower_fixture_open("asr_a", best_level(), 2);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        float *windowed = run_tower(f, mel, lengths[i], false, NULL), *full = run_tower(f, mel, lengths[i], true, NULL);
        same_rows(windowed, full, pl_tower_tokens(&f->shape, lengths[i]), f->shape.out);
        free(windowed), free(full);
    }
    tower_fixture_close(f);
}

/* The work space of a long clip is that of a window, and taps change nothing. */
static void test_work_space(void **state)
{
    (void)state;
    int64_t frames;
    const float *mel = long_mel(&frames);
    tower_fixture *f = tower_fixture_open("asr_a", best_level(), 2);
    free(run_tower(f, mel, 800, false, NULL));
    size_t held = f->compute.step.held, most = f->compute.step.high_water;
    float *out = run_tower(f, mel, frames, false, NULL);
    assert_int_equal(f->compute.step.held, held);
    assert_int_equal(f->compute.step.high_water, most);
    assert_int_equal(f->compute.step.used, 0);
    record r = {0};
    float *tapped = run_tower(f, mel, frames, false, &r);
    same_rows(tapped, out, 153, f->shape.out);
    assert_null(find_stage(&r, "tower_conv2d1"));
    record_free(&r);
    free(out), free(tapped);
    tower_fixture_close(f);
}

/* ------------------------------------------------------------------ frames to rows */

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        int64_t frames, tokens;
    } examples[] = {{1, 1}, {8, 1}, {9, 2}, {50, 7}, {99, 13}, {100, 13}, {101, 14}, {800, 104}, {801, 105}, {3000, 390}, {120000, 15600}};
    pl_tower_shape shape = tower_fixture_shape("asr_a");
    for (int64_t n = 0; n <= 5000; n++)
        assert_int_equal(pl_tower_tokens(&shape, n), 13 * (n / 100) + (n % 100 + 7) / 8);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        assert_int_equal(pl_tower_tokens(&shape, examples[i].frames), examples[i].tokens);
    shape.window = 100;
    assert_int_equal(pl_tower_tokens(&shape, 399), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),        cmocka_unit_test(test_threads),    cmocka_unit_test(test_window_alone),
        cmocka_unit_test(test_short_is_full), cmocka_unit_test(test_work_space), cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
