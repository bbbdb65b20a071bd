/* The gate before a recogniser: what is steady does not pass it, what could be speech always does. */
#include "audio/activity.h"
#include "base/pool.h"
#include "limit_allocator.h"
#include "support/clip_mel.h"
#include "support/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RATE = PL_ACTIVITY_RATE, MOST = 120 * RATE };

static const double pi = 3.14159265358979323846;
static float sound[MOST];

static bool found_in(pl_pool *pool, const float *pcm, int64_t samples)
{
    pl_activity *activity;
    pl_arena arena;
    bool found;
    pl_arena_init(&arena, NULL, 1 << 16);
    assert_int_equal(pl_activity_open(NULL, &activity, NULL), PARLEY_OK);
    assert_int_equal(pl_activity_find(activity, pool, &arena, pcm, samples, &found, NULL), PARLEY_OK);
    assert_true(arena.high_water < 1 << 17);
    pl_activity_close(activity);
    pl_arena_free(&arena);
    return found;
}

/* ------------------------------------------------------------------ made-up sounds */

typedef enum colour { WHITE, PINK, BROWN, COLOURS } colour;

/* Of about Gaussian values. */
static float white(test_random *r)
{
    float sum = 0;
    for (int i = 0; i < 6; i++)
        sum += test_float(r, 1);
    return sum;
}

/* Adds noise of an RMS; pink: three poles (-10 dB a decade within 1 dB), brown: one. */
static void add_noise(float *x, int64_t n, colour kind, double rms, uint64_t seed)
{
    static float noise[MOST];
    test_random r = {seed};
    double state[3] = {0}, power = 0;
    for (int64_t i = 0; i < n; i++) {
        double w = (double)white(&r);
        state[0] = 0.99765 * state[0] + w * 0.0990460;
        state[1] = 0.96300 * state[1] + w * 0.2965164;
        state[2] = 0.57000 * state[2] + w * 1.0526913;
        noise[i] = (float)(kind == WHITE ? w : kind == PINK ? state[0] + state[1] + state[2] + w * 0.1848 : state[0]);
        power += (double)noise[i] * (double)noise[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] += (float)(rms / sqrt(power / (double)n)) * noise[i];
}

static void add_hum(float *x, int64_t n, double hertz, int harmonics, double level)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 1; k <= harmonics; k++)
            x[i] += (float)(level / k * sin(2 * pi * hertz * k * (double)i / RATE + k));
}

/* A vowel of 160 ms with an onset and an end: pulses of a voice, or breath, through two formants. Its RMS is `rms`. */
static void add_syllable(float *x, double rms, bool voiced, int which, uint64_t seed)
{
    enum { LENGTH = RATE * 16 / 100 };
    static const double formants[][2] = {{700, 1200}, {300, 2300}, {500, 900}};
    double y[LENGTH], past[2][2] = {{0}}, power = 0;
    test_random r = {seed};
    for (int i = 0; i < LENGTH; i++) {
        double source = voiced ? (i % (RATE / 125) == 0 ? 10.0 : 0.0) : (double)white(&r), sum = 0;
        for (int f = 0; f < 2; f++) {
            double pole = exp(-pi * 100 / RATE),
                   out = source + 2 * pole * cos(2 * pi * formants[which % 3][f] / RATE) * past[f][0] - pole * pole * past[f][1];
            past[f][1] = past[f][0];
            past[f][0] = out;
            sum += out / (f + 1);
        }
        y[i] = sum * sin(pi * i / LENGTH);
        power += y[i] * y[i];
    }
    for (int i = 0; i < LENGTH; i++)
        x[i] += (float)(rms / sqrt(power / LENGTH) * y[i]);
}

static void clear(void)
{
    memset(sound, 0, sizeof sound);
}

/* As a 16-bit file has it. */
static void round_off(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sound[i] = rintf(sound[i] * 32768) / 32768;
}

/* ------------------------------------------------------------------ cases */

static void silence_is_none(void **state)
{
    (void)state;
    clear();
    static const int64_t lengths[] = {1, 200, 201, 359, 360, 1600, RATE - 1, RATE, 3 * RATE, 4 * RATE + 7, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        assert_false(found_in(NULL, sound, lengths[i]));
    for (int64_t i = 0; i < MOST; i++)
        sound[i] = 0.3f;
    assert_false(found_in(NULL, sound, MOST));
}

static void noise_is_none(void **state)
{
    (void)state;
    static const double levels[] = {0.2, 1e-2, 1e-3, 1.0 / 32768};
    for (int c = 0; c < COLOURS; c++)
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            clear();
            add_noise(sound, MOST, (colour)c, levels[i], (uint64_t)(c * 10) + i);
            round_off(MOST);
            if (found_in(NULL, sound, MOST))
                fail_msg("noise %d of RMS %g passes", c, levels[i]);
            assert_false(found_in(NULL, sound + 999, RATE));
        }
}

