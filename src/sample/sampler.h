/* Scores -> one id (spec/qwen3_tts.md 4.6 and 4.7): penalty, bans, temperature, top-k, top-p, softmax, draw; or the best one. Draws come from
 * Philox4x32-10, a generator without state: the same seed, frame and group give the same draw wherever they are computed. */
#ifndef PL_SAMPLE_SAMPLER_H
#define PL_SAMPLE_SAMPLER_H

#include "base/status.h"

#include <parley/tts.h>

/* Philox4x32-10 (Salmon et al. 2011). Known answer: key 0, counter 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
void pl_philox4x32(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* The draw of one choice, in [0, 1): key = the seed's low and high half, counter = {frame, group, 0, 0}; the first word, shifted right by 8, times
 * 2^-24 (24 bits fill a float exactly, so 1 never comes). */
float pl_draw(uint64_t seed, uint32_t frame, uint32_t group);

typedef struct pl_score_rules {
    const int32_t *history; /* ids chosen so far in this utterance (may repeat), for the penalty; NULL: none */
    int n_history;
    float penalty;                      /* 1: off. Each distinct id of the history once: score < 0 ? score * penalty : score / penalty */
    int32_t end_id;                     /* end of speech; -1: none */
    bool ban_end;                       /* fewer than the minimum of tokens so far */
    int32_t suppress_from, suppress_to; /* ids from .. to - 1 but end_id are never chosen; from = to: none */
} pl_score_rules;

/* Applies penalty, then ban, then suppression, in place. `seen`: bitmap of (n + 7) / 8 bytes, work space, any content. */
void pl_apply_rules(float *scores, int n, const pl_score_rules *rules, uint8_t *seen);

/* Chooses from scores [n]; they are overwritten. temperature 0 or top_k 1: the lowest index among the best. `work`: n floats of work space. `u`: the
 * draw. Errors: VALUE when no score is finite or one is NaN or +infinity (naming the index). */
parley_status pl_choose(float *scores, int n, const parley_sampling *sampling, float u, float *work, int32_t *id, parley_error *error);

/* For tests: what remains with non-zero probability after temperature, top-k and top-p: scores that fell are -infinity. Returns how many are left. */
int pl_filter_scores(float *scores, int n, const parley_sampling *sampling, float *work);

#endif
