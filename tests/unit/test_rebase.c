/* Moving the positions of a windowed transformer back: results stay, memory is reused. */
#include "base/arena.h"
#include "nn/rebase.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WIDTH = 32, HEADS = 2, HEAD = 16, FFN = 48, WINDOW = 70, LAYERS = 2 };

static uint32_t seed;

static float noise(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed * 0x1p-31f;
}

static const float *vector(pl_arena *arena, int64_t n, float scale, float offset)
{
    float *v = PL_NEW_ARRAY(arena, float, n);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++)
        v[i] = offset + scale * noise();
    return v;
}

static void matrix(pl_loader *loader, int out, int in, pl_linear *layer)
{
    parley_error error;
    pl_tensor t = {.type = PL_F32, .rank = 2, .shape = {out, in}, .data = vector(loader->arena, (int64_t)out * in, 0.4f, 0.0f)};
    t.bytes = (size_t)out * (size_t)in * sizeof(float);
    assert_int_equal(pl_load_linear(loader, &t, NULL, layer, &error), PARLEY_OK);
}

static void make(pl_loader *loader, pl_transformer *t)
{
    pl_transformer_shape shape = {.layers = LAYERS,
                                  .width = WIDTH,
                                  .heads = HEADS,
                                  .kv_heads = HEADS,
                                  .head = HEAD,
                                  .ffn = FFN,
                                  .eps = 1e-5f,
                                  .theta = 10000,
                                  .window = WINDOW};
    parley_error error;
    assert_int_equal(pl_transformer_prepare(loader->arena, shape, t, &error), PARLEY_OK);
    for (int i = 0; i < LAYERS; i++) {
        pl_block *b = &t->blocks[i];
        b->norm1 = vector(loader->arena, WIDTH, 0.1f, 1.0f);
        b->norm2 = vector(loader->arena, WIDTH, 0.1f, 1.0f);
        matrix(loader, HEADS * HEAD, WIDTH, &b->q);
        matrix(loader, HEADS * HEAD, WIDTH, &b->k);
        matrix(loader, HEADS * HEAD, WIDTH, &b->v);
        matrix(loader, WIDTH, HEADS * HEAD, &b->o);
        matrix(loader, FFN, WIDTH, &b->gate);
        matrix(loader, FFN, WIDTH, &b->up);
        matrix(loader, WIDTH, FFN, &b->down);
    }
}

static void step(pl_compute *compute, const pl_transformer *t, pl_kv *kv, const float *input, float *out)
{
    float x[WIDTH];
    parley_error error;
    for (int i = 0; i < WIDTH; i++)
        x[i] = input[i];
    pl_tokens tokens = {kv, 1};
    pl_forward forward = {.x = x, .sequences = &tokens, .n_sequences = 1, .out = out};
    assert_int_equal(pl_transformer_forward(compute, t, &forward, &error), PARLEY_OK);
}

static void test_results_stay(void **state)
{
    (void)state;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 16);
    pl_loader loader = {.arena = &arena};
    pl_transformer t;
    pl_compute compute;
    parley_error error;
    pl_kv plain, moved;
    float cosine[HEAD / 2], sine[HEAD / 2], a[WIDTH], b[WIDTH], differ = 0, largest = 0;
    make(&loader, &t);
    assert_int_equal(pl_compute_open(&arena.allocator, pl_kernels_for(PARLEY_CPU_SCALAR), NULL, false, &compute, &error), PARLEY_OK);
    pl_transformer_kv(&t, &arena.allocator, PL_F32, 1 << 20, &plain);
    pl_transformer_kv(&t, &arena.allocator, PL_F32, 384, &moved); /* too short without moving */
    for (int p = 0; p < 1000; p++) {
        const float *x = vector(&arena, WIDTH, 1.0f, 0.0f);
        if (moved.length == 320)
            pl_transformer_rebase(&compute, &t, &moved, 192, cosine, sine);
        step(&compute, &t, &plain, x, a);
        step(&compute, &t, &moved, x, b);
        pl_kv_drop_before(&moved, moved.length - WINDOW + 1);
        for (int i = 0; i < WIDTH; i++) {
            differ = fmaxf(differ, fabsf(a[i] - b[i]));
            largest = fmaxf(largest, fabsf(a[i]));
        }
    }
    assert_int_equal(plain.length, 1000);
    assert_int_equal(moved.length, 1000 - 192 * 4);
    assert_true(largest > 0.5f && differ > 0.0f);
    assert_true(differ < 1e-4f * largest);
    assert_true(moved.bytes <= 3 * moved.block_bytes);
    pl_kv_free(&plain);
    pl_kv_free(&moved);
    pl_compute_close(&compute);
    pl_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
