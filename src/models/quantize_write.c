/* Writes the planned file: tensor by tensor, a few panels at a time, so that no tensor has to be in memory twice. */
#include "models/quantize.h"
#include "text/image.h"

#include <math.h>
#include <string.h>

static const char *const part_names[PL_QUANTIZED_PARTS] = {"talker", "predictor", "codec", "encoder", "kept"};

enum { GROUP = PL_PANEL, CHUNK_BYTES = 4 << 20 };

/* Sums of one group of rows, so that their total does not depend on threads. */
typedef struct group_sums {
    double squares, difference;
    int64_t bad; /* value that is not finite, in the group; -1: none */
    bool source; /* it is so in the source */
} group_sums;

/* One tensor on its way. */
typedef struct conversion {
    const pl_quantized_tensor *t;
    const pl_tensor *plain; /* the source as rows of the file; float32 of a kernel whose elements are gathered */
    pl_matrix source, target;
    const float *divisor;
    int64_t first_group;
    uint8_t *out;      /* of the chunk */
    size_t group_size; /* bytes of a whole group in `out` */
    float *values;     /* [workers][2][GROUP * cols]: before, after */
    uint8_t *rows;     /* [workers][GROUP rows of the target] */
    size_t row_bytes;
    group_sums *sums; /* of the chunk's groups */
} conversion;

/* ------------------------------------------------------------------ one group of rows */

static int rows_of_group(const conversion *c, int64_t group)
{
    int64_t left = c->t->rows - group * GROUP;
    return left < GROUP ? (int)left : GROUP;
}

/* Whether the rows of the matrix are those of the file, one behind the other. */
static bool by_rows(const pl_quantized_tensor *t)
{
    return t->use.form == PL_FORM_ROWS || (t->map.taps == 1 && t->map.stride_c == 1);
}

static const uint8_t *row_bytes_at(const pl_tensor *tensor, int64_t row, int64_t cols)
{
    return (const uint8_t *)tensor->data + (uint64_t)row * pl_row_bytes(tensor->type, cols);
}

static void gather_row(const conversion *c, int64_t row, float *out)
{
    const pl_pack_map *m = &c->t->map;
    const float *from = c->plain->data;
    int64_t start = m->base + row / m->outer * m->stride_j + row % m->outer * m->stride_o;
    for (int tap = 0; tap < m->taps; tap++)
        for (int k = 0; k < m->width; k++)
            *out++ = from[start + tap * m->stride_tap + k * m->stride_c];
}

static void read_row(const conversion *c, int64_t row, float *out)
{
    const pl_quantized_tensor *t = c->t;
    if (t->tensor->packed)
        pl_matrix_row(&c->source, (int)row, out);
    else if (by_rows(t))
        pl_dequantize(t->tensor->type, row_bytes_at(t->tensor, row, t->cols), t->cols, out);
    else
        gather_row(c, row, out);
    if (!c->divisor)
        return;
    for (int64_t i = 0; i < t->cols; i++)
        out[i] /= c->divisor[row];
}

/* A type that stays keeps its blocks, whatever made them. */
static bool rows_stay(const conversion *c)
{
    const pl_quantized_tensor *t = c->t;
    return t->type == t->tensor->type && !t->tensor->packed && by_rows(t) && !c->divisor;
}

static bool panels_stay(const pl_quantized_tensor *t)
{
    return t->packed && t->tensor->packed && t->type == t->tensor->type;
}

static void write_rows(const conversion *c, int64_t group, int n, const float *values, uint8_t *rows)
{
    const pl_quantized_tensor *t = c->t;
    if (rows_stay(c))
        memcpy(rows, row_bytes_at(t->tensor, group * GROUP, t->cols), (size_t)n * c->row_bytes);
    else
        pl_encode(t->type, values, n * t->cols, rows);
}

