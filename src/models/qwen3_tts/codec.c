/* Codes to PCM without a talker: the session behind parley_codec, and references that have gone through the codec. */
#include "models/qwen3_tts/session.h"

typedef struct codec_session {
    parley_codec base;
    const tts_model *model;
    pl_compute compute;
    pl_codec_state *state;
    parley_codec_options options;
} codec_session;

void pl_tts_codec_close(parley_codec *codec)
{
    codec_session *s = (codec_session *)codec;
    parley_allocator allocator = s->model->env.allocator;
    pl_codec_state_close(s->state);
    pl_compute_close(&s->compute);
    pl_release(&allocator, s, 1, sizeof *s);
}

parley_status pl_tts_codec_open(const void *model, const parley_codec_options *options, parley_codec **codec, parley_error *error)
{
    const tts_model *m = model;
    if (!m->network.codec)
        return pl_fail(error, PARLEY_STATE, "the model was opened without a codec");
    codec_session *s = pl_alloc(&m->env.allocator, 1, sizeof *s);
    if (!s)
        return pl_fail_memory(error, "a codec session");
    *s = (codec_session){.base = {&pl_tts_ops_qwen3}, .model = m, .options = *options};
    parley_status status = pl_compute_open(&m->env.allocator, m->env.kernels, m->env.pool, false, &s->compute, error);
    if (status == PARLEY_OK)
        status = pl_codec_state_open(&m->env.allocator, m->network.codec, &s->state, error);
    if (status != PARLEY_OK) {
        pl_tts_codec_close(&s->base);
        return status;
    }
    *codec = &s->base;
    return PARLEY_OK;
}

parley_status pl_tts_codec_decode(parley_codec *codec, const int32_t *codes, size_t frames, float *pcm, parley_error *error)
{
    codec_session *s = (codec_session *)codec;
    pl_tap tap = {s->options.tap, s->options.tap_context};
    if (frames > INT32_MAX)
        return pl_fail(error, PARLEY_LIMIT, "%zu frames in one call, at most %d", frames, INT32_MAX);
    if (s->options.reference_schedule)
        return pl_codec_decode_reference(&s->compute, s->model->network.codec, s->state, codes, (int64_t)frames, pcm, &tap, error);
    return pl_codec_decode(&s->compute, s->model->network.codec, s->state, codes, (int64_t)frames, pcm, &tap, error);
}

/* ------------------------------------------------------------------ references */

void pl_tts_reference_close(parley_reference *reference)
{
    tts_reference *r = (tts_reference *)reference;
    parley_allocator allocator = r->model->env.allocator;
    pl_codec_state_close(r->state);
    pl_release(&allocator, r->codes, (size_t)r->frames * (size_t)r->model->config.codec.groups, sizeof *r->codes);
    pl_release(&allocator, r, 1, sizeof *r);
}

/* In pieces, so that the PCM, of which only the last sample is kept, needs little room. */
static parley_status prime(tts_reference *r, pl_compute *compute, parley_error *error)
{
    enum { AT_ONCE = 16 };
    const pl_codec_decoder *decoder = r->model->network.codec;
    int64_t groups = r->model->config.codec.groups, samples = pl_codec_samples_per_frame(&r->model->config.codec);
    float *pcm = pl_step_floats(compute, AT_ONCE * samples);
    pl_tap quiet = {0};
    if (!pcm)
        return pl_fail_memory(error, "PCM");
    for (int64_t f = 0; f < r->frames; f += AT_ONCE) {
        int64_t count = r->frames - f < AT_ONCE ? r->frames - f : AT_ONCE;
        PL_TRY(pl_codec_decode(compute, decoder, r->state, r->codes + f * groups, count, pcm, &quiet, error));
        r->lead = pcm[count * samples - 1];
    }
    return PARLEY_OK;
}

static parley_status open_reference(tts_reference *r, const int32_t *codes, parley_error *error)
{
    const pl_environment *env = &r->model->env;
    size_t count = (size_t)r->frames * (size_t)r->model->config.codec.groups;
    pl_compute compute;
    r->codes = pl_alloc(&env->allocator, count, sizeof *codes);
    if (!r->codes)
        return pl_fail_memory(error, "a reference");
    for (size_t i = 0; i < count; i++)
        r->codes[i] = codes[i];
    PL_TRY(pl_codec_state_open(&env->allocator, r->model->network.codec, &r->state, error));
    parley_status status = pl_compute_open(&env->allocator, env->kernels, env->pool, false, &compute, error);
    if (status == PARLEY_OK)
        status = prime(r, &compute, error);
    pl_compute_close(&compute);
    return status;
}

parley_status pl_tts_reference_open(const void *model, const int32_t *codes, size_t frames, parley_reference **reference, parley_error *error)
{
    const tts_model *m = model;
    if (!m->network.codec)
        return pl_fail(error, PARLEY_STATE, "the model was opened without a codec");
    if (frames == 0 || frames > INT32_MAX)
        return pl_fail(error, PARLEY_ARGUMENT, "reference codes: %zu frames, expected 1 to %d", frames, INT32_MAX);
    tts_reference *r = pl_alloc(&m->env.allocator, 1, sizeof *r);
    if (!r)
        return pl_fail_memory(error, "a reference");
    *r = (tts_reference){.base = {&pl_tts_ops_qwen3}, .model = m, .frames = (int64_t)frames};
    parley_status status = open_reference(r, codes, error);
    if (status != PARLEY_OK) {
        pl_tts_reference_close(&r->base);
        return status;
    }
    *reference = &r->base;
    return PARLEY_OK;
}
