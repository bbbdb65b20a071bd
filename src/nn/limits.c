#include "nn/limits.h"

#include "base/clock.h"

#include <string.h>

enum { TRIES = 5, ROUNDS = 2000000 /* far longer than waking a thread */, SLICES = 16 /* a thread */ };

/* ------------------------------------------------------------------ arithmetic */

typedef struct peak {
    parley_cpu level;
    bool int8;
    int64_t rounds;
} peak;

static void run_peak(void *context, int task, int worker)
{
    (void)task, (void)worker;
    const peak *p = context;
    (void)pl_peak_run(p->level, p->int8, p->rounds);
}

double pl_limit_arithmetic(const pl_compute *compute, bool int8)
{
    peak p = {compute->k->level, int8, ROUNDS};
    int threads = pl_pool_threads(compute->pool);
    double operations = pl_peak_run(p.level, int8, 1) * ROUNDS * threads, best = 0.0;
    for (int i = 0; i < TRIES && operations > 0.0; i++) {
        double began = pl_seconds();
        pl_pool_run(compute->pool, run_peak, &p, threads);
        double rate = operations / (pl_seconds() - began);
        best = rate > best ? rate : best;
    }
    return best;
}

/* ------------------------------------------------------------------ memory */

typedef struct reading {
    const uint64_t *words;
    size_t count;
    int slices;
    uint64_t *sums; /* [slices] */
} reading;

static void read_slice(void *context, int task, int worker)
{
    (void)worker;
    const reading *r = context;
    enum { WAYS = 8 };
    size_t first = r->count * (size_t)task / (size_t)r->slices, last = r->count * ((size_t)task + 1) / (size_t)r->slices;
    uint64_t sums[WAYS] = {0};
    for (size_t i = first; i + WAYS <= last; i += WAYS)
        for (int j = 0; j < WAYS; j++)
            sums[j] += r->words[i + (size_t)j];
    for (int j = 1; j < WAYS; j++)
        sums[0] += sums[j];
    r->sums[task] = sums[0];
}

parley_status pl_limit_read(pl_compute *compute, size_t bytes, double *rate, parley_error *error)
{
    const parley_allocator *allocator = &compute->step.allocator;
    size_t count = bytes / sizeof(uint64_t);
    int slices = pl_pool_threads(compute->pool) * SLICES;
    uint64_t *words = pl_alloc(allocator, count, sizeof *words), *sums = pl_alloc(allocator, (size_t)slices, sizeof *sums);
    *rate = 0.0;
    if (words && sums) {
        memset(words, 1, count * sizeof *words);
        reading r = {words, count, slices, sums};
        for (int i = 0; i < TRIES; i++) {
            double began = pl_seconds();
            pl_pool_run(compute->pool, read_slice, &r, slices);
            double now = (double)bytes / (pl_seconds() - began);
            *rate = now > *rate ? now : *rate;
        }
    }
    pl_release(allocator, words, count, sizeof *words);
    pl_release(allocator, sums, (size_t)slices, sizeof *sums);
    return words && sums ? PARLEY_OK : pl_fail_memory(error, "a measurement of memory");
}

/* ------------------------------------------------------------------ work */

double pl_linear_bytes(const pl_linear *linear)
{
    return (double)pl_panels(&linear->w) * (double)linear->w.panel_bytes;
}

double pl_linear_operations(const pl_linear *linear)
{
    return 2.0 * linear->w.rows * linear->w.cols;
}

static double over_layers(const pl_transformer *t, double (*figure)(const pl_linear *linear))
{
    double sum = 0.0;
    for (int i = 0; i < t->shape.layers; i++) {
        const pl_block *b = &t->blocks[i];
        const pl_linear *all[] = {&b->q, &b->k, &b->v, &b->o, &b->gate, &b->up, &b->down};
        for (size_t j = 0; j < sizeof all / sizeof all[0]; j++)
            sum += figure(all[j]);
    }
    return sum;
}

double pl_transformer_bytes(const pl_transformer *transformer)
{
    return over_layers(transformer, pl_linear_bytes);
}

double pl_transformer_operations(const pl_transformer *transformer)
{
    return over_layers(transformer, pl_linear_operations);
}
