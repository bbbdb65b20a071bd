/* Which type each tensor gets (docs/GGUF.md, "What stays high"). */
#include "models/quantize.h"

#include <string.h>

static const char *const part_options[PL_QUANTIZED_PARTS] = {"talker", "predictor", "codec", "encoder", "kept"};

void pl_quantization_init(pl_quantization *q, const pl_environment *env, const parley_quantize_options *options, const char *family,
                          const char *where)
{
    *q = (pl_quantization){.env = env, .options = options, .where = where};
    pl_arena_init(&q->arena, &env->allocator, 1 << 16);
    pl_gguf_head_init(&q->head, &env->allocator);
    pl_gguf_put_text(&q->head, "general.architecture", PL_PARLEY_ARCHITECTURE);
    pl_gguf_put_text(&q->head, PL_PARLEY_FAMILY, family);
    pl_gguf_put_int(&q->head, PL_PARLEY_VERSION, PL_PARLEY_FORMAT);
    pl_gguf_put_int(&q->head, PL_PARLEY_LAYOUT, PL_PACK_VERSION);
}

void pl_quantization_free(pl_quantization *q)
{
    pl_release(&q->env->allocator, q->tensors, q->capacity, sizeof *q->tensors);
    pl_gguf_head_free(&q->head);
    pl_arena_free(&q->arena);
}

static bool grow(pl_quantization *q)
{
    size_t capacity = q->capacity ? 2 * q->capacity : 256;
    pl_quantized_tensor *tensors = pl_alloc(&q->env->allocator, capacity, sizeof *tensors);
    if (!tensors)
        return false;
    if (q->count)
        memcpy(tensors, q->tensors, q->count * sizeof *tensors);
    pl_release(&q->env->allocator, q->tensors, q->capacity, sizeof *tensors);
    q->tensors = tensors;
    q->capacity = capacity;
    return true;
}

void pl_quantization_add(pl_quantization *q, const char *name, const pl_tensor *tensor, const pl_tensor *divisor, pl_use use, pl_quantized_part part,
                         pl_quantized_role role)
{
    if (q->count == q->capacity && !grow(q))
        q->failed = true;
    if (q->failed)
        return;
    pl_quantized_tensor *t = &q->tensors[q->count++];
    *t = (pl_quantized_tensor){.tensor = tensor, .divisor = divisor, .use = use, .part = part, .role = role};
    strncpy(t->name, name, sizeof t->name - 1);
}

/* ------------------------------------------------------------------ types */

static const pl_type types[] = {
    [PARLEY_WEIGHT_F32] = PL_F32,   [PARLEY_WEIGHT_F16] = PL_F16,   [PARLEY_WEIGHT_BF16] = PL_BF16, [PARLEY_WEIGHT_Q8_0] = PL_Q8_0,
    [PARLEY_WEIGHT_Q6_K] = PL_Q6_K, [PARLEY_WEIGHT_Q4_K] = PL_Q4_K, [PARLEY_WEIGHT_Q4_0] = PL_Q4_0,
};

static parley_weight asked_for(const parley_quantize_options *o, pl_quantized_part part)
{
    const parley_weight weights[PL_QUANTIZED_PARTS] = {o->talker, o->predictor, o->codec, o->encoder, PARLEY_WEIGHT_KEEP};
    return weights[part];
}

static bool in_blocks(pl_type type)
{
    return pl_type_info(type)->values > 1;
}

static bool below_8_bits(pl_type type)
{
    return in_blocks(type) && type != PL_Q8_0;
}

static bool fits(const pl_quantized_tensor *t, pl_type type)
{
    int64_t width = t->use.form == PL_FORM_ROWS ? t->cols : t->map.width;
    return width % pl_type_info(type)->values == 0;
}

/* Of these only packed matrices keep blocks: the shape's last axis is the kernel's. */
static bool is_kernel(const pl_quantized_tensor *t)
{
    return t->use.form == PL_FORM_CONV || t->use.form == PL_FORM_TRANSPOSED;
}

/* The type that the rules make of the one that was asked for; `*raised` when it is another. */
static pl_type by_rule(const pl_quantized_tensor *t, pl_type type, bool *raised)
{
    pl_type rule = type;
    if (t->role == PL_ROLE_VALUES)
        rule = PL_F32;
    else if (t->role == PL_ROLE_TABLE && (type == PL_Q4_K || type == PL_Q4_0))
        rule = PL_Q6_K;
    else if ((t->role == PL_ROLE_HEAD || is_kernel(t)) && below_8_bits(type))
        rule = PL_Q8_0;
    if (t->role == PL_ROLE_TABLE && rule == PL_Q6_K && !fits(t, rule))
        rule = PL_Q8_0;
    if (is_kernel(t) && in_blocks(rule) && !fits(t, rule))
        rule = PL_F16;
    *raised = rule != type;
    return rule;
}

