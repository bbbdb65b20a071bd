/* An allocator for tests with threads: counts what is held and can fail once. */
#ifndef TEST_SUPPORT_COUNTING_H
#define TEST_SUPPORT_COUNTING_H

#include <parley/core.h>

#include <stdatomic.h>
#include <stdlib.h>

typedef struct counting {
    atomic_size_t held;
    atomic_long until_failure; /* calls that succeed before one fails; below 0: none fails */
} counting;

static void *counting_alloc(void *context, size_t size, size_t alignment)
{
    counting *c = context;
    void *memory = NULL;
    if (atomic_load(&c->until_failure) >= 0 && atomic_fetch_sub(&c->until_failure, 1) == 0)
        return NULL;
    if (posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size) != 0)
        return NULL;
    atomic_fetch_add(&c->held, size);
    return memory;
}

static void counting_release(void *context, void *memory, size_t size)
{
    atomic_fetch_sub(&((counting *)context)->held, size);
    free(memory);
}

static inline parley_allocator counting_interface(counting *c)
{
    return (parley_allocator){counting_alloc, counting_release, c};
}

#endif
