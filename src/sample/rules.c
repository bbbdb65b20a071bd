#include "sample/sampler.h"

#include <math.h>
#include <string.h>

/* The reference gathers the scores of the history, changes them and scatters them back, so an id that repeats is punished once. Ids outside the
 * row cannot be punished and are passed over. */
static void apply_penalty(float *scores, int n, const pl_score_rules *rules, uint8_t *seen)
{
    memset(seen, 0, ((size_t)n + 7) / 8);
    for (int i = 0; i < rules->n_history; i++) {
        int32_t id = rules->history[i];
        if (id < 0 || id >= n)
            continue;
        uint8_t bit = (uint8_t)(1u << (id & 7));
        if (seen[id >> 3] & bit)
            continue;
        seen[id >> 3] |= bit;
        scores[id] = scores[id] < 0 ? scores[id] * rules->penalty : scores[id] / rules->penalty;
    }
}

static void suppress(float *scores, int n, const pl_score_rules *rules)
{
    int32_t from = rules->suppress_from > 0 ? rules->suppress_from : 0;
    int32_t to = rules->suppress_to < n ? rules->suppress_to : n;
    for (int32_t id = from; id < to; id++)
        if (id != rules->end_id)
            scores[id] = -INFINITY;
}

void pl_apply_rules(float *scores, int n, const pl_score_rules *rules, uint8_t *seen)
{
    if (n <= 0)
        return;
    if (rules->history && rules->penalty != 1.0f)
        apply_penalty(scores, n, rules, seen);
    if (rules->ban_end && rules->end_id >= 0 && rules->end_id < n)
        scores[rules->end_id] = -INFINITY;
    suppress(scores, n, rules);
}
