#include "models/qwen3_tts/network.h"

/* Heads decide between near scores, and the text projection runs once: both keep their input in float32. */
static parley_status load_exact(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, pl_linear *linear, parley_error *error)
{
    linear->exact = true;
    return pl_load_linear(loader, weight, bias, linear, error);
}

/* The predictor's weights are read 15 times a frame: heads and layers are packed one behind the other. */
static parley_status load_predictor(pl_loader *loader, const tts_config *config, const tts_tensors *t, bool int8, tts_network *n, parley_error *error)
{
    int heads = config->groups - 1;
    n->predictor_embeddings = t->predictor_embeddings;
    n->predictor_heads = PL_NEW_ARRAY(loader->arena, pl_linear, heads);
    if (!n->predictor_heads)
        return pl_fail_memory(error, "the code predictor's heads");
    if (config->has_projection) {
        PL_TRY(pl_load_linear(loader, &t->projection.weight, t->projection.bias.data ? &t->projection.bias : NULL, &n->projection, error));
        pl_projected_open(&n->projected, loader->arena, heads - 1, config->codebook_size, config->predictor.width, int8);
    }
    PL_TRY(pl_lm_load(loader, config->predictor, t->predictor_blocks, &t->predictor_norm, &n->predictor, error));
    for (int i = 0; i < heads; i++)
        PL_TRY(load_exact(loader, &t->predictor_heads[i], NULL, &n->predictor_heads[i], error));
    return PARLEY_OK;
}

static parley_status load_talker(pl_loader *loader, const tts_config *config, const tts_tensors *t, tts_network *n, parley_error *error)
{
    n->text_embedding = t->text_embedding;
    n->codec_embedding = t->codec_embedding;
    if (!config->text_is_projected) {
        PL_TRY(load_exact(loader, &t->fc1.weight, &t->fc1.bias, &n->fc1, error));
        PL_TRY(load_exact(loader, &t->fc2.weight, &t->fc2.bias, &n->fc2, error));
    }
    PL_TRY(pl_lm_load(loader, config->talker, t->blocks, &t->norm, &n->talker, error));
    return load_exact(loader, &t->codec_head, NULL, &n->codec_head, error);
}

static parley_status load_codec(pl_loader *loader, const tts_config *config, const tts_tensors *t, bool int8, tts_network *n, parley_error *error)
{
    loader->int8 = int8;
    parley_status status = pl_codec_decoder_load(loader, &config->codec, &t->codec, &n->codec, error);
    loader->int8 = false;
    return status;
}

static void drop(void *context, const pl_tensor *tensor)
{
    pl_tts_tensor_drop(context, tensor);
}

parley_status pl_tts_network_load(pl_arena *arena, pl_pool *pool, tts_files *files, const tts_config *config, const tts_tensors *tensors,
                                  const tts_load *what, tts_network *network, parley_error *error)
{
    const parley_parts parts = what->parts;
    pl_loader loader = {.arena = arena, .pool = pool, .done = drop, .context = files};
    *network = (tts_network){0};
    bool speech = parts == PARLEY_PARTS_ALL || parts == PARLEY_PARTS_CLONE;
    if (speech) {
        PL_TRY(load_talker(&loader, config, tensors, network, error));
        PL_TRY(load_predictor(&loader, config, tensors, what->int8_activations, network, error));
    }
    if ((speech || parts == PARLEY_PARTS_CODEC) && config->has_codec)
        PL_TRY(load_codec(&loader, config, tensors, what->codec_int8, network, error));
    if ((parts == PARLEY_PARTS_SPEAKER || parts == PARLEY_PARTS_CLONE) && config->has_speaker_encoder)
        PL_TRY(pl_speaker_load(&loader, &config->speaker, &tensors->speaker, &network->speaker, error));
    if ((parts == PARLEY_PARTS_CODEC_ENCODER || parts == PARLEY_PARTS_CLONE) && config->has_encoder)
        PL_TRY(pl_codec_encoder_load(&loader, &config->encoder, &tensors->encoder, &network->encoder, error));
    network->packed_bytes = loader.packed_bytes;
    return PARLEY_OK;
}
