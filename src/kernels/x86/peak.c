/* Loops of a level's widest multiply-add on registers alone: what its arithmetic could reach. Functions carry their own processor flags. */
#include "kernels/kernels.h"

#include <immintrin.h>

enum { CHAINS = 12 }; /* independent sums: latency times throughput of the slowest processor */

/* `step` on CHAINS sums of `type`, which begin differently so that they stay apart, `rounds` times; `values` of a sum. Each function returns what was
 * multiplied and added. */
#define PEAK(name, flags, type, values, first, prepare, step)                         \
    __attribute__((target(flags))) static double name(int64_t rounds)                 \
    {                                                                                 \
        type sums[CHAINS], x;                                                         \
        prepare;                                                                      \
        for (int j = 0; j < CHAINS; j++)                                              \
            sums[j] = first;                                                          \
        for (int64_t i = 0; i < rounds; i++) {                                        \
            _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) sums[j] = step; \
        }                                                                             \
        __asm__ volatile("" ::"r"(sums) : "memory"); /* none can be left out */       \
        return 2.0 * (values)*CHAINS * (double)rounds;                                \
    }

PEAK(f32_avx2, "avx2,fma", __m256, 8, _mm256_set1_ps((float)j), x = _mm256_set1_ps(0.5f), _mm256_fmadd_ps(sums[j], x, x))
PEAK(f32_avx512, "avx512f", __m512, 16, _mm512_set1_ps((float)j), x = _mm512_set1_ps(0.5f), _mm512_fmadd_ps(sums[j], x, x))
PEAK(int8_avx2, "avx2", __m256i, 32, _mm256_set1_epi32(j), x = _mm256_set1_epi8(1),
     _mm256_add_epi32(sums[j], _mm256_madd_epi16(_mm256_maddubs_epi16(sums[j], x), x)))
PEAK(int8_avx512, "avx512f,avx512bw", __m512i, 64, _mm512_set1_epi32(j), x = _mm512_set1_epi8(1),
     _mm512_add_epi32(sums[j], _mm512_madd_epi16(_mm512_maddubs_epi16(sums[j], x), x)))
PEAK(int8_vnni, "avx512f,avx512vnni", __m512i, 64, _mm512_set1_epi32(j), x = _mm512_set1_epi8(1), _mm512_dpbusd_epi32(sums[j], x, x))

/* Tiles of 16 by 64 bytes, four sums in turn. */
__attribute__((target("amx-tile,amx-int8"))) static double int8_amx(int64_t rounds)
{
    const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16}};
    __asm__ volatile("" ::"r"(&config) : "memory"); /* gcc 12 believes that the intrinsic reads the first bytes alone */
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t i = 0; i < rounds; i++) {
        _tile_dpbsud(2, 0, 1);
        _tile_dpbsud(3, 0, 1);
        _tile_dpbsud(4, 0, 1);
        _tile_dpbsud(5, 0, 1);
    }
    _tile_release();
    return 2.0 * 16 * 16 * 64 * 4 * (double)rounds;
}

double pl_peak_run(parley_cpu level, bool int8, int64_t rounds)
{
    switch (level) {
    case PARLEY_CPU_AVX2: return int8 ? int8_avx2(rounds) : f32_avx2(rounds);
    case PARLEY_CPU_AVX512: return int8 ? int8_avx512(rounds) : f32_avx512(rounds);
    case PARLEY_CPU_AVX512VNNI: return int8 ? int8_vnni(rounds) : f32_avx512(rounds);
    case PARLEY_CPU_AMX: return int8 ? int8_amx(rounds) : f32_avx512(rounds);
    default: return 0.0;
    }
}