static void hum_is_none(void **state)
{
    (void)state;
    static const double hertz[] = {50, 60, 100, 120, 400};
    for (size_t i = 0; i < sizeof hertz / sizeof *hertz; i++)
        for (int harmonics = 1; harmonics <= 8; harmonics += 7)
            for (int noisy = 0; noisy < 2; noisy++) {
                clear();
                add_hum(sound, 20 * RATE, hertz[i], harmonics, 0.05);
                add_noise(sound, 20 * RATE, PINK, noisy * 1e-3, i);
                round_off(20 * RATE);
                if (found_in(NULL, sound, 20 * RATE))
                    fail_msg("hum of %g Hz, %d harmonics, noise %d passes", hertz[i], harmonics, noisy);
            }
}

/* Voiced and whispered, in noise of all colours at most 5 dB louder, and quiet on its own; one syllable in two minutes is enough. */
static void words_pass(void **state)
{
    (void)state;
    static const double snr[] = {20, 5, 0, -5};
    test_random r = {5};
    for (int c = 0; c < COLOURS; c++)
        for (int voiced = 0; voiced < 2; voiced++)
            for (size_t i = 0; i < sizeof snr / sizeof *snr; i++) {
                clear();
                add_noise(sound, 10 * RATE, (colour)c, 0.01, i);
                for (int k = 0, at = test_below(&r, 5 * RATE); k < 4; k++, at += RATE / 4)
                    add_syllable(sound + at, 0.01 * pow(10, snr[i] / 20), voiced, k, (uint64_t)k);
                if (!found_in(NULL, sound, 10 * RATE))
                    fail_msg("words, voiced %d, %g dB over noise %d: nothing found", voiced, snr[i], c);
            }
}

static void a_quiet_word_passes(void **state)
{
    (void)state;
    test_random r = {6};
    for (int round = 0; round < 12; round++) {
        double level = round % 3 == 0 ? 0.1 : round % 3 == 1 ? 1e-3 : 3e-4; /* -20, -60, -70 dBFS */
        clear();
        add_syllable(sound + test_below(&r, MOST - RATE), level, round % 2, round, (uint64_t)round);
        if (round >= 6)
            add_noise(sound, MOST, WHITE, level / 20, (uint64_t)round);
        round_off(MOST);
        if (!found_in(NULL, sound, MOST))
            fail_msg("a word of RMS %g, round %d: nothing found", level, round);
    }
}

/* A word may fill a short clip: nothing but silence is taken for none. */
static void short_clips_pass(void **state)
{
    (void)state;
    clear();
    add_noise(sound, RATE, WHITE, 1e-3, 3);
    assert_true(found_in(NULL, sound, RATE - 1));
    assert_false(found_in(NULL, sound, RATE));
    assert_true(found_in(NULL, sound, 400));
}

static void golden_clips(void **state)
{
    (void)state;
    static const char *const names[] = {"chirp", "bells", "bursts", "hum"};
    for (int i = 0; i < 4; i++) {
        clip_audio audio = {0};
        for (int copies = 0; copies < 3; copies++)
            clip_append(&audio, names[i]);
        for (int64_t k = 0; k < audio.count; k++)
            sound[k] = (float)audio.samples[k];
        if (found_in(NULL, sound, audio.count) != (i < 3))
            fail_msg("%s", names[i]);
        free(audio.samples);
    }
}

/* A word is found wherever it stands, with any number of threads. */
static void everywhere(void **state)
{
    (void)state;
    pl_pool *pool;
    parley_allocator allocator = pl_default_allocator();
    assert_int_equal(pl_pool_open(&allocator, 3, &pool, NULL), PARLEY_OK);
    for (int64_t at = 0; at + RATE / 5 <= 7 * RATE; at += 3001) {
        clear();
        add_noise(sound, 7 * RATE, BROWN, 1e-3, 1);
        add_syllable(sound + at, 1e-3, at % 2, (int)at, (uint64_t)at);
        bool found = found_in(pool, sound, 7 * RATE);
        assert_int_equal(found, found_in(NULL, sound, 7 * RATE));
        if (!found)
            fail_msg("at sample %lld", (long long)at);
    }
    pl_pool_close(pool);
}

static void out_of_memory(void **state)
{
    (void)state;
    clear();
    for (size_t calls = 0;; calls++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = calls};
        parley_allocator allocator = limit_interface(&limit);
        pl_activity *activity = NULL;
        pl_arena arena;
        bool found;
        pl_arena_init(&arena, &allocator, 64);
        parley_status status = pl_activity_open(&allocator, &activity, NULL);
        if (status == PARLEY_OK)
            status = pl_activity_find(activity, NULL, &arena, sound, 4 * RATE, &found, NULL);
        pl_activity_close(activity);
        pl_arena_free(&arena);
        assert_int_equal(limit.held, 0);
        if (status == PARLEY_OK)
            break;
        assert_int_equal(status, PARLEY_MEMORY);
        assert_true(calls < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_none), cmocka_unit_test(noise_is_none),       cmocka_unit_test(hum_is_none),
        cmocka_unit_test(words_pass),      cmocka_unit_test(a_quiet_word_passes), cmocka_unit_test(short_clips_pass),
        cmocka_unit_test(golden_clips),    cmocka_unit_test(everywhere),          cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
