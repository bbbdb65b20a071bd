/* Scale of a block of 8-bit activations, the same at every level. */
#ifndef PL_KERNELS_SCALE_H
#define PL_KERNELS_SCALE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* `magnitude`: the largest of the values' bits without sign, which order like the numbers, NaN above all. *inverse is 0 where all q are 0. */
static inline float block_scale(int32_t magnitude, float *inverse)
{
    float amax;
    memcpy(&amax, &magnitude, sizeof amax);
    float scale = amax / 127.0f;
    *inverse = 0.0f;
    if (magnitude >= 0x7F800000) /* not finite: the result must show it */
        return NAN;
    if (scale < 0x1p-126f) /* its inverse may be too large for a float; such a block is silence */
        return 0.0f;
    *inverse = 1.0f / scale;
    return scale;
}

#endif
