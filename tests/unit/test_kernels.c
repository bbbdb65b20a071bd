/* Every level that this processor has, against numbers in double precision (kernel_checks.h), and the levels against each other. */
#include "unit/kernel_checks.h"

#include <setjmp.h>

#include <cmocka.h>

static void run_checks(parley_cpu level)
{
    parley_cpu chosen;
    if (pl_cpu_choose(level, &chosen, NULL) != PARLEY_OK || !pl_kernels_for(level))
        skip();
    const pl_kernels *k = pl_kernels_for(level);
    assert_int_equal(k->level, level);
    for (int i = 0; i < KERNEL_CHECKS; i++) {
        random_state = 12345;
        const char *fault = kernel_checks[i].run(k);
        if (fault)
            fail_msg("%s, %s: %s", parley_cpu_name(level), kernel_checks[i].name, fault);
    }
}

#define LEVEL_TEST(name, level)    \
    static void name(void **state) \
    {                              \
        (void)state;               \
        run_checks(level);         \
    }
LEVEL_TEST(scalar, PARLEY_CPU_SCALAR)
LEVEL_TEST(avx2, PARLEY_CPU_AVX2)
LEVEL_TEST(avx512, PARLEY_CPU_AVX512)
LEVEL_TEST(avx512vnni, PARLEY_CPU_AVX512VNNI)
LEVEL_TEST(amx, PARLEY_CPU_AMX)
LEVEL_TEST(neon, PARLEY_CPU_NEON)
LEVEL_TEST(dotprod, PARLEY_CPU_DOTPROD)
LEVEL_TEST(i8mm, PARLEY_CPU_I8MM)

static void levels_of_this_architecture(void **state)
{
    (void)state;
    assert_non_null(pl_kernels_for(PARLEY_CPU_SCALAR));
    assert_null(pl_kernels_for(PARLEY_CPU_BEST));
#if defined(__x86_64__)
    assert_non_null(pl_kernels_for(PARLEY_CPU_AVX512VNNI));
    assert_null(pl_kernels_for(PARLEY_CPU_NEON));
#elif defined(__aarch64__)
    assert_non_null(pl_kernels_for(PARLEY_CPU_I8MM));
    assert_null(pl_kernels_for(PARLEY_CPU_AVX2));
#endif
}

/* A convolution kernel [out][in][tap] packed tap by tap, and a transposed one whose rows come in phases. */
static void packing_follows_the_map(void **state)
{
    (void)state;
    enum { ROWS = 18, TAPS = 3, WIDTH = 5 };
    float source[ROWS * WIDTH * TAPS], *panels;
    for (int i = 0; i < ROWS * WIDTH * TAPS; i++)
        source[i] = (float)i;
    pl_matrix m = {.type = PL_F32, .rows = ROWS, .cols = TAPS * WIDTH, .panel_bytes = pl_panel_bytes(PL_F32, TAPS * WIDTH)};
    panels = exact64(2 * m.panel_bytes);
    pl_pack_map map = {
        .stride_j = 9 * WIDTH * TAPS, .stride_o = WIDTH * TAPS, .stride_tap = 1, .stride_c = TAPS, .outer = 9, .taps = TAPS, .width = WIDTH};
    pl_pack(&m, (uint8_t *)panels, PL_F32, source, &map, 0, 2);
    for (int r = 0; r < 32; r++)
        for (int t = 0; t < TAPS; t++)
            for (int c = 0; c < WIDTH; c++) {
                float want = r < ROWS ? source[(r * WIDTH + c) * TAPS + t] : 0.0f;
                assert_true(panels[r / 16 * TAPS * WIDTH * 16 + (t * WIDTH + c) * 16 + r % 16] == want);
            }
    map = (pl_pack_map){.base = 2, .stride_j = -1, .stride_o = WIDTH * TAPS, .stride_c = TAPS, .outer = 6, .taps = 1, .width = WIDTH};
    m.cols = WIDTH;
    m.panel_bytes = pl_panel_bytes(PL_F32, WIDTH);
    pl_pack(&m, (uint8_t *)panels, PL_F32, source, &map, 1, 2); /* rows 16, 17: phase 2, outputs 4 and 5 */
    for (int r = 16; r < ROWS; r++)
        for (int c = 0; c < WIDTH; c++)
            assert_true(panels[16 * WIDTH + c * 16 + r % 16] == source[2 - r / 6 + (r % 6 * WIDTH + c) * TAPS]);
    free(panels);
}

