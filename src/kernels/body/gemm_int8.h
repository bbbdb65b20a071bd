/* Q8_0 weights times 8-bit activations: integer sums inside a block (exact), float32 across blocks. */

enum { INT8_BLOCKS = 16 }; /* of a chunk: 32 KiB of weights at 4 panels */

/* The blocks of one call, all of one tap. */
typedef struct int8_tile {
    const uint8_t *w, *scales; /* panel p of both w_stride further */
    size_t w_stride;
    const int8_t *q; /* column c at block c * column_blocks of q, x_scale and x_sum */
    const float *x_scale;
    const int32_t *x_sum;
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

#define INT8_TILE(P, C)                                           \
    static void int8_##P##x##C(const int8_tile *t)                \
    {                                                             \
        if (P <= (C == 1 ? Q_ALONE : Q_PANELS) && C <= Q_COLUMNS) \
            int8_walk(t, P, C);                                   \
    }
#define INT8_ROW(P) INT8_TILE(P, 1) INT8_TILE(P, 2) INT8_TILE(P, 3) INT8_TILE(P, 4) INT8_TILE(P, 5) INT8_TILE(P, 6)
INT8_ROW(1)
INT8_ROW(2)
INT8_ROW(4)
static const int8_function tiles_int8[3][COLUMNS] = {TILE_NAMES(int8, 1), TILE_NAMES(int8, 2), TILE_NAMES(int8, 4)};

/* Blocks b0 .. b0 + blocks - 1 of a tap for all columns of the job. */
static void sweep_int8(const job *j, int8_tile t, int tap, int b0, ahead next)
{
    const pl_gemm *g = j->g;
    const int8_function *row = tiles_int8[j->panels / 2];
    for (int c = 0; c < j->columns; c += j->step) {
        int n = j->columns - c < j->step ? j->columns - c : j->step;
        int64_t at = (j->column + c + (int64_t)tap * g->tap_rows) * t.column_blocks + b0;
        t.q = g->q8->q + at * BLOCK;
        t.x_scale = g->q8->scale + at;
        t.x_sum = g->q8->sum + at;
        t.acc = j->acc + c * ACC_STRIDE;
        if (next.bytes)
            prefetch_part(j, next, c);
        row[n - 1](&t);
    }
}

static void multiply_int8(const job *j)
{
    const pl_gemm *g = j->g;
    const pl_matrix *m = g->w;
    const uint8_t *panel = m->data + (size_t)j->panel * m->panel_bytes;
    int blocks = g->width / BLOCK, chunk = j->columns <= j->step ? blocks : INT8_BLOCKS;
    int8_tile t = {.w = panel, .scales = panel + (size_t)m->cols * PL_PANEL, .w_stride = m->panel_bytes, .column_blocks = blocks};
    for (int tap = 0; tap < g->taps; tap++)
        for (int b = 0; b < blocks; b += t.blocks) {
            t.blocks = blocks - b < chunk ? blocks - b : chunk;
            sweep_int8(j, t, tap, b, j->columns <= j->step ? (ahead){0} : next_chunk(j, t.w, (size_t)t.blocks * BLOCK_QUANTS));
            t.w += (size_t)t.blocks * BLOCK_QUANTS;
            t.scales += (size_t)t.blocks * PL_PANEL * 2;
        }
}

/* ------------------------------------------------------------------ the operation */

/* Panels of a tile for that many columns: as many as the registers hold, for latency when columns are few. */
static int tile_panels(int columns, int vectors, int most)
{
    int panels = PL_TILE_PANELS;
    while (panels > 1 && (panels > most || panels * vectors * columns > ACC_MAX))
        panels /= 2;
    return panels;
}

static void gemm(const pl_gemm *g, int first, int last, int c0, int c1, void *scratch)
{
    bool int8 = g->q8 != NULL && g->w->type == PL_Q8_0;
    int widest = int8 ? Q_COLUMNS : COLUMNS, step_columns = c1 - c0 < widest ? c1 - c0 : widest;
    int most = int8 ? (step_columns == 1 ? Q_ALONE : Q_PANELS) : tile_panels(step_columns, PV, PL_TILE_PANELS);
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
