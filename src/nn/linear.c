#include "nn/linear.h"

#include <string.h>

/* ------------------------------------------------------------------ loading */

int pl_form_map(pl_form form, const int64_t *shape, int stride, pl_pack_map *map)
{
    int first = (int)shape[0], second = (int)shape[1];
    if (form == PL_FORM_TRANSPOSED) { /* output t * stride + j takes kernel element j of input t and, for the long kernel, element j + stride of
                                         input t - 1, which is tap 0 */
        int kernel = (int)shape[2], taps = kernel / stride;
        *map = (pl_pack_map){.base = (int64_t)(taps - 1) * stride,
                             .stride_j = 1,
                             .stride_o = kernel,
                             .outer = second,
                             .taps = taps,
                             .stride_tap = -stride,
                             .width = first,
                             .stride_c = (int64_t)second * kernel};
        return stride * second;
    }
    int taps = form == PL_FORM_CONV ? (int)shape[2] : 1;
    *map = (pl_pack_map){.outer = first, .stride_o = (int64_t)second * taps, .taps = taps, .stride_tap = 1, .width = second, .stride_c = taps};
    return first;
}

typedef struct packing {
    const pl_matrix *matrix;
    uint8_t *data;
    const pl_tensor *tensor;
    const pl_pack_map *map;
} packing;

enum { PANELS_PER_TASK = 8 };

static void pack_some(void *context, int task, int worker)
{
    (void)worker;
    const packing *p = context;
    int first = task * PANELS_PER_TASK, last = first + PANELS_PER_TASK, panels = pl_panels(p->matrix);
    pl_pack(p->matrix, p->data, p->tensor->type, p->tensor->data, p->map, first, last < panels ? last : panels);
}

static void pack_panels(pl_loader *loader, const pl_tensor *tensor, const pl_pack_map *map, const pl_matrix *matrix, uint8_t *data)
{
    packing p = {matrix, data, tensor, map};
    pl_pool_run(loader->pool, pack_some, &p, (pl_panels(matrix) + PANELS_PER_TASK - 1) / PANELS_PER_TASK);
}

static parley_status pack(pl_loader *loader, const pl_tensor *tensor, const pl_pack_map *map, pl_matrix *matrix, parley_error *error)
{
    matrix->panel_bytes = pl_panel_bytes(matrix->type, matrix->cols);
    size_t panels = (size_t)pl_panels(matrix);
    uint8_t *data = pl_arena_alloc_raw(loader->arena, panels, matrix->panel_bytes);
    if (!data)
        return pl_fail_memory(error, "packed weights");
    pack_panels(loader, tensor, map, matrix, data);
    matrix->data = data;
    loader->packed_bytes += panels * matrix->panel_bytes;
    if (loader->done)
        loader->done(loader->context, tensor);
    return PARLEY_OK;
}

/* Blocks run along rows of the file; in any other order their values are first written out as float32. */
static parley_status unblock(const pl_loader *loader, const pl_tensor *tensor, pl_tensor *plain, parley_error *error)
{
    size_t count = (size_t)pl_tensor_values(tensor);
    float *values = pl_alloc(&loader->arena->allocator, count, sizeof *values);
    if (!values)
        return pl_fail_memory(error, "weights of a convolution");
    pl_dequantize(tensor->type, tensor->data, (int64_t)count, values);
    *plain = *tensor;
    plain->type = PL_F32;
    plain->data = values;
    plain->bytes = count * sizeof *values;
    return PARLEY_OK;
}

static void release_unblocked(const pl_loader *loader, const pl_tensor *plain)
{
    pl_release(&loader->arena->allocator, (void *)(uintptr_t)plain->data, plain->bytes / sizeof(float), sizeof(float));
}

/* Where the errors of many values average out: narrower layers are a small part of the work in any case. */
enum { LEAST_ROUNDED = 96 };

static bool is_rounded(const pl_loader *loader, const pl_pack_map *map, int rows)
{
    return loader->int8 && rows >= LEAST_ROUNDED && map->width >= LEAST_ROUNDED && map->width % pl_type_info(PL_Q8_0)->values == 0;
}

static parley_status pack_unblocked(pl_loader *loader, const pl_tensor *tensor, const pl_pack_map *map, pl_matrix *matrix, parley_error *error)
{
    pl_tensor plain;
    PL_TRY(unblock(loader, tensor, &plain, error));
    matrix->type = is_rounded(loader, map, matrix->rows) ? PL_Q8_0 : PL_F32;
    pl_loader quiet = *loader;
    quiet.done = NULL;
    parley_status status = pack(&quiet, &plain, map, matrix, error);
    loader->packed_bytes = quiet.packed_bytes;
    release_unblocked(loader, &plain);
    return status;
}

