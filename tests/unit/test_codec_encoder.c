/* The codec encoder against stored results of the official package (golden codec_a, codec_b), and against itself: pieces, threads, faults. */
#include "codec/encoder_parts.h"
#include "limit_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/random.h"
#include "support/stages.h"

/* ------------------------------------------------------------------ sounds */

typedef struct sound {
    float *pcm;
    int64_t samples;
} sound;

/* `samples` of the model's 16-bit mix.wav, from `start` on. */
static sound cut_of_mix(const char *model, int64_t start, int64_t samples)
{
    enum { HEADER = 44 };
    char path[1024];
    size_t size;
    snprintf(path, sizeof path, "%s/%s/audio/mix.wav", TEST_DATA, model);
    char *bytes = npy_read_file(path, &size);
    const unsigned char *at = (const unsigned char *)bytes + HEADER + 2 * start;
    assert_memory_equal(bytes + 36, "data", 4);
    assert_in_range(HEADER + 2 * (start + samples), HEADER, size);
    sound s = {malloc((size_t)samples * sizeof(float)), samples};
    assert_non_null(s.pcm);
    for (int64_t i = 0; i < samples; i++)
        s.pcm[i] = (float)(int16_t)(uint16_t)(at[2 * i] | at[2 * i + 1] << 8) / 32768.0f;
    free(bytes);
    return s;
}

static sound random_sound(int64_t samples)
{
    test_random r = {7};
    sound s = {malloc((size_t)samples * sizeof(float)), samples};
    assert_non_null(s.pcm);
    for (int64_t i = 0; i < samples; i++)
        s.pcm[i] = test_float(&r, 0.5f);
    return s;
}

/* ------------------------------------------------------------------ encoding */

typedef struct codes {
    int32_t *data;
    size_t count; /* frames * groups */
} codes;

static codes new_codes(const codec_fixture *f, int64_t samples)
{
    int64_t frames = pl_codec_encoder_frames(f->encoder, samples);
    assert_int_equal(frames, (samples + 1919) / 1920);
    codes c = {malloc((size_t)(frames * f->config.encoder.groups) * sizeof(int32_t)), (size_t)(frames * f->config.encoder.groups)};
    assert_non_null(c.data);
    return c;
}

/* `pieces` NULL: as they are. */
static codes encode(codec_fixture *f, const sound *s, const encoder_pieces *pieces, const pl_tap *tap)
{
    parley_error error;
    codes c = new_codes(f, s->samples);
    encoder_run run = {.compute = &f->compute, .encoder = f->encoder, .pieces = pieces, .tap = tap, .error = &error, .pcm = s->pcm};
    bool int8 = f->compute.int8;
    if (pieces)
        codec_fixture_need(pl_encoder_run_pieces(&run, s->samples, c.data), &error);
    else
        codec_fixture_need(pl_codec_encode(&f->compute, f->encoder, s->pcm, s->samples, c.data, NULL, tap, &error), &error);
    assert_int_equal(f->compute.int8, int8);
    return c;
}

/* ------------------------------------------------------------------ golden cases */

typedef struct golden_case {
    const char *model, *name;
    int64_t start, samples; /* of mix.wav; samples 0: audio.npy */
    int stages;             /* arrays that the folder holds besides codes and audio */
} golden_case;

static const golden_case cases[] = {
    {"codec_a", "encode_1", 7919, 1, 6},       {"codec_a", "encode_1280", 2320, 1280, 6},  {"codec_a", "encode_1919", 4561, 1919, 6},
    {"codec_a", "encode_1920", 3480, 1920, 6}, {"codec_a", "encode_1921", 2399, 1921, 15}, {"codec_a", "encode_3841", 5879, 3841, 6},
    {"codec_a", "encode_48000", 0, 48000, 6},  {"codec_a", "encode_float", 0, 0, 6},       {"codec_b", "encode_1921", 2399, 1921, 5},
    {"codec_b", "encode_20000", 0, 20000, 5},
};

