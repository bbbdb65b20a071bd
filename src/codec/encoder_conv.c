#include "codec/encoder_parts.h"

#include <stdio.h>
#include <string.h>

static void tap_stage(const encoder_run *run, const char *what, int i, const float *data, int rows, int width)
{
    char name[32];
    snprintf(name, sizeof name, "%s%d", what, i);
    pl_tap_floats(run->tap, name, data, rows, width);
}

/* ------------------------------------------------------------------ activation */

enum { VALUES_PER_TASK = 16384 }; /* 64 KiB in, 64 KiB out */

typedef struct activation {
    const pl_kernels *k;
    const float *x;
    float *y;
    int64_t values;
} activation;

static void activate_some(void *context, int task, int worker)
{
    (void)worker;
    const activation *a = context;
    int64_t at = (int64_t)task * VALUES_PER_TASK, left = a->values - at;
    a->k->elu(a->x + at, left < VALUES_PER_TASK ? left : VALUES_PER_TASK, a->y + at);
}

static void elu(const encoder_run *run, const float *x, int rows, int width, float *y)
{
    activation a = {run->compute->k, x, y, (int64_t)rows * width};
    pl_pool_run(run->compute->pool, activate_some, &a, (int)((a.values + VALUES_PER_TASK - 1) / VALUES_PER_TASK));
}

/* ------------------------------------------------------------------ convolution */

/* The taps of an undilated convolution lie one behind the other, as the weights do: to the product they are one long tap. */
void pl_encoder_convolve(const encoder_run *run, const pl_conv *conv, int stride, const float *x, int rows, float *y, bool accumulate)
{
    pl_gemm product = {.w = &conv->linear.w,
                       .taps = 1,
                       .width = conv->taps * conv->in,
                       .columns = rows,
                       .x = x,
                       .x_stride = (int64_t)stride * conv->in,
                       .y = y,
                       .y_stride = conv->out,
                       .bias = conv->linear.bias,
                       .accumulate = accumulate};
    pl_gemm_run(run->compute, &product, 1);
}

/* ------------------------------------------------------------------ stages */

static parley_status make_rows(encoder_run *run, int level, int rows, float *out);

static void first_convolution(encoder_run *run, int rows, float *out)
{
    memcpy(codec_fresh(&run->samples), run->pcm, (size_t)rows * sizeof *run->pcm);
    run->pcm += rows;
    pl_encoder_convolve(run, &run->encoder->conv0, 1, run->samples.data, rows, out, false);
    pl_codec_rows_keep(&run->samples, rows);
    pl_tap_floats(run->tap, "conv0", out, rows, run->encoder->conv0.out);
}

/* x += conv2(elu(conv1(elu(x)))) */
static void residual_unit(encoder_run *run, int i, int rows)
{
    const encoder_stage *stage = &run->encoder->stages[i];
    const encoder_space *s = &run->stages[i];
    elu(run, s->x, rows, stage->res1.in, codec_fresh(&s->res));
    pl_encoder_convolve(run, &stage->res1, 1, s->res.data, rows, run->hidden, false);
    pl_codec_rows_keep(&s->res, rows);
    elu(run, run->hidden, rows, stage->res1.out, run->hidden);
    pl_encoder_convolve(run, &stage->res2, 1, run->hidden, rows, s->x, true);
    tap_stage(run, "res", i, s->x, rows, stage->res1.in);
}

/* The next `outputs` rows behind stage i. Where the sound ends inside the last one, zeros fill it up: behind the activation, so that they are not
 * what silence would give. */
static parley_status stage_piece(encoder_run *run, int i, int outputs, float *out)
{
    const encoder_stage *stage = &run->encoder->stages[i];
    const encoder_space *s = &run->stages[i];
    int full = outputs * stage->ratio, rows = run->left[i] < full ? (int)run->left[i] : full, width = stage->down.in;
    PL_TRY(make_rows(run, i, rows, s->x));
    run->left[i] -= rows;
    residual_unit(run, i, rows);
    float *fresh = codec_fresh(&s->down);
    elu(run, s->x, rows, width, fresh);
    memset(fresh + (int64_t)rows * width, 0, (size_t)(full - rows) * (size_t)width * sizeof *fresh);
    pl_encoder_convolve(run, &stage->down, stage->ratio, s->down.data, outputs, out, false);
    pl_codec_rows_keep(&s->down, full);
    tap_stage(run, "down", i, out, outputs, stage->down.out);
    return PARLEY_OK;
}

