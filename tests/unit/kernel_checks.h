/* Checks of one level of kernels, without a test framework, so that they run under emulation too (tests/cross). Each check compares with numbers
 * formed in double precision from the same inputs and returns NULL, or a text that says what differs. Buffers have no slack: run it under ASan. */
#ifndef KERNEL_CHECKS_H
#define KERNEL_CHECKS_H

#include "base/cpu.h"
#include "unit/kernel_inputs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const char *(*kernel_check)(const pl_kernels *k);

static const char *differ(const char *format, ...)
{
    static char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

/* ------------------------------------------------------------------ matrix products */

typedef struct product {
    pl_type type, source;
    int rows, taps, width, columns;
    bool bias, accumulate, int8;
} product;

typedef struct operands {
    pl_gemm g;
    pl_matrix w;
    pl_q8_rows q8;
    float *x, *bias, *weights; /* weights: [rows][cols] as float32 */
    uint8_t *packed;
    float *y_before;
    double *expected, *magnitude; /* [columns][rows] */
} operands;

/* A plain matrix as it lies in a file, packed or in place. */
static void make_weights(operands *o, const product *p)
{
    size_t cols = (size_t)p->taps * (size_t)p->width, values = (size_t)p->rows * cols;
    uint8_t *file = random_blocks(p->source, values);
    o->weights = exact(values * sizeof(float));
    pl_dequantize(p->source, file, (int64_t)values, o->weights);
    o->w = (pl_matrix){.type = p->type, .rows = p->rows, .cols = (int)cols, .panel_bytes = pl_panel_bytes(p->type, (int)cols)};
    o->packed = file;
    if (pl_type_is_packed(p->type)) {
        o->packed = exact64((size_t)pl_panels(&o->w) * o->w.panel_bytes);
        pl_pack_map map = {.stride_o = (int64_t)cols, .stride_tap = p->width, .stride_c = 1, .outer = p->rows, .taps = p->taps, .width = p->width};
        pl_pack(&o->w, o->packed, p->source, file, &map, 0, pl_panels(&o->w));
        free(file);
    }
    o->w.data = o->packed;
}

/* Taps are one row of x apart, rows have a gap of 3: x ends with the last value that is read. */
static void make_inputs(operands *o, const product *p)
{
    int x_rows = p->columns + p->taps - 1, x_stride = p->width + 3, blocks = p->width / 32;
    o->x = random_floats((size_t)(x_rows - 1) * (size_t)x_stride + (size_t)p->width, 1.0f);
    o->bias = random_floats((size_t)p->rows, 1.0f);
    o->y_before = random_floats((size_t)p->columns * (size_t)(p->rows + 2), 1.0f);
    o->g = (pl_gemm){.w = &o->w, .taps = p->taps, .width = p->width, .columns = p->columns, .x = o->x, .x_stride = x_stride};
    o->g.tap_stride = x_stride;
    o->g.tap_rows = 1;
    o->g.y_stride = p->rows + 2;
    o->g.bias = p->bias ? o->bias : NULL;
    o->g.accumulate = p->accumulate;
    o->q8.q = exact((size_t)x_rows * (size_t)p->width);
    o->q8.scale = exact((size_t)x_rows * (size_t)blocks * sizeof(float));
    o->q8.sum = exact((size_t)x_rows * (size_t)blocks * sizeof(int32_t));
    o->q8.half = exact((size_t)x_rows * (size_t)blocks * sizeof(int32_t));
    if (p->int8) {
        pl_kernels_for(PARLEY_CPU_SCALAR)->quantize_rows(o->x, x_stride, p->width, 0, x_rows, &o->q8);
        o->g.q8 = &o->q8;
        for (size_t i = 0; i < (size_t)(x_rows - 1) * (size_t)x_stride + (size_t)p->width; i++)
            o->x[i] = NAN; /* not to be read */
    }
}

static double input_value(const operands *o, int column, int k)
{
    int tap = k / o->g.width, at = k % o->g.width;
    if (!o->g.q8)
        return (double)o->x[(column + tap) * o->g.x_stride + at];
    int64_t i = (int64_t)(column + tap) * o->g.width + at;
    return (double)o->q8.q[i] * (double)o->q8.scale[i / 32];
}

static void expect_product(operands *o, const product *p)
{
    size_t n = (size_t)p->columns * (size_t)p->rows;
    o->expected = exact(n * sizeof(double));
    o->magnitude = exact(n * sizeof(double));
    for (int c = 0; c < p->columns; c++)
        for (int r = 0; r < p->rows; r++) {
            double sum = p->bias ? (double)o->bias[r] : 0.0, size = fabs(sum), before = (double)o->y_before[c * o->g.y_stride + r];
            for (int k = 0; k < o->w.cols; k++) {
                double term = (double)o->weights[(size_t)r * (size_t)o->w.cols + (size_t)k] * input_value(o, c, k);
                sum += term;
                size += fabs(term);
            }
            o->expected[c * p->rows + r] = p->accumulate ? before + sum : sum;
            o->magnitude[c * p->rows + r] = size + (p->accumulate ? fabs(before) : 0.0);
        }
}

static void free_operands(operands *o)
{
    free(o->x), free(o->bias), free(o->weights), free(o->packed), free(o->y_before), free(o->expected), free(o->magnitude);
    free(o->q8.q), free(o->q8.scale), free(o->q8.sum), free(o->q8.half);
}

/* y of the product in calls of `panel_step` panels by `column_step` columns. */
static float *run_product(const pl_kernels *k, operands *o, const product *p, int panel_step, int column_step)
{
    size_t bytes = (size_t)p->columns * (size_t)o->g.y_stride * sizeof(float);
    float *y = exact(bytes);
    void *scratch = exact64(pl_gemm_scratch());
    memset(scratch, 0xFF, pl_gemm_scratch());
    memcpy(y, o->y_before, bytes);
    o->g.y = y;
    int panels = pl_panels(&o->w);
    for (int a = 0; a < panels; a += panel_step)
        for (int c = 0; c < p->columns; c += column_step)
            k->gemm(&o->g, a, a + panel_step < panels ? a + panel_step : panels, c, c + column_step < p->columns ? c + column_step : p->columns,
                    scratch);
    free(scratch);
    return y;
}

static const char *product_name(const product *p)
{
    static char text[160];
    snprintf(text, sizeof text, "%s from %s, %d rows, %d x %d, %d columns%s%s%s", pl_type_info(p->type)->name, pl_type_info(p->source)->name, p->rows,
             p->taps, p->width, p->columns, p->bias ? ", bias" : "", p->accumulate ? ", accumulate" : "", p->int8 ? ", int8" : "");
    return text;
}

static const char *compare_product(const operands *o, const product *p, const float *y)
{
    for (int c = 0; c < p->columns; c++) {
        for (int r = 0; r < p->rows; r++) {
            double got = (double)y[c * o->g.y_stride + r], want = o->expected[c * p->rows + r];
            if (!(fabs(got - want) <= 1e-6 * o->magnitude[c * p->rows + r]))
                return differ("%s: row %d column %d is %.9g, not %.9g", product_name(p), r, c, got, want);
        }
        for (int64_t r = p->rows; r < o->g.y_stride; r++)
            if (y[c * o->g.y_stride + r] != o->y_before[c * o->g.y_stride + r])
                return differ("%s: wrote beyond its rows in column %d", product_name(p), c);
    }
    return NULL;
}

static const char *check_product(const pl_kernels *k, const product *p)
{
    static const int steps[][2] = {{1, 1}, {1, 7}, {2, 5}, {3, 2}, {5, 13}};
    operands o = {0};
    make_weights(&o, p);
    make_inputs(&o, p);
    expect_product(&o, p);
    float *whole = run_product(k, &o, p, pl_panels(&o.w), p->columns);
    const char *fault = compare_product(&o, p, whole);
    for (size_t s = 0; s < sizeof steps / sizeof steps[0] && !fault; s++) {
        float *parts = run_product(k, &o, p, steps[s][0], steps[s][1]);
        if (memcmp(whole, parts, (size_t)p->columns * (size_t)o.g.y_stride * sizeof(float)) != 0)
            fault = differ("%s: other bits in calls of %d panels by %d columns", product_name(p), steps[s][0], steps[s][1]);
        free(parts);
    }
    free(whole);
    free_operands(&o);
    return fault;
}

/* Every type with shapes that leave rests everywhere; wide ones so that the inner dimension takes several chunks. */
static const char *check_gemm_types(const pl_kernels *k)
{
    static const int rows[] = {1, 15, 16, 50, 131}, columns[] = {1, 2, 5, 7, 40};
    for (pl_type type = PL_F32; type <= PL_Q6_K; type = (pl_type)(type + 1)) {
        int block = pl_type_info(type)->values;
        for (int i = 0; i < 5; i++) {
            int width = block == 1 ? (int[]){1, 37, 130, 300, 261}[i] : block == 32 ? (int[]){32, 96, 288, 544, 160}[i] : 256 * (1 + i % 3);
            product p = {type, type, rows[i], 1, width, columns[(i + (int)type) % 5], i % 2 == 0, i % 3 == 0, false};
            const char *fault = check_product(k, &p);
            p.int8 = pl_type_takes_int8(type) && k->int8;
            if (!fault && p.int8)
                fault = check_product(k, &p);
            if (fault)
                return fault;
        }
    }
    return NULL;
}

/* All counts of columns from 1 to 40, and more than a block of them. */
static const char *check_gemm_columns(const pl_kernels *k)
{
    for (int columns = 1; columns <= 41; columns++)
        for (int t = 0; t < 9; t++) {
            static const pl_type types[] = {PL_F32, PL_BF16, PL_F16, PL_Q8_0, PL_Q8_0, PL_Q4_0, PL_Q4_K, PL_Q5_K, PL_Q6_K};
            int block = pl_type_info(types[t])->values == 256 ? 256 : 32;
            product p = {types[t],         types[t],         1 + columns * 7 % 90, 1, block * (1 + columns % 3), columns <= 40 ? columns : 205,
                         columns % 2 == 0, columns % 3 == 0, t >= 4 && k->int8};
            const char *fault = check_product(k, &p);
            if (fault)
                return fault;
        }
    return NULL;
}

/* Convolutions: taps shorter and longer than a chunk. */
static const char *check_gemm_taps(const pl_kernels *k)
{
    static const int widths[] = {32, 64, 96, 160, 512}, taps[] = {2, 3, 7};
    static const pl_type types[] = {PL_F32, PL_BF16, PL_F16, PL_Q8_0, PL_Q8_0, PL_Q4_0, PL_Q4_0, PL_Q5_1};
    for (int t = 0; t < 8; t++)
        for (int w = 0; w < 5; w++)
            for (int i = 0; i < 3; i++) {
                product p = {types[t], types[t], 33, taps[i], widths[w], w % 2 ? 4 : 19, true, false, (t == 4 || t == 6) && k->int8};
                const char *fault = check_product(k, &p);
                if (fault)
                    return fault;
            }
    product odd = {PL_F32, PL_BF16, 24, 5, 7, 30, true, false, false}, half = {PL_F32, PL_F16, 17, 3, 150, 9, false, true, false};
    const char *fault = check_product(k, &odd);
    return fault ? fault : check_product(k, &half);
}

#include "unit/kernel_gates.h"

/* ------------------------------------------------------------------ 8-bit activations */

static const char *check_quantize(const pl_kernels *k)
{
    enum { ROWS = 12, WIDTH = 96, STRIDE = 101, BLOCKS = WIDTH / 32 };
    float *x = random_floats((ROWS - 1) * STRIDE + WIDTH, 3.0f);
    static const float odd[] = {0.0f, 1e-45f, 1e-38f, 1e38f, INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 7; i++)
        for (int c = 0; c < 40; c++) /* whole first block, a few values of the second */
            x[(i + 2) * STRIDE + c] = c == 3 ? -odd[i] : c % 2 ? odd[i] : 0.0f;
    for (int c = 0; c < 32; c++)
        x[10 * STRIDE + c] = (float)c - 15.5f; /* ties after scaling by 127 / 127 do not arise here, halves do below */
    x[11 * STRIDE] = 127.0f;
    for (int c = 1; c < 32; c++)
        x[11 * STRIDE + c] = (float)c + 0.5f;
    int8_t q[2][ROWS * WIDTH];
    float scale[2][ROWS * BLOCKS];
    int32_t sum[2][ROWS * BLOCKS], half[2][ROWS * BLOCKS];
    const pl_kernels *levels[2] = {pl_kernels_for(PARLEY_CPU_SCALAR), k};
    for (int i = 0; i < 2; i++) {
        pl_q8_rows rows = {q[i], scale[i], sum[i], half[i]};
        levels[i]->quantize_rows(x, STRIDE, WIDTH, 0, 5, &rows);
        levels[i]->quantize_rows(x, STRIDE, WIDTH, 5, ROWS, &rows);
    }
    const char *fault = NULL;
    if (memcmp(q[0], q[1], sizeof q[0]) != 0 || memcmp(sum[0], sum[1], sizeof sum[0]) != 0 || memcmp(half[0], half[1], sizeof half[0]) != 0)
        fault = "quantize_rows: quants differ from the scalar ones";
    for (int i = 0; i < ROWS * BLOCKS; i++)
        if (memcmp(&scale[0][i], &scale[1][i], sizeof(float)) != 0 && !(isnan(scale[0][i]) && isnan(scale[1][i])))
            fault = "quantize_rows: scales differ from the scalar ones";
    for (int i = 0; i < 32 && !fault; i++)
        if (q[1][11 * WIDTH + i] != (i == 0 ? 127 : i + i % 2))
            fault = "quantize_rows: halves do not go to the even number";
    for (int r = 0; r < 2 && !fault; r++)
        for (int i = 0; i < WIDTH; i++) {
            float step = scale[1][r * BLOCKS + i / 32];
            if (!(fabsf((float)q[1][r * WIDTH + i] * step - x[r * STRIDE + i]) <= step * 0.501f))
                fault = "quantize_rows: a value is not restored to within half a step";
        }
    free(x);
    return fault;
}

/* ------------------------------------------------------------------ attention */

typedef struct attention {
    pl_type type;
    int heads, width;
    int64_t begin, end;
} attention;

/* One head in double precision. */
static void expect_attention(const pl_attend *a, int h, double *out)
{
    double top = -INFINITY, sum = 0.0, *scores = exact((size_t)(a->end - a->begin) * sizeof *scores);
    float *row = exact((size_t)a->width * sizeof *row);
    size_t bytes = pl_row_bytes(a->type, a->width);
    for (int64_t j = a->begin; j < a->end; j++) {
        double dot = 0.0;
        pl_dequantize(a->type, a->blocks[j / 64] + a->k_offset + (size_t)(j % 64) * bytes, a->width, row);
        for (int i = 0; i < a->width; i++)
            dot += (double)a->q[h * a->width + i] * (double)row[i];
        scores[j - a->begin] = dot * (double)a->scale;
        top = fmax(top, scores[j - a->begin]);
    }
    memset(out, 0, (size_t)a->width * sizeof *out);
    for (int64_t j = a->begin; j < a->end; j++) {
        double p = exp(scores[j - a->begin] - top);
        sum += p;
        pl_dequantize(a->type, a->blocks[j / 64] + a->v_offset + (size_t)(j % 64) * bytes, a->width, row);
        for (int i = 0; i < a->width; i++)
            out[i] += p * (double)row[i];
    }
    for (int i = 0; i < a->width; i++)
        out[i] /= sum;
    free(scores), free(row);
}

static const char *compare_attention(const pl_kernels *k, pl_attend *a)
{
    double *want = exact((size_t)a->width * sizeof *want);
    float *alone = exact((size_t)a->width * sizeof *alone);
    const char *fault = NULL;
    for (int h = 0; h < a->heads && !fault; h++) {
        expect_attention(a, h, want);
        for (int i = 0; i < a->width; i++)
            if (!(fabs((double)a->out[h * a->width + i] - want[i]) <= 3e-6))
                fault = differ("attend %s: width %d heads %d, %d .. %d: head %d value %d is %.9g, not %.9g", pl_type_info(a->type)->name, a->width,
                               a->heads, (int)a->begin, (int)a->end, h, i, (double)a->out[h * a->width + i], want[i]);
        pl_attend one = *a;
        one.heads = 1;
        one.q = a->q + h * a->width;
        one.out = alone;
        k->attend(&one);
        if (!fault && memcmp(alone, a->out + h * a->width, (size_t)a->width * sizeof *alone) != 0)
            fault = differ("attend %s: width %d heads %d: head %d has other bits alone", pl_type_info(a->type)->name, a->width, a->heads, h);
    }
    free(want), free(alone);
    return fault;
}

static const char *check_attention(const pl_kernels *k, const attention *c)
{
    size_t row = pl_row_bytes(c->type, c->width), part = 64 * row;
    int64_t blocks = (c->end + 63) / 64;
    uint8_t **cache = exact((size_t)blocks * sizeof *cache);
    for (int64_t b = 0; b < blocks; b++) {
        cache[b] = NULL; /* blocks before the window are not even there */
        if (b < c->begin / 64)
            continue;
        cache[b] = exact(2 * part + 64);
        memset(cache[b], 0xFF, 2 * part + 64); /* NaN wherever nothing is written */
        for (int64_t j = b * 64; j < b * 64 + 64; j++)
            for (int v = 0; v < 2 && j >= c->begin && j < c->end; v++) {
                uint8_t *values = random_blocks(c->type, (size_t)c->width);
                memcpy(cache[b] + (size_t)v * (part + 64) + (size_t)(j % 64) * row, values, row);
                free(values);
            }
    }
    pl_attend a = {
        .type = c->type, .heads = c->heads, .width = c->width, .scale = 2.0f / sqrtf((float)c->width), .blocks = (const uint8_t *const *)cache};
    a.v_offset = part + 64;
    a.begin = c->begin;
    a.end = c->end;
    float *q = random_floats((size_t)(c->heads * c->width), 2.0f);
    a.q = q;
    a.out = exact((size_t)(c->heads * c->width) * sizeof(float));
    k->attend(&a);
    const char *fault = compare_attention(k, &a);
    for (int64_t b = 0; b < blocks; b++)
        free(cache[b]);
    free(cache), free(q), free(a.out);
    return fault;
}

static const char *check_attend(const pl_kernels *k)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    static const int64_t windows[][2] = {{0, 1}, {0, 64}, {3, 65}, {0, 200}, {70, 130}, {63, 64}, {129, 300}};
    static const int widths[] = {32, 64, 128, 96, 20, 7, 100};
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < 7; w++)
            for (int i = 0; i < 7; i++) {
                attention c = {types[t], 1 + (w + i) % 5, widths[w], windows[i][0], windows[i][1]};
                if (types[t] == PL_Q8_0 && c.width % 32 != 0)
                    continue;
                const char *fault = check_attention(k, &c);
                if (fault)
                    return fault;
            }
    return NULL;
}

