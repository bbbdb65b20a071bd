/* Times the stages of an open model: prefill, talker step, predictor frame, codec, and a whole run. Inputs are made up; weights are the model's. */
#include "base/clock.h"
#include "models/bench_limits.h"
#include "models/qwen3_tts/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 1000, STEPS = 8, CODEC_FRAMES = 8, BATCH = 8 /* sequences */ };

typedef struct bench {
    const tts_model *m;
    const parley_bench_options *o;
    pl_report_row report;
    void *context;
    pl_arena arena;
    pl_compute compute;
    pl_bench_limits limits;
    pl_kv talker[BATCH], predictor[BATCH];
    int sequences; /* that the run being timed steps together */
    pl_codec_state *codec;
    const pl_codec_decoder *decoder; /* of `codec` */
    float *x, *start, *out, *scores, *pcm;
    int32_t *codes; /* [frames][groups] */
    float *sound;   /* [rows] of a recording */
    int rows;       /* of the run being timed: frames, samples */
} bench;

typedef parley_status (*stage)(bench *b, parley_error *error);

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs a stage once to warm up, then `runs` times, and reports the median of one of its `parts`. */
static parley_status time_stage(bench *b, const char *name, const char *shape, stage run, int parts, double bytes, double operations, pl_type type,
                                parley_error *error)
{
    double seconds[MOST_RUNS];
    int runs = b->o->runs < MOST_RUNS ? b->o->runs : MOST_RUNS;
    PL_TRY(run(b, error));
    for (int i = 0; i < runs; i++) {
        double began = pl_seconds();
        PL_TRY(run(b, error));
        seconds[i] = (pl_seconds() - began) / parts;
    }
    qsort(seconds, (size_t)runs, sizeof seconds[0], by_value);
    parley_bench_row row = {.stage = name,
                            .shape = shape,
                            .type = pl_type_info(type)->name,
                            .level = parley_cpu_name(b->compute.k->level),
                            .threads = pl_pool_threads(b->compute.pool),
                            .seconds = seconds[runs / 2],
                            .seconds_low = seconds[0],
                            .seconds_high = seconds[runs - 1],
                            .gigabytes = bytes * 1e-9,
                            .giga_operations = operations * 1e-9};
    pl_bench_share(&b->limits, &row);
    b->report(b->context, &row);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ stages */

/* `rows` new positions of each of the sequences; the scores of the last of each. */
static parley_status forward(bench *b, const pl_transformer *t, pl_kv *kv, int rows, const pl_linear *head, parley_error *error)
{
    pl_tokens tokens[BATCH];
    int last[BATCH], n = b->sequences;
    for (int s = 0; s < n; s++) {
        tokens[s] = (pl_tokens){kv + s, rows};
        last[s] = (s + 1) * rows - 1;
    }
    memcpy(b->x, b->start, (size_t)(n * rows) * (size_t)t->shape.width * sizeof *b->x);
    pl_forward f = {.x = b->x, .sequences = tokens, .n_sequences = n, .rows = last, .n_rows = n, .out = b->out};
    return pl_decoder_forward(&b->compute, t, &f, head, b->scores, error);
}

static void cut(pl_kv *kv, int64_t length)
{
    for (int s = 0; s < BATCH; s++)
        if (kv[s].length > length)
            pl_kv_truncate(&kv[s], length);
}

static parley_status prefill(bench *b, parley_error *error)
{
    cut(b->talker, 0);
    return forward(b, &b->m->network.talker, b->talker, b->o->prompt, &b->m->network.codec_head, error);
}

static parley_status steps(bench *b, parley_error *error)
{
    cut(b->talker, b->o->prompt);
    for (int i = 0; i < STEPS; i++)
        PL_TRY(forward(b, &b->m->network.talker, b->talker, 1, &b->m->network.codec_head, error));
    return PARLEY_OK;
}

static parley_status predictor_frame(bench *b, parley_error *error)
{
    cut(b->predictor, 0);
    for (int g = 1; g < b->m->config.groups; g++)
        PL_TRY(forward(b, &b->m->network.predictor, b->predictor, g == 1 ? 2 : 1, &b->m->network.predictor_heads[g - 1], error));
    return PARLEY_OK;
}

static parley_status decode(bench *b, parley_error *error)
{
    pl_tap quiet = {0};
    return pl_codec_decode(&b->compute, b->decoder, b->codec, b->codes, b->rows, b->pcm, &quiet, error);
}

static parley_status speak(bench *b, parley_tts *session, parley_error *error)
{
    size_t count = 1;
    for (int i = 0; i < b->o->prompt; i++)
        PL_TRY(session->ops->push_text(session, "a ", 2, error));
    PL_TRY(session->ops->finish_text(session, error));
    while (count > 0)
        PL_TRY(session->ops->pull(session, b->pcm, (size_t)CODEC_FRAMES * (size_t)b->m->info.samples_per_frame, &count, error));
    return PARLEY_OK;
}

/* Codes are forced, so that the number of frames does not depend on what the model makes of the text. */
static parley_status whole(bench *b, parley_error *error)
{
    parley_tts_options options;
    parley_tts *session;
    pl_tts_ops_qwen3.options_init(b->m, &options);
    options.teacher = b->codes;
    options.teacher_frames = (size_t)b->o->frames;
    options.activations = b->o->int8_activations ? PARLEY_ACTIVATIONS_INT8 : PARLEY_ACTIVATIONS_F32;
    PL_TRY(pl_tts_ops_qwen3.open(b->m, &options, &session, error));
    parley_status status = speak(b, session, error);
    pl_tts_ops_qwen3.close(session);
    return status;
}

/* ------------------------------------------------------------------ all of them */

static parley_status allocate(bench *b, parley_error *error)
{
    const tts_config *c = &b->m->config;
    const parley_allocator *allocator = &b->m->env.allocator;
    int64_t width = c->talker.width > c->predictor.width ? c->talker.width : c->predictor.width,
            rows = b->o->prompt > 2 * BATCH ? b->o->prompt : 2 * BATCH;
    pl_arena_init(&b->arena, allocator, 1 << 16);
    PL_TRY(pl_compute_open(allocator, b->m->env.kernels, b->m->env.pool, b->o->int8_activations, &b->compute, error));
    for (int s = 0; s < BATCH; s++) {
        pl_transformer_kv(&b->m->network.talker, allocator, PL_F16, c->context_length, &b->talker[s]);
        pl_transformer_kv(&b->m->network.predictor, allocator, PL_F32, c->groups, &b->predictor[s]);
    }
    b->decoder = b->m->network.codec;
    PL_TRY(pl_codec_state_open(allocator, b->decoder, &b->codec, error));
    b->x = PL_NEW_ARRAY(&b->arena, float, rows *width);
    b->start = PL_NEW_ARRAY(&b->arena, float, rows *width);
    b->out = PL_NEW_ARRAY(&b->arena, float, BATCH *width);
    b->scores = PL_NEW_ARRAY(&b->arena, float, BATCH *(c->codec_vocabulary > c->codebook_size ? c->codec_vocabulary : c->codebook_size));
    b->pcm = PL_NEW_ARRAY(&b->arena, float, (int64_t)CODEC_FRAMES * b->m->info.samples_per_frame);
    b->codes = PL_NEW_ARRAY(&b->arena, int32_t, (int64_t)(b->o->frames > CODEC_FRAMES ? b->o->frames : CODEC_FRAMES) * c->groups);
    if (!b->x || !b->start || !b->out || !b->scores || !b->pcm || !b->codes)
        return pl_fail_memory(error, "a benchmark");
    for (int64_t i = 0; i < rows * width; i++)
        b->start[i] = (float)(i * 7919 % 1000) * 1e-4f - 0.05f;
    for (int64_t i = 0; i < (int64_t)b->o->frames * c->groups; i++)
        b->codes[i] = (int32_t)(i * 7919 % c->codebook_size);
    return PARLEY_OK;
}

static void release(bench *b)
{
    pl_codec_state_close(b->codec);
    for (int s = 0; s < BATCH; s++) {
        pl_kv_free(&b->talker[s]);
        pl_kv_free(&b->predictor[s]);
    }
    pl_compute_close(&b->compute);
    pl_arena_free(&b->arena);
}

static void report_limits(bench *b)
{
    pl_bench_report_limits(&b->limits, &b->compute, b->report, b->context);
}

static parley_status bench_talker(bench *b, parley_error *error)
{
    const tts_network *n = &b->m->network;
    char shape[64];
    double head = pl_linear_operations(&n->codec_head), layers = pl_transformer_operations(&n->talker);
    double bytes = pl_transformer_bytes(&n->talker) + pl_linear_bytes(&n->codec_head);
    pl_type type = n->talker.blocks[0].q.w.type;
    PL_TRY(pl_bench_measure_limits(&b->limits, &b->compute, bytes, type, error));
    report_limits(b);
    b->sequences = 1;
    snprintf(shape, sizeof shape, "%d layers of %d, %" PRId32 " positions", n->talker.shape.layers, n->talker.shape.width, b->o->prompt);
    PL_TRY(time_stage(b, "talker prefill", shape, prefill, 1, bytes, layers * b->o->prompt + head, type, error));
    snprintf(shape, sizeof shape, "%d layers of %d, 1 position", n->talker.shape.layers, n->talker.shape.width);
    PL_TRY(time_stage(b, "talker step", shape, steps, STEPS, bytes, layers + head, type, error));
    b->sequences = BATCH;
    for (int s = 1; s < BATCH; s++)
        PL_TRY(pl_kv_copy_prefix(&b->talker[s], &b->talker[0], b->o->prompt, error));
    snprintf(shape, sizeof shape, "%d layers of %d, %d sequences", n->talker.shape.layers, n->talker.shape.width, BATCH);
    return time_stage(b, "talker step", shape, steps, STEPS, bytes, (layers + head) * BATCH, type, error);
}

static parley_status bench_predictor(bench *b, parley_error *error)
{
    const tts_network *n = &b->m->network;
    char shape[64];
    int passes = b->m->config.groups - 1;
    pl_type type = n->predictor.blocks[0].q.w.type;
    double head_bytes = pl_linear_bytes(&n->predictor_heads[0]), head = pl_linear_operations(&n->predictor_heads[0]);
    double layer_bytes = pl_transformer_bytes(&n->predictor), operations = (passes + 1) * pl_transformer_operations(&n->predictor) + passes * head;
    PL_TRY(pl_bench_measure_limits(&b->limits, &b->compute, layer_bytes + passes * head_bytes, type, error)); /* what it walks again and again */
    report_limits(b);
    for (b->sequences = 1; b->sequences <= BATCH; b->sequences += BATCH - 1) {
        snprintf(shape, sizeof shape, "%d layers of %d, %d passes, %d sequence%s", n->predictor.shape.layers, n->predictor.shape.width, passes,
                 b->sequences, b->sequences > 1 ? "s" : "");
        PL_TRY(
            time_stage(b, "predictor frame", shape, predictor_frame, 1, passes * (layer_bytes + head_bytes), operations * b->sequences, type, error));
    }
    b->sequences = 1;
    return PARLEY_OK;
}

/* The codec's arithmetic is its own; how much of its weights is read again is not known. */
static void measure_codec_limit(bench *b, bool int8)
{
    pl_bench_measure_arithmetic(&b->limits, &b->compute, int8);
    report_limits(b);
}

static parley_status bench_codec(bench *b, int frames, parley_error *error)
{
    char name[48];
    b->rows = frames;
    snprintf(name, sizeof name, "%d frame%s at once, time of one", frames, frames > 1 ? "s" : "");
    pl_type type = pl_codec_decoder_is_int8(b->decoder) ? PL_Q8_0 : b->m->tensors.codec.voc0.weight.type;
    return time_stage(b, "codec frame", name, decode, frames, 0, pl_codec_decoder_operations(b->decoder), type, error);
}

/* The first frames of a stream, `pcm` [CODEC_FRAMES] of them. */
static parley_status decode_first(bench *b, float *pcm, parley_error *error)
{
    pl_codec_state_reset(b->codec);
    PL_TRY(decode(b, error));
    memcpy(pcm, b->pcm, (size_t)b->rows * (size_t)b->m->info.samples_per_frame * sizeof *pcm);
    return PARLEY_OK;
}

static double signal_to_noise(const float *exact, const float *rounded, int64_t count)
{
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < count; i++) {
        double error = (double)rounded[i] - (double)exact[i];
        signal += (double)exact[i] * (double)exact[i];
        noise += error * error;
    }
    return 10.0 * log10(signal / noise);
}