/* The next rows in front of stage `level`: each stage asks the one before it for what it needs. */
static parley_status make_rows(encoder_run *run, int level, int rows, float *out)
{
    if (level == 0) {
        first_convolution(run, rows, out);
        return pl_encoder_poll(run);
    }
    int most = run->stages[level - 1].outputs, width = run->encoder->stages[level - 1].down.out;
    for (int at = 0; at < rows; at += most)
        PL_TRY(stage_piece(run, level - 1, rows - at < most ? rows - at : most, out + (int64_t)at * width));
    return PARLEY_OK;
}

parley_status pl_encoder_convolutions(encoder_run *run)
{
    const pl_codec_encoder *e = run->encoder;
    int n = e->shape.n_ratios, width = e->conv1.out;
    float *out = run->rows + (int64_t)ENCODER_FRAME_PAST * width;
    while (run->left[n] > 0) {
        int rows = run->left[n] < run->stages[n - 1].outputs ? (int)run->left[n] : run->stages[n - 1].outputs;
        float *fresh = codec_fresh(&run->last);
        PL_TRY(make_rows(run, n, rows, fresh));
        run->left[n] -= rows;
        elu(run, fresh, rows, e->conv1.in, fresh);
        pl_encoder_convolve(run, &e->conv1, 1, run->last.data, rows, out, false);
        pl_codec_rows_keep(&run->last, rows);
        pl_tap_floats(run->tap, "conv1", out, rows, width);
        out += (int64_t)rows * width;
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ work space */

/* Allocations are made in one go and looked at once: `failed` stays set. */
typedef struct maker {
    pl_arena *arena;
    bool failed;
} maker;

static float *floats(maker *m, int64_t rows, int64_t width)
{
    float *memory = pl_arena_alloc(m->arena, (size_t)rows, (size_t)width * sizeof *memory);
    if (!memory)
        m->failed = true;
    return memory;
}

/* `room` new rows of a convolution's input; the past is silent. */
static codec_rows rows_of(maker *m, const pl_conv *conv, int stride, int64_t room)
{
    int history = conv->taps - stride;
    return (codec_rows){.data = floats(m, history + room, conv->in), .history = history, .width = conv->in};
}

/* Rows that a stage gives at once: what the buffer holds of its input, but not less than make its weights worth reading, nor more than there are. */
static int outputs_of(const encoder_run *run, int i)
{
    const encoder_stage *stage = &run->encoder->stages[i];
    int64_t outputs = run->pieces->buffer / stage->down.in / stage->ratio;
    outputs = outputs < run->pieces->outputs ? run->pieces->outputs : outputs;
    return (int)(outputs < run->left[i + 1] ? outputs : run->left[i + 1]);
}

parley_status pl_encoder_space(encoder_run *run, pl_arena *arena)
{
    const pl_codec_encoder *e = run->encoder;
    maker m = {.arena = arena};
    int64_t hidden = 0;
    for (int i = 0; i < e->shape.n_ratios; i++) {
        const encoder_stage *stage = &e->stages[i];
        encoder_space *s = &run->stages[i];
        s->outputs = outputs_of(run, i);
        int64_t rows = (int64_t)s->outputs * stage->ratio;
        s->x = floats(&m, rows, stage->down.in);
        s->res = rows_of(&m, &stage->res1, 1, rows);
        s->down = rows_of(&m, &stage->down, stage->ratio, rows);
        hidden = rows * stage->res1.out > hidden ? rows * stage->res1.out : hidden;
    }
    run->samples = rows_of(&m, &e->conv0, 1, (int64_t)run->stages[0].outputs * e->stages[0].ratio);
    run->last = rows_of(&m, &e->conv1, 1, run->stages[e->shape.n_ratios - 1].outputs);
    run->hidden = floats(&m, hidden, 1);
    return m.failed ? pl_fail_memory(run->error, "work space of the codec encoder") : PARLEY_OK;
}
