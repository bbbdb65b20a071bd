/* The checks of tests/unit for the Arm levels, run under emulation by run_neon.sh: no test framework, so that it links against nothing. */
#include "unit/kernel_checks.h"

int main(void)
{
    int passed = 0, failed = 0;
    for (parley_cpu level = PARLEY_CPU_SCALAR; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1)) {
        const pl_kernels *k = pl_cpu_has(level) ? pl_kernels_for(level) : NULL;
        if (!k)
            continue;
        for (int i = 0; i < KERNEL_CHECKS; i++) {
            random_state = 12345;
            const char *fault = kernel_checks[i].run(k);
            if (fault)
                printf("%s, %s: %s\n", parley_cpu_name(level), kernel_checks[i].name, fault);
            passed += !fault;
            failed += fault != NULL;
        }
    }
    for (parley_cpu level = PARLEY_CPU_NEON; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1))
        if (!pl_cpu_has(level) || !pl_kernels_for(level)) {
            printf("%s: level not there\n", parley_cpu_name(level));
            failed++;
        }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