static void add_sums(group_sums *s, const float *before, const float *after, int64_t count)
{
    *s = (group_sums){.bad = -1};
    for (int64_t i = 0; i < count; i++) {
        double value = (double)before[i], difference = (double)after[i] - value;
        s->squares += value * value;
        s->difference += difference * difference;
        if (s->bad < 0 && !isfinite(difference)) {
            s->bad = i;
            s->source = !isfinite(before[i]);
        }
    }
}

/* A last group that is not full: its panel is packed as the first of a matrix of fewer rows. */
static void place(const conversion *c, int n, const uint8_t *rows, uint8_t *out)
{
    if (!c->t->packed) {
        memcpy(out, rows, (size_t)n * c->row_bytes);
        return;
    }
    pl_matrix panel = c->target;
    panel.rows = n;
    pl_pack_map map = {.outer = n, .stride_o = panel.cols, .taps = 1, .width = panel.cols, .stride_c = 1};
    pl_pack(&panel, out, panel.type, rows, &map, 0, 1);
}

static void convert_group(void *context, int task, int worker)
{
    const conversion *c = context;
    const pl_quantized_tensor *t = c->t;
    int64_t group = c->first_group + task, cols = t->cols;
    int n = rows_of_group(c, group);
    float *before = c->values + (int64_t)worker * 2 * GROUP * cols, *after = before + GROUP * cols;
    uint8_t *rows = c->rows + (size_t)worker * GROUP * c->row_bytes, *out = c->out + (size_t)task * c->group_size;
    for (int r = 0; r < n; r++)
        read_row(c, group * GROUP + r, before + r * cols);
    if (panels_stay(t)) {
        memcpy(out, c->source.data + (size_t)group * c->source.panel_bytes, c->group_size);
        memcpy(after, before, (size_t)(n * cols) * sizeof *after);
    } else {
        write_rows(c, group, n, before, rows);
        pl_dequantize(t->type, rows, n * cols, after);
        place(c, n, rows, out);
    }
    add_sums(&c->sums[task], before, after, n * cols);
}

/* ------------------------------------------------------------------ one tensor */

static parley_status put(const pl_sink *sink, const void *bytes, uint64_t size, parley_error *error)
{
    return size ? sink->write(sink->context, bytes, (size_t)size, error) : PARLEY_OK;
}

static parley_status pad(const pl_sink *sink, uint64_t size, parley_error *error)
{
    static const uint8_t zeros[PL_GGUF_ALIGNMENT] = {0};
    return put(sink, zeros, (PL_GGUF_ALIGNMENT - size % PL_GGUF_ALIGNMENT) % PL_GGUF_ALIGNMENT, error);
}

static parley_status not_finite(const pl_quantization *q, const conversion *c, int64_t group, const group_sums *s, parley_error *error)
{
    return pl_fail(error, PARLEY_VALUE, "%s: '%s': value %lld is not finite%s%s", q->where, c->t->name,
                   (long long)(group * GROUP * c->t->cols + s->bad), s->source ? "" : " as ", s->source ? "" : pl_type_info(c->t->type)->name);
}

static uint64_t chunk_bytes(const conversion *c, int64_t first, int64_t count)
{
    uint64_t at = (uint64_t)first * c->group_size, size = (uint64_t)count * c->group_size;
    return size < c->t->bytes - at ? size : c->t->bytes - at;
}

static parley_status convert_chunk(const pl_quantization *q, conversion *c, int64_t first, int64_t count, const pl_sink *sink, group_sums *total,
                                   parley_error *error)
{
    c->first_group = first;
    pl_pool_run(q->env->pool, convert_group, c, (int)count);
    for (int64_t i = 0; i < count; i++) {
        if (c->sums[i].bad >= 0)
            return not_finite(q, c, first + i, &c->sums[i], error);
        total->squares += c->sums[i].squares;
        total->difference += c->sums[i].difference;
    }
    return put(sink, c->out, chunk_bytes(c, first, count), error);
}