/* ------------------------------------------------------------------ elements */

enum { N = 1000 };
static const int lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static const char *near_enough(const char *what, int n, int i, float got, double want, double limit)
{
    return fabs((double)got - want) <= limit ? NULL : differ("%s: value %d of %d is %.9g, not %.9g", what, i, n, (double)got, want);
}

static const char *check_activations(const pl_kernels *k)
{
    for (int l = 0; l < LENGTHS; l++) {
        int n = lengths[l];
        float *x = random_floats((size_t)n, l % 2 ? 30.0f : 3.0f), *y[2];
        for (int i = 0; i < 2; i++) {
            y[i] = exact((size_t)n * sizeof(float));
            memcpy(y[i], x, (size_t)n * sizeof(float));
        }
        k->silu(y[0], n);
        k->gelu(y[1], n);
        const char *fault = NULL;
        for (int i = 0; i < n && !fault; i++) {
            double v = (double)x[i], s = v / (1.0 + exp(-v)), g = 0.5 * v * (1.0 + erf(v * sqrt(0.5)));
            fault = near_enough("silu", n, i, y[0][i], s, 4e-7 * fabs(s) + 1e-37);
            fault = fault ? fault : near_enough("gelu", n, i, y[1][i], g, 2e-7 * fmax(1.0, fabs(v)));
        }
        free(x), free(y[0]), free(y[1]);
        if (fault)
            return fault;
    }
    return NULL;
}

