#include "codec/encoder_parts.h"

static const pl_tensor *optional(const pl_tensor *tensor)
{
    return tensor->data ? tensor : NULL;
}

static parley_status load_conv(pl_loader *loader, const pl_conv_tensors *t, pl_conv *conv, parley_error *error)
{
    return pl_load_conv(loader, &t->weight, optional(&t->bias), 1, conv, error);
}

/* ------------------------------------------------------------------ quantiser */

/* -|c|^2 / 2 of each row. */
static void half_squares(const float *rows, int size, int width, float *out)
{
    for (int r = 0; r < size; r++) {
        double sum = 0.0;
        for (int i = 0; i < width; i++) {
            double value = (double)rows[(int64_t)r * width + i];
            sum += value * value;
        }
        out[r] = (float)(-0.5 * sum);
    }
}

/* `rows` is working memory of one codebook. Its values are in no file, so that nobody has to be told when they are packed. */
static parley_status load_codebook(pl_loader *loader, const pl_encoder_shape *shape, const pl_tensor *sums, const pl_tensor *usage, float *rows,
                                   pl_linear *codebook, parley_error *error)
{
    int size = shape->codebook_size, width = shape->codebook_width;
    PL_TRY(pl_codec_codebook_rows(loader, size, width, sums, usage, rows, error));
    float *bias = PL_NEW_ARRAY(loader->arena, float, size);
    if (!bias)
        return pl_fail_memory(error, "a codebook");
    half_squares(rows, size, width, bias);
    pl_tensor plain = {.type = PL_F32, .rank = 2, .shape = {size, width}, .data = rows, .bytes = (size_t)size * (size_t)width * sizeof *rows};
    pl_loader quiet = *loader;
    quiet.done = NULL;
    parley_status status = pl_load_linear(&quiet, &plain, NULL, codebook, error);
    loader->packed_bytes = quiet.packed_bytes;
    codebook->bias = bias;
    return status;
}

static parley_status load_codebooks(pl_loader *loader, const pl_encoder_tensors *t, pl_codec_encoder *e, parley_error *error)
{
    const parley_allocator *allocator = &loader->arena->allocator;
    size_t count = (size_t)e->shape.codebook_size * (size_t)e->shape.codebook_width;
    e->codebooks = PL_NEW_ARRAY(loader->arena, pl_linear, e->shape.groups);
    float *rows = pl_alloc(allocator, count, sizeof *rows);
    parley_status status = e->codebooks && rows ? PARLEY_OK : pl_fail_memory(error, "the codebooks");
    for (int g = 0; g < e->shape.groups && status == PARLEY_OK; g++)
        status = load_codebook(loader, &e->shape, &t->codebooks[g], &t->usages[g], rows, &e->codebooks[g], error);
    pl_release(allocator, rows, count, sizeof *rows);
    return status;
}

static parley_status load_quantiser(pl_loader *loader, const pl_encoder_tensors *t, pl_codec_encoder *e, parley_error *error)
{
    PL_TRY(load_codebooks(loader, t, e, error));
    PL_TRY(pl_load_linear(loader, &t->semantic_in, NULL, &e->semantic_in, error));
    return e->shape.groups > 1 ? pl_load_linear(loader, &t->acoustic_in, NULL, &e->acoustic_in, error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ transformer */

static parley_status load_block(pl_loader *loader, const struct pl_encoder_block_tensors *t, pl_block *b, parley_error *error)
{
    const struct {
        const pl_tensor *tensor;
        const float **values;
    } vectors[] = {{&t->norm1.weight, &b->norm1},    {&t->norm1.bias, &b->norm1_bias},           {&t->norm2.weight, &b->norm2},
                   {&t->norm2.bias, &b->norm2_bias}, {&t->attention_scale, &b->attention_scale}, {&t->ffn_scale, &b->ffn_scale}};
    const struct {
        const pl_tensor *tensor;
        pl_linear *layer;
    } matrices[] = {{&t->q, &b->q}, {&t->k, &b->k}, {&t->v, &b->v}, {&t->o, &b->o}, {&t->up, &b->up}, {&t->down, &b->down}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (vectors[i].tensor->data)
            PL_TRY(pl_load_floats(loader, vectors[i].tensor, vectors[i].values, error));
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        PL_TRY(pl_load_linear(loader, matrices[i].tensor, NULL, matrices[i].layer, error));
    return PARLEY_OK;
}

static parley_status load_transformer(pl_loader *loader, const pl_encoder_tensors *t, pl_codec_encoder *e, parley_error *error)
{
    PL_TRY(pl_transformer_prepare(loader->arena, e->shape.transformer, &e->transformer, error));
    for (int i = 0; i < e->shape.transformer.layers; i++)
        PL_TRY(load_block(loader, &t->blocks[i], &e->transformer.blocks[i], error));
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ all of it */

static parley_status load_stage(pl_loader *loader, const struct pl_encoder_stage_tensors *t, int ratio, encoder_stage *stage, parley_error *error)
{
    stage->ratio = ratio;
    PL_TRY(load_conv(loader, &t->res1, &stage->res1, error));
    PL_TRY(load_conv(loader, &t->res2, &stage->res2, error));
    return load_conv(loader, &t->down, &stage->down, error);
}

parley_status pl_codec_encoder_load(pl_loader *loader, const pl_encoder_shape *shape, const pl_encoder_tensors *tensors, pl_codec_encoder **encoder,
                                    parley_error *error)
{
    pl_codec_encoder *e = PL_NEW(loader->arena, pl_codec_encoder);
    if (!e)
        return pl_fail_memory(error, "the codec encoder");
    e->shape = *shape;
    e->samples_per_frame = ENCODER_FRAME_STEP;
    PL_TRY(load_conv(loader, &tensors->conv0, &e->conv0, error));
    for (int i = 0; i < shape->n_ratios; i++) {
        PL_TRY(load_stage(loader, &tensors->stages[i], shape->ratios[i], &e->stages[i], error));
        e->samples_per_frame *= shape->ratios[i];
    }
    PL_TRY(load_conv(loader, &tensors->conv1, &e->conv1, error));
    PL_TRY(load_transformer(loader, tensors, e, error));
    PL_TRY(pl_load_conv(loader, &tensors->downsample, NULL, 1, &e->downsample, error));
    PL_TRY(load_quantiser(loader, tensors, e, error));
    *encoder = e;
    return PARLEY_OK;
}

int64_t pl_codec_encoder_frames(const pl_codec_encoder *encoder, int64_t samples)
{
    return samples < 1 ? 0 : (samples - 1) / encoder->samples_per_frame + 1;
}
