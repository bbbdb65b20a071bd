/* Times of the units of a text in a sound (spec/qwen3_asr.md 5): one forward a window, classes read at the <timestamp> places. */
#include "audio/segment.h"
#include "base/clock.h"
#include "models/qwen3_asr/answer.h"
#include "models/qwen3_asr/prompt.h"
#include "models/qwen3_asr/family.h"
#include "models/qwen3_asr/windows.h"
#include "sample/greedy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALIGN_CHUNK = 1 << 16, MOST_SECONDS = 300, MOST_UNITS = 1 << 20, LEAST_SAMPLES = PARLEY_ASR_RATE / 2 };

/* The result comes first, so that its address is the block's. */
typedef struct owned_alignment {
    parley_alignment alignment;
    pl_arena arena;
} owned_alignment;

typedef struct aligning {
    const asr_model *m;
    const parley_align_options *o;
    owned_alignment *owned;
    const float *pcm;
    int64_t samples;
    float peak;
    const atomic_bool *cancel;
    pl_compute compute;
    pl_units units;
} aligning;

/* One window on its way through the model. Arrays lie in the compute's step. */
typedef struct forward {
    aligning *a;
    pl_tap tap; /* none behind the first window */
    const pl_span *units;
    size_t n_units;
    float *pcm;
    int64_t samples;
    asr_prompt prompt;
    int *slots; /* [2 * n_units] */
    pl_kv kv;
    int64_t *raw; /* out [2 * n_units] ms */
} forward;

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
        if (!a->o->units[i])
            return pl_fail(error, PARLEY_ARGUMENT, "unit %zu is NULL", i);
        size_t length = strlen(a->o->units[i]), bad = pl_utf8_check(a->o->units[i], length);
        if (bad < length)
            return pl_fail_at(error, PARLEY_FORMAT, bad, "unit %zu is no valid UTF-8 at byte %zu", i, bad);
        items[i] = (pl_span){pl_arena_text(&a->owned->arena, a->o->units[i], length), length};
        if (!items[i].text)
            return pl_fail_memory(error, "units");
    }
    a->units = (pl_units){items, a->o->n_units, PARLEY_UNITS_GIVEN};
    return PARLEY_OK;
}

static parley_status find_units(aligning *a, pl_bytes text, parley_error *error)
{
    const char *wanted = a->o->language ? a->o->language : "";
    const pl_language *language;
    pl_unit_rules rules = {.japanese = a->o->split_japanese, .context = a->o->split_context};
    pl_lexicon lexicon;
    PL_TRY(pl_language_find((pl_span){wanted, strlen(wanted)}, &language, error));
    pl_span name = {language ? language->name : "", language ? strlen(language->name) : 0};
    if (a->o->lexicon) {
        PL_TRY(pl_lexicon_parse(&a->owned->arena, (pl_span){a->o->lexicon, a->o->lexicon_length}, &lexicon, error));
        rules.korean = &lexicon;
    }
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

static parley_status check_length(const aligning *a, parley_error *error)
{
    if (a->samples >= ASR_MIN_SAMPLES)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_ARGUMENT, "the sound has %" PRId64 " samples, at least %d are needed", a->samples, ASR_MIN_SAMPLES);
}

static parley_status check_sound(const aligning *a, parley_error *error)
{
    PL_TRY(check_length(a, error));
    for (int64_t i = 0; i < a->samples; i++)
        if (!isfinite(a->pcm[i]))
            return pl_fail_at(error, PARLEY_VALUE, (uint64_t)i, "sample %" PRId64 " is not finite", i);
    return PARLEY_OK;
}

/* Samples that the model takes at once: what its classes reach, 300 s at most, as it was trained. */
static int64_t limit(const asr_model *m)
{
    int64_t reach = (int64_t)m->config.head_rows * m->config.timestamp_ms, most = reach < 1000 * MOST_SECONDS ? reach : 1000 * MOST_SECONDS;
    return (most > 1000 ? most : 1000) * (PARLEY_ASR_RATE / 1000);
}