static void report(const pl_sink *sink, const pl_quantized_tensor *t, const group_sums *total)
{
    if (!sink->report)
        return;
    parley_quantized told = {.name = t->name,
                             .part = part_names[t->part],
                             .from = pl_type_info(t->tensor->type)->name,
                             .to = pl_type_info(t->type)->name,
                             .packed = t->packed,
                             .values = (uint64_t)pl_tensor_values(t->tensor),
                             .bytes = t->bytes,
                             .relative_error = total->squares > 0.0 ? sqrt(total->difference / total->squares) : 0.0,
                             .squares = total->squares,
                             .difference = total->difference};
    sink->report(sink->report_context, &told);
}

static parley_status convert(const pl_quantization *q, conversion *c, int64_t at_once, const pl_sink *sink, parley_error *error)
{
    group_sums total = {0};
    int64_t groups = (c->t->rows + GROUP - 1) / GROUP;
    for (int64_t first = 0; first < groups; first += at_once) {
        int64_t count = groups - first < at_once ? groups - first : at_once;
        PL_TRY(convert_chunk(q, c, first, count, sink, &total, error));
    }
    PL_TRY(pad(sink, c->t->bytes, error));
    report(sink, c->t, &total);
    return PARLEY_OK;
}

/* A kernel whose elements lie apart is read whole first. */
static parley_status make_plain(pl_arena *arena, conversion *c, pl_tensor *plain, parley_error *error)
{
    const pl_tensor *s = c->t->tensor;
    if (s->packed || by_rows(c->t))
        return PARLEY_OK;
    float *values = pl_arena_alloc_raw(arena, (size_t)pl_tensor_values(s), sizeof *values);
    if (!values)
        return pl_fail_memory(error, "a convolution");
    pl_dequantize(s->type, s->data, pl_tensor_values(s), values);
    plain->data = values;
    return PARLEY_OK;
}

static parley_status make_divisor(pl_arena *arena, conversion *c, parley_error *error)
{
    const pl_tensor *d = c->t->divisor;
    if (!d)
        return PARLEY_OK;
    float *values = pl_arena_alloc_raw(arena, (size_t)c->t->rows, sizeof *values);
    if (!values)
        return pl_fail_memory(error, "a codebook");
    pl_dequantize(d->type, d->data, c->t->rows, values);
    for (int64_t i = 0; i < c->t->rows; i++)
        values[i] = values[i] > 1e-5f ? values[i] : 1e-5f; /* as the codec's loader has it */
    c->divisor = values;
    return PARLEY_OK;
}

static pl_matrix matrix_of(const pl_quantized_tensor *t, pl_type type, const void *data)
{
    pl_matrix m = {.type = type, .rows = (int)t->rows, .cols = (int)t->cols, .data = data};
    m.panel_bytes = pl_panel_bytes(type, m.cols);
    return m;
}

static parley_status write_tensor(pl_quantization *q, const pl_quantized_tensor *t, const pl_sink *sink, parley_error *error)
{
    pl_arena_mark mark = pl_arena_save(&q->arena);
    pl_tensor plain = *t->tensor;
    size_t workers = q->env->pool ? (size_t)pl_pool_threads(q->env->pool) : 1, cols = (size_t)t->cols;
    conversion c = {.t = t, .plain = &plain, .source = matrix_of(t, t->tensor->type, t->tensor->data), .target = matrix_of(t, t->type, NULL)};
    c.row_bytes = pl_row_bytes(t->type, t->cols);
    c.group_size = t->packed ? c.target.panel_bytes : GROUP * c.row_bytes;
    size_t at_once = CHUNK_BYTES / c.group_size + 1;
    c.out = pl_arena_alloc_raw(&q->arena, at_once, c.group_size);
    c.values = pl_arena_alloc_raw(&q->arena, workers * 2 * GROUP * cols, sizeof *c.values);
    c.rows = pl_arena_alloc_raw(&q->arena, workers * GROUP, c.row_bytes);
    c.sums = pl_arena_alloc_raw(&q->arena, at_once, sizeof *c.sums);
    parley_status status = c.out && c.values && c.rows && c.sums ? PARLEY_OK : pl_fail_memory(error, "the conversion of weights");
    if (status == PARLEY_OK)
        status = make_plain(&q->arena, &c, &plain, error);
    if (status == PARLEY_OK)
        status = make_divisor(&q->arena, &c, error);
    if (status == PARLEY_OK)
        status = convert(q, &c, (int64_t)at_once, sink, error);
    pl_arena_restore(&q->arena, mark);
    return status;
}

