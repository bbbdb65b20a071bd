#include "models/qwen3_tts/session.h"

#include "base/clock.h"
#include "models/qwen3_tts/voice_file.h"

#include <limits.h>
#include <string.h>

enum { SESSION_CHUNK = 1 << 16, PIECE_CHUNK = 1 << 14 };

/* ------------------------------------------------------------------ defaults */

static parley_sampling sampling_of(bool sample, float temperature, float top_p, int32_t top_k, float penalty)
{
    return (parley_sampling){.temperature = sample ? temperature : 0, .top_p = top_p, .top_k = top_k, .repetition_penalty = penalty};
}

static void options_init(const void *model, parley_tts_options *options)
{
    const tts_model *m = model;
    const tts_config *c = &m->config;
    const tts_generation *g = &c->generation;
    bool base = c->model_type && strcmp(c->model_type, "base") == 0;
    *options = (parley_tts_options){.size = sizeof *options,
                                    .speaker = c->n_speakers ? c->speakers[0].name : NULL,
                                    .language = "auto",
                                    .layout = base ? PARLEY_LAYOUT_STREAMING : PARLEY_LAYOUT_FULL,
                                    .pause_seconds = 0.3,
                                    .speed = 1,
                                    .kv = PARLEY_KV_F16,
                                    .activations = pl_int8_pays(m->env.kernels->level) ? PARLEY_ACTIVATIONS_INT8 : PARLEY_ACTIVATIONS_F32,
                                    .chunk_frames = 8,
                                    .pcm = true};
    options->talker = sampling_of(g->do_sample, g->temperature, g->top_p, g->top_k, g->repetition_penalty);
    options->predictor = sampling_of(g->sub_do_sample, g->sub_temperature, g->sub_top_p, g->sub_top_k, 1);
}

/* ------------------------------------------------------------------ lifetime */

static void session_close(parley_tts *session)
{
    tts_session *s = (tts_session *)session;
    parley_allocator allocator = s->arena.allocator;
    pl_tts_speech_close(s);
    if (s->allocated) {
        pl_kv_free(&s->talker_kv);
        pl_kv_free(&s->predictor_kv);
    }
    pl_compute_close(&s->compute);
    pl_tts_text_close(s);
    pl_arena_free(&s->arena);
    pl_release(&allocator, s, 1, sizeof *s);
}

static pl_type cache_type(parley_kv kv)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    return types[kv];
}

/* What only a session that speaks needs, so that one that waits for its turn is small. */
parley_status pl_tts_allocate(tts_session *s, parley_error *error)
{
    const tts_config *c = &s->model->config;
    const parley_allocator *allocator = &s->arena.allocator;
    if (s->allocated)
        return PARLEY_OK;
    s->hidden = PL_NEW_ARRAY(&s->arena, float, c->talker.width);
    s->next = PL_NEW_ARRAY(&s->arena, float, c->talker.width);
    s->scores = PL_NEW_ARRAY(&s->arena, float, c->codec_vocabulary);
    s->work = PL_NEW_ARRAY(&s->arena, float, c->codec_vocabulary);
    s->seen = PL_NEW_ARRAY(&s->arena, uint8_t, (c->codec_vocabulary + 7) / 8);
    if (!s->hidden || !s->next || !s->scores || !s->work || !s->seen)
        return pl_fail_memory(error, "a session");
    PL_TRY(
        pl_compute_open(allocator, s->model->env.kernels, s->model->env.pool, s->options.activations == PARLEY_ACTIVATIONS_INT8, &s->compute, error));
    if (s->options.pcm)
        PL_TRY(pl_tts_speech_open(s, error));
    pl_transformer_kv(&s->model->network.talker, allocator, cache_type(s->options.kv), c->context_length, &s->talker_kv);
    pl_transformer_kv(&s->model->network.predictor, allocator, PL_F32, c->groups, &s->predictor_kv);
    s->allocated = true;
    return PARLEY_OK;
}

