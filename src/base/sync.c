#include "base/sync.h"

#include <errno.h>
#include <time.h>

void pl_lock_init(pl_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
}

void pl_lock_destroy(pl_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void pl_lock_take(pl_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void pl_lock_give(pl_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

void pl_condition_init(pl_condition *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* that of pl_seconds() */
    pthread_cond_init(&condition->condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void pl_condition_destroy(pl_condition *condition)
{
    pthread_cond_destroy(&condition->condition);
}

void pl_condition_wake(pl_condition *condition)
{
    pthread_cond_broadcast(&condition->condition);
}

bool pl_condition_wait(pl_condition *condition, pl_lock *lock, double when)
{
    const double farthest = 1e9; /* seconds; what is later counts as never */
    if (!(when < farthest)) {
        pthread_cond_wait(&condition->condition, &lock->mutex);
        return true;
    }
    struct timespec t = {.tv_sec = (time_t)when};
    t.tv_nsec = (long)((when - (double)t.tv_sec) * 1e9);
    return pthread_cond_timedwait(&condition->condition, &lock->mutex, &t) != ETIMEDOUT;
}

parley_status pl_thread_start(pl_thread *thread, void *(*run)(void *context), void *context, parley_error *error)
{
    if (pthread_create(&thread->thread, NULL, run, context) != 0)
        return pl_fail(error, PARLEY_IO, "a thread cannot be started");
    return PARLEY_OK;
}

void pl_thread_join(pl_thread *thread)
{
    pthread_join(thread->thread, NULL);
}
