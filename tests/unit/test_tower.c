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
    assert_true(rank == 2 || rank == 3); /* three: time, channel, frequency */
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
    int stages;       /* arrays of stages that the folder holds */
    int64_t frames;   /* rows: pl_tower_tokens of them */
    const char *clip; /* the sound; "long": all clips three times; NULL: the folder brings its mel */
} golden_case;

static const golden_case cases[] = {
    {"asr_tower_a_tiny", true, 9, 12, NULL},
    {"asr_tower_a_bells", true, 6, 57, "bells"},
    {"asr_tower_a_hum", true, 6, 100, "hum"},
    {"asr_tower_a_bursts", false, 6, 105, "bursts"},
    {"asr_tower_a_chirp", false, 6, 130, "chirp"},
    {"asr_tower_a_long_full", true, 1, 1176, "long"},
    {"asr_tower_a_long_windowed", false, 3, 1176, "long"},
    {"asr_tower_b_tiny", false, 6, 12, NULL},
    {"asr_tower_b_chirp", true, 6, 130, "chirp"},
    {"asr_tower_b_long_windowed", false, 1, 1176, "long"},
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
    if (c->clip && strcmp(c->clip, "long") != 0) {
        clip_append(&audio, c->clip);
        float *mel = clip_mel(&audio, frames);
        free(audio.samples);
        return mel;
    }
    if (!c->clip) {
        assert_true(load_if_there(c->folder, "mel", &stored));
        *frames = stored.shape[0];
        from = stored.f;
    } else {
        from = long_mel(frames);
    }
    float *mel = malloc((size_t)*frames * MELS * sizeof *mel);
    assert_non_null(mel);
    memcpy(mel, from, (size_t)*frames * MELS * sizeof *mel);
    if (!c->clip)
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

enum { MAX_LEVELS = 16 };

/* Levels that this build has for this processor, the strongest last. */
static int levels(parley_cpu *list)
{
    static const parley_cpu all[] = {PARLEY_CPU_SCALAR, PARLEY_CPU_AVX2, PARLEY_CPU_AVX512,  PARLEY_CPU_AVX512VNNI,
                                     PARLEY_CPU_AMX,    PARLEY_CPU_NEON, PARLEY_CPU_DOTPROD, PARLEY_CPU_I8MM};
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (pl_cpu_has(all[i]) && pl_kernels_for(all[i]))
            list[n++] = all[i];
    return n;
}

static parley_cpu best_level(void)
{
    parley_cpu list[MAX_LEVELS];
    return list[levels(list) - 1];
}

static void test_golden(void **state)
{
    (void)state;
    parley_cpu list[MAX_LEVELS];
    int n = levels(list);
    for (int l = 0; l < n; l++)
        for (const char *const *model = (const char *const[]){"asr_a", "asr_b", NULL}; *model; model++) {
            tower_fixture *f = tower_fixture_open(*model, list[l], 2);
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (cases[i].folder[10] == (*model)[4] && (list[l] != PARLEY_CPU_SCALAR || cases[i].frames < 200)) /* scalar is slow */
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
    float *twice = calloc((size_t)frames * 2 * MELS, sizeof *twice);
    assert_non_null(twice);
    memcpy(twice, mel, (size_t)frames * MELS * sizeof *twice);
    memcpy(twice + frames * MELS, mel, (size_t)frames * MELS * sizeof *twice);
    free(run_tower(f, twice, 1600, false, NULL));
    size_t held = f->compute.step.held, most = f->compute.step.high_water;
    free(run_tower(f, twice, frames * 2, false, NULL));
    float *out = run_tower(f, mel, frames, false, NULL);
    assert_int_equal(f->compute.step.held, held);
    assert_int_equal(f->compute.step.high_water, most);
    assert_int_equal(f->compute.step.used, 0);
    record r = {0};
    float *tapped = run_tower(f, mel, frames, false, &r);
    same_rows(tapped, out, 153, f->shape.out);
    assert_null(find_stage(&r, "tower_conv2d1"));
    record_free(&r);
    free(out), free(tapped), free(twice);
    tower_fixture_close(f);
}

/* ------------------------------------------------------------------ other geometry and types */

enum { ODD_MELS = 24, ODD_CHANNELS = 5, ODD_CHUNK = 14 };

/* Values that float16 and bfloat16 hold exactly. */
static float small_value(int i)
{
    return (float)((i * 37 + i / 7 * 11) % 31 - 15) / 64.0f;
}

/* [count] of the type, the arena's. */
static pl_tensor make_tensor(pl_arena *arena, pl_type type, int rank, const int64_t *sizes, int seed)
{
    pl_tensor t = {.type = type, .rank = rank};
    memcpy(t.shape, sizes, (size_t)rank * sizeof *sizes);
    int64_t count = pl_tensor_values(&t);
    t.bytes = pl_row_bytes(type, count);
    float *values = PL_NEW_ARRAY(arena, float, count);
    void *data = pl_arena_alloc(arena, t.bytes, 1);
    assert_true(values && data);
    for (int i = 0; i < count; i++)
        values[i] = small_value(i + seed);
    if (type == PL_F32)
        memcpy(data, values, t.bytes);
    else
        pl_quantize(type, values, count, data);
    t.data = data;
    return t;
}

static pl_conv_tensors make_pair(pl_arena *arena, pl_type type, int64_t out, int64_t in, bool conv)
{
    pl_conv_tensors pair = {make_tensor(arena, type, conv ? 4 : 2, (int64_t[]){out, in, 3, 3}, (int)(out + in)),
                            make_tensor(arena, PL_F32, 1, &out, 5)};
    return pair;
}

static pl_conv_tensors make_norm(pl_arena *arena, int64_t width)
{
    return (pl_conv_tensors){make_tensor(arena, PL_F32, 1, &width, 1), make_tensor(arena, PL_F32, 1, &width, 2)};
}

static void odd_tensors(pl_arena *arena, pl_type type, const pl_tower_shape *s, pl_tower_tensors *t)
{
    for (int i = 0; i < PL_TOWER_CONVS; i++)
        t->convs[i] = make_pair(arena, type, s->channels, i ? s->channels : 1, true);
    t->conv_out = make_pair(arena, type, s->width, s->channels * s->mels / 8, false).weight;
    for (int i = 0; i < s->layers; i++) {
        struct pl_tower_block_tensors *b = &t->blocks[i];
        b->norm1 = b->norm2 = make_norm(arena, s->width);
        b->q = b->k = b->v = b->o = make_pair(arena, type, s->width, s->width, false);
        b->fc1 = make_pair(arena, type, s->ffn, s->width, false);
        b->fc2 = make_pair(arena, type, s->width, s->ffn, false);
    }
    t->ln_post = make_norm(arena, s->width);
    t->proj1 = make_pair(arena, type, s->width, s->width, false);
    t->proj2 = make_pair(arena, type, s->out, s->width, false);
}

/* A convolution by its definition: x [in][bands][time] -> y before GELU [out][bands'][time'], sums in double. */
static void plain_conv(const double *x, int in, int bands, int time, int out, int seed, double *y)
{
    int to_bands = (bands - 1) / 2 + 1, to_time = (time - 1) / 2 + 1;
    for (int o = 0; o < out; o++)
        for (int b = 0; b < to_bands; b++)
            for (int t = 0; t < to_time; t++) {
                double sum = (double)small_value(o + 5);
                for (int i = 0; i < in * 9; i++) {
                    int c = i / 9, from_b = 2 * b + i / 3 % 3 - 1, from_t = 2 * t + i % 3 - 1;
                    if (from_b >= 0 && from_b < bands && from_t >= 0 && from_t < time)
                        sum += (double)small_value(o * in * 9 + i + seed) * x[(c * bands + from_b) * time + from_t];
                }
                y[(o * to_bands + b) * to_time + t] = sum;
            }
}

/* Compares a tap [time][channel][band] with y [channel][band][time]; y becomes GELU(y). */
static void check_conv(record *r, int i, double *y, int bands, int time)
{
    char name[24];
    snprintf(name, sizeof name, "tower_conv2d%d", i + 1);
    stage *s = find_stage(r, name);
    assert_non_null(s);
    assert_int_equal(s->count, ODD_CHANNELS * bands * time);
    for (int j = 0; j < ODD_CHANNELS * bands; j++)
        for (int t = 0; t < time; t++) {
            double *value = &y[j * time + t];
            if (fabs((double)s->data[t * ODD_CHANNELS * bands + j] - *value) > 1e-5)
                fail_msg("%s: row %d, value %d: %.9g, expected %.9g", name, t, j, (double)s->data[t * ODD_CHANNELS * bands + j], *value);
            *value *= 0.5 * (1 + erf(*value * 0.7071067811865476));
        }
}

static void check_stem(record *r, const float *mel, int frames)
{
    double x[ODD_CHANNELS * ODD_MELS * ODD_CHUNK], y[ODD_CHANNELS * ODD_MELS * ODD_CHUNK];
    int bands = ODD_MELS, time = frames;
    for (int b = 0; b < bands; b++)
        for (int t = 0; t < time; t++)
            x[b * time + t] = (double)mel[t * bands + b];
    for (int i = 0; i < PL_TOWER_CONVS; i++) {
        plain_conv(x, i ? ODD_CHANNELS : 1, bands, time, ODD_CHANNELS, ODD_CHANNELS + (i ? ODD_CHANNELS : 1), y);
        bands = (bands - 1) / 2 + 1;
        time = (time - 1) / 2 + 1;
        check_conv(r, i, y, bands, time);
        memcpy(x, y, sizeof x);
    }
}

/* Every length up to a chunk, sizes that fill no panel, weights in three types that hold the same values. */
static void test_odd_stem(void **state)
{
    (void)state;
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16};
    float mel[ODD_MELS * ODD_CHUNK];
    for (int i = 0; i < ODD_MELS * ODD_CHUNK; i++)
        mel[i] = 4 * small_value(3 * i + 1);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        tower_fixture *f = tower_fixture_find_model("asr_a", best_level(), 2, true);
        f->shape = (pl_tower_shape){.mels = ODD_MELS,
                                    .width = 12,
                                    .layers = 1,
                                    .heads = 3,
                                    .ffn = 20,
                                    .out = 7,
                                    .channels = ODD_CHANNELS,
                                    .window = ODD_CHUNK / 2,
                                    .window_infer = 3 * ODD_CHUNK + 5};
        odd_tensors(&f->arena, types[k], &f->shape, &f->tensors);
        tower_fixture_load(f);
        for (int frames = 1; frames <= ODD_CHUNK; frames++) {
            record r = {0};
            float *out = run_tower(f, mel, frames, false, &r);
            check_stem(&r, mel, frames);
            free(out);
            record_free(&r);
        }
        tower_fixture_close(f);
    }
}