static sound sound_of(const golden_case *c, const char *folder)
{
    if (c->samples)
        return cut_of_mix(c->model, c->start, c->samples);
    npy_array audio = load(folder, "audio");
    sound s = {malloc(audio.count * sizeof(float)), (int64_t)audio.count};
    assert_non_null(s.pcm);
    memcpy(s.pcm, audio.f, audio.count * sizeof(float));
    npy_free(&audio);
    return s;
}

static void check_stages(record *r, const char *folder, const golden_case *c)
{
    static const char *const names[] = {"conv0", "res0",  "down0",     "res1",      "down1", "res2",        "down2",      "res3",
                                        "down3", "conv1", "tf_layer0", "tf_layer1", "frame", "semantic_in", "acoustic_in"};
    int seen = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!has(folder, names[i]))
            continue;
        stage *s = find_stage(r, names[i]);
        if (!s)
            fail_msg("%s: no tap %s", folder, names[i]);
        compare_array(folder, names[i], s->data, s->count);
        seen++;
    }
    assert_int_equal(seen, c->stages);
}

static void check_case(codec_fixture *f, const golden_case *c)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%s/%s", c->model, c->name);
    sound s = sound_of(c, folder);
    record r = {0};
    codes got = encode(f, &s, NULL, &(pl_tap){on_tap, &r});
    npy_array expected = load(folder, "codes");
    check_stages(&r, folder, c);
    assert_int_equal(got.count, expected.count);
    for (size_t i = 0; i < got.count; i++)
        if (got.data[i] != expected.i[i])
            fail_msg("%s: code %zu is %d, not %d", folder, i, (int)got.data[i], (int)expected.i[i]);
    npy_free(&expected);
    record_free(&r);
    free(got.data);
    free(s.pcm);
}

static void test_golden(void **state)
{
    (void)state;
    parley_cpu list[2];
    int n = levels(list);
    for (int l = 0; l < n; l++)
        for (const char *const *model = (const char *const[]){"codec_a", "codec_b", NULL}; *model; model++) {
            codec_fixture *f = encoder_fixture_open(*model, list[l], 2);
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (strcmp(cases[i].model, *model) == 0)
                    check_case(f, &cases[i]);
            codec_fixture_close(f);
        }
}

/* ------------------------------------------------------------------ pieces and threads */

static void assert_same_run(record *a, const codes *x, record *b, const codes *y)
{
    assert_int_equal(x->count, y->count);
    assert_memory_equal(x->data, y->data, x->count * sizeof *x->data);
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        stage *s = find_stage(b, a->stages[i].name);
        assert_non_null(s);
        assert_int_equal(s->count, a->stages[i].count);
        if (memcmp(s->data, a->stages[i].data, s->count * sizeof *s->data) != 0)
            fail_msg("%s has other bits", s->name);
    }
}

/* Every stage and code, bit by bit, however the work is cut; lengths that end inside a row of each stage, and on its edge. */
static void check_pieces(parley_cpu level)
{
    static const encoder_pieces pieces[] = {{1, 1, 1, 1},    {1, 3, 2, 3},          {700, 1, 5, 2},
                                            {5000, 2, 7, 4}, {1 << 20, 500, 64, 1}, {40000, 7, 1000, 1000}};
    static const int64_t lengths[] = {1, 2, 5, 19, 120, 121, 959, 960, 961, 2879, 9601, 18001};
    codec_fixture *f = encoder_fixture_open("codec_a", level, 2);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths - (level == PARLEY_CPU_SCALAR); l++) {
        sound s = random_sound(lengths[l]);
        record a = {0};
        codes x = encode(f, &s, NULL, &(pl_tap){on_tap, &a}), untapped = encode(f, &s, NULL, NULL);
        assert_memory_equal(x.data, untapped.data, x.count * sizeof *x.data);
        free(untapped.data);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            record b = {0};
            codes y = encode(f, &s, &pieces[i], &(pl_tap){on_tap, &b});
            assert_same_run(&a, &x, &b, &y);
            record_free(&b);
            free(y.data);
        }
        record_free(&a);
        free(x.data);
        free(s.pcm);
    }
    codec_fixture_close(f);
}

