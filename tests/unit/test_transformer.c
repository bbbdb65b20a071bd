/* The causal decoder: against a plain calculation without cache, and against itself in every way of cutting the work up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cpu.h"
#include "nn/transformer.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 48, HEADS = 4, KV_HEADS = 2, HEAD = 32, FFN = 96, LAYERS = 3, LENGTH = 150, LIMIT = 400 };

typedef struct network {
    pl_arena arena;
    pl_pool *pool;
    pl_compute compute;
    pl_transformer t;
} network;

/* ------------------------------------------------------------------ a random network */

static const float *random_vector(network *n, test_random *r, int count, float middle, float scale)
{
    float *v = PL_NEW_ARRAY(&n->arena, float, count);
    for (int i = 0; i < count; i++)
        v[i] = middle + test_float(r, scale);
    return v;
}

static void random_linear(network *n, test_random *r, pl_type type, int out, int in, bool bias, pl_linear *linear)
{
    pl_loader loader = {.arena = &n->arena, .pool = n->pool};
    float scale = 1.7f / sqrtf((float)in);
    const float *values = random_vector(n, r, out * in, 0, scale);
    void *data = pl_arena_alloc(&n->arena, pl_row_bytes(type, (int64_t)out * in), 1);
    pl_quantize(type, values, (int64_t)out * in, data);
    pl_tensor weight = {.type = type, .rank = 2, .shape = {out, in}, .data = data};
    assert_int_equal(pl_load_linear(&loader, &weight, NULL, linear, NULL), PARLEY_OK);
    linear->bias = bias ? random_vector(n, r, out, 0, 0.1f) : NULL;
}

static void random_block(network *n, test_random *r, pl_type type, pl_block *b)
{
    const pl_transformer_shape *s = &n->t.shape;
    bool plain = s->kind == PL_BLOCK_PLAIN;
    b->norm1 = random_vector(n, r, s->width, 1, 0.2f);
    b->norm2 = random_vector(n, r, s->width, 1, 0.2f);
    b->norm1_bias = plain ? random_vector(n, r, s->width, 0, 0.1f) : NULL;
    b->norm2_bias = plain ? random_vector(n, r, s->width, 0, 0.1f) : NULL;
    b->q_norm = plain ? NULL : random_vector(n, r, s->head, 1.5f, 0.2f);
    b->k_norm = plain ? NULL : random_vector(n, r, s->head, 1.5f, 0.2f);
    b->attention_scale = plain ? random_vector(n, r, s->width, 0.5f, 0.2f) : NULL;
    b->ffn_scale = plain ? random_vector(n, r, s->width, 0.5f, 0.2f) : NULL;
    b->ffn_input_scale = plain ? NULL : random_vector(n, r, s->width, 1, 0.3f);
    random_linear(n, r, type, s->heads * s->head, s->width, plain, &b->q);
    random_linear(n, r, type, s->kv_heads * s->head, s->width, plain, &b->k);
    random_linear(n, r, type, s->kv_heads * s->head, s->width, plain, &b->v);
    random_linear(n, r, type, s->width, s->heads * s->head, plain, &b->o);
    random_linear(n, r, type, s->ffn, s->width, plain, &b->up);
    if (!plain)
        random_linear(n, r, type, s->ffn, s->width, false, &b->gate);
    random_linear(n, r, type, s->width, s->ffn, plain, &b->down);
}

