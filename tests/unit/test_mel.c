/* Log-mel spectra against stored results (golden voice_*, asr_mel_*) and the specification's numbers; the Fourier transform against its definition.
 */
/* labels: threads */
#include "audio/fft.h"
#include "audio/mel.h"
#include "support/random.h"
#include "support/voice_case.h"
#include "limit_allocator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const double pi = 3.14159265358979323846;

static const pl_mel_shape voice_shape = {.sample_rate = 24000,
                                         .fft = 1024,
                                         .window = 1024,
                                         .hop = 256,
                                         .bands = 128,
                                         .padding = 384,
                                         .low = 0,
                                         .high = 12000,
                                         .floor = 1e-5f,
                                         .log = PL_MEL_LOG_NATURAL};

static const pl_mel_shape whisper_shape = {.sample_rate = 16000,
                                           .fft = 400,
                                           .window = 400,
                                           .hop = 160,
                                           .bands = 128,
                                           .padding = 200,
                                           .power = true,
                                           .low = 0,
                                           .high = 8000,
                                           .floor = 1e-10f,
                                           .log = PL_MEL_LOG_WHISPER,
                                           .ceil_frames = true};

/* ------------------------------------------------------------------ Fourier transform */

static void naive(const double *x, int length, int k, double *re, double *im)
{
    *re = *im = 0;
    for (int i = 0; i < length; i++) {
        double angle = 2 * pi * (double)((int64_t)i * k % length) / length;
        *re += x[i * PL_FFT_LANES] * cos(angle);
        *im -= x[i * PL_FFT_LANES] * sin(angle);
    }
}

static void check_transform(int length)
{
    enum { LANES = PL_FFT_LANES };
    pl_arena arena;
    pl_fft fft;
    pl_arena_init(&arena, NULL, 4096);
    assert_int_equal(pl_fft_open(&arena, length, &fft, NULL), PARLEY_OK);
    size_t count = (size_t)length * LANES, bins = (size_t)length / 2 + 1;
    double *x = PL_NEW_ARRAY(&arena, double, count), *kept = PL_NEW_ARRAY(&arena, double, count), *y = PL_NEW_ARRAY(&arena, double, bins * 2 * LANES);
    test_random random = {(uint64_t)length};
    for (size_t i = 0; i < count; i++)
        kept[i] = x[i] = (double)test_float(&random, 1.0f);
    pl_fft_run(&fft, x, y);
    for (int k = 0; k <= length / 2; k++)
        for (int l = 0; l < LANES; l++) {
            double re, im;
            naive(kept + l, length, k, &re, &im);
            if (!(fabs(y[k * 2 * LANES + l] - re) <= 1e-12 * length && fabs(y[k * 2 * LANES + LANES + l] - im) <= 1e-12 * length))
                fail_msg("length %d, bin %d, lane %d: %.17g %.17g, expected %.17g %.17g", length, k, l, y[k * 2 * LANES + l],
                         y[k * 2 * LANES + LANES + l], re, im);
        }
    pl_arena_free(&arena);
}

static void transforms_are_by_definition(void **state)
{
    (void)state;
    static const int large[] = {202, 256, 270, 400, 480, 486, 512, 514, 686, 750, 998, 1000, 1024};
    for (int length = 2; length <= 130; length += 2)
        check_transform(length);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        check_transform(large[i]);
}

static void odd_lengths_are_refused(void **state)
{
    (void)state;
    static const int lengths[] = {-2, 0, 1, 3, 401};
    pl_arena arena;
    pl_arena_init(&arena, NULL, 4096);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        pl_fft fft;
        parley_error error = {0};
        assert_int_equal(pl_fft_open(&arena, lengths[i], &fft, &error), PARLEY_ARGUMENT);
        assert_non_null(strstr(error.text, "even"));
    }
    pl_arena_free(&arena);
}

/* ------------------------------------------------------------------ running */

