#include "codec/parts.h"

#include <string.h>

enum { STATE_CHUNK = 1 << 20, BLOCK = 32 };

/* ------------------------------------------------------------------ buffers */

/* Allocations are made in one go and looked at once: `failed` stays set. */
typedef struct maker {
    pl_codec_state *state;
    bool failed;
} maker;

static float *floats(maker *m, int64_t rows, int64_t width)
{
    float *memory = pl_arena_alloc(&m->state->arena, (size_t)rows, (size_t)width * sizeof *memory);
    if (!memory)
        m->failed = true;
    return memory;
}

/* Zeroed, as all memory of an arena: silence. */
static pl_q8_rows int8_rows(maker *m, int64_t rows, int width)
{
    pl_arena *arena = &m->state->arena;
    size_t blocks = (size_t)(width / BLOCK);
    pl_q8_rows made = {.q = pl_arena_alloc(arena, (size_t)rows, (size_t)width),
                       .scale = pl_arena_alloc(arena, (size_t)rows, blocks * sizeof(float)),
                       .sum = pl_arena_alloc(arena, (size_t)rows, blocks * sizeof(int32_t))};
    if (!made.q || !made.scale || !made.sum)
        m->failed = true;
    return made;
}

static void add_rows(maker *m, codec_rows *rows)
{
    m->state->all[m->state->n_all++] = rows;
}

/* The input of a layer that is float32 for all weights. */
static void make_float_rows(maker *m, codec_rows *rows, int history, int64_t room, int width)
{
    *rows = (codec_rows){.data = floats(m, history + room, width), .history = history, .width = width};
    add_rows(m, rows);
}

/* The input of a convolution; `rounded`: the layer before leaves 8-bit rows itself when they are wanted. */
static void make_rows(maker *m, codec_rows *rows, const pl_conv *conv, int64_t room, bool rounded)
{
    int history = pl_conv_history(conv);
    if (!pl_codec_is_int8(m->state->decoder, conv)) {
        make_float_rows(m, rows, history, room, conv->in);
        return;
    }
    *rows = (codec_rows){.q8 = int8_rows(m, history + room, conv->in), .history = history, .width = conv->in};
    if (!rounded)
        rows->data = floats(m, room, conv->in);
    add_rows(m, rows);
}

static void make_front(maker *m)
{
    pl_codec_state *s = m->state;
    const pl_codec_decoder *d = s->decoder;
    const pl_codec_shape *shape = &d->shape;
    int64_t up_rows = (int64_t)CODEC_PIECE * d->upsampling, rows = CODEC_PIECE;
    s->codes = floats(m, CODEC_PIECE, shape->codebook_width);
    s->first = floats(m, CODEC_PIECE, shape->rvq_width);
    s->rvq = floats(m, CODEC_PIECE, shape->rvq_width);
    s->latent = floats(m, up_rows, shape->latent);
    s->model = floats(m, CODEC_PIECE, shape->transformer.width);
    s->hidden = floats(m, up_rows, shape->latent);
    s->wide = floats(m, up_rows, 4 * (int64_t)shape->latent);
    make_rows(m, &s->pre_conv, &d->pre_conv, CODEC_PIECE, false);
    for (int i = 0; i < shape->n_ratios; i++) {
        make_rows(m, &s->up_conv[i], &d->up[i].conv, rows, false);
        rows *= shape->ratios[i];
        make_float_rows(m, &s->up_depthwise[i], d->up[i].taps - 1, rows, shape->latent);
    }
    make_rows(m, &s->voc0, &d->voc0, up_rows, false);
}

/* Output rows of a stage at once: what the buffer holds, but the rows of one input row at least and those of its whole input at most. */
static int64_t stage_output(int64_t input, int rate, int channels)
{
    int64_t most = CODEC_BUFFER / channels / rate;
    return (most < 1 ? 1 : most > input ? input : most) * rate;
}

