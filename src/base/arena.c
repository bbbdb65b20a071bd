#include "base/arena.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct pl_arena_chunk {
    pl_arena_chunk *next;
    size_t size, used; /* of the bytes behind this head */
};

enum { HEAD = (sizeof(pl_arena_chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

static void *system_alloc(void *context, size_t size, size_t alignment)
{
    (void)context;
    void *memory = NULL;
    return posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size ? size : 1) == 0 ? memory : NULL;
}

static void system_release(void *context, void *memory, size_t size)
{
    (void)context, (void)size;
    free(memory);
}

parley_allocator pl_default_allocator(void)
{
    return (parley_allocator){system_alloc, system_release, NULL};
}

void *pl_alloc(const parley_allocator *allocator, size_t count, size_t size)
{
    size_t bytes;
    if (!pl_mul_size(count, size, &bytes))
        return NULL;
    return allocator->alloc(allocator->context, bytes ? bytes : 1, ALIGNMENT);
}

void pl_release(const parley_allocator *allocator, void *memory, size_t count, size_t size)
{
    if (memory)
        allocator->release(allocator->context, memory, count > 0 && size > 0 ? count * size : 1);
}

void pl_arena_init(pl_arena *arena, const parley_allocator *allocator, size_t chunk_size)
{
    *arena = (pl_arena){.allocator = allocator ? *allocator : pl_default_allocator(), .chunk_size = chunk_size};
}

static pl_arena_chunk *new_chunk(pl_arena *arena, size_t bytes)
{
    size_t size = bytes > arena->chunk_size ? bytes : arena->chunk_size;
    if (size > SIZE_MAX - HEAD)
        return NULL;
    pl_arena_chunk *chunk = pl_alloc(&arena->allocator, 1, HEAD + size);
    if (!chunk)
        return NULL;
    *chunk = (pl_arena_chunk){.size = size};
    arena->held += HEAD + size;
    if (arena->current) {
        chunk->next = arena->current->next;
        arena->current->next = chunk;
    } else {
        chunk->next = arena->first;
        arena->first = chunk;
    }
    return chunk;
}

/* The chunk that takes the block: the current one, an empty one behind it, or a new one. */
static pl_arena_chunk *chunk_for(pl_arena *arena, size_t bytes)
{
    for (pl_arena_chunk *c = arena->current ? arena->current : arena->first; c; c = c->next)
        if (c->size - c->used >= bytes)
            return c;
    return new_chunk(arena, bytes);
}

void *pl_arena_alloc_raw(pl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!pl_mul_size(count, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    pl_arena_chunk *chunk = chunk_for(arena, bytes);
    if (!chunk)
        return NULL;
    void *block = (char *)chunk + HEAD + chunk->used;
    chunk->used += bytes;
    arena->current = chunk;
    arena->used += bytes;
    if (arena->used > arena->high_water)
        arena->high_water = arena->used;
    return block;
}

void *pl_arena_alloc(pl_arena *arena, size_t count, size_t size)
{
    void *block = pl_arena_alloc_raw(arena, count, size);
    if (block)
        memset(block, 0, count * size);
    return block;
}

char *pl_arena_text(pl_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? pl_arena_alloc(arena, length + 1, 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

void pl_arena_reset(pl_arena *arena)
{
    for (pl_arena_chunk *c = arena->first; c; c = c->next)
        c->used = 0;
    arena->current = arena->first;
    arena->used = 0;
}

pl_arena_mark pl_arena_save(const pl_arena *arena)
{
    return (pl_arena_mark){arena->current, arena->current ? arena->current->used : 0, arena->used};
}

void pl_arena_restore(pl_arena *arena, pl_arena_mark mark)
{
    if (!mark.chunk) {
        pl_arena_reset(arena);
        return;
    }
    mark.chunk->used = mark.chunk_used;
    for (pl_arena_chunk *c = mark.chunk->next; c; c = c->next)
        c->used = 0;
    arena->current = mark.chunk;
    arena->used = mark.used;
}

void pl_arena_free(pl_arena *arena)
{
    for (pl_arena_chunk *c = arena->first, *next; c; c = next) {
        next = c->next;
        pl_release(&arena->allocator, c, 1, HEAD + c->size);
    }
    arena->first = arena->current = NULL;
    arena->used = arena->held = 0;
}
