/* Engines in tests: opens one; a tap that stops who calls it. */
#ifndef TEST_SUPPORT_ENGINE_H
#define TEST_SUPPORT_ENGINE_H

#include "support/speak.h"

#include <pthread.h>

static inline parley_engine *open_engine(const parley_model *model, const parley_engine_options *options)
{
    parley_engine *engine = NULL;
    parley_error error = {0};
    check_ok(parley_engine_open(model, options, &engine, &error), &error);
    return engine;
}

/* The first call waits until the gate is opened, the others pass. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool reached, open;
} gate;

#define GATE                                                                   \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

static inline void gate_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    gate *g = context;
    (void)name, (void)type, (void)data, (void)shape, (void)rank;
    pthread_mutex_lock(&g->lock);
    g->reached = true;
    pthread_cond_broadcast(&g->changed);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static inline void gate_wait(gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->reached)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static inline void gate_open(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

#endif