/* Shapes that the arithmetic does not cover are refused. */
static void test_bad_shapes(void **state)
{
    (void)state;
    parley_error error;
    tower_fixture *f = tower_fixture_find_model("asr_a", best_level(), 1, true);
    pl_loader loader = {.arena = &f->arena, .pool = f->pool};
    const pl_tower_shape good = f->shape;
    pl_tower_shape bad[] = {good, good, good, good, good, good};
    bad[0].mels = 127, bad[1].channels = 0, bad[2].window = 1 << 20, bad[3].window_infer = 99, bad[4].heads = 3, bad[5].width = 2;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pl_tower_load(&loader, &bad[i], &f->tensors, &f->tower, &error), PARLEY_UNSUPPORTED);
        assert_non_null(strstr(error.text, "audio tower: "));
    }
    tower_fixture_close(f);
}

/* ------------------------------------------------------------------ 8-bit weights */

/* The matrix [out][in] in Q8_0, in the arena. */
static void to_q8(tower_fixture *f, pl_tensor *tensor)
{
    int64_t count = pl_tensor_values(tensor);
    float *values = PL_NEW_ARRAY(&f->arena, float, count);
    pl_dequantize(tensor->type, tensor->data, count, values);
    tensor->type = PL_Q8_0;
    tensor->bytes = pl_row_bytes(PL_Q8_0, count);
    void *data = pl_arena_alloc(&f->arena, tensor->bytes, 1);
    assert_true(values && data);
    pl_quantize(PL_Q8_0, values, count, data);
    tensor->data = data;
}