static void test_pieces(void **state)
{
    (void)state;
    parley_cpu list[2];
    int n = levels(list);
    for (int l = 0; l < n; l++)
        check_pieces(list[l]);
}

static void test_threads(void **state)
{
    (void)state;
    parley_cpu list[2];
    int n = levels(list);
    for (int l = 0; l < n; l++) {
        sound s = cut_of_mix("codec_a", 100, 8000);
        record first = {0};
        codes x = {0};
        for (int threads = 1; threads <= 4; threads *= 2) {
            codec_fixture *f = encoder_fixture_open("codec_a", list[l], threads);
            record r = {0};
            codes y = encode(f, &s, NULL, &(pl_tap){on_tap, &r});
            if (threads == 1) {
                first = r;
                x = y;
            } else {
                assert_same_run(&first, &x, &r, &y);
                record_free(&r);
                free(y.data);
            }
            codec_fixture_close(f);
        }
        record_free(&first);
        free(x.data);
        free(s.pcm);
    }
}

/* What comes later cannot change a complete frame, but for the one whose end the replicated row stands in for. */
static void test_causal(void **state)
{
    (void)state;
    codec_fixture *f = encoder_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    sound s = cut_of_mix("codec_a", 0, 4 * 1920);
    codes whole = encode(f, &s, NULL, NULL);
    s.samples = 2 * 1920;
    codes part = encode(f, &s, NULL, NULL);
    assert_memory_equal(whole.data, part.data, part.count * sizeof *part.data);
    free(whole.data);
    free(part.data);
    free(s.pcm);
    codec_fixture_close(f);
}

/* ------------------------------------------------------------------ other forms of the weights */

static float *copy_of(pl_arena *arena, pl_tensor *tensor)
{
    int64_t count = pl_tensor_values(tensor);
    float *values = PL_NEW_ARRAY(arena, float, count);
    assert_non_null(values);
    assert_int_equal(tensor->type, PL_F32);
    memcpy(values, tensor->data, (size_t)count * sizeof *values);
    tensor->data = values;
    return values;
}

static void load_again(pl_arena *arena, codec_fixture *f)
{
    parley_error error;
    pl_loader loader = {.arena = arena, .pool = f->pool};
    codec_fixture_need(pl_codec_encoder_load(&loader, &f->config.encoder, &f->tensors.encoder, &f->encoder, &error), &error);
    assert_true(loader.packed_bytes > 0);
}

/* Codebooks of final rows give the same codes. Of equal rows the first is taken. */
static void test_codebooks(void **state)
{
    (void)state;
    codec_fixture *f = encoder_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 20);
    sound s = cut_of_mix("codec_a", 0, 3840);
    codes expected = encode(f, &s, NULL, NULL);
    int width = f->config.encoder.codebook_width, size = f->config.encoder.codebook_size, groups = f->config.encoder.groups;
    float *rows = NULL;
    for (int g = 0; g < groups; g++) {
        const float *counts = f->tensors.encoder.usages[g].data;
        rows = copy_of(&arena, &f->tensors.encoder.codebooks[g]);
        for (int i = 0; i < size * width; i++)
            rows[i] /= fmaxf(counts[i / width], 1e-5f);
        f->tensors.encoder.usages[g] = (pl_tensor){0};
    }
    load_again(&arena, f);
    codes got = encode(f, &s, NULL, NULL);
    assert_memory_equal(expected.data, got.data, got.count * sizeof *got.data);
    free(got.data);
    int32_t chosen = expected.data[groups - 1], other = chosen ? 0 : 1;
    memcpy(rows + other * width, rows + chosen * width, (size_t)width * sizeof *rows); /* the last group: nothing hangs on it */
    load_again(&arena, f);
    got = encode(f, &s, NULL, NULL);
    assert_int_equal(got.data[groups - 1], chosen < other ? chosen : other);
    free(got.data);
    free(expected.data);
    free(s.pcm);
    pl_arena_free(&arena);
    codec_fixture_close(f);
}

