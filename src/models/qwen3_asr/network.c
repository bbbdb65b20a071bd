#include "models/qwen3_asr/network.h"

static void drop(void *context, const pl_tensor *tensor)
{
    pl_asr_tensor_drop(context, tensor);
}

/* A tied head is the one copy of the embedding: packed, so that products are fast, and read row by row for inputs. Heads decide between near scores
 * and keep their input in float32. */
static parley_status load_head(pl_loader *loader, const asr_tensors *t, asr_network *n, parley_error *error)
{
    bool tied = !t->head.data;
    n->head.exact = true;
    PL_TRY(pl_load_linear(loader, tied ? &t->token_embedding : &t->head, NULL, &n->head, error));
    if (!tied)
        n->token_embedding = t->token_embedding;
    return PARLEY_OK;
}

parley_status pl_asr_network_load(pl_arena *arena, pl_pool *pool, asr_files *files, const asr_config *config, const asr_tensors *tensors,
                                  asr_network *network, parley_error *error)
{
    pl_loader loader = {.arena = arena, .pool = pool, .done = drop, .context = files};
    *network = (asr_network){0};
    PL_TRY(pl_tower_load(&loader, &config->tower, &tensors->tower, &network->tower, error));
    PL_TRY(pl_lm_load(&loader, config->text, tensors->blocks, &tensors->norm, &network->text, error));
    PL_TRY(load_head(&loader, tensors, network, error));
    network->packed_bytes = loader.packed_bytes;
    return PARLEY_OK;
}

void pl_asr_embed(const pl_kernels *k, const asr_network *network, int32_t id, float *y)
{
    const pl_tensor *table = &network->token_embedding;
    if (table->data)
        pl_embed_sum(k, &table, &id, 1, network->text.shape.width, y);
    else
        pl_matrix_row(&network->head.w, id, y);
}
