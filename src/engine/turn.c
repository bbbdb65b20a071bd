/* The engine's thread: ends and admits requests, gives long work to lanes, advances all others together. */
#include "engine/engine.h"

#include "base/clock.h"

#include <math.h>

/* What takes part in a turn. */
typedef struct turn {
    parley_request *requests[PL_MOST_ACTIVE];
    int count;
    bool runs; /* one of them has made sound or text: the others' prompts must not hold it up */
} turn;

void pl_engine_wake(parley_engine *e)
{
    e->version++;
    pl_condition_wake(&e->wake);
}

/* ------------------------------------------------------------------ ends */

/* Ended requests leave the list; the others keep their order. */
static void sweep(parley_engine *e)
{
    int kept = 0;
    for (int i = 0; i < e->n_active; i++) {
        parley_request *r = e->active[i];
        if (r->state != PARLEY_REQUEST_ENDED)
            e->active[kept++] = r;
        else
            pl_request_unref(r);
    }
    e->n_active = kept;
    if (kept == 0 && e->busy_since > 0) {
        e->figures.busy_seconds += pl_seconds() - e->busy_since;
        e->busy_since = 0;
    }
    if (kept + e->queued == 0)
        pl_condition_wake(&e->drained);
}

static void check_doom(const parley_engine *e, parley_request *r, double now)
{
    if (r->doom != PARLEY_OK)
        return;
    if (e->stopping || atomic_load(&r->cancelled))
        r->doom = PARLEY_CANCELLED;
    else if (r->deadline > 0 && now >= r->deadline)
        r->doom = PARLEY_LATE;
    if (r->doom != PARLEY_OK)
        r->ops->cancel(r);
}

static void end_doomed(parley_request *r)
{
    parley_error error;
    if (r->doom == PARLEY_LATE)
        pl_fail(&error, PARLEY_LATE, "not done within %.3f s", r->options.deadline_seconds);
    else
        pl_fail(&error, PARLEY_CANCELLED, "cancelled");
    pl_request_end(r, r->doom, &error, r->doom == PARLEY_CANCELLED ? PARLEY_FINISH_CANCELLED : PARLEY_FINISH_NONE);
}

static void reap_queue(parley_engine *e, double now)
{
    parley_request *before = NULL, *next;
    for (parley_request *r = e->first; r; r = next) {
        next = r->next;
        check_doom(e, r, now);
        if (r->doom == PARLEY_OK) {
            before = r;
            continue;
        }
        *(before ? &before->next : &e->first) = next;
        if (e->last == r)
            e->last = before;
        e->queued--;
        end_doomed(r);
        pl_request_announce(r);
        pl_request_unref(r);
        next = before ? before->next : e->first; /* more may have been queued meanwhile */
    }
}

static void reap(parley_engine *e)
{
    double now = pl_seconds();
    reap_queue(e, now);
    for (int i = 0; i < e->n_active; i++) {
        parley_request *r = e->active[i];
        check_doom(e, r, now);
        if (r->busy && r->doom != PARLEY_OK)
            pl_lanes_withdraw(r);
        if (r->busy && !r->ops->overlaps)
            continue;
        if (r->doom == PARLEY_OK)
            r->ops->settle(r);
        else if (!r->busy)
            end_doomed(r);
        if (r->news)
            pl_request_announce(r);
    }
    sweep(e);
}

/* ------------------------------------------------------------------ admission */

static bool has_room(const parley_engine *e, uint64_t more)
{
    return e->options.max_kv_bytes == 0 || e->figures.kv_bytes + more <= e->options.max_kv_bytes;
}

static void reserve(parley_request *r, uint64_t bytes)
{
    parley_engine_figures *f = &r->engine->figures;
    f->kv_bytes += bytes - r->kv_bytes;
    r->kv_bytes = bytes;
    if (f->kv_bytes > f->kv_bytes_most)
        f->kv_bytes_most = f->kv_bytes;
}

/* In order: a large request is not overtaken by small ones for ever. */
static void admit(parley_engine *e)
{
    while (e->first && e->n_active < e->options.max_active) {
        parley_request *r = e->first;
        if (r->state == PARLEY_REQUEST_ENDED) /* cancelled meanwhile: it is told first */
            return;
        uint64_t wanted = r->ops->kv_bytes(r);
        if (!has_room(e, wanted))
            return;
        e->first = r->next;
        if (!e->first)
            e->last = NULL;
        r->next = NULL;
        e->queued--;
        e->active[e->n_active++] = r;
        r->state = PARLEY_REQUEST_ACTIVE;
        r->begun_at = pl_seconds();
        if (e->busy_since == 0)
            e->busy_since = r->begun_at;
        reserve(r, wanted);
    }
}