/* A fine sweep of gelu, where its two formulas meet too, and the far ends of silu. */
static const char *check_ranges(const pl_kernels *k)
{
    enum { STEPS = 20000 };
    float *x = exact(STEPS * sizeof *x), *y = exact(STEPS * sizeof *y);
    const char *fault = NULL;
    for (int i = 0; i < STEPS; i++)
        y[i] = x[i] = ((float)i - STEPS / 2) * 0.0007f;
    k->gelu(y, STEPS);
    for (int i = 0; i < STEPS && !fault; i++) {
        double v = (double)x[i];
        fault = near_enough("gelu sweep", STEPS, i, y[i], 0.5 * v * (1.0 + erf(v * sqrt(0.5))), 2e-7 * fmax(1.0, fabs(v)));
    }
    float ends[] = {-200.0f, -100.0f, -88.0f, -0.0f, 88.0f, 100.0f, 1e30f, -1e30f, INFINITY, NAN};
    k->silu(ends, 10);
    if (!fault && (!(fabsf(ends[0]) < 1e-30f) || !(fabsf(ends[2]) < 1e-35f) || ends[3] != 0.0f || ends[4] != 88.0f || ends[6] != 1e30f))
        fault = "silu: wrong at the ends";
    if (!fault && (!(fabsf(ends[7]) < 1e-7f) || !isinf(ends[8]) || !isnan(ends[9])))
        fault = "silu: wrong beyond the ends";
    free(x), free(y);
    return fault;
}

