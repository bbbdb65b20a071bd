#include "voice/speaker.h"

#include <limits.h>
#include <math.h>
#include <string.h>

struct pl_speaker {
    pl_speaker_shape shape;
    int length;
    pl_conv conv0;
    struct block {
        pl_conv tdnn1, tdnn2, res[PL_SPEAKER_MAX_SCALE - 1], se1, se2;
    } blocks[PL_SPEAKER_BLOCKS];
    pl_conv mfa, asp_conv, fc;
    pl_linear asp_rows;  /* [attention][mfa]: the part of asp_tdnn that meets the rows */
    pl_linear asp_fixed; /* [attention][2 mfa]: that for mean and deviation, which are the same in all rows; and the bias */
};

/* ------------------------------------------------------------------ loading */

static parley_status load(pl_loader *loader, const pl_conv_tensors *t, int dilation, pl_conv *conv, parley_error *error)
{
    return pl_load_conv(loader, &t->weight, t->bias.data ? &t->bias : NULL, dilation, conv, error);
}

static parley_status load_block(pl_loader *loader, const pl_speaker_shape *shape, const struct pl_speaker_block_tensors *t, int dilation,
                                struct block *block, parley_error *error)
{
    PL_TRY(load(loader, &t->tdnn1, 1, &block->tdnn1, error));
    for (int i = 0; i < shape->scale - 1; i++)
        PL_TRY(load(loader, &t->res[i], dilation, &block->res[i], error));
    PL_TRY(load(loader, &t->tdnn2, 1, &block->tdnn2, error));
    PL_TRY(load(loader, &t->se1, 1, &block->se1, error));
    return load(loader, &t->se2, 1, &block->se2, error);
}

/* Columns first .. first + count - 1 of values [rows][width]; `part` [rows][count] is work space. */
static parley_status load_columns(pl_loader *loader, const float *values, int rows, int width, int first, int count, float *part,
                                  const pl_tensor *bias, pl_linear *linear, parley_error *error)
{
    for (int64_t r = 0; r < rows; r++)
        memcpy(part + r * count, values + r * width + first, (size_t)count * sizeof *part);
    pl_tensor tensor = {.type = PL_F32, .rank = 2, .shape = {rows, count}, .data = part, .bytes = (size_t)rows * (size_t)count * sizeof *part};
    pl_loader quiet = *loader; /* `part` is nobody's mapping */
    quiet.done = NULL;
    PL_TRY(pl_load_linear(&quiet, &tensor, bias, linear, error));
    loader->packed_bytes = quiet.packed_bytes;
    return PARLEY_OK;
}

/* In float32, since the halves of a row of blocks are no whole blocks. */
static parley_status load_attention(pl_loader *loader, const pl_conv_tensors *t, int mfa, pl_speaker *speaker, parley_error *error)
{
    int rows = (int)t->weight.shape[0], width = 3 * mfa;
    size_t count = (size_t)rows * (size_t)width;
    const parley_allocator *allocator = &loader->arena->allocator;
    float *values = pl_alloc(allocator, 2 * count, sizeof *values);
    if (!values)
        return pl_fail_memory(error, "weights of the speaker encoder");
    float *part = values + count;
    const pl_tensor *bias = t->bias.data ? &t->bias : NULL;
    pl_dequantize(t->weight.type, t->weight.data, (int64_t)count, values);
    parley_status status = load_columns(loader, values, rows, width, 0, mfa, part, NULL, &speaker->asp_rows, error);
    if (status == PARLEY_OK)
        status = load_columns(loader, values, rows, width, mfa, 2 * mfa, part, bias, &speaker->asp_fixed, error);
    pl_release(allocator, values, 2 * count, sizeof *values);
    if (status == PARLEY_OK && loader->done)
        loader->done(loader->context, &t->weight);
    return status;
}

