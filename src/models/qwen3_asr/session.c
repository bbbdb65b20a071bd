#include "models/qwen3_asr/stream.h"

#include "audio/segment.h"
#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SESSION_CHUNK = 1 << 16, JOIN_CHUNK = 1 << 12, MOST_BATCH = 64, MOST_SECONDS = 24 * 3600 };
static const double longest_segment = 1200; /* seconds: the reference's own limit */

/* Of the published models with 16-bit caches one segment of 120 s, four of 30 s, or as many as the batch allows of 10 s. */
static const uint64_t most_cached = 280u << 20;

/* ------------------------------------------------------------------ lifetime */

static void options_init(const void *model, parley_asr_options *options)
{
    const asr_model *m = model;
    *options = (parley_asr_options){.size = sizeof *options,
                                    .language = "auto",
                                    .context = "",
                                    .speech_gate = true,
                                    .segment_seconds = 120,
                                    .kv = PARLEY_KV_F16,
                                    .batch = 4,
                                    .stream_chunk_seconds = 2,
                                    .stream_segment_seconds = 30,
                                    .stream_unfixed_chunks = 2,
                                    .stream_rollback = 5,
                                    .activations = pl_int8_pays(m->env.kernels->level) ? PARLEY_ACTIVATIONS_INT8 : PARLEY_ACTIVATIONS_F32};
}

static void session_close(parley_asr *session)
{
    asr_session *s = (asr_session *)session;
    parley_allocator allocator = s->arena.allocator;
    pl_asr_drop_ahead(s);
    for (int i = 0; i < s->n_segments; i++) {
        asr_segment *g = &s->segments[i];
        pl_asr_release(s, g);
        pl_asr_release_tokens(s, g);
        pl_release(&allocator, g->heard.tokens, (size_t)g->heard.budget, sizeof *g->heard.tokens);
        pl_release(&allocator, g->heard.logprobs, (size_t)g->heard.budget, sizeof *g->heard.logprobs);
    }
    pl_release(&allocator, s->segments, (size_t)s->room, sizeof *s->segments);
    pl_release(&allocator, s->results, (size_t)s->room, sizeof *s->results);
    pl_asr_stream_close(s);
    pl_release(&allocator, s->pcm, s->capacity, sizeof *s->pcm);
    pl_compute_close(&s->compute);
    pl_compute_close(&s->ahead.own);
    pl_arena_free(&s->joining);
    pl_arena_free(&s->arena);
    pl_release(&allocator, s, 1, sizeof *s);
}

static parley_status check_options(const asr_session *s, parley_error *error)
{
    const parley_asr_options *o = &s->options;
    if (!(o->segment_seconds >= 1 && o->segment_seconds <= longest_segment))
        return pl_fail(error, PARLEY_ARGUMENT, "segment: %g s, expected 1 to %g", o->segment_seconds, longest_segment);
    if (o->budget == PARLEY_TOKENS_GIVEN && o->max_tokens < 1)
        return pl_fail(error, PARLEY_ARGUMENT, "max tokens: %" PRId32 ", expected at least 1", o->max_tokens);
    if (o->batch < 1 || o->batch > MOST_BATCH)
        return pl_fail(error, PARLEY_ARGUMENT, "batch: %" PRId32 ", expected 1 to %d", o->batch, MOST_BATCH);
    if (o->attention > PARLEY_ATTENTION_FULL || o->join > PARLEY_JOIN_NONE || o->kv > PARLEY_KV_Q8_0 || o->activations > PARLEY_ACTIVATIONS_INT8
        || o->budget > PARLEY_TOKENS_GIVEN)
        return pl_fail(error, PARLEY_ARGUMENT, "attention, join, kv, activations or budget: %d, %d, %d, %d, %d: one is not in its list",
                       (int)o->attention, (int)o->join, (int)o->kv, (int)o->activations, (int)o->budget);
    if (o->kv == PARLEY_KV_Q8_0 && s->model->config.text.head % 32 != 0)
        return pl_fail(error, PARLEY_ARGUMENT, "a q8_0 cache needs a head dimension that 32 divides, this model has %d", s->model->config.text.head);
    return PARLEY_OK;
}

