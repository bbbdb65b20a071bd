#include "engine/model.h"

static parley_status no_hearing(const parley_model *model, parley_error *error)
{
    return pl_fail(error, PARLEY_FAMILY, "a model of the family %s does not hear", model->family->name);
}

void parley_asr_options_init(const parley_model *model, parley_asr_options *options)
{
    *options = (parley_asr_options){.size = sizeof *options};
    if (model->family->asr)
        model->family->asr->options_init(model->state, options);
}

parley_status parley_asr_open(const parley_model *model, const parley_asr_options *options, parley_asr **session, parley_error *error)
{
    parley_asr_options o;
    if (!model || !session)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", model ? "session" : "model");
    if (!model->family->asr)
        return no_hearing(model, error);
    parley_asr_options_init(model, &o);
    if (options && options->size != sizeof o)
        return pl_fail(error, PARLEY_ARGUMENT, "options of %zu bytes, expected %zu: parley_asr_options_init() was not called", options->size,
                       sizeof o);
    if (options)
        o = *options;
    return model->family->asr->open(model->state, &o, session, error);
}

void parley_asr_close(parley_asr *session)
{
    if (session)
        session->ops->close(session);
}

parley_status parley_asr_push(parley_asr *session, const float *pcm, size_t samples, parley_error *error)
{
    if (!session || (!pcm && samples))
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", session ? "pcm" : "session");
    return session->ops->push(session, pcm, samples, error);
}

parley_status parley_asr_finish(parley_asr *session, parley_error *error)
{
    return session->ops->finish(session, error);
}

parley_status parley_asr_step(parley_asr *const *sessions, size_t count, size_t *running, parley_error *errors)
{
    *running = 0;
    for (size_t i = 0; i < count; i++) {
        if (!sessions[i] || sessions[i]->model != sessions[0]->model)
            return pl_fail(errors, PARLEY_ARGUMENT, "session %zu %s", i, sessions[i] ? "belongs to another model than the first" : "is NULL");
        for (size_t j = 0; j < i; j++)
            if (sessions[j] == sessions[i])
                return pl_fail(errors, PARLEY_ARGUMENT, "sessions %zu and %zu are the same", j, i);
    }
    return count ? sessions[0]->ops->step(sessions, count, INT32_MAX, running, errors) : PARLEY_OK;
}

parley_status parley_asr_run(parley_asr *session, parley_error *error)
{
    size_t running = 1;
    while (running)
        PL_TRY(parley_asr_step(&session, 1, &running, error));
    return PARLEY_OK;
}

parley_status parley_asr_poll(parley_asr *session, parley_asr_update *update, bool *got, parley_error *error)
{
    if (!session || !update || !got)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", !session ? "session" : !update ? "update" : "got");
    return session->ops->poll(session, update, got, error);
}

void parley_asr_cancel(parley_asr *session)
{
    session->ops->cancel(session);
}

void parley_asr_result_get(parley_asr *session, parley_asr_result *result)
{
    session->ops->result(session, result);
}

const float *parley_asr_sound(const parley_asr *session, size_t *samples)
{
    return session->ops->sound(session, samples);
}

void parley_align_options_init(const parley_model *model, parley_align_options *options)
{
    *options = (parley_align_options){.size = sizeof *options};
    if (model->family->asr)
        model->family->asr->align_options_init(model->state, options);
}

parley_status parley_align(const parley_model *model, const float *pcm, size_t samples, const char *text, size_t length,
                           const parley_align_options *options, parley_alignment **alignment, parley_error *error)
{
    parley_align_options o;
    if (!model || !alignment || (!pcm && samples) || (!text && length))
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", !model ? "model" : !alignment ? "alignment" : !pcm && samples ? "pcm" : "text");
    if (!model->family->asr)
        return no_hearing(model, error);
    parley_align_options_init(model, &o);
    if (options && options->size != sizeof o)
        return pl_fail(error, PARLEY_ARGUMENT, "options of %zu bytes, expected %zu: parley_align_options_init() was not called", options->size,
                       sizeof o);
    if (options)
        o = *options;
    return model->family->asr->align(model->state, pcm, samples, (pl_bytes){(const uint8_t *)text, length}, &o, NULL, alignment, error);
}
