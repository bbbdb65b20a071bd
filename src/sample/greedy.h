/* The best score and how likely it is. */
#ifndef PL_SAMPLE_GREEDY_H
#define PL_SAMPLE_GREEDY_H

#include "base/status.h"

/* Lowest index among the best of scores [n]; `logprob` (may be NULL): its log-softmax. VALUE when a score is NaN or +infinity, or none is finite. */
parley_status pl_greedy(const float *scores, int n, int32_t *id, float *logprob, parley_error *error);

#endif