parley_status pl_speaker_load(pl_loader *loader, const pl_speaker_shape *shape, const pl_speaker_tensors *tensors, pl_speaker **speaker,
                              parley_error *error)
{
    if (shape->scale < 2 || shape->scale > PL_SPEAKER_MAX_SCALE || shape->channels < shape->scale || shape->channels % shape->scale)
        return pl_fail(error, PARLEY_SHAPE, "speaker encoder: %d channels in %d groups: expected 2 to %d groups of the same size", shape->channels,
                       shape->scale, PL_SPEAKER_MAX_SCALE);
    pl_speaker *s = PL_NEW(loader->arena, pl_speaker);
    if (!s)
        return pl_fail_memory(error, "the speaker encoder");
    s->shape = *shape;
    s->length = (int)tensors->fc.weight.shape[0];
    PL_TRY(load(loader, &tensors->conv0, 1, &s->conv0, error));
    for (int i = 0; i < PL_SPEAKER_BLOCKS; i++)
        PL_TRY(load_block(loader, shape, &tensors->blocks[i], i + 2, &s->blocks[i], error));
    PL_TRY(load(loader, &tensors->mfa, 1, &s->mfa, error));
    PL_TRY(load_attention(loader, &tensors->asp_tdnn, shape->mfa_channels, s, error));
    PL_TRY(load(loader, &tensors->asp_conv, 1, &s->asp_conv, error));
    PL_TRY(load(loader, &tensors->fc, 1, &s->fc, error));
    *speaker = s;
    return PARLEY_OK;
}

int pl_speaker_length(const pl_speaker *speaker)
{
    return speaker->length;
}

/* ------------------------------------------------------------------ loops over rows */

/* SLICE rows at a time go through the layers behind the blocks, so that only the blocks' outputs are held for all of a long sound. Sums over rows
 * are made in pieces of ROWS_PER_TASK and added up in their order: they do not depend on the threads. */
enum { ROWS_PER_TASK = 64, SLICE = 1024, MAX_PARTS = SLICE / ROWS_PER_TASK, MAX_PAD = PL_SPEAKER_BLOCKS + 1 };

/* Some columns of rows. */
typedef struct view {
    float *data;
    int64_t stride;
    int width;
} view;

static view columns(view v, int first, int width)
{
    return (view){v.data + first, v.stride, width};
}

static view rows_from(view v, int64_t first)
{
    return (view){v.data + first * v.stride, v.stride, v.width};
}

typedef struct loop loop;
struct loop {
    void (*row)(const loop *l, float *y, const float *x, double *sums);
    int64_t rows;
    view y, x; /* y.width counts; x may be unset */
    const float *vector;
    double *sums; /* [pieces][sum_width], or NULL */
    int sum_width;
};

static void run_rows(void *context, int task, int worker)
{
    (void)worker;
    const loop *l = context;
    int64_t first = (int64_t)task * ROWS_PER_TASK, last = first + ROWS_PER_TASK < l->rows ? first + ROWS_PER_TASK : l->rows;
    double *sums = l->sums ? l->sums + (int64_t)task * l->sum_width : NULL;
    for (int64_t t = first; t < last; t++)
        l->row(l, l->y.data + t * l->y.stride, l->x.data ? l->x.data + t * l->x.stride : NULL, sums);
}

static int pieces(int64_t rows)
{
    return (int)((rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK);
}

static void each_row(pl_compute *compute, const loop *l)
{
    loop copy = *l;
    pl_pool_run(compute->pool, run_rows, &copy, pieces(l->rows));
}

/* Comparisons are written so that what is no number stays so. */
static void relu_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)x, (void)sums;
    for (int i = 0; i < l->y.width; i++)
        y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

static void tanh_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)x, (void)sums;
    for (int i = 0; i < l->y.width; i++)
        y[i] = tanhf(y[i]);
}

static void copy_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)sums;
    memcpy(y, x, (size_t)l->y.width * sizeof *y);
}

static void add_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)sums;
    for (int i = 0; i < l->y.width; i++)
        y[i] += x[i];
}

