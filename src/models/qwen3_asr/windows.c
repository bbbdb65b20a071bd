#include "models/qwen3_asr/windows.h"

#include "audio/segment.h"

enum { SAMPLES_PER_MS = PARLEY_ASR_RATE / 1000 };

/* Parts of the limit, which is 300 s in the published model. */
enum {
    WINDOW_NUM = 3, /* a window of many: 3/5, the reference's 180 s where times are asked for */
    WINDOW_DEN = 5,
    STEP_DEN = 8 /* least way from one window to the next */
};
static const int64_t margin_most = 15000;     /* ms before the end of a window where words are not taken */
static const int64_t standing_least = 15000;  /* ms of sound behind stamps that stand still: less is not tried again */
static const int64_t pause_most = 2000;       /* ms behind a word where the next window is begun */
static const int64_t stamp_step = 80;         /* ms between two stamps: how exact they are */
static const double speech_most = 8, few = 8; /* syllables a second in fast speech; and some */

typedef struct walk {
    pl_windowed *job;
    pl_arena *scratch;
    int64_t at; /* sample; a whole number of ms */
    size_t unit;
    pl_window window;
    bool last;            /* the window reaches the end */
    int64_t *raw, *times; /* of the window's units, ms from its beginning */
} walk;

static int64_t window_ms(const walk *w)
{
    return w->window.samples / SAMPLES_PER_MS;
}

static int64_t least_step(const walk *w)
{
    return w->job->limit / SAMPLES_PER_MS / STEP_DEN;
}

/* Ms of a window before which words are taken. */
static int64_t guard(const walk *w)
{
    int64_t margin = least_step(w) < margin_most ? least_step(w) : margin_most;
    return w->last ? window_ms(w) : window_ms(w) - margin;
}

/* ------------------------------------------------------------------ a window */

static void choose_sound(walk *w)
{
    const pl_windowed *job = w->job;
    int64_t rest = job->samples - w->at, most = w->at ? job->limit * WINDOW_NUM / WINDOW_DEN : job->limit;
    w->last = rest <= most;
    w->window.first = w->at;
    w->window.samples = rest;
    if (w->last)
        return;
    pl_segment_rule rule = {
        .limit = job->limit * WINDOW_NUM / WINDOW_DEN, .expand = job->limit / STEP_DEN, .window = PARLEY_ASR_RATE / 10, .least = 1, .strict = true};
    w->window.samples = pl_segment_end(job->pcm, job->samples, w->at, &rule) - w->at;
}

/* As much as fast speech could say; all in the last window. */
static void choose_text(walk *w)
{
    const pl_units *units = w->job->units;
    double room = speech_most * (double)w->window.samples / PARLEY_ASR_RATE + few;
    size_t end = w->unit;
    do
        room -= pl_unit_syllables(units->items[end++]);
    while (end < units->count && (w->last || room > 0));
    w->window.unit = w->unit;
    w->window.n_units = end - w->unit;
}

static parley_status run_window(walk *w, const pl_window_stage *stage, parley_error *error)
{
    size_t count = 2 * w->window.n_units;
    w->raw = w->job->raw + 2 * w->unit;
    w->times = w->job->times + 2 * w->unit;
    PL_TRY(stage->align(stage->context, &w->window, w->raw, error));
    for (size_t i = 0; i < count; i++)
        w->times[i] = w->raw[i];
    w->job->n_windows++;
    return pl_times_repair(w->scratch, w->times, count, error);
}

/* ------------------------------------------------------------------ where the next one begins */

/* Whether the times of a unit are the model's own; repaired ones may lie anywhere between their neighbours. */
static bool is_own(const walk *w, size_t unit)
{
    return w->raw[2 * unit] == w->times[2 * unit] && w->raw[2 * unit + 1] == w->times[2 * unit + 1];
}

/* How many of the window's units have times to be trusted. */
static size_t trusted(const walk *w, size_t stuck)
{
    size_t keep = 0;
    while (keep < stuck && w->times[2 * keep + 1] <= guard(w))
        keep++;
    while (keep > 0 && keep < w->window.n_units && !is_own(w, keep - 1))
        keep--;
    return keep;
}

/* Ms between a unit of the window and the one before it, not more than a pause. */
static int64_t pause_before(const walk *w, size_t unit)
{
    if (unit == w->window.n_units || !is_own(w, unit))
        return 0;
    int64_t pause = w->times[2 * unit] - w->times[2 * unit - 1];
    return pause < pause_most ? pause : pause_most;
}

/* The unit with the longest pause before it, of those that end in the last part of the trusted ones; `keep` itself may be it. */
static size_t best_pause(const walk *w, size_t keep)
{
    size_t best = keep;
    int64_t longest = -1, earliest = w->times[2 * keep - 1] - least_step(w);
    for (size_t i = keep; i > 0 && w->times[2 * i - 1] >= earliest; i--) {
        if (pause_before(w, i) > longest && is_own(w, i - 1)) {
            longest = pause_before(w, i);
            best = i;
        }
    }
    return best;
}

