/* Codes to PCM without a talker: the session behind parley_codec. */
#include "models/qwen3_tts/family.h"

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