/* y = y * gate + x */
static void gate_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)sums;
    for (int i = 0; i < l->y.width; i++)
        y[i] = y[i] * l->vector[i] + x[i];
}

static void sum_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)x;
    for (int i = 0; i < l->y.width; i++)
        sums[i] += (double)y[i];
}

/* Squares of the distance to `vector`. */
static void square_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)x;
    for (int i = 0; i < l->y.width; i++) {
        double d = (double)y[i] - (double)l->vector[i];
        sums[i] += d * d;
    }
}

static void largest_row(const loop *l, float *y, const float *x, double *sums)
{
    (void)x;
    for (int i = 0; i < l->y.width; i++)
        sums[i] = (double)y[i] > sums[i] ? (double)y[i] : sums[i];
}

/* y: scores. vector [2][width]: what is taken off scores and off x. sums [3][width]: of e = exp(score), e x, e x^2. */
static void weigh_row(const loop *l, float *y, const float *x, double *sums)
{
    int n = l->y.width;
    for (int i = 0; i < n; i++)
        y[i] = expf(y[i] - l->vector[i]);
    for (int i = 0; i < n; i++) {
        double e = (double)y[i], d = (double)x[i] - (double)l->vector[n + i];
        sums[i] += e;
        sums[n + i] += e * d;
        sums[2 * n + i] += e * d * d;
    }
}

/* ------------------------------------------------------------------ layers */

typedef struct run {
    pl_compute *compute;
    const pl_speaker *speaker;
    int rows; /* frames */
    const pl_stop *stop;
    const pl_tap *tap;
    parley_error *error;
    view all;      /* [rows][max(3 channels, mfa)]: outputs of the blocks, then of MFA */
    double *parts; /* [MAX_PARTS][3 * widest]: sums of pieces */
} run;

static parley_status no_space(const run *r)
{
    return pl_fail_memory(r->error, "work space of the speaker encoder");
}

/* y[t] = b + sum over taps of W[j] x[t + j * dilation] */
static void convolve(const run *r, const pl_conv *conv, view x, int rows, view y)
{
    pl_gemm g = pl_conv_product(conv, x.data, rows, y.data, false);
    g.x_stride = x.stride;
    g.tap_stride = conv->dilation * x.stride;
    g.y_stride = y.stride;
    pl_gemm_run(r->compute, &g, 1);
}

static void tdnn(const run *r, const pl_conv *conv, view x, int rows, view y)
{
    convolve(r, conv, x, rows, y);
    each_row(r->compute, &(loop){.row = relu_row, .rows = rows, .y = y});
}

/* W x + b of one vector. */
static void product(const run *r, const pl_linear *linear, const float *x, float *y)
{
    pl_gemm g = {.w = &linear->w, .taps = 1, .width = linear->w.cols, .columns = 1, .x = x, .x_stride = linear->w.cols, .y = y, .bias = linear->bias};
    pl_gemm_run(r->compute, &g, 1);
}

/* Rows behind either end as in a mirror that stands on the end row: padded holds `pad` rows, the rows, `pad` rows. */
static void reflect(view padded, int pad, int rows)
{
    for (int i = 1; i <= pad; i++) {
        size_t bytes = (size_t)padded.width * sizeof(float);
        memcpy(rows_from(padded, pad - i).data, rows_from(padded, pad + i).data, bytes);
        memcpy(rows_from(padded, pad + rows - 1 + i).data, rows_from(padded, pad + rows - 1 - i).data, bytes);
    }
}

/* The sums of each_row() over any number of rows, [sum_width]. */
static void sum_rows(const run *r, const loop *of, double *totals)
{
    loop l = *of;
    memset(totals, 0, (size_t)l.sum_width * sizeof *totals);
    l.sums = r->parts;
    for (int64_t first = 0; first < of->rows; first += SLICE) {
        l.rows = of->rows - first < SLICE ? of->rows - first : SLICE;
        l.y = rows_from(of->y, first);
        if (of->x.data)
            l.x = rows_from(of->x, first);
        memset(r->parts, 0, (size_t)pieces(l.rows) * (size_t)l.sum_width * sizeof *r->parts);
        each_row(r->compute, &l);
        for (int i = 0; i < pieces(l.rows); i++)
            for (int k = 0; k < l.sum_width; k++)
                totals[k] += r->parts[i * l.sum_width + k];
    }
}

