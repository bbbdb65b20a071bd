/* Inputs of kernel checks: numbers that are the same on every run, in buffers without slack. */
#ifndef KERNEL_INPUTS_H
#define KERNEL_INPUTS_H

#include "kernels/kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

static uint32_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

/* -1 .. 1 */
static float random_value(void)
{
    return (float)(int32_t)random_bits() * 0x1p-31f;
}

static void *exact(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

static void *exact64(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 1) != 0)
        abort();
    return p;
}

static float *random_floats(size_t n, float scale)
{
    float *p = exact(n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = random_value() * scale;
    return p;
}

/* Byte offsets of the halves that scale a block. */
static const int scale_offsets[PL_TYPE_COUNT][2] = {
    [PL_Q8_0] = {0, 0},   [PL_Q4_0] = {0, 0},     [PL_Q4_1] = {0, 2}, [PL_Q5_0] = {0, 0}, [PL_Q5_1] = {0, 2},
    [PL_Q2_K] = {80, 82}, [PL_Q3_K] = {108, 108}, [PL_Q4_K] = {0, 2}, [PL_Q5_K] = {0, 2}, [PL_Q6_K] = {208, 208},
};

/* `values` values of a type: rounded noise, or random bits with ordinary scales. */
static uint8_t *random_blocks(pl_type type, size_t values)
{
    size_t bytes = pl_row_bytes(type, (int64_t)values), size = (size_t)pl_type_info(type)->bytes;
    uint8_t *out = exact(bytes);
    if (type <= PL_Q8_0) {
        float *noise = random_floats(values, 1.0f);
        pl_quantize(type, noise, (int64_t)values, out);
        free(noise);
        return out;
    }
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)random_bits();
    for (size_t at = 0; at < bytes; at += size)
        for (int s = 0; s < 2; s++) {
            uint16_t half = pl_float_to_half(0.02f * random_value());
            memcpy(out + at + scale_offsets[type][s], &half, sizeof half);
        }
    return out;
}

#endif