/* A semantic code alone needs no acoustic projection. */
static void test_one_group(void **state)
{
    (void)state;
    codec_fixture *f = encoder_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 20);
    sound s = cut_of_mix("codec_a", 0, 3840);
    codes all = encode(f, &s, NULL, NULL);
    int groups = f->config.encoder.groups;
    f->config.encoder.groups = 1;
    f->tensors.encoder.acoustic_in = (pl_tensor){0};
    load_again(&arena, f);
    codes one = encode(f, &s, NULL, NULL);
    assert_int_equal(one.count, 2);
    assert_int_equal(one.data[0], all.data[0]);
    assert_int_equal(one.data[1], all.data[groups]);
    free(all.data);
    free(one.data);
    free(s.pcm);
    pl_arena_free(&arena);
    codec_fixture_close(f);
}

/* ------------------------------------------------------------------ faults */

static void expect_fault(codec_fixture *f, const sound *s, parley_status status, const char *text)
{
    parley_error error = {0};
    codes c = new_codes(f, s->samples);
    assert_int_equal(pl_codec_encode(&f->compute, f->encoder, s->pcm, s->samples, c.data, NULL, NULL, &error), status);
    assert_non_null(strstr(error.text, text));
    free(c.data);
}

static void test_bad_samples(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    codec_fixture *f = encoder_fixture_open("codec_b", PARLEY_CPU_SCALAR, 1);
    sound s = random_sound(2000);
    codes before = encode(f, &s, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        sound broken = random_sound(2000);
        broken.pcm[1 + i * 999] = bad[i];
        expect_fault(f, &broken, PARLEY_VALUE, i == 0 ? "sample 1 " : i == 1 ? "sample 1000 " : "sample 1999 ");
        free(broken.pcm);
    }
    parley_error error;
    assert_int_equal(pl_codec_encode(&f->compute, f->encoder, s.pcm, 0, before.data, NULL, NULL, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_codec_encoder_frames(f->encoder, 0), 0);
    assert_int_equal(pl_codec_encoder_frames(f->encoder, INT64_MAX), INT64_MAX / 1920 + 1);
    codes after = encode(f, &s, NULL, NULL);
    assert_memory_equal(before.data, after.data, after.count * sizeof *after.data);
    free(before.data);
    free(after.data);
    free(s.pcm);
    codec_fixture_close(f);
}

/* Weights that are not finite are told by the frame that they spoil; a codebook's row alone is never chosen. */
static void test_not_finite(void **state)
{
    (void)state;
    codec_fixture *f = encoder_fixture_open("codec_b", PARLEY_CPU_SCALAR, 1);
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 20);
    sound s = random_sound(2 * 1920);
    codes before = encode(f, &s, NULL, NULL);
    int32_t unused = 0;
    while (unused == before.data[0] || unused == before.data[f->config.encoder.groups])
        unused++;
    copy_of(&arena, &f->tensors.encoder.codebooks[0])[unused * f->config.encoder.codebook_width] = NAN;
    load_again(&arena, f);
    codes after = encode(f, &s, NULL, NULL);
    assert_memory_equal(before.data, after.data, after.count * sizeof *after.data);
    copy_of(&arena, &f->tensors.encoder.acoustic_in)[3] = NAN;
    load_again(&arena, f);
    expect_fault(f, &s, PARLEY_VALUE, "frame 0: the encoded sound is not finite (group 1)");
    free(before.data);
    free(after.data);
    free(s.pcm);
    pl_arena_free(&arena);
    codec_fixture_close(f);
}

typedef struct canceller {
    const char *at;
    bool seen;
} canceller;

static void cancel_at(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    canceller *c = context;
    (void)type, (void)data, (void)shape, (void)rank;
    if (strcmp(name, c->at) == 0)
        c->seen = true;
}

static bool is_cancelled(void *context)
{
    return ((const canceller *)context)->seen;
}

static void test_cancel(void **state)
{
    (void)state;
    static const char *const places[] = {"conv0", "down1", "conv1", "tf_layer0", "frame"};
    codec_fixture *f = encoder_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    sound s = random_sound(3000);
    codes c = new_codes(f, s.samples);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        canceller cancel = {.at = places[i]};
        parley_error error = {0};
        assert_int_equal(pl_codec_encode(&f->compute, f->encoder, s.pcm, s.samples, c.data, &(pl_stop){is_cancelled, &cancel},
                                         &(pl_tap){cancel_at, &cancel}, &error),
                         PARLEY_CANCELLED);
        assert_true(cancel.seen);
    }
    free(c.data);
    free(s.pcm);
    codec_fixture_close(f);
}

