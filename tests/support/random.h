/* Random numbers for tests: the same on every run. */
#ifndef TEST_SUPPORT_RANDOM_H
#define TEST_SUPPORT_RANDOM_H

#include <stdint.h>

typedef struct test_random {
    uint64_t state;
} test_random;

static inline uint32_t test_next(test_random *r)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33);
}

static inline int test_below(test_random *r, int n)
{
    return (int)(test_next(r) % (uint32_t)n);
}

/* Uniform in -scale .. scale. */
static inline float test_float(test_random *r, float scale)
{
    return scale * ((float)test_next(r) / 1073741824.0f - 1.0f);
}

#endif
