/* Inputs of causal layers: rows of the past, and behind them the new ones. */
#ifndef PL_CODEC_ROWS_H
#define PL_CODEC_ROWS_H

#include "nn/snake.h"

/* The input of a layer of 8-bit products is kept as 8-bit rows. Each row is rounded once, when it comes, so that pieces cannot be told apart. */
typedef struct codec_rows {
    float *data;   /* [history + room][width]; of 8-bit rows [room][width], where a layer leaves floats to be rounded, or NULL */
    pl_q8_rows q8; /* [history + room]; q NULL: float32 */
    int history, width;
} codec_rows;

/* Where a layer puts floats for new rows. */
static inline float *codec_fresh(const codec_rows *rows)
{
    return rows->data + (rows->q8.q ? 0 : (int64_t)rows->history * rows->width);
}

/* The last rows of the past and the `n` new ones become the past. */
void pl_codec_rows_keep(const codec_rows *rows, int n);

/* Silence. */
void pl_codec_rows_reset(const codec_rows *rows);
void pl_codec_rows_copy(const codec_rows *to, const codec_rows *from);

/* The product of a convolution with rows of its input, new row `first` on. `shifted` must live as long as the product. */
pl_gemm pl_codec_product(const pl_conv *conv, const codec_rows *in, int first, int rows, float *y, bool accumulate, pl_q8_rows *shifted);

/* `rows` new rows, still to be rounded if they are to be 8-bit ones and in->data holds them, -> y; they become the past. */
void pl_codec_conv(pl_compute *compute, const pl_conv *conv, const codec_rows *in, int rows, float *y);

/* Snake of x [rows][width] into new row `first` of `to` and those behind it, on this thread; spread over the pool. */
void pl_codec_snake_here(const pl_kernels *kernels, const pl_snake *snake, const float *x, int rows, const codec_rows *to, int first);
void pl_codec_snake(pl_compute *compute, const pl_snake *snake, const float *x, int rows, const codec_rows *to);

#endif
