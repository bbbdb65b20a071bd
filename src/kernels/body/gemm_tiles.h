/* Q8_0 weights times 8-bit activations of 16 columns in AMX tiles. A block of a panel is a right operand as it lies: 8 rows of four k of 16 outputs.
 * The integer sums are those of the other tiles, and so is the float32 arithmetic behind them: the bits do not show which one ran. */
enum { WIDE_COLUMNS = 16, TILE_ROW = 64 /* bytes of a tile's row */ };

/* Tile 0: 32 activations of 16 columns; 1: weights of a block; 2 to 5: sums of 4 panels, a row a column. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static void wide_begin(void)
{
    const tile_config config = {.palette = 1, .row_bytes = {BLOCK, 64, 64, 64, 64, 64}, .rows = {WIDE_COLUMNS, BLOCK / 4, 16, 16, 16, 16}};
    __asm__ volatile("" ::"r"(&config) : "memory"); /* gcc 12 believes that the intrinsic reads the first bytes alone */
    TILE_CONFIG(&config);
}

static void wide_end(void)
{
    TILE_RELEASE();
}

/* One block of `panels` panels into sums[panel][column][row]. Numbers of tiles must be literals. */
INLINE void wide_block(const int8_tile *t, int panels, int b, int32_t sums[][WIDE_COLUMNS][PL_PANEL])
{
    const uint8_t *w = t->w + (size_t)b * BLOCK_QUANTS;
    TILE_LOAD(0, t->q + (int64_t)b * BLOCK, t->column_blocks * BLOCK);
#define WIDE_PANEL(p, tile)                                  \
    if (p < panels) {                                        \
        TILE_ZERO(tile);                                     \
        TILE_LOAD(1, w + (size_t)p * t->w_stride, TILE_ROW); \
        TILE_DOT(tile, 0, 1);                                \
        TILE_STORE(tile, sums[p], TILE_ROW);                 \
    }
    WIDE_PANEL(0, 2)
    WIDE_PANEL(1, 3)
    WIDE_PANEL(2, 4)
    WIDE_PANEL(3, 5)
#undef WIDE_PANEL
}

INLINE void wide_add_block(const int8_tile *t, int panels, int b, int32_t sums[][WIDE_COLUMNS][PL_PANEL])
{
    for (int p = 0; p < panels; p++) {
        vf scale = vf_load_f16(t->scales + (size_t)p * t->w_stride + (size_t)b * PL_Q_SCALES);
        for (int c = 0; c < WIDE_COLUMNS; c++) {
            int64_t at = b + c * t->column_blocks;
            float *acc = t->acc + c * ACC_STRIDE + p * PL_PANEL;
            vi sum = vi_add(vi_load(sums[p][c]), vi_set1(-t->x_sum[at]));
            vf_store(acc, vf_fma(vf_mul(scale, vf_set1(t->x_scale[at])), vf_of_int(sum), vf_load(acc)));
        }
    }
}

/* Two sets of sums, so that the tiles of a block need not wait for the float32 arithmetic of the one before. */
static void wide_walk(const int8_tile *t, int panels)
{
    int32_t sums[2][PL_TILE_PANELS][WIDE_COLUMNS][PL_PANEL] __attribute__((aligned(64)));
    for (int b = 0; b < t->blocks; b++) {
        wide_block(t, panels, b, sums[b % 2]);
        wide_add_block(t, panels, b, sums[b % 2]);
    }
}