/* Each allocation of a run fails once; then nothing is left behind. */
static void test_out_of_memory(void **state)
{
    (void)state;
    codec_fixture *f = encoder_fixture_open("codec_b", PARLEY_CPU_SCALAR, 1);
    sound s = random_sound(3000);
    codes expected = encode(f, &s, NULL, NULL), c = new_codes(f, s.samples);
    size_t calls = 0;
    for (parley_status status = PARLEY_MEMORY; status != PARLEY_OK; calls++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
        parley_allocator allocator = limit_interface(&limit);
        pl_compute compute;
        parley_error error;
        codec_fixture_need(pl_compute_open(&allocator, f->compute.k, f->pool, true, &compute, &error), &error);
        limit.left = calls;
        status = pl_codec_encode(&compute, f->encoder, s.pcm, s.samples, c.data, NULL, NULL, &error);
        assert_true(status == PARLEY_OK || status == PARLEY_MEMORY);
        pl_compute_close(&compute);
        assert_int_equal(limit.held, 0);
    }
    assert_in_range(calls, 4, 100);
    assert_memory_equal(expected.data, c.data, c.count * sizeof *c.data);
    free(expected.data);
    free(c.data);
    free(s.pcm);
    codec_fixture_close(f);
}

static void test_load_out_of_memory(void **state)
{
    (void)state;
    codec_fixture *f = encoder_fixture_open("codec_b", PARLEY_CPU_SCALAR, 1);
    size_t calls = 0;
    for (parley_status status = PARLEY_MEMORY; status != PARLEY_OK; calls++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = calls};
        parley_allocator allocator = limit_interface(&limit);
        pl_arena arena;
        pl_codec_encoder *encoder;
        parley_error error;
        pl_arena_init(&arena, &allocator, 16384);
        pl_loader loader = {.arena = &arena};
        status = pl_codec_encoder_load(&loader, &f->config.encoder, &f->tensors.encoder, &encoder, &error);
        assert_true(status == PARLEY_OK || status == PARLEY_MEMORY);
        pl_arena_free(&arena);
        assert_int_equal(limit.held, 0);
    }
    assert_in_range(calls, 20, 1000);
    codec_fixture_close(f);
}

/* Work space beyond the samples' own rows does not grow with the sound: longer ones take what its transformer's rows and cache take. */
static void test_memory(void **state)
{
    (void)state;
    parley_cpu list[2];
    parley_cpu level = list[levels(list) - 1];
    if (level == PARLEY_CPU_SCALAR)
        skip();
    codec_fixture *f = encoder_fixture_open("codec_a", level, 2);
    const pl_transformer_shape *t = &f->config.encoder.transformer;
    size_t most[2];
    for (int i = 0; i < 2; i++) {
        sound s = random_sound((i == 0 ? 40 : 90) * 24000);
        codes c = new_codes(f, s.samples);
        limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
        parley_allocator allocator = limit_interface(&limit);
        pl_compute compute;
        parley_error error;
        codec_fixture_need(pl_compute_open(&allocator, f->compute.k, f->pool, true, &compute, &error), &error);
        codec_fixture_need(pl_codec_encode(&compute, f->encoder, s.pcm, s.samples, c.data, NULL, NULL, &error), &error);
        most[i] = limit.most;
        pl_compute_close(&compute);
        free(c.data);
        free(s.pcm);
    }
    size_t a_row = (size_t)(t->width + t->width / 2 + 2 * t->kv_heads * t->head + 1) * sizeof(float);
    assert_in_range(most[1], most[0], most[0] + 50 * 25 * a_row + (1 << 18));
    codec_fixture_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_causal),
        cmocka_unit_test(test_codebooks),
        cmocka_unit_test(test_one_group),
        cmocka_unit_test(test_bad_samples),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_load_out_of_memory),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
