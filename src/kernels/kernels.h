/* The arithmetic of the engine: a table of operations, one table a processor level. Scalar code (ref/) is the truth; body/ holds one body per
 * group of operations, compiled by a thin file per level (x86/, arm/). Nothing here knows what a layer is.
 *
 * Rule of results: an output value depends on its inputs alone, never on how many columns or panels a call covers nor on the thread that runs it.
 * So each (output row, column) has one accumulator that walks the inner dimension in ascending order. */
#ifndef PL_KERNELS_H
#define PL_KERNELS_H

#include "base/arena.h"
#include "base/tensor.h"

/* ------------------------------------------------------------------ packed matrices */

enum { PL_PANEL = 16 }; /* output rows of a panel */

/* A weight matrix [rows][cols] (y = W x), cols = taps * width for convolutions, tap-major.
 *
 * Packed types hold panels of 16 rows, the last one filled up with zero rows:
 *   F32 F16 BF16   panel = cols x 16 elements: element (r, k) at k * 16 + r
 *   Q8_0           panel = (cols / 32) x 512 bytes of quants, then (cols / 32) x 16 halves of scales, filled up to 64 bytes.
 *                  Quant (r, k) of block b at b * 512 + (k / 4) * 64 + r * 4 + k % 4 with k counted inside the block, stored as q + 128
 *                  (unsigned: vpdpbusd takes the weights as its unsigned operand). Scale of (r, b) at b * 16 + r.
 *   Q4_0 Q4_K      256 bytes of quants a block: (r, k) in byte (k % 16 / 4) * 64 + r * 4 + k % 4, the low half for k below 16.
 *   Q5_K           64 bytes more a block: the fifth bit of (r, k) in byte r * 4 + k % 4, bit k / 4.
 *   Q6_K           128 bytes more a block: bits 4 and 5 of (r, k) in byte (k / 16) * 64 + r * 4 + k % 4, from bit 2 * (k / 4 % 4).
 *                  Behind the quants 32 bytes of scales a block: Q4_0 16 halves; Q4_K, Q5_K 16 scales, 16 minima; Q6_K 16 scales of the first
 *                  16 values, 16 of the others. Behind those, every 8 blocks, 16 halves d and (Q4_K, Q5_K) 16 halves dmin. Filled up to 64 bytes.
 *                  Each value is the file's, bit for bit, and no panel is larger than its rows in the file, but for the filling.
 * All other types keep the file's rows of blocks, in place, unpacked (panel_bytes = 16 rows); their products unpack to float32 on the way. */
typedef struct pl_matrix {
    pl_type type;
    int rows, cols;
    size_t panel_bytes;
    const uint8_t *data; /* 64-byte aligned when packed */
} pl_matrix;

static inline int pl_panels(const pl_matrix *m)
{
    return (m->rows + PL_PANEL - 1) / PL_PANEL;
}

/* Of the layouts above: files that hold packed matrices state it. Goes up when a packed layout changes, not when a type is added. */
enum { PL_PACK_VERSION = 1 };

/* Whether matrices of this type are stored packed. */
bool pl_type_is_packed(pl_type type);

/* Whether products of this type can take 8-bit activations. */
bool pl_type_takes_int8(pl_type type);

/* Bytes of one panel. */
size_t pl_panel_bytes(pl_type type, int cols);

/* Where the elements of a matrix lie in a tensor: output row j * outer + o (o below `outer`), tap t, column c is element
 * base + j * stride_j + o * stride_o + t * stride_tap + c * stride_c. A plain linear layer: outer = rows, stride_o = cols, taps 1, stride_c 1.
 * Block types (Q8_0, ..) can only be plain rows. */
typedef struct pl_pack_map {
    int64_t base, stride_j, stride_o, stride_tap, stride_c;
    int outer, taps, width; /* cols = taps * width */
} pl_pack_map;

/* Packs panels first .. last - 1 of `matrix` (type, rows, cols, panel_bytes set; type packed) from elements of type `source_type` into
 * data + panel * panel_bytes. The source's type is the matrix's, or F32 F16 BF16 into F32 or Q8_0 (32 divides map->width then). */
