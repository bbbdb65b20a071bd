/* Threads that share the tasks of one parallel region. Tasks must be independent: which thread takes which, and how many threads there are, must
 * not change results. Workers spin briefly after a region, then sleep. */
#ifndef PL_BASE_POOL_H
#define PL_BASE_POOL_H

#include "base/arena.h"

typedef struct pl_pool pl_pool;

/* `threads` counts the caller: threads - 1 workers are started. Errors: ARGUMENT (none), MEMORY, IO (a thread cannot be started). */
parley_status pl_pool_open(const parley_allocator *allocator, int threads, pl_pool **pool, parley_error *error);
void pl_pool_close(pl_pool *pool);
int pl_pool_threads(const pl_pool *pool);

/* Runs run(context, task, worker) for task = 0 .. tasks - 1; worker is below pl_pool_threads(), and no two tasks with the same worker number run
 * at once within this region. When another session uses the pool, or `pool` is NULL, the caller runs all tasks itself as worker 0. */
void pl_pool_run(pl_pool *pool, void (*run)(void *context, int task, int worker), void *context, int tasks);

/* Keeps the pool for the calling thread: regions of other threads, those that run included, make way behind the tasks that are being done and go on
 * when it is let go. So a thread that must not be late computes beside others that take long. NULL is allowed. */
void pl_pool_hold(pl_pool *pool);
void pl_pool_let_go(pl_pool *pool);
/* Whether others wait for it. */
bool pl_pool_is_wanted(const pl_pool *pool);

#endif