static void q8_0_panels_lie_as_documented(void **state)
{
    (void)state;
    enum { ROWS = 17, COLS = 64 };
    pl_matrix m = {.type = PL_Q8_0, .rows = ROWS, .cols = COLS, .panel_bytes = pl_panel_bytes(PL_Q8_0, COLS)};
    assert_int_equal(m.panel_bytes, 2 * 512 + 64);
    uint8_t *file = random_blocks(PL_Q8_0, ROWS * COLS), *panels = exact64(2 * m.panel_bytes);
    pl_pack_map map = {.stride_o = COLS, .stride_c = 1, .outer = ROWS, .taps = 1, .width = COLS};
    pl_pack(&m, panels, PL_Q8_0, file, &map, 0, 2);
    for (int r = 0; r < 32; r++)
        for (int k = 0; k < COLS; k++) {
            const uint8_t *panel = panels + (size_t)(r / 16) * m.panel_bytes, *block = file + (r * 2 + k / 32) * 34;
            int want = r < ROWS ? (int8_t)block[2 + k % 32] + 128 : 128;
            assert_int_equal(panel[k / 32 * 512 + k % 32 / 4 * 64 + r % 16 * 4 + k % 4], want);
            for (int byte = 0; byte < 2; byte++)
                assert_int_equal(panel[1024 + (k / 32 * 16 + r % 16) * 2 + byte], r < ROWS ? block[byte] : 0);
        }
    free(file), free(panels);
}

static double squares_of_difference(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

/* Elements of a convolution [out][in][tap] that are rounded while they are packed: tap by tap, with a smaller error than amax / 127 has. */
static void rounding_while_packing(void **state)
{
    (void)state;
    enum { ROWS = 19, WIDTH = 64, TAPS = 3, COLS = TAPS * WIDTH, ALL = ROWS * COLS };
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16};
    pl_matrix m = {.type = PL_Q8_0, .rows = ROWS, .cols = COLS, .panel_bytes = pl_panel_bytes(PL_Q8_0, COLS)};
    uint8_t *panels = exact64(2 * m.panel_bytes), *blocks = exact(pl_row_bytes(PL_Q8_0, ALL));
    float *values = exact(ALL * sizeof *values), *rows = exact(ALL * sizeof *rows), *plain = exact(ALL * sizeof *plain);
    float *read = exact(ALL * sizeof *read);
    pl_pack_map conv = {.outer = ROWS, .stride_o = COLS, .taps = TAPS, .stride_tap = 1, .width = WIDTH, .stride_c = TAPS};
    m.data = panels;
    for (int t = 0; t < 3; t++) {
        uint8_t *file = random_blocks(types[t], ALL);
        pl_dequantize(types[t], file, ALL, values);
        for (int i = 0; i < ALL; i++)
            rows[i] = values[i / COLS * COLS + i % WIDTH * TAPS + i % COLS / WIDTH];
        pl_quantize(PL_Q8_0, rows, ALL, blocks);
        pl_dequantize(PL_Q8_0, blocks, ALL, plain);
        pl_pack(&m, panels, types[t], file, &conv, 0, 2);
        for (int r = 0; r < ROWS; r++)
            pl_matrix_row(&m, r, read + r * COLS);
        assert_true(squares_of_difference(read, rows, ALL) < 0.95 * squares_of_difference(plain, rows, ALL));
        free(file);
    }
    free(panels), free(blocks), free(values), free(rows), free(plain), free(read);
}

/* Blocks of zeros, of values near the smallest and the largest scale, and with values that are no numbers. */
static void rounding_at_the_ends(void **state)
{
    (void)state;
    enum { CASES = 8 };
    static const float sizes[CASES] = {0.0f, 1e-30f, 7e-6f, 1e-4f, 1.0f, 8e6f, INFINITY, NAN};
    float values[16 * 32], row[32];
    pl_matrix m = {.type = PL_Q8_0, .rows = 16, .cols = 32, .panel_bytes = pl_panel_bytes(PL_Q8_0, 32)};
    uint8_t *panel = exact64(m.panel_bytes);
    pl_pack_map line = {.outer = 16, .stride_o = 32, .taps = 1, .width = 32, .stride_c = 1};
    for (int i = 0; i < 16 * 32; i++)
        values[i] = sizes[i / 32 % CASES] * (i % 32 == 5 ? -1.0f : i % 32 == 9 ? 0.37f : 0.01f);
    m.data = panel;
    pl_pack(&m, panel, PL_F32, values, &line, 0, 1);
    for (int r = 0; r < CASES; r++) {
        pl_matrix_row(&m, r, row);
        for (int k = 0; k < 32; k++)
            if (isfinite(sizes[r])) /* a scale below 2^-24 is 0 */
                assert_true(fabsf(row[k] - values[r * 32 + k]) <= 0.006f * sizes[r] + 0x1p-25f * 127.0f);
    }
    pl_matrix_row(&m, 6, row);
    assert_true(isinf(row[5]) || isnan(row[5]));
    free(panel);
}

