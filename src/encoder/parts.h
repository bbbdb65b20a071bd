/* The inside of the audio tower: its layers (immutable, in the model's arena) and the work space of its stem. */
#ifndef PL_ENCODER_PARTS_H
#define PL_ENCODER_PARTS_H

#include "encoder/tower.h"

/* A later convolution of the stem. A step of one output row is two input rows, so kernel rows 0 and 2 read the rows of one parity and row 1 those of
 * the other: with the parities apart, all outputs of an image are columns of equal stride in two products. */
typedef struct tower_conv {
    pl_matrix outer, inner; /* [channels][2 * 3 * channels], [channels][3 * channels] */
    const float *bias;
} tower_conv;

struct pl_tower {
    pl_tower_shape shape;
    int chunk, chunk_tokens, window_tokens; /* frames of a chunk; rows of a chunk, of an attention window */
    pl_matrix first;                        /* [channels][3 * 3] */
    const float *first_bias;
    tower_conv later[PL_TOWER_CONVS - 1];
    pl_linear conv_out, proj1, proj2;
    const float *positions; /* [chunk_tokens][width] */
    pl_transformer transformer;
};

/* Rows behind the three convolutions of `frames` >= 1. */
int pl_tower_stem_rows(int frames);

/* Values of an image between two convolutions, with a border of zeros all round; its rows lie by the parity of their number in the bordered image. */
typedef struct tower_image {
    float *even, *odd; /* [..][bands + 2][channels] */
    int64_t stride;    /* of a row */
} tower_image;

/* Work space for chunks of one length. */
typedef struct tower_stem {
    pl_compute *compute;
    const pl_tower *tower;
    const pl_tap *tap;                                       /* NULL: results of the convolutions are not wanted */
    int time[PL_TOWER_CONVS + 1], bands[PL_TOWER_CONVS + 1]; /* of the input, behind each convolution */
    float *mel;                                              /* [time[0] + 2][bands[0] + 2], bordered */
    tower_image images[PL_TOWER_CONVS - 1];
    float *y; /* product of a later convolution: [time][bands + 1][channels]; the last column of each row means nothing */
} tower_stem;

/* Allocates in the compute's step. */
parley_status pl_tower_stem_open(pl_compute *compute, const pl_tower *tower, int frames, const pl_tap *tap, tower_stem *stem, parley_error *error);

/* mel [valid][mels], zeros from there to the chunk's end -> the first `rows` rows [channels * bands], channel by channel. */
void pl_tower_stem_run(tower_stem *stem, const float *mel, int valid, int rows, float *out);

#endif
