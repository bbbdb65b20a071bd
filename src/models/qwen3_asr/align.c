/* Times of the units of a text in a sound (spec/qwen3_asr.md 5): one forward, classes read at the <timestamp> places. */
#include "audio/segment.h"
#include "base/clock.h"
#include "models/qwen3_asr/answer.h"
#include "models/qwen3_asr/prompt.h"
#include "models/qwen3_asr/family.h"
#include "models/qwen3_asr/units.h"
#include "sample/greedy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALIGN_CHUNK = 1 << 16, MOST_SECONDS = 300, MOST_UNITS = 1 << 16 };

/* The result comes first, so that its address is the block's. */
typedef struct owned_alignment {
    parley_alignment alignment;
    pl_arena arena;
} owned_alignment;

typedef struct aligning {
    const asr_model *m;
    const parley_align_options *o;
    owned_alignment *owned;
    pl_compute compute;
    pl_kv kv;
    pl_tap tap;
    const atomic_bool *cancel;
    pl_units units;
    asr_prompt prompt;
    int *slots;           /* [2 * units] */
    int64_t *raw, *times; /* [2 * units] ms */
    double seconds;
} aligning;

void pl_asr_align_options_init(const void *model, parley_align_options *options)
{
    const asr_model *m = model;
    *options = (parley_align_options){.size = sizeof *options,
                                      .language = "",
                                      .kv = PARLEY_KV_F16,
                                      .activations = pl_int8_pays(m->env.kernels->level) ? PARLEY_ACTIVATIONS_INT8 : PARLEY_ACTIVATIONS_F32};
}

/* Declared in parley/asr.h: whoever makes an alignment knows how to free it. */
void parley_alignment_free(parley_alignment *alignment)
{
    if (!alignment)
        return;
    owned_alignment *owned = (owned_alignment *)alignment;
    parley_allocator allocator = owned->arena.allocator;
    pl_arena_free(&owned->arena);
    pl_release(&allocator, owned, 1, sizeof *owned);
}

/* ------------------------------------------------------------------ input */

static parley_status take_units(aligning *a, parley_error *error)
{
    pl_span *items = PL_NEW_ARRAY(&a->owned->arena, pl_span, a->o->n_units);
    if (!items)
        return pl_fail_memory(error, "units");
    for (size_t i = 0; i < a->o->n_units; i++) {
        size_t length = strlen(a->o->units[i]), bad = pl_utf8_check(a->o->units[i], length);
        if (bad < length)
            return pl_fail_at(error, PARLEY_FORMAT, bad, "unit %zu is no valid UTF-8 at byte %zu", i, bad);
        items[i] = (pl_span){pl_arena_text(&a->owned->arena, a->o->units[i], length), length};
        if (!items[i].text)
            return pl_fail_memory(error, "units");
    }
    a->units = (pl_units){items, a->o->n_units};
    return PARLEY_OK;
}

static parley_status find_units(aligning *a, pl_bytes text, parley_error *error)
{
    const char *wanted = a->o->language ? a->o->language : "";
    const pl_language *language;
    pl_unit_rules rules = {0};
    PL_TRY(pl_language_find((pl_span){wanted, strlen(wanted)}, &language, error));
    pl_span name = {language ? language->name : "", language ? strlen(language->name) : 0};
    if (a->o->units)
        PL_TRY(take_units(a, error));
    else
        PL_TRY(pl_units_split(&a->owned->arena, (pl_span){(const char *)text.data, text.size}, name, &rules, &a->units, error));
    if (a->units.count == 0)
        return pl_fail(error, PARLEY_ARGUMENT, "the text holds nothing to align: no letters and no numbers");
    if (a->units.count > MOST_UNITS)
        return pl_fail(error, PARLEY_LIMIT, "the text has %zu units, at most %d", a->units.count, MOST_UNITS);
    return PARLEY_OK;
}

static parley_status check_sound(const aligning *a, const float *pcm, size_t samples, parley_error *error)
{
    if (samples < ASR_MIN_SAMPLES)
        return pl_fail(error, PARLEY_ARGUMENT, "the sound has %zu samples, at least %d are needed", samples, ASR_MIN_SAMPLES);
    double reach = (double)a->m->config.head_rows * a->m->config.timestamp_ms / 1000, most = reach < MOST_SECONDS ? reach : MOST_SECONDS;
    if (a->seconds > most)
        return pl_fail(error, PARLEY_LIMIT, "the sound has %.3f s, the aligner takes %.0f", a->seconds, most);
    for (size_t i = 0; i < samples; i++)
        if (!isfinite(pcm[i]))
            return pl_fail_at(error, PARLEY_VALUE, i, "sample %zu is not finite", i);
    return PARLEY_OK;
}

