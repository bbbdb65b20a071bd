/* NEON of every 64-bit Arm: bytes are multiplied to 16 bits, pairs summed to 32. */
#include "kernels/arm/vec_neon.h"

#define Q_PANELS  1
#define Q_COLUMNS 2
#define Q_ALONE   2 /* panels for one column */
#define S_PANELS  1 /* the same for weights of few bits */
#define S_COLUMNS 4
#define S_ALONE   4

typedef struct q_acc { /* two rows in each, two partial sums a row */
    int32x4_t part[8];
} q_acc;
typedef int8x8_t q_in; /* four activations, repeated */

INLINE q_acc q_start(int32_t sum)
{
    (void)sum; /* the weights are signed here */
    int32x4_t zero = vdupq_n_s32(0);
    return (q_acc){{zero, zero, zero, zero, zero, zero, zero, zero}};
}
INLINE q_in q_input(const int8_t *x)
{
    uint32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpret_s8_u32(vdup_n_u32(four));
}
INLINE q_acc q_dot(q_acc acc, const uint8_t *w, q_in x)
{
    UNROLL(4)
    for (int i = 0; i < 4; i++) {
        int8x16_t rows = q_weights(w + i * 16);
        acc.part[2 * i] = vpadalq_s16(acc.part[2 * i], vmull_s8(vget_low_s8(rows), x));
        acc.part[2 * i + 1] = vpadalq_s16(acc.part[2 * i + 1], vmull_s8(vget_high_s8(rows), x));
    }
    return acc;
}
/* Rows 4 v .. 4 v + 3 of the sums. */
INLINE vf q_rows(q_acc acc, int v)
{
    return vcvtq_f32_s32(vpaddq_s32(acc.part[2 * v], acc.part[2 * v + 1]));
}

typedef q_in s_in;
INLINE s_in s_input(const int8_t *x)
{
    return q_input(x);
}
INLINE s_acc s_dot(s_acc acc, s_bytes w, s_in x)
{
    UNROLL(4)
    for (int i = 0; i < 4; i++) {
        int8x16_t rows = vreinterpretq_s8_u8(w.part[i]);
        int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(rows), x)), high = vpaddlq_s16(vmull_s8(vget_high_s8(rows), x));
        acc.part[i] = vaddq_s32(acc.part[i], vpaddq_s32(low, high));
    }
    return acc;
}

#define OWN_FLOAT_TILES
#define INT8_TILES pl_int8_tiles_neon
#define OWN_INT8_TILES
#define LEVEL_TABLE pl_kernels_neon
#define LEVEL       PARLEY_CPU_NEON
#include "kernels/body/table.h"
