/* Matrix products in float32. A tile of P panels by C columns keeps its sums in registers while it walks the inner dimension; sums that have to
 * wait for more of it lie in `acc` as float32, so that parting the walk changes no bit. Weights are read in place when few columns use them, else
 * a chunk of them is unpacked to float32 first and serves all columns from the first-level cache. */
enum {
    BLOCK_QUANTS = BLOCK * PL_PANEL,        /* bytes of a block of Q8_0 */
    ACC_STRIDE = PL_TILE_PANELS * PL_PANEL, /* floats of `acc` from a column to the next */
    COLUMNS = 6,                            /* of the widest tile */
    DEPTH = 128,                            /* inner dimension of a chunk: 32 KiB of float32 at 4 panels */
    AHEAD = 4096                            /* bytes to prefetch ahead in each panel's stream */
};

/* One call of a tile. For Q8_0 `taps` counts runs of whole blocks as well. */
typedef struct tile {
    const uint8_t *w; /* panel p at w + p * w_stride */
    size_t w_stride;
    const uint8_t *scales; /* quantised types: of the first block, panel p at scales + p * scale_stride */
    size_t scale_stride;
    const uint8_t *super; /* few bits: of the panel's block 0, likewise */
    int first;            /* block of the panel that w is */
    const float *x;       /* column c, tap t, k at c * x_stride + t * tap_stride + k */
    int64_t x_stride, tap_stride;
    int taps, width;
    float *acc; /* [C][ACC_STRIDE] */
} tile;

typedef void (*tile_function)(const tile *t);

INLINE vf load_weights(pl_type type, const uint8_t *w, int v)
{
    if (type == PL_F32)
        return vf_load((const float *)(const void *)w + v * LANES);
    return type == PL_F16 ? vf_load_f16(w + v * LANES * 2) : vf_load_bf16(w + v * LANES * 2);
}

INLINE void load_acc(const float *acc, vf sums[][COLUMNS], const int P, const int C)
{
    UNROLL(6)
    for (int c = 0; c < C; c++)
        UNROLL(16)
    for (int i = 0; i < P * PV; i++)
        sums[i][c] = vf_load(acc + c * ACC_STRIDE + i * LANES);
}

INLINE void store_acc(float *acc, vf sums[][COLUMNS], const int P, const int C)
{
    UNROLL(6)
    for (int c = 0; c < C; c++)
        UNROLL(16)
    for (int i = 0; i < P * PV; i++)
        vf_store(acc + c * ACC_STRIDE + i * LANES, sums[i][c]);
}

/* One step of the inner dimension: weights already in registers. */
INLINE void step(vf sums[][COLUMNS], const vf *w, const float *const *x, int64_t k, const int P, const int C)
{
    UNROLL(6)
    for (int c = 0; c < C; c++) {
        vf value = vf_set1(x[c][k]);
        UNROLL(16)
        for (int i = 0; i < P * PV; i++)
            sums[i][c] = vf_fma(w[i], value, sums[i][c]);
    }
}

INLINE void dense_step(const uint8_t *w, size_t w_stride, pl_type type, vf sums[][COLUMNS], const float *const *x, int64_t k, const int P,
                       const int C)
{
    vf weights[PL_TILE_PANELS * PV];
    UNROLL(4)
    for (int p = 0; p < P; p++)
        UNROLL(4)
    for (int v = 0; v < PV; v++)
        weights[p * PV + v] = load_weights(type, w + (size_t)p * w_stride, v);
    step(sums, weights, x, k, P, C);
}

/* Asks for the lines that come AHEAD bytes behind `bytes` bytes at w; behind the end of a panel comes the same panel of the next tile. */
INLINE void prefetch_panels(const tile *t, const uint8_t *w, size_t bytes, const int P)
{
    size_t at = (size_t)(w - t->w) + AHEAD;
    uintptr_t start = (uintptr_t)t->w + at + (at >= t->w_stride ? (size_t)(P - 1) * t->w_stride : 0); /* running past the end is harmless */
    UNROLL(4)
    for (int p = 0; p < P; p++)
        UNROLL(4)
    for (size_t line = 0; line < bytes; line += 64)
        __builtin_prefetch((const void *)(start + (size_t)p * t->w_stride + line));
}

