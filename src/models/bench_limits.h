/* Limits of the machine beside the stages that a benchmark times. */
#ifndef PL_MODELS_BENCH_LIMITS_H
#define PL_MODELS_BENCH_LIMITS_H

#include "models/family.h"
#include "nn/limits.h"

typedef struct pl_bench_limits {
    double read;       /* bytes a second of a working set of `bytes` */
    double arithmetic; /* operations a second; 0: not known */
    double bytes;
    bool int8; /* the arithmetic is that of 8-bit activations */
} pl_bench_limits;

/* For stages that walk `bytes` of weights of this type. */
parley_status pl_bench_measure_limits(pl_bench_limits *limits, pl_compute *compute, double bytes, pl_type type, parley_error *error);

/* Of arithmetic alone: for work whose reading is not counted. */
void pl_bench_measure_arithmetic(pl_bench_limits *limits, const pl_compute *compute, bool int8);

/* A row for reading and one for arithmetic, of what was measured and is known. */
void pl_bench_report_limits(const pl_bench_limits *limits, const pl_compute *compute, pl_report_row report, void *context);

/* Fills in the row's share and limit. */
void pl_bench_share(const pl_bench_limits *limits, parley_bench_row *row);

#endif
