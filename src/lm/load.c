#include "lm/load.h"

static parley_status load_norm(pl_loader *loader, const pl_tensor *tensor, const float **values, parley_error *error)
{
    *values = NULL;
    return tensor->data ? pl_load_floats(loader, tensor, values, error) : PARLEY_OK;
}

static parley_status load_block(pl_loader *loader, const pl_lm_block_tensors *from, pl_block *to, parley_error *error)
{
    PL_TRY(load_norm(loader, &from->norm1, &to->norm1, error));
    PL_TRY(load_norm(loader, &from->norm2, &to->norm2, error));
    PL_TRY(load_norm(loader, &from->q_norm, &to->q_norm, error));
    PL_TRY(load_norm(loader, &from->k_norm, &to->k_norm, error));
    PL_TRY(pl_load_linear(loader, &from->q, NULL, &to->q, error));
    PL_TRY(pl_load_linear(loader, &from->k, NULL, &to->k, error));
    PL_TRY(pl_load_linear(loader, &from->v, NULL, &to->v, error));
    PL_TRY(pl_load_linear(loader, &from->o, NULL, &to->o, error));
    PL_TRY(pl_load_linear(loader, &from->gate, NULL, &to->gate, error));
    PL_TRY(pl_load_linear(loader, &from->up, NULL, &to->up, error));
    return pl_load_linear(loader, &from->down, NULL, &to->down, error);
}

parley_status pl_lm_load(pl_loader *loader, pl_transformer_shape shape, const pl_lm_block_tensors *blocks, const pl_tensor *norm,
                         pl_transformer *transformer, parley_error *error)
{
    PL_TRY(pl_transformer_prepare(loader->arena, shape, transformer, error));
    for (int i = 0; i < shape.layers; i++)
        PL_TRY(load_block(loader, &blocks[i], &transformer->blocks[i], error));
    return load_norm(loader, norm, &transformer->norm, error);
}