static parley_status make_prompt(forward *f, int64_t rows, parley_error *error)
{
    const asr_model *m = f->a->m;
    pl_tokenize_options tokenizing = {.splitter = m->env.splitter};
    f->prompt.ids.allocator = m->env.allocator;
    f->slots = PL_NEW_ARRAY(&f->a->compute.step, int, 2 * f->n_units);
    if (!f->slots)
        return pl_fail_memory(error, "an alignment");
    PL_TRY(pl_asr_align_prompt(&m->config, m->tokenizer, tokenizing, f->units, f->n_units, rows, &f->prompt, f->slots, error));
    if (f->prompt.ids.count > (size_t)m->config.context_length)
        return pl_fail(error, PARLEY_LIMIT, "sound and text make %zu positions, the model has %" PRId32 ": there is far more text than sound",
                       f->prompt.ids.count, m->config.context_length);
    pl_tap_ids(&f->tap, "prompt_ids", f->prompt.ids.ids, (int64_t)f->prompt.ids.count, 0);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ the forward */

static void tap_layer(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const forward *f = context;
    char name[32];
    if (strcmp(what, "out") != 0)
        return;
    snprintf(name, sizeof name, "text_layer_%d", layer);
    pl_tap_floats(&f->tap, name, data, rows, width);
}

static void fill(const forward *f, const float *rows, float *x)
{
    size_t width = (size_t)f->a->m->config.text.width;
    for (size_t i = 0; i < f->prompt.ids.count; i++)
        if (i >= f->prompt.audio_at && i < f->prompt.audio_at + (size_t)f->prompt.audio_rows)
            memcpy(x + i * width, rows + (i - f->prompt.audio_at) * width, width * sizeof *x);
        else
            pl_asr_embed(f->a->compute.k, &f->a->m->network, f->prompt.ids.ids[i], x + i * width);
}

/* hidden [slots][width]; with a tap all rows are computed and the slots picked. */
static parley_status run_text(forward *f, float *x, float *hidden, parley_error *error)
{
    pl_compute *compute = &f->a->compute;
    const asr_network *n = &f->a->m->network;
    int length = (int)f->prompt.ids.count, slots = 2 * (int)f->n_units, width = n->text.shape.width;
    pl_tokens tokens = {&f->kv, length};
    pl_forward job = {.x = x, .sequences = &tokens, .n_sequences = 1, .rows = f->slots, .n_rows = slots, .out = hidden, .cancel = f->a->cancel};
    if (!f->tap.call)
        return pl_transformer_forward(compute, &n->text, &job, error);
    float *every = pl_step_floats(compute, (int64_t)length * width);
    if (!every)
        return pl_fail_memory(error, "a debug tap");
    pl_tap_floats(&f->tap, "text_embed", x, length, width);
    job.rows = NULL;
    job.out = every;
    job.tap = tap_layer;
    job.tap_context = f;
    PL_TRY(pl_transformer_forward(compute, &n->text, &job, error));
    pl_tap_floats(&f->tap, "text_final", every, length, width);
    for (int i = 0; i < slots; i++)
        memcpy(hidden + (int64_t)i * width, every + (int64_t)f->slots[i] * width, (size_t)width * sizeof *hidden);
    return PARLEY_OK;
}

static parley_status classify(forward *f, const float *hidden, parley_error *error)
{
    pl_compute *compute = &f->a->compute;
    const asr_network *n = &f->a->m->network;
    int slots = 2 * (int)f->n_units, classes = n->head.w.rows;
    float *scores = pl_step_floats(compute, (int64_t)slots * classes);
    if (!scores)
        return pl_fail_memory(error, "the scores of an alignment");
    pl_linear_job head = {.layer = &n->head, .y = scores, .y_stride = classes};
    PL_TRY(pl_linear_run(compute, &head, 1, hidden, n->text.shape.width, slots, error));
    pl_tap_floats(&f->tap, "logits", scores, slots, classes);
    for (int i = 0; i < slots; i++) {
        int32_t class;
        PL_TRY(pl_greedy(scores + (int64_t)i * classes, classes, &class, NULL, error));
        f->raw[i] = (int64_t) class * f->a->m->config.timestamp_ms;
    }
    return PARLEY_OK;
}

static parley_status run_model(forward *f, parley_error *error)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    aligning *a = f->a;
    const asr_model *m = a->m;
    parley_asr_times *times = &a->owned->alignment.times;
    int width = m->config.text.width;
    int64_t n = pl_asr_audio_rows(m, f->samples);
    double began = pl_seconds();
    float *rows = pl_step_floats(&a->compute, n * width);
    if (!rows)
        return pl_fail_memory(error, "the rows of a sound");
    PL_TRY(pl_asr_encode(&a->compute, m, f->pcm, f->samples, a->o->attention == PARLEY_ATTENTION_FULL, a->cancel, &f->tap, rows, error));
    double encoded = pl_seconds();
    times->encode += encoded - began;
    PL_TRY(make_prompt(f, n, error));
    float *x = pl_step_floats(&a->compute, (int64_t)f->prompt.ids.count * width);
    float *hidden = pl_step_floats(&a->compute, 2 * (int64_t)f->n_units * width);
    if (!x || !hidden)
        return pl_fail_memory(error, "the aligner's input");
    fill(f, rows, x);
    pl_transformer_kv(&m->network.text, &m->env.allocator, types[a->o->kv], m->config.context_length, &f->kv);
    PL_TRY(run_text(f, x, hidden, error));
    PL_TRY(classify(f, hidden, error));
    times->prefill += pl_seconds() - encoded;
    return PARLEY_OK;
}

