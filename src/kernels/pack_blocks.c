/* Blocks of quantised rows into panels and back. */
#include "kernels/body/blocks.h"
#include "kernels/panels.h"

enum { BLOCK = PL_Q_BLOCK, HALF = BLOCK / 2, QUADS = 64 /* bytes of four k of 16 rows */, NIBBLES = 256 /* bytes of a block's low four bits */ };

/* A block as the file has it: stored quants (offset not taken off), scale bytes, super-scales. */
typedef struct file_block {
    uint8_t quants[BLOCK];
    uint8_t scale[2]; /* Q8_0, Q4_0: a half; Q4_K, Q5_K: scale, minimum; Q6_K: two scales */
    uint8_t super[4]; /* d, dmin */
} file_block;

/* ------------------------------------------------------------------ files */

static void take_q8_0(const uint8_t *source, int run, file_block *b)
{
    (void)run;
    memcpy(b->scale, source, 2);
    for (int k = 0; k < BLOCK; k++)
        b->quants[k] = source[2 + k] ^ 0x80; /* q + 128 */
}

static void take_q4_0(const uint8_t *source, int run, file_block *b)
{
    (void)run;
    memcpy(b->scale, source, 2);
    for (int k = 0; k < HALF; k++) {
        b->quants[k] = source[2 + k] & 15;
        b->quants[k + HALF] = source[2 + k] >> 4;
    }
}

static void take_scale_and_minimum(const uint8_t *source, int run, file_block *b)
{
    int scale, minimum;
    six_bit_pair(source + 4, run, &scale, &minimum);
    b->scale[0] = (uint8_t)scale;
    b->scale[1] = (uint8_t)minimum;
    memcpy(b->super, source, 4);
}

static void take_q4_k(const uint8_t *source, int run, file_block *b)
{
    take_scale_and_minimum(source, run, b);
    for (int k = 0; k < BLOCK; k++)
        b->quants[k] = source[16 + run / 2 * 32 + k] >> run % 2 * 4 & 15;
}

static void take_q5_k(const uint8_t *source, int run, file_block *b)
{
    take_scale_and_minimum(source, run, b);
    for (int k = 0; k < BLOCK; k++)
        b->quants[k] = (uint8_t)((source[48 + run / 2 * 32 + k] >> run % 2 * 4 & 15) | (source[16 + k] >> run & 1) << 4);
}

static void take_q6_k(const uint8_t *source, int run, file_block *b)
{
    const uint8_t *low = source + run / 4 * 64 + run % 2 * 32, *high = source + 128 + run / 4 * 32;
    memcpy(b->scale, source + 192 + run * 2, 2);
    memcpy(b->super, source + 208, 2);
    for (int k = 0; k < BLOCK; k++)
        b->quants[k] = (uint8_t)((low[k] >> run % 4 / 2 * 4 & 15) | (high[k] >> run % 4 * 2 & 3) << 4);
}

/* Run `run` of 32 values of the block of the file at `source`. */
static void take(pl_type type, const uint8_t *source, int run, file_block *b)
{
    switch (type) {
    case PL_Q8_0: take_q8_0(source, run, b); break;
    case PL_Q4_0: take_q4_0(source, run, b); break;
    case PL_Q4_K: take_q4_k(source, run, b); break;
    case PL_Q5_K: take_q5_k(source, run, b); break;
    default: take_q6_k(source, run, b); break;
    }
}

/* ------------------------------------------------------------------ panels */

