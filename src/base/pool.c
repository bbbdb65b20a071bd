#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { SPINS = 6000, YIELD_AFTER = 2000 };

typedef struct worker {
    pl_pool *pool;
    int number;
    pthread_t thread;
} worker;

/* A region is open while `open` holds its number. A worker enters by raising `active` and then finding its region still open; the caller closes
 * the region and waits for `active` to fall to 0, so that a worker that sleeps never holds it up. */
struct pl_pool {
    parley_allocator allocator;
    worker *workers;
    int threads, started;
    pthread_mutex_t busy;
    void (*run)(void *context, int task, int worker);
    void *context;
    int tasks;
    atomic_int next, active;
    atomic_uint generation, open;
    atomic_int sleepers;
    atomic_bool stop;
    pthread_mutex_t sleep_lock;
    pthread_cond_t wake;
    atomic_int waiting;              /* threads, for the holder to let go */
    atomic_uintptr_t holder, caller; /* threads: that holds the pool; whose region is shared now. 0: none */
    pthread_mutex_t hold_lock;
    pthread_cond_t free;
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Somebody else holds the pool: the region that is shared now makes way behind the tasks that run. */
static bool makes_way(const pl_pool *pool)
{
    uintptr_t holder = atomic_load(&pool->holder);
    return holder != 0 && holder != atomic_load(&pool->caller);
}

static void take_tasks(pl_pool *pool, int number)
{
    int task;
    while (!makes_way(pool) && (task = atomic_fetch_add(&pool->next, 1)) < pool->tasks)
        pool->run(pool->context, task, number);
}

static void sleep_until_changed(pl_pool *pool, unsigned seen)
{
    pthread_mutex_lock(&pool->sleep_lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == seen && !atomic_load(&pool->stop))
        pthread_cond_wait(&pool->wake, &pool->sleep_lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->sleep_lock);
}

static void *work(void *argument)
{
    worker *self = argument;
    pl_pool *pool = self->pool;
    unsigned seen = 0;
    while (!atomic_load(&pool->stop)) {
        for (int i = 0; i < SPINS && atomic_load(&pool->generation) == seen; i++)
            relax();
        if (atomic_load(&pool->generation) == seen)
            sleep_until_changed(pool, seen);
        seen = atomic_load(&pool->generation);
        atomic_fetch_add(&pool->active, 1);
        if (atomic_load(&pool->open) == seen && seen != 0)
            take_tasks(pool, self->number);
        atomic_fetch_sub(&pool->active, 1);
    }
    return NULL;
}

void pl_pool_close(pl_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->sleep_lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->sleep_lock);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->sleep_lock);
    pthread_mutex_destroy(&pool->busy);
    pthread_cond_destroy(&pool->free);
    pthread_mutex_destroy(&pool->hold_lock);
    pl_release(&pool->allocator, pool->workers, (size_t)pool->threads, sizeof *pool->workers);
    parley_allocator allocator = pool->allocator;
    pl_release(&allocator, pool, 1, sizeof *pool);
}

parley_status pl_pool_open(const parley_allocator *allocator, int threads, pl_pool **pool, parley_error *error)
{
    if (threads < 1)
        return pl_fail(error, PARLEY_ARGUMENT, "threads: expected at least 1, got %d", threads);
    pl_pool *p = pl_alloc(allocator, 1, sizeof *p);
    worker *workers = pl_alloc(allocator, (size_t)threads, sizeof *workers);
    if (!p || !workers) {
        pl_release(allocator, p, 1, sizeof *p);
        pl_release(allocator, workers, (size_t)threads, sizeof *workers);
        return pl_fail_memory(error, "the thread pool");
    }
    *p = (pl_pool){.allocator = *allocator, .workers = workers, .threads = threads};
    pthread_mutex_init(&p->busy, NULL);
    pthread_mutex_init(&p->sleep_lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_mutex_init(&p->hold_lock, NULL);
    pthread_cond_init(&p->free, NULL);
    for (int i = 0; i < threads - 1; i++) {
        workers[i] = (worker){.pool = p, .number = i + 1};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            pl_pool_close(p);
            return pl_fail(error, PARLEY_IO, "thread %d of %d cannot be started", i + 2, threads);
        }
        p->started++;
    }
    *pool = p;
    return PARLEY_OK;
}

