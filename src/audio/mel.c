#include "audio/mel.h"

#include "audio/fft.h"

#include <math.h>
#include <string.h>

enum { LANES = PL_FFT_LANES, FRAMES_PER_TASK = 16 * LANES, CHUNK = 1 << 15 };

/* Bins first .. first + count - 1 have weights in a band. */
typedef struct mel_band {
    int first, count;
    const float *weights;
} mel_band;

struct pl_mel {
    pl_arena arena;
    pl_mel_shape shape;
    pl_fft fft;
    int bins;
    const double *window; /* [fft], zero outside the window */
    mel_band *bands;
};

/* ------------------------------------------------------------------ tables */

/* The Slaney scale: linear below 1 kHz, then 27 steps to a factor of 6.4. */
static const double linear_top = 1000.0, linear_mel = 15.0;

static double log_step(void)
{
    return log(6.4) / 27.0;
}

static double mel_of(double hertz)
{
    return hertz < linear_top ? hertz * linear_mel / linear_top : linear_mel + log(hertz / linear_top) / log_step();
}

static double hertz_of(double mel)
{
    return mel < linear_mel ? mel * linear_top / linear_mel : linear_top * exp((mel - linear_mel) * log_step());
}

static parley_status make_window(pl_mel *m, parley_error *error)
{
    double *window = PL_NEW_ARRAY(&m->arena, double, m->shape.fft);
    if (!window)
        return pl_fail_memory(error, "window of a spectrum");
    int first = (m->shape.fft - m->shape.window) / 2;
    for (int i = 0; i < m->shape.window; i++)
        window[first + i] = 0.5 - 0.5 * cos(2.0 * acos(-1.0) * i / m->shape.window);
    m->window = window;
    return PARLEY_OK;
}

/* A triangle over edges[0 .. 2] Hz with area 1 over Hz. */
static float triangle(const double edges[3], double hertz)
{
    double up = (hertz - edges[0]) / (edges[1] - edges[0]), down = (edges[2] - hertz) / (edges[2] - edges[1]);
    double height = up < down ? up : down;
    return height > 0 ? (float)(height * 2.0 / (edges[2] - edges[0])) : 0.0f;
}

/* `row` [bins] is work space. */
static parley_status make_band(pl_mel *m, int index, float *row, parley_error *error)
{
    double low = mel_of(m->shape.low), step = (mel_of(m->shape.high) - low) / (m->shape.bands + 1), edges[3];
    for (int i = 0; i < 3; i++)
        edges[i] = hertz_of(low + step * (index + i));
    int first = m->bins, last = -1;
    for (int k = 0; k < m->bins; k++) {
        row[k] = triangle(edges, (double)m->shape.sample_rate * k / m->shape.fft);
        if (row[k] > 0)
            last = k;
        if (row[k] > 0 && first > k)
            first = k;
    }
    int count = last < first ? 0 : last - first + 1;
    float *weights = PL_NEW_ARRAY(&m->arena, float, count);
    if (!weights)
        return pl_fail_memory(error, "mel filters");
    memcpy(weights, row + (count ? first : 0), (size_t)count * sizeof *weights);
    m->bands[index] = (mel_band){count ? first : 0, count, weights};
    return PARLEY_OK;
}

static parley_status make_tables(pl_mel *m, parley_error *error)
{
    PL_TRY(pl_fft_open(&m->arena, m->shape.fft, &m->fft, error));
    PL_TRY(make_window(m, error));
    float *row = PL_NEW_ARRAY(&m->arena, float, m->bins);
    m->bands = PL_NEW_ARRAY(&m->arena, mel_band, m->shape.bands);
    if (!row || !m->bands)
        return pl_fail_memory(error, "mel filters");
    for (int i = 0; i < m->shape.bands; i++)
        PL_TRY(make_band(m, i, row, error));
    return PARLEY_OK;
}

/* The last frame must end inside the padded signal. */
static bool is_possible(const pl_mel_shape *s)
{
    bool frames = s->window > 0 && s->window <= s->fft && s->hop > 0 && s->padding >= 0 && s->fft <= (int64_t)s->hop + 2 * (int64_t)s->padding;
    return frames && s->sample_rate > 0 && s->bands > 0 && s->low >= 0 && s->high > s->low && s->floor > 0;
}

