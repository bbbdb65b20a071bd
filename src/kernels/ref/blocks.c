/* Blocks of every weight type to float32 and back, bit for bit as ggml does it: sums and products rounded one by one (the build switches
 * contraction off). Files are little-endian, and so are the processors this is built for. */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float pl_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7FFF;
    if (magnitude >= 0x7C00) /* infinity and NaN keep an exponent of all ones */
        return float_of(sign | 0x7F800000 | magnitude << 13);
    if (magnitude >= 0x0400)
        return float_of(sign | ((magnitude << 13) + (112u << 23)));
    return float_of(sign | bits_of((float)magnitude * 0x1p-24f)); /* zero and subnormal: exact */
}

uint16_t pl_float_to_half(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFF;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x38800000) { /* below 2^-14: adding 0.5 leaves the subnormal's bits, rounded to even by the addition, in the last places */
        float shifted = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(shifted) - bits_of(0.5f)));
    }
    uint32_t rounded = magnitude - (112u << 23) + 0x0FFF + (magnitude >> 13 & 1);
    return (uint16_t)(sign | rounded >> 13);
}

static float half_at(const uint8_t *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return pl_half_to_float(half);
}

/* ------------------------------------------------------------------ blocks to float32 */

static void read_f32(const uint8_t *block, float *out)
{
    memcpy(out, block, sizeof *out);
}

static void read_f16(const uint8_t *block, float *out)
{
    *out = half_at(block);
}

static void read_bf16(const uint8_t *block, float *out)
{
    uint16_t bits;
    memcpy(&bits, block, sizeof bits);
    *out = float_of((uint32_t)bits << 16);
}

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

void pl_dequantize(pl_type type, const void *source, int64_t values, float *out)
{
    static void (*const readers[PL_TYPE_COUNT])(const uint8_t *, float *) = {
        [PL_F32] = read_f32,   [PL_F16] = read_f16,   [PL_BF16] = read_bf16, [PL_Q8_0] = read_q8_0, [PL_Q4_0] = read_q4_0,
        [PL_Q4_1] = read_q4_1, [PL_Q5_0] = read_q5_0, [PL_Q5_1] = read_q5_1, [PL_Q2_K] = read_q2_k, [PL_Q3_K] = read_q3_k,
        [PL_Q4_K] = read_q4_k, [PL_Q5_K] = read_q5_k, [PL_Q6_K] = read_q6_k,
    };
    const pl_type_facts *facts = pl_type_info(type);
    const uint8_t *block = source;
    for (int64_t i = 0; i < values; i += facts->values, block += facts->bytes)
        readers[type](block, out + i);
}

/* ------------------------------------------------------------------ float32 to blocks */

static uint16_t to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40); /* stays a NaN */
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* Finite input gives at most 127 in magnitude; anything else must not reach the conversion. */
static int8_t to_int8(float value)
{
    float rounded = roundf(value);
    return (int8_t)(rounded >= 127.0f ? 127 : rounded <= -127.0f ? -127 : rounded == rounded ? (int)rounded : 0);
}

static void write_q8_0(const float *source, uint8_t *block)
{
    float largest = 0.0f;
    for (int i = 0; i < 32; i++)
        largest = fmaxf(largest, fabsf(source[i]));
    float scale = largest / 127.0f, inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
    uint16_t half = pl_float_to_half(scale);
    memcpy(block, &half, sizeof half);
    for (int i = 0; i < 32; i++)
        block[2 + i] = (uint8_t)to_int8(source[i] * inverse);
}

void pl_quantize(pl_type type, const float *source, int64_t values, void *out)
{
    uint8_t *bytes = out;
    uint16_t *words = out;
    switch (type) {
    case PL_F32: memcpy(out, source, (size_t)values * sizeof *source); break;
    case PL_F16:
        for (int64_t i = 0; i < values; i++)
            words[i] = pl_float_to_half(source[i]);
        break;
    case PL_BF16:
        for (int64_t i = 0; i < values; i++)
            words[i] = to_bf16(source[i]);
        break;
    case PL_Q8_0:
        for (int64_t i = 0; i < values; i += 32)
            write_q8_0(source + i, bytes + pl_row_bytes(PL_Q8_0, i));
        break;
    default: break; /* no other type is ever written */
    }
}
