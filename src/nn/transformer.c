#include "nn/transformer.h"

#include <math.h>
#include <string.h>

/* A place of one row: its sequence and its absolute position in it. */
typedef struct place {
    pl_kv *kv;
    int64_t position, end; /* end: of the sequence behind this call */
} place;

/* Work space of one forward. */
typedef struct work {
    pl_compute *compute;
    const pl_transformer *t;
    const pl_forward *forward;
    int rows; /* of x now: all, or the wanted ones behind the last layer's keys */
    int all;
    float *x, *h, *q, *k, *v, *a, *up;
    pl_linear_input input; /* of the layers whose input is being made */
    float *cosine, *sine;  /* [all][head / 2] */
    place *places;         /* [all] */
    int layer;
    const int *map; /* row -> row of q and places; NULL: the same */
} work;

parley_status pl_transformer_prepare(pl_arena *arena, pl_transformer_shape shape, pl_transformer *transformer, parley_error *error)
{
    *transformer = (pl_transformer){.shape = shape, .blocks = PL_NEW_ARRAY(arena, pl_block, shape.layers)};
    int half = shape.head / 2;
    float *frequency = PL_NEW_ARRAY(arena, float, half);
    if (!transformer->blocks || !frequency)
        return pl_fail_memory(error, "a transformer");
    for (int i = 0; i < half && shape.theta > 0; i++) /* the reference takes these steps in float32 */
        frequency[i] = 1.0f / (float)pow(shape.theta, (double)((float)(2 * i) / (float)shape.head));
    transformer->inverse_frequency = frequency;
    return PARLEY_OK;
}

void pl_transformer_kv(const pl_transformer *transformer, const parley_allocator *allocator, pl_type type, int64_t limit, pl_kv *kv)
{
    const pl_transformer_shape *s = &transformer->shape;
    pl_kv_init(kv, allocator, (pl_kv_shape){.type = type, .layers = s->layers, .heads = s->kv_heads, .width = s->head, .limit = limit});
}

/* ------------------------------------------------------------------ setting up */

static void rotations(work *w)
{
    int half = w->t->shape.head / 2;
    for (int r = 0; r < w->all && w->t->shape.theta > 0; r++)
        for (int i = 0; i < half; i++) {
            float angle = (float)w->places[r].position * w->t->inverse_frequency[i];
            w->cosine[r * half + i] = (float)cos((double)angle);
            w->sine[r * half + i] = (float)sin((double)angle);
        }
}

static parley_status allocate(work *w, parley_error *error)
{
    const pl_transformer_shape *s = &w->t->shape;
    int64_t n = w->all, attention = (int64_t)s->heads * s->head, kv = (int64_t)s->kv_heads * s->head;
    w->h = pl_step_floats(w->compute, n * s->width);
    w->q = pl_step_floats(w->compute, n * attention);
    w->k = pl_step_floats(w->compute, n * kv);
    w->v = pl_step_floats(w->compute, n * kv);
    w->a = pl_step_floats(w->compute, n * attention);
    w->up = pl_step_floats(w->compute, n * s->ffn);
    w->cosine = pl_step_floats(w->compute, n * (s->head / 2));
    w->sine = pl_step_floats(w->compute, n * (s->head / 2));
    w->places = PL_NEW_ARRAY(&w->compute->step, place, n);
    if (!w->h || !w->q || !w->k || !w->v || !w->a || !w->up || !w->cosine || !w->sine || !w->places)
        return pl_fail_memory(error, "work space of a transformer");
    return PARLEY_OK;
}