static tower_fixture *open_q8(bool int8)
{
    tower_fixture *f = tower_fixture_find_model("asr_b", best_level(), 2, int8);
    to_q8(f, &f->tensors.conv_out);
    to_q8(f, &f->tensors.proj1.weight);
    to_q8(f, &f->tensors.proj2.weight);
    for (int i = 0; i < f->shape.layers; i++)
        for (int m = 0; m < 6; m++) {
            struct pl_tower_block_tensors *b = &f->blocks[i];
            to_q8(f, &(pl_conv_tensors *[]){&b->q, &b->k, &b->v, &b->o, &b->fc1, &b->fc2}[m]->weight);
        }
    tower_fixture_load(f);
    return f;
}

static double distance(const float *a, const float *b, int64_t count)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(difference / size);
}

/* 8-bit weights stay near; 8-bit activations change all but the stem's convolutions, and only where they are asked for. */
static void test_q8(void **state)
{
    (void)state;
    int64_t frames;
    const float *mel = long_mel(&frames);
    tower_fixture *exact = tower_fixture_open("asr_b", best_level(), 2), *weights = open_q8(false), *both = open_q8(true);
    float *a = run_tower(exact, mel, frames, false, NULL), *b = run_tower(weights, mel, frames, false, NULL),
          *c = run_tower(both, mel, frames, false, NULL);
    int64_t count = 153 * exact->shape.out;
    assert_true(distance(b, a, count) > 0 && distance(b, a, count) < 0.02);
    assert_true(distance(c, a, count) < 0.03);
    if (both->compute.int8)
        assert_true(distance(c, b, count) > 0);
    free(a), free(b), free(c);
    tower_fixture_close(exact), tower_fixture_close(weights), tower_fixture_close(both);
}