/* An int8 codec against the same one in float32, whose weights are still in the mapped files. */
static parley_status compare_with_exact(bench *b, pl_arena *arena, parley_error *error)
{
    pl_codec_state *rounded_state = b->codec;
    const pl_codec_decoder *rounded_decoder = b->decoder;
    int64_t count = (int64_t)CODEC_FRAMES * b->m->info.samples_per_frame;
    float *rounded = PL_NEW_ARRAY(&b->arena, float, count), *exact = PL_NEW_ARRAY(&b->arena, float, count);
    pl_loader loader = {.arena = arena, .pool = b->m->env.pool};
    pl_codec_decoder *decoder;
    char shape[64];
    if (!rounded || !exact)
        return pl_fail_memory(error, "a benchmark");
    b->rows = CODEC_FRAMES;
    PL_TRY(decode_first(b, rounded, error));
    PL_TRY(pl_codec_decoder_load(&loader, &b->m->config.codec, &b->m->tensors.codec, &decoder, error));
    PL_TRY(pl_codec_state_open(&b->m->env.allocator, decoder, &b->codec, error));
    b->decoder = decoder;
    measure_codec_limit(b, false);
    parley_status status = decode_first(b, exact, error);
    snprintf(shape, sizeof shape, "%d frames at once, int8 at %.1f dB", CODEC_FRAMES, signal_to_noise(exact, rounded, count));
    if (status == PARLEY_OK)
        status = time_stage(b, "codec frame f32", shape, decode, CODEC_FRAMES, 0, pl_codec_decoder_operations(decoder), PL_F32, error);
    pl_codec_state_close(b->codec);
    b->codec = rounded_state;
    b->decoder = rounded_decoder;
    return status;
}

