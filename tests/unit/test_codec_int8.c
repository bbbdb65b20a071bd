/* labels: sanitize
 * The codec decoder with 8-bit weights and activations, on the embedded checkpoint: its noise against float32, and that nothing else changes. */
#include "base/cpu.h"
#include "support/codec_fixture.h"
#include "support/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/stages.h"

#define SMALL "../../models/parley-small-tts" /* beside the test data */

typedef struct decoded {
    float *pcm;
    size_t count;
} decoded;

static decoded decode(codec_fixture *f, const int32_t *codes, int64_t frames, int64_t chunk)
{
    pl_codec_state *state;
    parley_error error;
    decoded d = {.count = (size_t)(frames * f->samples_per_frame)};
    d.pcm = malloc(d.count * sizeof *d.pcm);
    assert_non_null(d.pcm);
    codec_fixture_need(pl_codec_state_open(&f->arena.allocator, f->decoder, &state, &error), &error);
    for (int64_t t = 0; t < frames; t += chunk) {
        int64_t n = frames - t < chunk ? frames - t : chunk;
        codec_fixture_need(pl_codec_decode(&f->compute, f->decoder, state, codes + t * f->groups, n, d.pcm + t * f->samples_per_frame, NULL, &error),
                           &error);
    }
    pl_codec_state_close(state);
    return d;
}

static decoded decode_with(const char *model, parley_cpu level, int threads, bool int8, const char *codes_of, int64_t frames, int64_t chunk)
{
    codec_fixture *f = codec_fixture_open_parts(model, level, threads, PARLEY_PARTS_CODEC, int8);
    npy_array codes = load(codes_of, "codes");
    decoded d = decode(f, codes.i, frames ? frames : codes.shape[0], chunk);
    npy_free(&codes);
    codec_fixture_close(f);
    return d;
}

/* Decibels of `got` against `want`. */
static double signal_to_noise(const decoded *got, const decoded *want)
{
    double signal = 0, noise = 0;
    assert_int_equal(got->count, want->count);
    for (size_t i = 0; i < got->count; i++) {
        double error = (double)got->pcm[i] - (double)want->pcm[i];
        signal += (double)want->pcm[i] * (double)want->pcm[i];
        noise += error * error;
    }
    return 10.0 * log10(signal / noise);
}

static void assert_same(const decoded *a, const decoded *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->pcm, b->pcm, a->count * sizeof(float));
}

static parley_cpu best_level(void)
{
    parley_cpu list[2];
    return list[levels(list) - 1];
}

/* The bound of docs/QUALITY.md, on speech that the checkpoint itself made. */
static void noise_is_35_db_below(void **state)
{
    (void)state;
    static const char *const speech[] = {"parley_small/full", "parley_small/streaming"};
    for (int i = 0; i < 2; i++) {
        decoded exact = decode_with(SMALL, best_level(), 2, false, speech[i], 0, 16),
                rounded = decode_with(SMALL, best_level(), 2, true, speech[i], 0, 16);
        double ratio = signal_to_noise(&rounded, &exact);
        print_message("%s: %.1f dB\n", speech[i], ratio);
        assert_true(ratio >= 35.0);
        assert_memory_not_equal(rounded.pcm, exact.pcm, exact.count * sizeof(float)); /* 8 bits were at work */
        free(exact.pcm);
        free(rounded.pcm);
    }
}

/* Every level rounds the same weights and nearly the same activations, but a value near the middle of two quants may fall to either side: what comes
 * of that lies well below the noise of the rounding itself. */
static void levels_agree(void **state)
{
    (void)state;
    enum { FRAMES = 4 };
    decoded scalar = decode_with(SMALL, PARLEY_CPU_SCALAR, 2, true, "parley_small/full", FRAMES, FRAMES);
    for (parley_cpu level = PARLEY_CPU_AVX2; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1)) {
        if (!pl_cpu_has(level) || !pl_kernels_for(level))
            continue;
        decoded other = decode_with(SMALL, level, 2, true, "parley_small/full", FRAMES, FRAMES);
        double ratio = signal_to_noise(&other, &scalar);
        print_message("%s against scalar: %.1f dB\n", parley_cpu_name(level), ratio);
        assert_true(ratio >= 47.0);
        free(other.pcm);
    }
    free(scalar.pcm);
}

/* Few rows go layer by layer, many by runs through whole layers; both, and any way to cut, give the same bits. */
static void pieces_and_threads_agree(void **state)
{
    (void)state;
    enum { FRAMES = 23 };
    decoded whole = decode_with(SMALL, best_level(), 2, true, "parley_small/full", FRAMES, FRAMES);
    static const int chunks[] = {1, 2, 5, 16};
    for (int i = 0; i < 4; i++)
        for (int threads = 1; threads <= 4; threads += 3) {
            decoded pieces = decode_with(SMALL, best_level(), threads, true, "parley_small/full", FRAMES, chunks[i]);
            assert_same(&whole, &pieces);
            free(pieces.pcm);
        }
    free(whole.pcm);
}

/* The 8-bit past of each layer is part of the state. */
static void states_reset_and_copy(void **unused)
{
    (void)unused;
    enum { FRAMES = 3 };
    codec_fixture *f = codec_fixture_open_parts(SMALL, best_level(), 2, PARLEY_PARTS_CODEC, true);
    npy_array codes = load("parley_small/full", "codes");
    decoded all = decode(f, codes.i, 2 * FRAMES, FRAMES);
    size_t half = all.count / 2;
    float *pcm = malloc(half * sizeof *pcm);
    pl_codec_state *state, *copy;
    parley_error error;
    assert_non_null(pcm);
    codec_fixture_need(pl_codec_state_open(&f->arena.allocator, f->decoder, &state, &error), &error);
    codec_fixture_need(pl_codec_state_open(&f->arena.allocator, f->decoder, &copy, &error), &error);
    for (int round = 0; round < 2; round++) {
        codec_fixture_need(pl_codec_decode(&f->compute, f->decoder, state, codes.i, FRAMES, pcm, NULL, &error), &error);
        assert_memory_equal(pcm, all.pcm, half * sizeof *pcm);
        codec_fixture_need(pl_codec_state_copy(copy, state, &error), &error);
        codec_fixture_need(pl_codec_decode(&f->compute, f->decoder, copy, codes.i + FRAMES * f->groups, FRAMES, pcm, NULL, &error), &error);
        assert_memory_equal(pcm, all.pcm + half, half * sizeof *pcm);
        pl_codec_state_reset(state);
    }
    pl_codec_state_close(state);
    pl_codec_state_close(copy);
    free(all.pcm);
    free(pcm);
    npy_free(&codes);
    codec_fixture_close(f);
}

/* Layers of fewer than 96 channels stay as they are: these codecs have no wider ones. */
static void narrow_codecs_stay_exact(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"codec_a", "codec_a/decode_7"}, {"codec_b", "codec_b/decode_2"}};
    for (int i = 0; i < 2; i++) {
        decoded exact = decode_with(cases[i][0], best_level(), 2, false, cases[i][1], 0, 7);
        decoded int8 = decode_with(cases[i][0], best_level(), 2, true, cases[i][1], 0, 7);
        assert_same(&exact, &int8);
        free(exact.pcm);
        free(int8.pcm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(noise_is_35_db_below), cmocka_unit_test(levels_agree),
                                       cmocka_unit_test(pieces_and_threads_agree), cmocka_unit_test(states_reset_and_copy),
                                       cmocka_unit_test(narrow_codecs_stay_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