/* ------------------------------------------------------------------ the file */

static void describe_packed(pl_quantization *q, size_t count, int32_t *types, int32_t *shapes)
{
    size_t n = 0;
    pl_gguf_put_texts(&q->head, PL_PARLEY_NAMES, count);
    for (size_t i = 0; i < q->count; i++) {
        const pl_quantized_tensor *t = &q->tensors[i];
        if (!t->packed)
            continue;
        pl_gguf_put_item(&q->head, t->name);
        types[n] = (int32_t)pl_gguf_number(t->type);
        for (int k = 0; k < t->tensor->rank; k++)
            shapes[n * PL_MAX_RANK + (size_t)k] = (int32_t)t->tensor->shape[k];
        n++;
    }
    pl_gguf_put_ints(&q->head, PL_PARLEY_TYPES, types, count);
    pl_gguf_put_ints(&q->head, PL_PARLEY_SHAPES, shapes, count * PL_MAX_RANK);
}

static parley_status describe(pl_quantization *q, size_t image, parley_error *error)
{
    size_t packed = 0;
    for (size_t i = 0; i < q->count; i++)
        packed += q->tensors[i].packed;
    int32_t *types = PL_NEW_ARRAY(&q->arena, int32_t, packed), *shapes = PL_NEW_ARRAY(&q->arena, int32_t, packed * PL_MAX_RANK);
    if (!types || !shapes)
        return pl_fail_memory(error, "the head of a file");
    describe_packed(q, packed, types, shapes);
    if (image)
        pl_gguf_put_tensor(&q->head, PL_PARLEY_TOKENIZER, PL_OTHER, (int64_t[]){(int64_t)image}, 1, image);
    for (size_t i = 0; i < q->count; i++) {
        const pl_quantized_tensor *t = &q->tensors[i];
        const int64_t bytes = (int64_t)t->bytes;
        if (t->packed)
            pl_gguf_put_tensor(&q->head, t->name, PL_OTHER, &bytes, 1, t->bytes);
        else
            pl_gguf_put_tensor(&q->head, t->name, t->type, t->tensor->shape, t->tensor->rank, t->bytes);
    }
    return PARLEY_OK;
}

static parley_status write_head(pl_quantization *q, size_t image, const pl_sink *sink, parley_error *error)
{
    uint8_t *bytes;
    size_t size;
    PL_TRY(describe(q, image, error));
    PL_TRY(pl_gguf_head_finish(&q->head, &bytes, &size, error));
    parley_status status = put(sink, bytes, size, error);
    pl_release(&q->env->allocator, bytes, size, 1);
    return status;
}

static parley_status write_tokenizer(pl_quantization *q, const pl_tokenizer *tokenizer, size_t image, const pl_sink *sink, parley_error *error)
{
    if (!image)
        return PARLEY_OK;
    uint8_t *bytes = pl_alloc(&q->env->allocator, image, 1);
    if (!bytes)
        return pl_fail_memory(error, "the tokenizer");
    pl_tokenizer_image(tokenizer, bytes);
    parley_status status = put(sink, bytes, image, error);
    pl_release(&q->env->allocator, bytes, image, 1);
    return status == PARLEY_OK ? pad(sink, image, error) : status;
}

parley_status pl_quantization_write(pl_quantization *q, const pl_tokenizer *tokenizer, const pl_sink *sink, parley_error *error)
{
    size_t image = tokenizer ? pl_tokenizer_image(tokenizer, NULL) : 0;
    PL_TRY(write_head(q, image, sink, error));
    PL_TRY(write_tokenizer(q, tokenizer, image, sink, error));
    for (size_t i = 0; i < q->count; i++)
        PL_TRY(write_tensor(q, &q->tensors[i], sink, error));
    return PARLEY_OK;
}
