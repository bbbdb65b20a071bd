/* Debug taps: intermediate results by name. Off by default; they never change results. */
#ifndef PL_BASE_TAP_H
#define PL_BASE_TAP_H

#include <parley/tts.h>

typedef struct pl_tap {
    parley_tap_fn call; /* NULL: off */
    void *context;
} pl_tap;

/* [rows][width] of floats; width 0: a vector [rows]. */
static inline void pl_tap_floats(const pl_tap *tap, const char *name, const float *data, int64_t rows, int64_t width)
{
    int64_t shape[2] = {rows, width};
    if (tap && tap->call)
        tap->call(tap->context, name, 'f', data, shape, width ? 2 : 1);
}

static inline void pl_tap_ids(const pl_tap *tap, const char *name, const int32_t *data, int64_t rows, int64_t width)
{
    int64_t shape[2] = {rows, width};
    if (tap && tap->call)
        tap->call(tap->context, name, 'i', data, shape, width ? 2 : 1);
}

#endif