static parley_status take_teacher(asr_session *s, const parley_asr_options *o, parley_error *error)
{
    int32_t rows = s->model->config.head_rows;
    if (!o->teacher)
        return PARLEY_OK;
    if (o->stream)
        return pl_fail(error, PARLEY_ARGUMENT, "a teacher was given, a stream takes none");
    int32_t *copy = PL_NEW_ARRAY(&s->arena, int32_t, o->n_teacher);
    if (!copy)
        return pl_fail_memory(error, "a teacher's ids");
    for (size_t i = 0; i < o->n_teacher; i++) {
        if (o->teacher[i] < 0 || o->teacher[i] >= rows)
            return pl_fail(error, PARLEY_ARGUMENT, "teacher id %zu is %" PRId32 ", expected 0 to %" PRId32, i, o->teacher[i], rows - 1);
        copy[i] = o->teacher[i];
    }
    s->teacher = copy;
    return PARLEY_OK;
}

static parley_status take_options(asr_session *s, const parley_asr_options *options, parley_error *error)
{
    const char *language = options->language ? options->language : "auto", *context = options->context ? options->context : "";
    s->options = *options;
    PL_TRY(check_options(s, error));
    PL_TRY(pl_language_find((pl_span){language, strlen(language)}, &s->language, error));
    s->context = (pl_span){pl_arena_text(&s->arena, context, strlen(context)), strlen(context)};
    if (!s->context.text)
        return pl_fail_memory(error, "a context");
    size_t bad = pl_utf8_check(s->context.text, s->context.length);
    if (bad < s->context.length)
        return pl_fail_at(error, PARLEY_FORMAT, bad, "the context is no valid UTF-8 at byte %zu", bad);
    PL_TRY(take_teacher(s, options, error));
    s->tap = (pl_tap){options->tap, options->tap_context};
    const pl_environment *env = &s->model->env;
    return pl_compute_open(&env->allocator, env->kernels, env->pool, options->activations == PARLEY_ACTIVATIONS_INT8, &s->compute, error);
}