static const char *check_elu_values(const pl_kernels *k, float *x, int n)
{
    float *y = exact((size_t)n * sizeof *y);
    const char *fault = NULL;
    k->elu(x, n, y);
    for (int i = 0; i < n && !fault; i++) {
        double want = x[i] > 0.0f ? (double)x[i] : expm1((double)x[i]);
        fault = near_enough("elu", n, i, y[i], want, 2e-7 * fabs(want));
    }
    k->elu(x, n, x); /* in place */
    if (!fault && memcmp(x, y, (size_t)n * sizeof *y) != 0)
        fault = "elu: other bits in place";
    free(y);
    return fault;
}

/* All lengths; a fine sweep of either side of 0; tiny values, which must not cancel; the ends. */
static const char *check_elu(const pl_kernels *k)
{
    enum { STEPS = 20000 };
    float *sweep = exact(2 * STEPS * sizeof *sweep);
    const char *fault = NULL;
    for (int l = 0; l < LENGTHS && !fault; l++) {
        float *x = random_floats((size_t)lengths[l], l % 2 ? 30.0f : 2.0f);
        fault = check_elu_values(k, x, lengths[l]);
        free(x);
    }
    for (int i = 0; i < STEPS; i++) {
        sweep[i] = ((float)i - STEPS * 0.75f) * 0.0008f;
        sweep[STEPS + i] = -ldexpf(1.0f + (float)i / STEPS, -(i % 100));
    }
    fault = fault ? fault : check_elu_values(k, sweep, 2 * STEPS);
    free(sweep);
    float ends[] = {-1e30f, -INFINITY, -25.5f, 1e30f, INFINITY, NAN, 0.0f};
    k->elu(ends, 7, ends);
    if (!fault && (ends[0] != -1.0f || ends[1] != -1.0f || ends[2] != -1.0f || ends[3] != 1e30f || !isinf(ends[4]) || !isnan(ends[5])))
        fault = "elu: wrong at the ends";
    return !fault && ends[6] != 0.0f ? "elu: wrong at 0" : fault;
}

