/* Arithmetic on sizes that come from files: false instead of wrapping round. */
#ifndef PL_BASE_CHECKED_H
#define PL_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool pl_mul_size(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool pl_add_size(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool pl_mul_u64(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool pl_add_u64(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

#endif
