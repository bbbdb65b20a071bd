/* Requests of recognition, whole sounds and streams: segments and chunks are encoded on a lane and answered in turns. The next segment of a whole
 * sound is encoded while the others are answered. */
#include "engine/engine.h"

#include <math.h>
#include <string.h>

static const pl_asr_ops *asr(const parley_request *r)
{
    return r->engine->model->family->asr;
}

/* ------------------------------------------------------------------ the caller's side */

parley_status pl_engine_hear(parley_engine *e, const parley_asr_options *options, const parley_request_options *request_options,
                             parley_request **request, parley_error *error)
{
    parley_request *r;
    PL_TRY(pl_request_new(e, options->stream ? &pl_stream_ops : &pl_hear_ops, request_options, &r, error));
    r->hear.sound.allocator = r->hear.taking.allocator = e->allocator;
    r->hear.stream = options->stream;
    parley_status status = asr(r)->open(e->model->state, options, &r->hear.session, error);
    if (status == PARLEY_OK && options->stream)
        status = pl_request_queue(r, error);
    if (status != PARLEY_OK) {
        pl_request_release(r);
        return status;
    }
    *request = r;
    return PARLEY_OK;
}

static parley_status check_push(const parley_request *r, size_t samples, parley_error *error)
{
    const parley_engine_options *o = &r->engine->options;
    if (r->ops != &pl_hear_ops && r->ops != &pl_stream_ops)
        return pl_fail(error, PARLEY_STATE, "the request takes no sound");
    if (r->input_ended)
        return pl_fail(error, PARLEY_STATE, "the sound is finished already");
    if (r->state == PARLEY_REQUEST_ENDED)
        return pl_fail(error, PARLEY_STATE, "the request has ended");
    if ((double)r->hear.pushed + (double)samples > o->sound_seconds * PARLEY_ASR_RATE)
        return pl_fail(error, PARLEY_LIMIT, "the sound is longer than %g s", o->sound_seconds);
    return PARLEY_OK;
}

static parley_status check_samples(const parley_request *r, const float *pcm, size_t samples, parley_error *error)
{
    for (size_t i = 0; i < samples; i++)
        if (!isfinite(pcm[i]))
            return pl_fail_at(error, PARLEY_VALUE, r->hear.pushed + i, "sample %zu is not finite", r->hear.pushed + i);
    return PARLEY_OK;
}

/* Sound of a stream waits here until a lane gives it to the session. */
static parley_status push_stream(parley_request *r, const float *pcm, size_t samples, parley_error *error)
{
    pl_hear *h = &r->hear;
    PL_TRY(check_samples(r, pcm, samples, error));
    PL_TRY(pl_buffer_reserve(&h->sound, h->waiting + samples, sizeof *pcm, h->waiting * sizeof *pcm, error));
    if (samples)
        memcpy((float *)h->sound.data + h->waiting, pcm, samples * sizeof *pcm);
    h->waiting += samples;
    pl_engine_wake(r->engine);
    return PARLEY_OK;
}

parley_status pl_request_push_sound(parley_request *r, const float *pcm, size_t samples, parley_error *error)
{
    pl_lock_take(&r->engine->lock);
    parley_status status = check_push(r, samples, error);
    if (status == PARLEY_OK && r->hear.stream)
        status = push_stream(r, pcm, samples, error);
    if (status == PARLEY_OK)
        pl_request_enter(r);
    pl_lock_give(&r->engine->lock);
    if (status != PARLEY_OK)
        return status;
    if (!r->hear.stream) /* nobody else knows the session yet */
        status = asr(r)->push(r->hear.session, pcm, samples, error);
    pl_lock_take(&r->engine->lock);
    r->hear.pushed += status == PARLEY_OK ? samples : 0;
    pl_lock_give(&r->engine->lock);
    pl_request_leave(r);
    return status;
}

parley_status pl_request_finish_sound(parley_request *r, parley_error *error)
{
    pl_lock_take(&r->engine->lock);
    parley_status status = check_push(r, 0, error);
    if (status == PARLEY_OK && r->hear.pushed == 0)
        status = pl_fail(error, PARLEY_ARGUMENT, "the sound has no samples");
    if (status == PARLEY_OK) {
        r->input_ended = true;
        pl_engine_wake(r->engine);
    }
    if (status == PARLEY_OK && !r->hear.stream)
        pl_request_enter(r);
    pl_lock_give(&r->engine->lock);
    if (status != PARLEY_OK || r->hear.stream)
        return status;
    status = asr(r)->finish(r->hear.session, error);
    pl_request_leave(r);
    return status == PARLEY_OK ? pl_request_queue(r, error) : status;
}

/* ------------------------------------------------------------------ both */

static void no_failure_but(parley_request *r, parley_status status, const parley_error *error)
{
    if (status == PARLEY_OK)
        return;
    r->failure = *error;
    r->failure.status = status;
}

static void end_heard(parley_request *r)
{
    r->engine->figures.heard_seconds += r->hear.result.audio_seconds;
    pl_request_end(r, PARLEY_OK, NULL, r->hear.result.finish);
}

static uint64_t kv_bytes(parley_request *r)
{
    uint64_t bytes = 0;
    (void)asr(r)->kv_bytes(r->hear.session, &bytes, NULL); /* a failure, out of memory, comes again where it matters */
    return bytes;
}

static void cancel(parley_request *r)
{
    if (r->hear.session)
        asr(r)->cancel(r->hear.session);
}

