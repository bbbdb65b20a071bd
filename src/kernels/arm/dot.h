/* Integer products by the byte dot product: four rows of four in one instruction. */
#define INT8_TILES pl_int8_tiles_dotprod
#define Q_PANELS   1
#define Q_COLUMNS  4
#define Q_ALONE    4 /* panels for one column */
#define S_PANELS   1 /* the same for weights of few bits */
#define S_COLUMNS  4
#define S_ALONE    4

typedef struct q_acc { /* four rows in each */
    int32x4_t part[4];
} q_acc;
typedef int8x16_t q_in; /* four activations, repeated */

INLINE q_acc q_start(int32_t sum)
{
    (void)sum; /* the weights are signed here */
    int32x4_t zero = vdupq_n_s32(0);
    return (q_acc){{zero, zero, zero, zero}};
}
INLINE q_in q_input(const int8_t *x)
{
    uint32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_u32(vdupq_n_u32(four));
}
INLINE q_acc q_dot(q_acc acc, const uint8_t *w, q_in x)
{
    UNROLL(4)
    for (int i = 0; i < 4; i++)
        acc.part[i] = vdotq_s32(acc.part[i], q_weights(w + i * 16), x);
    return acc;
}
INLINE vf q_rows(q_acc acc, int v)
{
    return vcvtq_f32_s32(acc.part[v]);
}

typedef q_in s_in;
INLINE s_in s_input(const int8_t *x)
{
    return q_input(x);
}
INLINE s_acc s_dot(s_acc acc, s_bytes w, s_in x)
{
    UNROLL(4)
    for (int i = 0; i < 4; i++)
        acc.part[i] = vdotq_s32(acc.part[i], vreinterpretq_s8_u8(w.part[i]), x);
    return acc;
}
