#include "audio/stretch.h"

#include <parley/tts.h>

#include <math.h>
#include <string.h>

/* Windows of 20 ms that overlap by half, places up to 15 ms to either side: with these Chromium plays speech faster and slower (kOlaWindowSize and
 * kWsolaSearchInterval in media/filters/audio_renderer_algorithm.cc). 30 ms of places hold a period of every voice. */
enum { HOPS_A_SECOND = 100, SEARCH_MS = 15 };

/* The search tries every COARSE-th place, then the neighbours of the best one. At 24 kHz the step is half a period of 3 kHz; the voiced parts of
 * speech, for which the place matters, have their energy below. */
enum { COARSE = 4 };

enum { LEAST_RATE = 1000, MOST_RATE = 192000 };

/* Positions are samples of the input from its beginning. Before it and behind its end there is silence. */
struct pl_stretch {
    double speed;
    int hop, search;    /* samples; a window is two hops */
    int64_t hops;       /* made */
    int64_t taken;      /* samples of the input */
    int64_t next;       /* position that continues the last hop */
    int64_t first, end; /* positions of the samples that are held */
    int held;           /* most of them */
    float *pcm;         /* [held] */
    float *fade;        /* [hop] rising half of a Hann window */
    double *squares;    /* [2 search + window + 1] sums over what the search may use */
};

parley_status pl_stretch_check(double speed, parley_error *error)
{
    if (!(speed >= PARLEY_SPEED_LEAST && speed <= PARLEY_SPEED_MOST))
        return pl_fail(error, PARLEY_ARGUMENT, "speed: %g, expected %g to %g", speed, PARLEY_SPEED_LEAST, PARLEY_SPEED_MOST);
    return PARLEY_OK;
}

/* A hop reads from the last position, or from the first place of its search, to the end of the furthest window: at most PARLEY_SPEED_MOST + 1 hops
 * and both sides of the search. Twice as much is held, so that samples are seldom moved. */
parley_status pl_stretch_open(pl_arena *arena, int sample_rate, double speed, pl_stretch **stretch, parley_error *error)
{
    PL_TRY(pl_stretch_check(speed, error));
    if (sample_rate < LEAST_RATE || sample_rate > MOST_RATE)
        return pl_fail(error, PARLEY_ARGUMENT, "speed: a sample rate of %d Hz, expected %d to %d", sample_rate, LEAST_RATE, MOST_RATE);
    int hop = sample_rate / HOPS_A_SECOND, search = sample_rate * SEARCH_MS / 1000, span = ((int)PARLEY_SPEED_MOST + 1) * hop + 2 * search + 1;
    pl_stretch *s = PL_NEW(arena, pl_stretch);
    if (!s)
        return pl_fail_memory(error, "a change of speed");
    *s = (pl_stretch){.speed = speed, .hop = hop, .search = search, .first = -(hop + search), .held = 2 * span};
    s->pcm = PL_NEW_ARRAY(arena, float, s->held);
    s->fade = PL_NEW_ARRAY(arena, float, hop);
    s->squares = PL_NEW_ARRAY(arena, double, 2 * search + 2 * hop + 1);
    if (!s->pcm || !s->fade || !s->squares)
        return pl_fail_memory(error, "a change of speed");
    for (int i = 0; i < hop; i++)
        s->fade[i] = (float)(0.5 - 0.5 * cos(3.14159265358979323846 * (i + 0.5) / hop));
    *stretch = s;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ places */

/* The position that belongs to the end of hop m, m from 1. */
static int64_t place_of(const pl_stretch *s, int64_t m)
{
    return (int64_t)((double)m * s->hop * s->speed + 0.5);
}

/* How far the input must have come for hop m: to the end of the last window of its search, and of the window that continues hop m - 1. */
static int64_t needed(const pl_stretch *s, int64_t m)
{
    int64_t searched = place_of(s, m) + s->hop, continued = place_of(s, m - 1) + 2 * s->hop;
    return (searched > continued ? searched : continued) + s->search;
}

static const float *at(const pl_stretch *s, int64_t position)
{
    return s->pcm + (position - s->first);
}

/* Several sums, so that the compiler may use vectors. */
static float dot(const float *a, const float *b, int count)
{
    enum { LANES = 8 };
    float sums[LANES] = {0}, sum = 0;
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++)
            sums[k] += a[i + k] * b[i + k];
    for (; i < count; i++)
        sum += a[i] * b[i];
    for (int k = 0; k < LANES; k++)
        sum += sums[k];
    return sum;
}