static parley_status set_up(work *w, parley_error *error)
{
    const pl_forward *f = w->forward;
    for (int s = 0; s < f->n_sequences; s++) {
        PL_TRY(pl_kv_reserve(f->sequences[s].kv, f->sequences[s].count, error));
        w->all += f->sequences[s].count;
    }
    w->rows = w->all;
    PL_TRY(allocate(w, error));
    place *p = w->places;
    for (int s = 0; s < f->n_sequences; s++)
        for (int i = 0; i < f->sequences[s].count; i++)
            *p++ = (place){f->sequences[s].kv, f->sequences[s].kv->length + i, f->sequences[s].kv->length + f->sequences[s].count};
    rotations(w);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ attention */

enum { SMALL = 8 }; /* rows below which a parallel region costs more than it saves */

static void run_rows(work *w, void (*run)(void *context, int task, int worker), int tasks)
{
    pl_pool_run(tasks < SMALL ? NULL : w->compute->pool, run, w, tasks);
}

static void norm(const work *w, const float *x, const float *weight, const float *bias, float *y)
{
    const pl_transformer_shape *s = &w->t->shape;
    if (s->kind == PL_BLOCK_PLAIN)
        w->compute->k->layer_norm(x, weight, bias, s->eps, s->width, y);
    else
        w->compute->k->rms_norm(x, weight, s->eps, s->width, y);
}

static void norm1_row(void *context, int row, int worker)
{
    (void)worker;
    const work *w = context;
    const pl_block *b = &w->t->blocks[w->layer];
    int64_t at = (int64_t)row * w->t->shape.width;
    norm(w, w->x + at, b->norm1, b->norm1_bias, w->h + at);
    pl_linear_row_done(w->compute, &w->input, row);
}

static void norm2_row(void *context, int row, int worker)
{
    (void)worker;
    const work *w = context;
    const pl_block *b = &w->t->blocks[w->layer];
    int width = w->t->shape.width;
    float *h = w->h + (int64_t)row * width;
    norm(w, w->x + (int64_t)row * width, b->norm2, b->norm2_bias, h);
    if (b->ffn_input_scale)
        for (int i = 0; i < width; i++)
            h[i] *= b->ffn_input_scale[i];
    pl_linear_row_done(w->compute, &w->input, row);
}

/* Layers on rows x [rows][width], each of which `make_row` makes and ends with pl_linear_row_done(): norm or activation and 8-bit form in one walk.
 */
static parley_status run_layers_on(work *w, void (*make_row)(void *context, int row, int worker), const pl_linear_job *jobs, int count,
                                   const float *x, int width, parley_error *error)
{
    pl_arena_mark mark = pl_arena_save(&w->compute->step);
    PL_TRY(pl_linear_prepare(w->compute, jobs, count, x, width, w->rows, &w->input, error));
    run_rows(w, make_row, w->rows);
    pl_linear_run_prepared(w->compute, jobs, count, &w->input);
    pl_arena_restore(&w->compute->step, mark);
    return PARLEY_OK;
}

static void turn_heads(const work *w, float *x, int heads, const float *weight, int row)
{
    int head = w->t->shape.head;
    for (int h = 0; h < heads; h++, x += head) {
        if (weight)
            w->compute->k->rms_norm(x, weight, w->t->shape.eps, head, x);
        if (w->t->shape.theta > 0)
            w->compute->k->rope(x, w->cosine + (int64_t)row * (head / 2), w->sine + (int64_t)row * (head / 2), head);
    }
}

/* Norms and turns the heads of a row's query and key; keys and values go into the cache. */
static void store_row(void *context, int row, int worker)
{
    (void)worker;
    const work *w = context;
    const pl_transformer_shape *s = &w->t->shape;
    const pl_block *b = &w->t->blocks[w->layer];
    float *q = w->q + (int64_t)row * s->heads * s->head;
    float *k = w->k + (int64_t)row * s->kv_heads * s->head;
    const float *v = w->v + (int64_t)row * s->kv_heads * s->head;
    turn_heads(w, q, s->heads, b->q_norm, row);
    turn_heads(w, k, s->kv_heads, b->k_norm, row);
    for (int h = 0; h < s->kv_heads; h++) {
        pl_kv_write(w->compute->k, w->places[row].kv, w->layer, h, false, w->places[row].position, k + (int64_t)h * s->head);
        pl_kv_write(w->compute->k, w->places[row].kv, w->layer, h, true, w->places[row].position, v + (int64_t)h * s->head);
    }
}

/* Which positions a row sees. `length` of its sequence is that before this call, so a block ends where the call's rows do at the latest. */
static void reach(const pl_transformer_shape *s, const place *p, int64_t *begin, int64_t *end)
{
    *begin = s->window && p->position >= s->window ? p->position - s->window + 1 : 0;
    *end = p->position + 1;
    if (s->block) {
        *begin = p->position / s->block * s->block;
        *end = p->end - *begin < s->block ? p->end : *begin + s->block;
    }
}

static bool is_cancelled(const work *w)
{
    return w->forward->cancel && atomic_load(w->forward->cancel);
}

/* One task: the query heads of one row that share a key head. Rows of a head follow each other: its keys and values stay in the cache. */
static void attend_group(void *context, int task, int worker)
{
    (void)worker;
    const work *w = context;
    const pl_transformer_shape *s = &w->t->shape;
    if (is_cancelled(w)) /* long prompts spend minutes here; what is left undone is not used */
        return;
    int row = task % w->rows, head = task / w->rows, group = s->heads / s->kv_heads;
    int from = w->map ? w->map[row] : row;
    const place *p = &w->places[from];
    int64_t begin, end;
    reach(s, p, &begin, &end);
    pl_attend a = {.type = p->kv->shape.type,
                   .heads = group,
                   .width = s->head,
                   .scale = 1.0f / sqrtf((float)s->head),
                   .q = w->q + ((int64_t)from * s->heads + (int64_t)head * group) * s->head,
                   .blocks = (const uint8_t *const *)p->kv->blocks,
                   .k_offset = pl_kv_offset(p->kv, w->layer, head, false),
                   .v_offset = pl_kv_offset(p->kv, w->layer, head, true),
                   .begin = begin,
                   .end = end,
                   .out = w->a + ((int64_t)row * s->heads + (int64_t)head * group) * s->head};
    w->compute->k->attend(&a);
}

/* From here on only the wanted rows matter. They are ascending, so moving them up overwrites nothing that is still needed. */
static void keep_wanted(work *w)
{
    int width = w->t->shape.width;
    for (int i = 0; i < w->forward->n_rows; i++)
        if (w->forward->rows[i] != i)
            memcpy(w->x + (int64_t)i * width, w->x + (int64_t)w->forward->rows[i] * width, (size_t)width * sizeof *w->x);
    w->map = w->forward->rows;
    w->rows = w->forward->n_rows;
}

/* A layer whose values are added to the residual stream: at once, unless they are scaled or looked at first. */
static pl_linear_job into_stream(const work *w, const pl_linear *layer, const float *scale, bool seen)
{
    bool at_once = !scale && !seen;
    return (pl_linear_job){.layer = layer, .y = at_once ? w->x : w->h, .y_stride = w->t->shape.width, .accumulate = at_once};
}

static void add_to_stream(work *w, const pl_linear_job *job, const float *scale)
{
    int width = w->t->shape.width;
    if (job->accumulate)
        return;
    if (scale)
        w->compute->k->add_scaled(w->x, w->h, scale, width, w->rows);
    else
        w->compute->k->add(w->x, w->h, (int64_t)w->rows * width);
}

static void tap(const work *w, const char *what, const float *data)
{
    if (w->forward->tap)
        w->forward->tap(w->forward->tap_context, w->layer, what, data, w->rows, w->t->shape.width);
}

static parley_status attention(work *w, parley_error *error)
{
    const pl_transformer_shape *s = &w->t->shape;
    const pl_block *b = &w->t->blocks[w->layer];
    int64_t q_width = (int64_t)s->heads * s->head, kv_width = (int64_t)s->kv_heads * s->head;
    pl_linear_job qkv[] = {{.layer = &b->q, .y = w->q, .y_stride = q_width},
                           {.layer = &b->k, .y = w->k, .y_stride = kv_width},
                           {.layer = &b->v, .y = w->v, .y_stride = kv_width}};
    PL_TRY(run_layers_on(w, norm1_row, qkv, 3, w->h, s->width, error));
    run_rows(w, store_row, w->rows);
    if (w->layer == s->layers - 1 && w->forward->rows)
        keep_wanted(w);
    pl_pool_run(w->compute->pool, attend_group, w, w->rows * s->kv_heads);
    pl_linear_job output = into_stream(w, &b->o, b->attention_scale, w->forward->tap != NULL);
    PL_TRY(pl_linear_run(w->compute, &output, 1, w->a, q_width, w->rows, error));
    tap(w, "attn", w->h);
    add_to_stream(w, &output, b->attention_scale);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ feed-forward */

static void gelu_row(void *context, int row, int worker)
{
    (void)worker;
    const work *w = context;
    w->compute->k->gelu(w->up + (int64_t)row * w->t->shape.ffn, w->t->shape.ffn);
    pl_linear_row_done(w->compute, &w->input, row);
}

static parley_status plain_layers(work *w, const pl_linear_job *out, parley_error *error)
{
    const pl_transformer_shape *s = &w->t->shape;
    pl_linear_job in = {.layer = &w->t->blocks[w->layer].up, .y = w->up, .y_stride = s->ffn};
    PL_TRY(run_layers_on(w, norm2_row, &in, 1, w->h, s->width, error));
    return run_layers_on(w, gelu_row, out, 1, w->up, s->ffn, error);
}

/* The gate, and the 8-bit form where the last layer takes that, are parts of the first product. */
static parley_status gated_layers(work *w, const pl_linear_job *out, parley_error *error)
{
    const pl_transformer_shape *s = &w->t->shape;
    const pl_block *b = &w->t->blocks[w->layer];
    pl_arena_mark mark = pl_arena_save(&w->compute->step);
    pl_linear_input inner;
    PL_TRY(pl_linear_prepare(w->compute, out, 1, w->up, s->ffn, w->rows, &inner, error));
    pl_linear_job in = {.layer = &b->up, .gate = &b->gate, .y = w->up, .y_stride = s->ffn, .y_q8 = pl_linear_input_q8(&inner)};
    PL_TRY(run_layers_on(w, norm2_row, &in, 1, w->h, s->width, error));
    pl_linear_run_prepared(w->compute, out, 1, &inner);
    pl_arena_restore(&w->compute->step, mark);
    return PARLEY_OK;
}

static parley_status feed_forward(work *w, parley_error *error)
{
    const pl_block *b = &w->t->blocks[w->layer];
    pl_linear_job out = into_stream(w, &b->down, b->ffn_scale, false);
    PL_TRY(w->t->shape.kind == PL_BLOCK_PLAIN ? plain_layers(w, &out, error) : gated_layers(w, &out, error));
    add_to_stream(w, &out, b->ffn_scale);
    tap(w, "out", w->x);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ the forward */

static parley_status cancelled(const work *w, parley_error *error)
{
    return pl_fail(error, PARLEY_CANCELLED, "cancelled in layer %d of %d", w->layer, w->t->shape.layers);
}

static parley_status run_layers(work *w, parley_error *error)
{
    for (w->layer = 0; w->layer < w->t->shape.layers; w->layer++) {
        if (is_cancelled(w))
            return cancelled(w, error);
        PL_TRY(attention(w, error));
        PL_TRY(feed_forward(w, error));
    }
    return is_cancelled(w) ? cancelled(w, error) : PARLEY_OK;
}

static void finish(const work *w)
{
    const pl_forward *f = w->forward;
    int width = w->t->shape.width;
    for (int r = 0; r < w->rows; r++) {
        const float *x = w->x + (int64_t)r * width;
        float *out = f->out + (int64_t)r * width;
        if (w->t->norm)
            norm(w, x, w->t->norm, w->t->norm_bias, out);
        else if (out != x)
            memcpy(out, x, (size_t)width * sizeof *out);
    }
    for (int s = 0; s < f->n_sequences; s++)
        f->sequences[s].kv->length += f->sequences[s].count;
}

parley_status pl_transformer_forward(pl_compute *compute, const pl_transformer *transformer, const pl_forward *forward, parley_error *error)
{
    pl_arena_mark mark = pl_arena_save(&compute->step);
    work w = {.compute = compute, .t = transformer, .forward = forward, .x = forward->x};
    parley_status status = set_up(&w, error);
    if (status == PARLEY_OK)
        status = run_layers(&w, error);
    if (status == PARLEY_OK)
        finish(&w);
    pl_arena_restore(&compute->step, mark);
    return status;
}
