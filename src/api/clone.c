#include "engine/model.h"

void parley_voice_options_init(parley_voice_options *options)
{
    *options = (parley_voice_options){.size = sizeof *options};
}

static parley_status complete(const parley_model *model, const void *pcm, size_t samples, const void *out, const parley_voice_options *given,
                              parley_voice_options *options, parley_error *error)
{
    if (!model || (!pcm && samples) || !out)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", !model ? "model" : !out ? "the result" : "pcm");
    if (!model->family->tts)
        return pl_fail(error, PARLEY_FAMILY, "a model of the family %s makes no voices", model->family->name);
    parley_voice_options_init(options);
    if (given && given->size != sizeof *options)
        return pl_fail(error, PARLEY_ARGUMENT, "voice options of %zu bytes, expected %zu: parley_voice_options_init() was not called", given->size,
                       sizeof *options);
    if (given)
        *options = *given;
    return PARLEY_OK;
}

parley_status parley_voice_vector(const parley_model *model, const float *pcm, size_t samples, const parley_voice_options *options, float *vector,
                                  parley_error *error)
{
    parley_voice_options o;
    PL_TRY(complete(model, pcm, samples, vector, options, &o, error));
    return model->family->tts->voice_vector(model->state, pcm, samples, &o, vector, error);
}

parley_status parley_codec_encode(const parley_model *model, const float *pcm, size_t samples, const parley_voice_options *options, int32_t **codes,
                                  size_t *frames, parley_error *error)
{
    parley_voice_options o;
    PL_TRY(complete(model, pcm, samples, codes && frames ? codes : NULL, options, &o, error));
    return model->family->tts->codec_encode(model->state, pcm, samples, &o, codes, frames, error);
}

parley_status parley_reference_open(const parley_model *model, const int32_t *codes, size_t frames, parley_reference **reference, parley_error *error)
{
    if (!model || !codes || !reference)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", !model ? "model" : !codes ? "codes" : "reference");
    if (!model->family->tts)
        return pl_fail(error, PARLEY_FAMILY, "a model of the family %s does not speak", model->family->name);
    return model->family->tts->reference_open(model->state, codes, frames, reference, error);
}

void parley_reference_close(parley_reference *reference)
{
    if (reference)
        reference->ops->reference_close(reference);
}