static parley_status misfit(const pl_quantization *q, const pl_quantized_tensor *t, pl_type type, parley_error *error)
{
    const pl_type_facts *facts = pl_type_info(type);
    return pl_fail(error, PARLEY_ARGUMENT, "%s: '%s' has rows of %lld values, %s takes multiples of %d; %s", q->where, t->name, (long long)t->cols,
                   facts->name, facts->values, facts->values > 32 && t->cols % 32 == 0 ? "q8_0 and q4_0 take multiples of 32" : "take f16 or bf16");
}

static parley_status quantised_already(const pl_quantization *q, const pl_quantized_tensor *t, pl_type type, parley_error *error)
{
    const char *from = pl_type_info(t->tensor->type)->name, *to = pl_type_info(type)->name;
    return pl_fail(error, PARLEY_ARGUMENT, "%s: '%s' is quantised already, to %s: as %s it would %s; quantize the original model, or give --force",
                   q->where, t->name, from, to, pl_type_info(type)->values > 1 ? "be rounded twice" : "take more room and gain nothing");
}

/* Sources keep their type where nothing else is asked for. */
static parley_status choose_type(const pl_quantization *q, pl_quantized_tensor *t, parley_error *error)
{
    parley_weight weight = asked_for(q->options, t->part);
    bool raised = false;
    t->type = t->role == PL_ROLE_VALUES ? PL_F32 : t->tensor->type;
    if (weight == PARLEY_WEIGHT_KEEP || t->role == PL_ROLE_VALUES || t->role == PL_ROLE_KEPT)
        return PARLEY_OK;
    if (t->role == PL_ROLE_KERNEL) {
        if (!in_blocks(types[weight]) && !in_blocks(t->type))
            t->type = types[weight];
        return PARLEY_OK;
    }
    pl_type type = by_rule(t, types[weight], &raised);
    if (in_blocks(t->type) && type != t->type && !q->options->force)
        return raised ? PARLEY_OK : quantised_already(q, t, type, error); /* where a rule asks for more than the source has, it stays as it is */
    if (!fits(t, type))
        return misfit(q, t, type, error);
    t->type = type;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ shapes */

enum { LINE = 4096 };

/* Rows of the target. Values without blocks may be cut into longer rows than the shape has, so that a task has something to do. */
static void set_matrix(pl_quantized_tensor *t)
{
    const pl_tensor *s = t->tensor;
    t->cols = s->shape[s->rank - 1];
    t->rows = pl_tensor_values(s) / t->cols;
    t->map = (pl_pack_map){.taps = 1, .width = (int)t->cols};
    if (t->use.form == PL_FORM_ROWS)
        return;
    int64_t full[PL_MAX_RANK] = {1, 1, 1, 1};
    memcpy(full, s->shape, (size_t)s->rank * sizeof *full);
    t->rows = pl_form_map(t->use.form, full, t->use.stride, &t->map);
    t->cols = (int64_t)t->map.taps * t->map.width;
}

static void lengthen_rows(pl_quantized_tensor *t)
{
    if (t->use.form != PL_FORM_ROWS || t->divisor || in_blocks(t->type) || in_blocks(t->tensor->type))
        return;
    while (t->rows % 2 == 0 && t->cols < LINE) {
        t->rows /= 2;
        t->cols *= 2;
    }
}

static uint64_t bytes_of(const pl_quantized_tensor *t)
{
    if (!t->packed)
        return (uint64_t)t->rows * pl_row_bytes(t->type, t->cols);
    pl_matrix matrix = {.type = t->type, .rows = (int)t->rows, .cols = (int)t->cols};
    return (uint64_t)pl_panels(&matrix) * pl_panel_bytes(t->type, matrix.cols);
}

static parley_status check_floor(const pl_quantization *q, pl_quantized_part part, parley_error *error)
{
    parley_weight weight = asked_for(q->options, part);
    if (q->options->force || weight == PARLEY_WEIGHT_KEEP || !below_8_bits(types[weight]))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_ARGUMENT, "--%s %s: this part is not taken below 8 bits (q8_0) without --force", part_options[part],
                   pl_type_info(types[weight])->name);
}

parley_status pl_quantization_plan(pl_quantization *q, parley_error *error)
{
    PL_TRY(check_floor(q, PL_PART_PREDICTOR, error));
    PL_TRY(check_floor(q, PL_PART_ENCODER, error));
    for (size_t i = 0; i < q->count; i++) {
        pl_quantized_tensor *t = &q->tensors[i];
        set_matrix(t);
        PL_TRY(choose_type(q, t, error));
        t->packed = t->use.form != PL_FORM_ROWS && pl_type_is_packed(t->type);
        lengthen_rows(t);
        t->bytes = bytes_of(t);
    }
    return PARLEY_OK;
}
