/* The truth that the faster levels are checked against: plain loops, the C library's functions, one rounding an operation. */
#include "kernels/levels.h"
#include "kernels/panels.h"
#include "kernels/body/scale.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, UNPACK = 256 };

/* ------------------------------------------------------------------ matrix products */

/* 16 weights of packed column k as float32; not for quantised types. */
static void load_weights(const pl_matrix *m, const uint8_t *panel, int k, float *w)
{
    size_t bytes = pl_row_bytes(m->type, PL_PANEL);
    pl_dequantize(m->type, panel + (size_t)k * bytes, PL_PANEL, w);
}

static const uint8_t *panel_of(const pl_matrix *m, int panel)
{
    return m->data + (size_t)panel * m->panel_bytes;
}

/* Input k of column c. */
static float input(const pl_gemm *g, int c, int k)
{
    return g->x[c * g->x_stride + k / g->width * g->tap_stride + k % g->width];
}

static void column_packed(const pl_gemm *g, const uint8_t *panel, int c, float *sum)
{
    float w[PL_PANEL];
    for (int k = 0; k < g->w->cols; k++) {
        float x = input(g, c, k);
        load_weights(g->w, panel, k, w);
        for (int r = 0; r < PL_PANEL; r++)
            sum[r] += w[r] * x;
    }
}

static void column_quantised(const pl_gemm *g, const uint8_t *panel, int c, float *sum)
{
    for (int b = 0; b < g->w->cols / BLOCK; b++)
        for (int r = 0; r < PL_PANEL; r++) {
            pl_row_block w;
            pl_read_row_block(g->w, panel, b, r, &w);
            for (int k = 0; k < BLOCK; k++)
                sum[r] += (w.scale[k / 16] * (float)w.quants[k] - w.low) * input(g, c, b * BLOCK + k);
        }
}

/* Sums of products of a block are whole numbers, and so are those of its halves times their parts of the scale: below 2^24, exact in float32. */
static float int8_block(const pl_row_block *w, const int8_t *x, float x_scale)
{
    int32_t dot[2] = {0}, total = 0;
    for (int k = 0; k < BLOCK; k++) {
        dot[k / 16] += w->quants[k] * x[k];
        total += x[k];
    }
    return w->d * x_scale * (float)(w->part[0] * dot[0] + w->part[1] * dot[1]) - w->low * (x_scale * (float)total);
}

static void column_int8(const pl_gemm *g, const uint8_t *panel, int c, float *sum)
{
    int blocks_a_tap = g->width / BLOCK;
    for (int b = 0; b < g->w->cols / BLOCK; b++) {
        int64_t at = (c + (int64_t)(b / blocks_a_tap) * g->tap_rows) * blocks_a_tap + b % blocks_a_tap;
        for (int r = 0; r < PL_PANEL; r++) {
            pl_row_block w;
            pl_read_row_block(g->w, panel, b, r, &w);
            sum[r] += int8_block(&w, g->q8->q + at * BLOCK, g->q8->scale[at]);
        }
    }
}

/* Rows of blocks: `rows` of them from the panel's start. */
static void column_blocks(const pl_gemm *g, const uint8_t *panel, int rows, int c, float *sum)
{
    size_t row_bytes = g->w->panel_bytes / PL_PANEL;
    float w[UNPACK];
    for (int r = 0; r < rows; r++)
        for (int k0 = 0; k0 < g->w->cols; k0 += UNPACK) {
            int n = g->w->cols - k0 < UNPACK ? g->w->cols - k0 : UNPACK;
            pl_dequantize(g->w->type, panel + (size_t)r * row_bytes + pl_row_bytes(g->w->type, k0), n, w);
            for (int k = 0; k < n; k++)
                sum[r] += w[k] * input(g, c, k0 + k);
        }
}

/* ------------------------------------------------------------------ activations to 8 bits */

