/* A loop of multiply-adds on registers alone: what the level's arithmetic could reach. */
#include "kernels/kernels.h"

#include <arm_neon.h>

enum { CHAINS = 12 };

double pl_peak_run(parley_cpu level, bool int8, int64_t rounds)
{
    float32x4_t sums[CHAINS], x = vdupq_n_f32(0.5f);
    if (level == PARLEY_CPU_SCALAR || int8)
        return 0.0;
    for (int j = 0; j < CHAINS; j++)
        sums[j] = vdupq_n_f32((float)j);
    for (int64_t i = 0; i < rounds; i++) {
        _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) sums[j] = vfmaq_f32(x, sums[j], x);
    }
    __asm__ volatile("" ::"r"(sums) : "memory");
    return 2.0 * 4 * CHAINS * (double)rounds;
}
