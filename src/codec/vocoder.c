#include "codec/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void tap_stage(const codec_run *run, int i, const float *data, int rows, int width)
{
    char name[32];
    snprintf(name, sizeof name, "voc%d", i);
    pl_tap_floats(run->tap, name, data, rows, width);
}

/* ------------------------------------------------------------------ samples */

static float clamped(float x)
{
    return x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : x;
}

static parley_status hand_out(codec_run *run, const float *raw, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(raw[i]))
            return pl_fail(run->error, PARLEY_VALUE, "frame %" PRId64 ": the decoded sound is not finite",
                           run->first_frame + (run->samples + i) / run->decoder->samples_per_frame);
        if (run->pcm)
            run->pcm[i] = clamped(raw[i]);
    }
    pl_tap_floats(run->tap, "pcm_raw", raw, n, 0);
    if (run->pcm) {
        pl_tap_floats(run->tap, "pcm", run->pcm, n, 0);
        run->pcm += n;
    }
    run->samples += n;
    return PARLEY_OK;
}

enum { SAMPLES_PER_TASK = 240 };

typedef struct sampling {
    const codec_run *run;
    int rows;
} sampling;

static void sample_some(void *context, int task, int worker)
{
    (void)worker;
    const sampling *s = context;
    const codec_last *last = &s->run->decoder->last;
    int first = task * SAMPLES_PER_TASK, n = s->rows - first < SAMPLES_PER_TASK ? s->rows - first : SAMPLES_PER_TASK;
    s->run->compute->k->dot_rows(s->run->state->last.data + (int64_t)first * last->width, last->width, last->weight, last->taps * last->width,
                                 last->bias, n, s->run->state->raw + first);
}

/* The new rows behind the last activation become samples. */
static parley_status last_layer(codec_run *run, int rows)
{
    sampling s = {run, rows};
    pl_pool_run(run->compute->pool, sample_some, &s, (rows + SAMPLES_PER_TASK - 1) / SAMPLES_PER_TASK);
    pl_codec_rows_keep(&run->state->last, rows);
    return hand_out(run, run->state->raw, rows);
}

/* ------------------------------------------------------------------ layers of a stage */

/* One layer of a stage: what it adds to the residual stream x, or puts there, and the activation that the next layer starts with. */
typedef struct layer {
    const codec_run *run;
    const pl_conv *conv;    /* of the new rows of `in`, behind row `first` of them */
    const codec_unit *unit; /* a residual unit: x += conv2(snake(conv)); NULL: x = conv */
    const codec_rows *in;
    int first, rows;
    const pl_snake *act; /* then snake(x) to the new rows of `next` */
    const codec_rows *next;
    int rows_per_task, tasks;
} layer;

/* Rows of y that belong to a unit's inside, from row `at` of the buffer on. */
static codec_rows inside(const layer *l, int at)
{
    const pl_codec_state *s = l->run->state;
    int width = l->conv->out;
    bool int8 = pl_codec_is_int8(l->run->decoder, &l->unit->conv2);
    return (codec_rows){.data = s->y + (int64_t)at * width, .q8 = int8 ? pl_q8_rows_at(&s->y8, at, width) : (pl_q8_rows){0}, .width = width};
}

/* Layer by layer over all rows, each product spread by tiles: for few rows, of which every thread would read all weights. */
static void run_spread(const layer *l)
{
    pl_compute *compute = l->run->compute;
    float *x = l->run->state->x;
    pl_q8_rows shifted[2];
    pl_gemm product = pl_codec_product(l->conv, l->in, l->first, l->rows, l->unit ? l->run->state->y : x, false, &shifted[0]);
    pl_gemm_run(compute, &product, 1);
    if (l->unit) {
        codec_rows y = inside(l, 0);
        pl_codec_snake(compute, &l->unit->act2, y.data, l->rows, &y);
        pl_gemm second = pl_codec_product(&l->unit->conv2, &y, 0, l->rows, x, true, &shifted[1]);
        pl_gemm_run(compute, &second, 1);
    }
    pl_codec_snake(compute, l->act, x, l->rows * l->conv->stride, l->next);
}

