#include "models/qwen3_tts/network.h"

static parley_status load_norm(pl_loader *loader, const pl_tensor *tensor, const float **values, parley_error *error)
{
    *values = NULL;
    return tensor->data ? pl_load_floats(loader, tensor, values, error) : PARLEY_OK;
}

/* Heads decide between near scores, and the text projection runs once: both keep their input in float32. */
static parley_status load_exact(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, pl_linear *linear, parley_error *error)
{
    linear->exact = true;
    return pl_load_linear(loader, weight, bias, linear, error);
}

static parley_status load_block(pl_loader *loader, const tts_block_tensors *from, pl_block *to, parley_error *error)
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

static parley_status load_transformer(pl_loader *loader, pl_transformer_shape shape, const tts_block_tensors *blocks, const pl_tensor *norm,
                                      pl_transformer *transformer, parley_error *error)
{
    PL_TRY(pl_transformer_prepare(loader->arena, shape, transformer, error));
    for (int i = 0; i < shape.layers; i++)
        PL_TRY(load_block(loader, &blocks[i], &transformer->blocks[i], error));
    return load_norm(loader, norm, &transformer->norm, error);
}

/* The predictor's weights are read 15 times a frame: heads and layers are packed one behind the other. */
static parley_status load_predictor(pl_loader *loader, const tts_config *config, const tts_tensors *t, tts_network *n, parley_error *error)
{
    int heads = config->groups - 1;
    n->predictor_embeddings = t->predictor_embeddings;
    n->predictor_heads = PL_NEW_ARRAY(loader->arena, pl_linear, heads);
    if (!n->predictor_heads)
        return pl_fail_memory(error, "the code predictor's heads");
    if (config->has_projection)
        PL_TRY(pl_load_linear(loader, &t->projection.weight, t->projection.bias.data ? &t->projection.bias : NULL, &n->projection, error));
    PL_TRY(load_transformer(loader, config->predictor, t->predictor_blocks, &t->predictor_norm, &n->predictor, error));
    for (int i = 0; i < heads; i++)
        PL_TRY(load_exact(loader, &t->predictor_heads[i], NULL, &n->predictor_heads[i], error));
    return PARLEY_OK;
}

static parley_status load_talker(pl_loader *loader, const tts_config *config, const tts_tensors *t, tts_network *n, parley_error *error)
{
    n->text_embedding = t->text_embedding;
    n->codec_embedding = t->codec_embedding;
    PL_TRY(load_exact(loader, &t->fc1.weight, &t->fc1.bias, &n->fc1, error));
    PL_TRY(load_exact(loader, &t->fc2.weight, &t->fc2.bias, &n->fc2, error));
    PL_TRY(load_transformer(loader, config->talker, t->blocks, &t->norm, &n->talker, error));
    return load_exact(loader, &t->codec_head, NULL, &n->codec_head, error);
}

static void drop(void *context, const pl_tensor *tensor)
{
    pl_tts_tensor_drop(context, tensor);
}

parley_status pl_tts_network_load(pl_arena *arena, pl_pool *pool, tts_files *files, const tts_config *config, const tts_tensors *tensors,
                                  parley_parts parts, tts_network *network, parley_error *error)
{
    pl_loader loader = {.arena = arena, .pool = pool, .done = drop, .context = files};
    *network = (tts_network){0};
    if (parts == PARLEY_PARTS_ALL) {
        PL_TRY(load_talker(&loader, config, tensors, network, error));
        PL_TRY(load_predictor(&loader, config, tensors, network, error));
    }
    if (parts != PARLEY_PARTS_TEXT && config->has_codec)
        PL_TRY(pl_codec_decoder_load(&loader, &config->codec, &tensors->codec, &network->codec, error));
    network->packed_bytes = loader.packed_bytes;
    return PARLEY_OK;
}
