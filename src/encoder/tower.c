#include "encoder/parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WINDOWS = 2 }; /* of attention in one pass: the layers' weights are read once for them */

typedef struct run {
    pl_compute *compute;
    const pl_tower *tower;
    const pl_tower_options *options;
    const pl_tap *tap; /* NULL: off */
    const float *mel;
    int64_t frames;
    int chunk;             /* frames of a chunk: of the whole clip when that is shorter */
    int64_t chunks;        /* of the clip */
    int group;             /* chunks that go through the stem's last product together */
    float *columns;        /* [rows of a group][channels * bands] */
    pl_transformer layers; /* the tower's, with the block of this run */
    pl_kv kv[WINDOWS];     /* one a window, so that a window's keys lie the same wherever it stands in the clip */
    tower_stem stem;
} run;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t pl_tower_tokens(const pl_tower_shape *shape, int64_t frames)
{
    int chunk = 2 * shape->window, rest = (int)(frames % chunk);
    return frames / chunk * pl_tower_stem_rows(chunk) + (rest ? pl_tower_stem_rows(rest) : 0);
}

static parley_status check_cancel(const run *r, parley_error *error)
{
    if (r->options->cancel && atomic_load(r->options->cancel))
        return pl_fail(error, PARLEY_CANCELLED, "cancelled in the audio tower");
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ mel -> embeddings with positions */

static void add_positions(const run *r, float *x, int rows)
{
    int width = r->tower->shape.width, tokens = r->tower->chunk_tokens;
    for (int t = 0; t < rows; t++)
        r->compute->k->add(x + (int64_t)t * width, r->tower->positions + (int64_t)(t % tokens) * width, width);
}

static parley_status run_chunks(run *r, int64_t first, int64_t last, parley_error *error)
{
    int64_t row = (int64_t)r->tower->shape.channels * r->stem.bands[PL_TOWER_CONVS];
    for (int64_t c = first; c < last; c++) {
        int valid = (int)smaller(r->frames - c * r->chunk, r->chunk);
        PL_TRY(check_cancel(r, error));
        pl_tower_stem_run(&r->stem, r->mel + c * r->chunk * r->tower->shape.mels, valid, pl_tower_stem_rows(valid),
                          r->columns + (c - first) * r->tower->chunk_tokens * row);
    }
    return PARLEY_OK;
}

/* A group of chunks that starts with `first`, to x [rows][width]. */
static parley_status embed(run *r, int64_t first, float *x, int *rows, parley_error *error)
{
    int width = r->tower->shape.width, columns = r->tower->conv_out.w.cols;
    int64_t last = smaller(first + r->group, r->chunks);
    *rows = (int)pl_tower_tokens(&r->tower->shape, smaller(last * r->chunk, r->frames) - first * r->chunk);
    PL_TRY(run_chunks(r, first, last, error));
    pl_linear_job job = {.layer = &r->tower->conv_out, .y = x, .y_stride = width};
    PL_TRY(pl_linear_run(r->compute, &job, 1, r->columns, columns, *rows, error));
    pl_tap_floats(r->tap, "tower_stem", x, *rows, width);
    add_positions(r, x, *rows);
    pl_tap_floats(r->tap, "tower_embed", x, *rows, width);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ layers and projector */

static void on_layer(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    char name[32];
    const run *r = context;
    if (strcmp(what, "out") != 0)
        return;
    snprintf(name, sizeof name, "tower_layer_%d", layer);
    pl_tap_floats(r->tap, name, data, rows, width);
}

typedef struct activation {
    const pl_kernels *k;
    float *x;
    int64_t width;
} activation;

static void activate_row(void *context, int row, int worker)
{
    (void)worker;
    const activation *a = context;
    a->k->gelu(a->x + row * a->width, a->width);
}

/* x [rows][width], behind the last norm, to out [rows][out]. */
static parley_status project(run *r, const float *x, int rows, float *out, parley_error *error)
{
    int width = r->tower->shape.width;
    pl_arena_mark mark = pl_arena_save(&r->compute->step);
    float *h = pl_step_floats(r->compute, (int64_t)rows * width);
    if (!h)
        return pl_fail_memory(error, "work space of the audio tower");
    activation a = {r->compute->k, h, width};
    pl_linear_job first = {.layer = &r->tower->proj1, .y = h, .y_stride = width},
                  second = {.layer = &r->tower->proj2, .y = out, .y_stride = r->tower->shape.out};
    PL_TRY(pl_linear_run(r->compute, &first, 1, x, width, rows, error));
    pl_pool_run(r->compute->pool, activate_row, &a, rows);
    PL_TRY(pl_linear_run(r->compute, &second, 1, h, width, rows, error));
    pl_arena_restore(&r->compute->step, mark);
    pl_tap_floats(r->tap, "tower_out", out, rows, r->tower->shape.out);
    return PARLEY_OK;
}

/* Whole windows of rows, at most WINDOWS; x is used up. */
static parley_status encode(run *r, float *x, int rows, float *out, parley_error *error)
{
    pl_tokens windows[WINDOWS];
    int count = 0, block = (int)r->layers.shape.block;
    for (int at = 0; at < rows; count++) {
        windows[count] = (pl_tokens){&r->kv[count], (int)smaller(rows - at, block)};
        pl_kv_truncate(&r->kv[count], 0);
        at += windows[count].count;
    }
    pl_forward forward = {.x = x,
                          .sequences = windows,
                          .n_sequences = count,
                          .out = x, /* the norm works in place */
                          .cancel = r->options->cancel,
                          .tap = r->tap ? on_layer : NULL,
                          .tap_context = r};
    PL_TRY(pl_transformer_forward(r->compute, &r->layers, &forward, error));
    pl_tap_floats(r->tap, "tower_ln_post", x, rows, r->tower->shape.width);
    return project(r, x, rows, out, error);
}

/* ------------------------------------------------------------------ a clip */

static parley_status open_run(run *r, parley_error *error)
{
    const pl_tower *tower = r->tower;
    bool is_short = r->frames < tower->chunk && !r->options->continues;
    r->chunk = is_short ? (int)r->frames : tower->chunk;
    r->chunks = (r->frames + r->chunk - 1) / r->chunk;
    r->group = tower->shape.window_infer / tower->chunk * WINDOWS;
    r->layers = tower->transformer;
    if (r->options->full_attention)
        r->layers.shape.block = INT_MAX;
    PL_TRY(pl_tower_stem_open(r->compute, tower, r->chunk, is_short || r->chunks == 1 ? r->tap : NULL, &r->stem, error));
    r->columns = pl_step_floats(r->compute, smaller(r->group, r->chunks) * tower->chunk_tokens * tower->conv_out.w.cols);
    return r->columns ? PARLEY_OK : pl_fail_memory(error, "work space of the audio tower");
}

static parley_status run_windows(run *r, float *out, parley_error *error)
{
    const pl_tower_shape *s = &r->tower->shape;
    float *x = pl_step_floats(r->compute, smaller(r->group, r->chunks) * r->tower->chunk_tokens * s->width);
    if (!x)
        return pl_fail_memory(error, "work space of the audio tower");
    for (int64_t first = 0; first < r->chunks; first += r->group) {
        int rows;
        PL_TRY(embed(r, first, x, &rows, error));
        PL_TRY(encode(r, x, rows, out, error));
        out += (int64_t)rows * s->out;
    }
    return PARLEY_OK;
}

static parley_status run_whole(run *r, int64_t tokens, float *out, parley_error *error)
{
    int width = r->tower->shape.width, rows;
    float *x = pl_step_floats(r->compute, tokens * width), *end = x;
    if (!x)
        return pl_fail_memory(error, "work space of the audio tower");
    for (int64_t first = 0; first < r->chunks; first += r->group, end += (int64_t)rows * width)
        PL_TRY(embed(r, first, end, &rows, error));
    return encode(r, x, (int)tokens, out, error);
}

parley_status pl_tower_run(pl_compute *compute, const pl_tower *tower, const float *mel, int64_t frames, const pl_tower_options *options, float *out,
                           parley_error *error)
{
    pl_arena_mark mark = pl_arena_save(&compute->step);
    run r = {.compute = compute, .tower = tower, .options = options, .tap = options->tap.call ? &options->tap : NULL, .mel = mel, .frames = frames};
    int64_t tokens = pl_tower_tokens(&tower->shape, frames);
    if (tokens > INT_MAX / 2)
        return pl_fail(error, PARLEY_LIMIT, "audio tower: %lld frames in one call", (long long)frames);
    for (int i = 0; i < WINDOWS; i++)
        pl_transformer_kv(&tower->transformer, &compute->step.allocator, PL_F32, options->full_attention ? tokens : tower->window_tokens, &r.kv[i]);
    parley_status status = open_run(&r, error);
    if (status == PARLEY_OK)
        status = options->full_attention ? run_whole(&r, tokens, out, error) : run_windows(&r, out, error);
    for (int i = 0; i < WINDOWS; i++)
        pl_kv_free(&r.kv[i]);
    pl_arena_restore(&compute->step, mark);
    return status;
}