static parley_status tap_rows(const run *r, const char *name, view v, int rows)
{
    if (!r->tap || !r->tap->call)
        return PARLEY_OK;
    pl_arena_mark mark = pl_arena_save(&r->compute->step);
    view dense = {pl_step_floats(r->compute, (int64_t)rows * v.width), v.width, v.width};
    if (!dense.data)
        return no_space(r);
    each_row(r->compute, &(loop){.row = copy_row, .rows = rows, .y = dense, .x = v});
    pl_tap_floats(r->tap, name, dense.data, rows, v.width);
    pl_arena_restore(&r->compute->step, mark);
    return PARLEY_OK;
}

static parley_status poll_stop(const run *r)
{
    return pl_stop_asked(r->stop) ? pl_fail(r->error, PARLEY_CANCELLED, "cancelled while a speaker vector was made") : PARLEY_OK;
}

/* ------------------------------------------------------------------ blocks */

/* Work space of the blocks. */
typedef struct block_space {
    view inner;    /* [rows][channels] */
    float *padded; /* [rows + 2 MAX_PAD][max(mels, channels of a group)] */
    double *sums;  /* [channels] */
    float *mean, *squeezed, *gate;
} block_space;

static parley_status make_block_space(const run *r, block_space *b)
{
    const pl_speaker_shape *s = &r->speaker->shape;
    int group = s->channels / s->scale, widest = group > s->mels ? group : s->mels;
    b->inner = (view){pl_step_floats(r->compute, (int64_t)r->rows * s->channels), s->channels, s->channels};
    b->padded = pl_step_floats(r->compute, ((int64_t)r->rows + 2 * MAX_PAD) * widest);
    b->sums = pl_arena_alloc_raw(&r->compute->step, (size_t)s->channels, sizeof *b->sums);
    b->mean = pl_step_floats(r->compute, s->channels);
    b->squeezed = pl_step_floats(r->compute, s->se_channels);
    b->gate = pl_step_floats(r->compute, s->channels);
    return b->inner.data && b->padded && b->sums && b->mean && b->squeezed && b->gate ? PARLEY_OK : no_space(r);
}

static void run_conv0(const run *r, const float *mel, const block_space *b, view y)
{
    int mels = r->speaker->shape.mels, pad = (r->speaker->conv0.taps - 1) / 2;
    view padded = {b->padded, mels, mels};
    memcpy(b->padded + (size_t)pad * (size_t)mels, mel, (size_t)r->rows * (size_t)mels * sizeof *mel);
    reflect(padded, pad, r->rows);
    tdnn(r, &r->speaker->conv0, padded, r->rows, y);
}

/* In place: each group but the first is replaced by the convolution of itself and of what the group before it became. */
static parley_status run_res2net(const run *r, const struct block *block, const block_space *b, view u)
{
    int scale = r->speaker->shape.scale, width = u.width / scale;
    view padded = {b->padded, width, width};
    for (int i = 1; i < scale; i++) {
        const pl_conv *conv = &block->res[i - 1];
        PL_TRY(poll_stop(r));
        view group = columns(u, i * width, width), inside = rows_from(padded, conv->dilation);
        each_row(r->compute, &(loop){.row = copy_row, .rows = r->rows, .y = inside, .x = group});
        if (i > 1)
            each_row(r->compute, &(loop){.row = add_row, .rows = r->rows, .y = inside, .x = columns(u, (i - 1) * width, width)});
        reflect(padded, conv->dilation, r->rows);
        tdnn(r, conv, padded, r->rows, group);
    }
    return PARLEY_OK;
}