void pl_pack(const pl_matrix *matrix, uint8_t *data, pl_type source_type, const void *source, const pl_pack_map *map, int first, int last);

/* Row `row` [cols] of a matrix, packed or not, as float32: embeddings out of a head that is tied to them. */
void pl_matrix_row(const pl_matrix *matrix, int row, float *out);

/* `values` consecutive values of any type but I32 to float32, exactly as ggml reads them (products and sums not fused). */
void pl_dequantize(pl_type type, const void *source, int64_t values, float *out);

/* float32 to F32, F16 (round to nearest even, overflow to infinity), BF16 (nearest even), Q8_0 (scale amax / 127 as a half, round half away from
 * zero, as ggml does): rows of caches. `values` a multiple of the block. */
void pl_quantize(pl_type type, const float *source, int64_t values, void *out);

/* The types that weights are stored in when a file is made: the above, Q6_K, Q4_K, Q4_0. */
bool pl_type_is_encoded(pl_type type);

/* float32 to such a type, as pl_quantize() where that has it; the others' scales are searched for the least weighted square error. Slow. */
void pl_encode(pl_type type, const float *source, int64_t values, void *out);

float pl_half_to_float(uint16_t half);
uint16_t pl_float_to_half(float value);

/* ------------------------------------------------------------------ operations */

/* Rows of activations as 8-bit blocks of 32: value = scale * q, with scale = amax / 127 (float32) and q = round to nearest even of value / scale. */
typedef struct pl_q8_rows {
    int8_t *q;     /* [rows][width] */
    float *scale;  /* [rows][width / 32] */
    int32_t *sum;  /* [rows][width / 32]: sum of the block's q, times 128: takes the weights' offset off again */
    int32_t *half; /* [rows][width / 32]: sum of the block's first 16 q; NULL: not wanted. Q6_K needs it. */
} pl_q8_rows;

/* The rows from `row` on. */
static inline pl_q8_rows pl_q8_rows_at(const pl_q8_rows *rows, int64_t row, int width)
{
    int64_t block = row * (width / 32);
    return (pl_q8_rows){rows->q + block * 32, rows->scale + block, rows->sum + block, rows->half ? rows->half + block : NULL};
}

/* y[c][r] (+)= sum over taps t and k of W[r][t * width + k] * x[c * x_stride + t * tap_stride + k], (+ bias[r]).
 * With q8 set (types that take int8) x is not read: row c + t * tap_rows of q8 is used, integer products inside a block, float32 across blocks. */
typedef struct pl_gemm {
    const pl_matrix *w;
    int taps, width; /* w->cols = taps * width; with taps > 1 and a blocked type 32 divides width */
    int columns;
    const float *x;
    int64_t x_stride, tap_stride; /* in floats */
    const pl_q8_rows *q8;         /* NULL: float32 arithmetic */
    int tap_rows;                 /* rows of q8 from a tap to the next */
    float *y;                     /* y[c * y_stride + r] */
    int64_t y_stride;
    const float *bias; /* [rows] or NULL; added behind the sum */
    bool accumulate;   /* y += sum + bias */
    /* A product of as many rows and columns, of which w, the input and the bias count: y = silu(its value) * (sum + bias). NULL: none. */
    const struct pl_gemm *gate;
    const pl_q8_rows *y_q8; /* the values as 8-bit rows of w->rows each (32 divides them) in place of y; calls cover pairs of panels. NULL: y */
    int next;               /* panels between those of a call and those that its thread will take afterwards, for fetching ahead: a guess will do */
} pl_gemm;

enum { PL_KV_BLOCK = 64 }; /* positions of a cache block */

/* Streaming softmax of one position's query heads that share a key head: out[h] = softmax(scale * q[h] . k[j]) v[j] over begin <= j < end.
 * Walks blocks of absolute positions, so results do not depend on how the positions came in. */
