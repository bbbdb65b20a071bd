/* Requests of speech. */
#include "engine/engine.h"

#include "base/clock.h"

#include <string.h>

static const pl_tts_ops *tts(const parley_request *r)
{
    return r->engine->model->family->tts;
}

/* ------------------------------------------------------------------ the caller's side */

parley_status pl_engine_speak(parley_engine *e, const parley_tts_options *options, const parley_request_options *request_options,
                              parley_request **request, parley_error *error)
{
    parley_request *r;
    PL_TRY(pl_request_new(e, &pl_speak_ops, request_options, &r, error));
    r->speak.text.allocator = e->allocator;
    parley_status status = tts(r)->open(e->model->state, options, &r->speak.session, error);
    if (status != PARLEY_OK) {
        pl_request_release(r);
        return status;
    }
    r->speak.live = options->live_text;
    *request = r;
    return PARLEY_OK;
}

static parley_status check_push(const parley_request *r, size_t length, parley_error *error)
{
    if (r->ops != &pl_speak_ops)
        return pl_fail(error, PARLEY_STATE, "the request takes no text");
    if (r->input_ended)
        return pl_fail(error, PARLEY_STATE, "the text is finished already");
    if (r->state == PARLEY_REQUEST_ENDED)
        return pl_fail(error, PARLEY_STATE, "the request has ended");
    if (length > r->engine->options.text_bytes - r->speak.pushed)
        return pl_fail(error, PARLEY_LIMIT, "the text has more than %zu bytes", r->engine->options.text_bytes);
    return PARLEY_OK;
}

/* Live text waits here until the engine's thread gives it to the session. */
static parley_status push_live(parley_request *r, const char *text, size_t length, parley_error *error)
{
    pl_speak *s = &r->speak;
    PL_TRY(pl_buffer_reserve(&s->text, s->waiting + length, 1, s->waiting, error));
    if (length)
        memcpy((char *)s->text.data + s->waiting, text, length);
    s->waiting += length;
    pl_engine_wake(r->engine);
    return PARLEY_OK;
}

parley_status pl_request_push_text(parley_request *r, const char *text, size_t length, parley_error *error)
{
    pl_lock_take(&r->engine->lock);
    parley_status status = check_push(r, length, error);
    if (status == PARLEY_OK)
        status = r->speak.live ? push_live(r, text, length, error) : tts(r)->push_text(r->speak.session, text, length, error);
    if (status == PARLEY_OK)
        r->speak.pushed += length;
    bool first = status == PARLEY_OK && r->speak.live && r->state == PARLEY_REQUEST_OPEN && r->speak.pushed > 0;
    pl_lock_give(&r->engine->lock);
    return first ? pl_request_queue(r, error) : status;
}

parley_status pl_request_finish_text(parley_request *r, parley_error *error)
{
    pl_lock_take(&r->engine->lock);
    parley_status status = check_push(r, 0, error);
    bool live = status == PARLEY_OK && r->speak.live, queued = r->state != PARLEY_REQUEST_OPEN;
    if (status == PARLEY_OK) {
        r->input_ended = true;
        pl_engine_wake(r->engine);
        pl_request_enter(r);
    }
    pl_lock_give(&r->engine->lock);
    if (status != PARLEY_OK)
        return status;
    if (!live) /* nobody else knows the session yet */
        status = tts(r)->finish_text(r->speak.session, error);
    pl_request_leave(r);
    return status == PARLEY_OK && !queued ? pl_request_queue(r, error) : status;
}

/* ------------------------------------------------------------------ the engine's side */

static void note_first_audio(parley_request *r)
{
    parley_engine_figures *f = &r->engine->figures;
    int bucket = 0;
    r->first_audio_at = pl_seconds();
    double seconds = r->first_audio_at - r->queued_at;
    while (seconds > parley_latency_bounds()[bucket])
        bucket++;
    f->first_audio[bucket]++;
    f->first_audio_count++;
    f->first_audio_seconds += seconds;
}

