/* Linear layers and causal convolutions over rows of channels: both are pl_gemm on packed weights. */
#ifndef PL_NN_LINEAR_H
#define PL_NN_LINEAR_H

#include "nn/compute.h"

/* y = W x + b. */
typedef struct pl_linear {
    pl_matrix w;       /* [out][in] */
    const float *bias; /* [out] or NULL */
    bool exact;        /* never round the input to 8 bits */
} pl_linear;

/* Causal convolution, stride 1: y[t] = b + sum over j < taps of W[j] x[t - (taps - 1 - j) * dilation]. A transposed one with stride s and kernel
 * s * taps is the same with s * out output channels: row t gives the s rows of output t * s .. t * s + s - 1. */
typedef struct pl_conv {
    pl_linear linear; /* w: [stride * out][taps * in] */
    int in, out, taps, dilation, stride;
} pl_conv;

/* Rows of history that a convolution needs in front of its first input row. */
static inline int pl_conv_history(const pl_conv *conv)
{
    return (conv->taps - 1) * conv->dilation;
}

/* ------------------------------------------------------------------ loading */

/* What a weight in upstream's shape becomes: rows that are read as they are, or the matrix of a layer. */
typedef enum pl_form {
    PL_FORM_ROWS,
    PL_FORM_LINEAR,    /* [out, in, ..ones] */
    PL_FORM_CONV,      /* [out, in, taps]: out rows of taps * in, tap-major */
    PL_FORM_TRANSPOSED /* [in, out, k]: stride * out rows of k / stride * in */
} pl_form;

/* The matrix's rows, and where its elements lie in the tensor. `stride`: of a transposed convolution. */
int pl_form_map(pl_form form, const int64_t *shape, int stride, pl_pack_map *map);

/* Views of a layer's weights in upstream's shapes; bias.data NULL: none. */
typedef struct pl_conv_tensors {
    pl_tensor weight, bias;
} pl_conv_tensors;

/* Where packed weights go, and who is told that a tensor's mapped bytes are not needed any more. */
typedef struct pl_loader {
    pl_arena *arena; /* the model's */
    pl_pool *pool;
    void (*done)(void *context, const pl_tensor *tensor); /* may be NULL */
    void *context;
    bool int8; /* round matrices to q8_0 of at least 96 rows, where the width of a tap is a multiple of 32 and as large */
    uint64_t packed_bytes;
} pl_loader;

/* weight [out, in], bias [out] or NULL. */
parley_status pl_load_linear(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, pl_linear *linear, parley_error *error);

/* weight [out, in, taps]. */
parley_status pl_load_conv(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, int dilation, pl_conv *conv, parley_error *error);

/* weight [in, out, k], k = stride or 2 * stride; the surplus of the longer kernel is trimmed at the end (causal). */
parley_status pl_load_transposed_conv(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, int stride, pl_conv *conv,
                                      parley_error *error);

/* weight [out, in, 3, 3] of a convolution over images [row][column][in] whose columns stand on the weight's third axis and rows on its fourth: kernel
 * rows rows[0] .. rows[count - 1], in that order, as a matrix [out][count * 3 * in], so that three neighbouring columns of an image are one run of
 * 3 * in values. loader->done is not called: a weight may be loaded in parts. */
parley_status pl_load_conv2d(pl_loader *loader, const pl_tensor *weight, const int *rows, int count, pl_matrix *matrix, parley_error *error);

/* A copy of all values in float32. */
parley_status pl_load_floats(pl_loader *loader, const pl_tensor *tensor, const float **values, parley_error *error);

/* ------------------------------------------------------------------ running */

typedef struct pl_linear_job {
    const pl_linear *layer;
    float *y; /* [columns][y_stride] */
    int64_t y_stride;
    bool accumulate;        /* y += the layer's values */
    const pl_linear *gate;  /* of as many outputs: y = silu(gate's values) * the layer's; NULL: none */
    const pl_q8_rows *y_q8; /* the values go there, as 8-bit rows; NULL: to y */
} pl_linear_job;

/* Layers that share their input x [columns][x_stride], in one parallel region (at most 8 jobs). MEMORY. */
parley_status pl_linear_run(pl_compute *compute, const pl_linear_job *jobs, int count, const float *x, int64_t x_stride, int columns,
                            parley_error *error);

/* An input x [columns][x_stride] whose rows are made by tasks of the caller: each task ends with the 8-bit form of its row, where one is wanted. */
typedef struct pl_linear_input {
    const float *x;
    int64_t x_stride;
    int width, columns;
    bool int8; /* q8 is wanted */
    pl_q8_rows q8;
} pl_linear_input;

/* The input of these layers; its memory is the step's. MEMORY. */
parley_status pl_linear_prepare(pl_compute *compute, const pl_linear_job *jobs, int count, const float *x, int64_t x_stride, int columns,
                                pl_linear_input *input, parley_error *error);

/* Where a job in front writes the whole input in 8 bits; NULL: to x, as it is not wanted in 8 bits. */
const pl_q8_rows *pl_linear_input_q8(const pl_linear_input *input);

/* Row `row` of x is complete. */
void pl_linear_row_done(const pl_compute *compute, const pl_linear_input *input, int row);

/* The layers, once all rows are complete. */
void pl_linear_run_prepared(pl_compute *compute, const pl_linear_job *jobs, int count, const pl_linear_input *input);

/* The product x [history + rows][in] -> y [rows * stride][out]; x points to the first row of history. For 8-bit input set q8 behind it. */
pl_gemm pl_conv_product(const pl_conv *conv, const float *x, int rows, float *y, bool accumulate);

#endif
