#include "encoder/parts.h"

#include <math.h>

enum { LARGEST = 4096 }; /* of each size of the stem: keeps counts of an image inside int */

static const pl_tensor *optional(const pl_tensor *tensor)
{
    return tensor->data ? tensor : NULL;
}

static bool within(int value, int least, int most)
{
    return value >= least && value <= most;
}

static parley_status check_shape(const pl_tower_shape *s, parley_error *error)
{
    if (!within(s->mels, 8, LARGEST) || s->mels % 8 != 0)
        return pl_fail(error, PARLEY_UNSUPPORTED, "audio tower: %d mel bands, expected a multiple of 8 up to %d", s->mels, LARGEST);
    if (!within(s->channels, 1, LARGEST))
        return pl_fail(error, PARLEY_UNSUPPORTED, "audio tower: %d channels of the stem, expected 1 to %d", s->channels, LARGEST);
    if (!within(s->window, 1, LARGEST / 2))
        return pl_fail(error, PARLEY_UNSUPPORTED, "audio tower: n_window %d, expected 1 to %d", s->window, LARGEST / 2);
    if (!within(s->window_infer, 2 * s->window, 64 * LARGEST))
        return pl_fail(error, PARLEY_UNSUPPORTED, "audio tower: n_window_infer %d, expected %d (a chunk) to %d", s->window_infer, 2 * s->window,
                       64 * LARGEST);
    if (s->width < 4 || s->width % 2 != 0 || s->heads < 1 || s->width % s->heads != 0)
        return pl_fail(error, PARLEY_UNSUPPORTED, "audio tower: width %d in %d heads, expected an even multiple", s->width, s->heads);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ stem */

static void done(const pl_loader *loader, const pl_tensor *tensor)
{
    if (loader->done)
        loader->done(loader->context, tensor);
}

static parley_status load_stem(pl_loader *loader, const pl_tower_tensors *t, pl_tower *tower, parley_error *error)
{
    static const int all[] = {0, 1, 2}, outer[] = {0, 2}, inner[] = {1};
    PL_TRY(pl_load_conv2d(loader, &t->convs[0].weight, all, 3, &tower->first, error));
    PL_TRY(pl_load_floats(loader, &t->convs[0].bias, &tower->first_bias, error));
    done(loader, &t->convs[0].weight);
    for (int i = 1; i < PL_TOWER_CONVS; i++) {
        tower_conv *conv = &tower->later[i - 1];
        PL_TRY(pl_load_conv2d(loader, &t->convs[i].weight, outer, 2, &conv->outer, error));
        PL_TRY(pl_load_conv2d(loader, &t->convs[i].weight, inner, 1, &conv->inner, error));
        PL_TRY(pl_load_floats(loader, &t->convs[i].bias, &conv->bias, error));
        done(loader, &t->convs[i].weight);
    }
    return pl_load_linear(loader, &t->conv_out, NULL, &tower->conv_out, error);
}

/* Row t: sin(t w_k) for all k, then cos(t w_k), w_k = exp(-k ln(10000) / (width / 2 - 1)), all in float32 as the reference has it. */
static parley_status make_positions(pl_loader *loader, pl_tower *tower, parley_error *error)
{
    int width = tower->shape.width, half = width / 2;
    float *table = PL_NEW_ARRAY(loader->arena, float, (size_t)tower->chunk_tokens *(size_t)width);
    if (!table)
        return pl_fail_memory(error, "positions of the audio tower");
    float step = (float)(-log(10000.0) / (double)(half - 1));
    for (int t = 0; t < tower->chunk_tokens; t++)
        for (int k = 0; k < half; k++) {
            float angle = (float)t * (float)exp((double)(step * (float)k));
            table[(int64_t)t * width + k] = (float)sin((double)angle);
            table[(int64_t)t * width + half + k] = (float)cos((double)angle);
        }
    tower->positions = table;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ layers */

static parley_status load_norm(pl_loader *loader, const pl_conv_tensors *from, const float **weight, const float **bias, parley_error *error)
{
    PL_TRY(pl_load_floats(loader, &from->weight, weight, error));
    return pl_load_floats(loader, &from->bias, bias, error);
}

static parley_status load_block(pl_loader *loader, const struct pl_tower_block_tensors *from, pl_block *to, parley_error *error)
{
    const struct {
        const pl_conv_tensors *tensors;
        pl_linear *layer;
    } matrices[] = {{&from->q, &to->q}, {&from->k, &to->k}, {&from->v, &to->v}, {&from->o, &to->o}, {&from->fc1, &to->up}, {&from->fc2, &to->down}};
    PL_TRY(load_norm(loader, &from->norm1, &to->norm1, &to->norm1_bias, error));
    PL_TRY(load_norm(loader, &from->norm2, &to->norm2, &to->norm2_bias, error));
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        PL_TRY(pl_load_linear(loader, &matrices[i].tensors->weight, optional(&matrices[i].tensors->bias), matrices[i].layer, error));
    return PARLEY_OK;
}

static parley_status load_layers(pl_loader *loader, const pl_tower_tensors *t, pl_tower *tower, parley_error *error)
{
    const pl_tower_shape *s = &tower->shape;
    pl_transformer_shape shape = {.kind = PL_BLOCK_PLAIN,
                                  .layers = s->layers,
                                  .width = s->width,
                                  .heads = s->heads,
                                  .kv_heads = s->heads,
                                  .head = s->width / s->heads,
                                  .ffn = s->ffn,
                                  .eps = 1e-5f,
                                  .block = tower->window_tokens};
    PL_TRY(pl_transformer_prepare(loader->arena, shape, &tower->transformer, error));
    for (int i = 0; i < s->layers; i++)
        PL_TRY(load_block(loader, &t->blocks[i], &tower->transformer.blocks[i], error));
    return load_norm(loader, &t->ln_post, &tower->transformer.norm, &tower->transformer.norm_bias, error);
}

/* ------------------------------------------------------------------ all of it */

parley_status pl_tower_load(pl_loader *loader, const pl_tower_shape *shape, const pl_tower_tensors *tensors, pl_tower **tower, parley_error *error)
{
    PL_TRY(check_shape(shape, error));
    pl_tower *t = PL_NEW(loader->arena, pl_tower);
    if (!t)
        return pl_fail_memory(error, "the audio tower");
    t->shape = *shape;
    t->chunk = 2 * shape->window;
    t->chunk_tokens = pl_tower_stem_rows(t->chunk);
    t->window_tokens = t->chunk_tokens * (shape->window_infer / t->chunk);
    PL_TRY(load_stem(loader, tensors, t, error));
    PL_TRY(make_positions(loader, t, error));
    PL_TRY(load_layers(loader, tensors, t, error));
    PL_TRY(pl_load_linear(loader, &tensors->proj1.weight, optional(&tensors->proj1.bias), &t->proj1, error));
    PL_TRY(pl_load_linear(loader, &tensors->proj2.weight, optional(&tensors->proj2.bias), &t->proj2, error));
    *tower = t;
    return PARLEY_OK;
}

const pl_tower_shape *pl_tower_shape_of(const pl_tower *tower)
{
    return &tower->shape;
}