/* A short piece that is left of a longer sound gets silence behind it, as in recognition. */
static parley_status run_window(forward *f, const pl_window *window, parley_error *error)
{
    const aligning *a = f->a;
    bool is_short = window->samples < a->samples && window->samples < LEAST_SAMPLES;
    f->samples = is_short ? LEAST_SAMPLES : window->samples;
    f->pcm = PL_NEW_ARRAY(&f->a->compute.step, float, (size_t)f->samples);
    if (!f->pcm)
        return pl_fail_memory(error, "a sound");
    memcpy(f->pcm, a->pcm + window->first, (size_t)window->samples * sizeof *f->pcm);
    pl_level_from(f->pcm, f->samples, a->peak);
    return run_model(f, error);
}

static parley_status align_window(void *context, const pl_window *window, int64_t *raw, parley_error *error)
{
    aligning *a = context;
    bool is_first = window->first == 0 && window->unit == 0;
    if (a->o->progress && !a->o->progress(a->o->progress_context, (double)window->first / PARLEY_ASR_RATE))
        return pl_fail(error, PARLEY_CANCELLED, "cancelled at %.3f s of the sound", (double)window->first / PARLEY_ASR_RATE);
    pl_arena_mark mark = pl_arena_save(&a->compute.step);
    forward f = {.a = a, .units = a->units.items + window->unit, .n_units = window->n_units, .raw = raw};
    if (is_first)
        f.tap = (pl_tap){a->o->tap, a->o->tap_context};
    parley_status status = run_window(&f, window, error);
    if (f.kv.allocator.alloc)
        pl_kv_free(&f.kv);
    if (f.prompt.ids.allocator.alloc)
        pl_ids_free(&f.prompt.ids);
    pl_arena_restore(&a->compute.step, mark);
    return status;
}

/* ------------------------------------------------------------------ output */

static parley_status make_words(aligning *a, const pl_windowed *job, parley_error *error)
{
    parley_alignment *out = &a->owned->alignment;
    parley_asr_word *words = PL_NEW_ARRAY(&a->owned->arena, parley_asr_word, a->units.count);
    if (!words)
        return pl_fail_memory(error, "an alignment");
    for (size_t i = 0; i < a->units.count; i++) {
        words[i].text = pl_arena_text(&a->owned->arena, a->units.items[i].text, a->units.items[i].length);
        words[i].start = pl_round_milliseconds((double)job->times[2 * i] / 1000 + a->o->offset);
        words[i].end = pl_round_milliseconds((double)job->times[2 * i + 1] / 1000 + a->o->offset);
        if (!words[i].text)
            return pl_fail_memory(error, "an alignment");
    }
    out->words = words;
    out->n_words = a->units.count;
    out->rule = a->units.rule;
    out->n_windows = job->n_windows;
    out->reliable = job->doubts == 0;
    return PARLEY_OK;
}

