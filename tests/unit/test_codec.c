/* The codec decoder against stored results of the official package (golden codec_a, codec_b), and against itself: pieces, threads, resets. */
#include "base/cpu.h"
#include "support/codec_fixture.h"
#include "support/npy.h"
#include "limit_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/stages.h"

/* ------------------------------------------------------------------ comparing */

/* `frames` of the PCM, in the array's order; none: the array is the whole. */
static void compare_pcm(const char *folder, const char *name, const float *pcm, size_t samples, const int *frames, int n_frames)
{
    if (n_frames == 0) {
        compare_array(folder, name, pcm, samples);
        return;
    }
    npy_array expected = load(folder, name);
    assert_int_equal(expected.count, n_frames * 1920);
    for (int i = 0; i < n_frames; i++)
        compare(name, pcm + frames[i] * 1920, expected.f + i * 1920, 1920, 1.0f);
    npy_free(&expected);
}

/* Mean, root mean square and largest magnitude of each frame. */
static void compare_stats(const char *folder, const char *name, const float *pcm, int64_t frames)
{
    float *stats = malloc((size_t)frames * 3 * sizeof *stats);
    assert_non_null(stats);
    for (int64_t t = 0; t < frames; t++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < 1920; i++) {
            double x = (double)pcm[t * 1920 + i];
            sum += x;
            squares += x * x;
        }
        stats[t * 3] = (float)(sum / 1920);
        stats[t * 3 + 1] = (float)sqrt(squares / 1920);
        stats[t * 3 + 2] = largest_of(pcm + t * 1920, 1920);
    }
    compare_array(folder, name, stats, (size_t)frames * 3);
    free(stats);
}

/* ------------------------------------------------------------------ decoding */

typedef struct sound {
    float *pcm;
    size_t samples;
} sound;

static sound new_sound(const codec_fixture *f, int64_t frames)
{
    size_t samples = (size_t)(frames * f->samples_per_frame);
    sound s = {calloc(samples + 1, sizeof(float)), samples};
    assert_non_null(s.pcm);
    return s;
}

static pl_codec_state *new_state(const codec_fixture *f)
{
    pl_codec_state *state;
    parley_error error;
    codec_fixture_need(pl_codec_state_open(&f->arena.allocator, f->decoder, &state, &error), &error);
    return state;
}

/* In pieces of `chunk` frames. */
static void decode_with(codec_fixture *f, pl_codec_state *state, const int32_t *codes, int64_t frames, int64_t chunk, float *pcm, const pl_tap *tap)
{
    parley_error error;
    for (int64_t t = 0; t < frames; t += chunk) {
        int64_t n = frames - t < chunk ? frames - t : chunk;
        codec_fixture_need(pl_codec_decode(&f->compute, f->decoder, state, codes + t * f->groups, n, pcm + t * f->samples_per_frame, tap, &error),
                           &error);
    }
}

static sound decode(codec_fixture *f, const int32_t *codes, int64_t frames, int64_t chunk, const pl_tap *tap)
{
    pl_codec_state *state = new_state(f);
    sound s = new_sound(f, frames);
    decode_with(f, state, codes, frames, chunk, s.pcm, tap);
    pl_codec_state_close(state);
    return s;
}

static sound decode_reference(codec_fixture *f, const int32_t *codes, int64_t frames, const pl_tap *tap)
{
    pl_codec_state *state = new_state(f);
    sound s = new_sound(f, frames);
    parley_error error;
    codec_fixture_need(pl_codec_decode_reference(&f->compute, f->decoder, state, codes, frames, s.pcm, tap, &error), &error);
    pl_codec_state_close(state);
    return s;
}

static void assert_same(const sound *a, const sound *b)
{
    assert_int_equal(a->samples, b->samples);
    assert_memory_equal(a->pcm, b->pcm, a->samples * sizeof(float));
}

/* ------------------------------------------------------------------ golden cases */

