/* What the machine could do, measured: the lines of a roofline. */
#ifndef PL_NN_LIMITS_H
#define PL_NN_LIMITS_H

#include "nn/transformer.h"

/* Operations a second (two a multiply-add) of all threads on registers alone; 0: not known at this level. */
double pl_limit_arithmetic(const pl_compute *compute, bool int8);

/* Bytes a second of all threads that walk `bytes` of memory again and again. MEMORY. */
parley_status pl_limit_read(pl_compute *compute, size_t bytes, double *rate, parley_error *error);

/* Bytes of a transformer's matrices as they lie, and operations of one position. */
double pl_transformer_bytes(const pl_transformer *transformer);
double pl_transformer_operations(const pl_transformer *transformer);
double pl_linear_bytes(const pl_linear *linear);
double pl_linear_operations(const pl_linear *linear);

#endif
