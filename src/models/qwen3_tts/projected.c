#include "models/qwen3_tts/projected.h"

#include <string.h>

enum { EMPTY, FILLING, READY };

void pl_projected_open(pl_projected *p, pl_arena *arena, int tables, int64_t rows, int width, bool int8)
{
    *p = (pl_projected){.int8 = int8, .width = width, .rows = rows};
    size_t count = (size_t)tables * (size_t)rows;
    p->made = pl_arena_alloc(arena, count, sizeof *p->made);
    if (p->made)
        p->values = pl_arena_alloc_raw(arena, count, (size_t)width * sizeof *p->values);
}

uint64_t pl_projected_bytes(int tables, int64_t rows, int width)
{
    return (uint64_t)tables * (uint64_t)rows * ((uint64_t)width * sizeof(float) + 1);
}

static int64_t index_of(const pl_projected *p, int table, int64_t row)
{
    return table * p->rows + row;
}

const float *pl_projected_find(const pl_projected *p, int table, int64_t row)
{
    int64_t at = index_of(p, table, row);
    if (!p->values || atomic_load_explicit(&p->made[at], memory_order_acquire) != READY)
        return NULL;
    return p->values + at * p->width;
}

void pl_projected_keep(const pl_projected *p, int table, int64_t row, const float *value)
{
    int64_t at = index_of(p, table, row);
    uint8_t empty = EMPTY;
    if (!p->values || !atomic_compare_exchange_strong_explicit(&p->made[at], &empty, FILLING, memory_order_relaxed, memory_order_relaxed))
        return;
    memcpy(p->values + at * p->width, value, (size_t)p->width * sizeof *value);
    atomic_store_explicit(&p->made[at], READY, memory_order_release);
}