/* Squeeze and excitation: a factor for each channel from the means of all. */
static void make_gate(const run *r, const struct block *block, const block_space *b, view v)
{
    sum_rows(r, &(loop){.row = sum_row, .rows = r->rows, .y = v, .sum_width = v.width}, b->sums);
    for (int i = 0; i < v.width; i++)
        b->mean[i] = (float)(b->sums[i] / r->rows);
    product(r, &block->se1.linear, b->mean, b->squeezed);
    for (int i = 0; i < block->se1.out; i++)
        b->squeezed[i] = b->squeezed[i] < 0.0f ? 0.0f : b->squeezed[i];
    product(r, &block->se2.linear, b->squeezed, b->gate);
    for (int i = 0; i < v.width; i++)
        b->gate[i] = 1.0f / (1.0f + expf(-b->gate[i]));
}

/* y may not be x. Stages inside are tapped in the first block. */
static parley_status run_block(const run *r, int index, const block_space *b, view x, view y)
{
    static const char *const names[PL_SPEAKER_BLOCKS] = {"block1", "block2", "block3"};
    const struct block *block = &r->speaker->blocks[index];
    PL_TRY(poll_stop(r));
    tdnn(r, &block->tdnn1, x, r->rows, b->inner);
    if (index == 0)
        PL_TRY(tap_rows(r, "block1_tdnn1", b->inner, r->rows));
    PL_TRY(run_res2net(r, block, b, b->inner));
    if (index == 0)
        PL_TRY(tap_rows(r, "block1_res2net", b->inner, r->rows));
    tdnn(r, &block->tdnn2, b->inner, r->rows, y);
    if (index == 0)
        PL_TRY(tap_rows(r, "block1_tdnn2", y, r->rows));
    make_gate(r, block, b, y);
    each_row(r->compute, &(loop){.row = gate_row, .rows = r->rows, .y = y, .x = x, .vector = b->gate});
    return tap_rows(r, names[index], y, r->rows);
}