static void open_network(network *n, pl_block_kind kind, pl_type type, int64_t window, int threads, parley_cpu level, bool int8)
{
    parley_allocator allocator = pl_default_allocator();
    test_random r = {12345};
    pl_transformer_shape shape = {.kind = kind,
                                  .layers = LAYERS,
                                  .width = type == PL_Q8_0 ? 64 : WIDTH,
                                  .heads = HEADS,
                                  .kv_heads = KV_HEADS,
                                  .head = HEAD,
                                  .ffn = FFN,
                                  .eps = 1e-6f,
                                  .theta = 1e4,
                                  .window = window};
    *n = (network){0};
    pl_arena_init(&n->arena, NULL, 1 << 16);
    assert_int_equal(pl_pool_open(&allocator, threads, &n->pool, NULL), PARLEY_OK);
    assert_int_equal(pl_compute_open(&allocator, pl_kernels_for(level), n->pool, int8, &n->compute, NULL), PARLEY_OK);
    assert_int_equal(pl_transformer_prepare(&n->arena, shape, &n->t, NULL), PARLEY_OK);
    for (int i = 0; i < LAYERS; i++)
        random_block(n, &r, type, &n->t.blocks[i]);
    n->t.norm = random_vector(n, &r, shape.width, 1, 0.2f);
    n->t.norm_bias = kind == PL_BLOCK_PLAIN ? random_vector(n, &r, shape.width, 0, 0.1f) : NULL;
}

static void close_network(network *n)
{
    pl_compute_close(&n->compute);
    pl_pool_close(n->pool);
    pl_arena_free(&n->arena);
}

static parley_cpu best_level(void)
{
    parley_cpu level;
    assert_int_equal(pl_cpu_choose(PARLEY_CPU_BEST, &level, NULL), PARLEY_OK);
    return level;
}

static pl_kv new_cache(const network *n, pl_type type)
{
    parley_allocator allocator = pl_default_allocator();
    pl_kv kv;
    pl_transformer_kv(&n->t, &allocator, type, LIMIT, &kv);
    return kv;
}

/* Input row `position` of sequence `which`. */
static void input_row(const network *n, int which, int position, float *x)
{
    test_random r = {(uint64_t)which * 1000003u + (uint64_t)position * 7919u + 1};
    for (int i = 0; i < 8; i++)
        test_next(&r);
    for (int i = 0; i < n->t.shape.width; i++)
        x[i] = test_float(&r, 1);
}

/* Feeds `count` rows of sequence `which` behind what the cache holds; all results to out. */
static void feed(network *n, pl_kv *kv, int which, int count, float *out)
{
    int width = n->t.shape.width;
    float *x = malloc((size_t)count * (size_t)width * sizeof *x);
    for (int i = 0; i < count; i++)
        input_row(n, which, (int)kv->length + i, x + i * width);
    pl_tokens tokens = {kv, count};
    pl_forward f = {.x = x, .sequences = &tokens, .n_sequences = 1, .out = out};
    parley_error error = {0};
    parley_status status = pl_transformer_forward(&n->compute, &n->t, &f, &error);
    if (status != PARLEY_OK)
        fail_msg("%s", error.text);
    free(x);
}

static void same_rows(const network *n, const float *a, const float *b, int rows, const char *what)
{
    if (memcmp(a, b, (size_t)rows * (size_t)n->t.shape.width * sizeof *a) == 0)
        return;
    for (int i = 0; i < rows * n->t.shape.width; i++)
        if (a[i] != b[i])
            fail_msg("%s: row %d column %d: %.9g and %.9g", what, i / n->t.shape.width, i % n->t.shape.width, (double)a[i], (double)b[i]);
}

/* ------------------------------------------------------------------ the plain calculation, in double, T x T */

static double element(const pl_matrix *w, int row, int column)
{
    size_t k = (size_t)column;
    const uint8_t *panel = w->data + (size_t)(row / PL_PANEL) * w->panel_bytes;
    size_t at = k * PL_PANEL + (size_t)(row % PL_PANEL);
    if (w->type == PL_F32)
        return (double)((const float *)(const void *)panel)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)(const void *)panel)[at] << 16; /* BF16 */
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void plain_linear(const pl_linear *l, const double *x, double *y)
{
    for (int r = 0; r < l->w.rows; r++) {
        y[r] = l->bias ? (double)l->bias[r] : 0;
        for (int k = 0; k < l->w.cols; k++)
            y[r] += element(&l->w, r, k) * x[k];
    }
}