static bool is_plain(pl_type type)
{
    return pl_type_info(type)->values == 1;
}

enum { ALIGNMENT = 64 }; /* of panels, for the kernels' loads */

/* Panels of another type, rounded as the tensor's elements would be. */
static parley_status round_panels(pl_loader *loader, const pl_tensor *tensor, pl_matrix *matrix, parley_error *error)
{
    const pl_matrix stored = *matrix;
    size_t count = (size_t)stored.rows * (size_t)stored.cols;
    float *values = pl_alloc(&loader->arena->allocator, count, sizeof *values);
    if (!values)
        return pl_fail_memory(error, "weights of a convolution");
    for (int r = 0; r < stored.rows; r++)
        pl_matrix_row(&stored, r, values + (size_t)r * (size_t)stored.cols);
    pl_tensor plain = {.type = PL_F32, .data = values, .bytes = count * sizeof *values};
    pl_pack_map lines = {.outer = stored.rows, .stride_o = stored.cols, .taps = 1, .width = stored.cols, .stride_c = 1};
    pl_loader quiet = *loader;
    quiet.done = NULL;
    matrix->type = PL_Q8_0;
    parley_status status = pack(&quiet, &plain, &lines, matrix, error);
    loader->packed_bytes = quiet.packed_bytes;
    release_unblocked(loader, &plain);
    if (status == PARLEY_OK && loader->done)
        loader->done(loader->context, tensor);
    return status;
}

/* Panels are used where they lie, unless they are to be rounded. In memory of the caller they may lie anywhere, and a file may be aligned to less. */
static parley_status take_packed(pl_loader *loader, const pl_tensor *tensor, bool rounded, pl_matrix *matrix, parley_error *error)
{
    matrix->panel_bytes = pl_panel_bytes(matrix->type, matrix->cols);
    matrix->data = tensor->data;
    if (rounded && matrix->type != PL_Q8_0)
        return round_panels(loader, tensor, matrix, error);
    if ((uintptr_t)tensor->data % ALIGNMENT == 0)
        return PARLEY_OK;
    uint8_t *copy = pl_arena_alloc_raw(loader->arena, tensor->bytes, 1);
    if (!copy)
        return pl_fail_memory(error, "packed weights");
    memcpy(copy, tensor->data, tensor->bytes);
    matrix->data = copy;
    loader->packed_bytes += tensor->bytes;
    return PARLEY_OK;
}

/* Blocks of a file run along its rows, which are the matrix's where a convolution has one tap. */
static parley_status load_matrix(pl_loader *loader, const pl_tensor *tensor, const pl_pack_map *map, int rows, bool by_rows, pl_matrix *matrix,
                                 parley_error *error)
{
    *matrix = (pl_matrix){.type = tensor->type, .rows = rows, .cols = map->taps * map->width};
    bool rounded = is_rounded(loader, map, rows), plain = is_plain(tensor->type);
    if (tensor->packed)
        return take_packed(loader, tensor, rounded, matrix, error);
    if (rounded && plain)
        matrix->type = PL_Q8_0;
    if (!plain && (!by_rows || (rounded && tensor->type != PL_Q8_0)))
        return pack_unblocked(loader, tensor, map, matrix, error);
    if (pl_type_is_packed(matrix->type))
        return pack(loader, tensor, map, matrix, error);
    matrix->panel_bytes = pl_panel_bytes(matrix->type, matrix->cols);
    matrix->data = tensor->data;
    return PARLEY_OK;
}

parley_status pl_load_floats(pl_loader *loader, const pl_tensor *tensor, const float **values, parley_error *error)
{
    int64_t count = pl_tensor_values(tensor);
    float *copy = pl_arena_alloc_raw(loader->arena, (size_t)count, sizeof *copy);
    if (!copy)
        return pl_fail_memory(error, "weights");
    pl_dequantize(tensor->type, tensor->data, count, copy);
    *values = copy;
    return PARLEY_OK;
}

static parley_status load_bias(pl_loader *loader, const pl_tensor *bias, const float **values, parley_error *error)
{
    *values = NULL;
    return bias ? pl_load_floats(loader, bias, values, error) : PARLEY_OK;
}