static parley_status bench_codecs(bench *b, parley_error *error)
{
    measure_codec_limit(b, pl_codec_decoder_is_int8(b->decoder));
    PL_TRY(bench_codec(b, 1, error));
    PL_TRY(bench_codec(b, CODEC_FRAMES, error));
    if (!pl_codec_decoder_is_int8(b->decoder))
        return PARLEY_OK;
    pl_arena arena;
    pl_arena_init(&arena, &b->m->env.allocator, 1 << 20);
    parley_status status = compare_with_exact(b, &arena, error);
    pl_arena_free(&arena);
    return status;
}

/* ------------------------------------------------------------------ cloning */

enum { CLONE_SECONDS = 10 };

/* When the stages of the codec's encoder were last heard of: their shares of a run. */
typedef struct marks {
    double began, convolutions, transformer, frames;
} marks;

static void mark(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    (void)type, (void)data, (void)shape, (void)rank;
    marks *m = context;
    if (strcmp(name, "conv1") == 0)
        m->convolutions = pl_seconds();
    else if (strncmp(name, "tf_layer", strlen("tf_layer")) == 0)
        m->transformer = pl_seconds();
    else if (strcmp(name, "frame") == 0)
        m->frames = pl_seconds();
}

static parley_status encode(bench *b, parley_error *error)
{
    parley_voice_options options = {.size = sizeof options};
    int32_t *codes;
    size_t frames;
    PL_TRY(pl_tts_codec_encode(b->m, b->sound, (size_t)b->rows, &options, &codes, &frames, error));
    pl_release(&b->m->env.allocator, codes, frames * (size_t)b->m->config.encoder.groups, sizeof *codes);
    return PARLEY_OK;
}

