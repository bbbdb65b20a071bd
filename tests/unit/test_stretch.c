/* labels: sanitize */
/* Changes of speed: pitch, level, length and places stay what they should, whatever the pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "audio/stretch.h"
#include "support/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 24000, SECOND = RATE };

static const double tau = 6.28318530717958647692;
static const double speeds[] = {0.25, 0.5, 0.8, 0.99, 1.25, 1.5, 2, 3.7, 4};
enum { SPEEDS = sizeof speeds / sizeof speeds[0] };

typedef struct sound {
    float *pcm;
    size_t count;
} sound;

/* `cuts` NULL: one push, the end with it. Else pieces of up to `most` samples, the end with the last or alone. */
static sound stretched(sound in, int rate, double speed, test_random *cuts, int most)
{
    sound out = {.count = 0};
    pl_stretch *s = NULL;
    pl_arena arena;
    parley_error error;
    pl_arena_init(&arena, NULL, 1 << 12);
    assert_int_equal(pl_stretch_open(&arena, rate, speed, &s, &error), PARLEY_OK);
    size_t held = arena.held;
    out.pcm = calloc((size_t)((double)in.count / speed) + 2, sizeof *out.pcm);
    for (size_t at = 0, last = 0; !last;) {
        size_t count = cuts ? (size_t)test_below(cuts, most + 1) : in.count;
        count = count < in.count - at ? count : in.count - at;
        last = at + count == in.count && (!cuts || test_below(cuts, 2));
        size_t gives = pl_stretch_gives(s, count, last);
        float *room = malloc(gives * sizeof *room + 1); /* an address sanitizer sees a sample too many */
        pl_stretch_push(s, in.pcm + at, count, last, room);
        memcpy(out.pcm + out.count, room, gives * sizeof *room);
        free(room);
        out.count += gives;
        at += count;
    }
    assert_int_equal(arena.held, held);
    pl_arena_free(&arena);
    return out;
}

static sound whole(sound in, double speed)
{
    return stretched(in, RATE, speed, NULL, 0);
}

static sound made(size_t count, float (*at)(size_t i))
{
    sound s = {malloc((count + 1) * sizeof *s.pcm), count};
    assert_non_null(s.pcm);
    for (size_t i = 0; i < count; i++)
        s.pcm[i] = at(i);
    return s;
}

static double frequency; /* Hz, of what is made next */

static float sine(size_t i)
{
    return (float)(0.5 * sin(tau * frequency * (double)i / RATE));
}

/* Twelve harmonics whose pitch glides by a fifth to and fro, three syllables a second, noise between: nothing repeats exactly. */
static float voice(size_t i)
{
    static test_random noise = {5};
    double t = (double)i / RATE, phase = tau * (frequency * t - 0.05 * frequency * cos(tau * 1.3 * t)), sum = 0;
    double loud = sin(tau * 1.5 * t);
    for (int k = 1; k <= 12; k++)
        sum += sin(k * phase) / k;
    return (float)(0.3 * loud * loud * sum) + test_float(&noise, 0.02f);
}

static float noise_at(size_t i)
{
    static test_random r = {9};
    (void)i;
    return test_float(&r, 1);
}

static double level(const float *pcm, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)pcm[i] * (double)pcm[i];
    return sqrt(sum / (double)count);
}

/* Share of a frequency in a sound under a Hann window, as the amplitude of a sine. */
static double amplitude(sound s, double hertz)
{
    double re = 0, im = 0;
    for (size_t i = 0; i < s.count; i++) {
        double w = 1 - cos(tau * ((double)i + 0.5) / (double)s.count), a = tau * hertz * (double)i / RATE;
        re += w * (double)s.pcm[i] * cos(a);
        im += w * (double)s.pcm[i] * sin(a);
    }
    return 2 * hypot(re, im) / (double)s.count;
}

/* ------------------------------------------------------------------ what is heard */

/* In a quarter of a second a pitch that is off by 0.5 % of 440 Hz would lose a tenth of the amplitude. */
static void a_sine_keeps_its_pitch_and_level(void **state)
{
    (void)state;
    static const double hertz[] = {70, 113, 220, 440, 1000, 2900};
    for (size_t f = 0; f < sizeof hertz / sizeof hertz[0]; f++) {
        frequency = hertz[f];
        sound in = made(3 * SECOND, sine);
        for (int i = 0; i < SPEEDS; i++) {
            sound out = whole(in, speeds[i]);
            sound middle = {out.pcm + out.count / 3, SECOND / 4};
            double own = amplitude(middle, hertz[f]);
            assert_true(own > 0.48 && own < 0.51);
            assert_true(fabs(level(out.pcm, out.count) - 0.3535) < 0.01);
            assert_true(fabs(speeds[i] - 1) * hertz[f] < 16 || amplitude(middle, hertz[f] * speeds[i]) < 0.02);
            free(out.pcm);
        }
        free(in.pcm);
    }
}