static void plain_norm(const pl_transformer_shape *s, const double *x, const float *w, const float *b, int n, double *y)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n && b; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (x[i] - mean) / sqrt(square + (double)s->eps) * (double)w[i] + (b ? (double)b[i] : 0);
}

static void plain_heads(const pl_transformer_shape *s, double *x, int heads, const float *norm, int position)
{
    for (int h = 0; h < heads; h++, x += s->head) {
        if (norm)
            plain_norm(s, x, norm, NULL, s->head, x);
        for (int i = 0; i < s->head / 2; i++) {
            double angle = position * pow(s->theta, -2.0 * i / s->head), a = x[i], b = x[i + s->head / 2];
            x[i] = a * cos(angle) - b * sin(angle);
            x[i + s->head / 2] = b * cos(angle) + a * sin(angle);
        }
    }
}

/* Rounds as the cache does. */
static void through_cache(pl_type type, double *x, int n)
{
    float values[KV_HEADS * HEAD] = {0};
    uint8_t bytes[KV_HEADS * HEAD * 4];
    for (int i = 0; i < n; i++)
        values[i] = (float)x[i];
    pl_quantize(type, values, n, bytes);
    pl_dequantize(type, bytes, n, values);
    for (int i = 0; i < n; i++)
        x[i] = (double)values[i];
}

typedef double rows_of[LENGTH][HEADS * HEAD];
static double stream[LENGTH][64], normed[LENGTH][64], added[64], inner[FFN], gates[FFN];
static rows_of qs, ks, vs, mixed;

static void plain_attend(const pl_transformer_shape *s, int row, int head)
{
    double weight[LENGTH], sum = 0, best = -1e300;
    int kv = head / (s->heads / s->kv_heads), begin = s->window && row >= s->window ? row - (int)s->window + 1 : 0;
    for (int j = begin; j <= row; j++) {
        weight[j] = 0;
        for (int i = 0; i < s->head; i++)
            weight[j] += qs[row][head * s->head + i] * ks[j][kv * s->head + i] / sqrt(s->head);
        best = weight[j] > best ? weight[j] : best;
    }
    for (int j = begin; j <= row; j++)
        sum += weight[j] = exp(weight[j] - best);
    for (int i = 0; i < s->head; i++) {
        mixed[row][head * s->head + i] = 0;
        for (int j = begin; j <= row; j++)
            mixed[row][head * s->head + i] += weight[j] / sum * vs[j][kv * s->head + i];
    }
}

static void plain_add(double *x, const double *y, const float *scale, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += y[i] * (scale ? (double)scale[i] : 1);
}

static void plain_attention(const pl_transformer_shape *s, const pl_block *b, pl_type cache, int rows)
{
    for (int r = 0; r < rows; r++) {
        plain_norm(s, stream[r], b->norm1, b->norm1_bias, s->width, normed[r]);
        plain_linear(&b->q, normed[r], qs[r]);
        plain_linear(&b->k, normed[r], ks[r]);
        plain_linear(&b->v, normed[r], vs[r]);
        plain_heads(s, qs[r], s->heads, b->q_norm, r);
        plain_heads(s, ks[r], s->kv_heads, b->k_norm, r);
        through_cache(cache, ks[r], s->kv_heads * s->head);
        through_cache(cache, vs[r], s->kv_heads * s->head);
    }
    for (int r = 0; r < rows; r++) {
        for (int h = 0; h < s->heads; h++)
            plain_attend(s, r, h);
        plain_linear(&b->o, mixed[r], added);
        plain_add(stream[r], added, b->attention_scale, s->width);
    }
}

