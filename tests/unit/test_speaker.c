/* The speaker encoder against stored results of the official package (golden voice_a, voice_b), and against itself: threads, levels, weight types,
 * long sounds. */
/* labels: threads */
#include "audio/mel.h"
#include "base/cpu.h"
#include "models/qwen3_tts/tensors.h"
#include "support/random.h"
#include "support/voice_case.h"
#include "limit_allocator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ------------------------------------------------------------------ loading */

typedef struct encoder {
    pl_arena arena;
    tts_files files;
    tts_config config;
    tts_tensors tensors;
    pl_pool *pool;
    pl_compute compute;
    pl_loader loader;
    pl_speaker *speaker;
} encoder;

static void need(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK)
        fail_msg("%s: %s", parley_status_name(status), error->text);
}

/* All but the network. */
static encoder *open_tensors(const char *model, parley_cpu level, int threads, const parley_allocator *allocator)
{
    char path[1024];
    parley_error error;
    encoder *e = calloc(1, sizeof *e);
    assert_non_null(e);
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, model);
    need(pl_cpu_choose(level, &level, &error), &error);
    pl_arena_init(&e->arena, NULL, 1 << 20);
    need(pl_pool_open(&e->arena.allocator, threads, &e->pool, &error), &error);
    need(pl_compute_open(allocator, pl_kernels_for(level), e->pool, true, &e->compute, &error), &error);
    need(pl_tts_files_open(&e->arena.allocator, &(tts_open){.path = path, .needed = PARLEY_PARTS_SPEAKER, .any = true}, &e->files, &error), &error);
    need(pl_tts_config_read(&e->files, &e->config, &error), &error);
    need(pl_tts_tensors_resolve(&e->files, &e->config, &(tts_resolve){.needed = PARLEY_PARTS_SPEAKER}, &e->tensors, &error), &error);
    e->loader = (pl_loader){.arena = &e->arena, .pool = e->pool};
    return e;
}

static void load(encoder *e)
{
    parley_error error;
    need(pl_speaker_load(&e->loader, &e->config.speaker, &e->tensors.speaker, &e->speaker, &error), &error);
}

static encoder *open_encoder(const char *model, parley_cpu level, int threads)
{
    encoder *e = open_tensors(model, level, threads, NULL);
    load(e);
    return e;
}

static void close_encoder(encoder *e)
{
    pl_compute_close(&e->compute);
    pl_pool_close(e->pool);
    pl_tts_files_close(&e->files);
    pl_arena_free(&e->arena);
    free(e);
}

/* ------------------------------------------------------------------ sounds */

typedef struct spectrum {
    float *values;
    int64_t frames;
} spectrum;

static spectrum spectrum_of(encoder *e, const float *pcm, int64_t samples)
{
    static const pl_mel_shape shape = {.sample_rate = 24000,
                                       .fft = 1024,
                                       .window = 1024,
                                       .hop = 256,
                                       .bands = 128,
                                       .padding = 384,
                                       .low = 0,
                                       .high = 12000,
                                       .floor = 1e-5f,
                                       .log = PL_MEL_LOG_NATURAL};
    pl_mel *mel;
    assert_int_equal(pl_mel_open(NULL, &shape, &mel, NULL), PARLEY_OK);
    spectrum s = {.frames = pl_mel_frames(mel, samples)};
    s.values = malloc((size_t)s.frames * 128 * sizeof *s.values + 1);
    assert_non_null(s.values);
    assert_int_equal(pl_mel_run(mel, e->pool, &e->compute.step, pcm, samples, s.values, NULL), PARLEY_OK);
    pl_mel_close(mel);
    return s;
}

/* Log-mel values as of a sound that changes slowly. */
static spectrum made_up(int64_t frames)
{
    test_random random = {3};
    spectrum s = {malloc((size_t)frames * 128 * sizeof(float)), frames};
    assert_non_null(s.values);
    for (int64_t t = 0; t < frames; t++)
        for (int i = 0; i < 128; i++)
            s.values[t * 128 + i] = -5.0f + 3.0f * sinf((float)t * 0.01f * (float)(1 + i % 7)) + test_float(&random, 1.0f);
    return s;
}

/* ------------------------------------------------------------------ comparing with stored stages */

static const char *const stages[] = {"block0", "block1_tdnn1", "block1_res2net", "block1_tdnn2", "block1", "block2",
                                     "block3", "mfa",          "asp_tdnn",       "asp_scores",   "asp",    "vector"};