SPECIAL void dense_tile(const tile *t, pl_type type, const int P, const int C)
{
    const size_t step_bytes = PL_PANEL * (type == PL_F32 ? 4 : 2);
    vf sums[PL_TILE_PANELS * PV][COLUMNS];
    const uint8_t *w = t->w;
    load_acc(t->acc, sums, P, C);
    for (int tap = 0; tap < t->taps; tap++) {
        const float *x[COLUMNS];
        UNROLL(6)
        for (int c = 0; c < C; c++)
            x[c] = t->x + c * t->x_stride + tap * t->tap_stride;
        int64_t k = 0;
        for (; k + 4 <= t->width; k += 4, w += 4 * step_bytes) {
            if (C <= 2)
                prefetch_panels(t, w, 4 * step_bytes, P);
            UNROLL(4)
            for (int u = 0; u < 4; u++)
                dense_step(w + (size_t)u * step_bytes, t->w_stride, type, sums, x, k + u, P, C);
        }
        for (; k < t->width; k++, w += step_bytes)
            dense_step(w, t->w_stride, type, sums, x, k, P, C);
    }
    store_acc(t->acc, sums, P, C);
}

/* ------------------------------------------------------------------ Q8_0 in float32 */

/* Quants of four k and 16 rows: those of k = j as floats. */
INLINE vf quants_of(const uint8_t *q, int j, int v)
{
    return byte_of(vi_load(q + v * LANES * 4), j, 128.0f);
}

/* One block of 32 into block sums: quants in place, or unpacked to float32. */
INLINE void block_sums(const tile *t, const uint8_t *w, const bool unpacked, vf sums[][COLUMNS], const float *const *x, int64_t k, const int P,
                       const int C)
{
    for (int four = 0; four < BLOCK / 4; four++) {
        if (C <= 2 && !unpacked)
            prefetch_panels(t, w + four * 64, 64, P);
        UNROLL(4)
        for (int j = 0; j < 4; j++) {
            vf weights[PL_TILE_PANELS * PV];
            UNROLL(4)
            for (int p = 0; p < P; p++)
                UNROLL(4)
            for (int v = 0; v < PV; v++)
                weights[p * PV + v] =
                    unpacked ? vf_load((const float *)(const void *)(w + (size_t)p * t->w_stride) + (four * 4 + j) * PL_PANEL + v * LANES)
                             : quants_of(w + (size_t)p * t->w_stride + four * 64, j, v);
            step(sums, weights, x, k + four * 4 + j, P, C);
        }
    }
}

/* acc += scale of the row * sum of the block */
INLINE void add_block(const tile *t, size_t block, vf sums[][COLUMNS], const int P, const int C)
{
    UNROLL(16)
    for (int i = 0; i < P * PV; i++) {
        vf scale = vf_load_f16(t->scales + (size_t)(i / PV) * t->scale_stride + block * PL_PANEL * 2 + (size_t)(i % PV * LANES * 2));
        UNROLL(6)
        for (int c = 0; c < C; c++) {
            float *acc = t->acc + c * ACC_STRIDE + i * LANES;
            vf_store(acc, vf_fma(scale, sums[i][c], vf_load(acc)));
        }
    }
}

SPECIAL void q8_tile(const tile *t, const bool unpacked, const int P, const int C)
{
    const uint8_t *w = t->w;
    size_t block = 0;
    for (int tap = 0; tap < t->taps; tap++) {
        const float *x[COLUMNS];
        UNROLL(6)
        for (int c = 0; c < C; c++)
            x[c] = t->x + c * t->x_stride + tap * t->tap_stride;
        for (int64_t k = 0; k < t->width; k += BLOCK, block++, w += BLOCK_QUANTS * (unpacked ? 4 : 1)) {
            vf sums[PL_TILE_PANELS * PV][COLUMNS];
            UNROLL(16)
            for (int i = 0; i < P * PV; i++)
                UNROLL(6)
            for (int c = 0; c < C; c++)
                sums[i][c] = vf_set1(0.0f);
            block_sums(t, w, unpacked, sums, x, k, P, C);
            add_block(t, block, sums, P, C);
        }
    }
}

