/* Threads, locks and conditions. */
#ifndef PL_BASE_SYNC_H
#define PL_BASE_SYNC_H

#include "base/status.h"

#include <pthread.h>

typedef struct pl_lock {
    pthread_mutex_t mutex;
} pl_lock;

void pl_lock_init(pl_lock *lock);
void pl_lock_destroy(pl_lock *lock);
void pl_lock_take(pl_lock *lock);
void pl_lock_give(pl_lock *lock);

/* Something that threads wait for, holding a lock, and look at again when they are woken. */
typedef struct pl_condition {
    pthread_cond_t condition;
} pl_condition;

void pl_condition_init(pl_condition *condition);
void pl_condition_destroy(pl_condition *condition);
void pl_condition_wake(pl_condition *condition); /* all who wait */

/* Waits until woken, or until pl_seconds() is `when` (INFINITY: never): false then. It may return early. */
bool pl_condition_wait(pl_condition *condition, pl_lock *lock, double when);

typedef struct pl_thread {
    pthread_t thread;
} pl_thread;

/* IO: it cannot be started. */
parley_status pl_thread_start(pl_thread *thread, void *(*run)(void *context), void *context, parley_error *error);
void pl_thread_join(pl_thread *thread);

#endif
