/* Times of a recogniser's stages on made-up sound: encoder, prefill, tokens. */
#include "base/clock.h"
#include "models/bench_limits.h"
#include "models/qwen3_asr/session.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_RUNS = 1000, SECONDS = 11, TOKENS = 48 };

typedef struct measured {
    pl_bench_limits limits; /* of a token */
    double encode[MOST_RUNS], prefill[MOST_RUNS], token[MOST_RUNS], total[MOST_RUNS];
} measured;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Faint noise: weights do not care, and it is no silence. */
static void make_sound(float *pcm, int samples)
{
    uint32_t state = 1;
    for (int i = 0; i < samples; i++) {
        state = state * 1664525u + 1013904223u;
        pcm[i] = ((float)(state >> 8) / 16777216.0f - 0.5f) * 0.2f;
    }
}

static parley_status run_once(const asr_model *m, const parley_bench_options *o, const float *pcm, measured *t, int at, parley_error *error)
{
    parley_asr_options options;
    parley_asr *session;
    parley_asr_result r;
    size_t running = 1;
    pl_asr_ops_qwen3.options_init(m, &options);
    options.budget = PARLEY_TOKENS_GIVEN;
    options.max_tokens = TOKENS;
    options.activations = o->int8_activations ? PARLEY_ACTIVATIONS_INT8 : PARLEY_ACTIVATIONS_F32;
    PL_TRY(pl_asr_ops_qwen3.open(m, &options, &session, error));
    parley_status status = pl_asr_ops_qwen3.push(session, pcm, (size_t)SECONDS * PARLEY_ASR_RATE, error);
    if (status == PARLEY_OK)
        status = pl_asr_ops_qwen3.finish(session, error);
    while (status == PARLEY_OK && running)
        status = pl_asr_ops_qwen3.step(&session, 1, INT32_MAX, &running, error);
    pl_asr_ops_qwen3.result(session, &r);
    t->encode[at] = r.times.encode;
    t->prefill[at] = r.times.prefill;
    t->token[at] = r.n_segments && r.segments[0].n_tokens > 1 ? r.times.decode / (double)(r.segments[0].n_tokens - 1) : 0;
    t->total[at] = r.times.total;
    pl_asr_ops_qwen3.close(session);
    return status;
}

static double token_bytes(const asr_model *m)
{
    return pl_transformer_bytes(&m->network.text) + pl_linear_bytes(&m->network.head);
}

/* `limits` NULL: the row's work is not known; else it is that of one token. */
static void report_one(const asr_model *m, double *seconds, int runs, const char *stage, const char *shape, const pl_bench_limits *limits,
                       pl_report_row report, void *context)
{
    qsort(seconds, (size_t)runs, sizeof *seconds, by_value);
    parley_bench_row row = {.stage = stage,
                            .shape = shape,
                            .type = pl_type_info(m->network.text.blocks[0].q.w.type)->name,
                            .level = parley_cpu_name(m->env.kernels->level),
                            .threads = pl_pool_threads(m->env.pool),
                            .seconds = seconds[runs / 2],
                            .seconds_low = seconds[0],
                            .seconds_high = seconds[runs - 1],
                            .limit = ""};
    if (limits) {
        row.gigabytes = 1e-9 * token_bytes(m);
        row.giga_operations = 1e-9 * (pl_transformer_operations(&m->network.text) + pl_linear_operations(&m->network.head));
        pl_bench_share(limits, &row);
    }
    report(context, &row);
}

static parley_status measure_limits(const asr_model *m, const parley_bench_options *o, measured *t, pl_report_row report, void *context,
                                    parley_error *error)
{
    pl_compute compute;
    PL_TRY(pl_compute_open(&m->env.allocator, m->env.kernels, m->env.pool, o->int8_activations, &compute, error));
    parley_status status = pl_bench_measure_limits(&t->limits, &compute, token_bytes(m), m->network.text.blocks[0].q.w.type, error);
    if (status == PARLEY_OK)
        pl_bench_report_limits(&t->limits, &compute, report, context);
    pl_compute_close(&compute);
    return status;
}

parley_status pl_asr_bench(const void *model, const parley_bench_options *options, pl_report_row report, void *context, parley_error *error)
{
    const asr_model *m = model;
    int runs = options->runs < MOST_RUNS ? options->runs : MOST_RUNS, samples = SECONDS * PARLEY_ASR_RATE;
    char shape[64];
    if (m->config.aligner || m->parts == PARLEY_PARTS_TEXT)
        return pl_fail(error, PARLEY_FAMILY, "there is nothing to time: the model does not transcribe");
    float *pcm = pl_alloc(&m->env.allocator, (size_t)samples, sizeof *pcm);
    measured *t = pl_alloc(&m->env.allocator, 1, sizeof *t);
    parley_status status = pcm && t ? PARLEY_OK : pl_fail_memory(error, "a benchmark");
    if (status == PARLEY_OK) {
        make_sound(pcm, samples);
        status = measure_limits(m, options, t, report, context, error);
    }
    for (int i = -1; i < runs && status == PARLEY_OK; i++) /* the first warms up */
        status = run_once(m, options, pcm, t, i < 0 ? 0 : i, error);
    if (status == PARLEY_OK) {
        snprintf(shape, sizeof shape, "%d s of sound", SECONDS);
        report_one(m, t->encode, runs, "encode", shape, NULL, report, context);
        report_one(m, t->prefill, runs, "prefill", shape, NULL, report, context);
        report_one(m, t->token, runs, "token", "one of many", &t->limits, report, context);
        snprintf(shape, sizeof shape, "%d s of sound, %d tokens at most", SECONDS, TOKENS);
        report_one(m, t->total, runs, "whole", shape, NULL, report, context);
    }
    pl_release(&m->env.allocator, pcm, (size_t)samples, sizeof *pcm);
    pl_release(&m->env.allocator, t, 1, sizeof *t);
    return status;
}