static void make_vocoder(maker *m)
{
    pl_codec_state *s = m->state;
    const pl_codec_decoder *d = s->decoder;
    int64_t rows = (int64_t)CODEC_PIECE * d->upsampling, largest = 0;
    s->voc0_out = floats(m, rows, d->shape.decoder_dim);
    for (int i = 0; i < d->shape.n_rates; i++) {
        const codec_stage *stage = &d->stages[i];
        int channels = stage->conv.out;
        make_rows(m, &s->stages[i], &stage->conv, rows, true);
        rows = stage_output(rows, d->shape.rates[i], channels);
        s->stage_rows[i] = (int)(rows / d->shape.rates[i]);
        for (int u = 0; u < PL_CODEC_UNITS; u++)
            make_rows(m, &s->units[i][u], &stage->units[u].conv1, rows, true);
        largest = rows * channels > largest ? rows * channels : largest;
    }
    make_float_rows(m, &s->last, d->last.taps - 1, rows, d->last.width);
    s->raw = floats(m, rows, 1);
    s->x = floats(m, largest, 1);
    s->y = floats(m, largest, 1);
    if (d->int8)
        s->y8 = int8_rows(m, (largest + BLOCK - 1) / BLOCK, BLOCK);
}

/* ------------------------------------------------------------------ cache */

static parley_status make_cache(maker *m, parley_error *error)
{
    pl_codec_state *s = m->state;
    const pl_transformer *t = &s->decoder->transformer;
    const int64_t limit = (int64_t)1 << 40; /* reached only without a window, where memory ends first */
    pl_transformer_kv(t, &s->arena.allocator, PL_F32, limit, &s->kv);
    s->cosine = floats(m, t->shape.head, 1);
    s->sine = floats(m, t->shape.head, 1);
    int64_t kept = (t->shape.window - 1 + PL_KV_BLOCK - 1) / PL_KV_BLOCK * PL_KV_BLOCK;
    if (t->shape.window > 0) {
        s->rebase_by = CODEC_POSITIONS;
        s->rebase_at = kept + CODEC_POSITIONS;
    }
    /* the most blocks that are held at once: those of the window, the one that it reaches into and those that a piece adds */
    return pl_kv_reserve(&s->kv, kept + PL_KV_BLOCK + CODEC_PIECE, error);
}

/* ------------------------------------------------------------------ life */

parley_status pl_codec_state_open(const parley_allocator *allocator, const pl_codec_decoder *decoder, pl_codec_state **state, parley_error *error)
{
    pl_codec_state *s = pl_alloc(allocator, 1, sizeof *s);
    if (!s)
        return pl_fail_memory(error, "the codec's state");
    memset(s, 0, sizeof *s);
    s->decoder = decoder;
    pl_arena_init(&s->arena, allocator, STATE_CHUNK);
    maker m = {.state = s};
    parley_status status = make_cache(&m, error);
    make_front(&m);
    make_vocoder(&m);
    if (status == PARLEY_OK && m.failed)
        status = pl_fail_memory(error, "the codec's state");
    if (status == PARLEY_OK)
        *state = s;
    else
        pl_codec_state_close(s);
    return status;
}

void pl_codec_state_close(pl_codec_state *state)
{
    if (!state)
        return;
    parley_allocator allocator = state->arena.allocator;
    pl_kv_free(&state->kv);
    pl_arena_free(&state->arena);
    pl_release(&allocator, state, 1, sizeof *state);
}

void pl_codec_state_reset(pl_codec_state *state)
{
    for (int i = 0; i < state->n_all; i++)
        pl_codec_rows_reset(state->all[i]);
    pl_kv_truncate(&state->kv, 0);
}

parley_status pl_codec_state_copy(pl_codec_state *to, const pl_codec_state *from, parley_error *error)
{
    for (int i = 0; i < from->n_all; i++)
        pl_codec_rows_copy(to->all[i], from->all[i]);
    return pl_kv_copy(&to->kv, &from->kv, error);
}

uint64_t pl_codec_state_bytes(const pl_codec_state *state)
{
    return sizeof *state + state->arena.held + state->kv.bytes;
}