static const char *const stage_names[] = {"rvq_first", "rvq", "pre_conv", "tf_in", "tf_layer0", "tf_layer1", "tf_norm", "tf_out",  "up0_conv", "up0",
                                          "up1_conv",  "up1", "voc0",     "voc1",  "voc2",      "voc3",      "voc4",    "pcm_raw", "pcm"};
enum { N_STAGE_NAMES = sizeof stage_names / sizeof *stage_names };

typedef struct golden_case {
    const char *model, *name;
    int stages; /* stage arrays that the folder holds besides "pcm" */
    int n_frames, frames[4];
} golden_case;

static const golden_case whole_cases[] = {
    {"codec_a", "decode_1", 18, 0, {0}},         {"codec_a", "decode_2", 15, 0, {0}},          {"codec_a", "decode_7", 11, 0, {0}},
    {"codec_a", "decode_30", 9, 3, {0, 13, 29}}, {"codec_a", "decode_80", 1, 2, {25, 79}},     {"codec_a", "round_trip", 0, 0, {0}},
    {"codec_b", "decode_2", 11, 0, {0}},         {"codec_b", "decode_80", 7, 3, {71, 72, 79}}, {"codec_b", "round_trip", 0, 2, {5, 10}},
};

static void check_stages(record *r, const char *folder, const golden_case *c)
{
    int seen = 0;
    for (int i = 0; i < N_STAGE_NAMES; i++) {
        const char *name = stage_names[i];
        if (strcmp(name, "pcm") == 0 || !has(folder, name))
            continue;
        stage *s = find_stage(r, name);
        if (!s)
            fail_msg("%s: no tap %s", folder, name);
        compare_array(folder, name, s->data, s->count);
        seen++;
    }
    assert_int_equal(seen, c->stages);
}

static void check_case(codec_fixture *f, const golden_case *c)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%s/%s", c->model, c->name);
    npy_array codes = load(folder, "codes");
    record r = {0};
    sound s = decode(f, codes.i, codes.shape[0], codes.shape[0], &(pl_tap){on_tap, &r});
    check_stages(&r, folder, c);
    compare_pcm(folder, "pcm", s.pcm, s.samples, c->frames, c->n_frames);
    stage *pcm = find_stage(&r, "pcm");
    assert_non_null(pcm);
    assert_int_equal(pcm->count, s.samples);
    assert_memory_equal(pcm->data, s.pcm, s.samples * sizeof(float));
    if (has(folder, "pcm_stats"))
        compare_stats(folder, "pcm_stats", s.pcm, codes.shape[0]);
    free(s.pcm);
    record_free(&r);
    npy_free(&codes);
}

static void test_golden(void **state)
{
    (void)state;
    parley_cpu list[2];
    int n = levels(list);
    for (int l = 0; l < n; l++)
        for (const char *const *model = (const char *const[]){"codec_a", "codec_b", NULL}; *model; model++) {
            codec_fixture *f = codec_fixture_open(*model, list[l], 2);
            for (size_t i = 0; i < sizeof whole_cases / sizeof *whole_cases; i++)
                if (strcmp(whole_cases[i].model, *model) == 0 && (list[l] == list[n - 1] || whole_cases[i].stages > 7)) /* scalar is slow */
                    check_case(f, &whole_cases[i]);
            codec_fixture_close(f);
        }
}

static const golden_case long_cases[] = {
    {"codec_a", "decode_602", 0, 4, {299, 300, 330, 600}},
    {"codec_b", "decode_330", 0, 3, {299, 300, 329}},
};

