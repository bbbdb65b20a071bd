/* Weights and rows of caches to float32 and back. */
#include "kernels/body/blocks.h"

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

/* ------------------------------------------------------------------ blocks to float32 */

void pl_dequantize(pl_type type, const void *source, int64_t values, float *out)
{
    const uint8_t *bytes = source;
    uint16_t word;
    switch (type) {
    case PL_F32: memcpy(out, source, (size_t)values * sizeof *out); break;
    case PL_F16:
        for (int64_t i = 0; i < values; i++) {
            memcpy(&word, bytes + 2 * i, sizeof word);
            out[i] = pl_half_to_float(word);
        }
        break;
    case PL_BF16:
        for (int64_t i = 0; i < values; i++) {
            memcpy(&word, bytes + 2 * i, sizeof word);
            out[i] = float_of((uint32_t)word << 16);
        }
        break;
    default: read_blocks(type, source, values, out); break;
    }
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
