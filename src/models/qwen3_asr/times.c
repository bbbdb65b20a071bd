#include "models/qwen3_asr/units.h"

#include "base/sort.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <math.h>

/* ------------------------------------------------------------------ longest non-decreasing subsequence */

/* The best subsequence that ends at one of some entries: its length and the first entry with it; length 0: none. */
typedef struct best {
    uint32_t length, index;
} best;

static best better(best a, best b)
{
    return b.length > a.length || (b.length == a.length && b.length > 0 && b.index < a.index) ? b : a;
}

/* A Fenwick tree over the ranks of values, 1 to count: the best among all ranks up to one. */
static best query(const best *tree, uint32_t rank)
{
    best found = {0, 0};
    for (; rank > 0; rank &= rank - 1)
        found = better(found, tree[rank]);
    return found;
}

static void insert(best *tree, uint32_t count, uint32_t rank, best entry)
{
    for (; rank <= count; rank += rank & (0 - rank))
        tree[rank] = better(tree[rank], entry);
}

static int compare_times(const void *context, uint32_t a, uint32_t b)
{
    const int64_t *times = context;
    return (times[a] > times[b]) - (times[a] < times[b]);
}

/* Marks the members. Of equally long subsequences the one whose last member, then the one before it, and so on, stands first. */
static parley_status mark_good(pl_arena *scratch, const int64_t *times, uint32_t count, bool *good, parley_error *error)
{
    uint32_t *order = PL_NEW_ARRAY(scratch, uint32_t, count), *ranks = PL_NEW_ARRAY(scratch, uint32_t, count);
    uint32_t *parents = PL_NEW_ARRAY(scratch, uint32_t, count); /* index + 1; 0: none */
    best *tree = PL_NEW_ARRAY(scratch, best, (size_t)count + 1), last = {0, 0};
    if (!order || !ranks || !parents || !tree)
        return pl_fail_memory(error, "the repair of times");
    pl_sort(order, count, compare_times, times);
    for (uint32_t i = 0, rank = 0; i < count; i++)
        ranks[order[i]] = rank += i == 0 || times[order[i]] != times[order[i - 1]];
    for (uint32_t i = 0; i < count; i++) {
        best before = query(tree, ranks[i]), here = {before.length + 1, i};
        parents[i] = before.length ? before.index + 1 : 0;
        insert(tree, count, ranks[i], here);
        last = better(last, here);
    }
    for (uint32_t at = last.index + 1; at > 0; at = parents[at - 1])
        good[at - 1] = true;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ repair */

/* Entries [i, j) are bad; those beside them, where there are any, are good. */
static void fill(int64_t *times, size_t count, size_t i, size_t j)
{
    enum { FEW = 2 }; /* no more than these go to their neighbours, others between them */
    int64_t left = i > 0 ? times[i - 1] : times[j], right = j < count ? times[j] : left;
    double step = (double)(right - left) / (double)(j - i + 1);
    for (size_t k = i; k < j; k++) {
        if (j - i <= FEW)
            times[k] = k - i + 1 <= j - k ? left : right;
        else
            times[k] = (int64_t)((double)left + step * (double)(k - i + 1));
    }
}

parley_status pl_times_repair(pl_arena *scratch, int64_t *times, size_t count, parley_error *error)
{
    if (count == 0)
        return PARLEY_OK;
    if (count >= UINT32_MAX)
        return pl_fail(error, PARLEY_LIMIT, "%zu times to repair, at most %u", count, UINT32_MAX - 1);
    pl_arena_mark mark = pl_arena_save(scratch);
    bool *good = PL_NEW_ARRAY(scratch, bool, count);
    if (!good)
        return pl_fail_memory(error, "the repair of times");
    PL_TRY(mark_good(scratch, times, (uint32_t)count, good, error));
    for (size_t i = 0, j; i < count; i = j + 1) {
        for (j = i; j < count && !good[j];)
            j++;
        if (i < j)
            fill(times, count, i, j);
    }
    pl_arena_restore(scratch, mark);
    return PARLEY_OK;
}

double pl_round_milliseconds(double seconds)
{
    double scaled = seconds * 1000, rest = fma(seconds, 1000, -scaled); /* scaled + rest is exact */
    double low = floor(scaled), above = scaled - low - 0.5;
    if (above > 0 || (above == 0 && (rest > 0 || (rest == 0 && fmod(low, 2) != 0))))
        low += 1;
    return low / 1000;
}

/* ------------------------------------------------------------------ trust */

enum { STUCK = 8 }; /* units in a row with one stamp */

/* End of the run of equal times that begins at `first`. */
static size_t run_end(const int64_t *times, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && times[end] == times[first])
        end++;
    return end;
}

