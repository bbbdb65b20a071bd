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