/* The best level only: long. The reference's pieces and the exact decode part at frame 300. */
static void test_long(void **state)
{
    (void)state;
    parley_cpu list[2];
    parley_cpu level = list[levels(list) - 1];
    for (size_t i = 0; i < sizeof long_cases / sizeof *long_cases; i++) {
        const golden_case *c = &long_cases[i];
        char folder[64];
        snprintf(folder, sizeof folder, "%s/%s", c->model, c->name);
        codec_fixture *f = codec_fixture_open(c->model, level, 2);
        npy_array codes = load(folder, "codes");
        record r = {0};
        sound reference = decode_reference(f, codes.i, codes.shape[0], &(pl_tap){on_tap, &r});
        sound whole = decode(f, codes.i, codes.shape[0], 25, NULL);
        compare_pcm(folder, "pcm", reference.pcm, reference.samples, c->frames, c->n_frames);
        compare_pcm(folder, "pcm_whole", whole.pcm, whole.samples, c->frames, c->n_frames);
        compare_stats(folder, "pcm_stats", reference.pcm, codes.shape[0]);
        compare_stats(folder, "pcm_whole_stats", whole.pcm, codes.shape[0]);
        assert_memory_equal(reference.pcm, whole.pcm, 300 * 1920 * sizeof(float));
        assert_memory_not_equal(reference.pcm, whole.pcm, whole.samples * sizeof(float));
        stage *pcm = find_stage(&r, "pcm"), *rvq = find_stage(&r, "rvq");
        assert_int_equal(pcm->count, reference.samples);
        assert_memory_equal(pcm->data, reference.pcm, reference.samples * sizeof(float));
        assert_int_equal(rvq->count, (codes.shape[0] + 25 * ((codes.shape[0] - 1) / 300)) * rvq->width);
        free(reference.pcm);
        free(whole.pcm);
        record_free(&r);
        npy_free(&codes);
        codec_fixture_close(f);
    }
}

/* ------------------------------------------------------------------ cutting the reference off */

static void check_icl(parley_cpu level, const char *model, const char *name, int64_t ref_frames, int64_t new_frames, uint64_t cut)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%s/%s", model, name);
    codec_fixture *f = codec_fixture_open(model, level, 2);
    npy_array ref = load(folder, "ref_codes"), new = load(folder, "new_codes"), expected = load(folder, "pcm");
    assert_int_equal(ref.shape[0], ref_frames);
    assert_int_equal(new.shape[0], new_frames);
    int32_t *codes = malloc((ref.count + new.count) * sizeof *codes);
    assert_non_null(codes);
    memcpy(codes, ref.i, ref.count * sizeof *codes);
    memcpy(codes + ref.count, new.i, new.count * sizeof *codes);
    sound s = decode_reference(f, codes, ref_frames + new_frames, NULL);
    uint64_t at = pl_codec_cut((uint64_t)ref_frames, (uint64_t)(ref_frames + new_frames), s.samples);
    assert_int_equal(at, cut);
    assert_true(at + expected.count <= s.samples);
    compare(folder, s.pcm + at, expected.f, expected.count, largest_of(expected.f, expected.count));
    free(codes);
    free(s.pcm);
    npy_free(&ref);
    npy_free(&new);
    npy_free(&expected);
    codec_fixture_close(f);
}

static void test_icl(void **state)
{
    (void)state;
    parley_cpu list[2];
    parley_cpu level = list[levels(list) - 1];
    check_icl(level, "codec_a", "icl_cut_15_22", 15, 7, 28799);
    check_icl(level, "codec_a", "icl_cut_5_9", 5, 4, 9600);
    check_icl(level, "codec_b", "icl_cut_13_23", 13, 10, 24959);
}

static void test_cut(void **state)
{
    (void)state;
    const struct {
        uint64_t ref, total, cut;
    } cases[] = {{15, 22, 1920 * 15 - 1}, {13, 23, 1920 * 13 - 1}, {17, 23, 1920 * 17 - 1}, {5, 9, 1920 * 5}, {0, 9, 0}, {9, 9, 1920 * 9}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pl_codec_cut(cases[i].ref, cases[i].total, 1920 * cases[i].total), cases[i].cut);
    int short_ones = 0, pairs = 0;
    for (uint64_t total = 1; total <= 60; total++)
        for (uint64_t ref = 1; ref < total; ref++, pairs++) {
            uint64_t cut = pl_codec_cut(ref, total, 1920 * total);
            assert_true(cut == 1920 * ref || cut == 1920 * ref - 1);
            short_ones += cut != 1920 * ref;
        }
    assert_in_range(short_ones * 1000 / pairs, 15, 25); /* "2 % of all pairs" */
}

