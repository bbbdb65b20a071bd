/* Element types and tensor views. `weights` makes views, `kernels` and `nn` read them: arithmetic never meets a file. */
#ifndef PL_BASE_TENSOR_H
#define PL_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(constant, name, values in a block, bytes of a block). OTHER: an element type that nothing here reads (64-bit integers, booleans, ..); a file may
 * hold such tensors as long as the model needs none. Only the shape and the bytes as a whole of such a view mean anything. */
#define PL_TYPE_LIST(X)       \
    X(F32, "f32", 1, 4)       \
    X(F16, "f16", 1, 2)       \
    X(BF16, "bf16", 1, 2)     \
    X(Q8_0, "q8_0", 32, 34)   \
    X(Q4_0, "q4_0", 32, 18)   \
    X(Q4_1, "q4_1", 32, 20)   \
    X(Q5_0, "q5_0", 32, 22)   \
    X(Q5_1, "q5_1", 32, 24)   \
    X(Q2_K, "q2_k", 256, 84)  \
    X(Q3_K, "q3_k", 256, 110) \
    X(Q4_K, "q4_k", 256, 144) \
    X(Q5_K, "q5_k", 256, 176) \
    X(Q6_K, "q6_k", 256, 210) \
    X(I32, "i32", 1, 4)       \
    X(OTHER, "other", 1, 1)

typedef enum pl_type {
#define PL_TYPE_ENUM(constant, name, values, bytes) PL_##constant,
    PL_TYPE_LIST(PL_TYPE_ENUM)
#undef PL_TYPE_ENUM
        PL_TYPE_COUNT
} pl_type;

enum { PL_MAX_RANK = 4 };

/* A row-major view, slowest axis first: shape[rank - 1] is contiguous (blocks run along it). Does not own its data. */
typedef struct pl_tensor {
    pl_type type;
    int rank;
    int64_t shape[PL_MAX_RANK];
    const void *data;
    size_t bytes;
    bool packed; /* the data are the panels of the matrix that this shape becomes (kernels/kernels.h), not rows of the shape */
} pl_tensor;

typedef struct pl_type_facts {
    const char *name;
    int values, bytes; /* of a block */
} pl_type_facts;

const pl_type_facts *pl_type_info(pl_type type);

/* Bytes of `values` consecutive values; `values` must be a multiple of the block. */
size_t pl_row_bytes(pl_type type, int64_t values);

int64_t pl_tensor_values(const pl_tensor *tensor);

/* "[3, 64]" into `text`. */
void pl_shape_text(const int64_t *shape, int rank, char *text, size_t size);

#endif