/* ------------------------------------------------------------------ ends before the end */

static atomic_bool cancelled;

static void cancel_at_layer(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    (void)type, (void)data, (void)shape, (void)rank;
    if (strcmp(name, context) == 0)
        atomic_store(&cancelled, true);
}

static void test_cancel(void **state)
{
    (void)state;
    static char at[][16] = {"tower_stem", "tower_layer_0", "tower_out"};
    int64_t frames;
    const float *mel = long_mel(&frames);
    tower_fixture *f = tower_fixture_open("asr_a", best_level(), 2);
    float *twice = calloc((size_t)frames * 2 * MELS, sizeof *twice), *out = calloc(400 * 96, sizeof *out);
    assert_true(twice && out);
    memcpy(twice, mel, (size_t)frames * MELS * sizeof *twice);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        parley_error error;
        pl_tower_options options = {.cancel = &cancelled, .tap = {cancel_at_layer, at[i]}};
        atomic_store(&cancelled, false);
        assert_int_equal(pl_tower_run(&f->compute, f->tower, twice, frames * 2, &options, out, &error), PARLEY_CANCELLED);
        assert_int_equal(f->compute.step.used, 0);
    }
    float *again = run_tower(f, mel, frames, false, NULL);
    assert_true(isfinite(again[0]));
    free(again), free(twice), free(out);
    tower_fixture_close(f);
}

/* Each refused allocation is MEMORY, and all that was taken is given back. */
static void test_memory(void **state)
{
    (void)state;
    int64_t frames;
    const float *mel = long_mel(&frames);
    tower_fixture *f = tower_fixture_open("asr_a", best_level(), 1);
    float *out = calloc(153 * 96, sizeof *out);
    assert_non_null(out);
    int refused = 0;
    for (size_t left = 1;; left++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
        parley_allocator allocator = {.alloc = limit_alloc, .release = limit_release, .context = &limit};
        pl_compute compute;
        parley_error error;
        tower_fixture_need(pl_compute_open(&allocator, f->compute.k, f->pool, true, &compute, &error), &error);
        limit.left = left;
        parley_status status = pl_tower_run(&compute, f->tower, mel, frames, &(pl_tower_options){.full_attention = left % 2}, out, &error);
        pl_compute_close(&compute);
        assert_int_equal(limit.held, 0);
        if (status == PARLEY_OK)
            break;
        assert_int_equal(status, PARLEY_MEMORY);
        refused++;
    }
    assert_true(refused > 3);
    free(out);
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
        cmocka_unit_test(test_golden),     cmocka_unit_test(test_threads), cmocka_unit_test(test_window_alone), cmocka_unit_test(test_short_is_full),
        cmocka_unit_test(test_work_space), cmocka_unit_test(test_tokens),  cmocka_unit_test(test_odd_stem),     cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_q8),         cmocka_unit_test(test_cancel),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
