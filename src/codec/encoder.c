#include "codec/encoder_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ENCODER_CHUNK = 1 << 20 };

static const encoder_pieces usual = {.buffer = CODEC_BUFFER, .outputs = 96, .tokens = 96, .frames = 96};

parley_status pl_encoder_poll(const encoder_run *run)
{
    return pl_stop_asked(run->stop) ? pl_fail(run->error, PARLEY_CANCELLED, "cancelled while sound was encoded") : PARLEY_OK;
}

/* ------------------------------------------------------------------ transformer */

typedef struct layer_tap {
    const pl_tap *tap;
    int layer;
} layer_tap;

static void tap_layer(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const layer_tap *t = context;
    char name[32];
    if (strcmp(what, "out") != 0)
        return;
    snprintf(name, sizeof name, "tf_layer%d", t->layer + layer);
    pl_tap_floats(t->tap, name, data, rows, width);
}

/* One layer over all rows, in place. */
static parley_status run_layer(encoder_run *run, int layer, pl_kv *kv, float *x, int64_t rows)
{
    pl_transformer one = run->encoder->transformer;
    one.blocks += layer;
    one.shape.layers = 1;
    layer_tap tap = {run->tap, layer};
    pl_kv_truncate(kv, 0);
    while (kv->length < rows) {
        int64_t left = rows - kv->length;
        pl_tokens tokens = {kv, left < run->pieces->tokens ? (int)left : run->pieces->tokens};
        float *at = x + kv->length * one.shape.width;
        pl_forward forward = {.x = at, .sequences = &tokens, .n_sequences = 1, .out = at, .tap_context = &tap};
        if (run->tap && run->tap->call)
            forward.tap = tap_layer;
        PL_TRY(pl_encoder_poll(run));
        PL_TRY(pl_transformer_forward(run->compute, &one, &forward, run->error));
    }
    return PARLEY_OK;
}

/* Layer by layer over the whole sound: keys and values of one layer are held at a time, not of all. */
static parley_status transformer(encoder_run *run, int64_t rows)
{
    const pl_transformer *t = &run->encoder->transformer;
    pl_kv kv;
    pl_kv_init(&kv, &run->compute->step.allocator,
               (pl_kv_shape){.type = PL_F32, .layers = 1, .heads = t->shape.kv_heads, .width = t->shape.head, .limit = rows});
    parley_status status = PARLEY_OK;
    for (int i = 0; i < t->shape.layers && status == PARLEY_OK; i++)
        status = run_layer(run, i, &kv, run->rows + (int64_t)ENCODER_FRAME_PAST * t->shape.width, rows);
    pl_kv_free(&kv);
    return status;
}

/* ------------------------------------------------------------------ frames */

/* Copies of the first row in front, of the last one behind. */
static void replicate_ends(const encoder_run *run, int64_t rows)
{
    int64_t width = run->encoder->shape.width;
    size_t bytes = (size_t)width * sizeof *run->rows;
    float *first = run->rows + ENCODER_FRAME_PAST * width, *end = first + rows * width;
    for (int i = 0; i < ENCODER_FRAME_PAST; i++)
        memcpy(run->rows + i * width, first, bytes);
    memcpy(end, end - width, bytes);
}

static void downsample(encoder_run *run, int64_t rows)
{
    int64_t width = run->encoder->shape.width;
    replicate_ends(run, rows);
    for (int64_t t = 0; t < run->frames; t += run->pieces->frames) {
        int n = (int)(run->frames - t < run->pieces->frames ? run->frames - t : run->pieces->frames);
        float *y = run->quantised + t * width;
        pl_encoder_convolve(run, &run->encoder->downsample, ENCODER_FRAME_STEP, run->rows + t * ENCODER_FRAME_STEP * width, n, y, false);
        pl_tap_floats(run->tap, "frame", y, n, width);
    }
}

/* ------------------------------------------------------------------ all of it */

static parley_status check_samples(const encoder_run *run, int64_t samples)
{
    if (samples < 1)
        return pl_fail(run->error, PARLEY_ARGUMENT, "there is no sound to encode");
    for (int64_t i = 0; i < samples; i++)
        if (!isfinite(run->pcm[i]))
            return pl_fail(run->error, PARLEY_VALUE, "sample %" PRId64 " is not finite", i);
    return PARLEY_OK;
}

static parley_status make_rows(encoder_run *run, pl_arena *arena, int64_t rows)
{
    size_t width = (size_t)run->encoder->shape.width;
    run->rows = pl_arena_alloc_raw(arena, (size_t)rows + ENCODER_FRAME_PAST + 1, width * sizeof *run->rows);
    run->quantised = pl_arena_alloc_raw(arena, (size_t)run->frames, width * sizeof *run->quantised);
    return run->rows && run->quantised ? PARLEY_OK : pl_fail_memory(run->error, "rows of the codec encoder");
}

/* The convolutions' work space is given back before the transformer takes its own. */
static parley_status convolutions(encoder_run *run)
{
    pl_arena arena;
    pl_arena_init(&arena, &run->compute->step.allocator, ENCODER_CHUNK);
    parley_status status = pl_encoder_space(run, &arena);
    if (status == PARLEY_OK)
        status = pl_encoder_convolutions(run);
    pl_arena_free(&arena);
    return status;
}

static parley_status encode(encoder_run *run, pl_arena *arena, int64_t rows, int32_t *codes)
{
    PL_TRY(make_rows(run, arena, rows));
    PL_TRY(convolutions(run));
    PL_TRY(transformer(run, rows));
    downsample(run, rows);
    return pl_encoder_quantise(run, codes);
}

parley_status pl_encoder_run_pieces(encoder_run *run, int64_t samples, int32_t *codes)
{
    const pl_encoder_shape *shape = &run->encoder->shape;
    pl_arena arena;
    bool int8 = run->compute->int8;
    PL_TRY(check_samples(run, samples));
    run->frames = pl_codec_encoder_frames(run->encoder, samples);
    run->left[0] = samples;
    for (int i = 0; i < shape->n_ratios; i++)
        run->left[i + 1] = (run->left[i] - 1) / shape->ratios[i] + 1;
    pl_arena_init(&arena, &run->compute->step.allocator, ENCODER_CHUNK);
    run->compute->int8 = false;
    parley_status status = encode(run, &arena, run->left[shape->n_ratios], codes);
    run->compute->int8 = int8;
    pl_arena_free(&arena);
    return status;
}

parley_status pl_codec_encode(pl_compute *compute, const pl_codec_encoder *encoder, const float *pcm, int64_t samples, int32_t *codes,
                              const pl_stop *stop, const pl_tap *tap, parley_error *error)
{
    encoder_run run = {.compute = compute, .encoder = encoder, .pieces = &usual, .stop = stop, .tap = tap, .error = error, .pcm = pcm};
    return pl_encoder_run_pieces(&run, samples, codes);
}
