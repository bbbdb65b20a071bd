/* Where things lie in panels of quantised types (see pl_matrix), for the code that packs, reads back or multiplies them. */
#ifndef PL_KERNELS_PANELS_H
#define PL_KERNELS_PANELS_H

#include "kernels/kernels.h"

#include <string.h>

enum {
    PL_Q_BLOCK = 32,           /* values of a row that make a block */
    PL_Q_SUPER = 8,            /* blocks of a row that share d (and dmin) in K types */
    PL_Q_SCALES = PL_PANEL * 2 /* bytes of scales a block */
};

/* A panel is three runs: quants, scales, super-scales, each block after block. Bytes of each a block (super: of 8 blocks). */
typedef struct pl_panel_form {
    int quants, super;
    int offset; /* of the stored quants: value = stored - offset */
} pl_panel_form;

static inline pl_panel_form pl_form_of(pl_type type)
{
    switch (type) {
    case PL_Q8_0: return (pl_panel_form){512, 0, 128};
    case PL_Q4_0: return (pl_panel_form){256, 0, 8};
    case PL_Q4_K: return (pl_panel_form){256, 64, 0};
    case PL_Q5_K: return (pl_panel_form){320, 64, 0};
    case PL_Q6_K: return (pl_panel_form){384, 32, 32};
    default: return (pl_panel_form){0, 0, 0};
    }
}

/* Block b of each run. */
static inline const uint8_t *pl_panel_quants(const pl_matrix *m, const uint8_t *panel, int b)
{
    return panel + (size_t)b * (size_t)pl_form_of(m->type).quants;
}
static inline const uint8_t *pl_panel_scales(const pl_matrix *m, const uint8_t *panel, int b)
{
    return pl_panel_quants(m, panel, m->cols / PL_Q_BLOCK) + (size_t)b * PL_Q_SCALES;
}
static inline const uint8_t *pl_panel_super(const pl_matrix *m, const uint8_t *panel, int b)
{
    return pl_panel_scales(m, panel, m->cols / PL_Q_BLOCK) + (size_t)(b / PL_Q_SUPER) * (size_t)pl_form_of(m->type).super;
}

/* A block of one row: value k = scale[k / 16] * quants[k] - low. */
typedef struct pl_row_block {
    int quants[PL_Q_BLOCK];
    float scale[2], low;
    int part[2]; /* Q6_K: the scales as whole numbers, */
    float d;     /* and what they are multiples of */
} pl_row_block;

/* Run `run` of 32 values of a block of the file (0 where a block has 32) as block b of row r of a panel. */
void pl_pack_block(const pl_matrix *matrix, uint8_t *panel, int b, int r, const uint8_t *source, int run);

/* What a panel holds before its first `count` rows are packed: zeros, in the other rows too. */
void pl_clear_panel(const pl_matrix *matrix, uint8_t *panel, int count);

/* Packs the blocks of `count` rows that begin at elements start[] of the source; the other rows of the panel become zeros. */
void pl_pack_blocks(const pl_matrix *matrix, uint8_t *panel, const uint8_t *source, const pl_pack_map *map, const int64_t *start, int count);

/* Block b of row r of a panel. */
void pl_read_row_block(const pl_matrix *m, const uint8_t *panel, int b, int r, pl_row_block *block);

#endif