typedef struct pl_attend {
    pl_type type;     /* of keys and values: F32 F16 BF16 Q8_0 (32 divides width) */
    int heads, width; /* query heads here; head dimension */
    float scale;
    const float *q;               /* [heads][width] */
    const uint8_t *const *blocks; /* of position / 64, first element = block 0 (blocks before begin / 64 are not read) */
    size_t k_offset, v_offset;    /* from a block to row 0 of its keys, values; rows are pl_row_bytes(type, width) apart */
    int64_t begin, end;           /* end > begin */
    float *out;                   /* [heads][width] */
} pl_attend;

typedef struct pl_kernels {
    parley_cpu level;
    bool int8; /* gemm takes q8 at this level */

    /* Panels first .. last - 1 for columns c0 .. c1 - 1. `scratch`: pl_gemm_scratch() bytes of this thread, 64-byte aligned. */
    void (*gemm)(const pl_gemm *g, int first, int last, int c0, int c1, void *scratch);
    /* Rows x[r * stride], r = 0 .. rows - 1, `width` values each (multiple of 32), to out rows first .. (out holds the whole). */
    void (*quantize_rows)(const float *x, int64_t stride, int width, int first, int last, const pl_q8_rows *out);

    void (*rms_norm)(const float *x, const float *w, float eps, int n, float *y); /* y = w * (x / sqrt(mean(x^2) + eps)); y may be x */
    void (*layer_norm)(const float *x, const float *w, const float *b, float eps, int n, float *y);
    void (*rope)(float *x, const float *cosine, const float *sine, int width); /* pairs (i, i + width / 2), tables [width / 2] */
    void (*attend)(const pl_attend *a);
    void (*silu)(float *x, int64_t n);                /* x / (1 + exp(-x)) */
    void (*gelu)(float *x, int64_t n);                /* erf form */
    void (*elu)(const float *x, int64_t n, float *y); /* y = x above 0, else exp(x) - 1 (no cancellation near 0); y may be x */
    void (*add)(float *y, const float *x, int64_t n); /* y += x */
    void (*add_scaled)(float *y, const float *x, const float *scale, int width, int rows); /* y[r][i] += scale[i] * x[r][i] */
    /* y[t][c] = x + inv_beta[c] * sin^2(x * alpha[c]); y may be x. */
    void (*snake)(const float *x, const float *alpha, const float *inv_beta, int width, int64_t rows, float *y);
    /* The same with the results as 8-bit rows 0 .. rows - 1 of `out`; 32 divides width. */
    void (*snake_q8)(const float *x, const float *alpha, const float *inv_beta, int width, int64_t rows, const pl_q8_rows *out);
    /* y[t][c] = bias[c] + sum over j < taps of w[j][c] * x[(t + j) * width + c]: channels last, x starts taps - 1 rows before the first output. */
    void (*depthwise)(const float *x, const float *w, const float *bias, int taps, int width, int rows, float *y);
    /* y[r] = bias + sum over k < n of w[k] * x[r * stride + k]. */
    void (*dot_rows)(const float *x, int64_t stride, const float *w, int n, float bias, int rows, float *y);
    /* A row of any type added to y: y[i] += row[i] (embedding sums). */
    void (*add_row)(pl_type type, const void *row, int width, float *y);
    /* A row of a cache: as pl_quantize writes it (a NaN may have other bits). */
    void (*encode)(pl_type type, const float *x, int n, void *out);
} pl_kernels;

/* Bytes of scratch that gemm needs. */
size_t pl_gemm_scratch(void);

/* Whether products of 8-bit activations are faster than float32 at this level: it has instructions for them. Elsewhere they work, but cost more than
 * they save (bench/LOG.md), so float32 is the default there. */
bool pl_int8_pays(parley_cpu level);

/* `rounds` of the level's widest multiply-adds on registers alone, at 32 bits or 8: operations done, two a multiply-add; 0 where none is written. */
double pl_peak_run(parley_cpu level, bool int8, int64_t rounds);

/* The table of a level that pl_cpu_has(); levels of another architecture give NULL. */
const pl_kernels *pl_kernels_for(parley_cpu level);

/* exp, erf and sin as the vector bodies compute them are within: exp 2 ulp, elu 2e-7 of its result, erf-based gelu 2e-7 absolute of the input's
 * magnitude, sin^2 1e-6 absolute for |x * alpha| <= 1e4 (larger arguments fall back to libm). */

#endif
