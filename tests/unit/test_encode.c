/* Blocks that are written: their error against searches without shortcuts, and what cannot be represented. */
#include "kernels/kernels.h"

#include "support/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 200, SUPER = 256, WIDEST = SUPER * 4 };

/* A bell of width `scale`, nearly. */
static float bell(test_random *r, float scale)
{
    float sum = 0.0f;
    for (int i = 0; i < 6; i++)
        sum += test_float(r, scale);
    return sum * 0.7f;
}

static void weights_of(const float *x, int n, float *w)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < n; i++)
        w[i] = sqrtf(sum / (float)n) + fabsf(x[i]);
}

static double error_of(const float *x, const float *y, const float *w, int n)
{
    double error = 0.0;
    for (int i = 0; i < n; i++)
        error += (double)w[i] * ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return error;
}

static void round_trip(pl_type type, const float *x, int n, float *y)
{
    uint8_t blocks[WIDEST * 4];
    memset(blocks, 0xA5, sizeof blocks);
    pl_encode(type, x, n, blocks);
    pl_dequantize(type, blocks, n, y);
}

static int nearest(float v, int low, int high)
{
    int q = (int)lrintf(v);
    return q < low ? low : q > high ? high : q;
}

/* The least weighted error of any scale that a half can hold, of both signs. */
static double best_q4_0(const float *x, const float *w)
{
    double best = INFINITY;
    for (uint32_t h = 0; h < 0x7C00; h += 1) {
        float d = pl_half_to_float((uint16_t)h), y[2][32];
        if (d < 0.02f || d > 0.4f)
            continue;
        for (int i = 0; i < 32; i++) {
            y[0][i] = d * (float)nearest(x[i] / d, -8, 7);
            y[1][i] = -d * (float)nearest(-x[i] / d, -8, 7);
        }
        best = fmin(best, fmin(error_of(x, y[0], w, 32), error_of(x, y[1], w, 32)));
    }
    return best;
}

static void q4_0_is_near_the_best_scale(void **state)
{
    (void)state;
    test_random r = {7};
    double ours = 0.0, best = 0.0;
    for (int b = 0; b < BLOCKS; b++) {
        float x[32], y[32], w[32];
        for (int i = 0; i < 32; i++)
            x[i] = bell(&r, 0.5f);
        weights_of(x, 32, w);
        round_trip(PL_Q4_0, x, 32, y);
        double mine = error_of(x, y, w, 32), least = best_q4_0(x, w);
        assert_true(mine >= least * 0.9999 && mine <= least * 1.1);
        ours += mine;
        best += least;
    }
    assert_true(ours <= best * 1.01);
}

/* Scale and offset of a sub-block by its ends alone, without rounding of either: better than any plain encoder can store. */
static double plain_q4_k(const float *x, const float *w)
{
    double error = 0.0;
    for (int s = 0; s < SUPER; s += 32) {
        float low = 0.0f, high = x[s], y[32];
        for (int i = 0; i < 32; i++) {
            low = fminf(low, x[s + i]);
            high = fmaxf(high, x[s + i]);
        }
        float d = (high - low) / 15.0f;
        for (int i = 0; i < 32; i++)
            y[i] = d * (float)nearest((x[s + i] - low) / d, 0, 15) + low;
        error += error_of(x + s, y, w + s, 32);
    }
    return error;
}

/* Likewise of 16 values by the largest. */
static double plain_q6_k(const float *x, const float *w)
{
    double error = 0.0;
    for (int s = 0; s < SUPER; s += 16) {
        float largest = 0.0f, y[16];
        for (int i = 0; i < 16; i++)
            largest = fmaxf(largest, fabsf(x[s + i]));
        float d = largest / 31.0f;
        for (int i = 0; i < 16; i++)
            y[i] = d * (float)nearest(x[s + i] / d, -32, 31);
        error += error_of(x + s, y, w + s, 16);
    }
    return error;
}

