#include "sample/greedy.h"

#include <math.h>

parley_status pl_greedy(const float *scores, int n, int32_t *id, float *logprob, parley_error *error)
{
    int best = 0;
    for (int i = 0; i < n; i++) {
        if (!(scores[i] < INFINITY))
            return pl_fail(error, PARLEY_VALUE, "score %d of %d is not finite", i, n);
        if (scores[i] > scores[best])
            best = i;
    }
    if (n < 1 || !isfinite(scores[best]))
        return pl_fail(error, PARLEY_VALUE, "none of %d scores is finite", n);
    *id = best;
    if (!logprob)
        return PARLEY_OK;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)expf(scores[i] - scores[best]);
    *logprob = (float)-log(sum);
    return PARLEY_OK;
}
