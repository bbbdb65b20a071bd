/* 4 float32 lanes. Included by the Arm levels alone. */
#include "kernels/body/unroll.h"

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define FLOAT_TILES pl_float_tiles_neon
#define LANES       4
#define ACC_MAX     24
#define FEW_COLUMNS 6
#define KV_CHUNKS   4
#define KV_HEADS    4
#define INLINE      static inline __attribute__((always_inline, unused))

typedef float32x4_t vf;
typedef int32x4_t vi;

INLINE vf vf_load(const float *p)
{
    return vld1q_f32(p);
}
INLINE void vf_store(float *p, vf a)
{
    vst1q_f32(p, a);
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
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}
INLINE vf vf_load_bf16(const uint8_t *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}
INLINE float half_to_float(uint16_t half)
{
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}
INLINE vf vf_load_i8(const uint8_t *p)
{
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))))));
}
INLINE vf vf_set1(float a)
{
    return vdupq_n_f32(a);
}
INLINE vf vf_add(vf a, vf b)
{
    return vaddq_f32(a, b);
}
INLINE vf vf_sub(vf a, vf b)
{
    return vsubq_f32(a, b);
}
INLINE vf vf_mul(vf a, vf b)
{
    return vmulq_f32(a, b);
}
INLINE vf vf_div(vf a, vf b)
{
    return vdivq_f32(a, b);
}
/* a * b + c and c - a * b, rounded once */
INLINE vf vf_fma(vf a, vf b, vf c)
{
    return vfmaq_f32(c, a, b);
}
INLINE vf vf_fnma(vf a, vf b, vf c)
{
    return vfmsq_f32(c, a, b);
}
/* A NaN in b comes through (as one in a does). */
INLINE vf vf_min(vf a, vf b)
{
    return vminq_f32(a, b);
}
INLINE vf vf_max(vf a, vf b)
{
    return vmaxq_f32(a, b);
}
INLINE vf vf_round(vf a)
{
    return vrndnq_f32(a);
}
INLINE void vf_store_f16(uint8_t *p, vf a) /* nearest even */
{
    vst1_u8(p, vreinterpret_u8_f16(vcvt_f16_f32(a)));
}
INLINE float vf_reduce_add(vf a)
{
    return vaddvq_f32(a);
}
INLINE float vf_reduce_max(vf a)
{
    return vmaxvq_f32(a);
}
INLINE vf vf_abs(vf a)
{
    return vabsq_f32(a);
}
/* The magnitude of a, the sign of b. */
INLINE vf vf_copysign(vf a, vf b)
{
    return vbslq_f32(vdupq_n_u32(0x80000000), b, a);
}
/* x < y ? a : b */
INLINE vf vf_select_less(vf x, vf y, vf a, vf b)
{
    return vbslq_f32(vcltq_f32(x, y), a, b);
}
/* Whether every lane of x is <= y; a NaN is not. */
INLINE int vf_all_at_most(vf x, vf y)
{
    return vminvq_u32(vcleq_f32(x, y)) != 0;
}

