/* What the predictor's input projection makes of the rows of its tables, kept from the first use of each row on: a code's row is the same in every
 * frame of every session, so that soon all passes but the first start without a product. Bits are those of the product. */
#ifndef PL_MODELS_QWEN3_TTS_PROJECTED_H
#define PL_MODELS_QWEN3_TTS_PROJECTED_H

#include "base/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Shared by all sessions of a model, on any thread. Pages of rows that no code has asked for are never touched. */
typedef struct pl_projected {
    bool int8;             /* the arithmetic whose rows are kept: that of most sessions */
    int width;             /* of the predictor */
    int64_t rows;          /* of a table */
    float *values;         /* [tables][rows][width]; NULL: nothing is kept */
    _Atomic uint8_t *made; /* [tables][rows] */
} pl_projected;

/* Room for all rows, out of the arena; without memory for it nothing is kept. */
void pl_projected_open(pl_projected *p, pl_arena *arena, int tables, int64_t rows, int width, bool int8);

/* Most bytes that the rows take. */
uint64_t pl_projected_bytes(int tables, int64_t rows, int width);

/* The row of a table [width]; NULL when it is not there yet. */
const float *pl_projected_find(const pl_projected *p, int table, int64_t row);

/* Keeps a row that was computed, unless another thread does or has done so. */
void pl_projected_keep(const pl_projected *p, int table, int64_t row, const float *value);

#endif