typedef struct spectrum {
    float *values; /* [frames][128] */
    int64_t frames;
} spectrum;

static spectrum spectrum_of(const pl_mel_shape *shape, int threads, const float *pcm, int64_t samples)
{
    pl_arena scratch;
    pl_pool *pool;
    pl_mel *mel;
    parley_allocator allocator = pl_default_allocator();
    pl_arena_init(&scratch, NULL, 4096);
    assert_int_equal(pl_pool_open(&allocator, threads, &pool, NULL), PARLEY_OK);
    assert_int_equal(pl_mel_open(NULL, shape, &mel, NULL), PARLEY_OK);
    spectrum s = {.frames = pl_mel_frames(mel, samples)};
    size_t count = (size_t)s.frames * (size_t)shape->bands;
    s.values = malloc(count * sizeof *s.values + 1);
    assert_non_null(s.values);
    assert_int_equal(pl_mel_run(mel, pool, &scratch, pcm, samples, s.values, NULL), PARLEY_OK);
    pl_mel_close(mel);
    pl_pool_close(pool);
    pl_arena_free(&scratch);
    return s;
}

/* Within 1e-4 of the largest magnitude: the limit that the golden data state. */
static void compare(const char *folder, const char *name, const spectrum *got)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    npy_array expected = npy_load(path);
    assert_int_equal(expected.shape[0], got->frames);
    assert_int_equal(expected.shape[1], 128);
    float largest = 0, worst = 0;
    for (size_t i = 0; i < expected.count; i++) {
        float difference = fabsf(got->values[i] - expected.f[i]);
        largest = fabsf(expected.f[i]) > largest ? fabsf(expected.f[i]) : largest;
        worst = !(difference <= worst) ? difference : worst;
    }
    if (!(worst <= 1e-4f * largest))
        fail_msg("%s: %s is off by %.9g, largest %.9g", folder, name, (double)worst, (double)largest);
    npy_free(&expected);
}

static void voice_cases(void **state)
{
    (void)state;
    static const char *const folders[] = {"voice_a/vector_1280", "voice_a/vector_1535",    "voice_a/vector_1536",
                                          "voice_a/vector_5001", "voice_a/vector_15007",   "voice_a/vector_float",
                                          "voice_b/vector_1280", "voice_a/vector_silence", "voice_b/vector_9999"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        voice_case c = voice_case_read(folders[i]);
        spectrum s = spectrum_of(&voice_shape, 2, c.pcm, c.samples);
        compare(c.folder, "mel", &s);
        free(s.values);
        voice_case_free(&c);
    }
}

/* Both rules of frames: as the package comes, and filled up to a whole hop. */
static void check_whisper(const char *name, bool padded)
{
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "%s/asr_mel_%s", TEST_DATA, name);
    snprintf(path, sizeof path, "%s/audio.npy", folder);
    npy_array audio = npy_load(path);
    pl_mel_shape shape = whisper_shape;
    shape.ceil_frames = padded;
    spectrum s = spectrum_of(&shape, 2, audio.f, (int64_t)audio.count);
    compare(folder, padded && audio.count % 160 ? "mel_padded" : "mel", &s);
    free(s.values);
    npy_free(&audio);
}

static void whisper_cases(void **state)
{
    (void)state;
    static const char *const names[] = {"clipped", "dc", "loud_then_quiet", "minimum", "odd_1037", "odd_399", "odd_4001", "silence"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_whisper(names[i], false);
        check_whisper(names[i], true);
    }
}

/* ------------------------------------------------------------------ the specification's numbers */

static void near(double got, double expected, double limit)
{
    if (!(fabs(got - expected) <= limit))
        fail_msg("%.10g, expected %.10g", got, expected);
}