static parley_status vector(bench *b, parley_error *error)
{
    parley_voice_options options = {.size = sizeof options};
    return pl_tts_voice_vector(b->m, b->sound, (size_t)b->rows, &options, b->out, error);
}

static void report_share(bench *b, const char *name, const char *shape, double seconds)
{
    parley_bench_row row = {.stage = name,
                            .shape = shape,
                            .type = "",
                            .level = parley_cpu_name(b->compute.k->level),
                            .threads = pl_pool_threads(b->compute.pool),
                            .seconds = seconds,
                            .seconds_low = seconds,
                            .seconds_high = seconds,
                            .limit = ""};
    b->report(b->context, &row);
}

static parley_status bench_encoder_shares(bench *b, const char *shape, parley_error *error)
{
    marks m = {.began = pl_seconds()};
    parley_voice_options options = {.size = sizeof options, .tap = mark, .tap_context = &m};
    int32_t *codes;
    size_t frames;
    PL_TRY(pl_tts_codec_encode(b->m, b->sound, (size_t)b->rows, &options, &codes, &frames, error));
    double end = pl_seconds();
    pl_release(&b->m->env.allocator, codes, frames * (size_t)b->m->config.encoder.groups, sizeof *codes);
    report_share(b, "of it convolutions", shape, m.convolutions - m.began);
    report_share(b, "of it transformer", shape, m.transformer - m.convolutions);
    report_share(b, "of it quantiser", shape, end - m.frames);
    return PARLEY_OK;
}