static void plain_ffn(const pl_transformer_shape *s, const pl_block *b, int r)
{
    plain_norm(s, stream[r], b->norm2, b->norm2_bias, s->width, normed[r]);
    for (int i = 0; i < s->width && b->ffn_input_scale; i++)
        normed[r][i] *= (double)b->ffn_input_scale[i];
    plain_linear(&b->up, normed[r], inner);
    if (s->kind == PL_BLOCK_GATED)
        plain_linear(&b->gate, normed[r], gates);
    for (int i = 0; i < s->ffn; i++)
        inner[i] *= s->kind == PL_BLOCK_GATED ? gates[i] / (1 + exp(-gates[i])) : 0.5 * (1 + erf(inner[i] * sqrt(0.5)));
    plain_linear(&b->down, inner, added);
    plain_add(stream[r], added, b->ffn_scale, s->width);
}

static void plain_forward(const network *n, pl_type cache, int which, int rows, double *out)
{
    const pl_transformer_shape *s = &n->t.shape;
    float x[64];
    for (int r = 0; r < rows; r++) {
        input_row(n, which, r, x);
        for (int i = 0; i < s->width; i++)
            stream[r][i] = (double)x[i];
    }
    for (int l = 0; l < LAYERS; l++) {
        plain_attention(s, &n->t.blocks[l], cache, rows);
        for (int r = 0; r < rows; r++)
            plain_ffn(s, &n->t.blocks[l], r);
    }
    for (int r = 0; r < rows; r++)
        plain_norm(s, stream[r], n->t.norm, n->t.norm_bias, s->width, out + r * s->width);
}

/* ------------------------------------------------------------------ tests */

static const pl_type cache_types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
enum { CACHE_TYPES = 4 };

static void check_against_plain(pl_block_kind kind, pl_type type, int64_t window, parley_cpu level)
{
    network n;
    open_network(&n, kind, type, window, 2, level, false);
    static float out[LENGTH * 64];
    static double want[LENGTH * 64];
    for (int c = 0; c < CACHE_TYPES; c++) {
        pl_kv kv = new_cache(&n, cache_types[c]);
        feed(&n, &kv, 1, LENGTH, out);
        plain_forward(&n, cache_types[c], 1, LENGTH, want);
        double worst = 0, top = 0;
        for (int i = 0; i < LENGTH * n.t.shape.width; i++) {
            worst = fmax(worst, fabs(want[i] - (double)out[i]));
            top = fmax(top, fabs(want[i]));
        }
        /* float32 against double; where the cache rounds coarsely, a value on the edge between two steps may take the other one */
        double allowed = cache_types[c] == PL_F32 ? 5e-6 : 3e-2;
        if (worst > allowed * top)
            fail_msg("level %s, cache %s: off by %g of %g", parley_cpu_name(level), pl_type_info(cache_types[c])->name, worst, top);
        pl_kv_free(&kv);
    }
    close_network(&n);
}

static void test_equals_plain_calculation(void **state)
{
    (void)state;
    for (parley_cpu level = PARLEY_CPU_SCALAR; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1)) {
        if (!pl_cpu_has(level))
            continue;
        check_against_plain(PL_BLOCK_GATED, PL_F32, 0, level);
        check_against_plain(PL_BLOCK_GATED, PL_BF16, 12, level);
        check_against_plain(PL_BLOCK_PLAIN, PL_F32, 72, level);
    }
}

/* Every prefix computed again from nothing gives the row that the cache gave, for each type of cache. */
static void test_cached_equals_recomputed(void **state)
{
    (void)state;
    network n;
    open_network(&n, PL_BLOCK_GATED, PL_BF16, 0, 2, best_level(), false);
    int width = n.t.shape.width;
    static float step[LENGTH * 64], again[LENGTH * 64];
    for (int c = 0; c < CACHE_TYPES; c++) {
        pl_kv kv = new_cache(&n, cache_types[c]), fresh = new_cache(&n, cache_types[c]);
        for (int i = 0; i < 70; i++)
            feed(&n, &kv, 2, 1, step + i * width);
        for (int length = 1; length <= 70; length += length < 5 || length > 60 ? 1 : 7) {
            pl_kv_truncate(&fresh, 0);
            feed(&n, &fresh, 2, length, again);
            same_rows(&n, step, again, length, pl_type_info(cache_types[c])->name);
        }
        pl_kv_free(&kv);
        pl_kv_free(&fresh);
    }
    close_network(&n);
}