int pl_pool_threads(const pl_pool *pool)
{
    return pool ? pool->threads : 1;
}

static void wake_sleepers(pl_pool *pool)
{
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->sleep_lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->sleep_lock);
}

/* From task `first` on. Returns how many are done now: fewer than all where the region has made way. */
static int run_shared(pl_pool *pool, int first)
{
    unsigned number = atomic_load(&pool->generation) + 1;
    if (number == 0)
        number = 1; /* 0 means closed */
    atomic_store(&pool->next, first);
    atomic_store(&pool->open, number);
    atomic_store(&pool->generation, number);
    wake_sleepers(pool);
    take_tasks(pool, 0);
    atomic_store(&pool->open, 0);
    for (int i = 0; atomic_load(&pool->active) != 0; i++) {
        relax();
        if (i > YIELD_AFTER)
            sched_yield();
    }
    int next = atomic_load(&pool->next);
    return next < pool->tasks ? next : pool->tasks;
}

/* ------------------------------------------------------------------ holding */

static uintptr_t this_thread(void)
{
    return (uintptr_t)pthread_self();
}

/* Whether the thread takes part in the region that is shared now: what it starts is part of that. */
static bool is_inside(const pl_pool *pool, uintptr_t self)
{
    bool inside = atomic_load(&pool->caller) == self;
    for (int i = 0; i < pool->started && !inside; i++)
        inside = (uintptr_t)pool->workers[i].thread == self;
    return inside;
}

/* Whether the calling thread has to wait: somebody else holds the pool, and what it starts is no part of the region that is shared. */
static bool has_to_wait(const pl_pool *pool)
{
    uintptr_t holder = atomic_load(&pool->holder), self = this_thread();
    return holder != 0 && holder != self && !is_inside(pool, self);
}

static void wait_for_turn(pl_pool *pool)
{
    if (!has_to_wait(pool))
        return;
    pthread_mutex_lock(&pool->hold_lock);
    atomic_fetch_add(&pool->waiting, 1);
    while (atomic_load(&pool->holder) != 0)
        pthread_cond_wait(&pool->free, &pool->hold_lock);
    atomic_fetch_sub(&pool->waiting, 1);
    pthread_mutex_unlock(&pool->hold_lock);
}

bool pl_pool_is_wanted(const pl_pool *pool)
{
    return pool && atomic_load(&pool->waiting) > 0;
}

void pl_pool_hold(pl_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->hold_lock);
    while (atomic_load(&pool->holder) != 0)
        pthread_cond_wait(&pool->free, &pool->hold_lock);
    atomic_store(&pool->holder, this_thread());
    pthread_mutex_unlock(&pool->hold_lock);
    pthread_mutex_lock(&pool->busy);
    pthread_mutex_unlock(&pool->busy);
}

void pl_pool_let_go(pl_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->hold_lock);
    atomic_store(&pool->holder, 0);
    pthread_cond_broadcast(&pool->free);
    pthread_mutex_unlock(&pool->hold_lock);
}

/* ------------------------------------------------------------------ regions */

/* Both run tasks from `done` on and return how many are done. */
static int run_alone(pl_pool *pool, void (*run)(void *context, int task, int worker), void *context, int tasks, int done)
{
    for (; done < tasks && !(pool && has_to_wait(pool)); done++)
        run(context, done, 0);
    return done;
}

static int run_some(pl_pool *pool, void (*run)(void *context, int task, int worker), void *context, int tasks, int done)
{
    if (!pool || pool->threads == 1 || tasks - done <= 1 || pthread_mutex_trylock(&pool->busy) != 0)
        return run_alone(pool, run, context, tasks, done);
    pool->run = run;
    pool->context = context;
    pool->tasks = tasks;
    atomic_store(&pool->caller, this_thread());
    done = run_shared(pool, done);
    atomic_store(&pool->caller, 0);
    pthread_mutex_unlock(&pool->busy);
    return done;
}

void pl_pool_run(pl_pool *pool, void (*run)(void *context, int task, int worker), void *context, int tasks)
{
    for (int done = 0; done < tasks;) {
        if (pool)
            wait_for_turn(pool);
        done = run_some(pool, run, context, tasks, done);
    }
}