/* The quietest place in [from, to) ms of the window, in ms. */
static int64_t quiet_ms(const walk *w, int64_t from, int64_t to)
{
    int64_t left = from > 0 ? from : 0, right = to < window_ms(w) ? to : window_ms(w);
    if (left >= right)
        return left < window_ms(w) ? left : window_ms(w);
    int64_t base = w->window.first;
    return (pl_quietest(w->job->pcm, base + left * SAMPLES_PER_MS, base + right * SAMPLES_PER_MS, PARLEY_ASR_RATE / 10) - base) / SAMPLES_PER_MS;
}

/* Between unit `next` - 1 and the one behind it, near the former. */
static int64_t resume_ms(const walk *w, size_t next)
{
    int64_t end = w->times[2 * next - 1];
    return quiet_ms(w, end - stamp_step, end + pause_before(w, next) + stamp_step);
}

/* ------------------------------------------------------------------ the walk */

/* The first `count` units of the window stand, at `most` ms the latest; the next window begins `step` ms behind this one's beginning. */
static void take(walk *w, size_t count, int64_t step, int64_t most)
{
    enum { ENOUGH = 8 }; /* units that tell whether they are in disorder or too many */
    pl_units units = {w->job->units->items + w->unit, count, w->job->units->rule};
    pl_alignment part = {&units, w->raw, w->times, (double)step / 1000};
    int64_t offset = w->at / SAMPLES_PER_MS, before = w->unit ? w->times[-1] : 0;
    if (count >= ENOUGH)
        w->job->doubts |= pl_alignment_doubts(&part) & (PL_DOUBT_DISORDER | PL_DOUBT_TOO_MUCH);
    for (size_t i = 0; i < 2 * count; i++) {
        int64_t time = offset + (w->times[i] < most ? w->times[i] : most);
        w->raw[i] += offset;
        before = w->times[i] = time > before ? time : before;
    }
    w->unit += count;
    w->at += step * SAMPLES_PER_MS;
}

/* As many of the rest of the units as the window's sound has of the rest of the sound. */
static size_t share(const walk *w, size_t keep)
{
    size_t rest = w->job->units->count - w->unit;
    double part = (double)w->window.samples / (double)(w->job->samples - w->at);
    size_t count = (size_t)((double)rest * part);
    count = count < w->window.n_units ? count : w->window.n_units;
    return count > keep ? count : keep;
}

/* A window that tells nothing: its words share its sound. */
static void give_up(walk *w, size_t keep)
{
    w->job->doubts |= PL_DOUBT_LOST;
    if (w->last)
        take(w, w->window.n_units, window_ms(w), INT64_MAX);
    else
        take(w, share(w, keep), window_ms(w), window_ms(w));
}

/* Whether the words behind the trusted ones are put near the window's end: they are said later. */
static bool is_later(const walk *w, size_t keep, size_t stuck)
{
    for (; keep < stuck && w->times[2 * keep + 1] <= guard(w);)
        keep++;
    return keep < stuck || (stuck < w->window.n_units && w->times[2 * stuck] >= guard(w));
}

/* Takes what stands and goes on. */
static void advance(walk *w)
{
    size_t n = w->window.n_units, stuck = pl_times_stuck(w->times, n), keep = trusted(w, stuck);
    bool ends = w->unit + n == w->job->units->count;
    bool again = stuck < n && window_ms(w) - w->times[2 * stuck] >= standing_least;
    if ((w->last && !again) || (keep == n && ends)) {
        take(w, n, window_ms(w), INT64_MAX);
        return;
    }
    size_t next = keep ? best_pause(w, keep) : 0;
    int64_t step = keep ? resume_ms(w, next) : 0;
    if (step >= least_step(w))
        take(w, next, step, INT64_MAX);
    else if (!w->last && is_later(w, keep, stuck))
        take(w, keep, quiet_ms(w, guard(w) - least_step(w) / 2, guard(w)), INT64_MAX);
    else
        give_up(w, keep);
}

parley_status pl_align_windows(pl_arena *scratch, pl_windowed *job, const pl_window_stage *stage, parley_error *error)
{
    walk w = {.job = job, .scratch = scratch};
    job->n_windows = 0;
    job->doubts = 0;
    while (w.unit < job->units->count) {
        choose_sound(&w);
        choose_text(&w);
        PL_TRY(run_window(&w, stage, error));
        advance(&w);
    }
    pl_alignment whole = {job->units, job->raw, job->times, (double)job->samples / PARLEY_ASR_RATE};
    job->doubts |= pl_alignment_doubts(&whole);
    return PARLEY_OK;
}