enum { STAGES = sizeof stages / sizeof *stages };

typedef struct record {
    const char *folder;
    int seen[STAGES]; /* calls */
    int compared;
    double worst; /* difference by largest magnitude */
} record;

static int stage_of(const char *name)
{
    for (int i = 0; i < STAGES; i++)
        if (strcmp(stages[i], name) == 0)
            return i;
    fail_msg("unknown stage %s", name);
    return -1;
}

static bool is_there(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

static double difference(const char *path, const float *got, size_t count)
{
    npy_array expected = npy_load(path);
    assert_int_equal(expected.count, count);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)got[i] - (double)expected.f[i]);
        largest = fmax(largest, fabs((double)expected.f[i]));
        worst = d <= worst ? worst : d;
    }
    if (!(worst <= 1e-4 * largest)) /* the limit that the golden data state */
        fail_msg("%s: off by %.9g, largest %.9g", path, worst, largest);
    npy_free(&expected);
    return worst / largest;
}

static void on_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    record *r = context;
    char path[1024];
    assert_int_equal(type, 'f');
    r->seen[stage_of(name)]++;
    snprintf(path, sizeof path, "%s/%s.npy", r->folder, name);
    if (!is_there(path))
        return;
    r->worst = fmax(r->worst, difference(path, data, (size_t)(shape[0] * (rank == 2 ? shape[1] : 1))));
    r->compared++;
}

/* ------------------------------------------------------------------ cases */

static const struct {
    const char *folder;
    int stages; /* stored, mel not counted */
} cases[] = {{"voice_a/vector_1280", 12}, {"voice_a/vector_1536", 12},   {"voice_a/vector_5001", 12},
             {"voice_a/vector_1535", 1},  {"voice_a/vector_15007", 2},   {"voice_a/vector_float", 2},
             {"voice_b/vector_9999", 12}, {"voice_a/vector_silence", 2}, {"voice_b/vector_1280", 2}};

static void check_case(parley_cpu level, const char *folder, int expected)
{
    char model[16];
    snprintf(model, sizeof model, "%.7s", folder);
    encoder *e = open_encoder(model, level, 2);
    voice_case c = voice_case_read(folder);
    spectrum s = spectrum_of(e, c.pcm, c.samples);
    record r = {.folder = c.folder};
    pl_tap tap = {on_tap, &r};
    parley_error error;
    float vector[128];
    assert_in_range(pl_speaker_length(e->speaker), 1, 128);
    need(pl_speaker_run(&e->compute, e->speaker, s.values, s.frames, vector, NULL, &tap, &error), &error);
    assert_int_equal(r.compared, expected);
    for (int i = 0; i < STAGES; i++)
        assert_int_equal(r.seen[i], 1);
    free(s.values);
    voice_case_free(&c);
    close_encoder(e);
}

static void stored_cases_at_every_level(void **state)
{
    (void)state;
    for (int level = PARLEY_CPU_BEST + 1; level <= PARLEY_CPU_I8MM; level++) {
        if (!pl_cpu_has((parley_cpu)level) || !pl_kernels_for((parley_cpu)level))
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            check_case((parley_cpu)level, cases[i].folder, cases[i].stages);
    }
}

/* ------------------------------------------------------------------ against itself */

static void run_made_up(encoder *e, int64_t frames, float *vector)
{
    spectrum s = made_up(frames);
    parley_error error;
    need(pl_speaker_run(&e->compute, e->speaker, s.values, frames, vector, NULL, NULL, &error), &error);
    free(s.values);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    static const int64_t frames[] = {5, 63, 300, 2500};
    float one[128], more[128];
    encoder *e1 = open_encoder("voice_a", PARLEY_CPU_BEST, 1);
    for (int threads = 2; threads <= 4; threads += 2) {
        encoder *e = open_encoder("voice_a", PARLEY_CPU_BEST, threads);
        for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
            run_made_up(e1, frames[i], one);
            run_made_up(e, frames[i], more);
            assert_memory_equal(one, more, (size_t)pl_speaker_length(e->speaker) * sizeof *one);
        }
        close_encoder(e);
    }
    close_encoder(e1);
}

/* Arrays that come in slices of time, and what follows from them. */
typedef struct pooled {
    float *x, *scores, *pooled;
    int64_t rows;
    int width;
    int64_t x_count, score_count;
} pooled;

