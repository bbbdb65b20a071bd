/* AVX-512 without VNNI: bytes are widened to 16 bits, whose products and sums of two are exact. */
#include "kernels/x86/vec512.h"

#define Q_PANELS  2
#define Q_COLUMNS 4
#define Q_ALONE   4 /* panels for one column */
#define S_PANELS  4 /* the same for weights of few bits */
#define S_COLUMNS 4
#define S_ALONE   4

typedef struct q_acc { /* rows 0-7 and 8-15, two partial sums each */
    __m512i low, high;
} q_acc;
typedef __m512i q_in; /* four activations as 16-bit words, repeated */

INLINE q_acc q_start(int32_t sum)
{
    __m512i start = _mm512_set1_epi64((int64_t)(uint32_t)-sum);
    return (q_acc){start, start};
}
INLINE q_in q_input(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(four)));
}
INLINE q_acc q_dot(q_acc acc, const uint8_t *w, q_in x)
{
    __m512i low = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)w));
    __m512i high = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(w + 32)));
    return (q_acc){_mm512_add_epi32(acc.low, _mm512_madd_epi16(low, x)), _mm512_add_epi32(acc.high, _mm512_madd_epi16(high, x))};
}
INLINE vf q_rows(q_acc acc, int v)
{
    (void)v;
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_cvtepi32_ps(
        _mm512_add_epi32(_mm512_permutex2var_epi32(acc.low, even, acc.high), _mm512_permutex2var_epi32(acc.low, odd, acc.high)));
}

/* Weights of at most 63: sums of two products stay within 16 bits. */
INLINE s_acc s_dot(s_acc acc, s_bytes w, s_in x)
{
    return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(w, x), _mm512_set1_epi16(1)));
}

#define OWN_FLOAT_TILES
#define INT8_TILES pl_int8_tiles_avx512
#define OWN_INT8_TILES
#define LEVEL_TABLE pl_kernels_avx512
#define LEVEL       PARLEY_CPU_AVX512
#include "kernels/body/table.h"
