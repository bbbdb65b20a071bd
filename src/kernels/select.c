#include "kernels/levels.h"

size_t pl_gemm_scratch(void)
{
    return PL_GEMM_SCRATCH;
}

const pl_kernels *pl_kernels_for(parley_cpu level)
{
    static const pl_kernels *const tables[] = {
        &pl_kernels_scalar,
#if defined(__x86_64__)
        &pl_kernels_avx2,
        &pl_kernels_avx512,
        &pl_kernels_avx512vnni,
        &pl_kernels_amx,
#elif defined(__aarch64__)
        &pl_kernels_neon,
        &pl_kernels_dotprod,
        &pl_kernels_i8mm,
#endif
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (tables[i]->level == level)
            return tables[i];
    return NULL;
}

#if !defined(__x86_64__) && !defined(__aarch64__)
double pl_peak_run(parley_cpu level, bool int8, int64_t rounds)
{
    (void)level, (void)int8, (void)rounds;
    return 0.0;
}
#endif

bool pl_int8_pays(parley_cpu level)
{
    return level == PARLEY_CPU_AVX512VNNI || level == PARLEY_CPU_AMX || level == PARLEY_CPU_DOTPROD || level == PARLEY_CPU_I8MM;
}
