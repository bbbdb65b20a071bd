#include "engine/engine.h"

#include "base/clock.h"

static void free_engine(parley_engine *e)
{
    pl_lock_destroy(&e->lock);
    pl_condition_destroy(&e->wake);
    pl_condition_destroy(&e->drained);
    parley_allocator allocator = e->allocator;
    pl_release(&allocator, e, 1, sizeof *e);
}

parley_status pl_engine_open(const parley_model *model, const parley_engine_options *options, parley_engine **engine, parley_error *error)
{
    parley_engine *e = pl_alloc(&model->env.allocator, 1, sizeof *e);
    if (!e)
        return pl_fail_memory(error, "an engine");
    *e = (parley_engine){.model = model, .allocator = model->env.allocator, .options = *options, .figures.size = sizeof e->figures};
    e->pcm_samples = (size_t)(options->pcm_seconds * model->family->info(model->state)->sample_rate);
    pl_lock_init(&e->lock);
    pl_condition_init(&e->wake);
    pl_condition_init(&e->drained);
    parley_status status = pl_lanes_start(e, error);
    if (status == PARLEY_OK)
        status = pl_thread_start(&e->thread, pl_engine_work, e, error);
    e->started = status == PARLEY_OK;
    if (status != PARLEY_OK) {
        pl_engine_close(e);
        return status;
    }
    *engine = e;
    return PARLEY_OK;
}

bool pl_engine_drain(parley_engine *e, double seconds)
{
    double until = pl_seconds() + seconds;
    pl_lock_take(&e->lock);
    e->draining = true;
    while (e->queued + e->n_active > 0 && pl_condition_wait(&e->drained, &e->lock, until))
        ;
    bool empty = e->queued + e->n_active == 0;
    pl_lock_give(&e->lock);
    return empty;
}

/* The engine's thread ends last: it ends the requests that lanes have given back. */
void pl_engine_close(parley_engine *e)
{
    if (!e)
        return;
    pl_lock_take(&e->lock);
    e->draining = e->stopping = true;
    pl_engine_wake(e);
    pl_lock_give(&e->lock);
    if (e->started)
        pl_thread_join(&e->thread);
    pl_lanes_stop(e);
    free_engine(e);
}

void pl_engine_figures(parley_engine *e, parley_engine_figures *figures)
{
    pl_lock_take(&e->lock);
    *figures = e->figures;
    figures->active = e->n_active;
    figures->queued = e->queued;
    figures->jobs = e->jobs;
    if (e->busy_since > 0)
        figures->busy_seconds += pl_seconds() - e->busy_since;
    pl_lock_give(&e->lock);
}