static void filters_are_as_specified(void **state)
{
    (void)state;
    static const struct {
        int bin, band;
        double weight;
    } known[] = {{1, 0, 0.01237399}, {1, 1, 0.03039256}, {2, 2, 0.02474797}, {100, 99, 0.00778917}, {100, 100, 0.00257835}, {200, 127, 0}};
    pl_mel *mel;
    assert_int_equal(pl_mel_open(NULL, &whisper_shape, &mel, NULL), PARLEY_OK);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        near((double)pl_mel_weight(mel, known[i].bin, known[i].band), known[i].weight, 5.1e-9);
    int weights = 0;
    float largest = 0;
    for (int i = 0; i < 128; i++)
        for (int k = 0; k <= 200; k++) {
            float weight = pl_mel_weight(mel, k, i);
            weights += weight != 0;
            largest = weight > largest ? weight : largest;
        }
    assert_int_equal(weights, 394);
    near((double)largest, 0.0416817, 5.1e-8);
    pl_mel_close(mel);
}

static void sine_is_as_specified(void **state)
{
    (void)state;
    enum { SAMPLES = 16037 };
    float *pcm = malloc(SAMPLES * sizeof *pcm);
    assert_non_null(pcm);
    for (int i = 0; i < SAMPLES; i++)
        pcm[i] = (float)(0.5 * sin(2 * pi * 1000 * i / 16000));
    pl_mel_shape shape = whisper_shape;
    shape.ceil_frames = false;
    spectrum s = spectrum_of(&shape, 1, pcm, SAMPLES);
    assert_int_equal(s.frames, 100);
    int64_t most = 0, least = 0;
    for (int64_t i = 0; i < s.frames * 128; i++) {
        most = s.values[i] > s.values[most] ? i : most;
        least = s.values[i] < s.values[least] ? i : least;
    }
    assert_int_equal(most % 128, 42);
    near((double)s.values[most], 1.474446, 1e-5);
    near((double)s.values[least], -0.525554, 1e-5);
    free(s.values);
    free(pcm);
}

static void silence_is_exact(void **state)
{
    (void)state;
    static const float zeros[4000];
    spectrum s = spectrum_of(&whisper_shape, 1, zeros, 4000);
    for (int64_t i = 0; i < s.frames * 128; i++)
        assert_true(s.values[i] == -1.5f);
    free(s.values);
}

