/* Every check of the kernels on the AMX level over a model of its tiles (support/amx_level.c), and its bits against those of the level below. */
#include "unit/kernel_checks.h"

#include <setjmp.h>

#include <cmocka.h>

#if defined(__x86_64__)
extern const pl_kernels tile_model_kernels;

static void checks(void **state)
{
    (void)state;
    if (!pl_cpu_has(PARLEY_CPU_AVX512VNNI))
        skip();
    for (int i = 0; i < KERNEL_CHECKS; i++) {
        random_state = 12345;
        const char *fault = kernel_checks[i].run(&tile_model_kernels);
        if (fault)
            fail_msg("%s: %s", kernel_checks[i].name, fault);
    }
}

/* Tiles take 16 columns each, the rest go as on the level below: nothing may tell them apart. */
static void bits_are_those_of_vnni(void **state)
{
    (void)state;
    if (!pl_cpu_has(PARLEY_CPU_AVX512VNNI))
        skip();
    for (int columns = 15; columns < 50; columns += 6) {
        product p = {PL_Q8_0, PL_Q8_0, 83, 1, 608, columns, true, false, true};
        operands o = {0};
        make_weights(&o, &p);
        make_inputs(&o, &p);
        float *tiles = run_product(&tile_model_kernels, &o, &p, 6, columns),
              *vnni = run_product(pl_kernels_for(PARLEY_CPU_AVX512VNNI), &o, &p, 6, columns);
        assert_memory_equal(tiles, vnni, (size_t)columns * (size_t)o.g.y_stride * sizeof *tiles);
        free(tiles), free(vnni);
        free_operands(&o);
    }
}
#endif

int main(void)
{
#if defined(__x86_64__)
    const struct CMUnitTest tests[] = {cmocka_unit_test(checks), cmocka_unit_test(bits_are_those_of_vnni)};
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 0;
#endif
}