parley_status pl_mel_open(const parley_allocator *allocator, const pl_mel_shape *shape, pl_mel **mel, parley_error *error)
{
    if (!is_possible(shape))
        return pl_fail(error, PARLEY_ARGUMENT, "log-mel spectrum: window %d of %d, hop %d, padding %d, %d bands of %g to %g Hz at %d Hz cannot be",
                       shape->window, shape->fft, shape->hop, shape->padding, shape->bands, shape->low, shape->high, shape->sample_rate);
    pl_arena arena;
    pl_arena_init(&arena, allocator, CHUNK);
    pl_mel *m = PL_NEW(&arena, pl_mel);
    if (!m) {
        pl_arena_free(&arena);
        return pl_fail_memory(error, "log-mel spectrum");
    }
    *m = (pl_mel){.arena = arena, .shape = *shape, .bins = shape->fft / 2 + 1};
    parley_status status = make_tables(m, error);
    if (status == PARLEY_OK)
        *mel = m;
    else
        pl_mel_close(m);
    return status;
}

void pl_mel_close(pl_mel *mel)
{
    if (!mel)
        return;
    pl_arena arena = mel->arena; /* it holds the structure itself */
    pl_arena_free(&arena);
}

float pl_mel_weight(const pl_mel *mel, int bin, int band)
{
    int at = bin - mel->bands[band].first;
    return at >= 0 && at < mel->bands[band].count ? mel->bands[band].weights[at] : 0.0f;
}

int64_t pl_mel_frames(const pl_mel *mel, int64_t samples)
{
    const pl_mel_shape *s = &mel->shape;
    if (samples <= s->padding)
        return 0;
    return samples / s->hop + (s->ceil_frames && samples % s->hop != 0);
}

/* ------------------------------------------------------------------ running */

/* What a worker needs for LANES frames. */
typedef struct bench {
    double *x, *spectrum; /* [fft][lanes], [bins][2][lanes] */
    float *magnitude;     /* [bins][lanes] */
    float *frame;         /* [fft]: a frame at either end, reflected */
} bench;

typedef struct job {
    const pl_mel *mel;
    const float *pcm;
    int64_t samples, padded; /* padded: with zeros up to a multiple of hop */
    int64_t first, frames;   /* which of the sound's */
    bench *benches;          /* a worker */
    float *most;             /* a task: the largest value */
    float *out;
    float least; /* second walk: nothing below it */
} job;

static int64_t reflect(int64_t i, int64_t length)
{
    if (i < 0)
        return -i;
    return i < length ? i : 2 * (length - 1) - i;
}

/* The samples [fft] of a frame. */
static const float *samples_of(const job *j, int64_t frame, float *space)
{
    int fft = j->mel->shape.fft;
    int64_t first = frame * j->mel->shape.hop - j->mel->shape.padding;
    if (first >= 0 && first + fft <= j->samples)
        return j->pcm + first;
    for (int i = 0; i < fft; i++) {
        int64_t at = reflect(first + i, j->padded);
        space[i] = at < j->samples ? j->pcm[at] : 0.0f;
    }
    return space;
}

/* Frames first .. first + LANES - 1, zeros for those behind the last. */
static void gather(const job *j, int64_t first, const bench *b)
{
    int fft = j->mel->shape.fft;
    const double *window = j->mel->window;
    for (int l = 0; l < LANES; l++) {
        if (first + l >= j->frames) {
            for (int i = 0; i < fft; i++)
                b->x[i * LANES + l] = 0;
            continue;
        }
        const float *x = samples_of(j, j->first + first + l, b->frame);
        for (int i = 0; i < fft; i++)
            b->x[i * LANES + l] = (double)x[i] * window[i];
    }
}

static void measure(const pl_mel *m, const bench *b)
{
    for (int k = 0; k < m->bins; k++) {
        const double *re = b->spectrum + (size_t)k * 2 * LANES, *im = re + LANES;
        for (int l = 0; l < LANES; l++) {
            float power = (float)(re[l] * re[l] + im[l] * im[l]);
            b->magnitude[k * LANES + l] = m->shape.power ? power : sqrtf(power + 1e-9f);
        }
    }
}

static float compress(const pl_mel_shape *s, float energy)
{
    float x = energy < s->floor ? s->floor : energy; /* keeps what is no number */
    return s->log == PL_MEL_LOG_NATURAL ? logf(x) : log10f(x);
}

