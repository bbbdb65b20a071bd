#include "codec/parts.h"

#include <string.h>

static const pl_tensor *optional(const pl_tensor *tensor)
{
    return tensor->data ? tensor : NULL;
}

/* [channels][taps] -> [taps][channels]. */
static parley_status turn_taps(pl_loader *loader, const pl_tensor *weight, int channels, const float **turned, int *taps, parley_error *error)
{
    size_t count = (size_t)pl_tensor_values(weight);
    int n = (int)count / channels;
    float *out = PL_NEW_ARRAY(loader->arena, float, count);
    float *values = pl_alloc(&loader->arena->allocator, count, sizeof *values);
    if (out && values) {
        pl_dequantize(weight->type, weight->data, (int64_t)count, values);
        for (int c = 0; c < channels; c++)
            for (int j = 0; j < n; j++)
                out[(int64_t)j * channels + c] = values[(int64_t)c * n + j];
    }
    pl_release(&loader->arena->allocator, values, count, sizeof *values);
    *turned = out;
    *taps = n;
    return out && values ? PARLEY_OK : pl_fail_memory(error, "a convolution of single channels");
}

/* ------------------------------------------------------------------ quantiser */

/* Sums of the rows that chose a code and how many did: the row is their quotient. */
static parley_status divide_rows(pl_loader *loader, const pl_tensor *usage, int size, int width, float *rows, parley_error *error)
{
    float *counts = pl_alloc(&loader->arena->allocator, (size_t)size, sizeof *counts);
    if (!counts)
        return pl_fail_memory(error, "a codebook");
    pl_dequantize(usage->type, usage->data, size, counts);
    for (int r = 0; r < size; r++) {
        float count = pl_codec_row_count(counts[r]);
        for (int i = 0; i < width; i++)
            rows[(int64_t)r * width + i] /= count;
    }
    pl_release(&loader->arena->allocator, counts, (size_t)size, sizeof *counts);
    return PARLEY_OK;
}

parley_status pl_codec_codebook_rows(pl_loader *loader, int size, int width, const pl_tensor *sums, const pl_tensor *usage, float *rows,
                                     parley_error *error)
{
    pl_dequantize(sums->type, sums->data, (int64_t)size * width, rows);
    if (usage->data)
        PL_TRY(divide_rows(loader, usage, size, width, rows, error));
    if (loader->done)
        loader->done(loader->context, sums);
    return PARLEY_OK;
}

/* Rows that are float32 in the file, and are no sums, are used where they lie. */
static bool is_ready(const pl_tensor *rows, const pl_tensor *usage)
{
    return rows->type == PL_F32 && !usage->data && (uintptr_t)rows->data % _Alignof(float) == 0;
}

static parley_status load_codebook(pl_loader *loader, const pl_codec_shape *shape, const pl_tensor *sums, const pl_tensor *usage,
                                   const float **codebook, parley_error *error)
{
    *codebook = sums->data;
    if (is_ready(sums, usage))
        return PARLEY_OK;
    size_t count = (size_t)shape->codebook_size * (size_t)shape->codebook_width;
    float *rows = pl_arena_alloc_raw(loader->arena, count, sizeof *rows);
    if (!rows)
        return pl_fail_memory(error, "a codebook");
    PL_TRY(pl_codec_codebook_rows(loader, shape->codebook_size, shape->codebook_width, sums, usage, rows, error));
    loader->packed_bytes += count * sizeof *rows;
    *codebook = rows;
    return PARLEY_OK;
}