/* Rows come back bit for bit as the file has them. */
static void rows_are_read_back(void **state)
{
    (void)state;
    enum { ROWS = 19, COLS = 512 };
    for (pl_type type = PL_F32; type <= PL_Q6_K; type = (pl_type)(type + 1)) {
        random_state = 7;
        pl_matrix m = {.type = type, .rows = ROWS, .cols = COLS, .panel_bytes = pl_panel_bytes(type, COLS)};
        uint8_t *file = random_blocks(type, ROWS * COLS), *panels = exact64(2 * m.panel_bytes);
        pl_pack_map map = {.stride_o = COLS, .stride_c = 1, .outer = ROWS, .taps = 1, .width = COLS};
        if (pl_type_is_packed(type))
            pl_pack(&m, panels, type, file, &map, 0, 2);
        m.data = pl_type_is_packed(type) ? panels : file;
        for (int r = 0; r < ROWS; r++) {
            float want[COLS], got[COLS];
            pl_dequantize(type, file + (size_t)r * pl_row_bytes(type, COLS), COLS, want);
            pl_matrix_row(&m, r, got);
            assert_memory_equal(want, got, sizeof want);
        }
        free(file), free(panels);
    }
}

/* A weight of -128 and inputs of the far ends: no level may saturate. */
static void extreme_bytes_do_not_saturate(void **state)
{
    (void)state;
    enum { COLS = 64 };
    uint8_t file[16 * 68];
    for (int b = 0; b < 32; b++) {
        uint16_t one = pl_float_to_half(1.0f);
        memcpy(file + b * 34, &one, 2);
        memset(file + b * 34 + 2, b % 2 ? 0x7F : 0x80, 32);
    }
    pl_matrix m = {.type = PL_Q8_0, .rows = 16, .cols = COLS, .panel_bytes = pl_panel_bytes(PL_Q8_0, COLS)};
    uint8_t *panel = exact64(m.panel_bytes);
    pl_pack_map map = {.stride_o = COLS, .stride_c = 1, .outer = 16, .taps = 1, .width = COLS};
    pl_pack(&m, panel, PL_Q8_0, file, &map, 0, 1);
    m.data = panel;
    int8_t q[2 * COLS];
    float scale[4] = {1.0f, 1.0f, 1.0f, 1.0f}, y[2 * 16];
    int32_t sum[4] = {127 * 32 * 128, 127 * 32 * 128, -127 * 32 * 128, -127 * 32 * 128};
    memset(q, 127, COLS);
    memset(q + COLS, -127, COLS);
    pl_q8_rows rows = {q, scale, sum, NULL};
    pl_gemm g = {.w = &m, .taps = 1, .width = COLS, .columns = 2, .q8 = &rows, .y = y, .y_stride = 16};
    void *scratch = exact64(pl_gemm_scratch());
    for (parley_cpu level = PARLEY_CPU_SCALAR; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1)) {
        const pl_kernels *k = pl_cpu_has(level) ? pl_kernels_for(level) : NULL;
        if (!k || !k->int8)
            continue;
        k->gemm(&g, 0, 1, 0, 2, scratch);
        for (int r = 0; r < 16; r++)
            assert_true(y[r] == -1.0f * 127 * 32 && y[16 + r] == 1.0f * 127 * 32);
    }
    free(panel), free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar),
        cmocka_unit_test(avx2),
        cmocka_unit_test(avx512),
        cmocka_unit_test(avx512vnni),
        cmocka_unit_test(amx),
        cmocka_unit_test(neon),
        cmocka_unit_test(dotprod),
        cmocka_unit_test(i8mm),
        cmocka_unit_test(levels_of_this_architecture),
        cmocka_unit_test(packing_follows_the_map),
        cmocka_unit_test(q8_0_panels_lie_as_documented),
        cmocka_unit_test(rounding_while_packing),
        cmocka_unit_test(rounding_at_the_ends),
        cmocka_unit_test(rows_are_read_back),
        cmocka_unit_test(extreme_bytes_do_not_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