static void check_pieces(network *n, pl_type cache)
{
    int width = n->t.shape.width;
    static float whole[LENGTH * 64], pieces[LENGTH * 64];
    pl_kv kv = new_cache(n, cache), cut = new_cache(n, cache);
    feed(n, &kv, 3, LENGTH, whole);
    test_random r = {99};
    for (int round = 0; round < 4; round++) {
        pl_kv_truncate(&cut, 0);
        for (int at = 0; at < LENGTH;) {
            int count = 1 + test_below(&r, round < 2 ? 5 : 60);
            count = count < LENGTH - at ? count : LENGTH - at;
            feed(n, &cut, 3, count, pieces + at * width);
            at += count;
        }
        same_rows(n, whole, pieces, LENGTH, "pieces");
    }
    pl_kv_free(&kv);
    pl_kv_free(&cut);
}

static void test_one_call_equals_many(void **state)
{
    (void)state;
    for (int c = 0; c < CACHE_TYPES; c++) {
        network n;
        open_network(&n, PL_BLOCK_GATED, c % 2 ? PL_Q8_0 : PL_F32, c < 2 ? 0 : 12, 2, best_level(), c % 2);
        check_pieces(&n, cache_types[c]);
        close_network(&n);
    }
}

/* Eight sequences of unequal lengths: prompts together, then steps together, some leaving early. */
static void check_batch(network *n, pl_type cache)
{
    enum { SEQUENCES = 8, STEPS = 6 };
    static const int lengths[SEQUENCES] = {1, 17, 64, 5, 90, 33, 2, 65};
    int width = n->t.shape.width, at = 0;
    static float alone[SEQUENCES][LENGTH * 64], x[400 * 64], out[400 * 64];
    pl_kv kv[SEQUENCES], solo[SEQUENCES];
    pl_tokens tokens[SEQUENCES];
    for (int s = 0; s < SEQUENCES; s++) {
        kv[s] = new_cache(n, cache);
        solo[s] = new_cache(n, cache);
        feed(n, &solo[s], s, lengths[s] + STEPS, alone[s]);
    }
    for (int s = 0; s < SEQUENCES; s++) {
        tokens[s] = (pl_tokens){&kv[s], lengths[s]};
        for (int i = 0; i < lengths[s]; i++)
            input_row(n, s, i, x + at++ * width);
    }
    pl_forward f = {.x = x, .sequences = tokens, .n_sequences = SEQUENCES, .out = out};
    assert_int_equal(pl_transformer_forward(&n->compute, &n->t, &f, NULL), PARLEY_OK);
    at = 0;
    for (int s = 0; s < SEQUENCES; at += lengths[s++])
        same_rows(n, alone[s], out + at * width, lengths[s], "batch prefill");
    for (int step = 0; step < STEPS; step++) {
        int running = SEQUENCES - step;
        for (int s = 0; s < running; s++) {
            tokens[s] = (pl_tokens){&kv[s], 1};
            input_row(n, s, lengths[s] + step, x + s * width);
        }
        f.n_sequences = running;
        assert_int_equal(pl_transformer_forward(&n->compute, &n->t, &f, NULL), PARLEY_OK);
        for (int s = 0; s < running; s++)
            same_rows(n, alone[s] + (lengths[s] + step) * width, out + s * width, 1, "batch step");
    }
    for (int s = 0; s < SEQUENCES; s++) {
        pl_kv_free(&kv[s]);
        pl_kv_free(&solo[s]);
    }
}

