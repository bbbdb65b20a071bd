/* A request's life: queued, ended, released; what it hands to its reader. */
#include "base/clock.h"
#include "engine/engine.h"

#include <math.h>
#include <string.h>

/* Upper bounds of the time to the first PCM, seconds. */
static const double latency_bounds[PARLEY_LATENCY_BUCKETS] = {0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 3, 5, 10, INFINITY};

const double *parley_latency_bounds(void)
{
    return latency_bounds;
}

/* ------------------------------------------------------------------ life */

parley_status pl_request_new(parley_engine *e, const pl_request_ops *ops, const parley_request_options *options, parley_request **request,
                             parley_error *error)
{
    pl_lock_take(&e->lock);
    bool refused = e->draining;
    e->figures.refused += refused;
    pl_lock_give(&e->lock);
    if (refused)
        return pl_fail(error, PARLEY_STATE, "the engine takes no more requests: it is being drained");
    parley_request *r = pl_alloc(&e->allocator, 1, sizeof *r);
    if (!r)
        return pl_fail_memory(error, "a request");
    pl_buffer empty = {.allocator = e->allocator};
    memset(r, 0, sizeof *r);
    r->engine = e;
    r->ops = ops;
    r->references = 1;
    r->options = *options;
    r->deadline = options->deadline_seconds > 0 ? pl_seconds() + options->deadline_seconds : 0;
    r->filling.samples = r->handed.samples = empty;
    pl_condition_init(&r->changed);
    *request = r;
    return PARLEY_OK;
}

static parley_status admissible(parley_request *r, parley_error *error)
{
    const parley_engine *e = r->engine;
    const parley_engine_options *o = &e->options;
    uint64_t wanted = r->ops->kv_bytes(r);
    if (e->draining)
        return pl_fail(error, PARLEY_STATE, "the engine takes no more requests: it is being drained");
    if (o->max_kv_bytes && wanted > o->max_kv_bytes)
        return pl_fail(error, PARLEY_LIMIT, "the request needs a cache of %llu bytes, all requests together have %llu", (unsigned long long)wanted,
                       (unsigned long long)o->max_kv_bytes);
    if (e->n_active + e->queued >= o->max_active + o->max_queued)
        return pl_fail(error, PARLEY_BUSY, "%d requests run and %d wait, at most %d and %d do", (int)e->n_active, (int)e->queued, (int)o->max_active,
                       (int)o->max_queued);
    return PARLEY_OK;
}

static void append(parley_request *r)
{
    parley_engine *e = r->engine;
    r->references++;
    *(e->last ? &e->last->next : &e->first) = r;
    e->last = r;
    e->queued++;
    pl_engine_wake(e);
}

parley_status pl_request_queue(parley_request *r, parley_error *error)
{
    parley_engine *e = r->engine;
    pl_lock_take(&e->lock);
    bool cancelled = r->state == PARLEY_REQUEST_ENDED; /* meanwhile: the event says so */
    parley_status status = cancelled ? PARLEY_OK : admissible(r, error);
    if (status == PARLEY_OK && !cancelled) {
        r->state = PARLEY_REQUEST_QUEUED;
        r->queued_at = pl_seconds();
        e->figures.accepted++;
        append(r);
    } else if (status != PARLEY_OK) {
        e->figures.refused++;
    }
    pl_lock_give(&e->lock);
    return status;
}

static void free_update(const parley_request *r, pl_update *u)
{
    if (u)
        pl_release(&r->engine->allocator, u, u->bytes, 1);
}

/* Nobody wants what is left. */
static void drop_events(parley_request *r)
{
    r->filling.count = 0;
    for (pl_update *u = r->first_update, *next; u; u = next) {
        next = u->next;
        free_update(r, u);
    }
    r->first_update = r->last_update = NULL;
}

static void free_request(parley_request *r)
{
    parley_allocator allocator = r->engine->allocator;
    r->ops->close(r);
    drop_events(r);
    free_update(r, r->handed_update);
    pl_buffer_free(&r->filling.samples);
    pl_buffer_free(&r->handed.samples);
    pl_condition_destroy(&r->changed);
    pl_release(&allocator, r, 1, sizeof *r);
}

void pl_request_unref(parley_request *r)
{
    if (--r->references == 0)
        free_request(r);
}