static parley_status bench_clone(bench *b, parley_error *error)
{
    char shape[48];
    uint32_t state = 1;
    b->rows = CLONE_SECONDS * b->m->info.sample_rate;
    b->sound = PL_NEW_ARRAY(&b->arena, float, b->rows);
    if (!b->sound)
        return pl_fail_memory(error, "a benchmark");
    for (int i = 0; i < b->rows; i++) {
        state = state * 1664525u + 1013904223u;
        b->sound[i] = ((float)(state >> 8) / 16777216.0f - 0.5f) * 0.2f;
    }
    snprintf(shape, sizeof shape, "%d s of sound", CLONE_SECONDS);
    if (b->m->network.speaker)
        PL_TRY(time_stage(b, "speaker vector", shape, vector, 1, 0, 0, b->m->tensors.speaker.mfa.weight.type, error));
    if (!b->m->network.encoder)
        return PARLEY_OK;
    PL_TRY(time_stage(b, "codec encode", shape, encode, 1, 0, 0, b->m->tensors.encoder.conv1.weight.type, error));
    return bench_encoder_shares(b, shape, error);
}

static parley_status run_all(bench *b, parley_error *error)
{
    char shape[64];
    PL_TRY(allocate(b, error));
    PL_TRY(bench_talker(b, error));
    PL_TRY(bench_predictor(b, error));
    PL_TRY(bench_codecs(b, error));
    if (b->m->network.speaker || b->m->network.encoder)
        PL_TRY(bench_clone(b, error));
    snprintf(shape, sizeof shape, "prompt of %" PRId32 ", %" PRId32 " frames, %.2f s of audio", b->o->prompt, b->o->frames,
             (double)b->o->frames * b->m->info.samples_per_frame / b->m->info.sample_rate);
    return time_stage(b, "whole", shape, whole, 1, 0, 0, b->m->network.talker.blocks[0].q.w.type, error);
}

parley_status pl_tts_bench(const void *model, const parley_bench_options *options, pl_report_row report, void *context, parley_error *error)
{
    bench b = {.m = model, .o = options, .report = report, .context = context};
    if (!b.m->network.codec || !b.m->tokenizer)
        return pl_fail(error, PARLEY_STATE, "the model was opened without its talker");
    parley_status status = run_all(&b, error);
    release(&b);
    return status;
}
