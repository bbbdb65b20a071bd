#include "base/background.h"

#include <pthread.h>

struct pl_background {
    parley_allocator allocator;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job came, one is done, or the end */
    pl_job *first, **end;   /* jobs that are not done; the first one runs */
    bool stop;
};

static void finish_first(pl_background *b)
{
    pl_job *job = b->first;
    b->first = job->next;
    if (!b->first)
        b->end = &b->first;
    job->done = true;
    pthread_cond_broadcast(&b->changed);
}

static void *work(void *argument)
{
    pl_background *b = argument;
    pthread_mutex_lock(&b->lock);
    while (b->first || !b->stop) {
        if (!b->first) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        pl_job *job = b->first;
        pthread_mutex_unlock(&b->lock);
        job->run(job->context);
        pthread_mutex_lock(&b->lock);
        finish_first(b);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void release(pl_background *b)
{
    parley_allocator allocator = b->allocator;
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    pl_release(&allocator, b, 1, sizeof *b);
}

parley_status pl_background_open(const parley_allocator *allocator, pl_background **background, parley_error *error)
{
    pl_background *b = pl_alloc(allocator, 1, sizeof *b);
    if (!b)
        return pl_fail_memory(error, "a thread");
    *b = (pl_background){.allocator = *allocator, .end = &b->first};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (pthread_create(&b->thread, NULL, work, b) != 0) {
        release(b);
        return pl_fail(error, PARLEY_IO, "a thread cannot be started");
    }
    *background = b;
    return PARLEY_OK;
}

void pl_background_close(pl_background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    release(b);
}

void pl_background_submit(pl_background *b, pl_job *job)
{
    job->done = false;
    job->next = NULL;
    pthread_mutex_lock(&b->lock);
    *b->end = job;
    b->end = &job->next;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

bool pl_background_done(pl_background *b, const pl_job *job)
{
    pthread_mutex_lock(&b->lock);
    bool done = job->done;
    pthread_mutex_unlock(&b->lock);
    return done;
}

void pl_background_wait(pl_background *b, const pl_job *job)
{
    pthread_mutex_lock(&b->lock);
    while (!job->done)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

bool pl_background_busy(pl_background *b)
{
    pthread_mutex_lock(&b->lock);
    bool busy = b->first != NULL;
    pthread_mutex_unlock(&b->lock);
    return busy;
}