static const char *check_snake(const pl_kernels *k)
{
    static const float scales[] = {1.0f, 10.0f, 1000.0f, 9999.0f, 3e5f};
    for (int s = 0; s < 5; s++)
        for (int l = 0; l < LENGTHS; l++) {
            int width = lengths[l], rows = l % 3 + 1, n = width * rows;
            float *x = random_floats((size_t)n, scales[s]), *alpha = random_floats((size_t)width, 1.0f), *beta = random_floats((size_t)width, 1.0f);
            float *y = exact((size_t)n * sizeof *y);
            k->snake(x, alpha, beta, width, rows, y);
            const char *fault = NULL;
            for (int i = 0; i < n && !fault; i++) {
                double v = (double)x[i], a = (double)(x[i] * alpha[i % width]), want = v + (double)beta[i % width] * sin(a) * sin(a);
                fault = near_enough("snake", n, i, y[i], want, 1e-6 + 1e-7 * fabs(v));
            }
            k->snake(x, alpha, beta, width, rows, x); /* in place */
            if (!fault && memcmp(x, y, (size_t)n * sizeof *y) != 0)
                fault = "snake: other bits in place";
            free(x), free(alpha), free(beta), free(y);
            if (fault)
                return fault;
        }
    return NULL;
}

/* 8-bit rows of Snake: a scale of amax / 127, quants within a step of the exact values (half a step, and the sine's error), sums that fit. */
static const char *check_snake_rows(const pl_kernels *k, int width, int rows, float size)
{
    int n = width * rows, blocks = n / 32;
    float *x = random_floats((size_t)n, size), *alpha = random_floats((size_t)width, 1.0f), *beta = random_floats((size_t)width, 1.0f);
    pl_q8_rows out = {exact((size_t)n), exact((size_t)blocks * sizeof(float)), exact((size_t)blocks * sizeof(int32_t)), NULL};
    const char *fault = NULL;
    x[n - 1] = rows > 2 ? NAN : x[n - 1];
    k->snake_q8(x, alpha, beta, width, rows, &out);
    for (int b = 0; b < blocks && !fault; b++) {
        int32_t sum = 0;
        double largest = 0;
        for (int i = b * 32; i < b * 32 + 32; i++) {
            double a = (double)(x[i] * alpha[i % width]), want = (double)x[i] + (double)beta[i % width] * sin(a) * sin(a);
            largest = fmax(largest, fabs(want));
            sum += out.q[i];
            if (fabs((double)out.scale[b] * out.q[i] - want) > 0.501 * (double)out.scale[b] + 2e-6 + 2e-7 * fabs(want))
                fault = differ("snake_q8: value %d of %d rows of %d is %d x %g, not %g", i, rows, width, out.q[i], (double)out.scale[b], want);
        }
        bool lost = isnan(x[b * 32 + 31]);
        if (lost)
            fault = isnan(out.scale[b]) && sum == 0 ? NULL : "snake_q8: a NaN does not show";
        if (!fault && !lost && (sum * 128 != out.sum[b] || fabs((double)out.scale[b] * 127.0 - largest) > 2e-6 + 1e-6 * largest))
            fault = differ("snake_q8: sum %d or scale %g of block %d", out.sum[b], (double)out.scale[b], b);
    }
    free(x), free(alpha), free(beta), free(out.q), free(out.scale), free(out.sum);
    return fault;
}

