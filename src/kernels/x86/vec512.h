/* 16 float32 lanes. Included by the AVX-512 levels alone, which share their float32 tiles. */
#include "kernels/body/unroll.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define FLOAT_TILES pl_float_tiles_avx512
#define LANES       16
#define ACC_MAX     24 /* accumulators of a tile; the other registers hold weights and inputs */
#define FEW_COLUMNS 6  /* most columns that read weights of few bits in place */
#define KV_CHUNKS   4  /* vectors of a value row that attention holds for each head at once */
#define KV_HEADS    4
#define INLINE      static inline __attribute__((always_inline, unused))

typedef __m512 vf;
typedef __m512i vi;

INLINE vf vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
INLINE void vf_store(float *p, vf a)
{
    _mm512_storeu_ps(p, a);
}
INLINE vf vf_load_part(const float *p, int n)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}
INLINE void vf_store_part(float *p, vf a, int n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), a);
}
INLINE vf vf_load_f16(const uint8_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
INLINE vf vf_load_bf16(const uint8_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)), 16));
}
INLINE float half_to_float(uint16_t half)
{
    return _cvtsh_ss(half);
}
INLINE vf vf_load_i8(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
INLINE vf vf_set1(float a)
{
    return _mm512_set1_ps(a);
}
INLINE vf vf_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
INLINE vf vf_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
INLINE vf vf_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
INLINE vf vf_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
/* a * b + c and c - a * b, rounded once */
INLINE vf vf_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
INLINE vf vf_fnma(vf a, vf b, vf c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
/* A NaN in b comes through. */
INLINE vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
INLINE vf vf_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
/* Without optimisation gcc makes the intrinsic a macro, whose mask it warns of as if it stood here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
INLINE vf vf_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE void vf_store_f16(uint8_t *p, vf a) /* nearest even */
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#pragma GCC diagnostic pop
INLINE float vf_reduce_add(vf a)
{
    return _mm512_reduce_add_ps(a);
}
INLINE float vf_reduce_max(vf a)
{
    return _mm512_reduce_max_ps(a);
}
INLINE vf vf_abs(vf a)
{
    return _mm512_abs_ps(a);
}
/* The magnitude of a, the sign of b. */
INLINE vf vf_copysign(vf a, vf b)
{
    return _mm512_or_ps(vf_abs(a), _mm512_andnot_ps(_mm512_castsi512_ps(_mm512_set1_epi32(0x7FFFFFFF)), b));
}
/* x < y ? a : b */
INLINE vf vf_select_less(vf x, vf y, vf a, vf b)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a);
}
/* Whether every lane of x is <= y; a NaN is not. */
INLINE int vf_all_at_most(vf x, vf y)
{
    return _mm512_cmp_ps_mask(x, y, _CMP_LE_OQ) == 0xFFFF;
}

INLINE vi vi_load(const void *p)
{
    return _mm512_loadu_si512(p);
}
INLINE vi vi_set1(int32_t a)
{
    return _mm512_set1_epi32(a);
}
INLINE vi vi_add(vi a, vi b)
{
    return _mm512_add_epi32(a, b);
}
INLINE vi vi_sub(vi a, vi b)
{
    return _mm512_sub_epi32(a, b);
}
INLINE vi vi_and(vi a, vi b)
{
    return _mm512_and_si512(a, b);
}
/* (a & mask) | b */
INLINE vi vi_and_or(vi a, vi mask, vi b)
{
    return _mm512_ternarylogic_epi32(a, mask, b, 0xEA);
}
INLINE vi vi_max(vi a, vi b)
{
    return _mm512_max_epi32(a, b);
}
#define vi_shift_left(a, n)       _mm512_slli_epi32(a, n)
#define vi_shift_right(a, n)      _mm512_srli_epi32(a, n)
#define vi_shift_arithmetic(a, n) _mm512_srai_epi32(a, n)
INLINE int32_t vi_reduce_add(vi a)
{
    return _mm512_reduce_add_epi32(a);
}
INLINE int32_t vi_reduce_max(vi a)
{
    return _mm512_reduce_max_epi32(a);
}
/* The low bytes, LANES of them. */
INLINE void vi_store_i8(int8_t *p, vi a)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(a));
}
INLINE vf vf_of_int(vi a)
{
    return _mm512_cvtepi32_ps(a);
}
INLINE vi vi_of_float(vf a) /* nearest even */
{
    return _mm512_cvtps_epi32(a);
}
INLINE vf vf_cast(vi a)
{
    return _mm512_castsi512_ps(a);
}
INLINE vi vi_cast(vf a)
{
    return _mm512_castps_si512(a);
}

/* Row r + 4 i of the 16 in 128-bit part i. */
INLINE vf vf_load_rows(const float *rows, int r, int stride)
{
    vf a = _mm512_castps128_ps512(_mm_loadu_ps(rows + r * stride));
    a = _mm512_insertf32x4(a, _mm_loadu_ps(rows + (r + 4) * stride), 1);
    a = _mm512_insertf32x4(a, _mm_loadu_ps(rows + (r + 8) * stride), 2);
    return _mm512_insertf32x4(a, _mm_loadu_ps(rows + (r + 12) * stride), 3);
}

/* Columns k .. k + 3 of 16 rows that lie `stride` floats apart, to out[k][row]. */
INLINE void vf_transpose_4(const float *rows, int stride, float *out)
{
    vf a = vf_load_rows(rows, 0, stride), b = vf_load_rows(rows, 1, stride), c = vf_load_rows(rows, 2, stride), d = vf_load_rows(rows, 3, stride);
    vf ac = _mm512_unpacklo_ps(a, c), bd = _mm512_unpacklo_ps(b, d), ac2 = _mm512_unpackhi_ps(a, c), bd2 = _mm512_unpackhi_ps(b, d);
    vf_store(out, _mm512_unpacklo_ps(ac, bd));
    vf_store(out + 16, _mm512_unpackhi_ps(ac, bd));
    vf_store(out + 32, _mm512_unpacklo_ps(ac2, bd2));
    vf_store(out + 48, _mm512_unpackhi_ps(ac2, bd2));
}

/* 64 bytes: four weights of each of 16 rows. Shifts move 16-bit words: the bits that cross into a byte are for the caller to mask. */
typedef __m512i s_bytes;
INLINE s_bytes s_load(const uint8_t *p)
{
    return _mm512_loadu_si512(p);
}
/* Rows v * LANES .., a word each. */
INLINE vi s_words(s_bytes a, int v)
{
    (void)v;
    return a;
}
INLINE s_bytes s_and(s_bytes a, uint8_t mask)
{
    return _mm512_and_si512(a, _mm512_set1_epi8((char)mask));
}
/* (a & mask) | b */
INLINE s_bytes s_and_or(s_bytes a, uint8_t mask, s_bytes b)
{
    return _mm512_ternarylogic_epi32(a, _mm512_set1_epi8((char)mask), b, 0xEA);
}
#define S_RIGHT(a, n) _mm512_srli_epi16(a, n)
#define S_LEFT(a, n)  _mm512_slli_epi16(a, n)

typedef __m512i s_acc; /* sums of 16 rows */
typedef __m512i s_in;  /* four activations, the same for every row */
INLINE s_acc s_start(int32_t sum)
{
    return _mm512_set1_epi32(sum);
}
INLINE s_in s_input(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_set1_epi32(four);
}
INLINE vf s_rows(s_acc acc, int v)
{
    (void)v;
    return _mm512_cvtepi32_ps(acc);
}