parley_status pl_load_linear(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, pl_linear *linear, parley_error *error)
{
    pl_pack_map map;
    int rows = pl_form_map(PL_FORM_LINEAR, weight->shape, 1, &map);
    PL_TRY(load_matrix(loader, weight, &map, rows, true, &linear->w, error));
    return load_bias(loader, bias, &linear->bias, error);
}

parley_status pl_load_conv(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, int dilation, pl_conv *conv, parley_error *error)
{
    int out = (int)weight->shape[0], in = (int)weight->shape[1], taps = (int)weight->shape[2];
    *conv = (pl_conv){.in = in, .out = out, .taps = taps, .dilation = dilation, .stride = 1};
    pl_pack_map map;
    int rows = pl_form_map(PL_FORM_CONV, weight->shape, 1, &map);
    PL_TRY(load_matrix(loader, weight, &map, rows, taps == 1, &conv->linear.w, error));
    return load_bias(loader, bias, &conv->linear.bias, error);
}

enum { KERNEL = 3 }; /* of convolutions over images, both ways */

/* pl_pack writes where it is told to in each panel, so the kernel's rows are packed one by one, each behind the one before. */
static parley_status pack_kernel_rows(pl_loader *loader, const pl_tensor *weight, const int *rows, int count, pl_matrix *matrix, parley_error *error)
{
    int out = (int)weight->shape[0], in = (int)weight->shape[1];
    *matrix = (pl_matrix){.type = weight->type, .rows = out, .cols = count * KERNEL * in};
    matrix->panel_bytes = pl_panel_bytes(matrix->type, matrix->cols);
    size_t panels = (size_t)pl_panels(matrix), row_bytes = pl_panel_bytes(matrix->type, KERNEL * in);
    uint8_t *data = pl_arena_alloc_raw(loader->arena, panels, matrix->panel_bytes);
    if (!data)
        return pl_fail_memory(error, "packed weights");
    for (int i = 0; i < count; i++) {
        pl_pack_map map = {.base = rows[i],
                           .outer = out,
                           .stride_o = (int64_t)in * KERNEL * KERNEL,
                           .taps = KERNEL,
                           .stride_tap = KERNEL,
                           .width = in,
                           .stride_c = KERNEL * KERNEL};
        pack_panels(loader, weight, &map, matrix, data + (size_t)i * row_bytes);
    }
    matrix->data = data;
    loader->packed_bytes += panels * matrix->panel_bytes;
    return PARLEY_OK;
}

parley_status pl_load_conv2d(pl_loader *loader, const pl_tensor *weight, const int *rows, int count, pl_matrix *matrix, parley_error *error)
{
    if (is_plain(weight->type))
        return pack_kernel_rows(loader, weight, rows, count, matrix, error);
    pl_tensor plain;
    PL_TRY(unblock(loader, weight, &plain, error));
    parley_status status = pack_kernel_rows(loader, &plain, rows, count, matrix, error);
    release_unblocked(loader, &plain);
    return status;
}

