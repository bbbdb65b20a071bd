#include "audio/activity.h"

#include "audio/mel.h"

#include <math.h>
#include <string.h>

/* The figures were chosen on made-up sounds; tests/unit/test_activity.c holds them to both sides.
 *
 * BANDS, 100 to 7,000 Hz: three to each formant of speech, wide enough (210 Hz and more) that the level of noise in one of them hardly varies.
 * A level is the median of MEDIAN frames of 10 ms: 100 ms are whole periods of mains of 50 and of 60 Hz; clicks are shorter than half of that, the
 * vowel of a short syllable is longer.
 * A BLOCK of 3 s holds several syllables, or the pause around one; the next begins half a block later.
 * How far the second of the bands (LEAST_BANDS) rises over its quartile within a block: at most 4.0 dB in two hours of white, pink, brown and
 * steeper noise at levels down to the last bit, and of hum; at least 6.6 dB where voiced and whispered words lie 5 dB below such noise, 24 dB in
 * quiet (down to -70 dBFS). */
enum { BANDS = 12, MEDIAN = 10, BLOCK = 300, HOP = 160, FFT = 400, FRAMES = BLOCK + MEDIAN - 1, LEAST_BANDS = 2, CHUNK = 1 << 14 };
static const float rise = 1.1513f; /* 5 dB, as a natural logarithm of power */
#define QUIET 3.5e-9f              /* of a band's power: white noise of one step of 16-bit samples; what is quieter cannot be heard */

struct pl_activity {
    pl_arena arena;
    pl_mel *mel;
};

parley_status pl_activity_open(const parley_allocator *allocator, pl_activity **activity, parley_error *error)
{
    static const pl_mel_shape shape = {.sample_rate = PL_ACTIVITY_RATE,
                                       .fft = FFT,
                                       .window = FFT,
                                       .hop = HOP,
                                       .bands = BANDS,
                                       .padding = FFT / 2,
                                       .power = true,
                                       .low = 100,
                                       .high = 7000,
                                       .floor = QUIET,
                                       .log = PL_MEL_LOG_NATURAL};
    pl_arena arena;
    pl_arena_init(&arena, allocator, CHUNK);
    pl_activity *a = PL_NEW(&arena, pl_activity);
    if (!a) {
        pl_arena_free(&arena);
        return pl_fail_memory(error, "the speech gate");
    }
    *a = (pl_activity){.arena = arena};
    parley_status status = pl_mel_open(allocator, &shape, &a->mel, error);
    if (status == PARLEY_OK)
        *activity = a;
    else
        pl_activity_close(a);
    return status;
}

void pl_activity_close(pl_activity *activity)
{
    if (!activity)
        return;
    pl_mel_close(activity->mel);
    pl_arena arena = activity->arena; /* it holds the structure itself */
    pl_arena_free(&arena);
}

/* ------------------------------------------------------------------ levels */

/* Of a few values, which are sorted by it. */
static float median(float *x, int n)
{
    for (int i = 1; i < n; i++) {
        float value = x[i];
        int k = i;
        for (; k > 0 && x[k - 1] > value; k--)
            x[k] = x[k - 1];
        x[k] = value;
    }
    return x[n / 2];
}

/* frames [n + MEDIAN - 1][BANDS] -> levels [BANDS][n] */
static void smooth(const float *frames, int n, float *levels)
{
    for (int b = 0; b < BANDS; b++) {
        for (int t = 0; t < n; t++) {
            float near[MEDIAN];
            for (int i = 0; i < MEDIAN; i++)
                near[i] = frames[(t + i) * BANDS + b];
            levels[b * n + t] = median(near, MEDIAN);
        }
    }
}

/* Whether the loudest level of a band exceeds the lower quartile by the rise: then a quarter lies below it by more. */
static bool rises(const float *levels, int n)
{
    float most = levels[0];
    int below = 0;
    for (int t = 1; t < n; t++)
        most = levels[t] > most ? levels[t] : most;
    for (int t = 0; t < n; t++)
        below += levels[t] < most - rise;
    return 4 * below >= n;
}

static bool changes(const float *frames, int n, float *levels)
{
    int bands = 0;
    smooth(frames, n, levels);
    for (int b = 0; b < BANDS; b++)
        bands += rises(levels + b * n, n);
    return bands >= LEAST_BANDS;
}

static bool is_heard(const float *frames, int64_t n)
{
    for (int64_t i = 0; i < n * BANDS; i++)
        if (frames[i] > logf(QUIET) + rise)
            return true;
    return false;
}

/* ------------------------------------------------------------------ blocks */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The last block ends with the sound. */
static parley_status judge(const pl_activity *a, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, float *frames, float *levels,
                           bool *found, parley_error *error)
{
    const int64_t second = PL_ACTIVITY_RATE / HOP, total = pl_mel_frames(a->mel, samples);
    float unused = 0;
    for (int64_t first = 0, last = total > FRAMES ? total - FRAMES : 0; !*found && first <= last; first += BLOCK / 2) {
        int64_t count = smaller(total - first, FRAMES);
        PL_TRY(pl_mel_run_part(a->mel, pool, scratch, pcm, samples, first, count, &unused, frames, error));
        *found = total < second ? is_heard(frames, count) : changes(frames, (int)count - MEDIAN + 1, levels);
        if (first < last && first + BLOCK / 2 > last)
            first = last - BLOCK / 2;
    }
    return PARLEY_OK;
}

parley_status pl_activity_find(const pl_activity *activity, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, bool *found,
                               parley_error *error)
{
    pl_arena_mark mark = pl_arena_save(scratch);
    float *frames = pl_arena_alloc_raw(scratch, (size_t)FRAMES * BANDS, sizeof *frames);
    float *levels = pl_arena_alloc_raw(scratch, (size_t)BLOCK * BANDS, sizeof *levels);
    *found = false;
    parley_status status =
        frames && levels ? judge(activity, pool, scratch, pcm, samples, frames, levels, found, error) : pl_fail_memory(error, "the speech gate");
    pl_arena_restore(scratch, mark);
    return status;
}