/* Normalised cross-correlation of the window at the end of the last hop with the one `offset` from the first place of the search, but for the factor
 * that all places share. */
static double likeness(const pl_stretch *s, const float *first, int offset)
{
    int window = 2 * s->hop;
    double energy = s->squares[offset + window] - s->squares[offset];
    return energy > 0 ? (double)dot(at(s, s->next), first + offset, window) / sqrt(energy) : 0;
}

static void sum_squares(const pl_stretch *s, const float *first)
{
    int count = 2 * s->search + 2 * s->hop;
    for (int i = 0; i < count; i++)
        s->squares[i + 1] = s->squares[i] + (double)first[i] * (double)first[i];
}

/* Start of the window that hop m fades into. Among equals, such as in silence, the one nearest to its place. */
static int64_t most_alike(const pl_stretch *s, int64_t m)
{
    int64_t start = place_of(s, m) - s->hop - s->search;
    const float *first = at(s, start);
    int middle = s->search, best = middle;
    sum_squares(s, first);
    double most = likeness(s, first, middle);
    for (int step = COARSE; step <= s->search; step += COARSE)
        for (int sign = -1; sign <= 1; sign += 2) {
            double found = likeness(s, first, middle + sign * step);
            best = found > most ? middle + sign * step : best;
            most = found > most ? found : most;
        }
    for (int offset = best - COARSE + 1, end = best + COARSE; offset < end; offset++) {
        double found = offset >= 0 && offset <= 2 * s->search ? likeness(s, first, offset) : 0;
        best = found > most ? offset : best;
        most = found > most ? found : most;
    }
    return start + best;
}

/* ------------------------------------------------------------------ hops */

/* Where the input itself goes on within the reach of the search it is what resembles itself most: it is copied. */
static void make_hop(pl_stretch *s, float *out, int count)
{
    int64_t m = ++s->hops, ahead = s->next + s->hop - place_of(s, m);
    const float *from = at(s, s->next);
    if (ahead >= -s->search && ahead <= s->search) {
        memcpy(out, from, (size_t)count * sizeof *out);
        s->next += s->hop;
        return;
    }
    int64_t window = most_alike(s, m);
    const float *to = at(s, window);
    for (int i = 0; i < count; i++)
        out[i] = from[i] + s->fade[i] * (to[i] - from[i]);
    s->next = window + s->hop;
}

/* Forgets what no hop needs any more. */
static void forget(pl_stretch *s)
{
    int64_t searched = place_of(s, s->hops + 1) - s->hop - s->search, keep = searched < s->next ? searched : s->next;
    if (keep <= s->first)
        return;
    memmove(s->pcm, at(s, keep), (size_t)(s->end - keep) * sizeof *s->pcm);
    s->first = keep;
}

/* As many of the samples as there is room for; NULL: silence. */
static size_t hold(pl_stretch *s, const float *pcm, size_t count)
{
    if (s->end - s->first + (int64_t)count > s->held)
        forget(s);
    size_t room = (size_t)(s->held - (s->end - s->first));
    if (count > room)
        count = room;
    float *to = s->pcm + (s->end - s->first);
    if (pcm && count)
        memcpy(to, pcm, count * sizeof *to);
    else if (count)
        memset(to, 0, count * sizeof *to);
    s->end += (int64_t)count;
    return count;
}

static int64_t length_of(const pl_stretch *s, int64_t samples)
{
    return (int64_t)((double)samples / s->speed + 0.5);
}

size_t pl_stretch_gives(const pl_stretch *s, size_t count, bool last)
{
    int64_t taken = s->taken + (int64_t)count, m = s->hops;
    if (last)
        return (size_t)(length_of(s, taken) - s->hops * s->hop);
    while (needed(s, m + 1) <= taken)
        m++;
    return (size_t)((m - s->hops) * s->hop);
}

void pl_stretch_push(pl_stretch *s, const float *pcm, size_t count, bool last, float *out)
{
    s->taken += (int64_t)count;
    do {
        size_t kept = hold(s, pcm, count);
        pcm = kept ? pcm + kept : pcm;
        count -= kept;
        for (; needed(s, s->hops + 1) <= s->end; out += s->hop)
            make_hop(s, out, s->hop);
    } while (count > 0);
    if (!last)
        return;
    for (int64_t left = length_of(s, s->taken) - s->hops * s->hop; left > 0; left -= s->hop, out += s->hop) {
        int64_t lacking = needed(s, s->hops + 1) - s->end;
        if (lacking > 0)
            hold(s, NULL, (size_t)lacking);
        make_hop(s, out, (int)(left < s->hop ? left : s->hop));
    }
}
