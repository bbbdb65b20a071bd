/* AVX2, FMA and F16C: 8 lanes. */
#include "kernels/body/unroll.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES       8
#define ACC_MAX     12
#define FEW_COLUMNS 2
#define KV_CHUNKS   4
#define KV_HEADS    2
#define INLINE      static inline __attribute__((always_inline, unused))

typedef __m256 vf;
typedef __m256i vi;

INLINE vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
INLINE void vf_store(float *p, vf a)
{
    _mm256_storeu_ps(p, a);
}
INLINE vf vf_load_part(const float *p, int n)
{
    float lanes[LANES] = {0};
    memcpy(lanes, p, (size_t)n * sizeof *p);
    return vf_load(lanes);
}
INLINE void vf_store_part(float *p, vf a, int n)
{
    float lanes[LANES];
    vf_store(lanes, a);
    memcpy(p, lanes, (size_t)n * sizeof *p);
}
INLINE vf vf_load_f16(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
INLINE vf vf_load_bf16(const uint8_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16));
}
INLINE float half_to_float(uint16_t half)
{
    return _cvtsh_ss(half);
}
INLINE vf vf_load_i8(const uint8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
INLINE vf vf_set1(float a)
{
    return _mm256_set1_ps(a);
}
INLINE vf vf_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
INLINE vf vf_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
INLINE vf vf_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
INLINE vf vf_div(vf a, vf b)
{
    return _mm256_div_ps(a, b);
}
/* a * b + c and c - a * b, rounded once */
INLINE vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vf vf_fnma(vf a, vf b, vf c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
/* A NaN in b comes through. */
INLINE vf vf_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
INLINE vf vf_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
INLINE vf vf_round(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE void vf_store_f16(uint8_t *p, vf a) /* nearest even */
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
INLINE float vf_reduce_add(vf a)
{
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}
INLINE float vf_reduce_max(vf a)
{
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}
INLINE vf vf_sign_bits(void)
{
    return _mm256_set1_ps(-0.0f);
}
INLINE vf vf_abs(vf a)
{
    return _mm256_andnot_ps(vf_sign_bits(), a);
}
/* The magnitude of a, the sign of b. */
INLINE vf vf_copysign(vf a, vf b)
{
    return _mm256_or_ps(vf_abs(a), _mm256_and_ps(vf_sign_bits(), b));
}
/* x < y ? a : b */
INLINE vf vf_select_less(vf x, vf y, vf a, vf b)
{
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ));
}
/* Whether every lane of x is <= y; a NaN is not. */
INLINE int vf_all_at_most(vf x, vf y)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_LE_OQ)) == 0xFF;
}

INLINE vi vi_load(const void *p)
{
    return _mm256_loadu_si256(p);
}
INLINE vi vi_set1(int32_t a)
{
    return _mm256_set1_epi32(a);
}
INLINE vi vi_add(vi a, vi b)
{
    return _mm256_add_epi32(a, b);
}
INLINE vi vi_sub(vi a, vi b)
{
    return _mm256_sub_epi32(a, b);
}
INLINE vi vi_and(vi a, vi b)
{
    return _mm256_and_si256(a, b);
}
/* (a & mask) | b */
INLINE vi vi_and_or(vi a, vi mask, vi b)
{
    return _mm256_or_si256(_mm256_and_si256(a, mask), b);
}
INLINE vi vi_max(vi a, vi b)
{
    return _mm256_max_epi32(a, b);
}
#define vi_shift_left(a, n)       _mm256_slli_epi32(a, n)
#define vi_shift_right(a, n)      _mm256_srli_epi32(a, n)
#define vi_shift_arithmetic(a, n) _mm256_srai_epi32(a, n)
INLINE int32_t vi_reduce_add(vi a)
{
    __m128i b = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_add_epi32(b, _mm_shuffle_epi32(b, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(b, _mm_shuffle_epi32(b, 0xB1)));
}
INLINE int32_t vi_reduce_max(vi a)
{
    __m128i b = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_max_epi32(b, _mm_shuffle_epi32(b, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(b, _mm_shuffle_epi32(b, 0xB1)));
}
/* The low bytes, LANES of them (values of -128 .. 127). */
INLINE void vi_store_i8(int8_t *p, vi a)
{
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi16(words, words));
}
INLINE vf vf_of_int(vi a)
{
    return _mm256_cvtepi32_ps(a);
}
INLINE vi vi_of_float(vf a) /* nearest even */
{
    return _mm256_cvtps_epi32(a);
}
INLINE vf vf_cast(vi a)
{
    return _mm256_castsi256_ps(a);
}
INLINE vi vi_cast(vf a)
{
    return _mm256_castps_si256(a);
}

/* Columns k .. k + 3 of 16 rows that lie `stride` floats apart, to out[k][row]. */
INLINE vf vf_load_rows(const float *rows, int r, int stride)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows + r * stride)), _mm_loadu_ps(rows + (r + 4) * stride), 1);
}
INLINE void vf_transpose_4(const float *rows, int stride, float *out)
{
    for (int r = 0; r < 16; r += 8) {
        const float *p = rows + r * stride;
        vf a = vf_load_rows(p, 0, stride), b = vf_load_rows(p, 1, stride), c = vf_load_rows(p, 2, stride), d = vf_load_rows(p, 3, stride);
        vf ac = _mm256_unpacklo_ps(a, c), bd = _mm256_unpacklo_ps(b, d), ac2 = _mm256_unpackhi_ps(a, c), bd2 = _mm256_unpackhi_ps(b, d);
        vf_store(out + r, _mm256_unpacklo_ps(ac, bd));
        vf_store(out + 16 + r, _mm256_unpackhi_ps(ac, bd));
        vf_store(out + 32 + r, _mm256_unpacklo_ps(ac2, bd2));
        vf_store(out + 48 + r, _mm256_unpackhi_ps(ac2, bd2));
    }
}

