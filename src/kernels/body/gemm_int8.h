/* Quantised weights times 8-bit activations: integer sums inside a block (exact), float32 across blocks. */

enum { INT8_BLOCKS = 16 }; /* of a chunk: 32 KiB of weights at 4 panels */

/* The blocks of one call, all of one tap. */
typedef struct int8_tile {
    const uint8_t *w, *scales, *super; /* super: of the panel's block 0; panel p of all w_stride further */
    size_t w_stride;
    int first;       /* block of the panel that w is */
    const int8_t *q; /* column c at block c * column_blocks of q, x_scale, x_sum and x_half */
    const float *x_scale;
    const int32_t *x_sum, *x_half;
    int64_t column_blocks;
    int blocks;
    float *acc; /* [C][ACC_STRIDE] */
} int8_tile;

typedef void (*int8_function)(const int8_tile *t);

/* Element 0 of columns 0 and 3 of an array with a run of `stride` elements a column: the others are one or two runs behind, so that six columns take
 * three registers for addresses. */
#define COLUMN(array, c) ((c) < 3 ? (array)[0] + (c) * (array##_stride) : (array)[1] + ((c)-3) * (array##_stride))

SPECIAL void int8_walk(const int8_tile *t, const int P, const int C)
{
    const int64_t q_stride = t->column_blocks * BLOCK, sum_stride = t->column_blocks, scale_stride = t->column_blocks;
    const int fourth = C > 3 ? 3 : 0;
    const int8_t *q[2] = {t->q, t->q + fourth * q_stride};
    const int32_t *sum[2] = {t->x_sum, t->x_sum + fourth * sum_stride};
    const float *scale[2] = {t->x_scale, t->x_scale + fourth * scale_stride};
    const uint8_t *w = t->w, *scales = t->scales;
    for (int b = 0; b < t->blocks; b++) {
        q_acc sums[PL_TILE_PANELS][COLUMNS];
        UNROLL(6)
        for (int c = 0; c < C; c++)
            UNROLL(4)
        for (int p = 0; p < P; p++)
            sums[p][c] = q_start(*COLUMN(sum, c));
        UNROLL(8)
        for (int four = 0; four < BLOCK / 4; four++)
            UNROLL(6)
        for (int c = 0; c < C; c++) {
            q_in x = q_input(COLUMN(q, c) + four * 4);
            UNROLL(4)
            for (int p = 0; p < P; p++)
                sums[p][c] = q_dot(sums[p][c], w + (size_t)p * t->w_stride + four * 64, x);
        }
        UNROLL(4)
        for (int p = 0; p < P; p++)
            UNROLL(4)
        for (int v = 0; v < PV; v++) {
            vf row = vf_load_f16(scales + (size_t)p * t->w_stride + (size_t)(v * LANES * 2));
            UNROLL(6)
            for (int c = 0; c < C; c++) {
                float *acc = t->acc + c * ACC_STRIDE + p * PL_PANEL + v * LANES;
                vf_store(acc, vf_fma(vf_mul(row, vf_set1(*COLUMN(scale, c))), q_rows(sums[p][c], v), vf_load(acc)));
            }
        }
        w += BLOCK_QUANTS, scales += PL_Q_SCALES;
        q[0] += BLOCK, q[1] += BLOCK;
        sum[0]++, sum[1]++, scale[0]++, scale[1]++;
    }
}

#ifdef LEVEL_TILES
#include "kernels/body/gemm_tiles.h"
#else
enum { WIDE_COLUMNS = 1 << 30 }; /* never that many */
INLINE void wide_begin(void)
{
}
INLINE void wide_end(void)
{
}
INLINE void wide_walk(const int8_tile *t, int panels)
{
    (void)t, (void)panels;
}
#endif

/* ------------------------------------------------------------------ weights of few bits */

/* What takes the weights' offset off again, for the values of a part of the block. */
INLINE int32_t few_start(const int8_tile *t, pl_type type, int64_t at, int part)
{
    if (type == PL_Q4_0)
        return -(t->x_sum[at] / 128 * 8);
    return type != PL_Q6_K ? 0 : part == 0 ? -32 * t->x_half[at] : -32 * (t->x_sum[at] / 128 - t->x_half[at]);
}

