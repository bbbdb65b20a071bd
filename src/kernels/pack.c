#include "kernels/panels.h"

#include <math.h>
#include <string.h>

enum { BLOCK = PL_Q_BLOCK, ALIGN = 64 };

bool pl_type_takes_int8(pl_type type)
{
    return pl_form_of(type).quants > 0;
}

bool pl_type_is_packed(pl_type type)
{
    return type == PL_F32 || type == PL_F16 || type == PL_BF16 || pl_type_takes_int8(type);
}

size_t pl_panel_bytes(pl_type type, int cols)
{
    if (!pl_type_takes_int8(type))
        return PL_PANEL * pl_row_bytes(type, cols);
    pl_panel_form form = pl_form_of(type);
    size_t blocks = (size_t)cols / BLOCK;
    size_t bytes = blocks * (size_t)(form.quants + PL_Q_SCALES) + blocks / PL_Q_SUPER * (size_t)form.super;
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Where the rows of one panel start in the source, in elements; rows from `count` on are padding. */
typedef struct panel_rows {
    int64_t start[PL_PANEL];
    int count;
} panel_rows;

static panel_rows rows_of_panel(const pl_matrix *m, const pl_pack_map *map, int panel)
{
    panel_rows rows = {.count = 0};
    for (int row = panel * PL_PANEL; rows.count < PL_PANEL && row < m->rows; row++)
        rows.start[rows.count++] = map->base + row / map->outer * map->stride_j + row % map->outer * map->stride_o;
    return rows;
}

/* Sources may lie at any address. A `word` of the source becomes an `element` of the panel. */
#define PACK_ELEMENTS(name, word, element, convert)                                                       \
    static void name(element *out, const uint8_t *source, const pl_pack_map *map, const panel_rows *rows) \
    {                                                                                                     \
        for (int t = 0; t < map->taps; t++)                                                               \
            for (int c = 0; c < map->width; c++, out += PL_PANEL) {                                       \
                int64_t column = t * map->stride_tap + c * map->stride_c;                                 \
                for (int r = 0; r < PL_PANEL; r++) {                                                      \
                    word w = 0;                                                                           \
                    if (r < rows->count)                                                                  \
                        memcpy(&w, source + (rows->start[r] + column) * (int64_t)sizeof w, sizeof w);     \
                    out[r] = convert(w);                                                                  \
                }                                                                                         \
            }                                                                                             \
    }
#define AS_IT_IS(w) (w)

static float float_of_bf16(uint16_t w)
{
    uint32_t bits = (uint32_t)w << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

PACK_ELEMENTS(pack_words16, uint16_t, uint16_t, AS_IT_IS)
PACK_ELEMENTS(pack_words32, uint32_t, uint32_t, AS_IT_IS)
PACK_ELEMENTS(pack_halves, uint16_t, float, pl_half_to_float)
PACK_ELEMENTS(pack_bf16, uint16_t, float, float_of_bf16)

/* Squared error of a block's values as multiples of `scale`, which go to q. Loops in a shape that compilers turn into vectors. */
static float try_scale(const float *values, float scale, int32_t *q)
{
    float inverse = 1.0f / scale, sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < BLOCK; k++) {
        float x = values[k] * inverse;
        x = x < -127.0f ? -127.0f : x > 127.0f ? 127.0f : x;
        q[k] = (int32_t)(x + (x < 0.0f ? -0.5f : 0.5f));
    }
    for (int k = 0; k < BLOCK; k += 4)
        for (int i = 0; i < 4; i++) {
            float rest = values[k + i] - scale * (float)q[k + i];
            sums[i] += rest * rest;
        }
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

enum { SCALES = 12, SMALLEST = 119 }; /* amax / 119 .. amax / 130: the last three clip a little */

static const float least_scale = 0x1p-24f; /* of halves */

/* The largest magnitude; negative when a value is not finite. */
static float magnitude(const float *values)
{
    float largest = 0.0f;
    for (int k = 0; k < BLOCK; k++) {
        float size = fabsf(values[k]);
        if (!isfinite(size))
            return -1.0f;
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* A q8_0 block with the best of a few scales: its error is some 0.6 dB below that of amax / 127. Where that scale is no half above 0, or a value not
 * finite, the block is what pl_quantize() makes of it. */
static void round_block(const float *values, uint8_t *block)
{
    float amax = magnitude(values), least = INFINITY;
    pl_quantize(PL_Q8_0, values, BLOCK, block);
    if (amax < 2 * least_scale * (SMALLEST + SCALES) || amax > 65504.0f * SMALLEST)
        return;
    for (int i = 0; i < SCALES; i++) {
        int32_t q[BLOCK];
        uint16_t half = pl_float_to_half(amax / (float)(SMALLEST + i));
        float scale = pl_half_to_float(half);
        float error = try_scale(values, scale, q);
        if (!(error < least))
            continue;
        least = error;
        memcpy(block, &half, sizeof half);
        for (int k = 0; k < BLOCK; k++)
            block[2 + k] = (uint8_t)q[k];
    }
}

/* Elements of any order, rounded to blocks that run along k, as the file's own blocks would be. */
static void quantize_panel(const pl_matrix *matrix, uint8_t *panel, pl_type type, const uint8_t *source, const pl_pack_map *map,
                           const panel_rows *rows)
{
    int blocks_a_tap = map->width / BLOCK, blocks = map->taps * blocks_a_tap;
    size_t size = pl_row_bytes(type, 1);
    pl_clear_panel(matrix, panel, rows->count);
    for (int r = 0; r < rows->count; r++)
        for (int b = 0; b < blocks; b++) {
            float values[BLOCK];
            uint8_t block[2 + BLOCK];
            int64_t at = rows->start[r] + b / blocks_a_tap * map->stride_tap + b % blocks_a_tap * map->stride_c * BLOCK;
            for (int k = 0; k < BLOCK; k++) {
                const uint8_t *element = source + (size_t)(at + k * map->stride_c) * size;
                if (type == PL_F32)
                    memcpy(&values[k], element, sizeof values[k]);
                else
                    pl_dequantize(type, element, 1, &values[k]);
            }
            round_block(values, block);
            pl_pack_block(matrix, panel, b, r, block, 0);
        }
}

void pl_pack(const pl_matrix *matrix, uint8_t *data, pl_type source_type, const void *source, const pl_pack_map *map, int first, int last)
{
    for (int panel = first; panel < last; panel++) {
        uint8_t *out = data + (size_t)panel * matrix->panel_bytes;
        panel_rows rows = rows_of_panel(matrix, map, panel);
        if (matrix->type == PL_Q8_0 && source_type != PL_Q8_0)
            quantize_panel(matrix, out, source_type, source, map, &rows);
        else if (pl_type_takes_int8(matrix->type))
            pl_pack_blocks(matrix, out, source, map, rows.start, rows.count);
        else if (matrix->type != PL_F32)
            pack_words16((void *)out, source, map, &rows);
        else if (source_type == PL_F32)
            pack_words32((void *)out, source, map, &rows);
        else if (source_type == PL_F16)
            pack_halves((void *)out, source, map, &rows);
        else
            pack_bf16((void *)out, source, map, &rows);
    }
}

/* ------------------------------------------------------------------ reading back */

static float element_of(const pl_matrix *m, const uint8_t *panel, int row, int column)
{
    size_t at = (size_t)column * PL_PANEL + (size_t)row;
    if (m->type == PL_F32) {
        float value;
        memcpy(&value, panel + at * sizeof value, sizeof value);
        return value;
    }
    uint16_t word;
    memcpy(&word, panel + at * sizeof word, sizeof word);
    return m->type == PL_F16 ? pl_half_to_float(word) : float_of_bf16(word);
}

static void quantised_row(const pl_matrix *m, const uint8_t *panel, int row, float *out)
{
    for (int b = 0; b < m->cols / BLOCK; b++, out += BLOCK) {
        pl_row_block block;
        pl_read_row_block(m, panel, b, row, &block);
        for (int k = 0; k < BLOCK; k++)
            out[k] = block.scale[k / 16] * (float)block.quants[k] - block.low;
    }
}

void pl_matrix_row(const pl_matrix *matrix, int row, float *out)
{
    const uint8_t *panel = matrix->data + (size_t)(row / PL_PANEL) * matrix->panel_bytes;
    if (!pl_type_is_packed(matrix->type))
        pl_dequantize(matrix->type, matrix->data + (size_t)row * pl_row_bytes(matrix->type, matrix->cols), matrix->cols, out);
    else if (pl_type_takes_int8(matrix->type))
        quantised_row(matrix, panel, row % PL_PANEL, out);
    else
        for (int k = 0; k < matrix->cols; k++)
            out[k] = element_of(matrix, panel, row % PL_PANEL, k);
}