/* Four bytes as one number, low byte first. */
static uint32_t word_at(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static void put_word(uint8_t *p, uint32_t word)
{
    memcpy(p, &word, sizeof word);
}

/* Each step moves one bit field of four quants. */
static void put_quants(pl_type type, uint8_t *out, int r, const uint8_t *q)
{
    const uint32_t nibbles = 0x0F0F0F0F;
    uint8_t *row = out + r * 4, *high = row + NIBBLES;
    uint32_t fifths = 0, pairs[2] = {0};
    for (int i = 0; i < BLOCK / 4; i++) {
        uint32_t word = word_at(q + i * 4);
        if (type == PL_Q8_0)
            put_word(row + i * QUADS, word);
        else if (i < HALF / 4)
            put_word(row + i * QUADS, (word & nibbles) | (word_at(q + HALF + i * 4) & nibbles) << 4);
        fifths |= (word >> 4 & 0x01010101) << i;
        pairs[i / 4] |= (word >> 4 & 0x03030303) << i % 4 * 2;
    }
    if (type == PL_Q5_K)
        put_word(high, fifths);
    if (type == PL_Q6_K) {
        put_word(high, pairs[0]);
        put_word(high + QUADS, pairs[1]);
    }
}

/* Scales that are halves lie two bytes apart, others in two runs of bytes. */
static void put_scales(pl_type type, uint8_t *scales, uint8_t *super, int r, const file_block *b)
{
    if (type == PL_Q8_0 || type == PL_Q4_0) {
        memcpy(scales + r * 2, b->scale, 2);
        return;
    }
    scales[r] = b->scale[0];
    scales[PL_PANEL + r] = b->scale[1];
    memcpy(super + r * 2, b->super, 2);
    if (type != PL_Q6_K)
        memcpy(super + PL_PANEL * 2 + r * 2, b->super + 2, 2);
}

void pl_pack_block(const pl_matrix *matrix, uint8_t *panel, int b, int r, const uint8_t *source, int run)
{
    size_t blocks = (size_t)matrix->cols / BLOCK;
    pl_panel_form form = pl_form_of(matrix->type);
    uint8_t *scales = panel + blocks * (size_t)form.quants, *super = scales + blocks * PL_Q_SCALES;
    file_block block;
    take(matrix->type, source, run, &block);
    put_quants(matrix->type, panel + (size_t)b * (size_t)form.quants, r, block.quants);
    put_scales(matrix->type, scales + (size_t)b * PL_Q_SCALES, super + (size_t)(b / PL_Q_SUPER) * (size_t)form.super, r, &block);
}

void pl_clear_panel(const pl_matrix *matrix, uint8_t *panel, int count)
{
    pl_panel_form form = pl_form_of(matrix->type);
    size_t quants = (size_t)(matrix->cols / BLOCK) * (size_t)form.quants;
    if (count < PL_PANEL)
        memset(panel, matrix->type == PL_Q8_0 ? form.offset : 0, quants);
    memset(panel + quants, 0, matrix->panel_bytes - quants);
}

void pl_pack_blocks(const pl_matrix *matrix, uint8_t *panel, const uint8_t *source, const pl_pack_map *map, const int64_t *start, int count)
{
    int blocks_a_tap = map->width / BLOCK, blocks = map->taps * blocks_a_tap, values = pl_type_info(matrix->type)->values;
    pl_clear_panel(matrix, panel, count);
    for (int r = 0; r < count; r++)
        for (int b = 0; b < blocks; b++) {
            int64_t at = start[r] + b / blocks_a_tap * map->stride_tap + b % blocks_a_tap * (int64_t)BLOCK;
            pl_pack_block(matrix, panel, b, r, source + pl_row_bytes(matrix->type, at - at % values), (int)(at % values / BLOCK));
        }
}

/* ------------------------------------------------------------------ reading back */

/* The stored quant k of row r. */
static int quant_of(pl_type type, const uint8_t *quants, int r, int k)
{
    const uint8_t *row = quants + r * 4 + k % 4, *high = row + NIBBLES;
    if (type == PL_Q8_0)
        return row[k / 4 * QUADS];
    int low = row[k % HALF / 4 * QUADS] >> k / HALF * 4 & 15;
    if (type == PL_Q5_K)
        return low | (high[0] >> k / 4 & 1) << 4;
    return type == PL_Q6_K ? low | (high[k / HALF * QUADS] >> k / 4 % 4 * 2 & 3) << 4 : low;
}

void pl_read_row_block(const pl_matrix *m, const uint8_t *panel, int b, int r, pl_row_block *block)
{
    const uint8_t *quants = pl_panel_quants(m, panel, b), *scales = pl_panel_scales(m, panel, b), *super = pl_panel_super(m, panel, b);
    int offset = pl_form_of(m->type).offset;
    for (int k = 0; k < BLOCK; k++)
        block->quants[k] = quant_of(m->type, quants, r, k) - offset;
    block->low = 0.0f;
    block->part[0] = block->part[1] = 1;
    block->d = half_at((m->type == PL_Q8_0 || m->type == PL_Q4_0 ? scales : super) + r * 2);
    if (m->type == PL_Q4_K || m->type == PL_Q5_K) {
        block->part[0] = block->part[1] = scales[r];
        block->low = half_at(super + PL_PANEL * 2 + r * 2) * (float)scales[PL_PANEL + r];
    }
    if (m->type == PL_Q6_K) {
        block->part[0] = (int8_t)scales[r];
        block->part[1] = (int8_t)scales[PL_PANEL + r];
    }
    for (int i = 0; i < 2; i++)
        block->scale[i] = block->d * (float)block->part[i];
}