static parley_status session_open(const void *model, const parley_tts_options *options, parley_tts **session, parley_error *error)
{
    const tts_model *m = model;
    if (m->parts != PARLEY_PARTS_ALL && m->parts != PARLEY_PARTS_CLONE)
        return pl_fail(error, PARLEY_STATE, "the model was opened without its talker");
    tts_session *s = pl_alloc(&m->env.allocator, 1, sizeof *s);
    if (!s)
        return pl_fail_memory(error, "a session");
    *s = (tts_session){.base = {&pl_tts_ops_qwen3, m}, .model = m};
    pl_buffer empty = {.allocator = m->env.allocator};
    s->projected = s->codes = s->first_codes = empty;
    pl_arena_init(&s->arena, &m->env.allocator, SESSION_CHUNK);
    pl_arena_init(&s->piece, &m->env.allocator, PIECE_CHUNK);
    parley_status status = pl_tts_take_options(s, options, error);
    if (status != PARLEY_OK) {
        session_close(&s->base);
        return status;
    }
    *session = &s->base;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ text */

/* Of a live text more may come after the speech has ended; nobody hears it. */
static parley_status push_text(parley_tts *session, const char *text, size_t length, parley_error *error)
{
    tts_session *s = (tts_session *)session;
    if (s->text.ended)
        return pl_fail(error, PARLEY_STATE, "the text is finished already");
    if (s->state == TTS_STATE_DONE || s->state == TTS_STATE_FAILED)
        return PARLEY_OK;
    return pl_tts_text_push(s, text, length, error);
}

/* The prompt of a text that is spoken from its end on is made at once, so that its faults are told here. */
static parley_status finish_text(parley_tts *session, parley_error *error)
{
    tts_session *s = (tts_session *)session;
    parley_error local = {0};
    if (s->text.ended)
        return pl_fail(error, PARLEY_STATE, "the text is finished already");
    s->text.ended = true;
    s->waiting = false;
    if (s->options.live_text)
        return PARLEY_OK;
    s->began = pl_seconds();
    parley_status status = pl_tts_text_begin(s, &local);
    s->times.prefill += pl_seconds() - s->began;
    if (status == PARLEY_OK)
        return PARLEY_OK;
    s->state = TTS_STATE_FAILED;
    s->failure = local;
    s->failure.status = status;
    if (error)
        *error = s->failure;
    return status;
}

/* Of all positions that the session may come to hold, in whole blocks; of a cut or live text those of the piece as far as it is known. */
static uint64_t kv_bytes(const parley_tts *session)
{
    const tts_session *s = (const tts_session *)session;
    const tts_config *c = &s->model->config;
    pl_kv talker, predictor;
    pl_transformer_kv(&s->model->network.talker, &s->arena.allocator, cache_type(s->options.kv), c->context_length, &talker);
    pl_transformer_kv(&s->model->network.predictor, &s->arena.allocator, PL_F32, c->groups, &predictor);
    return pl_kv_bytes(&talker, (int64_t)s->prompt.length + s->budget) + pl_kv_bytes(&predictor, c->groups);
}

/* ------------------------------------------------------------------ speech */

static bool is_running(const tts_session *s)
{
    bool begins = s->state == TTS_STATE_TEXT && (s->text.ended || s->options.live_text);
    return (begins || s->state == TTS_STATE_PROMPT || s->state == TTS_STATE_FRAMES) && (!s->waiting || atomic_load(&s->cancelled));
}

static bool waiting(const parley_tts *session)
{
    return ((const tts_session *)session)->waiting;
}

static parley_status failure_of(const tts_session *s, parley_error *error)
{
    if (s->state == TTS_STATE_TEXT && !s->text.ended && !s->options.live_text)
        return pl_fail(error, PARLEY_STATE, "the text is not finished: parley_tts_finish_text() comes first");
    if (s->state != TTS_STATE_FAILED)
        return PARLEY_OK;
    if (error)
        *error = s->failure;
    return s->failure.status;
}

static parley_status pull(parley_tts *session, float *pcm, size_t capacity, size_t *count, parley_error *error)
{
    tts_session *s = (tts_session *)session;
    *count = 0;
    while (pl_tts_speech_ready(s) == 0 && is_running(s))
        pl_tts_advance(&s, 1, INT32_MAX);
    *count = pl_tts_speech_take(s, pcm, capacity);
    return *count ? PARLEY_OK : failure_of(s, error);
}

static parley_status step(parley_tts *const *sessions, size_t count, int32_t prompt_rows, size_t *running, parley_error *errors)
{
    enum { AT_ONCE = 64 };
    parley_status first = PARLEY_OK;
    *running = 0;
    for (size_t i = 0; i < count; i += AT_ONCE) {
        tts_session *some[AT_ONCE];
        size_t n = 0;
        for (size_t j = i; j < count && j < i + AT_ONCE; j++)
            if (is_running((tts_session *)sessions[j]))
                some[n++] = (tts_session *)sessions[j];
        if (n)
            pl_tts_advance(some, n, prompt_rows);
    }
    for (size_t i = 0; i < count; i++) {
        const tts_session *s = (const tts_session *)sessions[i];
        parley_status status = failure_of(s, errors ? &errors[i] : NULL);
        if (first == PARLEY_OK)
            first = status;
        *running += is_running(s);
    }
    return first;
}

static bool wants_preparing(const parley_tts *session)
{
    const tts_session *s = (const tts_session *)session;
    return is_running(s) && (s->state == TTS_STATE_TEXT || (s->state == TTS_STATE_PROMPT && !s->prepared));
}

/* A failure is kept for the step. */
static void prepare(parley_tts *session)
{
    pl_tts_ready_up((tts_session *)session);
}

static size_t ready(const parley_tts *session)
{
    return pl_tts_speech_ready((const tts_session *)session);
}

static void cancel(parley_tts *session)
{
    atomic_store(&((tts_session *)session)->cancelled, true);
}

static void result(const parley_tts *session, parley_tts_result *r)
{
    const tts_session *s = (const tts_session *)session;
    *r = (parley_tts_result){.size = sizeof *r,
                             .finish = s->state == TTS_STATE_DONE ? s->finish : PARLEY_FINISH_NONE,
                             .seed = s->options.seed,
                             .prompt_length = s->prompt.length,
                             .frame_budget = s->budget,
                             .frames = (size_t)s->before + (size_t)s->frames,
                             .codes = s->codes.data,
                             .groups = s->model->config.groups,
                             .text_ids = s->prompt.text_ids.ids,
                             .n_text_ids = s->prompt.text_ids.count,
                             .pieces = s->text.pieces,
                             .samples = s->speech.samples,
                             .kv_bytes = s->talker_kv.high_water + s->predictor_kv.high_water,
                             .times = s->times};
    for (int i = 0; i < 2; i++) {
        r->teacher_choices[i] = s->teacher_choices[i];
        r->teacher_agreed[i] = s->teacher_agreed[i];
    }
    if (r->times.total == 0 && s->began > 0)
        r->times.total = pl_seconds() - s->began;
}

const pl_tts_ops pl_tts_ops_qwen3 = {
    .options_init = options_init,
    .open = session_open,
    .close = session_close,
    .push_text = push_text,
    .finish_text = finish_text,
    .pull = pull,
    .step = step,
    .ready = ready,
    .waiting = waiting,
    .kv_bytes = kv_bytes,
    .wants_preparing = wants_preparing,
    .prepare = prepare,
    .cancel = cancel,
    .result = result,
    .codec_open = pl_tts_codec_open,
    .codec_close = pl_tts_codec_close,
    .codec_decode = pl_tts_codec_decode,
    .speaker_find = pl_tts_speaker_find,
    .reference_open = pl_tts_reference_open,
    .reference_close = pl_tts_reference_close,
    .voice_vector = pl_tts_voice_vector,
    .codec_encode = pl_tts_codec_encode,
    .reference_cut = pl_codec_cut,
    .voice_files = &pl_voice_files_qwen3,
};