static void test_batch_equals_alone(void **state)
{
    (void)state;
    for (int c = 0; c < CACHE_TYPES; c++) {
        network n;
        open_network(&n, PL_BLOCK_GATED, c % 2 ? PL_Q8_0 : PL_BF16, 0, 2, best_level(), c % 2);
        check_batch(&n, cache_types[c]);
        close_network(&n);
    }
}

static void test_threads_agree(void **state)
{
    (void)state;
    static float out[3][LENGTH * 64];
    static const int threads[] = {1, 2, 4};
    for (int int8 = 0; int8 < 2; int8++) {
        for (int t = 0; t < 3; t++) {
            network n;
            open_network(&n, PL_BLOCK_GATED, PL_Q8_0, 0, threads[t], best_level(), int8);
            pl_kv kv = new_cache(&n, PL_F16);
            feed(&n, &kv, 4, LENGTH, out[t]);
            if (t > 0)
                same_rows(&n, out[0], out[t], LENGTH, "threads");
            pl_kv_free(&kv);
            close_network(&n);
        }
    }
}

static void test_rollback_and_prefix(void **state)
{
    (void)state;
    network n;
    open_network(&n, PL_BLOCK_GATED, PL_F32, 0, 2, best_level(), false);
    int width = n.t.shape.width;
    static float straight[LENGTH * 64], other[LENGTH * 64];
    pl_kv kv = new_cache(&n, PL_F16), copy = new_cache(&n, PL_F16);
    feed(&n, &kv, 5, 100, straight);
    pl_kv_truncate(&kv, 60);
    feed(&n, &kv, 5, 40, other);
    same_rows(&n, straight + 60 * width, other, 40, "behind a truncation");
    assert_int_equal(pl_kv_copy_prefix(&copy, &kv, 70, NULL), PARLEY_OK);
    feed(&n, &copy, 5, 30, other);
    same_rows(&n, straight + 70 * width, other, 30, "behind a copied prefix");
    pl_kv_free(&kv);
    pl_kv_free(&copy);
    close_network(&n);
}

static void test_wanted_rows_only(void **state)
{
    (void)state;
    network n;
    open_network(&n, PL_BLOCK_GATED, PL_F32, 0, 2, best_level(), false);
    static float all[LENGTH * 64], some[3 * 64], x[LENGTH * 64];
    static const int rows[] = {0, 40, 99};
    pl_kv kv = new_cache(&n, PL_F32), again = new_cache(&n, PL_F32);
    feed(&n, &kv, 6, 100, all);
    for (int i = 0; i < 100; i++)
        input_row(&n, 6, i, x + i * n.t.shape.width);
    pl_tokens tokens = {&again, 100};
    pl_forward f = {.x = x, .sequences = &tokens, .n_sequences = 1, .rows = rows, .n_rows = 3, .out = some};
    assert_int_equal(pl_transformer_forward(&n.compute, &n.t, &f, NULL), PARLEY_OK);
    for (int i = 0; i < 3; i++)
        same_rows(&n, all + rows[i] * n.t.shape.width, some + i * n.t.shape.width, 1, "wanted rows");
    pl_kv_free(&kv);
    pl_kv_free(&again);
    close_network(&n);
}

static void test_limit_and_cancel_leave_the_sequence(void **state)
{
    (void)state;
    network n;
    open_network(&n, PL_BLOCK_GATED, PL_F32, 0, 2, best_level(), false);
    static float out[LENGTH * 64], again[LENGTH * 64], x[(LIMIT + 1) * 64];
    pl_kv kv = new_cache(&n, PL_F32);
    feed(&n, &kv, 7, 10, out);
    pl_tokens tokens = {&kv, LIMIT};
    pl_forward f = {.x = x, .sequences = &tokens, .n_sequences = 1, .out = x};
    parley_error error;
    assert_int_equal(pl_transformer_forward(&n.compute, &n.t, &f, &error), PARLEY_LIMIT);
    assert_non_null(strstr(error.text, "400"));
    assert_int_equal(kv.length, 10);
    atomic_bool cancel = true;
    tokens.count = 5;
    f.cancel = &cancel;
    assert_int_equal(pl_transformer_forward(&n.compute, &n.t, &f, &error), PARLEY_CANCELLED);
    assert_int_equal(kv.length, 10);
    feed(&n, &kv, 7, 20, out);
    pl_kv_truncate(&kv, 10);
    feed(&n, &kv, 7, 20, again);
    same_rows(&n, out, again, 20, "behind failures");
    pl_kv_free(&kv);
    close_network(&n);
}

