#include "sample/sampler.h"

#include <math.h>

/* All arithmetic is scalar with the library's expf: a choice must not depend on the processor level. */

static parley_status check_scores(const float *scores, int n, parley_error *error)
{
    int finite = 0;
    for (int i = 0; i < n; i++) {
        if (scores[i] == -INFINITY)
            continue;
        if (!isfinite(scores[i]))
            return pl_fail(error, PARLEY_VALUE, "choice among %d scores: score %d must be finite or -infinity, got %s", n, i,
                           isnan(scores[i]) ? "NaN" : "+infinity");
        finite++;
    }
    return finite > 0 ? PARLEY_OK : pl_fail(error, PARLEY_VALUE, "choice among %d scores: at least one must be finite, none is", n);
}

static int index_of_best(const float *scores, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* A temperature so small that the best score overflows leaves no weight for any lower score, as temperature 0 does. */
static bool takes_best(const parley_sampling *sampling, float best)
{
    return !(sampling->temperature > 0) || sampling->top_k == 1 || !isfinite(best / sampling->temperature);
}

static void divide(float *scores, int n, float temperature)
{
    for (int i = 0; i < n; i++)
        scores[i] /= temperature;
}

/* Min-heap: restores the order below `i`. */
static void sift_down(float *heap, int n, int i)
{
    float value = heap[i];
    while (i < n / 2) {
        int child = 2 * i + 1;
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (value <= heap[child])
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = value;
}

static void make_heap(float *heap, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--)
        sift_down(heap, n, i);
}

/* Scores below `least` fall; of those equal to it the first `equals` stay. */
static void keep_from(float *scores, int n, float least, int equals)
{
    for (int i = 0; i < n; i++)
        if (scores[i] < least || (scores[i] == least && equals-- <= 0))
            scores[i] = -INFINITY;
}

/* The heap holds the k best so far: about one comparison a score, n log k at worst. Ties with the k-th survive. */
static void keep_top_k(float *scores, int n, int k, float *heap)
{
    for (int i = 0; i < k; i++)
        heap[i] = scores[i];
    make_heap(heap, k);
    for (int i = k; i < n; i++) {
        if (scores[i] > heap[0]) {
            heap[0] = scores[i];
            sift_down(heap, k, 0);
        }
    }
    keep_from(scores, n, heap[0], n);
}

/* Probabilities as the reference has them: float32 quotients. Returns their sum (about 1) and fills `heap` with the negated scores that are left. */
static double gather_probabilities(const float *scores, int n, float max, float *heap, int *left, float *divisor)
{
    double weights = 0, sum = 0;
    int m = 0;
    for (int i = 0; i < n; i++) {
        if (scores[i] == -INFINITY)
            continue;
        heap[m++] = -scores[i];
        weights += (double)expf(scores[i] - max);
    }
    *left = m;
    *divisor = (float)weights;
    for (int i = 0; i < m; i++)
        sum += (double)(expf(-heap[i] - max) / *divisor);
    return sum;
}

/* The reference sorts upwards and drops every score whose cumulative probability, itself included, is at most 1 - top_p. The same from above: a
 * score stays while the sum of all that are not larger exceeds 1 - top_p, so only those that stay are put in order. The sum runs in double and is
 * rounded to float32 for the comparison, as there. Among equal scores at the cut the lowest indices stay (the reference: any). */
static void keep_top_p(float *scores, int n, float top_p, float max, float *heap)
{
    int left, equals = 0;
    float divisor, least = max, limit = (float)(1.0 - (double)top_p);
    double rest = gather_probabilities(scores, n, max, heap, &left, &divisor);
    make_heap(heap, left);
    do {
        float score = -heap[0];
        equals = score == least ? equals + 1 : 1;
        least = score;
        rest -= (double)(expf(score - max) / divisor);
        heap[0] = heap[--left];
        sift_down(heap, left, 0);
    } while (left > 0 && (float)rest > limit);
    keep_from(scores, n, least, equals);
}

/* `best`: index of the best score. Returns the best score as divided. */
static float filter(float *scores, int n, const parley_sampling *sampling, int best, float *work)
{
    if (sampling->temperature != 1.0f)
        divide(scores, n, sampling->temperature);
    float max = scores[best];
    if (sampling->top_k > 0 && sampling->top_k < n)
        keep_top_k(scores, n, sampling->top_k, work);
    if (sampling->top_p < 1.0f)
        keep_top_p(scores, n, sampling->top_p, max, work);
    return max;
}

/* Walks the weights exp(score - max) in the order of the vocabulary, sums in double. The last id with a weight takes what rounding leaves. */
static int32_t draw(const float *scores, int n, float max, float u, float *weights)
{
    double total = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        weights[i] = scores[i] == -INFINITY ? 0.0f : expf(scores[i] - max);
        total += (double)weights[i];
    }
    double target = (double)u * total;
    int32_t id = 0;
    for (int i = 0; i < n && sum <= target; i++) {
        if (weights[i] == 0.0f)
            continue;
        sum += (double)weights[i];
        id = i;
    }
    return id;
}

parley_status pl_choose(float *scores, int n, const parley_sampling *sampling, float u, float *work, int32_t *id, parley_error *error)
{
    PL_TRY(check_scores(scores, n, error));
    int best = index_of_best(scores, n);
    if (takes_best(sampling, scores[best])) {
        *id = best;
        return PARLEY_OK;
    }
    float max = filter(scores, n, sampling, best, work);
    *id = draw(scores, n, max, u, work);
    return PARLEY_OK;
}

/* The score of a lone survivor is divided as well, if it can be. */
static int keep_best(float *scores, int n, float temperature, int best)
{
    float score = scores[best];
    if (temperature > 0 && isfinite(score / temperature))
        score /= temperature;
    for (int i = 0; i < n; i++)
        scores[i] = -INFINITY;
    scores[best] = score;
    return 1;
}

int pl_filter_scores(float *scores, int n, const parley_sampling *sampling, float *work)
{
    if (check_scores(scores, n, NULL) != PARLEY_OK)
        return 0;
    int best = index_of_best(scores, n);
    if (takes_best(sampling, scores[best]))
        return keep_best(scores, n, sampling->temperature, best);
    filter(scores, n, sampling, best, work);
    int kept = 0;
    for (int i = 0; i < n; i++)
        kept += scores[i] != -INFINITY;
    return kept;
}
