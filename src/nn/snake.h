/* Snake: y = x + sin^2(alpha x) / beta, one pair of parameters a channel. */
#ifndef PL_NN_SNAKE_H
#define PL_NN_SNAKE_H

#include "nn/linear.h"

typedef struct pl_snake {
    const float *alpha, *inv_beta; /* [width] */
    int width;
} pl_snake;

/* alpha, beta [width]. Unless `is_final` they are logarithms, and 1 / (exp(beta) + 1e-9) is taken; else beta holds the factor 1 / beta itself. */
parley_status pl_load_snake(pl_loader *loader, const pl_tensor *alpha, const pl_tensor *beta, bool is_final, pl_snake *snake, parley_error *error);

#endif