static void keep_pooled(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    (void)type, (void)rank;
    pooled *p = context;
    if (strcmp(name, "mfa") == 0) {
        memcpy(p->x + p->x_count, data, (size_t)(shape[0] * shape[1]) * sizeof(float));
        p->x_count += shape[0] * shape[1];
    } else if (strcmp(name, "asp_scores") == 0) {
        memcpy(p->scores + p->score_count, data, (size_t)(shape[0] * shape[1]) * sizeof(float));
        p->score_count += shape[0] * shape[1];
    } else if (strcmp(name, "asp") == 0) {
        memcpy(p->pooled, data, (size_t)shape[0] * sizeof(float));
    }
}

/* Softmax over time in two passes, double precision. */
static void check_pooled_channel(const pooled *p, int channel)
{
    double largest = -INFINITY, sum = 0, mean = 0, variance = 0;
    for (int64_t t = 0; t < p->rows; t++)
        largest = fmax(largest, (double)p->scores[t * p->width + channel]);
    for (int64_t t = 0; t < p->rows; t++) {
        double e = exp((double)p->scores[t * p->width + channel] - largest);
        sum += e;
        mean += e * (double)p->x[t * p->width + channel];
    }
    mean /= sum;
    for (int64_t t = 0; t < p->rows; t++) {
        double d = (double)p->x[t * p->width + channel] - mean;
        variance += exp((double)p->scores[t * p->width + channel] - largest) / sum * d * d;
    }
    double deviation = sqrt(fmax(variance, 1e-12));
    if (!(fabs((double)p->pooled[channel] - mean) <= 1e-6 * (1 + fabs(mean))))
        fail_msg("channel %d: mean %.9g, expected %.9g", channel, (double)p->pooled[channel], mean);
    if (!(fabs((double)p->pooled[p->width + channel] - deviation) <= 1e-6 * (1 + deviation)))
        fail_msg("channel %d: deviation %.9g, expected %.9g", channel, (double)p->pooled[p->width + channel], deviation);
}

/* Frames beyond the slices in which the engine works. */
static void long_sounds_are_pooled_as_a_whole(void **state)
{
    (void)state;
    enum { FRAMES = 3000, WIDTH = 144 };
    encoder *e = open_encoder("voice_a", PARLEY_CPU_BEST, 2);
    size_t count = (size_t)FRAMES * WIDTH;
    pooled p = {malloc(count * sizeof(float)), malloc(count * sizeof(float)), malloc(2 * WIDTH * sizeof(float)), FRAMES, WIDTH, 0, 0};
    spectrum s = made_up(FRAMES);
    float vector[128];
    parley_error error;
    need(pl_speaker_run(&e->compute, e->speaker, s.values, FRAMES, vector, NULL, &(pl_tap){keep_pooled, &p}, &error), &error);
    assert_int_equal(p.x_count, count);
    assert_int_equal(p.score_count, count);
    for (int i = 0; i < WIDTH; i++)
        check_pooled_channel(&p, i);
    free(s.values);
    free(p.x);
    free(p.scores);
    free(p.pooled);
    close_encoder(e);
}

/* Memory grows with the frames, and a second run takes no more. */
static void memory_is_linear_and_kept(void **state)
{
    (void)state;
    limit_allocator limited = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = {.context = &limited, .alloc = limit_alloc, .release = limit_release};
    encoder *e = open_tensors("voice_a", PARLEY_CPU_BEST, 2, &allocator);
    float vector[128];
    load(e);
    run_made_up(e, 20000, vector);
    size_t held = limited.held;
    assert_true(held < (size_t)20000 * (3 * 48 + 48 + 128) * sizeof(float) + (16u << 20));
    assert_int_equal(e->compute.step.used, 0);
    limited.left = 0;
    run_made_up(e, 20000, vector);
    run_made_up(e, 700, vector);
    assert_int_equal(limited.held, held);
    close_encoder(e);
    assert_int_equal(limited.held, 0);
}

/* ------------------------------------------------------------------ weight types, other shapes */

/* Whole blocks in every row, two groups, and more channels behind the blocks than in them. */
static const pl_speaker_shape odd_shape = {.channels = 64, .mfa_channels = 256, .attention_channels = 64, .se_channels = 32, .scale = 2, .mels = 128};
enum { ODD_LENGTH = 32 };

