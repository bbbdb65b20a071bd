#include "codec/parts.h"

#include "nn/rebase.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ quantiser */

/* The reference reads negative codes as 0 (its padding is -1). Here they are refused: no caller of ours makes any, so one is a fault. */
parley_status pl_codec_check_codes(const pl_codec_shape *shape, const int32_t *codes, int64_t frames, parley_error *error)
{
    for (int64_t t = 0; t < frames; t++)
        for (int g = 0; g < shape->groups; g++) {
            int32_t code = codes[t * shape->groups + g];
            if (code < 0 || code >= shape->codebook_size)
                return pl_fail(error, PARLEY_ARGUMENT, "frame %" PRId64 ", group %d: code %" PRId32 " is not within 0..%d", t, g, code,
                               shape->codebook_size - 1);
        }
    return PARLEY_OK;
}

/* Sum of the rows of groups first .. last - 1, in this order, into state->codes. */
static void sum_rows(const codec_run *run, const int32_t *codes, int n, int first, int last)
{
    const pl_codec_decoder *d = run->decoder;
    int width = d->shape.codebook_width;
    for (int t = 0; t < n; t++) {
        float *sum = run->state->codes + (int64_t)t * width;
        for (int g = first; g < last; g++) {
            const float *row = d->codebooks[g] + (int64_t)codes[(int64_t)t * d->shape.groups + g] * width;
            if (g == first)
                memcpy(sum, row, (size_t)width * sizeof *sum);
            else
                run->compute->k->add(sum, row, width);
        }
    }
}

static parley_status project(const codec_run *run, const pl_linear *layer, const float *x, int n, float *y)
{
    pl_linear_job job = {.layer = layer, .y = y, .y_stride = layer->w.rows};
    return pl_linear_run(run->compute, &job, 1, x, layer->w.cols, n, run->error);
}

