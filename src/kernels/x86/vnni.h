/* AVX-512 with the byte dot product of VNNI: unsigned weights times signed activations, four at a time. Included by the levels that have it. */
#include "kernels/x86/vec512.h"

#define INT8_TILES pl_int8_tiles_avx512vnni
#define Q_PANELS   4 /* panels and columns of an integer tile */
#define Q_COLUMNS  6
#define Q_ALONE    4 /* panels for one column */
#define S_PANELS   4 /* the same for weights of few bits */
#define S_COLUMNS  6
#define S_ALONE    4

typedef __m512i q_acc; /* sums of the 16 rows of a panel */
typedef __m512i q_in;  /* four activations, the same for every row */

INLINE q_acc q_start(int32_t sum)
{
    return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(sum));
}
INLINE q_in q_input(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_set1_epi32(four);
}
INLINE q_acc q_dot(q_acc acc, const uint8_t *w, q_in x)
{
    return _mm512_dpbusd_epi32(acc, _mm512_loadu_si512(w), x);
}
/* Rows 16 / LANES * v of the sums. */
INLINE vf q_rows(q_acc acc, int v)
{
    (void)v;
    return _mm512_cvtepi32_ps(acc);
}

INLINE s_acc s_dot(s_acc acc, s_bytes w, s_in x)
{
    return _mm512_dpbusd_epi32(acc, w, x);
}