static parley_status session_open(const void *model, const parley_asr_options *options, parley_asr **session, parley_error *error)
{
    const asr_model *m = model;
    if (m->parts == PARLEY_PARTS_TEXT)
        return pl_fail(error, PARLEY_STATE, "the model was opened as a tokenizer alone");
    if (m->config.aligner)
        return pl_fail(error, PARLEY_FAMILY, "this model is an aligner: it finds the times of a text, it does not transcribe");
    asr_session *s = pl_alloc(&m->env.allocator, 1, sizeof *s);
    if (!s)
        return pl_fail_memory(error, "a session");
    *s = (asr_session){.base = {&pl_asr_ops_qwen3, m}, .model = m, .most_cached = most_cached};
    pl_arena_init(&s->arena, &m->env.allocator, SESSION_CHUNK);
    pl_arena_init(&s->joining, &m->env.allocator, JOIN_CHUNK);
    parley_status status = take_options(s, options, error);
    if (status == PARLEY_OK && options->stream)
        status = pl_asr_stream_open(s, error);
    if (status != PARLEY_OK) {
        session_close(&s->base);
        return status;
    }
    *session = &s->base;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ sound */

static parley_status failure_of(const asr_session *s, parley_error *error)
{
    if (s->state != ASR_STATE_FAILED)
        return PARLEY_OK;
    if (error)
        *error = s->failure;
    return s->failure.status;
}

/* Room for `wanted` samples, of which `held` are there. */
static parley_status grow(asr_session *s, size_t held, size_t wanted, parley_error *error)
{
    if (wanted <= s->capacity)
        return PARLEY_OK;
    size_t capacity = s->capacity * 2 > wanted ? s->capacity * 2 : wanted;
    float *pcm = pl_alloc(&s->arena.allocator, capacity, sizeof *pcm);
    if (!pcm)
        return pl_fail_memory(error, "a sound");
    if (held)
        memcpy(pcm, s->pcm, held * sizeof *pcm);
    pl_release(&s->arena.allocator, s->pcm, s->capacity, sizeof *s->pcm);
    s->pcm = pcm;
    s->capacity = capacity;
    return PARLEY_OK;
}

static parley_status push(parley_asr *session, const float *pcm, size_t samples, parley_error *error)
{
    asr_session *s = (asr_session *)session;
    const size_t most = (size_t)MOST_SECONDS * PARLEY_ASR_RATE, held = s->stream ? pl_asr_stream_make_room(s) : s->samples;
    if (s->state == ASR_STATE_FAILED)
        return failure_of(s, error);
    if (s->state != ASR_STATE_SOUND)
        return pl_fail(error, PARLEY_STATE, "the sound is finished already");
    if (samples > most - held)
        return pl_fail(error, PARLEY_LIMIT, "the sound is longer than %d s", MOST_SECONDS);
    for (size_t i = 0; i < samples; i++)
        if (!isfinite(pcm[i]))
            return pl_fail_at(error, PARLEY_VALUE, s->samples + i, "sample %zu is not finite", s->samples + i);
    PL_TRY(grow(s, held, held + samples, error));
    if (samples)
        memcpy(s->pcm + held, pcm, samples * sizeof *pcm);
    if (s->stream && samples)
        pl_asr_stream_pushed(s, samples);
    s->samples += samples;
    return PARLEY_OK;
}

static parley_status finish(parley_asr *session, parley_error *error)
{
    asr_session *s = (asr_session *)session;
    if (s->state != ASR_STATE_SOUND)
        return pl_fail(error, PARLEY_STATE, "the sound is finished already");
    if (s->samples == 0)
        return pl_fail(error, PARLEY_ARGUMENT, "the sound has no samples");
    if (s->stream) {
        s->state = ASR_STATE_RUNNING;
        return PARLEY_OK;
    }
    s->began = pl_seconds();
    pl_level(s->pcm, (int64_t)s->samples);
    PL_TRY(pl_asr_cut(s, error));
    s->state = ASR_STATE_RUNNING;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ steps */

static parley_status state_of(const asr_session *s, parley_error *error)
{
    if (s->stream && !s->stepped)
        return pl_fail(error, PARLEY_STATE, "the session is a stream: parley_asr_poll() advances it");
    if (!s->stream && s->state == ASR_STATE_SOUND)
        return pl_fail(error, PARLEY_STATE, "the sound is not finished: parley_asr_finish() comes first");
    return failure_of(s, error);
}

/* A whole sound between its parts needs nothing but the step; a stream has something to step when it has been asked. */
static bool takes_part(const asr_session *s)
{
    return s->stream ? pl_asr_runs(s) && s->stream->stage == ASR_STREAM_ASKED : s->state == ASR_STATE_RUNNING;
}

static parley_status poll(parley_asr *session, parley_asr_update *update, bool *got, parley_error *error)
{
    asr_session *s = (asr_session *)session;
    *got = false;
    if (!s->stream)
        return pl_fail(error, PARLEY_STATE, "the session is no stream: parley_asr_step() advances it");
    while (takes_part(s) || pl_asr_stream_wants(s))
        if (takes_part(s))
            pl_asr_advance(&s, 1, INT32_MAX);
        else
            pl_asr_stream_prepare(s);
    PL_TRY(failure_of(s, error));
    *got = pl_asr_stream_take_update(s, update);
    return PARLEY_OK;
}

static parley_status step(parley_asr *const *sessions, size_t count, int32_t prompt_rows, size_t *running, parley_error *errors)
{
    enum { AT_ONCE = 64 };
    parley_status first = PARLEY_OK;
    *running = 0;
    for (size_t i = 0; i < count; i += AT_ONCE) {
        asr_session *some[AT_ONCE];
        size_t n = 0;
        for (size_t j = i; j < count && j < i + AT_ONCE; j++) {
            asr_session *s = (asr_session *)sessions[j];
            s->stepped = takes_part(s);
            if (s->stepped)
                some[n++] = s;
        }
        if (n)
            pl_asr_advance(some, n, prompt_rows);
    }
    for (size_t i = 0; i < count; i++) {
        parley_status status = state_of((const asr_session *)sessions[i], errors ? &errors[i] : NULL);
        if (first == PARLEY_OK)
            first = status;
        *running += takes_part((const asr_session *)sessions[i]);
    }
    return first;
}

static bool can_step(const parley_asr *session)
{
    const asr_session *s = (const asr_session *)session;
    return s->state == ASR_STATE_FAILED || (s->stream ? takes_part(s) : pl_asr_running(s) > 0);
}

static bool wants_preparing(parley_asr *session)
{
    asr_session *s = (asr_session *)session;
    if (s->stream)
        return pl_asr_stream_wants(s);
    bool wants = pl_asr_pick(s);
    pl_asr_settle(s);
    return wants;
}

/* Failures are kept for the step. */
static void prepare(parley_asr *session)
{
    asr_session *s = (asr_session *)session;
    const pl_environment *env = &s->model->env;
    if (s->stream) {
        pl_asr_stream_prepare(s);
        return;
    }
    asr_ahead *a = &s->ahead;
    if (!a->own.k)
        a->status = pl_compute_open(&env->allocator, env->kernels, env->pool, s->compute.int8, &a->own, &a->error);
    if (a->status == PARLEY_OK)
        pl_asr_run_ahead(s, &a->own);
    a->encoded = true;
}

static bool take_update(parley_asr *session, parley_asr_update *update)
{
    asr_session *s = (asr_session *)session;
    return s->stream && pl_asr_stream_take_update(s, update);
}

static parley_status kv_bytes(const parley_asr *session, uint64_t *bytes, parley_error *error)
{
    return pl_asr_kv_bytes((const asr_session *)session, bytes, error);
}

static void cancel(parley_asr *session)
{
    atomic_store(&((asr_session *)session)->cancelled, true);
}

/* ------------------------------------------------------------------ result */

static parley_status join_in(const asr_session *s, int count, pl_arena *arena, const char **joined, const char **named)
{
    pl_span *texts = PL_NEW_ARRAY(arena, pl_span, count), *languages = PL_NEW_ARRAY(arena, pl_span, count), text, language;
    if (!texts || !languages)
        return PARLEY_MEMORY;
    for (int i = 0; i < count; i++) {
        const parley_asr_segment *r = &s->segments[i].result;
        texts[i] = (pl_span){r->text, strlen(r->text)};
        languages[i] = (pl_span){r->language, strlen(r->language)};
    }
    pl_join how = s->options.join == PARLEY_JOIN_NONE ? PL_JOIN_NONE : PL_JOIN_SPACE;
    PL_TRY(pl_texts_join(arena, texts, (size_t)count, how, &text, NULL));
    PL_TRY(pl_languages_join(arena, languages, (size_t)count, &language, NULL));
    *joined = pl_arena_text(arena, text.text, text.length);
    *named = pl_arena_text(arena, language.text, language.length);
    return *joined && *named ? PARLEY_OK : PARLEY_MEMORY;
}

/* Texts and languages of the segments that are done, from the first on without a gap. They are made anew as segments are added, in memory of their
 * own: of a long sound the older ones would add up. Out of memory they stay as they were. */
static void join(asr_session *s, int count)
{
    pl_arena fresh;
    const char *text, *language;
    pl_arena_init(&fresh, &s->arena.allocator, JOIN_CHUNK);
    if (join_in(s, count, &fresh, &text, &language) != PARLEY_OK) {
        pl_arena_free(&fresh);
        return;
    }
    pl_arena_free(&s->joining);
    s->joining = fresh;
    s->text = text;
    s->joined_language = language;
    s->joined = count;
}

static parley_finish finish_of(const asr_session *s, int count)
{
    parley_finish worst = PARLEY_FINISH_STOP;
    if (s->state == ASR_STATE_SOUND || s->state == ASR_STATE_RUNNING)
        return PARLEY_FINISH_NONE;
    if (s->stream)
        return pl_asr_stream_finish(s);
    for (int i = 0; i < count; i++)
        if (s->segments[i].result.finish > worst)
            worst = s->segments[i].result.finish;
    return worst;
}

/* Of a segment's work the prompt is about one half, the answer the other; speech gives 3 to 5 tokens a second (spec/qwen3_asr.md 4.5). */
static double part_heard(const asr_segment *g)
{
    double wanted = 4.0 * (double)g->samples / PARLEY_ASR_RATE, said = g->n_tokens / wanted;
    if (g->stage == ASR_PROMPT)
        return 0.5 * (double)g->kv.length / (double)g->length;
    return g->stage == ASR_TOKENS ? 0.5 + 0.5 * (said < 1 ? said : 1) : g->stage == ASR_DONE;
}

static double heard_seconds(const asr_session *s)
{
    double samples = s->oldest < s->n_segments ? (double)s->segments[s->oldest].first : (double)s->samples;
    if (s->stream)
        return pl_asr_stream_heard(s);
    for (int i = s->oldest; i < s->begun; i++)
        samples += part_heard(&s->segments[i]) * (double)s->segments[i].samples;
    return s->n_segments ? samples / PARLEY_ASR_RATE : 0;
}

static void result(parley_asr *session, parley_asr_result *r)
{
    asr_session *s = (asr_session *)session;
    int count = 0;
    bool spaced = false; /* as the texts so far end */
    for (; count < s->n_segments && s->segments[count].stage == ASR_DONE; count++) {
        parley_asr_segment *to = &s->results[count];
        *to = s->segments[count].result;
        pl_span text = {to->text, strlen(to->text)};
        to->spaced = spaced && pl_text_spaced_before(text);
        spaced = text.length ? pl_text_spaced_behind(text) : spaced;
    }
    if (count > s->joined)
        join(s, count);
    *r = (parley_asr_result){.size = sizeof *r,
                             .text = s->text ? s->text : "",
                             .language = s->joined_language ? s->joined_language : "",
                             .finish = finish_of(s, count),
                             .audio_seconds = (double)s->samples / PARLEY_ASR_RATE,
                             .heard_seconds = heard_seconds(s),
                             .segments = s->results,
                             .n_segments = (size_t)count,
                             .kv_bytes = s->kv_bytes,
                             .teacher_choices = s->teacher_choices,
                             .teacher_agreed = s->teacher_agreed,
                             .times = s->times};
    if (r->times.total == 0 && s->began > 0)
        r->times.total = pl_seconds() - s->began;
}

static const float *sound(const parley_asr *session, size_t *samples)
{
    const asr_session *s = (const asr_session *)session;
    bool is_finished = !s->stream && s->state != ASR_STATE_SOUND;
    *samples = is_finished ? s->samples : 0;
    return is_finished ? s->pcm : NULL;
}

const pl_asr_ops pl_asr_ops_qwen3 = {
    .options_init = options_init,
    .open = session_open,
    .close = session_close,
    .push = push,
    .finish = finish,
    .step = step,
    .poll = poll,
    .can_step = can_step,
    .wants_preparing = wants_preparing,
    .prepare = prepare,
    .take_update = take_update,
    .kv_bytes = kv_bytes,
    .cancel = cancel,
    .result = result,
    .sound = sound,
    .align_options_init = pl_asr_align_options_init,
    .align = pl_asr_align,
    .align_kv_bytes = pl_asr_align_kv_bytes,
};
