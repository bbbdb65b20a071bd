#include "base/tensor.h"

#include <inttypes.h>
#include <stdio.h>

static const pl_type_facts types[PL_TYPE_COUNT] = {
#define TYPE_ROW(constant, name, values, bytes) {name, values, bytes},
    PL_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

const pl_type_facts *pl_type_info(pl_type type)
{
    return &types[type];
}

size_t pl_row_bytes(pl_type type, int64_t values)
{
    return (size_t)(values / types[type].values) * (size_t)types[type].bytes;
}

int64_t pl_tensor_values(const pl_tensor *tensor)
{
    int64_t n = 1;
    for (int i = 0; i < tensor->rank; i++)
        n *= tensor->shape[i];
    return n;
}

void pl_shape_text(const int64_t *shape, int rank, char *text, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i ? ", " : "[", shape[i]);
    if (at < size)
        snprintf(text + at, size - at, rank ? "]" : "[]");
}
