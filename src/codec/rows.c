#include "codec/rows.h"

#include <string.h>

enum { BLOCK = 32 };

/* ------------------------------------------------------------------ the past */

static size_t history_blocks(const codec_rows *rows)
{
    return (size_t)rows->history * (size_t)(rows->width / BLOCK);
}

static size_t history_bytes(const codec_rows *rows)
{
    return (size_t)rows->history * (size_t)rows->width * sizeof *rows->data;
}

void pl_codec_rows_keep(const codec_rows *rows, int n)
{
    if (!rows->q8.q) {
        memmove(rows->data, rows->data + (int64_t)n * rows->width, history_bytes(rows));
        return;
    }
    pl_q8_rows from = pl_q8_rows_at(&rows->q8, n, rows->width);
    size_t blocks = history_blocks(rows);
    memmove(rows->q8.q, from.q, blocks * BLOCK);
    memmove(rows->q8.scale, from.scale, blocks * sizeof *from.scale);
    memmove(rows->q8.sum, from.sum, blocks * sizeof *from.sum);
}

void pl_codec_rows_reset(const codec_rows *rows)
{
    if (!rows->q8.q) {
        memset(rows->data, 0, history_bytes(rows));
        return;
    }
    size_t blocks = history_blocks(rows);
    memset(rows->q8.q, 0, blocks * BLOCK);
    memset(rows->q8.scale, 0, blocks * sizeof *rows->q8.scale);
    memset(rows->q8.sum, 0, blocks * sizeof *rows->q8.sum);
}

void pl_codec_rows_copy(const codec_rows *to, const codec_rows *from)
{
    if (!from->q8.q) {
        memcpy(to->data, from->data, history_bytes(from));
        return;
    }
    size_t blocks = history_blocks(from);
    memcpy(to->q8.q, from->q8.q, blocks * BLOCK);
    memcpy(to->q8.scale, from->q8.scale, blocks * sizeof *from->q8.scale);
    memcpy(to->q8.sum, from->q8.sum, blocks * sizeof *from->q8.sum);
}

/* ------------------------------------------------------------------ products */

pl_gemm pl_codec_product(const pl_conv *conv, const codec_rows *in, int first, int rows, float *y, bool accumulate, pl_q8_rows *shifted)
{
    if (!in->q8.q)
        return pl_conv_product(conv, in->data + (int64_t)first * in->width, rows, y, accumulate);
    pl_gemm product = pl_conv_product(conv, NULL, rows, y, accumulate);
    *shifted = pl_q8_rows_at(&in->q8, first, in->width);
    product.q8 = shifted;
    return product;
}

enum { ROWS_PER_TASK = 16 };

typedef struct filling {
    const pl_kernels *k;
    const pl_snake *snake; /* NULL: the rows are rounded as they are */
    const float *x;
    const codec_rows *to;
    int rows;
} filling;

static int task_rows(const filling *f, int first)
{
    return f->rows - first < ROWS_PER_TASK ? f->rows - first : ROWS_PER_TASK;
}

static void fill(void *context, int task, int worker)
{
    (void)worker;
    const filling *f = context;
    int first = task * ROWS_PER_TASK, n = task_rows(f, first);
    const float *x = f->x + (int64_t)first * f->to->width;
    if (f->snake) {
        pl_codec_snake_here(f->k, f->snake, x, n, f->to, first);
        return;
    }
    pl_q8_rows fresh = pl_q8_rows_at(&f->to->q8, f->to->history + first, f->to->width);
    f->k->quantize_rows(x, f->to->width, f->to->width, 0, n, &fresh);
}

static void fill_rows(pl_compute *compute, const filling *f)
{
    pl_pool_run(compute->pool, fill, (void *)(uintptr_t)f, (f->rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK);
}

void pl_codec_conv(pl_compute *compute, const pl_conv *conv, const codec_rows *in, int rows, float *y)
{
    pl_q8_rows shifted;
    if (in->q8.q && in->data)
        fill_rows(compute, &(filling){compute->k, NULL, codec_fresh(in), in, rows});
    pl_gemm product = pl_codec_product(conv, in, 0, rows, y, false, &shifted);
    pl_gemm_run(compute, &product, 1);
    pl_codec_rows_keep(in, rows);
}

/* ------------------------------------------------------------------ Snake */

void pl_codec_snake_here(const pl_kernels *kernels, const pl_snake *snake, const float *x, int rows, const codec_rows *to, int first)
{
    if (to->q8.q) {
        pl_q8_rows fresh = pl_q8_rows_at(&to->q8, to->history + first, to->width);
        kernels->snake_q8(x, snake->alpha, snake->inv_beta, snake->width, rows, &fresh);
    } else
        kernels->snake(x, snake->alpha, snake->inv_beta, snake->width, rows, codec_fresh(to) + (int64_t)first * to->width);
}

void pl_codec_snake(pl_compute *compute, const pl_snake *snake, const float *x, int rows, const codec_rows *to)
{
    fill_rows(compute, &(filling){compute->k, snake, x, to, rows});
}