/* ------------------------------------------------------------------ pieces, threads, resets */

static void check_pieces(parley_cpu level)
{
    codec_fixture *f = codec_fixture_open("codec_a", level, 2);
    npy_array codes = load("codec_a/decode_80", "codes");
    int64_t frames = level == PARLEY_CPU_SCALAR ? 19 : 80;
    record r = {0};
    sound whole = decode(f, codes.i, frames, frames, NULL), tapped = decode(f, codes.i, frames, frames, &(pl_tap){on_tap, &r});
    assert_same(&whole, &tapped);
    static const int chunks[] = {1, 2, 3, 5, 7, 25};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        sound s = decode(f, codes.i, frames, chunks[i], NULL);
        assert_same(&whole, &s);
        free(s.pcm);
    }
    free(whole.pcm);
    free(tapped.pcm);
    record_free(&r);
    npy_free(&codes);
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
        npy_array codes = load("codec_a/decode_30", "codes");
        sound one = {0};
        for (int threads = 1; threads <= 4; threads *= 2) {
            codec_fixture *f = codec_fixture_open("codec_a", list[l], threads);
            sound s = decode(f, codes.i, 17, 17, NULL);
            if (threads == 1)
                one = s;
            else {
                assert_same(&one, &s);
                free(s.pcm);
            }
            codec_fixture_close(f);
        }
        free(one.pcm);
        npy_free(&codes);
    }
}

static void test_reset(void **state)
{
    (void)state;
    codec_fixture *f = codec_fixture_open("codec_a", PARLEY_CPU_SCALAR, 2);
    npy_array codes = load("codec_a/decode_30", "codes");
    pl_codec_state *s = new_state(f);
    sound first = new_sound(f, 5), again = new_sound(f, 5);
    decode_with(f, s, codes.i, 5, 5, first.pcm, NULL);
    decode_with(f, s, codes.i, 5, 5, again.pcm, NULL);
    assert_memory_not_equal(first.pcm, again.pcm, first.samples * sizeof(float));
    pl_codec_state_reset(s);
    decode_with(f, s, codes.i, 5, 2, again.pcm, NULL);
    assert_same(&first, &again);
    decode_with(f, s, codes.i, 0, 1, again.pcm, NULL);
    parley_error error;
    assert_int_equal(pl_codec_decode(&f->compute, f->decoder, s, NULL, 0, NULL, NULL, &error), PARLEY_OK);
    pl_codec_state_close(s);
    free(first.pcm);
    free(again.pcm);
    npy_free(&codes);
    codec_fixture_close(f);
}

/* ------------------------------------------------------------------ memory and faults */

/* Neither more frames nor moved positions (frame 1024 with this window) take more memory, and pieces stay equal across the move. */
static void test_endless(void **state)
{
    (void)state;
    parley_cpu list[2];
    parley_cpu level = list[levels(list) - 1];
    if (level == PARLEY_CPU_SCALAR)
        skip();
    codec_fixture *f = codec_fixture_open("codec_a", level, 2);
    npy_array codes = load("codec_a/decode_602", "codes");
    limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&limit);
    sound a = new_sound(f, 602), b = new_sound(f, 602);
    pl_codec_state *s[2];
    parley_error error;
    for (int i = 0; i < 2; i++) {
        codec_fixture_need(pl_codec_state_open(&allocator, f->decoder, &s[i], &error), &error);
        decode_with(f, s[i], codes.i, 1, 1, a.pcm, NULL);
    }
    assert_in_range(pl_codec_state_bytes(s[0]), limit.held / 2 - 65536, limit.held / 2);
    limit.left = 0; /* nothing may be allocated from here on */
    for (int round = 0; round < 2; round++) {
        decode_with(f, s[0], codes.i, 602, 602, a.pcm, NULL);
        decode_with(f, s[1], codes.i, 602, 7, b.pcm, NULL);
        assert_same(&a, &b);
    }
    pl_codec_state_close(s[0]);
    pl_codec_state_close(s[1]);
    assert_int_equal(limit.held, 0);
    free(a.pcm);
    free(b.pcm);
    npy_free(&codes);
    codec_fixture_close(f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    codec_fixture *f = codec_fixture_open("codec_b", PARLEY_CPU_SCALAR, 1);
    size_t calls = 0;
    for (parley_status status = PARLEY_MEMORY; status != PARLEY_OK; calls++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = calls};
        parley_allocator allocator = limit_interface(&limit);
        pl_codec_state *s = NULL;
        parley_error error;
        status = pl_codec_state_open(&allocator, f->decoder, &s, &error);
        assert_true(status == PARLEY_OK || status == PARLEY_MEMORY);
        pl_codec_state_close(s);
        assert_int_equal(limit.held, 0);
    }
    assert_in_range(calls, 4, 100);
    codec_fixture_close(f);
}