/* The piece of a text that is spoken next, or more of a live text, may need a larger cache than was reserved. */
static void check_room(parley_request *r)
{
    uint64_t wanted = r->ops->kv_bytes(r);
    r->starved = wanted > r->kv_bytes && !has_room(r->engine, wanted - r->kv_bytes);
    if (wanted > r->kv_bytes && !r->starved)
        reserve(r, wanted);
}

/* When all wait for room that none of them gives, the last one to come gives way. */
static void end_starved(parley_engine *e)
{
    for (int i = 0; i < e->n_active; i++)
        if (!e->active[i]->starved || e->active[i]->busy)
            return;
    if (e->n_active == 0)
        return;
    parley_error error;
    parley_request *r = e->active[e->n_active - 1];
    pl_fail(&error, PARLEY_LIMIT, "a cache of %llu bytes for more text, which the requests that run leave no room for",
            (unsigned long long)r->ops->kv_bytes(r));
    pl_request_end(r, PARLEY_LIMIT, &error, PARLEY_FINISH_NONE);
    pl_request_announce(r);
    sweep(e);
    e->version++; /* its room may let others in */
}

/* ------------------------------------------------------------------ turns */

static void collect(parley_engine *e, turn *t)
{
    *t = (turn){.count = 0};
    for (int i = 0; i < e->n_active; i++) {
        parley_request *r = e->active[i];
        if (r->doom != PARLEY_OK || (r->busy && !r->ops->overlaps))
            continue;
        bool job = !r->busy && r->ops->wants_job(r);
        check_room(r);
        if (r->starved)
            continue;
        if (job)
            pl_lanes_submit(r);
        if ((!r->busy || r->ops->overlaps) && r->ops->can_step(r)) {
            t->requests[t->count++] = r;
            t->runs = t->runs || r->ran;
        }
    }
    end_starved(e);
}

static bool step(parley_engine *e, turn *t)
{
    parley_tts *speaking[PL_MOST_ACTIVE];
    parley_asr *hearing[PL_MOST_ACTIVE];
    const pl_family *family = e->model->family;
    int32_t rows = t->runs && t->count > 1 ? e->options.prompt_rows : INT32_MAX;
    size_t running, count = (size_t)t->count;
    bool speaks = t->requests[0]->ops == &pl_speak_ops;
    for (size_t i = 0; i < count; i++) {
        e->errors[i].status = PARLEY_OK;
        if (speaks)
            speaking[i] = t->requests[i]->speak.session;
        else
            hearing[i] = t->requests[i]->hear.session;
    }
    pl_pool_hold(e->model->env.pool);
    /* The statuses are those of the errors. */
    if (speaks)
        (void)family->tts->step(speaking, count, rows, &running, e->errors);
    else
        (void)family->asr->step(hearing, count, rows, &running, e->errors);
    bool wanted = pl_pool_is_wanted(e->model->env.pool);
    pl_pool_let_go(e->model->env.pool);
    return wanted;
}

/* Returns whether others waited for the pool meanwhile. */
static bool run(parley_engine *e, turn *t)
{
    double began = pl_seconds();
    pl_lock_give(&e->lock);
    bool wanted = step(e, t);
    pl_lock_take(&e->lock);
    e->figures.turns++;
    e->figures.turn_rows += (uint64_t)t->count;
    e->figures.turn_seconds += pl_seconds() - began;
    for (int i = 0; i < t->count; i++) {
        t->requests[i]->ran = true;
        if (e->errors[i].status != PARLEY_OK)
            t->requests[i]->failure = e->errors[i];
    }
    return wanted;
}

/* Time between two turns for the lanes, and for sessions of the model that are not the engine's. */
static void lend(parley_engine *e, bool wanted)
{
    double until = pl_seconds() + e->options.slice_seconds;
    while ((e->jobs > 0 || wanted) && pl_seconds() < until)
        pl_condition_wait(&e->wake, &e->lock, until);
}

/* Until something happens or a deadline passes. */
static void rest(parley_engine *e)
{
    double when = INFINITY;
    for (const parley_request *r = e->first; r; r = r->next)
        when = r->deadline > 0 && r->deadline < when ? r->deadline : when;
    for (int i = 0; i < e->n_active; i++)
        when = e->active[i]->deadline > 0 && e->active[i]->doom == PARLEY_OK && e->active[i]->deadline < when ? e->active[i]->deadline : when;
    pl_condition_wait(&e->wake, &e->lock, when);
}

void *pl_engine_work(void *context)
{
    parley_engine *e = context;
    turn t;
    pl_lock_take(&e->lock);
    while (!e->stopping || e->n_active + e->queued > 0) {
        uint64_t seen = e->version;
        reap(e);
        admit(e);
        collect(e, &t);
        if (t.count > 0) {
            bool wanted = run(e, &t);
            lend(e, wanted);
        } else if (seen == e->version && (!e->stopping || e->n_active + e->queued > 0)) {
            rest(e);
        }
    }
    pl_lock_give(&e->lock);
    return NULL;
}
