/* Speed and memory of the codec encoder in its published size, random weights. By hand, from the project's folder after a Release build:
 *   gcc -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/codec_encoder.c build/libparley.a -lcjson -lutf8proc -lpthread -lm \
 *       -o /tmp/bench_encoder
 *   /tmp/bench_encoder [seconds of sound] [level] [threads] */
#include "base/clock.h"
#include "base/cpu.h"
#include "codec/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1024 * 512 * 16, RATE = 24000 };

static const pl_encoder_shape shape = {
    .groups = 16,
    .codebook_size = 2048,
    .codebook_width = 256,
    .filters = 64,
    .width = 512,
    .transformer = {.kind = PL_BLOCK_PLAIN,
                    .layers = 8,
                    .width = 512,
                    .heads = 8,
                    .kv_heads = 8,
                    .head = 64,
                    .ffn = 2048,
                    .eps = 1e-5f,
                    .theta = 10000},
    .n_ratios = 4,
    .ratios = {4, 5, 6, 8},
};

static const float *values; /* one buffer serves all tensors: they are packed one by one */

static pl_tensor tensor(int64_t a, int64_t b, int64_t c)
{
    pl_tensor t = {.type = PL_F32, .rank = c ? 3 : b ? 2 : 1, .shape = {a, b, c}, .data = values};
    t.bytes = (size_t)pl_tensor_values(&t) * sizeof(float);
    return t;
}

static pl_conv_tensors conv(int64_t out, int64_t in, int64_t k)
{
    return (pl_conv_tensors){tensor(out, in, k), tensor(out, 0, 0)};
}

static void fill(pl_encoder_tensors *t)
{
    t->conv0 = conv(64, 1, 7);
    for (int64_t i = 0, c = 64; i < 4; i++, c *= 2) {
        t->stages[i].res1 = conv(c / 2, c, 3);
        t->stages[i].res2 = conv(c, c / 2, 1);
        t->stages[i].down = conv(2 * c, c, 2 * shape.ratios[i]);
    }
    t->conv1 = conv(512, 1024, 3);
    for (int i = 0; i < shape.transformer.layers; i++) {
        struct pl_encoder_block_tensors *b = &t->blocks[i];
        b->norm1 = b->norm2 = (pl_conv_tensors){tensor(512, 0, 0), tensor(512, 0, 0)};
        b->attention_scale = b->ffn_scale = tensor(512, 0, 0);
        b->q = b->k = b->v = b->o = tensor(512, 512, 0);
        b->up = tensor(2048, 512, 0);
        b->down = tensor(512, 2048, 0);
    }
    t->downsample = tensor(512, 512, 4);
    t->semantic_in = t->acoustic_in = tensor(256, 512, 1);
    for (int g = 0; g < shape.groups; g++)
        t->codebooks[g] = tensor(2048, 256, 0);
}

static void need(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK) {
        fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

static float *random_values(int64_t count, float scale)
{
    float *v = malloc((size_t)count * sizeof *v);
    if (!v)
        exit(1);
    uint32_t seed = 1;
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = scale * (float)(int32_t)seed * 0x1p-31f;
    }
    return v;
}

/* ------------------------------------------------------------------ where the time goes: from tap to tap */

enum { PARTS = 32 };

typedef struct profile {
    double last, seconds[PARTS];
    char names[PARTS][16];
    int count;
} profile;

static void on_tap(void *context, const char *name, char type, const void *data, const int64_t *dims, int rank)
{
    (void)type, (void)data, (void)dims, (void)rank;
    profile *p = context;
    double now = pl_seconds();
    int i = 0;
    if (strncmp(name, "tf_layer", 8) == 0)
        name = "tf_layer";
    while (i < p->count && strcmp(p->names[i], name) != 0)
        i++;
    if (i == p->count && p->count < PARTS)
        snprintf(p->names[p->count++], sizeof p->names[i], "%s", name);
    p->seconds[i] += now - p->last;
    p->last = now;
}

/* An allocator that remembers the most that was held. */
typedef struct meter {
    size_t held, most;
} meter;

static void *meter_alloc(void *context, size_t size, size_t alignment)
{
    meter *m = context;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size) != 0)
        return NULL;
    m->held += size;
    m->most = m->held > m->most ? m->held : m->most;
    return memory;
}

static void meter_release(void *context, void *memory, size_t size)
{
    ((meter *)context)->held -= size;
    free(memory);
}

static void report(const pl_kernels *kernels, const pl_codec_encoder *encoder, int threads, const float *pcm, int64_t samples)
{
    meter m = {0};
    parley_allocator allocator = {meter_alloc, meter_release, &m};
    pl_pool *pool;
    pl_compute compute;
    parley_error error;
    profile p = {0};
    int32_t *codes = calloc((size_t)pl_codec_encoder_frames(encoder, samples) * 16, sizeof *codes);
    need(pl_pool_open(&allocator, threads, &pool, &error), &error);
    need(pl_compute_open(&allocator, kernels, pool, false, &compute, &error), &error);
    double best = 1e9, length = (double)samples / RATE;
    for (int i = 0; i < (length < 60 ? 4 : 1); i++) {
        double begin = pl_seconds();
        need(pl_codec_encode(&compute, encoder, pcm, samples, codes, NULL, NULL, &error), &error);
        double took = pl_seconds() - begin;
        best = took < best ? took : best;
    }
    printf("%s, %d threads: %.1f s of sound in %.3f s, %.1f x real time; %.1f MB\n", parley_cpu_name(kernels->level), threads, length, best, length / best,
           (double)m.most * 1e-6);
    p.last = pl_seconds();
    if (length < 60)
        need(pl_codec_encode(&compute, encoder, pcm, samples, codes, NULL, &(pl_tap){on_tap, &p}, &error), &error);
    for (int i = 0; i < p.count; i++)
        printf("  %-12s %7.2f ms\n", p.names[i], p.seconds[i] * 1e3);
    free(codes);
    pl_compute_close(&compute);
    pl_pool_close(pool);
}

int main(int argc, char **argv)
{
    int64_t samples = (int64_t)((argc > 1 ? atof(argv[1]) : 10.0) * RATE);
    parley_cpu cap = PARLEY_CPU_BEST, level;
    parley_error error;
    pl_arena arena;
    pl_tensor codebooks[16], usages[16] = {{0}};
    struct pl_encoder_block_tensors blocks[8];
    pl_encoder_tensors tensors = {.codebooks = codebooks, .usages = usages, .blocks = blocks};
    pl_codec_encoder *encoder;
    if (argc > 2 && !parley_cpu_from_name(argv[2], &cap))
        return 2;
    need(pl_cpu_choose(cap, &level, &error), &error);
    pl_arena_init(&arena, NULL, 1 << 24);
    values = random_values(LARGEST, 0.05f);
    fill(&tensors);
    pl_loader loader = {.arena = &arena};
    need(pl_codec_encoder_load(&loader, &shape, &tensors, &encoder, &error), &error);
    printf("weights: %.0f MB\n", (double)loader.packed_bytes * 1e-6);
    report(pl_kernels_for(level), encoder, argc > 3 ? atoi(argv[3]) : 2, random_values(samples, 0.3f), samples);
    pl_arena_free(&arena);
    return 0;
}
