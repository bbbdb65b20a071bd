#include "audio/segment.h"

#include <math.h>

float pl_peak(const float *samples, int64_t count)
{
    float peak = 0;
    for (int64_t i = 0; i < count; i++)
        if (fabsf(samples[i]) > peak)
            peak = fabsf(samples[i]);
    return peak;
}

void pl_level_from(float *samples, int64_t count, float peak)
{
    for (int64_t i = 0; i < count; i++) {
        float x = isnan(samples[i]) ? 0 : samples[i];
        if (peak > 1) {
            x = isinf(peak) ? x : x / peak; /* infinite samples are clipped, the others stay */
            x = x > 1 ? 1 : x < -1 ? -1 : x;
        }
        samples[i] = x;
    }
}

void pl_level(float *samples, int64_t count)
{
    pl_level_from(samples, count, pl_peak(samples, count));
}

pl_segment_rule pl_segment_reference(int64_t limit, int32_t sample_rate)
{
    return (pl_segment_rule){.limit = limit, .expand = 5 * (int64_t)sample_rate, .window = sample_rate / 10, .least = sample_rate / 2};
}

/* Start of the first window in [left, right) with the least sum of |x|. Float32 samples of a usual range are multiples of one small number, whose
 * sums double holds exactly: adding in front and taking away behind then loses nothing, and equal windows compare equal. */
static int64_t quietest_window(const float *samples, int64_t left, int64_t right, int64_t window)
{
    double sum = 0, least;
    int64_t best = left;
    for (int64_t i = left; i < left + window; i++)
        sum += fabs((double)samples[i]);
    least = sum;
    for (int64_t i = left + 1; i + window <= right; i++) {
        sum += fabs((double)samples[i + window - 1]) - fabs((double)samples[i - 1]);
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

static int64_t quietest_sample(const float *samples, int64_t left, int64_t right)
{
    int64_t best = left;
    for (int64_t i = left + 1; i < right; i++)
        if (fabsf(samples[i]) < fabsf(samples[best]))
            best = i;
    return best;
}

int64_t pl_quietest(const float *samples, int64_t left, int64_t right, int64_t window)
{
    if (right - left <= window)
        return left + (right - left) / 2;
    int64_t quiet = quietest_window(samples, left, right, window);
    return quietest_sample(samples, quiet, quiet + window);
}

static int64_t reach(const pl_segment_rule *rule)
{
    return rule->expand < rule->limit / 2 ? rule->expand : rule->limit / 2;
}

int64_t pl_segment_end(const float *samples, int64_t count, int64_t start, const pl_segment_rule *rule)
{
    if (count - start <= rule->limit)
        return count;
    int64_t expand = reach(rule), cut = start + rule->limit, left = cut - expand, right = rule->strict ? cut : cut + expand;
    if (right > count)
        right = count;
    if (right - left <= rule->window)
        return cut;
    int64_t end = pl_quietest(samples, left, right, rule->window);
    return end > start ? end : start + 1;
}

parley_status pl_segments(pl_arena *arena, const float *samples, int64_t count, const pl_segment_rule *rule, const pl_segment **segments, size_t *n,
                          parley_error *error)
{
    size_t most = (size_t)(count / (rule->limit - reach(rule)) + 1), made = 0; /* each but the last is at least limit - reach long */
    pl_segment *out = PL_NEW_ARRAY(arena, pl_segment, most);
    if (!out)
        return pl_fail_memory(error, "the pieces of a long sound");
    for (int64_t start = 0, end; start < count; start = end) {
        end = pl_segment_end(samples, count, start, rule);
        bool short_piece = end - start < rule->least && (start > 0 || end < count);
        out[made++] = (pl_segment){start, end - start, short_piece ? rule->least : end - start};
    }
    *n = made;
    *segments = out;
    return PARLEY_OK;
}