/* Overlapped windows that do not fit cancel: a level that is kept says that they fit. Noise has no place that fits. */
static void a_voice_keeps_its_level(void **state)
{
    (void)state;
    static const double hertz[] = {75, 110, 180, 260};
    for (size_t f = 0; f < sizeof hertz / sizeof hertz[0]; f++) {
        frequency = hertz[f];
        sound in = made(4 * SECOND, voice);
        for (int i = 0; i < SPEEDS; i++) {
            sound out = whole(in, speeds[i]);
            double ratio = level(out.pcm, out.count) / level(in.pcm, in.count);
            assert_true(ratio > 0.92 && ratio < 1.03);
            free(out.pcm);
        }
        free(in.pcm);
    }
}

static float bursts(size_t i)
{
    return i % SECOND < 2400 ? sine(i) : 0;
}

/* A tone of 100 ms a second begins where it should, to 25 ms of the input, in the last second as in the first, and none is lost. */
static void nothing_drifts(void **state)
{
    (void)state;
    enum { SECONDS = 20 };
    frequency = 400;
    sound in = made(SECONDS * SECOND, bursts);
    for (int i = 0; i < SPEEDS; i++) {
        sound out = whole(in, speeds[i]);
        size_t quiet = out.count, begun = 0;
        for (size_t k = 0; k < out.count; k++) {
            bool loud = fabsf(out.pcm[k]) > 0.05f;
            if (loud && quiet > (size_t)(0.3 * SECOND / speeds[i]))
                assert_true(fabs((double)k * speeds[i] - (double)begun++ * SECOND) < 0.025 * SECOND * fmax(1, speeds[i]));
            quiet = loud ? 0 : quiet + 1;
        }
        assert_int_equal(begun, SECONDS);
        free(out.pcm);
    }
    free(in.pcm);
}

static float ends(size_t i)
{
    return i < 1200 || i >= 2 * SECOND - 1200 ? sine(i) : 0;
}

static void both_ends_are_there(void **state)
{
    (void)state;
    frequency = 500;
    sound in = made(2 * SECOND, ends);
    for (int i = 0; i < SPEEDS; i++) {
        sound out = whole(in, speeds[i]);
        size_t part = (size_t)(600 / speeds[i]);
        assert_true(level(out.pcm, part) > 0.25);
        assert_true(level(out.pcm + out.count - part, part) > 0.15);
        assert_true(out.pcm[out.count / 2] == 0);
        free(out.pcm);
    }
    free(in.pcm);
}

/* ------------------------------------------------------------------ lengths and pieces */

static void the_length_is_the_rule(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 100, 239, 240, 241, 599, 600, 601, 840, 1919, 1920, 1921, 4097, 48000, 100003};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        sound in = made(counts[c], noise_at);
        for (int i = 0; i < SPEEDS; i++) {
            sound out = whole(in, speeds[i]);
            assert_int_equal(out.count, floor((double)counts[c] / speeds[i] + 0.5));
            for (size_t k = 0; k < out.count; k++)
                assert_true(out.pcm[k] >= -1 && out.pcm[k] <= 1);
            free(out.pcm);
        }
        free(in.pcm);
    }
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    static const int most[] = {1, 2, 37, 240, 1920, 5000, 40000};
    test_random cuts = {3};
    frequency = 140;
    sound in = made(2 * SECOND + 77, voice);
    for (int i = 0; i < SPEEDS; i++) {
        sound all = whole(in, speeds[i]);
        for (size_t m = 0; m < sizeof most / sizeof most[0]; m++) {
            sound out = stretched(in, RATE, speeds[i], &cuts, most[m]);
            assert_int_equal(out.count, all.count);
            assert_memory_equal(out.pcm, all.pcm, all.count * sizeof *all.pcm);
            free(out.pcm);
        }
        free(all.pcm);
    }
    free(in.pcm);
}