/* Integer products: bytes widened to 16 bits, whose products and sums of two are exact. */
#define Q_PANELS  1
#define Q_COLUMNS 2
#define Q_ALONE   2 /* panels for one column */

typedef struct q_acc { /* four rows in each, two partial sums a row */
    __m256i part[4];
} q_acc;
typedef __m256i q_in; /* four activations as 16-bit words, repeated */

INLINE q_acc q_start(int32_t sum)
{
    __m256i start = _mm256_set1_epi64x((int64_t)(uint32_t)-sum);
    return (q_acc){{start, start, start, start}};
}
INLINE q_in q_input(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(four)));
}
INLINE __m256i q_madd(__m256i acc, const uint8_t *w, q_in x)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w)), x));
}
INLINE q_acc q_dot(q_acc acc, const uint8_t *w, q_in x)
{
    return (q_acc){{q_madd(acc.part[0], w, x), q_madd(acc.part[1], w + 16, x), q_madd(acc.part[2], w + 32, x), q_madd(acc.part[3], w + 48, x)}};
}
INLINE vf q_rows(q_acc acc, int v)
{
    __m256i sums = _mm256_hadd_epi32(acc.part[2 * v], acc.part[2 * v + 1]); /* rows 0 1 4 5 2 3 6 7 */
    return _mm256_cvtepi32_ps(_mm256_permute4x64_epi64(sums, 0xD8));
}

/* Weights of few bits, 64 bytes: four of each of 16 rows. Shifts move 16-bit words: the bits that cross into a byte are for the caller to mask. */
#define S_PANELS  1
#define S_COLUMNS 4
#define S_ALONE   4

typedef struct s_bytes {
    __m256i part[2];
} s_bytes;
INLINE s_bytes s_load(const uint8_t *p)
{
    return (s_bytes){{vi_load(p), vi_load(p + 32)}};
}
/* Rows v * LANES .., a word each. */
INLINE vi s_words(s_bytes a, int v)
{
    return a.part[v];
}
INLINE s_bytes s_and(s_bytes a, uint8_t mask)
{
    const vi m = _mm256_set1_epi8((char)mask);
    return (s_bytes){{vi_and(a.part[0], m), vi_and(a.part[1], m)}};
}
/* (a & mask) | b */
INLINE s_bytes s_and_or(s_bytes a, uint8_t mask, s_bytes b)
{
    a = s_and(a, mask);
    return (s_bytes){{_mm256_or_si256(a.part[0], b.part[0]), _mm256_or_si256(a.part[1], b.part[1])}};
}
#define S_RIGHT(a, n) ((s_bytes){{_mm256_srli_epi16((a).part[0], n), _mm256_srli_epi16((a).part[1], n)}})
#define S_LEFT(a, n)  ((s_bytes){{_mm256_slli_epi16((a).part[0], n), _mm256_slli_epi16((a).part[1], n)}})

typedef s_bytes s_acc; /* sums of 8 rows in each part */
typedef __m256i s_in;
INLINE s_acc s_start(int32_t sum)
{
    return (s_acc){{vi_set1(sum), vi_set1(sum)}};
}
INLINE s_in s_input(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
}
/* Weights of at most 63: sums of two products stay within 16 bits. */
INLINE s_acc s_dot(s_acc acc, s_bytes w, s_in x)
{
    const vi ones = _mm256_set1_epi16(1);
    return (s_acc){{vi_add(acc.part[0], _mm256_madd_epi16(_mm256_maddubs_epi16(w.part[0], x), ones)),
                    vi_add(acc.part[1], _mm256_madd_epi16(_mm256_maddubs_epi16(w.part[1], x), ones))}};
}
INLINE vf s_rows(s_acc acc, int v)
{
    return vf_of_int(acc.part[v]);
}

#define FLOAT_TILES pl_float_tiles_avx2
#define OWN_FLOAT_TILES
#define INT8_TILES pl_int8_tiles_avx2
#define OWN_INT8_TILES
#define LEVEL_TABLE pl_kernels_avx2
#define LEVEL       PARLEY_CPU_AVX2
#include "kernels/body/table.h"