static int32_t largest_magnitude(const float *x)
{
    int32_t largest = 0;
    for (int i = 0; i < BLOCK; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7FFFFFFF;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* sums: of the halves */
/* A block of values to block `at` of the rows. */
static void quantize_block(const float *x, const pl_q8_rows *out, int64_t at)
{
    float inverse;
    int32_t sums[2] = {0, 0}; /* of the halves */
    int8_t *q = out->q + at * BLOCK;
    out->scale[at] = block_scale(largest_magnitude(x), &inverse);
    for (int i = 0; i < BLOCK; i++) {
        q[i] = inverse > 0.0f ? (int8_t)lrintf(x[i] * inverse) : 0;
        sums[i / 16] += q[i];
    }
    out->sum[at] = (sums[0] + sums[1]) * 128;
    if (out->half)
        out->half[at] = sums[0];
}

static void quantize_rows(const float *x, int64_t stride, int width, int first, int last, const pl_q8_rows *out)
{
    int blocks = width / BLOCK;
    for (int r = first; r < last; r++)
        for (int b = 0; b < blocks; b++)
            quantize_block(x + r * stride + b * BLOCK, out, (int64_t)r * blocks + b);
}

/* ------------------------------------------------------------------ the product */

/* The product of a panel's rows and one column, bias included. */
static void column_values(const pl_gemm *g, int p, int rows, int c, float *sum)
{
    const uint8_t *panel = panel_of(g->w, p);
    memset(sum, 0, PL_PANEL * sizeof *sum);
    if (!pl_type_is_packed(g->w->type))
        column_blocks(g, panel, rows, c, sum);
    else if (!pl_type_takes_int8(g->w->type))
        column_packed(g, panel, c, sum);
    else if (g->q8)
        column_int8(g, panel, c, sum);
    else
        column_quantised(g, panel, c, sum);
    for (int r = 0; r < rows && g->bias; r++)
        sum[r] += g->bias[p * PL_PANEL + r];
}

static float silu_value(float x)
{
    return x / (1.0f + expf(-x));
}

static void gated_values(const pl_gemm *g, int p, int rows, int c, float *sum)
{
    float gate[PL_PANEL];
    column_values(g, p, rows, c, sum);
    if (!g->gate)
        return;
    column_values(g->gate, p, rows, c, gate);
    for (int r = 0; r < rows; r++)
        sum[r] *= silu_value(gate[r]);
}

static void put_floats(const pl_gemm *g, int p, int rows, int c, const float *values)
{
    float *y = g->y + c * g->y_stride + p * PL_PANEL;
    for (int r = 0; r < rows; r++)
        y[r] = g->accumulate ? y[r] + values[r] : values[r];
}

/* 8-bit results wait for the second panel of a pair. */
static void gemm(const pl_gemm *g, int first, int last, int c0, int c1, void *scratch)
{
    (void)scratch;
    float pair[BLOCK];
    for (int c = c0; c < c1; c++)
        for (int p = first; p < last; p++) {
            float *values = pair + p % 2 * PL_PANEL;
            int rows = g->w->rows - p * PL_PANEL < PL_PANEL ? g->w->rows - p * PL_PANEL : PL_PANEL;
            gated_values(g, p, rows, c, values);
            if (!g->y_q8)
                put_floats(g, p, rows, c, values);
            else if (p % 2 == 1)
                quantize_block(pair, g->y_q8, (int64_t)c * (g->w->rows / BLOCK) + p / 2);
        }
}

/* ------------------------------------------------------------------ attention */

static const uint8_t *kv_row(const pl_attend *a, size_t offset, int64_t j)
{
    return a->blocks[j / PL_KV_BLOCK] + offset + (size_t)(j % PL_KV_BLOCK) * pl_row_bytes(a->type, a->width);
}

/* Value i of a cache row. */
static float kv_value(const pl_attend *a, const uint8_t *row, int i)
{
    float block[BLOCK];
    int values = pl_type_info(a->type)->values;
    pl_dequantize(a->type, row + pl_row_bytes(a->type, i - i % values), values, block);
    return block[i % values];
}

static float score(const pl_attend *a, int h, int64_t j)
{
    const uint8_t *row = kv_row(a, a->k_offset, j);
    float dot = 0.0f;
    for (int i = 0; i < a->width; i++)
        dot += a->q[(int64_t)h * a->width + i] * kv_value(a, row, i);
    return dot * a->scale;
}

/* One block of positions begin .. end - 1 into the running maximum, sum and weighted values. */
static void attend_block(const pl_attend *a, int h, int64_t begin, int64_t end, float *maximum, float *sum)
{
    float scores[PL_KV_BLOCK], top = *maximum, *out = a->out + (int64_t)h * a->width;
    for (int64_t j = begin; j < end; j++) {
        scores[j - begin] = score(a, h, j);
        top = scores[j - begin] > top ? scores[j - begin] : top;
    }
    float keep = expf(*maximum - top);
    *maximum = top;
    *sum *= keep;
    for (int i = 0; i < a->width; i++)
        out[i] *= keep;
    for (int64_t j = begin; j < end; j++) {
        const uint8_t *row = kv_row(a, a->v_offset, j);
        float p = expf(scores[j - begin] - top);
        *sum += p;
        for (int i = 0; i < a->width; i++)
            out[i] += p * kv_value(a, row, i);
    }
}

static void attend(const pl_attend *a)
{
    for (int h = 0; h < a->heads; h++) {
        float maximum = -INFINITY, sum = 0.0f, *out = a->out + (int64_t)h * a->width;
        memset(out, 0, (size_t)a->width * sizeof *out);
        for (int64_t j = a->begin, next; j < a->end; j = next) {
            next = (j / PL_KV_BLOCK + 1) * PL_KV_BLOCK;
            next = next < a->end ? next : a->end;
            attend_block(a, h, j, next, &maximum, &sum);
        }
        for (int i = 0; i < a->width; i++)
            out[i] /= sum;
    }
}

/* ------------------------------------------------------------------ rows and elements */

static void rms_norm(const float *x, const float *w, float eps, int n, float *y)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    float inverse = 1.0f / sqrtf((float)(sum / n) + eps);
    for (int i = 0; i < n; i++)
        y[i] = w[i] * (x[i] * inverse);
}

static void layer_norm(const float *x, const float *w, const float *b, float eps, int n, float *y)
{
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i];
    double mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    float middle = (float)mean, inverse = 1.0f / sqrtf((float)(squares / n) + eps);
    for (int i = 0; i < n; i++)
        y[i] = (x[i] - middle) * inverse * w[i] + b[i];
}