static void expect_bad(codec_fixture *f, pl_codec_state *s, const int32_t *codes, const char *frame, const char *group)
{
    float pcm[3 * 1920];
    parley_error error = {0};
    assert_int_equal(pl_codec_decode(&f->compute, f->decoder, s, codes, 3, pcm, NULL, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, frame));
    assert_non_null(strstr(error.text, group));
    assert_int_equal(pl_codec_decode_reference(&f->compute, f->decoder, s, codes, 3, pcm, NULL, &error), PARLEY_ARGUMENT);
}

static void test_bad_codes(void **state)
{
    (void)state;
    codec_fixture *f = codec_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    npy_array codes = load("codec_a/decode_7", "codes");
    pl_codec_state *s = new_state(f);
    sound good = decode(f, codes.i, 3, 3, NULL), after = new_sound(f, 3);
    int32_t *bad = malloc(codes.count * sizeof *bad);
    assert_non_null(bad);
    memcpy(bad, codes.i, codes.count * sizeof *bad);
    bad[2 * 16 + 5] = 64;
    expect_bad(f, s, bad, "frame 2", "group 5");
    bad[2 * 16 + 5] = INT32_MAX;
    expect_bad(f, s, bad, "frame 2", "0..63");
    bad[2 * 16 + 5] = 63;
    bad[15] = -1;
    expect_bad(f, s, bad, "frame 0", "group 15");
    decode_with(f, s, codes.i, 3, 3, after.pcm, NULL);
    assert_same(&good, &after); /* the refusals left no trace */
    free(bad);
    free(good.pcm);
    free(after.pcm);
    pl_codec_state_close(s);
    npy_free(&codes);
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

static void finish_snake(pl_arena *arena, pl_snake_tensors *snake)
{
    int64_t count = pl_tensor_values(&snake->alpha);
    float *alpha = copy_of(arena, &snake->alpha), *beta = copy_of(arena, &snake->beta);
    for (int64_t i = 0; i < count; i++) {
        alpha[i] = expf(alpha[i]);
        beta[i] = 1.0f / (expf(beta[i]) + 1e-9f);
    }
}

static void finish_codebook(pl_arena *arena, const pl_codec_shape *shape, pl_tensor *sums, pl_tensor *usage)
{
    float *rows = copy_of(arena, sums);
    const float *counts = usage->data;
    for (int r = 0; r < shape->codebook_size; r++)
        for (int i = 0; i < shape->codebook_width; i++)
            rows[r * shape->codebook_width + i] /= fmaxf(counts[r], 1e-5f);
    *usage = (pl_tensor){0};
}

static pl_codec_decoder *load_from(pl_arena *arena, const codec_fixture *f, const pl_codec_tensors *tensors)
{
    pl_codec_decoder *decoder;
    parley_error error;
    pl_loader loader = {.arena = arena, .pool = f->pool};
    codec_fixture_need(pl_codec_decoder_load(&loader, &f->config.codec, tensors, &decoder, &error), &error);
    return decoder;
}

/* GGUF dialects store codebook rows and Snake's parameters as they are used. */
static void test_final_forms(void **state)
{
    (void)state;
    codec_fixture *f = codec_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    npy_array codes = load("codec_a/decode_7", "codes");
    sound expected = decode(f, codes.i, 3, 3, NULL);
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 20);
    pl_codec_tensors t = f->tensors.codec;
    for (int g = 0; g < f->groups; g++)
        finish_codebook(&arena, &f->config.codec, &t.codebooks[g], &t.usages[g]);
    t.snake_is_final = true;
    finish_snake(&arena, &t.last_snake);
    for (int i = 0; i < f->config.codec.n_rates; i++) {
        finish_snake(&arena, &t.stages[i].snake);
        for (int u = 0; u < PL_CODEC_UNITS; u++) {
            finish_snake(&arena, &t.stages[i].units[u].act1);
            finish_snake(&arena, &t.stages[i].units[u].act2);
        }
    }
    f->decoder = load_from(&arena, f, &t);
    sound s = decode(f, codes.i, 3, 3, NULL);
    assert_same(&expected, &s);
    free(expected.pcm);
    free(s.pcm);
    pl_arena_free(&arena);
    npy_free(&codes);
    codec_fixture_close(f);
}