/* Integer sums of k = 4 * first .. of the block. */
INLINE void few_block(const int8_tile *t, pl_type type, const uint8_t *w, int64_t at, int part, s_acc sums[][COLUMNS], const int P, const int C)
{
    const int first = type == PL_Q6_K ? part * 4 : 0, last = type == PL_Q6_K ? first + 4 : 8;
    UNROLL(6)
    for (int c = 0; c < C; c++)
        UNROLL(4)
    for (int p = 0; p < P; p++)
        sums[p][c] = s_start(few_start(t, type, at + c * t->column_blocks, part));
    UNROLL(8)
    for (int four = first; four < last; four++) {
        s_in x[COLUMNS];
        UNROLL(6)
        for (int c = 0; c < C; c++)
            x[c] = s_input(t->q + (at + c * t->column_blocks) * BLOCK + four * 4);
        UNROLL(4)
        for (int p = 0; p < P; p++) {
            s_bytes weights = few_bits(type, w + (size_t)p * t->w_stride, four);
            UNROLL(6)
            for (int c = 0; c < C; c++)
                sums[p][c] = s_dot(sums[p][c], weights, x[c]);
        }
    }
}

/* acc += (factor of the row * scale of the input) * sum - low of the row * (scale of the input * its sum) */
INLINE void few_add_block(const int8_tile *t, pl_type type, size_t block, int64_t at, int part, s_acc sums[][COLUMNS], const int P, const int C)
{
    size_t super = ((size_t)t->first + block) / PL_Q_SUPER * (size_t)pl_form_of(type).super;
    UNROLL(4)
    for (int p = 0; p < P; p++)
        UNROLL(4)
    for (int v = 0; v < PV; v++) {
        block_scales s = {t->scales + (size_t)p * t->w_stride + block * PL_Q_SCALES, t->super + (size_t)p * t->w_stride + super};
        vf factor = few_factor(type, s, part, v), low = few_has_low(type) ? few_low(s, v) : vf_set1(0.0f);
        UNROLL(6)
        for (int c = 0; c < C; c++) {
            float *acc = t->acc + c * ACC_STRIDE + p * PL_PANEL + v * LANES, x_scale = t->x_scale[at + c * t->column_blocks];
            vf sum = vf_fma(vf_mul(factor, vf_set1(x_scale)), s_rows(sums[p][c], v), vf_load(acc));
            if (few_has_low(type))
                sum = vf_fnma(low, vf_set1(x_scale * (float)(t->x_sum[at + c * t->column_blocks] / 128)), sum);
            vf_store(acc, sum);
        }
    }
}

SPECIAL void few_walk(const int8_tile *t, pl_type type, const int P, const int C)
{
    const uint8_t *w = t->w;
    for (int b = 0; b < t->blocks; b++, w += pl_form_of(type).quants)
        for (int part = 0; part < (type == PL_Q6_K ? 2 : 1); part++) {
            s_acc sums[PL_TILE_PANELS][COLUMNS];
            few_block(t, type, w, b, part, sums, P, C);
            few_add_block(t, type, (size_t)b, b, part, sums, P, C);
        }
}

/* ------------------------------------------------------------------ tables of tiles */

typedef int8_function int8_table[3][COLUMNS];
typedef struct int8_tiles {
    int8_table q8_0, q4_0, q4_k, q5_k, q6_k;
} int8_tiles;

/* Shared by levels of the same byte products, as those in float32 are. */
extern const int8_tiles INT8_TILES;
#ifdef OWN_INT8_TILES

/* A tile exists where its sums fit the registers. */
#define INT8_TILE(name, type, P, C)                               \
    static void name##_##P##x##C(const int8_tile *t)              \
    {                                                             \
        if (P <= (C == 1 ? Q_ALONE : Q_PANELS) && C <= Q_COLUMNS) \
            int8_walk(t, P, C);                                   \
    }
#define FEW_TILE(name, type, P, C)                                \
    static void name##_##P##x##C(const int8_tile *t)              \
    {                                                             \
        if (P <= (C == 1 ? S_ALONE : S_PANELS) && C <= S_COLUMNS) \
            few_walk(t, type, P, C);                              \
    }