/* ------------------------------------------------------------------ few bits in float32 */

/* Four columns of the inner dimension. */
INLINE void few_step(const tile *t, pl_type type, const uint8_t *w, int block, int four, vf sums[][COLUMNS], const float *const *x, int64_t k,
                     const int P, const int C)
{
    size_t super = (size_t)((t->first + block) / PL_Q_SUPER) * (size_t)pl_form_of(type).super;
    vf factor[PL_TILE_PANELS * PV], low[PL_TILE_PANELS * PV], weights[PL_TILE_PANELS * PV];
    s_bytes bytes[PL_TILE_PANELS];
    UNROLL(16)
    for (int i = 0; i < P * PV; i++) {
        block_scales s = {t->scales + (size_t)(i / PV) * t->scale_stride + (size_t)block * PL_Q_SCALES,
                          t->super + (size_t)(i / PV) * t->scale_stride + super};
        factor[i] = few_factor(type, s, four / 4, i % PV);
        low[i] = few_has_low(type) ? few_low(s, i % PV) : vf_set1(0.0f);
    }
    UNROLL(4)
    for (int p = 0; p < P; p++)
        bytes[p] = few_bits(type, w + (size_t)p * t->w_stride, four);
    UNROLL(4)
    for (int j = 0; j < 4; j++) {
        UNROLL(16)
        for (int i = 0; i < P * PV; i++)
            weights[i] = few_value(type, bytes[i / PV], j, i % PV, factor[i], low[i]);
        step(sums, weights, x, k + four * 4 + j, P, C);
    }
}

SPECIAL void few_tile(const tile *t, pl_type type, const int P, const int C)
{
    vf sums[PL_TILE_PANELS * PV][COLUMNS];
    const uint8_t *w = t->w;
    int block = 0;
    load_acc(t->acc, sums, P, C);
    for (int tap = 0; tap < t->taps; tap++) {
        const float *x[COLUMNS];
        UNROLL(6)
        for (int c = 0; c < C; c++)
            x[c] = t->x + c * t->x_stride + tap * t->tap_stride;
        for (int64_t k = 0; k < t->width; k += BLOCK, block++, w += pl_form_of(type).quants)
            UNROLL(8)
        for (int four = 0; four < BLOCK / 4; four++)
            few_step(t, type, w, block, four, sums, x, k, P, C);
    }
    store_acc(t->acc, sums, P, C);
}

/* ------------------------------------------------------------------ tables of tiles */

/* Most panels and columns of a tile that reads weights in place. Those of few bits need registers for their scales too, and where registers are few
 * it is quicker to unpack them first (FEW_COLUMNS of the level). */
enum { dense_tile_panels = PL_TILE_PANELS, q8_tile_panels = PL_TILE_PANELS, few_tile_panels = 4 / PV };
enum { dense_tile_columns = COLUMNS, q8_tile_columns = COLUMNS, few_tile_columns = FEW_COLUMNS };

/* By log2(panels) and columns - 1. */
typedef tile_function tile_table[3][COLUMNS];
typedef struct float_tiles {
    tile_table f32, f16, bf16, q8, q8_unpacked, q4_0, q4_k, q5_k, q6_k;
} float_tiles;

#define TILE_NAMES(name, P)                                                                            \
    {                                                                                                  \
        name##_##P##x1, name##_##P##x2, name##_##P##x3, name##_##P##x4, name##_##P##x5, name##_##P##x6 \
    }
#define TILE_TABLE(name)                                              \
    {                                                                 \
        TILE_NAMES(name, 1), TILE_NAMES(name, 2), TILE_NAMES(name, 4) \
    }