/* `values` to a type; blocks of 4 bits are random with a fixed scale. */
static pl_tensor tensor_of(pl_arena *arena, pl_type type, const float *values, int64_t count, test_random *random)
{
    pl_tensor t = {.type = type, .rank = 1, .shape = {count}, .bytes = pl_row_bytes(type, count)};
    uint8_t *data = PL_NEW_ARRAY(arena, uint8_t, t.bytes);
    t.data = data;
    if (type != PL_Q4_0) {
        pl_quantize(type, values, count, data);
        return t;
    }
    for (size_t i = 0; i < t.bytes; i++)
        data[i] = (uint8_t)test_next(random);
    uint16_t scale = pl_float_to_half(0.01f);
    for (size_t i = 0; i < t.bytes; i += 18)
        memcpy(data + i, &scale, sizeof scale);
    return t;
}

static pl_conv_tensors layer_of(pl_arena *arena, pl_type type, int out, int in, int taps, test_random *random)
{
    int64_t count = (int64_t)out * in * taps;
    float *values = PL_NEW_ARRAY(arena, float, count), *bias = PL_NEW_ARRAY(arena, float, out);
    for (int64_t i = 0; i < count; i++)
        values[i] = test_float(random, 1.5f / sqrtf((float)(in * taps)));
    for (int i = 0; i < out; i++)
        bias[i] = test_float(random, 0.1f);
    pl_conv_tensors layer = {tensor_of(arena, type, values, count, random), tensor_of(arena, PL_F32, bias, out, random)};
    layer.weight.rank = 3;
    layer.weight.shape[0] = out;
    layer.weight.shape[1] = in;
    layer.weight.shape[2] = taps;
    return layer;
}

static pl_speaker_tensors tensors_of(pl_arena *arena, pl_type type, const pl_speaker_shape *s)
{
    test_random r = {type};
    int channels = s->channels, group = channels / s->scale;
    pl_speaker_tensors t = {.conv0 = layer_of(arena, type, channels, s->mels, 5, &r)};
    for (int i = 0; i < PL_SPEAKER_BLOCKS; i++) {
        t.blocks[i].tdnn1 = layer_of(arena, type, channels, channels, 1, &r);
        t.blocks[i].tdnn2 = layer_of(arena, type, channels, channels, 1, &r);
        for (int j = 0; j < s->scale - 1; j++)
            t.blocks[i].res[j] = layer_of(arena, type, group, group, 3, &r);
        t.blocks[i].se1 = layer_of(arena, type, s->se_channels, channels, 1, &r);
        t.blocks[i].se2 = layer_of(arena, type, channels, s->se_channels, 1, &r);
    }
    t.mfa = layer_of(arena, type, s->mfa_channels, PL_SPEAKER_BLOCKS * channels, 1, &r);
    t.asp_tdnn = layer_of(arena, type, s->attention_channels, 3 * s->mfa_channels, 1, &r);
    t.asp_conv = layer_of(arena, type, s->mfa_channels, s->attention_channels, 1, &r);
    t.fc = layer_of(arena, type, ODD_LENGTH, 2 * s->mfa_channels, 1, &r);
    return t;
}

/* The same values in float32. */
static pl_speaker_tensors expanded(pl_arena *arena, const pl_speaker_tensors *tensors)
{
    pl_speaker_tensors all = *tensors;
    pl_conv_tensors *layers = (pl_conv_tensors *)(void *)&all; /* it holds nothing else */
    for (size_t i = 0; i < sizeof all / sizeof *layers; i++) {
        pl_tensor *t = &layers[i].weight;
        if (!t->data)
            continue;
        int64_t count = pl_tensor_values(t);
        float *values = PL_NEW_ARRAY(arena, float, count);
        pl_dequantize(t->type, t->data, count, values);
        t->type = PL_F32;
        t->data = values;
        t->bytes = (size_t)count * sizeof *values;
    }
    return all;
}

typedef struct tapped {
    float *blocks[PL_SPEAKER_BLOCKS], *mfa; /* [frames][width] */
    int64_t mfa_count;
} tapped;

