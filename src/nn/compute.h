/* What a session computes with: the operations of its processor level, the model's thread pool, work space of its own. */
#ifndef PL_NN_COMPUTE_H
#define PL_NN_COMPUTE_H

#include "base/pool.h"
#include "kernels/kernels.h"

typedef struct pl_compute {
    const pl_kernels *k;
    pl_pool *pool;
    bool int8;        /* quantise activations for matrices that the level multiplies in integers */
    pl_arena step;    /* work space; users save and restore it, so that it stops growing after the largest step */
    uint8_t *scratch; /* pl_gemm_scratch() bytes a worker */
    size_t scratch_stride;
} pl_compute;

parley_status pl_compute_open(const parley_allocator *allocator, const pl_kernels *kernels, pl_pool *pool, bool int8, pl_compute *compute,
                              parley_error *error);
void pl_compute_close(pl_compute *compute);

/* `count` floats of the step's work space, not zeroed; NULL when out of memory. */
float *pl_step_floats(pl_compute *compute, int64_t count);

/* Runs all products in one parallel region. They must not write to the same place. */
void pl_gemm_run(pl_compute *compute, const pl_gemm *products, int count);

#endif