/* One that has not begun ends here and now. The queue takes it to the engine's thread, which tells its notify() and gives it back. */
static void end_unbegun(parley_request *r)
{
    parley_error error;
    bool queued = r->state == PARLEY_REQUEST_QUEUED;
    pl_fail(&error, PARLEY_CANCELLED, "cancelled");
    pl_request_end(r, PARLEY_CANCELLED, &error, PARLEY_FINISH_CANCELLED);
    if (!queued)
        append(r);
    pl_condition_wake(&r->changed);
}

void pl_request_enter(parley_request *r)
{
    r->calls++;
}

void pl_request_leave(parley_request *r)
{
    pl_lock_take(&r->engine->lock);
    if (--r->calls == 0 && r->state == PARLEY_REQUEST_OPEN && atomic_load(&r->cancelled))
        end_unbegun(r);
    pl_lock_give(&r->engine->lock);
}

/* `released`: nobody waits for the end of one that is not queued. */
static void cancel(parley_request *r, bool released)
{
    if (r->state == PARLEY_REQUEST_ENDED || atomic_exchange(&r->cancelled, true))
        return;
    r->ops->cancel(r);
    if (r->state == PARLEY_REQUEST_QUEUED || (r->state == PARLEY_REQUEST_OPEN && r->calls == 0 && !released))
        end_unbegun(r);
    pl_engine_wake(r->engine);
}

void pl_request_cancel(parley_request *r)
{
    pl_lock_take(&r->engine->lock);
    cancel(r, false);
    pl_lock_give(&r->engine->lock);
}

void pl_request_release(parley_request *r)
{
    parley_engine *e = r->engine;
    pl_lock_take(&e->lock);
    cancel(r, true);
    r->options.notify = NULL;
    while (r->notifying)
        pl_condition_wait(&r->changed, &e->lock, INFINITY);
    pl_request_unref(r);
    pl_lock_give(&e->lock);
}

bool pl_request_is_over(parley_request *r, const pl_request_ops *ops)
{
    pl_lock_take(&r->engine->lock);
    bool over = r->state == PARLEY_REQUEST_ENDED && r->ops == ops;
    pl_lock_give(&r->engine->lock);
    return over;
}

/* ------------------------------------------------------------------ the end */

static void count_end(parley_engine_figures *f, parley_status status, parley_finish finish)
{
    f->stopped += status == PARLEY_OK && finish != PARLEY_FINISH_LENGTH;
    f->cut += status == PARLEY_OK && finish == PARLEY_FINISH_LENGTH;
    f->cancelled += status == PARLEY_CANCELLED;
    f->late += status == PARLEY_LATE;
    f->failed += status != PARLEY_OK && status != PARLEY_CANCELLED && status != PARLEY_LATE;
}

void pl_request_end(parley_request *r, parley_status status, const parley_error *error, parley_finish finish)
{
    parley_engine_figures *f = &r->engine->figures;
    if (r->state == PARLEY_REQUEST_ENDED)
        return;
    r->status = status;
    if (status != PARLEY_OK)
        r->error = *error;
    r->finish = finish;
    r->ended_at = pl_seconds();
    r->ops->keep(r);
    if (status == PARLEY_CANCELLED || status == PARLEY_LATE)
        drop_events(r);
    f->kv_bytes -= r->kv_bytes;
    r->kv_bytes = 0;
    if (r->queued_at > 0)
        count_end(f, status, finish);
    r->state = PARLEY_REQUEST_ENDED;
    r->news = true;
}

void pl_request_announce(parley_request *r)
{
    r->news = false;
    pl_condition_wake(&r->changed);
    parley_request_options o = r->options; /* a release takes them away */
    if (!o.notify)
        return;
    r->notifying = true;
    pl_lock_give(&r->engine->lock);
    o.notify(o.notify_context);
    pl_lock_take(&r->engine->lock);
    r->notifying = false;
    pl_condition_wake(&r->changed);
}

/* ------------------------------------------------------------------ events */