static void keep_blocks(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    (void)type, (void)rank;
    tapped *t = context;
    size_t count = (size_t)shape[0] * (size_t)(rank == 2 ? shape[1] : 1);
    if (strlen(name) == 6 && memcmp(name, "block", 5) == 0 && name[5] > '0')
        memcpy(t->blocks[name[5] - '1'], data, count * sizeof(float));
    if (strcmp(name, "mfa") == 0) {
        memcpy(t->mfa + t->mfa_count, data, count * sizeof(float));
        t->mfa_count += (int64_t)count;
    }
}

static void run_tensors(encoder *e, const pl_speaker_tensors *t, int64_t frames, float *vector, const pl_tap *tap)
{
    parley_error error;
    spectrum s = made_up(frames);
    need(pl_speaker_load(&e->loader, &odd_shape, t, &e->speaker, &error), &error);
    assert_int_equal(pl_speaker_length(e->speaker), ODD_LENGTH);
    need(pl_speaker_run(&e->compute, e->speaker, s.values, frames, vector, NULL, tap, &error), &error);
    free(s.values);
}

/* Quantised weights mean what their blocks say: the same vector as with the dequantised values. No activation is rounded, although the compute asks
 * for 8-bit ones. */
static void weight_types_are_read(void **state)
{
    (void)state;
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0, PL_Q4_0};
    encoder *e = open_tensors("voice_a", PARLEY_CPU_BEST, 2, NULL);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        float vector[ODD_LENGTH], plain[ODD_LENGTH], largest = 0;
        pl_speaker_tensors t = tensors_of(&e->arena, types[i], &odd_shape), values = expanded(&e->arena, &t);
        run_tensors(e, &t, 200, vector, NULL);
        run_tensors(e, &values, 200, plain, NULL);
        for (int k = 0; k < ODD_LENGTH; k++)
            largest = fmaxf(largest, fabsf(plain[k]));
        for (int k = 0; k < ODD_LENGTH; k++)
            if (!(fabsf(vector[k] - plain[k]) <= 1e-5f * largest))
                fail_msg("%s, entry %d: %.9g, expected %.9g", pl_type_info(types[i])->name, k, (double)vector[k], (double)plain[k]);
    }
    close_encoder(e);
}

static double mfa_of(const pl_conv_tensors *layer, const tapped *kept, int64_t t, int row)
{
    const float *w = layer->weight.data, *bias = layer->bias.data;
    int channels = odd_shape.channels, width = PL_SPEAKER_BLOCKS * channels;
    double sum = (double)bias[row];
    for (int i = 0; i < width; i++)
        sum += (double)w[row * width + i] * (double)kept->blocks[i / channels][t * channels + i % channels];
    return fmax(sum, 0);
}

/* The layer behind the blocks is wider than they are together, and takes their place. */
static void wide_aggregation(void **state)
{
    (void)state;
    enum { FRAMES = 1500 };
    encoder *e = open_tensors("voice_a", PARLEY_CPU_BEST, 2, NULL);
    pl_speaker_tensors t = tensors_of(&e->arena, PL_F32, &odd_shape);
    tapped kept = {.mfa = PL_NEW_ARRAY(&e->arena, float, FRAMES *odd_shape.mfa_channels)};
    for (int i = 0; i < PL_SPEAKER_BLOCKS; i++)
        kept.blocks[i] = PL_NEW_ARRAY(&e->arena, float, FRAMES *odd_shape.channels);
    float vector[ODD_LENGTH];
    run_tensors(e, &t, FRAMES, vector, &(pl_tap){keep_blocks, &kept});
    assert_int_equal(kept.mfa_count, FRAMES * odd_shape.mfa_channels);
    for (int64_t i = 0; i < kept.mfa_count; i += 7) {
        double expected = mfa_of(&t.mfa, &kept, i / odd_shape.mfa_channels, (int)(i % odd_shape.mfa_channels));
        if (!(fabs((double)kept.mfa[i] - expected) <= 1e-5 * (1 + expected)))
            fail_msg("value %lld: %.9g, expected %.9g", (long long)i, (double)kept.mfa[i], expected);
    }
    close_encoder(e);
}

/* ------------------------------------------------------------------ faults */

