/* One thread that runs jobs in the order in which they were handed in, beside the thread that made them. */
#ifndef PL_BASE_BACKGROUND_H
#define PL_BASE_BACKGROUND_H

#include "base/arena.h"

/* Owned by the caller; must stay until it is done. */
typedef struct pl_job {
    void (*run)(void *context);
    void *context;
    bool done;
    struct pl_job *next;
} pl_job;

typedef struct pl_background pl_background;

/* MEMORY, IO (no thread). */
parley_status pl_background_open(const parley_allocator *allocator, pl_background **background, parley_error *error);

/* Jobs must be done. NULL is allowed. */
void pl_background_close(pl_background *background);

void pl_background_submit(pl_background *background, pl_job *job);
bool pl_background_done(pl_background *background, const pl_job *job);
void pl_background_wait(pl_background *background, const pl_job *job);

/* Whether a job runs or waits. */
bool pl_background_busy(pl_background *background);

#endif
