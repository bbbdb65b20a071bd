/* Milliseconds a second of audio of the audio tower in the size of the 0.6B model, random weights, stem and layers apart. By hand, from the project's
 * folder after a Release build:
 *   gcc -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/tower.c build/libparley.a -lcjson -lutf8proc -lsndfile -lsoxr -lpthread -lm -o
 *   /tmp/bench_tower
 *   /tmp/bench_tower [seconds of audio] [runs] [f32|bf16|q8_0] [level] */
#include "base/clock.h"
#include "base/cpu.h"
#include "encoder/tower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 896 * 7680, FRAMES = 100 };

static const pl_tower_shape shape = {
    .mels = 128, .width = 896, .layers = 18, .heads = 14, .ffn = 3584, .out = 1024, .channels = 480, .window = 50, .window_infer = 800};

static const void *values[PL_TYPE_COUNT]; /* one buffer a type serves all tensors: they are packed one by one */
static pl_type type = PL_BF16;

static pl_tensor tensor(pl_type of, int rank, int64_t a, int64_t b)
{
    pl_tensor t = {.type = of, .rank = rank, .shape = {a, b, 3, 3}, .data = values[of]};
    t.bytes = pl_row_bytes(of, pl_tensor_values(&t));
    return t;
}

static pl_conv_tensors linear(int64_t out, int64_t in)
{
    return (pl_conv_tensors){tensor(type, 2, out, in), tensor(PL_F32, 1, out, 0)};
}

static pl_conv_tensors conv(int64_t out, int64_t in)
{
    return (pl_conv_tensors){tensor(type == PL_Q8_0 ? PL_F16 : type, 4, out, in), tensor(PL_F32, 1, out, 0)};
}

static pl_conv_tensors norm(void)
{
    return (pl_conv_tensors){tensor(PL_F32, 1, shape.width, 0), tensor(PL_F32, 1, shape.width, 0)};
}

static void fill(pl_tower_tensors *t)
{
    int64_t d = shape.width;
    for (int i = 0; i < PL_TOWER_CONVS; i++)
        t->convs[i] = conv(shape.channels, i ? shape.channels : 1);
    t->conv_out = tensor(type, 2, d, shape.channels * shape.mels / 8);
    for (int i = 0; i < shape.layers; i++) {
        struct pl_tower_block_tensors *b = &t->blocks[i];
        b->norm1 = b->norm2 = norm();
        b->q = b->k = b->v = b->o = linear(d, d);
        b->fc1 = linear(shape.ffn, d);
        b->fc2 = linear(d, shape.ffn);
    }
    t->ln_post = norm();
    t->proj1 = linear(d, d);
    t->proj2 = linear(shape.out, d);
}

static void need(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK) {
        fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

static void random_values(void)
{
    float *v = malloc(LARGEST * sizeof *v);
    if (!v)
        exit(1);
    uint32_t seed = 1;
    for (int i = 0; i < LARGEST; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = 0.02f * (float)(int32_t)seed * 0x1p-31f;
    }
    values[PL_F32] = v;
    static const pl_type others[] = {PL_F16, PL_BF16, PL_Q8_0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        void *as = malloc(pl_row_bytes(others[i], LARGEST));
        if (!as)
            exit(1);
        pl_quantize(others[i], v, LARGEST, as);
        values[others[i]] = as;
    }
}

/* When the stem of a group, and its layers, were through. */
typedef struct parts {
    double last, stem, layers;
} parts;

static void on_tap(void *context, const char *name, char kind, const void *data, const int64_t *sizes, int rank)
{
    (void)kind, (void)data, (void)sizes, (void)rank;
    parts *p = context;
    double now = pl_seconds();
    if (strcmp(name, "tower_embed") == 0)
        p->stem += now - p->last;
    else if (strcmp(name, "tower_out") == 0)
        p->layers += now - p->last;
    else
        return;
    p->last = now;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(pl_compute *compute, const pl_tower *tower, int seconds, int runs, int threads)
{
    static double stem[100], layers[100], whole[100];
    int64_t frames = (int64_t)seconds * FRAMES;
    float *mel = calloc((size_t)(frames * shape.mels), sizeof *mel);
    float *out = calloc((size_t)(pl_tower_tokens(&shape, frames) * shape.out), sizeof *out);
    parley_error error;
    if (!mel || !out)
        exit(1);
    for (int64_t i = 0; i < frames * shape.mels; i++)
        mel[i] = (float)(i * 2654435761u % 1000) * 0.002f - 1.0f;
    for (int i = -1; i < runs; i++) {
        parts p = {.last = pl_seconds()};
        double begin = p.last;
        need(pl_tower_run(compute, tower, mel, frames, &(pl_tower_options){.tap = {on_tap, &p}}, out, &error), &error);
        if (i >= 0)
            whole[i] = pl_seconds() - begin, stem[i] = p.stem, layers[i] = p.layers;
    }
    qsort(whole, (size_t)runs, sizeof *whole, by_value);
    qsort(stem, (size_t)runs, sizeof *stem, by_value);
    qsort(layers, (size_t)runs, sizeof *layers, by_value);
    double ms = 1e3 / seconds;
    printf("%s, %d threads, %d s: %6.2f ms a second (best %.2f), stem %6.2f (%.2f), layers %6.2f (%.2f)\n", parley_cpu_name(compute->k->level),
           threads, seconds, whole[runs / 2] * ms, whole[0] * ms, stem[runs / 2] * ms, stem[0] * ms, layers[runs / 2] * ms, layers[0] * ms);
    free(mel);
    free(out);
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 8, runs = argc > 2 ? atoi(argv[2]) : 5;
    parley_cpu cap = PARLEY_CPU_BEST, level;
    parley_error error;
    pl_arena arena;
    static struct pl_tower_block_tensors blocks[18];
    pl_tower_tensors tensors = {.blocks = blocks};
    pl_tower *tower;
    if (runs < 1 || runs > 100 || seconds < 1 || (argc > 4 && !parley_cpu_from_name(argv[4], &cap)))
        return 2;
    if (argc > 3)
        type = strcmp(argv[3], "f32") == 0 ? PL_F32 : strcmp(argv[3], "q8_0") == 0 ? PL_Q8_0 : PL_BF16;
    need(pl_cpu_choose(cap, &level, &error), &error);
    pl_arena_init(&arena, NULL, 1 << 24);
    random_values();
    fill(&tensors);
    pl_loader loader = {.arena = &arena};
    need(pl_tower_load(&loader, &shape, &tensors, &tower, &error), &error);
    printf("weights: %.0f MB\n", (double)loader.packed_bytes * 1e-6);
    for (int threads = 1; threads <= 2; threads++) {
        pl_pool *pool;
        pl_compute compute;
        need(pl_pool_open(&arena.allocator, threads, &pool, &error), &error);
        need(pl_compute_open(&arena.allocator, pl_kernels_for(level), pool, true, &compute, &error), &error);
        report(&compute, tower, seconds, runs, threads);
        printf("work space: %.1f MB\n", (double)compute.step.high_water * 1e-6);
        pl_compute_close(&compute);
        pl_pool_close(pool);
    }
    pl_arena_free(&arena);
    return 0;
}
