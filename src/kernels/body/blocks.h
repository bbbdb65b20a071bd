/* Blocks of every weight type to float32, bit for bit as ggml reads them: products and sums rounded one by one (the build switches contraction
 * off). Each level compiles these loops with its own vectors. Files are little-endian, and so are the processors this is built for. */
#ifndef PL_KERNELS_BLOCKS_H
#define PL_KERNELS_BLOCKS_H

#include "kernels/kernels.h"

#include <string.h>

static float half_at(const uint8_t *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return pl_half_to_float(half);
}

/* ------------------------------------------------------------------ blocks to float32 */

/* scale, 32 signed bytes */
static void read_q8_0(const uint8_t *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < 32; i++)
        out[i] = (float)(int8_t)block[2 + i] * d;
}

/* scale, 16 bytes: value i in the low half of byte i, value i + 16 in the high half */
static void read_q4_0(const uint8_t *block, float *out)
{
    float d = half_at(block);
    const uint8_t *q = block + 2;
    for (int i = 0; i < 16; i++) {
        out[i] = (float)((q[i] & 15) - 8) * d;
        out[i + 16] = (float)((q[i] >> 4) - 8) * d;
    }
}

/* scale, minimum, 16 bytes */
static void read_q4_1(const uint8_t *block, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    const uint8_t *q = block + 4;
    for (int i = 0; i < 16; i++) {
        out[i] = (float)(q[i] & 15) * d + m;
        out[i + 16] = (float)(q[i] >> 4) * d + m;
    }
}

/* The five-bit value i of 4 bytes of fifth bits and 16 bytes of low bits. */
static int five_bits(const uint8_t *high, const uint8_t *low, int i)
{
    int nibble = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
    return nibble | (high[i / 8] >> i % 8 & 1) << 4;
}

/* scale, fifth bits, 16 bytes */
static void read_q5_0(const uint8_t *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < 32; i++)
        out[i] = (float)(five_bits(block + 2, block + 6, i) - 16) * d;
}

/* scale, minimum, fifth bits, 16 bytes */
static void read_q5_1(const uint8_t *block, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < 32; i++)
        out[i] = (float)five_bits(block + 4, block + 8, i) * d + m;
}

/* 16 bytes of scale and minimum (4 bits each, a group of 16 values), 64 bytes of 2 bits, d, dmin. Of 128 values four runs of 32 share 32 bytes. */
static void read_q2_k(const uint8_t *block, float *out)
{
    float d = half_at(block + 80), dmin = half_at(block + 82);
    for (int group = 0; group < 16; group++) {
        const uint8_t *q = block + 16 + group / 8 * 32 + group % 2 * 16;
        int shift = group % 8 / 2 * 2;
        float scale = d * (float)(block[group] & 15), low = dmin * (float)(block[group] >> 4);
        for (int i = 0; i < 16; i++)
            *out++ = scale * (float)(q[i] >> shift & 3) - low;
    }
}

/* 32 bytes of third bits (run r of 32 values in bit r), 64 bytes of 2 bits, 12 bytes of 6-bit scales, d */
static void read_q3_k(const uint8_t *block, float *out)
{
    const uint8_t *packed = block + 96;
    float d = half_at(block + 108);
    for (int group = 0; group < 16; group++) {
        int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
        int high = packed[8 + group % 4] >> group / 4 * 2 & 3;
        float scale = d * (float)((low | high << 4) - 32);
        const uint8_t *third = block + group % 2 * 16, *q = block + 32 + group / 8 * 32 + group % 2 * 16;
        int shift = group % 8 / 2 * 2, run = group / 2;
        for (int i = 0; i < 16; i++)
            *out++ = scale * (float)((q[i] >> shift & 3) - (third[i] >> run & 1 ? 0 : 4));
    }
}

/* Scale and minimum of run `j` of 32 values from the 12 bytes of Q4_K and Q5_K. */
static void six_bit_pair(const uint8_t *packed, int j, int *scale, int *minimum)
{
    if (j < 4) {
        *scale = packed[j] & 63;
        *minimum = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        *minimum = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
    }
}

/* d, dmin, 12 bytes of scales and minima, 128 bytes: of 64 values the first 32 lie in the low halves */
static void read_q4_k(const uint8_t *block, float *out)
{
    float d = half_at(block), dmin = half_at(block + 2);
    for (int run = 0; run < 8; run++) {
        int scale, minimum;
        six_bit_pair(block + 4, run, &scale, &minimum);
        const uint8_t *q = block + 16 + run / 2 * 32;
        float factor = d * (float)scale, low = dmin * (float)minimum;
        int shift = run % 2 * 4;
        for (int i = 0; i < 32; i++)
            *out++ = factor * (float)(q[i] >> shift & 15) - low;
    }
}

/* as Q4_K, with 32 bytes of fifth bits (run r in bit r) before the low ones */
static void read_q5_k(const uint8_t *block, float *out)
{
    float d = half_at(block), dmin = half_at(block + 2);
    for (int run = 0; run < 8; run++) {
        int scale, minimum;
        six_bit_pair(block + 4, run, &scale, &minimum);
        const uint8_t *fifth = block + 16, *q = block + 48 + run / 2 * 32;
        float factor = d * (float)scale, low = dmin * (float)minimum;
        int shift = run % 2 * 4;
        for (int i = 0; i < 32; i++)
            *out++ = factor * (float)((q[i] >> shift & 15) + (fifth[i] >> run & 1) * 16) - low;
    }
}

/* 128 bytes of 4 low bits, 64 of 2 high bits, 16 signed scales, d */
static void read_q6_k(const uint8_t *block, float *out)
{
    float d = half_at(block + 208);
    for (int group = 0; group < 16; group++) {
        int run = group % 8 / 2, start = group % 2 * 16; /* run of 32 within 128 values; place in it */
        const uint8_t *low = block + group / 8 * 64 + run % 2 * 32 + start, *high = block + 128 + group / 8 * 32 + start;
        float scale = d * (float)(int8_t)block[192 + group];
        for (int i = 0; i < 16; i++)
            *out++ = scale * (float)(((low[i] >> run / 2 * 4 & 15) | (high[i] >> run * 2 & 3) << 4) - 32);
    }
}

/* `values` consecutive values of a block type. */
static inline void read_blocks(pl_type type, const void *source, int64_t values, float *out)
{
    static void (*const readers[PL_TYPE_COUNT])(const uint8_t *, float *) = {
        [PL_Q8_0] = read_q8_0, [PL_Q4_0] = read_q4_0, [PL_Q4_1] = read_q4_1, [PL_Q5_0] = read_q5_0, [PL_Q5_1] = read_q5_1,
        [PL_Q2_K] = read_q2_k, [PL_Q3_K] = read_q3_k, [PL_Q4_K] = read_q4_k, [PL_Q5_K] = read_q5_k, [PL_Q6_K] = read_q6_k,
    };
    const pl_type_facts *facts = pl_type_info(type);
    const uint8_t *block = source;
    for (int64_t i = 0; i < values; i += facts->values, block += facts->bytes)
        readers[type](block, out + i);
}

#endif
