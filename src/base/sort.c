#include "base/sort.h"

/* Heap sort: the element at `at` sinks until no child is greater. */
static void sink(uint32_t *order, size_t at, size_t n, pl_compare compare, const void *context)
{
    uint32_t moving = order[at];
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && compare(context, order[child], order[child + 1]) < 0)
            child++;
        if (compare(context, moving, order[child]) >= 0)
            break;
        order[at] = order[child];
        at = child;
    }
    order[at] = moving;
}

void pl_sort(uint32_t *order, size_t n, pl_compare compare, const void *context)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n / 2; i-- > 0;)
        sink(order, i, n, compare, context);
    for (size_t end = n; end-- > 1;) {
        uint32_t last = order[end];
        order[end] = order[0];
        order[0] = last;
        sink(order, 0, end, compare, context);
    }
}