/* The output of block 0 is no part of the result: it stands in the place of the last block until that is made. */
static parley_status run_blocks(const run *r, const float *mel)
{
    int channels = r->speaker->shape.channels;
    block_space b;
    PL_TRY(make_block_space(r, &b));
    view x = columns(r->all, (PL_SPEAKER_BLOCKS - 1) * channels, channels);
    run_conv0(r, mel, &b, x);
    PL_TRY(tap_rows(r, "block0", x, r->rows));
    for (int i = 0; i < PL_SPEAKER_BLOCKS; i++) {
        view y = columns(r->all, i * channels, channels);
        PL_TRY(run_block(r, i, &b, x, y));
        x = y;
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ pooling */

/* Work space of the layers behind the blocks; m = mfa channels. */
typedef struct pool_space {
    view slice;       /* [SLICE][m] */
    view hidden;      /* [SLICE][attention] */
    double *sums;     /* [3 m] of a slice */
    double *totals;   /* [3 m]: of e, e d, e d^2 with e = exp(score - largest), d = x - mean */
    double *largest;  /* [m] */
    float *offsets;   /* [2 m]: largest score so far, mean */
    float *statistic; /* [2 m]: mean, deviation */
    pl_linear rows;   /* asp_rows, with what mean and deviation give as its bias */
} pool_space;

static parley_status make_pool_space(const run *r, pool_space *p)
{
    const pl_speaker_shape *s = &r->speaker->shape;
    int m = s->mfa_channels, slice = r->rows < SLICE ? r->rows : SLICE;
    pl_arena *arena = &r->compute->step;
    p->slice = (view){pl_step_floats(r->compute, (int64_t)slice * m), m, m};
    p->hidden = (view){pl_step_floats(r->compute, (int64_t)slice * s->attention_channels), s->attention_channels, s->attention_channels};
    p->sums = pl_arena_alloc(arena, (size_t)m, 3 * sizeof *p->sums);
    p->totals = pl_arena_alloc(arena, (size_t)m, 3 * sizeof *p->totals);
    p->largest = pl_arena_alloc(arena, (size_t)m, sizeof *p->largest);
    p->offsets = pl_step_floats(r->compute, 2 * (int64_t)m);
    p->statistic = pl_step_floats(r->compute, 2 * (int64_t)m);
    bool all = p->slice.data && p->hidden.data && p->sums && p->totals && p->largest && p->offsets && p->statistic;
    return all ? PARLEY_OK : no_space(r);
}

static int slice_rows(const run *r, int first)
{
    return r->rows - first < SLICE ? r->rows - first : SLICE;
}

/* Multi-layer feature aggregation, in place: the blocks' outputs are not needed any more. */
static parley_status run_mfa(const run *r, const pool_space *p)
{
    for (int first = 0; first < r->rows; first += SLICE) {
        int rows = slice_rows(r, first);
        PL_TRY(poll_stop(r));
        tdnn(r, &r->speaker->mfa, rows_from(r->all, first), rows, p->slice);
        each_row(r->compute, &(loop){.row = copy_row, .rows = rows, .y = columns(rows_from(r->all, first), 0, p->slice.width), .x = p->slice});
        PL_TRY(tap_rows(r, "mfa", p->slice, rows));
    }
    return PARLEY_OK;
}

static float deviation(double variance)
{
    return (float)sqrt(variance < 1e-12 ? 1e-12 : variance);
}

/* Mean and deviation of x, each frame counting the same, and their part of the attention. */
static parley_status make_fixed_part(const run *r, view x, pool_space *p)
{
    int m = x.width;
    sum_rows(r, &(loop){.row = sum_row, .rows = r->rows, .y = x, .sum_width = m}, p->sums);
    for (int i = 0; i < m; i++)
        p->statistic[i] = p->offsets[m + i] = (float)(p->sums[i] / r->rows);
    sum_rows(r, &(loop){.row = square_row, .rows = r->rows, .y = x, .vector = p->statistic, .sum_width = m}, p->sums);
    for (int i = 0; i < m; i++)
        p->statistic[m + i] = deviation(p->sums[i] / r->rows);
    float *bias = pl_step_floats(r->compute, p->hidden.width);
    if (!bias)
        return no_space(r);
    product(r, &r->speaker->asp_fixed, p->statistic, bias);
    p->rows = r->speaker->asp_rows;
    p->rows.bias = bias;
    return PARLEY_OK;
}

/* Scores of a slice in p->slice. */
static parley_status make_scores(const run *r, view x, int rows, const pool_space *p)
{
    pl_gemm g = {.w = &p->rows.w,
                 .taps = 1,
                 .width = x.width,
                 .columns = rows,
                 .x = x.data,
                 .x_stride = x.stride,
                 .y = p->hidden.data,
                 .y_stride = p->hidden.stride,
                 .bias = p->rows.bias};
    pl_gemm_run(r->compute, &g, 1);
    each_row(r->compute, &(loop){.row = relu_row, .rows = rows, .y = p->hidden});
    PL_TRY(tap_rows(r, "asp_tdnn", p->hidden, rows));
    each_row(r->compute, &(loop){.row = tanh_row, .rows = rows, .y = p->hidden});
    convolve(r, &r->speaker->asp_conv, p->hidden, rows, p->slice);
    return tap_rows(r, "asp_scores", p->slice, rows);
}

/* The largest score so far of each channel; sums made against a smaller one are brought to it. */
static void raise_largest(const run *r, int rows, const pool_space *p)
{
    int m = p->slice.width, n = pieces(rows);
    for (int i = 0; i < n * m; i++)
        r->parts[i] = -INFINITY;
    each_row(r->compute, &(loop){.row = largest_row, .rows = rows, .y = p->slice, .sums = r->parts, .sum_width = m});
    for (int i = 0; i < m; i++) {
        double most = p->largest[i];
        for (int k = 0; k < n; k++)
            most = r->parts[k * m + i] > most ? r->parts[k * m + i] : most;
        double factor = exp(p->largest[i] - most);
        for (int k = 0; k < 3; k++)
            p->totals[k * m + i] *= factor;
        p->largest[i] = most;
        p->offsets[i] = (float)most;
    }
}

/* A softmax over time of each channel, slice by slice; weighted mean and deviation into `statistic`. */
static parley_status attend(const run *r, view x, pool_space *p)
{
    int m = x.width;
    for (int i = 0; i < m; i++)
        p->largest[i] = -INFINITY;
    for (int first = 0; first < r->rows; first += SLICE) {
        int rows = slice_rows(r, first);
        view here = rows_from(x, first);
        PL_TRY(poll_stop(r));
        PL_TRY(make_scores(r, here, rows, p));
        raise_largest(r, rows, p);
        sum_rows(r, &(loop){.row = weigh_row, .rows = rows, .y = p->slice, .x = here, .vector = p->offsets, .sum_width = 3 * m}, p->sums);
        for (int i = 0; i < 3 * m; i++)
            p->totals[i] += p->sums[i];
    }
    for (int i = 0; i < m; i++) {
        double shift = p->totals[m + i] / p->totals[i];
        p->statistic[i] = (float)((double)p->offsets[m + i] + shift);
        p->statistic[m + i] = deviation(p->totals[2 * m + i] / p->totals[i] - shift * shift);
    }
    return PARLEY_OK;
}

static parley_status run_pooling(const run *r, float *vector)
{
    pool_space p;
    PL_TRY(make_pool_space(r, &p));
    PL_TRY(run_mfa(r, &p));
    view x = columns(r->all, 0, r->speaker->shape.mfa_channels);
    PL_TRY(make_fixed_part(r, x, &p));
    PL_TRY(attend(r, x, &p));
    pl_tap_floats(r->tap, "asp", p.statistic, 2 * (int64_t)x.width, 0);
    product(r, &r->speaker->fc.linear, p.statistic, vector);
    pl_tap_floats(r->tap, "vector", vector, r->speaker->length, 0);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ the whole */

static parley_status run_all(run *r, const float *mel, float *vector)
{
    const pl_speaker_shape *s = &r->speaker->shape;
    int outputs = PL_SPEAKER_BLOCKS * s->channels, widest = outputs > s->mfa_channels ? outputs : s->mfa_channels;
    r->all = (view){pl_step_floats(r->compute, (int64_t)r->rows * widest), widest, widest};
    r->parts = pl_arena_alloc_raw(&r->compute->step, (size_t)widest * MAX_PARTS, 3 * sizeof *r->parts);
    if (!r->all.data || !r->parts)
        return no_space(r);
    pl_arena_mark mark = pl_arena_save(&r->compute->step);
    PL_TRY(run_blocks(r, mel));
    pl_arena_restore(&r->compute->step, mark);
    return run_pooling(r, vector);
}

parley_status pl_speaker_run(pl_compute *compute, const pl_speaker *speaker, const float *mel, int64_t frames, float *vector, const pl_stop *stop,
                             const pl_tap *tap, parley_error *error)
{
    if (frames < PL_SPEAKER_MIN_FRAMES || frames > INT_MAX / 2)
        return pl_fail(error, PARLEY_ARGUMENT, "speaker encoder: expected %d to %d frames, got %lld", PL_SPEAKER_MIN_FRAMES, INT_MAX / 2,
                       (long long)frames);
    run r = {.compute = compute, .speaker = speaker, .rows = (int)frames, .stop = stop, .tap = tap, .error = error};
    pl_arena_mark mark = pl_arena_save(&compute->step);
    parley_status status = run_all(&r, mel, vector);
    pl_arena_restore(&compute->step, mark);
    PL_TRY(status);
    for (int i = 0; i < speaker->length; i++)
        if (!isfinite(vector[i]))
            return pl_fail(error, PARLEY_VALUE, "speaker vector: entry %d of %d is no finite number", i, speaker->length);
    return PARLEY_OK;
}