/* As the header says: the first hop when the input is 25 + 10 * max(1, speed) ms long, not before, and within the first frame of speech. */
static void the_latency_is_as_stated(void **state)
{
    (void)state;
    static const float silence[RATE];
    for (int i = 0; i < SPEEDS; i++) {
        pl_arena arena;
        pl_stretch *s = NULL;
        float out[4 * RATE];
        size_t needed = (size_t)(600 + 240 * fmax(1, speeds[i]) + 0.5);
        pl_arena_init(&arena, NULL, 1 << 12);
        assert_int_equal(pl_stretch_open(&arena, RATE, speeds[i], &s, NULL), PARLEY_OK);
        assert_int_equal(pl_stretch_gives(s, needed - 1, false), 0);
        assert_int_equal(pl_stretch_gives(s, needed, false), 240);
        assert_true(pl_stretch_gives(s, 1920, false) >= 240);
        pl_stretch_push(s, silence, needed - 1, false, out);
        assert_int_equal(pl_stretch_gives(s, 0, false), 0);
        assert_int_equal(pl_stretch_gives(s, 1, false), 240);
        pl_arena_free(&arena);
    }
}

/* ------------------------------------------------------------------ edges */

static float constant(size_t i)
{
    (void)i;
    return 0.7f;
}

static float nothing(size_t i)
{
    (void)i;
    return 0;
}

/* Away from the ends, where the sound meets silence. */
static void what_does_not_change_stays_as_it_is(void **state)
{
    (void)state;
    sound still = made(SECOND, nothing), level_sound = made(SECOND, constant);
    for (int i = 0; i < SPEEDS; i++) {
        sound a = whole(still, speeds[i]), b = whole(level_sound, speeds[i]);
        size_t edge = (size_t)(1000 / speeds[i]);
        for (size_t k = 0; k < a.count; k++)
            assert_true(a.pcm[k] == 0);
        for (size_t k = edge; k + edge < b.count; k++)
            assert_true(b.pcm[k] == 0.7f);
        free(a.pcm);
        free(b.pcm);
    }
    free(still.pcm);
    free(level_sound.pcm);
}

static void speed_1_changes_nothing(void **state)
{
    (void)state;
    sound in = made(50001, noise_at), out = whole(in, 1);
    assert_int_equal(out.count, in.count);
    assert_memory_equal(out.pcm, in.pcm, in.count * sizeof *in.pcm);
    free(out.pcm);
    free(in.pcm);
}

static float faint(size_t i)
{
    return noise_at(i) * (i % 3000 < 1500 ? 1e-38f : 1e-30f);
}

static void numbers_stay_numbers(void **state)
{
    (void)state;
    sound in = made(SECOND, faint);
    for (int i = 0; i < SPEEDS; i++) {
        sound out = whole(in, speeds[i]);
        for (size_t k = 0; k < out.count; k++)
            assert_true(fabsf(out.pcm[k]) <= 1e-30f);
        free(out.pcm);
    }
    free(in.pcm);
}

static void other_rates(void **state)
{
    (void)state;
    static const int rates[] = {1000, 8000, 11025, 44100, 192000};
    test_random cuts = {1};
    frequency = 90;
    sound in = made(30011, voice);
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
        for (int i = 0; i < SPEEDS; i++) {
            sound all = stretched(in, rates[r], speeds[i], NULL, 0), out = stretched(in, rates[r], speeds[i], &cuts, 3000);
            assert_int_equal(all.count, floor(30011 / speeds[i] + 0.5));
            assert_int_equal(out.count, all.count);
            assert_memory_equal(out.pcm, all.pcm, all.count * sizeof *all.pcm);
            free(all.pcm);
            free(out.pcm);
        }
    free(in.pcm);
}

static void wrong_values_are_named(void **state)
{
    (void)state;
    const double wrong[] = {0, -1, 0.2499, 4.0001, 1e300, NAN, INFINITY, -INFINITY};
    pl_arena arena;
    pl_stretch *s = NULL;
    parley_error error;
    pl_arena_init(&arena, NULL, 1 << 12);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(pl_stretch_open(&arena, RATE, wrong[i], &s, &error), PARLEY_ARGUMENT);
        assert_non_null(strstr(error.text, "expected 0.25 to 4"));
    }
    assert_int_equal(pl_stretch_open(&arena, 999, 2, &s, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_stretch_open(&arena, 192001, 2, &s, &error), PARLEY_ARGUMENT);
    assert_null(s);
    pl_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sine_keeps_its_pitch_and_level),
        cmocka_unit_test(a_voice_keeps_its_level),
        cmocka_unit_test(nothing_drifts),
        cmocka_unit_test(both_ends_are_there),
        cmocka_unit_test(the_length_is_the_rule),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(the_latency_is_as_stated),
        cmocka_unit_test(what_does_not_change_stays_as_it_is),
        cmocka_unit_test(speed_1_changes_nothing),
        cmocka_unit_test(numbers_stay_numbers),
        cmocka_unit_test(other_rates),
        cmocka_unit_test(wrong_values_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