static parley_status align(aligning *a, pl_bytes text, parley_error *error)
{
    const pl_environment *env = &a->m->env;
    double began = pl_seconds();
    if (!isfinite(a->o->offset))
        return pl_fail(error, PARLEY_ARGUMENT, "offset: expected a finite number of seconds");
    PL_TRY(check_sound(a, error));
    PL_TRY(find_units(a, text, error));
    PL_TRY(pl_compute_open(&env->allocator, env->kernels, env->pool, a->o->activations == PARLEY_ACTIVATIONS_INT8, &a->compute, error));
    a->peak = pl_peak(a->pcm, a->samples);
    pl_windowed job = {.pcm = a->pcm,
                       .samples = a->samples,
                       .limit = limit(a->m),
                       .units = &a->units,
                       .raw = PL_NEW_ARRAY(&a->owned->arena, int64_t, 2 * a->units.count),
                       .times = PL_NEW_ARRAY(&a->owned->arena, int64_t, 2 * a->units.count)};
    if (!job.raw || !job.times)
        return pl_fail_memory(error, "an alignment");
    PL_TRY(pl_align_windows(&a->owned->arena, &job, &(pl_window_stage){align_window, a}, error));
    PL_TRY(make_words(a, &job, error));
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
    aligning a = {.m = m, .o = options, .owned = owned, .cancel = cancel, .pcm = pcm, .samples = (int64_t)samples};
    parley_status status = align(&a, text, error);
    pl_compute_close(&a.compute);
    if (status != PARLEY_OK) {
        parley_alignment_free(&owned->alignment);
        return status;
    }
    *alignment = &owned->alignment;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ memory */

/* Of several windows none is longer than the limit, and none has more units than there are. */
static parley_status count_positions(aligning *a, pl_bytes text, int64_t *positions, parley_error *error)
{
    const asr_model *m = a->m;
    int64_t samples = a->samples < limit(m) ? a->samples : limit(m);
    asr_prompt prompt = {.ids.allocator = m->env.allocator};
    PL_TRY(check_length(a, error));
    PL_TRY(find_units(a, text, error));
    int *slots = PL_NEW_ARRAY(&a->owned->arena, int, 2 * a->units.count);
    if (!slots)
        return pl_fail_memory(error, "an alignment");
    parley_status status = pl_asr_align_prompt(&m->config, m->tokenizer, (pl_tokenize_options){.splitter = m->env.splitter}, a->units.items,
                                               a->units.count, pl_asr_audio_rows(m, samples), &prompt, slots, error);
    *positions = (int64_t)prompt.ids.count < m->config.context_length ? (int64_t)prompt.ids.count : m->config.context_length;
    pl_ids_free(&prompt.ids);
    return status;
}

parley_status pl_asr_align_kv_bytes(const void *model, size_t samples, pl_bytes text, const parley_align_options *options, uint64_t *bytes,
                                    parley_error *error)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    const asr_model *m = model;
    owned_alignment owned = {0};
    int64_t positions = 0;
    pl_kv kv;
    pl_arena_init(&owned.arena, &m->env.allocator, ALIGN_CHUNK);
    aligning a = {.m = m, .o = options, .owned = &owned, .samples = (int64_t)samples};
    parley_status status = count_positions(&a, text, &positions, error);
    if (status == PARLEY_OK) {
        pl_transformer_kv(&m->network.text, &m->env.allocator, types[options->kv], m->config.context_length, &kv);
        *bytes = pl_kv_bytes(&kv, positions);
    }
    pl_arena_free(&owned.arena);
    return status;
}