static void close_hear(parley_request *r)
{
    if (r->hear.session)
        asr(r)->close(r->hear.session);
    pl_buffer_free(&r->hear.sound);
    pl_buffer_free(&r->hear.taking);
}

/* ------------------------------------------------------------------ whole sounds */

/* Segments that are done since the last time, as final updates. */
static parley_status tell_segments(parley_request *r, const parley_asr_result *result, parley_error *error)
{
    for (; r->hear.told < result->n_segments; r->hear.told++) {
        const parley_asr_segment *s = &result->segments[r->hear.told];
        parley_asr_update update = {.size = sizeof update,
                                    .final = true,
                                    .start = s->start,
                                    .end = s->end,
                                    .text = s->text,
                                    .length = strlen(s->text),
                                    .stable = strlen(s->text),
                                    .language = s->language,
                                    .finish = s->finish,
                                    .no_speech = s->no_speech,
                                    .looped = s->looped,
                                    .echoed = s->echoed,
                                    .spaced = s->spaced};
        PL_TRY(pl_request_add_update(r, &update, error));
    }
    return PARLEY_OK;
}

static void settle(parley_request *r)
{
    parley_asr_result *result = &r->hear.result;
    parley_error error;
    asr(r)->result(r->hear.session, result);
    no_failure_but(r, tell_segments(r, result, &error), &error);
    if (r->busy && r->failure.status != PARLEY_OK)
        cancel(r);
    else if (r->busy)
        return;
    else if (r->failure.status != PARLEY_OK)
        pl_request_end(r, r->failure.status, &r->failure, PARLEY_FINISH_NONE);
    else if (result->finish != PARLEY_FINISH_NONE)
        end_heard(r);
}

static bool wants_job(parley_request *r)
{
    bool wants = r->failure.status == PARLEY_OK && asr(r)->wants_preparing(r->hear.session);
    if (!wants && !asr(r)->can_step(r->hear.session))
        r->engine->version++; /* what was taken over was the end */
    return wants;
}

static void job(parley_request *r)
{
    asr(r)->prepare(r->hear.session);
}

static bool can_step(parley_request *r)
{
    return r->failure.status == PARLEY_OK && asr(r)->can_step(r->hear.session);
}

/* The texts lie in the session, which stays. */
static void keep(parley_request *r)
{
    asr(r)->result(r->hear.session, &r->hear.result);
    r->hear.result.finish = r->finish;
}

/* ------------------------------------------------------------------ streams */

/* The sound that has come and whether it has ended, for the session. */
static parley_status take_sound(parley_request *r, parley_error *error)
{
    pl_hear *h = &r->hear;
    pl_lock_take(&r->engine->lock);
    pl_buffer full = h->sound;
    size_t samples = h->waiting;
    bool ended = r->input_ended;
    h->sound = h->taking;
    h->taking = full;
    h->waiting = 0;
    pl_lock_give(&r->engine->lock);
    if (samples)
        PL_TRY(asr(r)->push(h->session, full.data, samples, error));
    if (!ended || h->told_end)
        return PARLEY_OK;
    h->told_end = true;
    return asr(r)->finish(h->session, error);
}

/* One piece of work; the next ones after other requests'. */
static void stream_job(parley_request *r)
{
    pl_hear *h = &r->hear;
    parley_error error;
    parley_status status = take_sound(r, &error);
    if (status == PARLEY_OK && asr(r)->wants_preparing(h->session))
        asr(r)->prepare(h->session);
    no_failure_but(r, status, &error);
}

static bool wants_stream_job(parley_request *r)
{
    const pl_hear *h = &r->hear;
    return r->failure.status == PARLEY_OK && (h->waiting > 0 || (r->input_ended && !h->told_end) || asr(r)->wants_preparing(h->session));
}

static void settle_stream(parley_request *r)
{
    pl_hear *h = &r->hear;
    parley_error error;
    parley_asr_update update;
    if (asr(r)->take_update(h->session, &update))
        no_failure_but(r, pl_request_add_update(r, &update, &error), &error);
    asr(r)->result(h->session, &h->result);
    if (r->failure.status != PARLEY_OK)
        pl_request_end(r, r->failure.status, &r->failure, PARLEY_FINISH_NONE);
    else if (h->result.finish != PARLEY_FINISH_NONE)
        end_heard(r);
}

/* The result points to nothing in the session but empty texts. */
static void keep_stream(parley_request *r)
{
    asr(r)->result(r->hear.session, &r->hear.result);
    r->hear.result.finish = r->finish;
    r->hear.result.text = r->hear.result.language = "";
    r->hear.result.segments = NULL;
    close_hear(r);
    r->hear.session = NULL;
}

const pl_request_ops pl_hear_ops = {
    .lane = PL_LANE_LONG,
    .overlaps = true,
    .settle = settle,
    .wants_job = wants_job,
    .job = job,
    .can_step = can_step,
    .kv_bytes = kv_bytes,
    .cancel = cancel,
    .keep = keep,
    .close = close_hear,
};

const pl_request_ops pl_stream_ops = {
    .lane = PL_LANE_SHORT,
    .settle = settle_stream,
    .wants_job = wants_stream_job,
    .job = stream_job,
    .can_step = can_step,
    .kv_bytes = kv_bytes,
    .cancel = cancel,
    .keep = keep_stream,
    .close = close_hear,
};
