#include "nn/snake.h"

#include <math.h>

parley_status pl_load_snake(pl_loader *loader, const pl_tensor *alpha, const pl_tensor *beta, bool is_final, pl_snake *snake, parley_error *error)
{
    int width = (int)pl_tensor_values(alpha);
    float *a = PL_NEW_ARRAY(loader->arena, float, width), *b = PL_NEW_ARRAY(loader->arena, float, width);
    if (!a || !b)
        return pl_fail_memory(error, "parameters of Snake");
    pl_dequantize(alpha->type, alpha->data, width, a);
    pl_dequantize(beta->type, beta->data, width, b);
    for (int i = 0; i < width && !is_final; i++) {
        a[i] = expf(a[i]);
        b[i] = 1.0f / (expf(b[i]) + 1e-9f);
    }
    *snake = (pl_snake){.alpha = a, .inv_beta = b, .width = width};
    return PARLEY_OK;
}

enum { VALUES_PER_TASK = 16384 }; /* 64 KiB in, 64 KiB out: a task takes some 10 us, a region costs below 1 us */

typedef struct snaking {
    const pl_compute *compute;
    const pl_snake *snake;
    const float *x;
    float *y;
    int64_t rows, rows_per_task;
} snaking;

static void snake_some(void *context, int task, int worker)
{
    (void)worker;
    const snaking *s = context;
    int64_t first = task * s->rows_per_task, rows = s->rows - first, at = first * s->snake->width;
    if (rows > s->rows_per_task)
        rows = s->rows_per_task;
    s->compute->k->snake(s->x + at, s->snake->alpha, s->snake->inv_beta, s->snake->width, rows, s->y + at);
}

void pl_snake_run(pl_compute *compute, const pl_snake *snake, const float *x, int64_t rows, float *y)
{
    int64_t rows_per_task = VALUES_PER_TASK / snake->width + 1;
    snaking s = {compute, snake, x, y, rows, rows_per_task};
    pl_pool_run(compute->pool, snake_some, &s, (int)((rows + rows_per_task - 1) / rows_per_task));
}