/* A run of rows through the whole layer, by one thread: y, and rows of x, are still in its cache when they are read again. */
static void run_rows(void *context, int task, int worker)
{
    const layer *l = context;
    const pl_compute *compute = l->run->compute;
    int at = task * l->rows_per_task, n = l->rows - at < l->rows_per_task ? l->rows - at : l->rows_per_task;
    int out = l->conv->out, stride = l->conv->stride;
    int slot = (l->tasks > pl_pool_threads(compute->pool) ? worker : task) * l->rows_per_task; /* rows of y that no other task has now */
    float *x = l->run->state->x + (int64_t)at * stride * out, *y = l->run->state->y + (int64_t)slot * out;
    void *scratch = compute->scratch + (size_t)worker * compute->scratch_stride;
    pl_q8_rows shifted[2];
    pl_gemm product = pl_codec_product(l->conv, l->in, l->first + at, n, l->unit ? y : x, false, &shifted[0]);
    compute->k->gemm(&product, 0, pl_panels(product.w), 0, n, scratch);
    if (l->unit) {
        codec_rows mid = inside(l, slot);
        pl_codec_snake_here(compute->k, &l->unit->act2, y, n, &mid, 0);
        pl_gemm second = pl_codec_product(&l->unit->conv2, &mid, 0, n, x, true, &shifted[1]);
        compute->k->gemm(&second, 0, pl_panels(second.w), 0, n, scratch);
    }
    pl_codec_snake_here(compute->k, l->act, x, n * stride, l->next, at * stride);
}

enum {
    LEAST_ROWS = 48,  /* a thread: with fewer, reading the weights takes longer than the products */
    TASK_ROWS = 96,   /* y of a task in the second-level cache, 288 KiB at 768 channels */
    TILE_COLUMNS = 12 /* whole tiles at every level */
};

static void run_layer(layer *l)
{
    int threads = pl_pool_threads(l->run->compute->pool);
    if (l->rows < threads * LEAST_ROWS) {
        run_spread(l);
        return;
    }
    int rounds = (l->rows + threads * TASK_ROWS - 1) / (threads * TASK_ROWS);
    l->rows_per_task = (l->rows / (rounds * threads) / TILE_COLUMNS + 1) * TILE_COLUMNS;
    l->tasks = (l->rows + l->rows_per_task - 1) / l->rows_per_task;
    pl_pool_run(l->run->compute->pool, run_rows, l, l->tasks);
}

/* ------------------------------------------------------------------ stages */

static parley_status run_stage(codec_run *run, int i, int rows);

/* Where rows go behind unit u of stage i, and through which activation. */
static const codec_rows *behind(const codec_run *run, int i, int u, const pl_snake **act)
{
    const pl_codec_decoder *d = run->decoder;
    pl_codec_state *s = run->state;
    bool in_stage = u < PL_CODEC_UNITS - 1, last = i == d->shape.n_rates - 1;
    *act = in_stage ? &d->stages[i].units[u + 1].act1 : last ? &d->last_snake : &d->stages[i + 1].snake;
    return in_stage ? &s->units[i][u + 1] : last ? &s->last : &s->stages[i + 1];
}

/* `rows` new rows of stage i, behind `first` others, through it and all that follow. */
static parley_status stage_piece(codec_run *run, int i, int first, int rows)
{
    const codec_stage *stage = &run->decoder->stages[i];
    pl_codec_state *s = run->state;
    layer up = {.run = run, .conv = &stage->conv, .in = &s->stages[i], .first = first, .rows = rows};
    up.next = behind(run, i, -1, &up.act);
    run_layer(&up);
    rows *= stage->conv.stride;
    for (int u = 0; u < PL_CODEC_UNITS; u++) {
        const codec_unit *unit = &stage->units[u];
        layer residual = {.run = run, .conv = &unit->conv1, .unit = unit, .in = &s->units[i][u], .rows = rows};
        residual.next = behind(run, i, u, &residual.act);
        run_layer(&residual);
        pl_codec_rows_keep(residual.in, rows);
    }
    tap_stage(run, i + 1, s->x, rows, stage->conv.out);
    if (i < run->decoder->shape.n_rates - 1)
        return run_stage(run, i + 1, rows);
    return last_layer(run, rows);
}

/* The stage's new rows are waiting behind its history. */
static parley_status run_stage(codec_run *run, int i, int rows)
{
    int most = run->state->stage_rows[i];
    for (int at = 0; at < rows; at += most)
        PL_TRY(stage_piece(run, i, at, rows - at < most ? rows - at : most));
    pl_codec_rows_keep(&run->state->stages[i], rows);
    return PARLEY_OK;
}

parley_status pl_codec_vocoder(codec_run *run, int rows)
{
    const pl_codec_decoder *d = run->decoder;
    pl_codec_state *s = run->state;
    pl_codec_conv(run->compute, &d->voc0, &s->voc0, rows, s->voc0_out);
    tap_stage(run, 0, s->voc0_out, rows, d->shape.decoder_dim);
    pl_codec_snake(run->compute, &d->stages[0].snake, s->voc0_out, rows, &s->stages[0]);
    return run_stage(run, 0, rows);
}