parley_status pl_request_add_update(parley_request *r, const parley_asr_update *update, parley_error *error)
{
    size_t language = strlen(update->language), bytes = sizeof(pl_update) + update->length + 1 + language + 1;
    pl_update *u = pl_alloc(&r->engine->allocator, bytes, 1);
    if (!u)
        return pl_fail_memory(error, "an update");
    char *text = (char *)(u + 1);
    memcpy(text, update->text, update->length);
    text[update->length] = '\0';
    memcpy(text + update->length + 1, update->language, language + 1);
    *u = (pl_update){.bytes = bytes, .update = *update};
    u->update.text = text;
    u->update.language = text + update->length + 1;
    if (r->last_update && !r->last_update->update.final) { /* what nobody has read is out of date; only the last one can be */
        pl_update **last = &r->first_update;
        while ((*last)->next)
            last = &(*last)->next;
        free_update(r, *last);
        *last = u;
    } else {
        *(r->last_update ? &r->last_update->next : &r->first_update) = u;
    }
    r->last_update = u;
    r->news = true;
    return PARLEY_OK;
}

static void hand_pcm(parley_request *r, parley_event *event)
{
    pl_pcm handed = r->filling;
    r->filling = r->handed;
    r->filling.count = 0;
    r->handed = handed;
    *event = (parley_event){.size = sizeof *event,
                            .kind = PARLEY_EVENT_PCM,
                            .pcm = handed.samples.data,
                            .samples = handed.count,
                            .first_sample = r->samples_handed,
                            .frames = handed.frames};
    r->samples_handed += handed.count;
    pl_engine_wake(r->engine);
}

static void hand_update(parley_request *r, parley_event *event)
{
    free_update(r, r->handed_update);
    pl_update *u = r->handed_update = r->first_update;
    r->first_update = u->next;
    if (!u->next)
        r->last_update = NULL;
    u->next = NULL;
    *event = (parley_event){.size = sizeof *event, .kind = PARLEY_EVENT_UPDATE, .update = u->update};
}

static bool hand_out(parley_request *r, parley_event *event)
{
    if (r->filling.count > 0)
        hand_pcm(r, event);
    else if (r->first_update)
        hand_update(r, event);
    else if (r->state == PARLEY_REQUEST_ENDED)
        *event = (parley_event){.size = sizeof *event,
                                .kind = PARLEY_EVENT_END,
                                .status = r->status,
                                .error = r->status == PARLEY_OK ? NULL : &r->error,
                                .finish = r->finish};
    else
        return false;
    return true;
}

parley_event_kind pl_request_next(parley_request *r, double seconds, parley_event *event)
{
    double until = pl_seconds() + seconds;
    bool in_time = seconds > 0;
    *event = (parley_event){.size = sizeof *event, .kind = PARLEY_EVENT_NONE};
    pl_lock_take(&r->engine->lock);
    while (!hand_out(r, event) && in_time)
        in_time = pl_condition_wait(&r->changed, &r->engine->lock, until);
    pl_lock_give(&r->engine->lock);
    return event->kind;
}

static int place_in_queue(const parley_request *r)
{
    int ahead = 0;
    for (const parley_request *q = r->engine->first; q && q != r; q = q->next)
        ahead += q->state == PARLEY_REQUEST_QUEUED;
    return ahead;
}

static double between(double from, double to)
{
    return from > 0 && to > 0 ? to - from : 0;
}

void pl_request_progress(parley_request *r, parley_request_progress *progress)
{
    pl_lock_take(&r->engine->lock);
    const parley_info *info = r->engine->model->family->info(r->engine->model->state);
    bool speaks = r->ops == &pl_speak_ops, hears = r->ops == &pl_hear_ops || r->ops == &pl_stream_ops;
    *progress = (parley_request_progress){.size = sizeof *progress,
                                          .state = r->state,
                                          .ahead = r->state == PARLEY_REQUEST_QUEUED ? place_in_queue(r) : 0,
                                          .frames = r->frames,
                                          .kv_bytes = r->kv_bytes,
                                          .waits_for_reader = speaks && r->filling.count >= r->engine->pcm_samples,
                                          .queued_seconds = between(r->queued_at, r->begun_at),
                                          .first_audio_seconds = between(r->queued_at, r->first_audio_at),
                                          .total_seconds = between(r->queued_at, r->ended_at > 0 ? r->ended_at : pl_seconds())};
    progress->waits_for_text = speaks && r->speak.lacks_text && r->state == PARLEY_REQUEST_ACTIVE;
    progress->audio_seconds = speaks ? (double)r->samples / info->sample_rate : hears ? (double)r->hear.pushed / PARLEY_ASR_RATE : 0;
    pl_lock_give(&r->engine->lock);
}
