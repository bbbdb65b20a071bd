/* Records what taps hand out and compares it with stored arrays; processor levels to test. Include behind cmocka.h. */
#ifndef TEST_SUPPORT_STAGES_H
#define TEST_SUPPORT_STAGES_H

#include "base/cpu.h"
#include "support/codec_fixture.h"
#include "support/npy.h"

#include <math.h>

/* ------------------------------------------------------------------ recording */

enum { MAX_STAGES = 32 };

typedef struct stage {
    char name[32];
    float *data;
    size_t count, capacity;
    int64_t width;
} stage;

typedef struct record {
    stage stages[MAX_STAGES];
    int count;
} record;

static inline stage *find_stage(record *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->stages[i].name, name) == 0)
            return &r->stages[i];
    return NULL;
}

static inline void on_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    record *r = context;
    stage *s = find_stage(r, name);
    size_t count = (size_t)(shape[0] * (rank == 2 ? shape[1] : 1));
    assert_int_equal(type, 'f');
    if (!s) {
        assert_true(r->count < MAX_STAGES);
        s = &r->stages[r->count++];
        snprintf(s->name, sizeof s->name, "%s", name);
        s->width = rank == 2 ? shape[1] : 0;
    }
    assert_int_equal(s->width, rank == 2 ? shape[1] : 0);
    if (s->count + count > s->capacity) {
        s->capacity = (s->count + count) * 2;
        s->data = realloc(s->data, s->capacity * sizeof *s->data);
        assert_non_null(s->data);
    }
    memcpy(s->data + s->count, data, count * sizeof *s->data);
    s->count += count;
}

static inline void record_free(record *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->stages[i].data);
    *r = (record){0};
}

/* ------------------------------------------------------------------ comparing */

static inline bool has(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s.npy", TEST_DATA, folder, name);
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

static inline npy_array load(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s.npy", TEST_DATA, folder, name);
    return npy_load(path);
}

/* Within 1e-4 of the largest magnitude: the limit that the golden data state. */
static inline void compare(const char *what, const float *got, const float *expected, size_t count, float largest)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(got[i] - expected[i]) <= 1e-4f * largest))
            fail_msg("%s: value %zu is %.9g, expected %.9g, largest %.9g", what, i, (double)got[i], (double)expected[i], (double)largest);
}

static inline float largest_of(const float *x, size_t count)
{
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++)
        largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    return largest;
}

static inline void compare_array(const char *folder, const char *name, const float *got, size_t count)
{
    npy_array expected = load(folder, name);
    assert_int_equal(expected.count, count);
    compare(name, got, expected.f, count, largest_of(expected.f, count));
    npy_free(&expected);
}

/* Levels to test: the scalar one and the best that this build has for this processor. */
static inline int levels(parley_cpu *list)
{
    parley_cpu best;
    parley_error error;
    list[0] = PARLEY_CPU_SCALAR;
    codec_fixture_need(pl_cpu_choose(PARLEY_CPU_BEST, &best, &error), &error);
    list[1] = best;
    return best != PARLEY_CPU_SCALAR && pl_kernels_for(best) ? 2 : 1;
}

#endif
