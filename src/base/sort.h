/* Sorting without memory of its own (qsort of the C library may allocate) and without a bad case that hostile input could reach. */
#ifndef PL_BASE_SORT_H
#define PL_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Below 0, 0, above 0 as element `a` comes before, with, after element `b` of what `context` holds. */
typedef int (*pl_compare)(const void *context, uint32_t a, uint32_t b);

/* Fills order[0 .. n - 1] with 0 .. n - 1 in the order of `compare`. Not stable: compare() breaks ties where that matters. */
void pl_sort(uint32_t *order, size_t n, pl_compare compare, const void *context);

#endif
