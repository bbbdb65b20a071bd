/* Long sound in pieces, and its level (spec/qwen3_asr.md 2.1 and 4.7). Samples are mono float32. */
#ifndef PL_AUDIO_SEGMENT_H
#define PL_AUDIO_SEGMENT_H

#include "base/arena.h"

/* Where the peak exceeds 1, divides by it; then clips to -1 .. 1. Not-a-number becomes 0. */
void pl_level(float *samples, int64_t count);

/* The same in two steps, for a part of a sound. */
float pl_peak(const float *samples, int64_t count);
void pl_level_from(float *samples, int64_t count, float peak);

/* All in samples. */
typedef struct pl_segment_rule {
    int64_t limit;  /* a piece is cut near this length, >= 1 */
    int64_t expand; /* how far from there the quietest point is looked for; at most half the limit is used, so that pieces stay pieces */
    int64_t window; /* length over which quiet is measured, >= 1 */
    int64_t least;  /* shorter pieces are to be padded with zeros to this, when there are several pieces */
    bool strict;    /* no piece is longer than the limit; false (the reference): by up to `expand` */
} pl_segment_rule;

/* The reference's rule: 5 s, 0.1 s, 0.5 s; a piece may exceed the limit. */
pl_segment_rule pl_segment_reference(int64_t limit, int32_t sample_rate);

typedef struct pl_segment {
    int64_t start, length;
    int64_t padded; /* length with the zeros that belong behind it */
} pl_segment;

/* In [left, right): the first window with the least sum of |x|, and in it the first sample with the least |x|. The middle of what is no longer than
 * the window. */
int64_t pl_quietest(const float *samples, int64_t left, int64_t right, int64_t window);

/* End of the piece that begins at `start`, 0 <= start < count: `count` when no more than the limit is left. Else the quietest place
 * near start + limit. */
int64_t pl_segment_end(const float *samples, int64_t count, int64_t start, const pl_segment_rule *rule);

/* All pieces, without gap or overlap; none for no samples. Errors: MEMORY. */
parley_status pl_segments(pl_arena *arena, const float *samples, int64_t count, const pl_segment_rule *rule, const pl_segment **segments, size_t *n,
                          parley_error *error);

#endif