static const char *check_snake_q8(const pl_kernels *k)
{
    static const int widths[] = {32, 64, 96, 160, 768};
    const char *fault = NULL;
    for (int i = 0; i < 5 && !fault; i++)
        fault = check_snake_rows(k, widths[i], 1 + i, i % 2 ? 20.0f : 1.0f);
    return fault ? fault : check_snake_rows(k, 96, 2, 3e5f);
}

static const char *check_norm(const pl_kernels *k, int n)
{
    float *x = random_floats((size_t)n, 2.0f), *w = random_floats((size_t)n, 1.0f), *b = random_floats((size_t)n, 1.0f);
    float *rms = exact((size_t)n * sizeof *rms), *layer = exact((size_t)n * sizeof *layer);
    double squares = 0.0, mean = 0.0, variance = 0.0;
    for (int i = 0; i < n; i++) {
        x[i] += 0.5f;
        squares += (double)x[i] * (double)x[i] / n;
        mean += (double)x[i] / n;
    }
    for (int i = 0; i < n; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
    k->rms_norm(x, w, 1e-6f, n, rms);
    k->layer_norm(x, w, b, 1e-5f, n, layer);
    const char *fault = NULL;
    for (int i = 0; i < n && !fault; i++) {
        double r = (double)w[i] * (double)x[i] / sqrt(squares + 1e-6);
        double l = ((double)x[i] - mean) / sqrt(variance + 1e-5) * (double)w[i] + (double)b[i];
        fault = near_enough("rms_norm", n, i, rms[i], r, 1e-6 * (1.0 + fabs(r)));
        if (!fault && n > 1) /* of one value layer_norm is rounding over eps */
            fault = near_enough("layer_norm", n, i, layer[i], l, n < 8 ? 1e-4 : 3e-6 * (1.0 + fabs(l)));
    }
    k->rms_norm(x, w, 1e-6f, n, x);
    if (!fault && memcmp(x, rms, (size_t)n * sizeof *x) != 0)
        fault = "rms_norm: other bits in place";
    free(x), free(w), free(b), free(rms), free(layer);
    return fault;
}

static const char *check_norms(const pl_kernels *k)
{
    const char *fault = NULL;
    for (int l = 0; l < LENGTHS && !fault; l++)
        fault = check_norm(k, lengths[l]);
    return fault;
}

static const char *check_rope(const pl_kernels *k)
{
    for (int l = 0; l < LENGTHS; l++) {
        int half = lengths[l];
        float *x = random_floats((size_t)half * 2, 1.0f), *y = exact((size_t)half * 2 * sizeof *y), *c = random_floats((size_t)half, 1.0f),
              *s = random_floats((size_t)half, 1.0f);
        memcpy(y, x, (size_t)half * 2 * sizeof *y);
        k->rope(y, c, s, half * 2);
        const char *fault = NULL;
        for (int i = 0; i < half && !fault; i++) {
            double a = (double)x[i], b = (double)x[i + half], co = (double)c[i], si = (double)s[i];
            fault = near_enough("rope", half, i, y[i], a * co - b * si, 2e-7);
            fault = fault ? fault : near_enough("rope", half, i + half, y[i + half], b * co + a * si, 2e-7);
        }
        free(x), free(y), free(c), free(s);
        if (fault)
            return fault;
    }
    return NULL;
}

static const char *check_sums(const pl_kernels *k)
{
    for (int l = 0; l < LENGTHS; l++) {
        int width = lengths[l], rows = 1 + l % 4, n = width * rows;
        float *x = random_floats((size_t)n, 1.0f), *y = random_floats((size_t)n, 1.0f), *scale = random_floats((size_t)width, 1.0f);
        float *sum = exact((size_t)n * sizeof *sum), *scaled = exact((size_t)n * sizeof *scaled);
        memcpy(sum, y, (size_t)n * sizeof *y);
        memcpy(scaled, y, (size_t)n * sizeof *y);
        k->add(sum, x, n);
        k->add_scaled(scaled, x, scale, width, rows);
        const char *fault = NULL;
        for (int i = 0; i < n && !fault; i++) {
            fault = sum[i] == y[i] + x[i] ? NULL : "add: not the rounded sum";
            fault = fault ? fault : near_enough("add_scaled", n, i, scaled[i], (double)y[i] + (double)scale[i % width] * (double)x[i], 2e-7);
        }
        free(x), free(y), free(scale), free(sum), free(scaled);
        if (fault)
            return fault;
    }
    return NULL;
}

static const char *check_depthwise(const pl_kernels *k)
{
    for (int l = 0; l < LENGTHS; l++) {
        int width = lengths[l], rows = 1 + l % 5, taps = l % 2 ? 7 : 3;
        float *x = random_floats((size_t)((rows + taps - 1) * width), 1.0f), *w = random_floats((size_t)(taps * width), 1.0f);
        float *bias = random_floats((size_t)width, 1.0f), *y = exact((size_t)(rows * width) * sizeof *y);
        k->depthwise(x, w, bias, taps, width, rows, y);
        const char *fault = NULL;
        for (int i = 0; i < rows * width && !fault; i++) {
            double want = (double)bias[i % width];
            for (int j = 0; j < taps; j++)
                want += (double)w[j * width + i % width] * (double)x[i + j * width];
            fault = near_enough("depthwise", rows * width, i, y[i], want, 1e-6);
        }
        free(x), free(w), free(bias), free(y);
        if (fault)
            return fault;
    }
    return NULL;
}

static const char *check_dot_rows(const pl_kernels *k)
{
    for (int l = 0; l < LENGTHS; l++) {
        int n = lengths[l], rows = 1 + l % 7, stride = 1 + l * 5 % 40;
        float *x = random_floats((size_t)((rows - 1) * stride + n), 1.0f), *w = random_floats((size_t)n, 1.0f);
        float *y = exact((size_t)rows * sizeof *y), alone;
        k->dot_rows(x, stride, w, n, 0.25f, rows, y);
        const char *fault = NULL;
        for (int r = 0; r < rows && !fault; r++) {
            double want = 0.25, size = 0.25;
            for (int i = 0; i < n; i++) {
                want += (double)w[i] * (double)x[r * stride + i];
                size += fabs((double)w[i] * (double)x[r * stride + i]);
            }
            fault = near_enough("dot_rows", rows, r, y[r], want, 1e-6 * size);
            k->dot_rows(x + r * stride, stride, w, n, 0.25f, 1, &alone);
            if (!fault && memcmp(&alone, &y[r], sizeof alone) != 0)
                fault = "dot_rows: other bits alone";
        }
        free(x), free(w), free(y);
        if (fault)
            return fault;
    }
    return NULL;
}

static const char *check_add_row(const pl_kernels *k)
{
    for (pl_type type = PL_F32; type <= PL_Q6_K; type = (pl_type)(type + 1)) {
        int block = pl_type_info(type)->values, width = block == 1 ? 301 : block * (block == 32 ? 9 : 2);
        uint8_t *row = random_blocks(type, (size_t)width);
        float *y = random_floats((size_t)width, 1.0f), *values = exact((size_t)width * sizeof *values), *sum = exact((size_t)width * sizeof *sum);
        pl_dequantize(type, row, width, values);
        memcpy(sum, y, (size_t)width * sizeof *y);
        k->add_row(type, row, width, sum);
        const char *fault = NULL;
        for (int i = 0; i < width && !fault; i++)
            if (sum[i] != y[i] + values[i])
                fault = differ("add_row %s: value %d", pl_type_info(type)->name, i);
        free(row), free(y), free(values), free(sum);
        if (fault)
            return fault;
    }
    return NULL;
}

/* Rows of caches: the bytes of pl_quantize, halves that round to even, overflow and go subnormal among them. */
static const char *check_encode(const pl_kernels *k)
{
    enum { WIDTH = 96 };
    static const float odd[] = {0.0f,  -0.0f,    65504.0f, 65519.9f, 65520.0f,    -1e6f,     INFINITY,
                                6e-8f, 2.98e-8f, -3e-8f,   6.1e-5f,  1.00048828f, 1.0014648f};
    float *x = random_floats(WIDTH, 2.0f);
    memcpy(x + 5, odd, sizeof odd);
    for (pl_type type = PL_F32; type <= PL_Q8_0; type = (pl_type)(type + 1)) {
        int width = type == PL_Q8_0 ? WIDTH : WIDTH - 3;
        size_t bytes = pl_row_bytes(type, width);
        uint8_t *want = exact(bytes), *got = exact(bytes);
        pl_quantize(type, x, width, want);
        k->encode(type, x, width, got);
        bool same = memcmp(want, got, bytes) == 0;
        free(want), free(got);
        if (!same) {
            free(x);
            return differ("encode %s: other bytes", pl_type_info(type)->name);
        }
    }
    free(x);
    return NULL;
}

static const struct {
    const char *name;
    kernel_check run;
} kernel_checks[] = {
    {"gemm of every type", check_gemm_types},
    {"gemm columns", check_gemm_columns},
    {"gemm taps", check_gemm_taps},
    {"gemm gate", check_gemm_gate},
    {"quantize_rows", check_quantize},
    {"attend", check_attend},
    {"activations", check_activations},
    {"ranges", check_ranges},
    {"elu", check_elu},
    {"snake", check_snake},
    {"snake_q8", check_snake_q8},
    {"norms", check_norms},
    {"rope", check_rope},
    {"sums", check_sums},
    {"depthwise", check_depthwise},
    {"dot_rows", check_dot_rows},
    {"add_row", check_add_row},
    {"encode", check_encode},
};
enum { KERNEL_CHECKS = sizeof kernel_checks / sizeof kernel_checks[0] };

#endif
