/* Blocks of every weight type against values that the official package reads from them (tests/golden/quants): equal bits. */
#include "kernels/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *file;
    pl_type type;
    int rows, width;
} files[] = {
    {"F16", PL_F16, 9, 32},     {"BF16", PL_BF16, 9, 32},   {"Q8_0", PL_Q8_0, 16, 32},  {"Q4_0", PL_Q4_0, 16, 32},
    {"Q4_1", PL_Q4_1, 16, 32},  {"Q5_0", PL_Q5_0, 16, 32},  {"Q5_1", PL_Q5_1, 16, 32},  {"Q2_K", PL_Q2_K, 16, 256},
    {"Q3_K", PL_Q3_K, 16, 256}, {"Q4_K", PL_Q4_K, 16, 256}, {"Q5_K", PL_Q5_K, 16, 256}, {"Q6_K", PL_Q6_K, 16, 256},
};

/* The whole file, exactly as long as asked for, in a buffer without slack. */
static uint8_t *read_file(const char *name, const char *ending, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/quants/%s.%s", TEST_DATA, name, ending);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, size, f), size);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    return bytes;
}

static void all_types_give_the_stored_bits(void **state)
{
    (void)state;
    enum { NPY_HEAD = 128 };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t values = (size_t)files[i].rows * (size_t)files[i].width, float_bytes = values * sizeof(float);
        uint8_t *blocks = read_file(files[i].file, "bin", pl_row_bytes(files[i].type, (int64_t)values));
        uint8_t *expected = read_file(files[i].file, "npy", NPY_HEAD + float_bytes);
        float *got = malloc(float_bytes);
        assert_non_null(got);
        pl_dequantize(files[i].type, blocks, (int64_t)values, got);
        for (size_t v = 0; v < values; v++)
            if (memcmp(got + v, expected + NPY_HEAD + v * sizeof(float), sizeof(float)) != 0)
                fail_msg("%s: value %zu has other bits: %g", files[i].file, v, (double)got[v]);
        free(blocks), free(expected), free(got);
    }
}

/* Every half but NaN goes to float32 and back unchanged, and in order. */
static void halves_survive(void **state)
{
    (void)state;
    float before = 0.0f;
    for (uint32_t h = 0; h <= 0x7C00; h++) {
        float value = pl_half_to_float((uint16_t)h);
        assert_int_equal(pl_float_to_half(value), h);
        assert_int_equal(pl_float_to_half(-value), h | 0x8000);
        assert_true(h == 0 || value > before);
        before = value;
    }
    assert_true(isinf(before));
    assert_true(isnan(pl_half_to_float(0x7E01)));
    assert_true(isnan(pl_half_to_float(pl_float_to_half(NAN))));
}

/* Values between two halves go to the nearer one, ties to the even one. */
static void halves_round_to_even(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7BFF; h++) {
        float low = pl_half_to_float((uint16_t)h), high = pl_half_to_float((uint16_t)(h + 1)), middle = low + (high - low) / 2;
        assert_int_equal(pl_float_to_half(middle), h + (h & 1));
        assert_int_equal(pl_float_to_half(nextafterf(middle, low)), h);
        assert_int_equal(pl_float_to_half(nextafterf(middle, high)), h + 1);
    }
    assert_int_equal(pl_float_to_half(65519.996f), 0x7BFF);
    assert_int_equal(pl_float_to_half(65520.0f), 0x7C00);
    assert_int_equal(pl_float_to_half(3e38f), 0x7C00);
}

static void bf16_rounds_to_even(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits;
        uint16_t expected;
    } cases[] = {
        {0x3F800000, 0x3F80}, {0x3F807FFF, 0x3F80}, {0x3F808000, 0x3F80}, {0x3F808001, 0x3F81}, {0x3F818000, 0x3F82},
        {0x80000000, 0x8000}, {0x7F7FFFFF, 0x7F80}, {0xFF800000, 0xFF80}, {0x00008000, 0x0000}, {0x00018000, 0x0002},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float value;
        uint16_t got;
        memcpy(&value, &cases[i].bits, sizeof value);
        pl_quantize(PL_BF16, &value, 1, &got);
        assert_int_equal(got, cases[i].expected);
    }
    float nan = NAN, back;
    uint16_t got;
    pl_quantize(PL_BF16, &nan, 1, &got);
    pl_dequantize(PL_BF16, &got, 1, &back);
    assert_true(isnan(back));
}

