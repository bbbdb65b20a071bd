#include "kernels/panels.h"

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

void pl_pack(const pl_matrix *matrix, uint8_t *data, pl_type source_type, const void *source, const pl_pack_map *map, int first, int last)
{
    for (int panel = first; panel < last; panel++) {
        uint8_t *out = data + (size_t)panel * matrix->panel_bytes;
        panel_rows rows = rows_of_panel(matrix, map, panel);
        if (pl_type_takes_int8(matrix->type))
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