static void k_types_beat_plain_scales(void **state)
{
    (void)state;
    test_random r = {11};
    double ours4 = 0.0, plain4 = 0.0, ours6 = 0.0, plain6 = 0.0;
    for (int b = 0; b < BLOCKS; b++) {
        float x[SUPER], y[SUPER], w[SUPER];
        for (int i = 0; i < SUPER; i++)
            x[i] = bell(&r, 0.02f);
        for (int s = 0; s < SUPER; s += 32)
            weights_of(x + s, 32, w + s);
        round_trip(PL_Q4_K, x, SUPER, y);
        ours4 += error_of(x, y, w, SUPER);
        plain4 += plain_q4_k(x, w);
        weights_of(x, SUPER, w);
        round_trip(PL_Q6_K, x, SUPER, y);
        ours6 += error_of(x, y, w, SUPER);
        plain6 += plain_q6_k(x, w);
    }
    assert_true(ours4 < plain4 * 0.9);
    assert_true(ours6 < plain6);
}

/* Root mean square over that of the values. The numbers are those of a bell: an encoder that loses a bit doubles them. */
static void errors_are_what_the_bits_allow(void **state)
{
    (void)state;
    static const struct {
        pl_type type;
        double most;
    } rows[] = {{PL_F32, 0.0}, {PL_F16, 3e-4}, {PL_BF16, 2.2e-3}, {PL_Q8_0, 6e-3}, {PL_Q6_K, 2e-2}, {PL_Q4_K, 8e-2}, {PL_Q4_0, 9.5e-2}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        test_random r = {3};
        double squares = 0.0, difference = 0.0;
        for (int b = 0; b < BLOCKS; b++) {
            float x[SUPER], y[SUPER];
            for (int i = 0; i < SUPER; i++)
                x[i] = bell(&r, 0.03f);
            round_trip(rows[k].type, x, SUPER, y);
            for (int i = 0; i < SUPER; i++) {
                squares += (double)x[i] * (double)x[i];
                difference += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
            }
        }
        double error = sqrt(difference / squares);
        if (error > rows[k].most || error < rows[k].most / 3)
            fail_msg("%s: %g, at most %g expected", pl_type_info(rows[k].type)->name, error, rows[k].most);
    }
}

/* Values that a block can hold come back. */
static void blocks_survive(void **state)
{
    (void)state;
    test_random r = {19};
    for (int b = 0; b < BLOCKS; b++) {
        float x[32], y[32], d = pl_half_to_float((uint16_t)(0x2400 + test_below(&r, 0x800))) * (test_below(&r, 2) ? 1.0f : -1.0f);
        for (int i = 0; i < 32; i++)
            x[i] = d * (float)(test_below(&r, 16) - 8);
        x[0] = d * -8.0f;
        round_trip(PL_Q4_0, x, 32, y);
        assert_memory_equal(x, y, sizeof x);
    }
}

/* Rows that leave nothing to divide by, or only one sign. */
static void odd_rows_stay_finite(void **state)
{
    (void)state;
    static const pl_type types[] = {PL_Q8_0, PL_Q6_K, PL_Q4_K, PL_Q4_0};
    static const float bases[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e-30f, -1e-38f, 3e4f, -3e4f};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
            for (int shape = 0; shape < 3; shape++) {
                float x[SUPER], y[SUPER];
                for (int i = 0; i < SUPER; i++) /* constant; one value alone; a ramp of one sign */
                    x[i] = shape == 0 ? bases[b] : shape == 1 ? (i == 77 ? bases[b] : 0.0f) : bases[b] * (float)(i + 1) / SUPER;
                round_trip(types[k], x, SUPER, y);
                for (int i = 0; i < SUPER; i++)
                    if (!isfinite(y[i]) || fabsf(y[i] - x[i]) > fabsf(bases[b]) * 0.12f + 1e-7f)
                        fail_msg("%s, base %g, shape %d: value %d is %g, %g expected", pl_type_info(types[k])->name, (double)bases[b], shape, i,
                                 (double)y[i], (double)x[i]);
            }
}

static void types_that_are_written(void **state)
{
    (void)state;
    for (int t = 0; t < PL_TYPE_COUNT; t++) {
        bool expected = t == PL_F32 || t == PL_F16 || t == PL_BF16 || t == PL_Q8_0 || t == PL_Q6_K || t == PL_Q4_K || t == PL_Q4_0;
        assert_int_equal(pl_type_is_encoded((pl_type)t), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q4_0_is_near_the_best_scale),    cmocka_unit_test(k_types_beat_plain_scales),
        cmocka_unit_test(errors_are_what_the_bits_allow), cmocka_unit_test(blocks_survive),
        cmocka_unit_test(odd_rows_stay_finite),           cmocka_unit_test(types_that_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