/* A row of a codebook that is not finite shows in the frame that uses it, and a reset clears it away. */
static void test_not_finite(void **state)
{
    (void)state;
    codec_fixture *f = codec_fixture_open("codec_a", PARLEY_CPU_SCALAR, 1);
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 20);
    int32_t codes[4 * 16] = {0};
    codes[2 * 16 + 3] = 7;
    sound expected = decode(f, codes, 2, 2, NULL), s = new_sound(f, 4);
    float *rows = copy_of(&arena, &f->tensors.codec.codebooks[3]);
    rows[7 * f->config.codec.codebook_width + 1] = NAN;
    f->decoder = load_from(&arena, f, &f->tensors.codec);
    pl_codec_state *st = new_state(f);
    parley_error error = {0};
    assert_int_equal(pl_codec_decode(&f->compute, f->decoder, st, codes, 4, s.pcm, NULL, &error), PARLEY_VALUE);
    assert_non_null(strstr(error.text, "frame 2"));
    assert_int_equal(pl_codec_decode_reference(&f->compute, f->decoder, st, codes, 4, s.pcm, NULL, &error), PARLEY_VALUE);
    assert_non_null(strstr(error.text, "frame 2"));
    pl_codec_state_reset(st);
    decode_with(f, st, codes, 2, 2, s.pcm, NULL);
    assert_memory_equal(s.pcm, expected.pcm, expected.samples * sizeof(float));
    pl_codec_state_close(st);
    free(expected.pcm);
    free(s.pcm);
    pl_arena_free(&arena);
    codec_fixture_close(f);
}

static void test_load_out_of_memory(void **state)
{
    (void)state;
    codec_fixture *f = codec_fixture_open("codec_b", PARLEY_CPU_SCALAR, 1);
    size_t calls = 0;
    for (parley_status status = PARLEY_MEMORY; status != PARLEY_OK; calls++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = calls};
        parley_allocator allocator = limit_interface(&limit);
        pl_arena arena;
        pl_codec_decoder *decoder;
        parley_error error;
        pl_arena_init(&arena, &allocator, 16384);
        pl_loader loader = {.arena = &arena};
        status = pl_codec_decoder_load(&loader, &f->config.codec, &f->tensors.codec, &decoder, &error);
        assert_true(status == PARLEY_OK || status == PARLEY_MEMORY);
        pl_arena_free(&arena);
        assert_int_equal(limit.held, 0);
    }
    assert_in_range(calls, 20, 1000);
    codec_fixture_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_icl),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_bad_codes),
        cmocka_unit_test(test_final_forms),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_load_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