static void rope(float *x, const float *cosine, const float *sine, int width)
{
    int half = width / 2;
    for (int i = 0; i < half; i++) {
        float a = x[i], b = x[i + half];
        x[i] = a * cosine[i] - b * sine[i];
        x[i + half] = b * cosine[i] + a * sine[i];
    }
}

static void silu(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = silu_value(x[i]);
}

static void gelu(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}

static void elu(const float *x, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0.0f ? x[i] : expm1f(x[i]);
}

static void add(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void add_scaled(float *y, const float *x, const float *scale, int width, int rows)
{
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < width; i++)
            y[r * width + i] += scale[i] * x[r * width + i];
}

static void snake(const float *x, const float *alpha, const float *inv_beta, int width, int64_t rows, float *y)
{
    for (int64_t t = 0; t < rows; t++)
        for (int c = 0; c < width; c++) {
            float s = sinf(x[t * width + c] * alpha[c]);
            y[t * width + c] = x[t * width + c] + inv_beta[c] * (s * s);
        }
}

static void snake_q8(const float *x, const float *alpha, const float *inv_beta, int width, int64_t rows, const pl_q8_rows *out)
{
    int blocks = width / BLOCK;
    for (int64_t i = 0; i < rows * blocks; i++) {
        float values[BLOCK];
        int64_t c = i % blocks * BLOCK;
        snake(x + i * BLOCK, alpha + c, inv_beta + c, BLOCK, 1, values);
        quantize_block(values, out, i);
    }
}

static void depthwise(const float *x, const float *w, const float *bias, int taps, int width, int rows, float *y)
{
    for (int64_t t = 0; t < rows; t++)
        for (int c = 0; c < width; c++) {
            float sum = bias[c];
            for (int64_t j = 0; j < taps; j++)
                sum += w[j * width + c] * x[(t + j) * width + c];
            y[t * width + c] = sum;
        }
}

static void dot_rows(const float *x, int64_t stride, const float *w, int n, float bias, int rows, float *y)
{
    for (int r = 0; r < rows; r++, x += stride) {
        double sum = (double)bias;
        for (int k = 0; k < n; k++)
            sum += (double)w[k] * (double)x[k];
        y[r] = (float)sum;
    }
}

static void add_row(pl_type type, const void *row, int width, float *y)
{
    float values[UNPACK];
    const uint8_t *bytes = row;
    for (int i = 0; i < width; i += UNPACK) {
        int n = width - i < UNPACK ? width - i : UNPACK;
        pl_dequantize(type, bytes + pl_row_bytes(type, i), n, values);
        add(y + i, values, n);
    }
}

static void encode(pl_type type, const float *x, int n, void *out)
{
    pl_quantize(type, x, n, out);
}

const pl_kernels pl_kernels_scalar = {
    .level = PARLEY_CPU_SCALAR,
    .int8 = true,
    .gemm = gemm,
    .quantize_rows = quantize_rows,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .rope = rope,
    .attend = attend,
    .silu = silu,
    .gelu = gelu,
    .elu = elu,
    .add = add,
    .add_scaled = add_scaled,
    .snake = snake,
    .snake_q8 = snake_q8,
    .depthwise = depthwise,
    .dot_rows = dot_rows,
    .add_row = add_row,
    .encode = encode,
};