size_t pl_times_stuck(const int64_t *times, size_t units)
{
    for (size_t i = 0, end; i < 2 * units; i = end) {
        end = run_end(times, 2 * units, i);
        if (end - i >= (size_t)2 * STUCK)
            return (i + 1) / 2;
    }
    return units;
}

double pl_unit_syllables(pl_span unit)
{
    double sum = 0;
    for (size_t at = 0, length; at < unit.length; at += length) {
        uint32_t point = pl_utf8_get(unit.text + at, &length);
        bool one =
            (pl_kind(point) & PL_NUMBER) || (point >= 0x3041 && point <= 0x30FF) || (point >= 0xAC00 && point <= 0xD7A3) || pl_is_ideograph(point);
        sum += one ? 1.0 : 1.0 / 3;
    }
    return sum;
}

static double syllables(const pl_units *units)
{
    double sum = 0;
    for (size_t i = 0; i < units->count; i++)
        sum += pl_unit_syllables(units->items[i]);
    return sum;
}

/* A run of equal times over half of all or eight units, over three and a quarter of all, or over the last three, which is what text behind the end of
 * the sound gets; or more than half of the units without length. */
static bool has_equal_stamps(const int64_t *times, size_t units)
{
    enum { FEW = 3 };
    size_t empty = 0, longest = 0, last = 0, count = 2 * units;
    for (size_t i = 0; i < units; i++)
        empty += times[2 * i] == times[2 * i + 1];
    for (size_t i = 0, end; i < count; i = end) {
        end = run_end(times, count, i);
        last = end - i;
        longest = last > longest ? last : longest;
    }
    return longest > units || longest >= (size_t)2 * STUCK || (longest >= (size_t)2 * FEW && 4 * longest >= count) || last >= (size_t)2 * FEW
           || 2 * empty > units;
}

/* Syllables a second that nobody speaks. */
static const double fastest = 12;

/* How many units stand in threes that have no time to be said. */
static size_t crowded(const pl_alignment *a)
{
    enum { THREE = 3 };
    static const double step = 0.08; /* s between stamps: either end may be that far off */
    size_t count = 0, counted = 0;   /* units below `counted` are */
    for (size_t i = 0; i + THREE <= a->units->count; i++) {
        double said = 0, seconds = (double)(a->repaired[2 * (i + THREE) - 1] - a->repaired[2 * i]) / 1000 + 2 * step;
        for (size_t k = i; k < i + THREE; k++)
            said += pl_unit_syllables(a->units->items[k]);
        if (said <= fastest * seconds)
            continue;
        count += i + THREE - (i > counted ? i : counted);
        counted = i + THREE;
    }
    return count;
}

unsigned pl_alignment_doubts(const pl_alignment *a)
{
    static const double beyond = 0.5;  /* s: times are steps of 80 ms, the last one may reach over the end */
    static const double short_cut = 4; /* syllables more than the fastest speech, for very short sounds */
    size_t count = 2 * a->units->count, moved = 0;
    unsigned doubts = 0;
    if (!count)
        return PL_DOUBT_EMPTY;
    if (has_equal_stamps(a->repaired, count / 2) || 4 * crowded(a) >= count / 2)
        doubts |= PL_DOUBT_STAMPS;
    if ((double)a->repaired[count - 1] > 1000 * (a->seconds + beyond))
        doubts |= PL_DOUBT_BEYOND;
    for (size_t i = 0; a->raw && i < count; i++)
        moved += a->raw[i] != a->repaired[i];
    if (2 * moved > count)
        doubts |= PL_DOUBT_DISORDER;
    if (syllables(a->units) > fastest * a->seconds + short_cut)
        doubts |= PL_DOUBT_TOO_MUCH;
    return doubts;
}