/* Levels of the same float32 arithmetic share the tiles that one of them compiles (OWN_FLOAT_TILES): they are most of what there is to compile. */
extern const float_tiles FLOAT_TILES;
#ifdef OWN_FLOAT_TILES

/* A tile exists where its sums fit the registers; the others are never asked for. */
#define TILE(name, body, arg, P, C)                                             \
    static void name##_##P##x##C(const tile *t)                                 \
    {                                                                           \
        if (P * PV * C <= ACC_MAX && P <= body##_panels && C <= body##_columns) \
            body(t, arg, P, C);                                                 \
    }
#define TILE_ROW(name, body, arg, P) \
    TILE(name, body, arg, P, 1)      \
    TILE(name, body, arg, P, 2)      \
    TILE(name, body, arg, P, 3)      \
    TILE(name, body, arg, P, 4)      \
    TILE(name, body, arg, P, 5)      \
    TILE(name, body, arg, P, 6)
#define TILES(name, body, arg)   \
    TILE_ROW(name, body, arg, 1) \
    TILE_ROW(name, body, arg, 2) \
    TILE_ROW(name, body, arg, 4)

TILES(tiles_f32, dense_tile, PL_F32)
TILES(tiles_f16, dense_tile, PL_F16)
TILES(tiles_bf16, dense_tile, PL_BF16)
TILES(tiles_q8, q8_tile, false)
TILES(tiles_q8_unpacked, q8_tile, true)
TILES(tiles_q4_0, few_tile, PL_Q4_0)
TILES(tiles_q4_k, few_tile, PL_Q4_K)
TILES(tiles_q5_k, few_tile, PL_Q5_K)
TILES(tiles_q6_k, few_tile, PL_Q6_K)

const float_tiles FLOAT_TILES = {
    .f32 = TILE_TABLE(tiles_f32),
    .f16 = TILE_TABLE(tiles_f16),
    .bf16 = TILE_TABLE(tiles_bf16),
    .q8 = TILE_TABLE(tiles_q8),
    .q8_unpacked = TILE_TABLE(tiles_q8_unpacked),
    .q4_0 = TILE_TABLE(tiles_q4_0),
    .q4_k = TILE_TABLE(tiles_q4_k),
    .q5_k = TILE_TABLE(tiles_q5_k),
    .q6_k = TILE_TABLE(tiles_q6_k),
};
#endif

/* ------------------------------------------------------------------ unpacking */

static void unpack_dense(pl_type type, const uint8_t *w, int depth, float *out)
{
    for (int k = 0; k < depth; k++)
        for (int v = 0; v < PV; v++)
            vf_store(out + k * PL_PANEL + v * LANES, load_weights(type, w + (size_t)k * PL_PANEL * 2, v));
}

static void unpack_quants(const uint8_t *w, int depth, float *out)
{
    for (int k = 0; k < depth; k += 4)
        for (int v = 0; v < PV; v++) {
            const uint8_t *q = w + k / 4 * 64;
            vf_store(out + k * PL_PANEL + v * LANES, quants_of(q, 0, v));
            vf_store(out + (k + 1) * PL_PANEL + v * LANES, quants_of(q, 1, v));
            vf_store(out + (k + 2) * PL_PANEL + v * LANES, quants_of(q, 2, v));
            vf_store(out + (k + 3) * PL_PANEL + v * LANES, quants_of(q, 3, v));
        }
}

/* Rows of blocks; rows from `rows` on do not exist and count as zeros. */
static void unpack_blocks(const pl_matrix *m, const uint8_t *panel, int rows, int k0, int depth, float *out)
{
    float row[PL_PANEL][PL_TILE_DEPTH];
    for (int r = 0; r < PL_PANEL; r++)
        if (r < rows)
            read_blocks(m->type, panel + (size_t)r * (m->panel_bytes / PL_PANEL) + pl_row_bytes(m->type, k0), depth, row[r]);
        else
            memset(row[r], 0, sizeof row[r]);
    for (int k = 0; k < depth; k += 4) /* blocks hold 32 or 256 */
        vf_transpose_4(&row[0][k], PL_TILE_DEPTH, out + k * PL_PANEL);
}

/* Columns k0 .. k0 + depth - 1 of `count` panels to float32 [count][depth][16]. */
static void unpack(const pl_matrix *m, int first, int count, int k0, int depth, float *out)
{
    for (int p = 0; p < count; p++, out += (size_t)depth * PL_PANEL) {
        const uint8_t *panel = m->data + (size_t)(first + p) * m->panel_bytes;
        if (m->type == PL_Q8_0)
            unpack_quants(panel + (size_t)k0 * PL_PANEL, depth, out);
        else if (pl_type_takes_int8(m->type))
            unpack_few(m, panel, k0, depth, out);
        else if (pl_type_is_packed(m->type))
            unpack_dense(m->type, panel + (size_t)k0 * PL_PANEL * 2, depth, out);
        else
            unpack_blocks(m, panel, m->rows - (first + p) * PL_PANEL, k0, depth, out);
    }
}

/* ------------------------------------------------------------------ a block of panels by columns */

static bool is_few(pl_type type)
{
    return pl_type_takes_int8(type) && type != PL_Q8_0;
}

/* Whether the float32 tiles read the weights where they are. */
static bool is_in_place(pl_type type, int columns)
{
    if (type == PL_F32)
        return true;
    return pl_type_is_packed(type) && columns <= (is_few(type) ? few_tile_columns : COLUMNS);
}

static const tile_function (*tiles_of(pl_type type, bool unpacked))[COLUMNS]
{
    switch (type) {
    case PL_F16: return unpacked ? FLOAT_TILES.f32 : FLOAT_TILES.f16;
    case PL_BF16: return unpacked ? FLOAT_TILES.f32 : FLOAT_TILES.bf16;
    case PL_Q8_0: return unpacked ? FLOAT_TILES.q8_unpacked : FLOAT_TILES.q8;
    case PL_Q4_0: return unpacked ? FLOAT_TILES.f32 : FLOAT_TILES.q4_0;
    case PL_Q4_K: return unpacked ? FLOAT_TILES.f32 : FLOAT_TILES.q4_k;
    case PL_Q5_K: return unpacked ? FLOAT_TILES.f32 : FLOAT_TILES.q5_k;
    case PL_Q6_K: return unpacked ? FLOAT_TILES.f32 : FLOAT_TILES.q6_k;
    default: return FLOAT_TILES.f32;
    }
}

/* What one call of gemm works on now. */
typedef struct job {
    const pl_gemm *g;
    bool int8;
    int panel, panels;    /* first and number of a tile: 1, 2 or 4 */
    int last, next;       /* panel behind those of the call; pl_gemm's next */
    int most;             /* panels of a tile */
    int column, columns;  /* first and number */
    int step;             /* columns of a tile */
    float *acc, *weights; /* parts of the scratch */
} job;

/* The weights that the next chunk will read: `bytes` of each panel. They are fetched to the second-level cache bit by bit, between tiles. */
typedef struct ahead {
    const uint8_t *w;
    size_t stride, bytes;
} ahead;

static void prefetch_part(const job *j, ahead a, int column, int count)
{
    size_t lines = a.bytes / 64, columns = (size_t)j->columns;
    for (int p = 0; p < j->panels; p++)
        for (size_t i = lines * (size_t)column / columns; i < lines * (size_t)(column + count) / columns; i++)
            __builtin_prefetch((const void *)((uintptr_t)a.w + (size_t)p * a.stride + i * 64), 0, 2);
}

/* The chunk of `bytes` a panel behind `w`, of these panels or of those that come next. */
static ahead next_chunk(const job *j, const uint8_t *w, size_t bytes)
{
    const pl_matrix *m = j->g->w;
    const uint8_t *panel = m->data + (size_t)j->panel * m->panel_bytes;
    size_t at = (size_t)(w - panel) + bytes;
    bool same = at + bytes <= m->panel_bytes;
    int behind = j->panel + j->panels;
    if (behind == j->last)
        behind += j->next;
    ahead next = {.w = same ? panel + at : m->data + (size_t)behind * m->panel_bytes, .stride = m->panel_bytes, .bytes = bytes};
    if (!same && behind + j->panels > pl_panels(m))
        next.bytes = 0;
    return next;
}

/* All columns of a chunk, by tiles. */
static void sweep(const job *j, tile t, const tile_function *row, ahead next)
{
    for (int c = 0; c < j->columns; c += j->step) {
        int n = j->columns - c < j->step ? j->columns - c : j->step;
        if (next.bytes)
            prefetch_part(j, next, c, n);
        row[n - 1](&t);
        t.x += n * t.x_stride;
        t.acc += n * ACC_STRIDE;
    }
}

/* Weights k0 .. k0 + depth - 1, which may begin and end inside a tap: whole taps in one walk, pieces of taps one by one. */
static void sweep_taps(const job *j, tile t, int k0, int depth, size_t column_bytes, const tile_function *row, ahead next)
{
    const pl_gemm *g = j->g;
    for (int k = k0; k < k0 + depth;) {
        int tap = k / g->width, at = k % g->width, left = k0 + depth - k;
        t.taps = at == 0 && left >= g->width ? left / g->width : 1;
        t.width = at == 0 && left >= g->width ? g->width : g->width - at < left ? g->width - at : left;
        t.x = g->x + j->column * g->x_stride + tap * g->tap_stride + at;
        sweep(j, t, row, next);
        next.bytes = 0;
        k += t.taps * t.width;
        t.w += (size_t)(t.taps * t.width) * column_bytes;
        if (t.scales)
            t.scales += (size_t)(t.taps * t.width / BLOCK) * PL_Q_SCALES;
        t.first += t.taps * t.width / BLOCK;
    }
}

/* Chunks end where taps end if several taps fit one, and where blocks of rows end. */
static int chunk_depth(const pl_gemm *g)
{
    if (!pl_type_is_packed(g->w->type))
        return PL_TILE_DEPTH;
    return g->width < DEPTH ? DEPTH / g->width * g->width : DEPTH;
}

static void multiply(const job *j)
{
    const pl_gemm *g = j->g;
    const pl_matrix *m = g->w;
    bool packed = pl_type_is_packed(m->type), in_place = is_in_place(m->type, j->columns);
    int depth = in_place && j->columns <= COLUMNS ? m->cols : chunk_depth(g);
    const tile_function *row = tiles_of(m->type, !in_place)[j->panels / 2];
    const uint8_t *panel = m->data + (size_t)j->panel * m->panel_bytes;
    bool quantised = pl_type_takes_int8(m->type);
    size_t in_place_bytes = quantised ? (size_t)(pl_form_of(m->type).quants / BLOCK) : PL_PANEL * (m->type == PL_F32 ? 4 : 2);
    tile t = {.x_stride = g->x_stride, .tap_stride = g->tap_stride, .scale_stride = m->panel_bytes, .acc = j->acc};
    for (int k0 = 0; k0 < m->cols; k0 += depth) {
        int n = m->cols - k0 < depth ? m->cols - k0 : depth;
        t.w = in_place ? panel + (size_t)k0 * in_place_bytes : (const uint8_t *)j->weights;
        t.w_stride = in_place ? m->panel_bytes : (size_t)n * PL_PANEL * sizeof(float);
        if (quantised) {
            t.scales = pl_panel_scales(m, panel, k0 / BLOCK);
            t.super = pl_panel_super(m, panel, 0);
            t.first = k0 / BLOCK;
        }
        if (!in_place)
            unpack(m, j->panel, j->panels, k0, n, j->weights);
        ahead next = {0};
        if (packed && n < m->cols)
            next = next_chunk(j, panel + (size_t)k0 * in_place_bytes, (size_t)n * in_place_bytes);
        sweep_taps(j, t, k0, n, in_place ? in_place_bytes : PL_PANEL * sizeof(float), row, next);
    }
}