/* Takes PCM that is ready as far as the reader's buffer has room. */
static parley_status take_pcm(parley_request *r, parley_error *error)
{
    size_t ready = tts(r)->ready(r->speak.session), most = r->engine->pcm_samples, room = most > r->filling.count ? most - r->filling.count : 0;
    size_t count = ready < room ? ready : room;
    if (count == 0)
        return PARLEY_OK;
    pl_pcm *to = &r->filling;
    PL_TRY(pl_buffer_reserve(&to->samples, to->count + count, sizeof(float), to->count * sizeof(float), error));
    PL_TRY(tts(r)->pull(r->speak.session, (float *)to->samples.data + to->count, count, &count, error));
    to->frames = to->count ? to->frames : r->frames;
    to->count += count;
    r->samples += count;
    r->engine->figures.speech_seconds += (double)count / r->engine->model->family->info(r->engine->model->state)->sample_rate;
    if (r->first_audio_at == 0)
        note_first_audio(r);
    r->news = true;
    return PARLEY_OK;
}

static void settle(parley_request *r)
{
    parley_tts_result result;
    parley_error error;
    tts(r)->result(r->speak.session, &result);
    r->engine->figures.frames += result.frames > r->frames ? result.frames - r->frames : 0;
    r->frames = result.frames;
    parley_status status = take_pcm(r, &error);
    if (status != PARLEY_OK)
        pl_request_end(r, status, &error, PARLEY_FINISH_NONE);
    else if (r->failure.status != PARLEY_OK)
        pl_request_end(r, r->failure.status, &r->failure, PARLEY_FINISH_NONE);
    else if (result.finish != PARLEY_FINISH_NONE && tts(r)->ready(r->speak.session) == 0)
        pl_request_end(r, PARLEY_OK, NULL, result.finish);
}

/* Gives the session the live text that has come. A failure ends the request when it is settled. */
static void feed(parley_request *r)
{
    pl_speak *s = &r->speak;
    parley_status status = PARLEY_OK;
    parley_error error;
    if (s->waiting)
        status = tts(r)->push_text(s->session, s->text.data, s->waiting, &error);
    s->waiting = 0;
    if (status == PARLEY_OK && r->input_ended && !s->told_end) {
        s->told_end = true;
        status = tts(r)->finish_text(s->session, &error);
    }
    if (status != PARLEY_OK) {
        r->failure = error;
        r->engine->version++;
    }
}

static bool wants_job(parley_request *r)
{
    if (r->speak.live)
        feed(r);
    return r->failure.status == PARLEY_OK && tts(r)->ready(r->speak.session) == 0 && tts(r)->wants_preparing(r->speak.session);
}

static void job(parley_request *r)
{
    tts(r)->prepare(r->speak.session);
}

/* A reader that lags leaves PCM in the session. */
static bool can_step(parley_request *r)
{
    r->speak.lacks_text = tts(r)->waiting(r->speak.session);
    return r->failure.status == PARLEY_OK && tts(r)->ready(r->speak.session) == 0 && !r->speak.lacks_text;
}

static uint64_t kv_bytes(parley_request *r)
{
    return tts(r)->kv_bytes(r->speak.session);
}

static void cancel(parley_request *r)
{
    if (r->speak.session)
        tts(r)->cancel(r->speak.session);
}

/* The codes without the session, whose memory goes back at once; without room for them there are none. */
static void keep(parley_request *r)
{
    pl_speak *s = &r->speak;
    tts(r)->result(s->session, &s->result);
    size_t count = s->result.frames * (size_t)s->result.groups;
    s->codes = count ? pl_alloc(&r->engine->allocator, count, sizeof *s->codes) : NULL;
    if (s->codes)
        memcpy(s->codes, s->result.codes, count * sizeof *s->codes);
    else
        s->result.frames = 0;
    s->result.codes = s->codes;
    s->result.text_ids = NULL;
    s->result.n_text_ids = 0;
    s->result.finish = r->finish;
    tts(r)->close(s->session);
    s->session = NULL;
    pl_buffer_free(&s->text);
}

static void close_speak(parley_request *r)
{
    pl_speak *s = &r->speak;
    if (s->session)
        tts(r)->close(s->session);
    pl_buffer_free(&s->text);
    pl_release(&r->engine->allocator, s->codes, s->result.frames * (size_t)s->result.groups, sizeof *s->codes);
}

const pl_request_ops pl_speak_ops = {
    .lane = PL_LANE_SHORT,
    .settle = settle,
    .wants_job = wants_job,
    .job = job,
    .can_step = can_step,
    .kv_bytes = kv_bytes,
    .cancel = cancel,
    .keep = keep,
    .close = close_speak,
};
