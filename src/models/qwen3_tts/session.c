#include "models/qwen3_tts/session.h"

#include "base/clock.h"
#include "models/qwen3_tts/budget.h"
#include "models/qwen3_tts/voice_file.h"
#include "text/strings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SESSION_CHUNK = 1 << 16, MOST_TEXT = 16 << 20 };

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
    pl_tts_prompt_free(&s->prompt);
    pl_kv_free(&s->talker_kv);
    pl_kv_free(&s->predictor_kv);
    pl_compute_close(&s->compute);
    pl_release(&allocator, s->text, s->text_capacity, 1);
    pl_arena_free(&s->arena);
    pl_release(&allocator, s, 1, sizeof *s);
}

static pl_type cache_type(parley_kv kv)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    return types[kv];
}

static parley_status allocate(tts_session *s, parley_error *error)
{
    const tts_config *c = &s->model->config;
    const parley_allocator *allocator = &s->arena.allocator;
    pl_transformer_kv(&s->model->network.talker, allocator, cache_type(s->options.kv), c->context_length, &s->talker_kv);
    pl_transformer_kv(&s->model->network.predictor, allocator, PL_F32, c->groups, &s->predictor_kv);
    s->hidden = PL_NEW_ARRAY(&s->arena, float, c->talker.width);
    s->next = PL_NEW_ARRAY(&s->arena, float, c->talker.width);
    s->scores = PL_NEW_ARRAY(&s->arena, float, c->codec_vocabulary);
    s->work = PL_NEW_ARRAY(&s->arena, float, c->codec_vocabulary);
    s->seen = PL_NEW_ARRAY(&s->arena, uint8_t, (c->codec_vocabulary + 7) / 8);
    if (!s->hidden || !s->next || !s->scores || !s->work || !s->seen)
        return pl_fail_memory(error, "a session");
    PL_TRY(
        pl_compute_open(allocator, s->model->env.kernels, s->model->env.pool, s->options.activations == PARLEY_ACTIVATIONS_INT8, &s->compute, error));
    return s->options.pcm ? pl_tts_speech_open(s, error) : PARLEY_OK;
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
    pl_arena_init(&s->arena, &m->env.allocator, SESSION_CHUNK);
    parley_status status = pl_tts_take_options(s, options, error);
    if (status == PARLEY_OK)
        status = allocate(s, error);
    if (status != PARLEY_OK) {
        session_close(&s->base);
        return status;
    }
    *session = &s->base;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ text */

static parley_status push_text(parley_tts *session, const char *text, size_t length, parley_error *error)
{
    tts_session *s = (tts_session *)session;
    if (s->state != TTS_STATE_TEXT)
        return pl_fail(error, PARLEY_STATE, "the text is finished already");
    if (length > MOST_TEXT - s->text_length)
        return pl_fail(error, PARLEY_LIMIT, "the text has more than %d bytes", MOST_TEXT);
    size_t wanted = s->text_length + length;
    if (wanted > s->text_capacity) {
        size_t capacity = wanted * 2;
        char *grown = pl_alloc(&s->arena.allocator, capacity, 1);
        if (!grown)
            return pl_fail_memory(error, "a text");
        if (s->text_length)
            memcpy(grown, s->text, s->text_length);
        pl_release(&s->arena.allocator, s->text, s->text_capacity, 1);
        s->text = grown;
        s->text_capacity = capacity;
    }
    if (length)
        memcpy(s->text + s->text_length, text, length);
    s->text_length = wanted;
    return PARLEY_OK;
}

/* What is not UTF-8 is not blank: the prompt tells where. */
static bool is_blank(const char *text, size_t length)
{
    return pl_utf8_check(text, length) == length && pl_trim((pl_span){text, length}).length == 0;
}

/* A teacher says how many frames there are; otherwise the caller's number or the budget from the text. */
static int32_t frame_budget(const tts_session *s)
{
    const parley_tts_options *o = &s->options;
    int32_t budget =
        o->budget == PARLEY_BUDGET_FRAMES ? o->max_frames : pl_tts_frame_budget(s->prompt.text_length, s->model->config.generation.max_new_tokens);
    if (o->teacher && (o->budget == PARLEY_BUDGET_TEXT || o->teacher_frames < (size_t)budget))
        budget = (int32_t)o->teacher_frames;
    return budget;
}

/* The last frame's position is prompt + budget - 1; one more step decides between stop and length. */
static parley_status check_limit(tts_session *s, parley_error *error)
{
    s->budget = frame_budget(s);
    int64_t wanted = (int64_t)s->prompt.length + s->budget;
    if (wanted > s->model->config.context_length)
        return pl_fail(error, PARLEY_LIMIT, "the prompt of %" PRId32 " positions and %" PRId32 " frames make %" PRId64 ", the model has %" PRId32,
                       s->prompt.length, s->budget, wanted, s->model->config.context_length);
    return PARLEY_OK;
}

static parley_status project(tts_session *s, parley_error *error)
{
    const tts_model *m = s->model;
    int64_t count = (int64_t)s->prompt.projected.count, width = m->config.talker.width;
    int64_t rows = (int64_t)s->budget + 1;
    s->projected = PL_NEW_ARRAY(&s->arena, float, count *width);
    s->codes = PL_NEW_ARRAY(&s->arena, int32_t, rows * m->config.groups);
    s->first_codes = PL_NEW_ARRAY(&s->arena, int32_t, rows);
    if (!s->projected || !s->codes || !s->first_codes)
        return pl_fail_memory(error, "a prompt");
    return pl_tts_project_text(&s->compute, &m->network, &m->config, s->prompt.projected.ids, count, s->projected, error);
}

static void tap_ids(const tts_session *s, const char *name, const pl_ids *ids)
{
    if (ids->count)
        pl_tap_ids(&s->tap, name, ids->ids, (int64_t)ids->count, 0);
}

static parley_status tap_prompt(tts_session *s, parley_error *error)
{
    if (!s->tap.call)
        return PARLEY_OK;
    int width = s->model->config.talker.width;
    float *rows = PL_NEW_ARRAY(&s->arena, float, (int64_t)s->prompt.n_trailing *width);
    if (!rows)
        return pl_fail_memory(error, "a debug tap");
    for (int32_t i = 0; i < s->prompt.n_trailing; i++)
        memcpy(rows + (int64_t)i * width, s->projected + (int64_t)s->prompt.trailing[i] * width, (size_t)width * sizeof *rows);
    tap_ids(s, "text_ids", &s->prompt.text_ids);
    tap_ids(s, "instruct_ids", &s->prompt.instruct_ids);
    tap_ids(s, "ref_ids", &s->prompt.ref_ids);
    pl_tap_floats(&s->tap, "trailing", rows, s->prompt.n_trailing, width);
    if (s->voice.xvector)
        pl_tap_floats(&s->tap, "x_vector", s->voice.xvector, width, 0);
    if (s->voice.ref_codes)
        pl_tap_ids(&s->tap, "ref_codes", s->voice.ref_codes, s->voice.ref_frames, s->model->config.groups);
    return PARLEY_OK;
}

static parley_status prepare(tts_session *s, parley_error *error)
{
    const tts_model *m = s->model;
    if (!s->options.allow_empty && is_blank(s->text, s->text_length))
        return pl_fail(error, PARLEY_ARGUMENT, "the text is empty%s", s->text_length ? " (white space only)" : "");
    tts_prompt_input input = {.config = &m->config,
                              .tokenizer = m->tokenizer,
                              .tokenizing = {.added_tokens = s->options.special_tokens, .splitter = m->env.splitter},
                              .text = {s->text ? s->text : "", s->text_length},
                              .instruct = s->options.instruct,
                              .language = s->language,
                              .layout = s->options.layout,
                              .voice = s->voice};
    pl_tts_prompt_free(&s->prompt);
    PL_TRY(pl_tts_prompt_build(&s->arena, &input, &s->prompt, error));
    PL_TRY(check_limit(s, error));
    PL_TRY(project(s, error));
    return tap_prompt(s, error);
}

static parley_status finish_text(parley_tts *session, parley_error *error)
{
    tts_session *s = (tts_session *)session;
    parley_error local = {0};
    if (s->state != TTS_STATE_TEXT)
        return pl_fail(error, PARLEY_STATE, "the text is finished already");
    s->began = pl_seconds();
    parley_status status = prepare(s, &local);
    s->times.prefill += pl_seconds() - s->began;
    s->state = status == PARLEY_OK ? TTS_STATE_PROMPT : TTS_STATE_FAILED;
    s->failure = local;
    if (status != PARLEY_OK && error)
        *error = local;
    return status;
}

/* ------------------------------------------------------------------ speech */

static bool is_running(const tts_session *s)
{
    return s->state == TTS_STATE_PROMPT || s->state == TTS_STATE_FRAMES;
}

static parley_status failure_of(const tts_session *s, parley_error *error)
{
    if (s->state == TTS_STATE_TEXT)
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
        pl_tts_advance(&s, 1);
    *count = pl_tts_speech_take(s, pcm, capacity);
    return *count ? PARLEY_OK : failure_of(s, error);
}

static parley_status step(parley_tts *const *sessions, size_t count, size_t *running, parley_error *errors)
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
            pl_tts_advance(some, n);
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
                             .finish = s->finish,
                             .seed = s->options.seed,
                             .prompt_length = s->prompt.length,
                             .frame_budget = s->budget,
                             .frames = (size_t)s->frames,
                             .codes = s->codes,
                             .groups = s->model->config.groups,
                             .text_ids = s->prompt.text_ids.ids,
                             .n_text_ids = s->prompt.text_ids.count,
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