/* Returns the largest value of `lanes` frames, or `most`. */
static float filter(const pl_mel *m, const float *magnitude, int lanes, float *out, float most)
{
    for (int i = 0; i < m->shape.bands; i++) {
        const mel_band *f = &m->bands[i];
        float sum[LANES] = {0};
        const float *x = magnitude + (size_t)f->first * LANES;
        for (int k = 0; k < f->count; k++)
            for (int l = 0; l < LANES; l++)
                sum[l] += f->weights[k] * x[k * LANES + l];
        for (int l = 0; l < lanes; l++) {
            float value = compress(&m->shape, sum[l]);
            out[(size_t)l * (size_t)m->shape.bands + (size_t)i] = value;
            most = value > most ? value : most;
        }
    }
    return most;
}

static void run_frames(void *context, int task, int worker)
{
    const job *j = context;
    const pl_mel *m = j->mel;
    const bench *b = &j->benches[worker];
    int64_t first = (int64_t)task * FRAMES_PER_TASK, last = first + FRAMES_PER_TASK < j->frames ? first + FRAMES_PER_TASK : j->frames;
    float most = -INFINITY;
    for (int64_t t = first; t < last; t += LANES) {
        gather(j, t, b);
        pl_fft_run(&m->fft, b->x, b->spectrum);
        measure(m, b);
        most = filter(m, b->magnitude, last - t < LANES ? (int)(last - t) : LANES, j->out + t * m->shape.bands, most);
    }
    j->most[task] = most;
}

static void scale_frames(void *context, int task, int worker)
{
    (void)worker;
    const job *j = context;
    int64_t first = (int64_t)task * FRAMES_PER_TASK, last = first + FRAMES_PER_TASK < j->frames ? first + FRAMES_PER_TASK : j->frames;
    for (int64_t i = first * j->mel->shape.bands; i < last * j->mel->shape.bands; i++) {
        float x = j->out[i] < j->least ? j->least : j->out[i];
        j->out[i] = (x + 4.0f) / 4.0f;
    }
}

static parley_status make_benches(job *j, int workers, pl_arena *scratch, parley_error *error)
{
    size_t fft = (size_t)j->mel->shape.fft, bins = (size_t)j->mel->bins;
    j->benches = PL_NEW_ARRAY(scratch, bench, workers);
    for (int i = 0; j->benches && i < workers; i++) {
        bench *b = &j->benches[i];
        b->x = pl_arena_alloc_raw(scratch, fft * LANES, sizeof *b->x);
        b->spectrum = pl_arena_alloc_raw(scratch, bins * 2 * LANES, sizeof *b->spectrum);
        b->magnitude = pl_arena_alloc_raw(scratch, bins * LANES, sizeof *b->magnitude);
        b->frame = pl_arena_alloc_raw(scratch, fft, sizeof *b->frame);
        if (!b->x || !b->spectrum || !b->magnitude || !b->frame)
            return pl_fail_memory(error, "work space of a log-mel spectrum");
    }
    return j->benches ? PARLEY_OK : pl_fail_memory(error, "work space of a log-mel spectrum");
}

static void run_job(job *j, pl_pool *pool, int tasks, float *most)
{
    pl_pool_run(pool, run_frames, j, tasks);
    if (j->mel->shape.log != PL_MEL_LOG_WHISPER)
        return;
    for (int i = 0; i < tasks; i++)
        *most = j->most[i] > *most ? j->most[i] : *most;
    j->least = *most - 8.0f;
    pl_pool_run(pool, scale_frames, j, tasks);
}

parley_status pl_mel_run_part(const pl_mel *mel, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, int64_t first, int64_t frames,
                              float *most, float *out, parley_error *error)
{
    job j = {.mel = mel, .pcm = pcm, .samples = samples, .padded = samples, .first = first, .frames = frames, .out = out};
    if (mel->shape.ceil_frames)
        j.padded = pl_mel_frames(mel, samples) * mel->shape.hop;
    int tasks = (int)((j.frames + FRAMES_PER_TASK - 1) / FRAMES_PER_TASK);
    pl_arena_mark mark = pl_arena_save(scratch);
    j.most = pl_arena_alloc_raw(scratch, (size_t)tasks, sizeof *j.most);
    parley_status status =
        j.most ? make_benches(&j, pl_pool_threads(pool), scratch, error) : pl_fail_memory(error, "work space of a log-mel spectrum");
    if (status == PARLEY_OK)
        run_job(&j, pool, tasks, most);
    pl_arena_restore(scratch, mark);
    return status;
}

parley_status pl_mel_run(const pl_mel *mel, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, float *out, parley_error *error)
{
    float most = -INFINITY;
    return pl_mel_run_part(mel, pool, scratch, pcm, samples, 0, pl_mel_frames(mel, samples), &most, out, error);
}