static parley_status load_quantiser(pl_loader *loader, const pl_codec_tensors *t, pl_codec_decoder *d, parley_error *error)
{
    d->codebooks = PL_NEW_ARRAY(loader->arena, const float *, d->shape.groups);
    if (!d->codebooks)
        return pl_fail_memory(error, "the codebooks");
    for (int g = 0; g < d->shape.groups; g++)
        PL_TRY(load_codebook(loader, &d->shape, &t->codebooks[g], &t->usages[g], &d->codebooks[g], error));
    PL_TRY(pl_load_linear(loader, &t->first_out, NULL, &d->first_out, error));
    if (d->shape.groups > 1)
        PL_TRY(pl_load_linear(loader, &t->rest_out, NULL, &d->rest_out, error));
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ transformer */

/* Attention and the layers around it answer to small differences of their input: with 8-bit activations half of the decoder's noise came from here,
 * out of 2 % of its products. Their weights may be 8 bits wide, their input stays float32. */
static void keep_input(pl_linear *const *layers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        layers[i]->exact = true;
}

static parley_status load_block(pl_loader *loader, const struct pl_codec_block_tensors *t, pl_block *b, parley_error *error)
{
    const struct {
        const pl_tensor *tensor;
        const float **values;
    } vectors[] = {{&t->norm1, &b->norm1}, {&t->norm2, &b->norm2}, {&t->attention_scale, &b->attention_scale}, {&t->ffn_scale, &b->ffn_scale}};
    const struct {
        const pl_tensor *tensor;
        pl_linear *layer;
    } matrices[] = {{&t->q, &b->q}, {&t->k, &b->k}, {&t->v, &b->v}, {&t->o, &b->o}, {&t->gate, &b->gate}, {&t->up, &b->up}, {&t->down, &b->down}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (vectors[i].tensor->data)
            PL_TRY(pl_load_floats(loader, vectors[i].tensor, vectors[i].values, error));
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        PL_TRY(pl_load_linear(loader, matrices[i].tensor, NULL, matrices[i].layer, error));
    keep_input((pl_linear *const[]){&b->q, &b->k, &b->v, &b->o, &b->gate, &b->up, &b->down}, 7);
    return PARLEY_OK;
}

static parley_status load_transformer(pl_loader *loader, const pl_codec_tensors *t, pl_codec_decoder *d, parley_error *error)
{
    PL_TRY(pl_load_linear(loader, &t->in_proj.weight, optional(&t->in_proj.bias), &d->in_proj, error));
    PL_TRY(pl_load_linear(loader, &t->out_proj.weight, optional(&t->out_proj.bias), &d->out_proj, error));
    PL_TRY(pl_transformer_prepare(loader->arena, d->shape.transformer, &d->transformer, error));
    PL_TRY(pl_load_floats(loader, &t->norm, &d->transformer.norm, error));
    for (int i = 0; i < d->shape.transformer.layers; i++)
        PL_TRY(load_block(loader, &t->blocks[i], &d->transformer.blocks[i], error));
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ upsampling */

static parley_status load_up(pl_loader *loader, const struct pl_codec_up_tensors *t, int ratio, int channels, codec_up *up, parley_error *error)
{
    PL_TRY(pl_load_transposed_conv(loader, &t->conv.weight, optional(&t->conv.bias), ratio, &up->conv, error));
    up->conv.linear.exact = true;
    PL_TRY(turn_taps(loader, &t->depthwise.weight, channels, &up->depthwise, &up->taps, error));
    PL_TRY(pl_load_floats(loader, &t->depthwise.bias, &up->depthwise_bias, error));
    PL_TRY(pl_load_floats(loader, &t->norm_weight, &up->norm_weight, error));
    PL_TRY(pl_load_floats(loader, &t->norm_bias, &up->norm_bias, error));
    PL_TRY(pl_load_floats(loader, &t->gamma, &up->gamma, error));
    PL_TRY(pl_load_linear(loader, &t->pw1.weight, optional(&t->pw1.bias), &up->pw1, error));
    return pl_load_linear(loader, &t->pw2.weight, optional(&t->pw2.bias), &up->pw2, error);
}

/* ------------------------------------------------------------------ vocoder */

static parley_status load_snake(pl_loader *loader, const pl_codec_tensors *t, const pl_snake_tensors *s, pl_snake *snake, parley_error *error)
{
    return pl_load_snake(loader, &s->alpha, &s->beta, t->snake_is_final, snake, error);
}

static parley_status load_stage(pl_loader *loader, const pl_codec_tensors *all, const struct pl_codec_stage_tensors *t, int rate, codec_stage *stage,
                                parley_error *error)
{
    static const int dilations[PL_CODEC_UNITS] = {1, 3, 9};
    PL_TRY(load_snake(loader, all, &t->snake, &stage->snake, error));
    PL_TRY(pl_load_transposed_conv(loader, &t->conv.weight, optional(&t->conv.bias), rate, &stage->conv, error));
    for (int i = 0; i < PL_CODEC_UNITS; i++) {
        codec_unit *unit = &stage->units[i];
        PL_TRY(load_snake(loader, all, &t->units[i].act1, &unit->act1, error));
        PL_TRY(load_snake(loader, all, &t->units[i].act2, &unit->act2, error));
        const pl_conv_tensors *conv1 = &t->units[i].conv1, *conv2 = &t->units[i].conv2;
        PL_TRY(pl_load_conv(loader, &conv1->weight, optional(&conv1->bias), dilations[i], &unit->conv1, error));
        PL_TRY(pl_load_conv(loader, &conv2->weight, optional(&conv2->bias), 1, &unit->conv2, error));
    }
    return PARLEY_OK;
}

static parley_status load_vocoder(pl_loader *loader, const pl_codec_tensors *t, pl_codec_decoder *d, parley_error *error)
{
    PL_TRY(pl_load_conv(loader, &t->voc0.weight, optional(&t->voc0.bias), 1, &d->voc0, error));
    for (int i = 0; i < d->shape.n_rates; i++)
        PL_TRY(load_stage(loader, t, &t->stages[i], d->shape.rates[i], &d->stages[i], error));
    return load_snake(loader, t, &t->last_snake, &d->last_snake, error);
}

/* ------------------------------------------------------------------ all of it */

/* With 8-bit weights the two ends stay as they are stored: the sums of codebook rows, which everything else is made of, and the last convolution,
 * whose error nothing behind it averages out. Both are small. */
static parley_status load_ends(pl_loader *loader, const pl_codec_tensors *t, pl_codec_decoder *d, parley_error *error)
{
    bool int8 = loader->int8;
    loader->int8 = false;
    PL_TRY(load_quantiser(loader, t, d, error));
    d->first_out.exact = d->rest_out.exact = true;
    d->last.width = (int)t->last_conv.weight.shape[1];
    if (t->last_conv.bias.data)
        pl_dequantize(t->last_conv.bias.type, t->last_conv.bias.data, 1, &d->last.bias);
    PL_TRY(turn_taps(loader, &t->last_conv.weight, d->last.width, &d->last.weight, &d->last.taps, error));
    loader->int8 = int8;
    return PARLEY_OK;
}

parley_status pl_codec_decoder_load(pl_loader *loader, const pl_codec_shape *shape, const pl_codec_tensors *tensors, pl_codec_decoder **decoder,
                                    parley_error *error)
{
    pl_codec_decoder *d = PL_NEW(loader->arena, pl_codec_decoder);
    if (!d)
        return pl_fail_memory(error, "the codec decoder");
    d->shape = *shape;
    d->samples_per_frame = pl_codec_samples_per_frame(shape);
    d->upsampling = 1;
    d->int8 = loader->int8;
    PL_TRY(load_ends(loader, tensors, d, error));
    PL_TRY(pl_load_conv(loader, &tensors->pre_conv.weight, optional(&tensors->pre_conv.bias), 1, &d->pre_conv, error));
    PL_TRY(load_transformer(loader, tensors, d, error));
    keep_input((pl_linear *const[]){&d->pre_conv.linear, &d->in_proj, &d->out_proj}, 3);
    for (int i = 0; i < shape->n_ratios; i++) {
        PL_TRY(load_up(loader, &tensors->up[i], shape->ratios[i], shape->latent, &d->up[i], error));
        d->upsampling *= shape->ratios[i];
    }
    PL_TRY(load_vocoder(loader, tensors, d, error));
    *decoder = d;
    return PARLEY_OK;
}

const pl_codec_shape *pl_codec_decoder_shape(const pl_codec_decoder *decoder)
{
    return &decoder->shape;
}

int pl_codec_samples_per_frame(const pl_codec_shape *shape)
{
    int samples = 1;
    for (int i = 0; i < shape->n_ratios; i++)
        samples *= shape->ratios[i];
    for (int i = 0; i < shape->n_rates; i++)
        samples *= shape->rates[i];
    return samples;
}

/* ------------------------------------------------------------------ what it costs */

bool pl_codec_decoder_is_int8(const pl_codec_decoder *decoder)
{
    return decoder->int8;
}

static double operations(const pl_matrix *w)
{
    return 2.0 * w->rows * w->cols;
}

static double transformer_operations(const pl_transformer *t)
{
    const pl_block *b = t->blocks;
    double block = 0;
    for (int i = 0; i < t->shape.layers; i++, b++)
        block += operations(&b->q.w) + operations(&b->k.w) + operations(&b->v.w) + operations(&b->o.w) + operations(&b->gate.w) + operations(&b->up.w)
                 + operations(&b->down.w);
    return block;
}

double pl_codec_decoder_operations(const pl_codec_decoder *d)
{
    double sum = operations(&d->pre_conv.linear.w) + operations(&d->in_proj.w) + operations(&d->out_proj.w) + transformer_operations(&d->transformer);
    double rows = 1; /* of a frame */
    for (int i = 0; i < d->shape.n_ratios; i++) {
        sum += rows * operations(&d->up[i].conv.linear.w);
        rows *= d->shape.ratios[i];
        sum += rows * (operations(&d->up[i].pw1.w) + operations(&d->up[i].pw2.w));
    }
    sum += rows * operations(&d->voc0.linear.w);
    for (int i = 0; i < d->shape.n_rates; i++) {
        sum += rows * operations(&d->stages[i].conv.linear.w);
        rows *= d->shape.rates[i];
        for (int u = 0; u < PL_CODEC_UNITS; u++)
            sum += rows * (operations(&d->stages[i].units[u].conv1.linear.w) + operations(&d->stages[i].units[u].conv2.linear.w));
    }
    return sum + rows * 2.0 * d->last.taps * d->last.width;
}
