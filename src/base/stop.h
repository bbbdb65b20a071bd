/* A caller's wish that a long call end early, asked for between pieces of work. */
#ifndef PL_BASE_STOP_H
#define PL_BASE_STOP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pl_stop {
    bool (*asked)(void *context); /* NULL: never */
    void *context;
} pl_stop;

static inline bool pl_stop_asked(const pl_stop *stop)
{
    return stop && stop->asked && stop->asked(stop->context);
}

#endif
