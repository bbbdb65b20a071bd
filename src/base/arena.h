/* Memory with three lifetimes (model, session, step): a bump allocator over chunks of the caller's allocator, freed as a whole. Every block is
 * 64-byte aligned and zeroed. Not for use by two threads at once. */
#ifndef PL_BASE_ARENA_H
#define PL_BASE_ARENA_H

#include "base/status.h"

typedef struct pl_arena_chunk pl_arena_chunk;

typedef struct pl_arena {
    parley_allocator allocator;
    pl_arena_chunk *first, *current;
    size_t chunk_size;
    size_t used, high_water; /* bytes handed out since the last reset, most ever */
    size_t held;             /* bytes taken from the allocator */
} pl_arena;

/* malloc and free. */
parley_allocator pl_default_allocator(void);

/* One block of the allocator, 64-byte aligned, not zeroed; NULL when there is none or the size overflows. */
void *pl_alloc(const parley_allocator *allocator, size_t count, size_t size);
void pl_release(const parley_allocator *allocator, void *memory, size_t count, size_t size);

/* `allocator` NULL: the default. `chunk_size` is the least that is taken from it at once. */
void pl_arena_init(pl_arena *arena, const parley_allocator *allocator, size_t chunk_size);

/* `count` * `size` zeroed bytes; NULL when out of memory or the product overflows. A size of 0 gives a valid pointer. */
void *pl_arena_alloc(pl_arena *arena, size_t count, size_t size);

/* The same without zeroing, for large buffers that are written at once. */
void *pl_arena_alloc_raw(pl_arena *arena, size_t count, size_t size);

/* A copy of a text with a NUL behind it. */
char *pl_arena_text(pl_arena *arena, const char *text, size_t length);

#define PL_NEW(arena, type)              ((type *)pl_arena_alloc((arena), 1, sizeof(type)))
#define PL_NEW_ARRAY(arena, type, count) ((type *)pl_arena_alloc((arena), (size_t)(count), sizeof(type)))

/* A place to return to: pl_arena_restore() forgets what was allocated since. */
typedef struct pl_arena_mark {
    pl_arena_chunk *chunk;
    size_t chunk_used, used;
} pl_arena_mark;

pl_arena_mark pl_arena_save(const pl_arena *arena);
void pl_arena_restore(pl_arena *arena, pl_arena_mark mark);

/* Forgets all blocks, keeps the chunks: no allocation as long as no step needs more than the largest before. */
void pl_arena_reset(pl_arena *arena);
void pl_arena_free(pl_arena *arena);

#endif
