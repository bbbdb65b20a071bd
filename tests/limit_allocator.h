/* An allocator that counts what is held and refuses, and remembers that it had to, above a limit. */
#ifndef LIMIT_ALLOCATOR_H
#define LIMIT_ALLOCATOR_H

#include <parley/core.h>

#include <stdlib.h>

typedef struct limit_allocator {
    size_t held, most, limit;
    size_t left; /* calls that may still succeed; SIZE_MAX: all */
    bool exceeded;
} limit_allocator;

static void *limit_alloc(void *context, size_t size, size_t alignment)
{
    limit_allocator *a = context;
    void *memory = NULL;
    if (size > a->limit - a->held) {
        a->exceeded = true;
        return NULL;
    }
    if (a->left == 0)
        return NULL;
    if (a->left != SIZE_MAX)
        a->left--;
    if (posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size) != 0)
        return NULL;
    a->held += size;
    if (a->held > a->most)
        a->most = a->held;
    return memory;
}

static void limit_release(void *context, void *memory, size_t size)
{
    limit_allocator *a = context;
    a->held -= size;
    free(memory);
}

static inline parley_allocator limit_interface(limit_allocator *a)
{
    return (parley_allocator){limit_alloc, limit_release, a};
}

#endif