static void q8_0_rounds_as_ggml(void **state)
{
    (void)state;
    float source[64] = {0}, back[64];
    uint8_t blocks[68];
    for (int i = 0; i < 32; i++)
        source[i] = (float)(i - 16) * 0.5f; /* amax 8: scale 8 / 127 */
    source[33] = 127.0f, source[34] = 0.5f, source[35] = -0.5f, source[36] = -1.5f, source[37] = 2.4999f;
    pl_quantize(PL_Q8_0, source, 64, blocks);
    assert_int_equal(blocks[0] | blocks[1] << 8, pl_float_to_half(8.0f / 127.0f));
    for (int i = 0; i < 32; i++)
        assert_int_equal((int8_t)blocks[2 + i], (int)roundf(source[i] * (1.0f / (8.0f / 127.0f))));
    static const int second[] = {0, 127, 1, -1, -2, 2}; /* halves go away from zero */
    for (int i = 0; i < 6; i++)
        assert_int_equal((int8_t)blocks[36 + i], second[i]);
    pl_dequantize(PL_Q8_0, blocks, 64, back);
    for (int i = 0; i < 64; i++)
        assert_true(fabsf(back[i] - source[i]) <= (i < 32 ? 0.05f : 0.51f));
}

/* Zeros, subnormals and what is not finite: no crash, no undefined conversion. */
static void q8_0_takes_anything(void **state)
{
    (void)state;
    const float values[] = {0.0f, -0.0f, 1e-45f, -1e-40f, INFINITY, -INFINITY, NAN, 3.4e38f};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        float source[32];
        uint8_t block[34];
        for (int k = 0; k < 32; k++)
            source[k] = k % 3 ? values[i] : 0.25f * (float)k * (i < 4 ? 0.0f : 1.0f);
        pl_quantize(PL_Q8_0, source, 32, block);
        if (values[i] == 0.0f)
            assert_int_equal(block[0] | block[1] | block[3], 0);
    }
}

static void f32_and_f16_are_copied(void **state)
{
    (void)state;
    const float source[4] = {1.5f, -2.0f, 65504.0f, 1e-8f};
    float same[4], half[4];
    uint16_t words[4];
    pl_quantize(PL_F32, source, 4, same);
    assert_memory_equal(source, same, sizeof source);
    pl_quantize(PL_F16, source, 4, words);
    pl_dequantize(PL_F16, words, 4, half);
    assert_true(half[0] == 1.5f && half[1] == -2.0f && half[2] == 65504.0f && half[3] == 0.0f);
}

/* Rows read back out of packed and unpacked matrices are the rows that went in, as their type holds them. */
static void test_rows_of_matrices(void **state)
{
    (void)state;
    enum { ROWS = 37, COLS = 256 };
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    static float values[ROWS * COLS], wanted[COLS], got[COLS];
    static uint8_t rows[ROWS * COLS * 4], packed[48 * COLS * 4 + 4096];
    for (int i = 0; i < ROWS * COLS; i++)
        values[i] = (float)((i * 7919) % 2001 - 1000) * 1e-3f;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        size_t row_bytes = pl_row_bytes(types[t], COLS);
        pl_matrix m = {.type = types[t], .rows = ROWS, .cols = COLS, .panel_bytes = pl_panel_bytes(types[t], COLS), .data = packed};
        pl_pack_map map = {.outer = ROWS, .stride_o = COLS, .taps = 1, .width = COLS, .stride_c = 1};
        pl_quantize(types[t], values, ROWS * COLS, rows);
        pl_pack(&m, packed, types[t], rows, &map, 0, pl_panels(&m));
        for (int r = 0; r < ROWS; r++) {
            pl_dequantize(types[t], rows + (size_t)r * row_bytes, COLS, wanted);
            pl_matrix_row(&m, r, got);
            assert_memory_equal(wanted, got, sizeof got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_give_the_stored_bits),
        cmocka_unit_test(halves_survive),
        cmocka_unit_test(halves_round_to_even),
        cmocka_unit_test(bf16_rounds_to_even),
        cmocka_unit_test(q8_0_rounds_as_ggml),
        cmocka_unit_test(q8_0_takes_anything),
        cmocka_unit_test(f32_and_f16_are_copied),
        cmocka_unit_test(test_rows_of_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