static void frames_are_counted(void **state)
{
    (void)state;
    static const struct {
        const pl_mel_shape *shape;
        int64_t samples, frames;
    } known[] = {{&voice_shape, 0, 0},     {&voice_shape, 384, 0},   {&voice_shape, 385, 1},   {&voice_shape, 1279, 4},
                 {&voice_shape, 1280, 5},  {&voice_shape, 1535, 5},  {&voice_shape, 1536, 6},  {&whisper_shape, 200, 0},
                 {&whisper_shape, 201, 2}, {&whisper_shape, 320, 2}, {&whisper_shape, 321, 3}, {&whisper_shape, -1, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pl_mel *mel;
        assert_int_equal(pl_mel_open(NULL, known[i].shape, &mel, NULL), PARLEY_OK);
        assert_int_equal(pl_mel_frames(mel, known[i].samples), known[i].frames);
        pl_mel_close(mel);
    }
}

/* ------------------------------------------------------------------ the rest */

static float *noise(int64_t samples)
{
    float *pcm = malloc((size_t)samples * sizeof *pcm);
    test_random random = {7};
    assert_non_null(pcm);
    for (int64_t i = 0; i < samples; i++)
        pcm[i] = test_float(&random, 0.3f);
    return pcm;
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { SAMPLES = 100003 };
    static const pl_mel_shape *const shapes[] = {&voice_shape, &whisper_shape};
    float *pcm = noise(SAMPLES);
    for (int i = 0; i < 2; i++) {
        spectrum one = spectrum_of(shapes[i], 1, pcm, SAMPLES);
        for (int threads = 2; threads <= 4; threads += 2) {
            spectrum more = spectrum_of(shapes[i], threads, pcm, SAMPLES);
            assert_memory_equal(one.values, more.values, (size_t)one.frames * 128 * sizeof *one.values);
            free(more.values);
        }
        free(one.values);
    }
    free(pcm);
}

/* A frame inside the sound is the same whatever stands beside it, to the last digit. */
static void frames_are_independent(void **state)
{
    (void)state;
    enum { SAMPLES = 20000, SHIFT = 5 };
    float *pcm = noise(SAMPLES);
    spectrum whole = spectrum_of(&voice_shape, 1, pcm, SAMPLES), part = spectrum_of(&voice_shape, 1, pcm + SHIFT * 256, SAMPLES - SHIFT * 256);
    int64_t inside = part.frames - 4;
    assert_memory_equal(whole.values + (SHIFT + 2) * 128, part.values + 2 * 128, (size_t)inside * 128 * sizeof *whole.values);
    free(whole.values);
    free(part.values);
    free(pcm);
}

static void short_windows_stand_in_the_middle(void **state)
{
    (void)state;
    float pcm[2048] = {0};
    pcm[1024] = 1.0f; /* in the middle of the frame at hop 4 */
    pl_mel_shape shape = voice_shape;
    shape.window = 600;
    shape.padding = 512;
    spectrum s = spectrum_of(&shape, 1, pcm, 2048);
    assert_true(s.values[4 * 128 + 60] > s.values[5 * 128 + 60]);
    assert_true(s.values[5 * 128 + 60] == s.values[3 * 128 + 60]);
    assert_true(s.values[2 * 128 + 60] == s.values[60] && s.values[6 * 128 + 60] == s.values[60]); /* outside the window */
    free(s.values);
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    pl_mel_shape shapes[5] = {voice_shape, voice_shape, voice_shape, voice_shape, voice_shape};
    shapes[0].fft = 1023;
    shapes[1].window = 2048;
    shapes[2].padding = 383; /* the last frame would stick out */
    shapes[3].high = 0;
    shapes[4].hop = 0;
    for (int i = 0; i < 5; i++) {
        pl_mel *mel = NULL;
        parley_error error = {0};
        assert_int_equal(pl_mel_open(NULL, &shapes[i], &mel, &error), PARLEY_ARGUMENT);
        assert_null(mel);
        assert_true(error.text[0] != 0);
    }
}

static void refused_memory_is_reported(void **state)
{
    (void)state;
    float *pcm = noise(3000), *out = malloc(11 * 128 * sizeof *out);
    int failures = 0;
    for (size_t calls = 0;; calls++) {
        limit_allocator limited = {.limit = SIZE_MAX, .left = calls};
        parley_allocator allocator = {.context = &limited, .alloc = limit_alloc, .release = limit_release};
        pl_arena scratch;
        pl_mel *mel = NULL;
        pl_arena_init(&scratch, &allocator, 64);
        parley_status status = pl_mel_open(&allocator, &voice_shape, &mel, NULL);
        if (status == PARLEY_OK)
            status = pl_mel_run(mel, NULL, &scratch, pcm, 3000, out, NULL);
        pl_mel_close(mel);
        pl_arena_free(&scratch);
        assert_int_equal(limited.held, 0);
        if (status == PARLEY_OK)
            break;
        assert_int_equal(status, PARLEY_MEMORY);
        failures++;
    }
    assert_true(failures > 4);
    free(pcm);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_by_definition),
        cmocka_unit_test(odd_lengths_are_refused),
        cmocka_unit_test(voice_cases),
        cmocka_unit_test(whisper_cases),
        cmocka_unit_test(filters_are_as_specified),
        cmocka_unit_test(sine_is_as_specified),
        cmocka_unit_test(silence_is_exact),
        cmocka_unit_test(frames_are_counted),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(frames_are_independent),
        cmocka_unit_test(short_windows_stand_in_the_middle),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(refused_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
