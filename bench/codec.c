/* Milliseconds a frame of the codec decoder in its published size, random weights. By hand, from the project's folder after a Release build:
 *   gcc -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/codec.c build/libparley.a -lcjson -lutf8proc -lpthread -lm -o /tmp/bench_codec
 *   /tmp/bench_codec [seconds a figure] [level]
 * f32 and int8 weights take turns. */
#include "base/clock.h"
#include "base/cpu.h"
#include "codec/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1536 * 768 * 16 };

static const pl_codec_shape shape = {
    .groups = 16,
    .codebook_size = 2048,
    .codebook_width = 256,
    .rvq_width = 512,
    .latent = 1024,
    .transformer = {.kind = PL_BLOCK_GATED,
                    .layers = 8,
                    .width = 512,
                    .heads = 16,
                    .kv_heads = 16,
                    .head = 64,
                    .ffn = 1024,
                    .eps = 1e-5f,
                    .theta = 10000,
                    .window = 72},
    .n_ratios = 2,
    .ratios = {2, 2},
    .decoder_dim = 1536,
    .n_rates = 4,
    .rates = {8, 5, 4, 3},
    .sample_rate = 24000,
};

static const float *values; /* one buffer serves all tensors: they are packed one by one */

static pl_tensor tensor(int64_t a, int64_t b, int64_t c)
{
    pl_tensor t = {.type = PL_F32, .rank = c ? 3 : b ? 2 : 1, .shape = {a, b, c}, .data = values};
    t.bytes = (size_t)pl_tensor_values(&t) * sizeof(float);
    return t;
}

static pl_conv_tensors conv(int64_t out, int64_t in, int64_t k, int64_t bias)
{
    return (pl_conv_tensors){tensor(out, in, k), tensor(bias, 0, 0)};
}

static pl_snake_tensors snake(int64_t n)
{
    return (pl_snake_tensors){tensor(n, 0, 0), tensor(n, 0, 0)};
}

static void fill_transformer(pl_codec_tensors *t)
{
    t->norm = tensor(512, 0, 0);
    for (int i = 0; i < shape.transformer.layers; i++) {
        struct pl_codec_block_tensors *b = &t->blocks[i];
        b->norm1 = b->norm2 = b->attention_scale = b->ffn_scale = tensor(512, 0, 0);
        b->q = b->k = b->v = b->gate = b->up = tensor(1024, 512, 0);
        b->o = b->down = tensor(512, 1024, 0);
    }
}

static void fill(pl_codec_tensors *t)
{
    for (int g = 0; g < shape.groups; g++)
        t->codebooks[g] = tensor(2048, 256, 0);
    t->first_out = t->rest_out = tensor(512, 256, 1);
    t->pre_conv = conv(1024, 512, 3, 1024);
    t->in_proj = conv(512, 1024, 0, 512);
    t->out_proj = conv(1024, 512, 0, 1024);
    fill_transformer(t);
    for (int i = 0; i < shape.n_ratios; i++) {
        struct pl_codec_up_tensors *u = &t->up[i];
        u->conv = conv(1024, 1024, 2, 1024);
        u->depthwise = conv(1024, 1, 7, 1024);
        u->norm_weight = u->norm_bias = u->gamma = tensor(1024, 0, 0);
        u->pw1 = conv(4096, 1024, 0, 4096);
        u->pw2 = conv(1024, 4096, 0, 1024);
    }
    t->voc0 = conv(1536, 1024, 7, 1536);
    for (int i = 0, n = shape.decoder_dim; i < shape.n_rates; i++, n /= 2) {
        struct pl_codec_stage_tensors *s = &t->stages[i];
        s->snake = snake(n);
        s->conv = conv(n, n / 2, 2 * shape.rates[i], n / 2);
        for (int u = 0; u < PL_CODEC_UNITS; u++) {
            s->units[u].act1 = s->units[u].act2 = snake(n / 2);
            s->units[u].conv1 = conv(n / 2, n / 2, 7, n / 2);
            s->units[u].conv2 = conv(n / 2, n / 2, 1, n / 2);
        }
    }
    t->last_snake = snake(96);
    t->last_conv = conv(1, 96, 7, 1);
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
    values = v;
}