#define INT8_ROW(TILE, name, type, P) \
    TILE(name, type, P, 1)            \
    TILE(name, type, P, 2)            \
    TILE(name, type, P, 3)            \
    TILE(name, type, P, 4)            \
    TILE(name, type, P, 5)            \
    TILE(name, type, P, 6)
#define INT8_ROWS(TILE, name, type) \
    INT8_ROW(TILE, name, type, 1)   \
    INT8_ROW(TILE, name, type, 2)   \
    INT8_ROW(TILE, name, type, 4)

INT8_ROWS(INT8_TILE, int8_q8_0, PL_Q8_0)
INT8_ROWS(FEW_TILE, int8_q4_0, PL_Q4_0)
INT8_ROWS(FEW_TILE, int8_q4_k, PL_Q4_K)
INT8_ROWS(FEW_TILE, int8_q5_k, PL_Q5_K)
INT8_ROWS(FEW_TILE, int8_q6_k, PL_Q6_K)

const int8_tiles INT8_TILES = {
    .q8_0 = TILE_TABLE(int8_q8_0),
    .q4_0 = TILE_TABLE(int8_q4_0),
    .q4_k = TILE_TABLE(int8_q4_k),
    .q5_k = TILE_TABLE(int8_q5_k),
    .q6_k = TILE_TABLE(int8_q6_k),
};
#endif

static const int8_function (*int8_tiles_of(pl_type type))[COLUMNS]
{
    switch (type) {
    case PL_Q4_0: return INT8_TILES.q4_0;
    case PL_Q4_K: return INT8_TILES.q4_k;
    case PL_Q5_K: return INT8_TILES.q5_k;
    case PL_Q6_K: return INT8_TILES.q6_k;
    default: return INT8_TILES.q8_0;
    }
}

/* Whether whole runs of columns go by the tiles of matrix instructions. */
static bool is_wide(const job *j)
{
    return j->g->w->type == PL_Q8_0 && j->columns >= WIDE_COLUMNS;
}

/* Blocks b0 .. b0 + blocks - 1 of a tap for all columns of the job. */
static void sweep_int8(const job *j, int8_tile t, int tap, int b0, ahead next)
{
    const pl_gemm *g = j->g;
    const int8_function *row = int8_tiles_of(g->w->type)[j->panels / 2];
    for (int c = 0, n; c < j->columns; c += n) {
        bool wide = is_wide(j) && j->columns - c >= WIDE_COLUMNS;
        n = wide ? WIDE_COLUMNS : j->columns - c < j->step ? j->columns - c : j->step;
        int64_t at = (j->column + c + (int64_t)tap * g->tap_rows) * t.column_blocks + b0;
        t.q = g->q8->q + at * BLOCK;
        t.x_scale = g->q8->scale + at;
        t.x_sum = g->q8->sum + at;
        t.x_half = g->q8->half ? g->q8->half + at : NULL;
        t.acc = j->acc + c * ACC_STRIDE;
        if (next.bytes)
            prefetch_part(j, next, c, n);
        if (wide)
            wide_walk(&t, j->panels);
        else
            row[n - 1](&t);
    }
}

static void multiply_int8(const job *j)
{
    const pl_gemm *g = j->g;
    const pl_matrix *m = g->w;
    const uint8_t *panel = m->data + (size_t)j->panel * m->panel_bytes;
    int blocks = g->width / BLOCK, chunk = j->columns <= j->step ? blocks : INT8_BLOCKS;
    size_t block_bytes = (size_t)pl_form_of(m->type).quants;
    int8_tile t = {.w = panel,
                   .scales = pl_panel_scales(m, panel, 0),
                   .super = pl_panel_super(m, panel, 0),
                   .w_stride = m->panel_bytes,
                   .column_blocks = blocks};
    if (is_wide(j))
        wide_begin();
    for (int tap = 0; tap < g->taps; tap++)
        for (int b = 0; b < blocks; b += t.blocks) {
            t.blocks = blocks - b < chunk ? blocks - b : chunk;
            sweep_int8(j, t, tap, b, j->columns <= j->step ? (ahead){0} : next_chunk(j, t.w, (size_t)t.blocks * block_bytes));
            t.w += (size_t)t.blocks * block_bytes;
            t.first += t.blocks;
            t.scales += (size_t)t.blocks * PL_PANEL * 2;
        }
    if (is_wide(j))
        wide_end();
}