static parley_status quantiser(const codec_run *run, const int32_t *codes, int n)
{
    const pl_codec_decoder *d = run->decoder;
    pl_codec_state *s = run->state;
    int width = d->shape.rvq_width;
    float *out = codec_fresh(&s->pre_conv);
    sum_rows(run, codes, n, 0, 1);
    PL_TRY(project(run, &d->first_out, s->codes, n, out));
    pl_tap_floats(run->tap, "rvq_first", out, n, width);
    if (d->shape.groups > 1) {
        sum_rows(run, codes, n, 1, d->shape.groups);
        PL_TRY(project(run, &d->rest_out, s->codes, n, s->rvq));
        run->compute->k->add(out, s->rvq, (int64_t)n * width);
    }
    pl_tap_floats(run->tap, "rvq", out, n, width);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ transformer */

static void tap_layer(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const codec_run *run = context;
    char name[32];
    if (strcmp(what, "out") != 0)
        return;
    snprintf(name, sizeof name, "tf_layer%d", layer);
    pl_tap_floats(run->tap, name, data, rows, width);
}

/* state->latent -> `out` [n][latent]. */
static parley_status transformer(codec_run *run, int n, float *out)
{
    const pl_codec_decoder *d = run->decoder;
    const pl_transformer_shape *shape = &d->shape.transformer;
    pl_codec_state *s = run->state;
    PL_TRY(project(run, &d->in_proj, s->latent, n, s->model));
    pl_tap_floats(run->tap, "tf_in", s->model, n, shape->width);
    pl_tokens tokens = {&s->kv, n};
    pl_forward forward = {.x = s->model, .sequences = &tokens, .n_sequences = 1, .out = s->model, .tap_context = run};
    if (run->tap && run->tap->call)
        forward.tap = tap_layer;
    PL_TRY(pl_transformer_forward(run->compute, &d->transformer, &forward, run->error));
    if (shape->window > 0 && s->kv.length >= shape->window)
        pl_kv_drop_before(&s->kv, s->kv.length - shape->window + 1);
    pl_tap_floats(run->tap, "tf_norm", s->model, n, shape->width);
    PL_TRY(project(run, &d->out_proj, s->model, n, out));
    pl_tap_floats(run->tap, "tf_out", out, n, d->shape.latent);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ ConvNeXt upsampling */

typedef struct convnext {
    const codec_run *run;
    const codec_up *up;
    const codec_rows *input; /* of the depthwise convolution; its new rows are the block's input */
    int rows;
    float *out; /* [rows][latent] */
} convnext;

enum { ROWS_PER_TASK = 4 };

static int tasks_for(int rows)
{
    return (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
}

static int rows_of_task(int rows, int first)
{
    return rows - first < ROWS_PER_TASK ? rows - first : ROWS_PER_TASK;
}

static void depthwise_rows(void *context, int task, int worker)
{
    (void)worker;
    const convnext *c = context;
    const pl_kernels *k = c->run->compute->k;
    int width = c->input->width, first = task * ROWS_PER_TASK, n = rows_of_task(c->rows, first);
    float *h = c->run->state->hidden + (int64_t)first * width;
    k->depthwise(c->input->data + (int64_t)first * width, c->up->depthwise, c->up->depthwise_bias, c->up->taps, width, n, h);
    for (int r = 0; r < n; r++, h += width)
        k->layer_norm(h, c->up->norm_weight, c->up->norm_bias, 1e-6f, width, h); /* a constant of the reference, in no configuration */
}

static void gelu_rows(void *context, int task, int worker)
{
    (void)worker;
    const convnext *c = context;
    int width = c->up->pw1.w.rows, first = task * ROWS_PER_TASK;
    c->run->compute->k->gelu(c->run->state->wide + (int64_t)first * width, (int64_t)rows_of_task(c->rows, first) * width);
}

static void add_rows(void *context, int task, int worker)
{
    (void)worker;
    const convnext *c = context;
    int width = c->input->width, first = task * ROWS_PER_TASK, n = rows_of_task(c->rows, first);
    int64_t at = (int64_t)first * width;
    memcpy(c->out + at, codec_fresh(c->input) + at, (size_t)n * (size_t)width * sizeof *c->out);
    c->run->compute->k->add_scaled(c->out + at, c->run->state->hidden + at, c->up->gamma, width, n);
}

static parley_status convnext_block(convnext *c)
{
    const codec_run *run = c->run;
    pl_codec_state *s = run->state;
    pl_pool_run(run->compute->pool, depthwise_rows, c, tasks_for(c->rows));
    PL_TRY(project(run, &c->up->pw1, s->hidden, c->rows, s->wide));
    pl_pool_run(run->compute->pool, gelu_rows, c, tasks_for(c->rows));
    PL_TRY(project(run, &c->up->pw2, s->wide, c->rows, s->hidden));
    pl_pool_run(run->compute->pool, add_rows, c, tasks_for(c->rows));
    return PARLEY_OK;
}

static void tap_up(const codec_run *run, const char *format, int i, const float *data, int rows)
{
    char name[32];
    snprintf(name, sizeof name, format, i);
    pl_tap_floats(run->tap, name, data, rows, run->decoder->shape.latent);
}

/* Where the rows behind `ratios` upsamplings go. */
static const codec_rows *upsampled(const codec_run *run, int ratios)
{
    return ratios < run->decoder->shape.n_ratios ? &run->state->up_conv[ratios] : &run->state->voc0;
}

static parley_status upsampling(codec_run *run, int i, int n)
{
    const codec_up *up = &run->decoder->up[i];
    const codec_rows *in = &run->state->up_conv[i], *mid = &run->state->up_depthwise[i];
    convnext block = {run, up, mid, n * up->conv.stride, codec_fresh(upsampled(run, i + 1))};
    pl_codec_conv(run->compute, &up->conv, in, n, codec_fresh(mid));
    tap_up(run, "up%d_conv", i, codec_fresh(mid), block.rows);
    PL_TRY(convnext_block(&block));
    pl_codec_rows_keep(mid, block.rows);
    tap_up(run, "up%d", i, block.out, block.rows);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ pieces */

static parley_status run_piece(codec_run *run, const int32_t *codes, int n)
{
    const pl_codec_decoder *d = run->decoder;
    pl_codec_state *s = run->state;
    PL_TRY(quantiser(run, codes, n));
    pl_codec_conv(run->compute, &d->pre_conv, &s->pre_conv, n, s->latent);
    pl_tap_floats(run->tap, "pre_conv", s->latent, n, d->shape.latent);
    PL_TRY(transformer(run, n, codec_fresh(upsampled(run, 0))));
    for (int i = 0; i < d->shape.n_ratios; i++) {
        PL_TRY(upsampling(run, i, n));
        n *= d->shape.ratios[i];
    }
    return pl_codec_vocoder(run, n);
}

/* Positions count from the stream's start, but are moved back at fixed frames, so that streams have no end: float32 angles would lose a digit of the
 * rotation every tenfold. The moves do not depend on how frames come in, since no piece goes across one. */
static int next_piece(codec_run *run, int64_t frames)
{
    pl_codec_state *s = run->state;
    int64_t n = frames < CODEC_PIECE ? frames : CODEC_PIECE;
    if (s->rebase_at == 0)
        return (int)n;
    if (s->kv.length == s->rebase_at)
        pl_transformer_rebase(run->compute, &run->decoder->transformer, &s->kv, s->rebase_by, s->cosine, s->sine);
    return (int)(n < s->rebase_at - s->kv.length ? n : s->rebase_at - s->kv.length);
}

parley_status pl_codec_run_frames(codec_run *run, const int32_t *codes, int64_t frames)
{
    bool int8 = run->compute->int8;
    parley_status status = PARLEY_OK;
    run->compute->int8 = run->decoder->int8;
    while (frames > 0 && status == PARLEY_OK) {
        int n = next_piece(run, frames);
        status = run_piece(run, codes, n);
        codes += (int64_t)n * run->decoder->shape.groups;
        frames -= n;
    }
    run->compute->int8 = int8;
    return status;
}

parley_status pl_codec_decode(pl_compute *compute, const pl_codec_decoder *decoder, pl_codec_state *state, const int32_t *codes, int64_t frames,
                              float *pcm, const pl_tap *tap, parley_error *error)
{
    PL_TRY(pl_codec_check_codes(&decoder->shape, codes, frames, error));
    codec_run run = {.compute = compute, .decoder = decoder, .state = state, .pcm = pcm, .tap = tap, .error = error};
    return pl_codec_run_frames(&run, codes, frames);
}