static parley_status make_prompt(aligning *a, int64_t rows, parley_error *error)
{
    const asr_model *m = a->m;
    pl_tokenize_options tokenizing = {.splitter = m->env.splitter};
    a->prompt.ids.allocator = a->owned->arena.allocator;
    a->slots = PL_NEW_ARRAY(&a->owned->arena, int, 2 * a->units.count);
    a->raw = PL_NEW_ARRAY(&a->owned->arena, int64_t, 2 * a->units.count);
    a->times = PL_NEW_ARRAY(&a->owned->arena, int64_t, 2 * a->units.count);
    if (!a->slots || !a->raw || !a->times)
        return pl_fail_memory(error, "an alignment");
    PL_TRY(pl_asr_align_prompt(&m->config, m->tokenizer, tokenizing, a->units.items, a->units.count, rows, &a->prompt, a->slots, error));
    if (a->prompt.ids.count > (size_t)m->config.context_length)
        return pl_fail(error, PARLEY_LIMIT, "sound and text make %zu positions, the model has %" PRId32, a->prompt.ids.count,
                       m->config.context_length);
    pl_tap_ids(&a->tap, "prompt_ids", a->prompt.ids.ids, (int64_t)a->prompt.ids.count, 0);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ the forward */

static void tap_layer(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const aligning *a = context;
    char name[32];
    if (strcmp(what, "out") != 0)
        return;
    snprintf(name, sizeof name, "text_layer_%d", layer);
    pl_tap_floats(&a->tap, name, data, rows, width);
}

static void fill(aligning *a, const float *rows, float *x)
{
    size_t width = (size_t)a->m->config.text.width;
    for (size_t i = 0; i < a->prompt.ids.count; i++)
        if (i >= a->prompt.audio_at && i < a->prompt.audio_at + (size_t)a->prompt.audio_rows)
            memcpy(x + i * width, rows + (i - a->prompt.audio_at) * width, width * sizeof *x);
        else
            pl_asr_embed(a->compute.k, &a->m->network, a->prompt.ids.ids[i], x + i * width);
}

/* hidden [slots][width]; with a tap all rows are computed and the slots picked. */
static parley_status run_text(aligning *a, float *x, float *hidden, parley_error *error)
{
    const asr_network *n = &a->m->network;
    int length = (int)a->prompt.ids.count, slots = 2 * (int)a->units.count, width = n->text.shape.width;
    pl_tokens tokens = {&a->kv, length};
    pl_forward f = {.x = x, .sequences = &tokens, .n_sequences = 1, .rows = a->slots, .n_rows = slots, .out = hidden, .cancel = a->cancel};
    if (!a->tap.call)
        return pl_transformer_forward(&a->compute, &n->text, &f, error);
    float *every = pl_step_floats(&a->compute, (int64_t)length * width);
    if (!every)
        return pl_fail_memory(error, "a debug tap");
    pl_tap_floats(&a->tap, "text_embed", x, length, width);
    f.rows = NULL;
    f.out = every;
    f.tap = tap_layer;
    f.tap_context = a;
    PL_TRY(pl_transformer_forward(&a->compute, &n->text, &f, error));
    pl_tap_floats(&a->tap, "text_final", every, length, width);
    for (int i = 0; i < slots; i++)
        memcpy(hidden + (int64_t)i * width, every + (int64_t)a->slots[i] * width, (size_t)width * sizeof *hidden);
    return PARLEY_OK;
}

static parley_status classify(aligning *a, const float *hidden, parley_error *error)
{
    const asr_network *n = &a->m->network;
    int slots = 2 * (int)a->units.count, classes = n->head.w.rows;
    float *scores = pl_step_floats(&a->compute, (int64_t)slots * classes);
    if (!scores)
        return pl_fail_memory(error, "the scores of an alignment");
    pl_linear_job head = {&n->head, scores, classes};
    PL_TRY(pl_linear_run(&a->compute, &head, 1, hidden, n->text.shape.width, slots, error));
    pl_tap_floats(&a->tap, "logits", scores, slots, classes);
    for (int i = 0; i < slots; i++) {
        int32_t class;
        PL_TRY(pl_greedy(scores + (int64_t)i * classes, classes, &class, NULL, error));
        a->raw[i] = a->times[i] = (int64_t) class * a->m->config.timestamp_ms;
    }
    return PARLEY_OK;
}

static parley_status run_model(aligning *a, float *pcm, int64_t samples, parley_error *error)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    const asr_model *m = a->m;
    int width = m->config.text.width;
    int64_t n = pl_asr_audio_rows(m, samples);
    double clock = pl_seconds();
    float *rows = pl_step_floats(&a->compute, n * width);
    if (!rows)
        return pl_fail_memory(error, "the rows of a sound");
    pl_level(pcm, samples);
    PL_TRY(pl_asr_encode(&a->compute, m, pcm, samples, a->o->attention == PARLEY_ATTENTION_FULL, a->cancel, &a->tap, rows, error));
    a->owned->alignment.times.encode = pl_seconds() - clock;
    PL_TRY(make_prompt(a, n, error));
    float *x = pl_step_floats(&a->compute, (int64_t)a->prompt.ids.count * width);
    float *hidden = pl_step_floats(&a->compute, 2 * (int64_t)a->units.count * width);
    if (!x || !hidden)
        return pl_fail_memory(error, "the aligner's input");
    fill(a, rows, x);
    pl_transformer_kv(&m->network.text, &m->env.allocator, types[a->o->kv], m->config.context_length, &a->kv);
    PL_TRY(run_text(a, x, hidden, error));
    PL_TRY(classify(a, hidden, error));
    a->owned->alignment.times.prefill = pl_seconds() - clock - a->owned->alignment.times.encode;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ output */

static parley_status make_words(aligning *a, parley_error *error)
{
    parley_alignment *out = &a->owned->alignment;
    pl_alignment judged = {.units = &a->units, .raw = a->raw, .repaired = a->times, .seconds = a->seconds};
    parley_asr_word *words = PL_NEW_ARRAY(&a->owned->arena, parley_asr_word, a->units.count);
    PL_TRY(pl_times_repair(&a->owned->arena, a->times, 2 * a->units.count, error));
    if (!words)
        return pl_fail_memory(error, "an alignment");
    for (size_t i = 0; i < a->units.count; i++) {
        words[i].text = pl_arena_text(&a->owned->arena, a->units.items[i].text, a->units.items[i].length);
        words[i].start = (double)a->times[2 * i] / 1000;
        words[i].end = (double)a->times[2 * i + 1] / 1000;
        if (!words[i].text)
            return pl_fail_memory(error, "an alignment");
    }
    out->words = words;
    out->n_words = a->units.count;
    out->reliable = pl_alignment_doubts(&judged) == 0;
    return PARLEY_OK;
}

static parley_status align(aligning *a, const float *pcm, size_t samples, pl_bytes text, parley_error *error)
{
    const pl_environment *env = &a->m->env;
    double began = pl_seconds();
    PL_TRY(check_sound(a, pcm, samples, error));
    PL_TRY(find_units(a, text, error));
    PL_TRY(pl_compute_open(&env->allocator, env->kernels, env->pool, a->o->activations == PARLEY_ACTIVATIONS_INT8, &a->compute, error));
    float *copy = pl_step_floats(&a->compute, (int64_t)samples);
    if (!copy)
        return pl_fail_memory(error, "a sound");
    memcpy(copy, pcm, samples * sizeof *copy);
    PL_TRY(run_model(a, copy, (int64_t)samples, error));
    PL_TRY(make_words(a, error));
    a->owned->alignment.times.total = pl_seconds() - began;
    return PARLEY_OK;
}

parley_status pl_asr_align(const void *model, const float *pcm, size_t samples, pl_bytes text, const parley_align_options *options,
                           const atomic_bool *cancel, parley_alignment **alignment, parley_error *error)
{
    const asr_model *m = model;
    if (!m->config.aligner || m->parts == PARLEY_PARTS_TEXT)
        return pl_fail(error, PARLEY_FAMILY, "this model is no aligner");
    owned_alignment *owned = pl_alloc(&m->env.allocator, 1, sizeof *owned);
    if (!owned)
        return pl_fail_memory(error, "an alignment");
    *owned = (owned_alignment){0};
    pl_arena_init(&owned->arena, &m->env.allocator, ALIGN_CHUNK);
    aligning a = {.m = m,
                  .o = options,
                  .owned = owned,
                  .cancel = cancel,
                  .tap = {options->tap, options->tap_context},
                  .seconds = (double)samples / PARLEY_ASR_RATE};
    parley_status status = align(&a, pcm, samples, text, error);
    pl_compute_close(&a.compute);
    if (a.kv.allocator.alloc)
        pl_kv_free(&a.kv);
    if (a.prompt.ids.allocator.alloc)
        pl_ids_free(&a.prompt.ids);
    if (status != PARLEY_OK) {
        parley_alignment_free(&owned->alignment);
        return status;
    }
    *alignment = &owned->alignment;
    return PARLEY_OK;
}