INLINE vi vi_load(const void *p)
{
    return vreinterpretq_s32_u8(vld1q_u8(p));
}
INLINE vi vi_set1(int32_t a)
{
    return vdupq_n_s32(a);
}
INLINE vi vi_add(vi a, vi b)
{
    return vaddq_s32(a, b);
}
INLINE vi vi_sub(vi a, vi b)
{
    return vsubq_s32(a, b);
}
INLINE vi vi_and(vi a, vi b)
{
    return vandq_s32(a, b);
}
/* (a & mask) | b */
INLINE vi vi_and_or(vi a, vi mask, vi b)
{
    return vorrq_s32(vandq_s32(a, mask), b);
}
INLINE vi vi_max(vi a, vi b)
{
    return vmaxq_s32(a, b);
}
#define vi_shift_left(a, n)       vshlq_n_s32(a, n)
#define vi_shift_right(a, n)      vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), n))
#define vi_shift_arithmetic(a, n) vshrq_n_s32(a, n)
INLINE int32_t vi_reduce_add(vi a)
{
    return vaddvq_s32(a);
}
INLINE int32_t vi_reduce_max(vi a)
{
    return vmaxvq_s32(a);
}
/* The low bytes, LANES of them (values of -128 .. 127). */
INLINE void vi_store_i8(int8_t *p, vi a)
{
    int16x4_t words = vmovn_s32(a);
    uint32_t four = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(words, words))), 0);
    memcpy(p, &four, sizeof four);
}
INLINE vf vf_of_int(vi a)
{
    return vcvtq_f32_s32(a);
}
INLINE vi vi_of_float(vf a) /* nearest even */
{
    return vcvtnq_s32_f32(a);
}
INLINE vf vf_cast(vi a)
{
    return vreinterpretq_f32_s32(a);
}
INLINE vi vi_cast(vf a)
{
    return vreinterpretq_s32_f32(a);
}

/* Columns k .. k + 3 of 16 rows that lie `stride` floats apart, to out[k][row]. */
INLINE void vf_transpose_4(const float *rows, int stride, float *out)
{
    for (int r = 0; r < 16; r += 4) {
        vf a = vf_load(rows + r * stride), b = vf_load(rows + (r + 1) * stride), c = vf_load(rows + (r + 2) * stride),
           d = vf_load(rows + (r + 3) * stride);
        vf ac = vzip1q_f32(a, c), bd = vzip1q_f32(b, d), ac2 = vzip2q_f32(a, c), bd2 = vzip2q_f32(b, d);
        vf_store(out + r, vzip1q_f32(ac, bd));
        vf_store(out + 16 + r, vzip2q_f32(ac, bd));
        vf_store(out + 32 + r, vzip1q_f32(ac2, bd2));
        vf_store(out + 48 + r, vzip2q_f32(ac2, bd2));
    }
}

/* 16 packed bytes as signed numbers: their offset of 128 off. */
INLINE int8x16_t q_weights(const uint8_t *w)
{
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(w), vdupq_n_u8(0x80)));
}

/* Weights of few bits, 64 bytes: four of each of 16 rows. */
typedef struct s_bytes {
    uint8x16_t part[4];
} s_bytes;
INLINE s_bytes s_load(const uint8_t *p)
{
    return (s_bytes){{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}
/* Rows v * LANES .., a word each. */
INLINE vi s_words(s_bytes a, int v)
{
    return vreinterpretq_s32_u8(a.part[v]);
}
INLINE s_bytes s_and(s_bytes a, uint8_t mask)
{
    UNROLL(4)
    for (int i = 0; i < 4; i++)
        a.part[i] = vandq_u8(a.part[i], vdupq_n_u8(mask));
    return a;
}
/* (a & mask) | b */
INLINE s_bytes s_and_or(s_bytes a, uint8_t mask, s_bytes b)
{
    a = s_and(a, mask);
    UNROLL(4)
    for (int i = 0; i < 4; i++)
        a.part[i] = vorrq_u8(a.part[i], b.part[i]);
    return a;
}
#define S_SHIFT(f, a, n) ((s_bytes){{f((a).part[0], n), f((a).part[1], n), f((a).part[2], n), f((a).part[3], n)}})
#define S_RIGHT(a, n)    S_SHIFT(vshrq_n_u8, a, n)
#define S_LEFT(a, n)     S_SHIFT(vshlq_n_u8, a, n)

typedef struct s_acc { /* sums of four rows in each */
    int32x4_t part[4];
} s_acc;
INLINE s_acc s_start(int32_t sum)
{
    int32x4_t start = vdupq_n_s32(sum);
    return (s_acc){{start, start, start, start}};
}
INLINE vf s_rows(s_acc acc, int v)
{
    return vcvtq_f32_s32(acc.part[v]);
}
