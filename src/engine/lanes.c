/* Threads for long work. Their parallel regions wait while the engine's thread holds the pool, so that they advance between turns. */
#include "engine/engine.h"

#include <math.h>

static parley_request *take(pl_lane *lane)
{
    parley_request *r = lane->first;
    if (r) {
        lane->first = r->next;
        if (!lane->first)
            lane->last = NULL;
        r->next = NULL;
    }
    return r;
}

static void *run(void *context)
{
    pl_lane *lane = context;
    parley_engine *e = lane->engine;
    pl_lock_take(&e->lock);
    while (!e->lanes_stop || lane->first) {
        parley_request *r = take(lane);
        if (!r) {
            pl_condition_wait(&lane->wake, &e->lock, INFINITY);
            continue;
        }
        pl_lock_give(&e->lock);
        r->ops->job(r);
        pl_lock_take(&e->lock);
        r->busy = false;
        e->jobs--;
        pl_engine_wake(e);
    }
    pl_lock_give(&e->lock);
    return NULL;
}

parley_status pl_lanes_start(parley_engine *e, parley_error *error)
{
    for (int i = 0; i < PL_LANES; i++) {
        e->lanes[i].engine = e;
        pl_condition_init(&e->lanes[i].wake);
    }
    for (int i = 0; i < PL_LANES; i++) {
        PL_TRY(pl_thread_start(&e->lanes[i].thread, run, &e->lanes[i], error));
        e->lanes[i].started = true;
    }
    return PARLEY_OK;
}

void pl_lanes_stop(parley_engine *e)
{
    pl_lock_take(&e->lock);
    e->lanes_stop = true;
    for (int i = 0; i < PL_LANES; i++)
        pl_condition_wake(&e->lanes[i].wake);
    pl_lock_give(&e->lock);
    for (int i = 0; i < PL_LANES; i++) {
        if (e->lanes[i].started)
            pl_thread_join(&e->lanes[i].thread);
        pl_condition_destroy(&e->lanes[i].wake);
    }
}

void pl_lanes_submit(parley_request *r)
{
    parley_engine *e = r->engine;
    pl_lane *lane = &e->lanes[r->ops->lane];
    r->busy = true;
    e->jobs++;
    if (lane->last)
        lane->last->next = r;
    else
        lane->first = r;
    lane->last = r;
    pl_condition_wake(&lane->wake);
}

void pl_lanes_withdraw(parley_request *r)
{
    pl_lane *lane = &r->engine->lanes[r->ops->lane];
    parley_request *before = NULL, *at = lane->first;
    for (; at && at != r; at = at->next)
        before = at;
    if (!at)
        return;
    *(before ? &before->next : &lane->first) = r->next;
    if (lane->last == r)
        lane->last = before;
    r->next = NULL;
    r->busy = false;
    r->engine->jobs--;
}