enum { KINDS = 2, LONGEST = 16 };
static const char *const kinds[KINDS] = {"f32", "int8"};

/* One way to decode: weights and a stream. */
typedef struct decoding {
    pl_codec_decoder *decoder;
    pl_codec_state *state;
    double best;
} decoding;

static void decode(pl_compute *compute, decoding *d, int piece)
{
    static int32_t codes[LONGEST * 16];
    static float pcm[LONGEST * 1920];
    parley_error error;
    for (int i = 0; i < LONGEST * 16; i++)
        codes[i] = (int32_t)((unsigned)i * 2654435761u >> 21);
    double begin = pl_seconds();
    need(pl_codec_decode(compute, d->decoder, d->state, codes, piece, pcm, NULL, &error), &error);
    double took = pl_seconds() - begin;
    d->best = took < d->best ? took : d->best;
}

static void measure(pl_compute *compute, decoding *both, int piece, double seconds)
{
    for (int k = 0; k < KINDS; k++)
        both[k].best = 1e9;
    for (double end = pl_seconds() + seconds; pl_seconds() < end;)
        for (int k = 0; k < KINDS; k++)
            decode(compute, &both[k], piece);
    for (int k = 0; k < KINDS; k++)
        printf("%s, %d threads, pieces of %2d, %-4s: %7.2f ms a frame\n", parley_cpu_name(compute->k->level), pl_pool_threads(compute->pool), piece,
               kinds[k], both[k].best / piece * 1e3);
}

static void report(const parley_allocator *allocator, const pl_kernels *kernels, decoding *both, int threads, double seconds)
{
    static const int pieces[] = {1, 4, 8, LONGEST};
    pl_pool *pool;
    pl_compute compute;
    parley_error error;
    need(pl_pool_open(allocator, threads, &pool, &error), &error);
    need(pl_compute_open(allocator, kernels, pool, false, &compute, &error), &error);
    for (int k = 0; k < KINDS; k++)
        need(pl_codec_state_open(allocator, both[k].decoder, &both[k].state, &error), &error);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        measure(&compute, both, pieces[i], seconds);
    for (int k = 0; k < KINDS; k++) {
        printf("state, %s: %.1f MB\n", kinds[k], (double)pl_codec_state_bytes(both[k].state) * 1e-6);
        pl_codec_state_close(both[k].state);
    }
    pl_compute_close(&compute);
    pl_pool_close(pool);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2.0;
    parley_cpu cap = PARLEY_CPU_BEST, level;
    parley_error error;
    pl_arena arena;
    pl_tensor codebooks[16], usages[16] = {{0}};
    struct pl_codec_block_tensors blocks[8];
    pl_codec_tensors tensors = {.codebooks = codebooks, .usages = usages, .blocks = blocks};
    decoding both[KINDS] = {{0}};
    if (argc > 2 && !parley_cpu_from_name(argv[2], &cap))
        return 2;
    need(pl_cpu_choose(cap, &level, &error), &error);
    pl_arena_init(&arena, NULL, 1 << 24);
    random_values();
    fill(&tensors);
    for (int k = 0; k < KINDS; k++) {
        pl_loader loader = {.arena = &arena, .int8 = k == 1};
        need(pl_codec_decoder_load(&loader, &shape, &tensors, &both[k].decoder, &error), &error);
        printf("weights, %s: %.0f MB\n", kinds[k], (double)loader.packed_bytes * 1e-6);
    }
    for (int threads = 1; threads <= 2; threads++)
        report(&arena.allocator, pl_kernels_for(level), both, threads, seconds);
    pl_arena_free(&arena);
    return 0;
}