static void too_few_frames_are_refused(void **state)
{
    (void)state;
    encoder *e = open_encoder("voice_a", PARLEY_CPU_BEST, 1);
    float vector[128], mel[5 * 128] = {0};
    for (int64_t frames = -1; frames < PL_SPEAKER_MIN_FRAMES; frames++) {
        parley_error error = {0};
        assert_int_equal(pl_speaker_run(&e->compute, e->speaker, mel, frames, vector, NULL, NULL, &error), PARLEY_ARGUMENT);
        assert_non_null(strstr(error.text, "frames"));
    }
    assert_int_equal(pl_speaker_run(&e->compute, e->speaker, mel, PL_SPEAKER_MIN_FRAMES, vector, NULL, NULL, NULL), PARLEY_OK);
    close_encoder(e);
}

typedef struct patience {
    int left; /* questions until the answer is yes */
} patience;

static bool is_out_of(void *context)
{
    patience *p = context;
    return p->left-- == 0;
}

/* Wherever the caller wants it to, a run ends, and the next one gives what it always gives. */
static void a_run_can_be_cancelled(void **state)
{
    (void)state;
    enum { ROWS = 700 };
    encoder *e = open_encoder("voice_a", PARLEY_CPU_BEST, 1);
    float expected[128] = {0}, vector[128] = {0};
    spectrum s = made_up(ROWS);
    run_made_up(e, ROWS, expected);
    int asked = 0;
    for (parley_status status = PARLEY_CANCELLED; status != PARLEY_OK; asked++) {
        parley_error error = {0};
        patience p = {asked};
        status = pl_speaker_run(&e->compute, e->speaker, s.values, ROWS, vector, &(pl_stop){is_out_of, &p}, NULL, &error);
        if (status != PARLEY_OK)
            assert_int_equal(status, PARLEY_CANCELLED);
    }
    assert_in_range(asked, PL_SPEAKER_BLOCKS + 3, 200);
    assert_memory_equal(vector, expected, (size_t)pl_speaker_length(e->speaker) * sizeof *vector);
    free(s.values);
    close_encoder(e);
}

static void bad_values_are_reported(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    encoder *e = open_encoder("voice_a", PARLEY_CPU_BEST, 1);
    float vector[128];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        parley_error error = {0};
        spectrum s = made_up(40);
        s.values[20 * 128 + 64] = bad[i];
        assert_int_equal(pl_speaker_run(&e->compute, e->speaker, s.values, s.frames, vector, NULL, NULL, &error), PARLEY_VALUE);
        assert_non_null(strstr(error.text, "vector"));
        free(s.values);
    }
    run_made_up(e, 40, vector);
    close_encoder(e);
}

static void bad_groups_are_refused(void **state)
{
    (void)state;
    static const int scales[] = {0, 1, 5, 17, 64};
    encoder *e = open_tensors("voice_a", PARLEY_CPU_BEST, 1, NULL);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        pl_speaker_shape shape = e->config.speaker;
        parley_error error = {0};
        shape.scale = scales[i];
        assert_int_equal(pl_speaker_load(&e->loader, &shape, &e->tensors.speaker, &e->speaker, &error), PARLEY_SHAPE);
        assert_non_null(strstr(error.text, "groups"));
    }
    close_encoder(e);
}

static void refused_memory_is_reported(void **state)
{
    (void)state;
    limit_allocator limited = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = {.context = &limited, .alloc = limit_alloc, .release = limit_release};
    int failures = 0;
    spectrum s = made_up(1500);
    for (size_t calls = 0; calls < 100; calls++) {
        limited.left = SIZE_MAX;
        encoder *e = open_tensors("voice_a", PARLEY_CPU_BEST, 1, &allocator);
        float vector[128];
        load(e);
        limited.left = calls;
        parley_error error = {0};
        parley_status status = pl_speaker_run(&e->compute, e->speaker, s.values, s.frames, vector, NULL, NULL, &error);
        close_encoder(e);
        assert_int_equal(limited.held, 0);
        if (status == PARLEY_OK)
            break;
        assert_int_equal(status, PARLEY_MEMORY);
        failures++;
    }
    assert_in_range(failures, 2, 99);
    free(s.values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_cases_at_every_level),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(long_sounds_are_pooled_as_a_whole),
        cmocka_unit_test(memory_is_linear_and_kept),
        cmocka_unit_test(weight_types_are_read),
        cmocka_unit_test(wide_aggregation),
        cmocka_unit_test(too_few_frames_are_refused),
        cmocka_unit_test(a_run_can_be_cancelled),
        cmocka_unit_test(bad_values_are_reported),
        cmocka_unit_test(bad_groups_are_refused),
        cmocka_unit_test(refused_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
