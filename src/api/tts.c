#include "engine/model.h"

const char *parley_finish_name(parley_finish finish)
{
    static const char *const names[] = {"", "stop", "length", "cancelled"};
    return (size_t)finish < sizeof names / sizeof names[0] ? names[finish] : "";
}

static parley_status no_speech(const parley_model *model, parley_error *error)
{
    return pl_fail(error, PARLEY_FAMILY, "a model of the family %s does not speak", model->family->name);
}

void parley_tts_options_init(const parley_model *model, parley_tts_options *options)
{
    *options = (parley_tts_options){.size = sizeof *options};
    if (model->family->tts)
        model->family->tts->options_init(model->state, options);
}

int64_t parley_speaker_find(const parley_model *model, const char *name)
{
    return model->family->tts && name ? model->family->tts->speaker_find(model->state, name) : -1;
}

parley_status parley_tts_open(const parley_model *model, const parley_tts_options *options, parley_tts **session, parley_error *error)
{
    parley_tts_options o;
    if (!model || !session)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", model ? "session" : "model");
    if (!model->family->tts)
        return no_speech(model, error);
    parley_tts_options_init(model, &o);
    if (options && options->size != sizeof o)
        return pl_fail(error, PARLEY_ARGUMENT, "options of %zu bytes, expected %zu: parley_tts_options_init() was not called", options->size,
                       sizeof o);
    if (options)
        o = *options;
    return model->family->tts->open(model->state, &o, session, error);
}

void parley_tts_close(parley_tts *session)
{
    if (session)
        session->ops->close(session);
}

parley_status parley_tts_push_text(parley_tts *session, const char *text, size_t length, parley_error *error)
{
    if (!session || (!text && length))
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", session ? "text" : "session");
    return session->ops->push_text(session, text, length, error);
}

parley_status parley_tts_finish_text(parley_tts *session, parley_error *error)
{
    return session->ops->finish_text(session, error);
}

parley_status parley_tts_pull(parley_tts *session, float *pcm, size_t capacity, size_t *count, parley_error *error)
{
    if (!session || !pcm || !capacity || !count)
        return pl_fail(error, PARLEY_ARGUMENT, "pull needs a session, a buffer for at least one sample and a place for the count");
    return session->ops->pull(session, pcm, capacity, count, error);
}

parley_status parley_tts_step(parley_tts *const *sessions, size_t count, size_t *running, parley_error *errors)
{
    parley_error *first = errors;
    *running = 0;
    if (count == 0)
        return PARLEY_OK;
    for (size_t i = 0; i < count; i++) {
        if (!sessions[i] || sessions[i]->model != sessions[0]->model)
            return pl_fail(first, PARLEY_ARGUMENT, "session %zu %s", i, sessions[i] ? "belongs to another model than the first" : "is NULL");
        for (size_t j = 0; j < i; j++)
            if (sessions[j] == sessions[i])
                return pl_fail(first, PARLEY_ARGUMENT, "sessions %zu and %zu are the same", j, i);
    }
    return sessions[0]->ops->step(sessions, count, INT32_MAX, running, errors);
}

size_t parley_tts_ready(const parley_tts *session)
{
    return session->ops->ready(session);
}

bool parley_tts_waiting(const parley_tts *session)
{
    return session->ops->waiting(session);
}

void parley_tts_cancel(parley_tts *session)
{
    session->ops->cancel(session);
}

void parley_tts_result_get(const parley_tts *session, parley_tts_result *result)
{
    session->ops->result(session, result);
}

void parley_codec_options_init(parley_codec_options *options)
{
    *options = (parley_codec_options){.size = sizeof *options};
}

parley_status parley_codec_open(const parley_model *model, const parley_codec_options *options, parley_codec **codec, parley_error *error)
{
    parley_codec_options o;
    if (!model || !codec)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", model ? "codec" : "model");
    if (!model->family->tts)
        return no_speech(model, error);
    parley_codec_options_init(&o);
    if (options && options->size != sizeof o)
        return pl_fail(error, PARLEY_ARGUMENT, "codec options of %zu bytes, expected %zu", options->size, sizeof o);
    if (options)
        o = *options;
    return model->family->tts->codec_open(model->state, &o, codec, error);
}

void parley_codec_close(parley_codec *codec)
{
    if (codec)
        codec->ops->codec_close(codec);
}

parley_status parley_codec_decode(parley_codec *codec, const int32_t *codes, size_t frames, float *pcm, parley_error *error)
{
    if (!codec || (frames && (!codes || !pcm)))
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", !codec ? "codec" : !codes ? "codes" : "pcm");
    return codec->ops->codec_decode(codec, codes, frames, pcm, error);
}

uint64_t parley_codec_reference_cut(size_t ref_frames, size_t total_frames, uint64_t samples)
{
    return pl_reference_cut(ref_frames, total_frames, samples);
}
