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

/* Integer sums of one block; `at` is the block of column 0. They start with what takes the weights' offset of 128 off again. */
INLINE void int8_block(const int8_tile *t, const uint8_t *w, int64_t at, q_acc sums[][COLUMNS], const int P, const int C)
{
    UNROLL(6)
    for (int c = 0; c < C; c++)
        UNROLL(4)
    for (int p = 0; p < P; p++)
        sums[p][c] = q_start(t->x_sum[at + c * t->column_blocks]);
    UNROLL(8)
    for (int four = 0; four < BLOCK / 4; four++)
        UNROLL(6)
    for (int c = 0; c < C; c++) {
        q_in x = q_input(t->q + (at + c * t->column_blocks) * BLOCK + four * 4);
        UNROLL(4)
        for (int p = 0; p < P; p++)
            sums[p][c] = q_dot(sums[p][c], w + (size_t)p * t->w_stride + four * 64, x);
    }
}

/* acc += (scale of the row * scale of the input) * sum */
INLINE void int8_add_block(const int8_tile *t, size_t block, int64_t at, q_acc sums[][COLUMNS], const int P, const int C)
{
    UNROLL(4)
    for (int p = 0; p < P; p++)
        UNROLL(4)
    for (int v = 0; v < PV; v++) {
        vf scale = vf_load_f16(t->scales + (size_t)p * t->w_stride + block * PL_PANEL * 2 + (size_t)(v * LANES * 2));
        UNROLL(6)
        for (int c = 0; c < C; c++) {
            float *acc = t->acc + c * ACC_STRIDE + p * PL_PANEL + v * LANES;
            vf both = vf_mul(scale, vf_set1(t->x_scale[at + c * t->column_blocks]));
            vf_store(acc, vf_fma(both, q_rows(sums[p][c], v), vf_load(acc)));
        }
    }
}

SPECIAL void int8_walk(const int8_tile *t, const int P, const int C)
{
    const uint8_t *w = t->w;
    for (int b = 0; b < t->blocks; b++, w += BLOCK_QUANTS) {
        q_acc sums[PL_TILE_PANELS][COLUMNS];
        int8_block(t, w, b, sums, P, C);
        int8_add_block(t, (size_t)b, b, sums, P, C);
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

/* A tile exists where its sums fit the registers. */
#define INT8_TILE(P, C)                                           \
    static void int8_##P##x##C(const int8_tile *t)                \
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
#define INT8_ROW(P) INT8_TILE(P, 1) INT8_TILE(P, 2) INT8_TILE(P, 3) INT8_TILE(P, 4) INT8_TILE(P, 5) INT8_TILE(P, 6)
#define FEW_ROW(name, type, P) \
    FEW_TILE(name, type, P, 1) \
    FEW_TILE(name, type, P, 2) \
    FEW_TILE(name, type, P, 3) FEW_TILE(name, type, P, 4) FEW_TILE(name, type, P, 5) FEW_TILE(name, type, P, 6)
#define FEW_TILES(name, type) \
    FEW_ROW(name, type, 1)    \
    FEW_ROW(name, type, 2)    \
    FEW_ROW(name, type, 4)    \
    static const int8_function name[3][COLUMNS] = {TILE_NAMES(name, 1), TILE_NAMES(name, 2), TILE_NAMES(name, 4)};
INT8_ROW(1)
INT8_ROW(2)
INT8_ROW(4)
static const int8_function tiles_int8[3][COLUMNS] = {TILE_NAMES(int8, 1), TILE_NAMES(int8, 2), TILE_NAMES(int8, 4)};
FEW_TILES(int8_q4_0, PL_Q4_0)
FEW_TILES(int8_q4_k, PL_Q4_K)
FEW_TILES(int8_q5_k, PL_Q5_K)
FEW_TILES(int8_q6_k, PL_Q6_K)

static const int8_function (*int8_tiles_of(pl_type type))[COLUMNS]
{
    switch (type) {
    case PL_Q4_0: return int8_q4_0;
    case PL_Q4_K: return int8_q4_k;
    case PL_Q5_K: return int8_q5_k;
    case PL_Q6_K: return int8_q6_k;
    default: return tiles_int8;
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

/* ------------------------------------------------------------------ the operation */

/* Panels of a tile for that many columns: as many as the registers hold, for latency when columns are few. */
static int tile_panels(int columns, int most)
{
    int panels = most;
    while (panels > 1 && panels * PV * columns > ACC_MAX)
        panels /= 2;
    return panels;
}

static void gemm(const pl_gemm *g, int first, int last, int c0, int c1, void *scratch)
{
    bool int8 = g->q8 != NULL && pl_type_takes_int8(g->w->type), few = pl_type_takes_int8(g->w->type) && g->w->type != PL_Q8_0;
    int widest = !int8 ? COLUMNS : few ? S_COLUMNS : Q_COLUMNS, step_columns = c1 - c0 < widest ? c1 - c0 : widest;
    int most = tile_panels(step_columns, few && c1 - c0 <= COLUMNS ? few_tile_panels : PL_TILE_PANELS);
    if (int8)
        most = few ? (step_columns == 1 ? S_ALONE : S_PANELS) : step_columns == 1 ? Q_ALONE : Q_PANELS;
    job j = {.g = g, .step = step_columns, .acc = scratch, .weights = (float *)scratch + PL_TILE_COLUMNS * ACC_STRIDE};
    for (j.panel = first; j.panel < last; j.panel += j.panels) {
        j.panels = most;
        while (j.panels > last - j.panel)
            j.panels /= 2;
        for (j.column = c0; j.column < c1; j.column += j.columns) {
            j.columns = c1 - j.column < PL_TILE_COLUMNS ? c1 - j.column : PL_TILE_COLUMNS;
            memset(j.acc, 0, sizeof(float) * (size_t)j.columns * ACC_STRIDE);
            if (int8)
                multiply_int8(&j);
            else
                multiply(&j);
            finish(&j);
        }
    }
}