/* Blocks see themselves both ways: a block's rows do not change with what stands before it, and its first row depends on its last. */
static void test_blocks_see_themselves_only(void **state)
{
    (void)state;
    enum { BLOCK = 40, ROWS = 100 };
    network n;
    open_network(&n, PL_BLOCK_PLAIN, PL_F32, 0, 2, best_level(), false);
    n.t.shape.block = BLOCK;
    n.t.shape.theta = 0;
    int width = n.t.shape.width;
    static float whole[ROWS * 64], x[ROWS * 64], alone[ROWS * 64];
    pl_kv kv = new_cache(&n, PL_F32), own = new_cache(&n, PL_F32);
    feed(&n, &kv, 9, ROWS, whole);
    for (int start = 0; start < ROWS; start += BLOCK) {
        int count = start + BLOCK < ROWS ? BLOCK : ROWS - start;
        for (int i = 0; i < count; i++)
            input_row(&n, 9, start + i, x + i * width);
        pl_kv_truncate(&own, 0);
        pl_tokens tokens = {&own, count};
        pl_forward f = {.x = x, .sequences = &tokens, .n_sequences = 1, .out = alone};
        assert_int_equal(pl_transformer_forward(&n.compute, &n.t, &f, NULL), PARLEY_OK);
        for (int i = 0; i < count * width; i++) /* not bit-equal: the softmax walks absolute positions in runs of 64 */
            assert_true(fabsf(whole[start * width + i] - alone[i]) < 2e-6f);
    }
    for (int i = 0; i < BLOCK; i++)
        input_row(&n, 9, i, x + i * width);
    x[(BLOCK - 1) * width] += 1;
    pl_kv_truncate(&own, 0);
    pl_tokens tokens = {&own, BLOCK};
    pl_forward f = {.x = x, .sequences = &tokens, .n_sequences = 1, .out = alone};
    assert_int_equal(pl_transformer_forward(&n.compute, &n.t, &f, NULL), PARLEY_OK);
    assert_memory_not_equal(whole, alone, (size_t)width * sizeof *whole);
    pl_kv_free(&kv);
    pl_kv_free(&own);
    close_network(&n);
}

/* Memory follows use: windows keep it flat, and blocks are reused. */
static void test_cache_memory(void **state)
{
    (void)state;
    network n;
    open_network(&n, PL_BLOCK_GATED, PL_F32, 12, 1, best_level(), false);
    float out[64];
    pl_kv kv = new_cache(&n, PL_F16);
    for (int i = 0; i < 300; i++) {
        feed(&n, &kv, 8, 1, out);
        pl_kv_drop_before(&kv, kv.length - 12);
    }
    assert_int_equal(kv.high_water, 2 * kv.block_bytes);
    pl_kv_truncate(&kv, 0);
    feed(&n, &kv, 8, 1, out);
    assert_int_equal(kv.high_water, 2 * kv.block_bytes);
    pl_kv_free(&kv);
    close_network(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_plain_calculation),
        cmocka_unit_test(test_cached_equals_recomputed),
        cmocka_unit_test(test_one_call_equals_many),
        cmocka_unit_test(test_batch_equals_alone),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_rollback_and_prefix),
        cmocka_unit_test(test_wanted_rows_only),
        cmocka_unit_test(test_limit_and_cancel_leave_the_sequence),
        cmocka_unit_test(test_blocks_see_themselves_only),
        cmocka_unit_test(test_cache_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