parley_status pl_load_transposed_conv(pl_loader *loader, const pl_tensor *weight, const pl_tensor *bias, int stride, pl_conv *conv,
                                      parley_error *error)
{
    int in = (int)weight->shape[0], out = (int)weight->shape[1];
    pl_pack_map map;
    int rows = pl_form_map(PL_FORM_TRANSPOSED, weight->shape, stride, &map);
    *conv = (pl_conv){.in = in, .out = out, .taps = map.taps, .dilation = 1, .stride = stride};
    PL_TRY(load_matrix(loader, weight, &map, rows, false, &conv->linear.w, error));
    const float *values;
    PL_TRY(load_bias(loader, bias, &values, error));
    if (!values)
        return PARLEY_OK;
    float *repeated = PL_NEW_ARRAY(loader->arena, float, stride *out);
    if (!repeated)
        return pl_fail_memory(error, "a bias");
    for (int j = 0; j < stride; j++)
        memcpy(repeated + (size_t)j * (size_t)out, values, (size_t)out * sizeof *values);
    conv->linear.bias = repeated;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ running */

enum { MAX_JOBS = 8, ROWS_PER_TASK = 16 };

static bool takes_int8(const pl_compute *compute, const pl_linear *layer)
{
    return compute->int8 && pl_type_takes_int8(layer->w.type) && !layer->exact;
}

parley_status pl_linear_prepare(pl_compute *compute, const pl_linear_job *jobs, int count, const float *x, int64_t x_stride, int columns,
                                pl_linear_input *input, parley_error *error)
{
    *input = (pl_linear_input){.x = x, .x_stride = x_stride, .width = jobs[0].layer->w.cols, .columns = columns};
    for (int i = 0; i < count; i++)
        input->int8 = input->int8 || takes_int8(compute, jobs[i].layer) || (jobs[i].gate && takes_int8(compute, jobs[i].gate));
    if (!input->int8)
        return PARLEY_OK;
    size_t blocks = (size_t)columns * (size_t)(input->width / 32);
    input->q8 = (pl_q8_rows){
        .q = pl_arena_alloc_raw(&compute->step, blocks, 32),
        .scale = pl_arena_alloc_raw(&compute->step, blocks, sizeof(float)),
        .sum = pl_arena_alloc_raw(&compute->step, blocks, sizeof(int32_t)),
        .half = pl_arena_alloc_raw(&compute->step, blocks, sizeof(int32_t)),
    };
    if (!input->q8.q || !input->q8.scale || !input->q8.sum || !input->q8.half)
        return pl_fail_memory(error, "work space of a linear layer");
    return PARLEY_OK;
}

void pl_linear_row_done(const pl_compute *compute, const pl_linear_input *input, int row)
{
    if (input->int8)
        compute->k->quantize_rows(input->x, input->x_stride, input->width, row, row + 1, &input->q8);
}

const pl_q8_rows *pl_linear_input_q8(const pl_linear_input *input)
{
    return input->int8 ? &input->q8 : NULL;
}

static pl_gemm product_of(const pl_compute *compute, const pl_linear *layer, const pl_linear_input *input)
{
    return (pl_gemm){.w = &layer->w,
                     .taps = 1,
                     .width = layer->w.cols,
                     .columns = input->columns,
                     .x = input->x,
                     .x_stride = input->x_stride,
                     .q8 = takes_int8(compute, layer) ? &input->q8 : NULL,
                     .bias = layer->bias};
}

void pl_linear_run_prepared(pl_compute *compute, const pl_linear_job *jobs, int count, const pl_linear_input *input)
{
    pl_gemm products[MAX_JOBS], gates[MAX_JOBS];
    for (int i = 0; i < count; i++) {
        pl_gemm *product = &products[i];
        *product = product_of(compute, jobs[i].layer, input);
        product->y = jobs[i].y;
        product->y_stride = jobs[i].y_stride;
        product->y_q8 = jobs[i].y_q8;
        product->accumulate = jobs[i].accumulate;
        if (!jobs[i].gate)
            continue;
        gates[i] = product_of(compute, jobs[i].gate, input);
        product->gate = &gates[i];
    }
    pl_gemm_run(compute, products, count);
}

typedef struct quantizing {
    const pl_compute *compute;
    const pl_linear_input *input;
} quantizing;

static void quantize_some(void *context, int task, int worker)
{
    (void)worker;
    const quantizing *q = context;
    for (int row = task * ROWS_PER_TASK; row < (task + 1) * ROWS_PER_TASK && row < q->input->columns; row++)
        pl_linear_row_done(q->compute, q->input, row);
}

parley_status pl_linear_run(pl_compute *compute, const pl_linear_job *jobs, int count, const float *x, int64_t x_stride, int columns,
                            parley_error *error)
{
    pl_arena_mark mark = pl_arena_save(&compute->step);
    pl_linear_input input;
    PL_TRY(pl_linear_prepare(compute, jobs, count, x, x_stride, columns, &input, error));
    quantizing q = {compute, &input};
    if (input.int8)
        pl_pool_run(compute->pool, quantize_some, &q, (columns + ROWS_PER_TASK - 1) / ROWS_PER_TASK);
    pl_linear_run_prepared(compute, jobs, count, &input);
    pl_arena_restore(&compute->step, mark);
    return PARLEY_OK;
}

pl_gemm pl_conv_product(const pl_conv *conv, const float *x, int rows, float *y, bool accumulate)
{
    return (pl_gemm){.w = &conv->linear.w,
                     .taps = conv->taps,
                     .width = conv->in,
                     .columns = rows,
                     .x = x,
                     .x_stride = conv->in,
                     .tap_stride = (int64_t)conv->dilation * conv->in,
                     .tap_rows = conv->dilation,
                     .y = y,
                     .y_stride = (int64_t)conv->stride * conv->out,
                     .bias = conv->linear.bias,
                     .accumulate = accumulate};
}
