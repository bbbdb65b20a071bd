/* float32 to blocks of stored weights. Each block's scale (and offset) is searched over a grid and set by least squares of the weighted error, so
 * that a block is at least as good as the plain rule's. Runs once, when a file is made: nothing here is fast. */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { SUPER = 256, SUB4 = 32, SUBS4 = SUPER / SUB4, SUB6 = 16, SUBS6 = SUPER / SUB6, STEPS = 9, ROUNDS = 3 };

/* Sums run in this many lanes, which vectors can follow; every count of values here is a multiple. */
enum { LANES = 8 };

static float sum_of(const float lanes[LANES])
{
    float sum = 0.0f;
    for (int l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum;
}

static void put_half(uint8_t *out, float value)
{
    uint16_t half = pl_float_to_half(value);
    memcpy(out, &half, sizeof half);
}

static float as_half(float value)
{
    return pl_half_to_float(pl_float_to_half(value));
}

/* Nearest whole number within low .. high, ties to even; NaN gives low. */
static inline float whole(float value, float low, float high)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: its last place is 1 */
    value = value > low ? value : low;
    value = value < high ? value : high;
    return (value + shift) - shift;
}

/* Large values matter more than small ones, since they carry most of a product; the mean keeps small ones from being given up. */
static void set_weights(const float *x, int n, float *w)
{
    float sum[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += x[i + l] * x[i + l];
    float rms = sqrtf(sum_of(sum) / (float)n);
    for (int i = 0; i < n; i++)
        w[i] = rms + fabsf(x[i]);
}

/* ------------------------------------------------------------------ x = scale * q */

/* Quants of a scale. */
static void round_to(const float *x, int n, float scale, float low, float high, float *q)
{
    float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
    for (int i = 0; i < n; i++)
        q[i] = whole(x[i] * inverse, low, high);
}

static float error_of(const float *x, const float *w, int n, float scale, const float *q)
{
    float error[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float d = x[i + l] - scale * q[i + l];
            error[l] += w[i + l] * d * d;
        }
    return sum_of(error);
}

/* The scale that is best for given quants; `gain`: what it takes off the sum of w x^2. */
static float least_squares(const float *x, const float *w, int n, const float *q, float otherwise, float *gain)
{
    float xqs[LANES] = {0}, qqs[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float wq = w[i + l] * q[i + l];
            xqs[l] += wq * x[i + l];
            qqs[l] += wq * q[i + l];
        }
    float xq = sum_of(xqs), qq = sum_of(qqs);
    *gain = qq > 0.0f ? xq * xq / qq : 0.0f;
    return qq > 0.0f ? xq / qq : otherwise;
}

/* low = -high - 1: the value of largest magnitude goes near either end. With few steps it matters which, so scales of both signs are tried. */
static float fit_symmetric(const float *x, const float *w, int n, float low, float high)
{
    float largest = 0.0f, best = 0.0f, most = -1.0f, gain, q[SUPER];
    for (int i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    for (int step = -STEPS; step <= STEPS && largest > 0.0f; step++)
        for (int sign = low < -8.0f ? 1 : -1; sign <= 1; sign += 2) {
            float scale = (float)sign * largest / (0.1f * (float)step - low);
            round_to(x, n, scale, low, high, q);
            scale = least_squares(x, w, n, q, scale, &gain);
            if (gain > most) {
                most = gain;
                best = scale;
            }
        }
    for (int round = 0; round < ROUNDS; round++) {
        round_to(x, n, best, low, high, q);
        best = least_squares(x, w, n, q, best, &gain);
    }
    return best;
}

static void encode_q4_0(const float *x, uint8_t *block)
{
    float w[32], q[32];
    set_weights(x, 32, w);
    float scale = as_half(fit_symmetric(x, w, 32, -8.0f, 7.0f));
    round_to(x, 32, scale, -8.0f, 7.0f, q);
    put_half(block, scale);
    for (int i = 0; i < 16; i++)
        block[2 + i] = (uint8_t)(((int)q[i] + 8) | ((int)q[i + 16] + 8) << 4);
}

/* ------------------------------------------------------------------ q6_k: 16 scales of 8 bits times a half */

/* Quants with the scales as they will be read back; the weighted error. */
static float quants_q6(const float *x, const float *w, float d, const int8_t *scales, float *q)
{
    float error = 0.0f;
    for (int s = 0; s < SUBS6; s++) {
        float scale = d * (float)scales[s];
        round_to(x + s * SUB6, SUB6, scale, -32.0f, 31.0f, q + s * SUB6);
        error += error_of(x + s * SUB6, w + s * SUB6, SUB6, scale, q + s * SUB6);
    }
    return error;
}

/* The half that is best for given quants and scales. */
static float refit_q6(const float *x, const float *w, const int8_t *scales, const float *q, float otherwise)
{
    float product[SUPER], gain;
    for (int i = 0; i < SUPER; i++)
        product[i] = q[i] * (float)scales[i / SUB6];
    return least_squares(x, w, SUPER, product, otherwise, &gain);
}

static void write_q6(float d, const int8_t *scales, const float *q, uint8_t *block)
{
    uint8_t *low = block, *high = block + 128;
    for (int half = 0; half < 2; half++, low += 64, high += 32)
        for (int i = 0; i < 32; i++) {
            int v[4];
            for (int k = 0; k < 4; k++)
                v[k] = (int)q[128 * half + 32 * k + i] + 32;
            low[i] = (uint8_t)((v[0] & 15) | (v[2] & 15) << 4);
            low[i + 32] = (uint8_t)((v[1] & 15) | (v[3] & 15) << 4);
            high[i] = (uint8_t)(v[0] >> 4 | v[1] >> 4 << 2 | v[2] >> 4 << 4 | v[3] >> 4 << 6);
        }
    memcpy(block + 192, scales, SUBS6);
    put_half(block + 208, d);
}

static void encode_q6_k(const float *x, uint8_t *block)
{
    float w[SUPER], q[SUPER], better[SUPER], fitted[SUBS6], largest = 0.0f;
    int8_t scales[SUBS6];
    set_weights(x, SUPER, w);
    for (int s = 0; s < SUBS6; s++) {
        fitted[s] = fit_symmetric(x + s * SUB6, w + s * SUB6, SUB6, -32.0f, 31.0f);
        largest = fmaxf(largest, fabsf(fitted[s]));
    }
    float d = as_half(largest / 127.0f);
    for (int s = 0; s < SUBS6; s++)
        scales[s] = (int8_t)(d > 0.0f ? whole(fitted[s] / d, -127.0f, 127.0f) : 0.0f);
    float error = quants_q6(x, w, d, scales, q);
    float again = as_half(refit_q6(x, w, scales, q, d));
    if (quants_q6(x, w, again, scales, better) < error) {
        d = again;
        memcpy(q, better, sizeof q);
    }
    write_q6(d, scales, q, block);
}

/* ------------------------------------------------------------------ q4_k: x = scale * q - offset, 8 of each in 6 bits times a half */

typedef struct affine {
    float scale, offset; /* neither is negative */
} affine;

static void round_affine(const float *x, int n, float scale, float offset, float *q)
{
    float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    for (int i = 0; i < n; i++)
        q[i] = whole((x[i] + offset) * inverse, 0.0f, 15.0f);
}

static float error_affine(const float *x, const float *w, int n, float scale, float offset, const float *q)
{
    float error[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float d = x[i + l] - (scale * q[i + l] - offset);
            error[l] += w[i + l] * d * d;
        }
    return sum_of(error);
}

/* The least-squares problem x = a * p - b * r over n values: sums of w p p, w p r, .. */
static void fit_pair(const float *x, const float *w, int n, const float *p, const float *r, float *a, float *b)
{
    float pps[LANES] = {0}, prs[LANES] = {0}, rrs[LANES] = {0}, xps[LANES] = {0}, xrs[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float wp = w[i + l] * p[i + l], wr = w[i + l] * r[i + l];
            pps[l] += wp * p[i + l];
            prs[l] += wp * r[i + l];
            rrs[l] += wr * r[i + l];
            xps[l] += wp * x[i + l];
            xrs[l] += wr * x[i + l];
        }
    float pp = sum_of(pps), pr = sum_of(prs), rr = sum_of(rrs), xp = sum_of(xps), xr = sum_of(xrs);
    float determinant = pp * rr - pr * pr;
    if (determinant > 1e-5f * pp * rr) {
        *a = (xp * rr - xr * pr) / determinant;
        *b = (xp * pr - xr * pp) / determinant;
    }
    if (*b >= 0.0f && *a >= 0.0f)
        return;
    *b = 0.0f; /* a negative one cannot be stored */
    *a = pp > 0.0f && xp > 0.0f ? xp / pp : 0.0f;
}

static affine fit_affine(const float *x, const float *w)
{
    float low = fminf(x[0], 0.0f), high = x[0], least = INFINITY, q[SUB4], ones[SUB4];
    for (int i = 0; i < SUB4; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
        ones[i] = 1.0f;
    }
    affine best = {0.0f, -low};
    for (int step = -STEPS; step <= STEPS && high > low; step++) {
        affine try = {(high - low) / (15.0f + 0.1f * (float)step), -low};
        for (int round = 0; round < ROUNDS - 1; round++) {
            round_affine(x, SUB4, try.scale, try.offset, q);
            fit_pair(x, w, SUB4, q, ones, &try.scale, &try.offset);
        }
        float error = error_affine(x, w, SUB4, try.scale, try.offset, q);
        if (error < least) {
            least = error;
            best = try;
        }
    }
    return best;
}

typedef struct super4 {
    float d, m; /* halves */
    uint8_t scales[SUBS4], offsets[SUBS4];
    float q[SUPER];
} super4;

static float quants_q4(const float *x, const float *w, super4 *s)
{
    float error = 0.0f;
    for (int k = 0; k < SUBS4; k++) {
        float scale = s->d * (float)s->scales[k], offset = s->m * (float)s->offsets[k];
        round_affine(x + k * SUB4, SUB4, scale, offset, s->q + k * SUB4);
        error += error_affine(x + k * SUB4, w + k * SUB4, SUB4, scale, offset, s->q + k * SUB4);
    }
    return error;
}

/* Both halves anew for the quants that there are; kept when that lowers the error. */
static void refit_q4(const float *x, const float *w, super4 *s, float error)
{
    super4 again = *s;
    float p[SUPER], r[SUPER];
    for (int i = 0; i < SUPER; i++) {
        p[i] = (float)s->scales[i / SUB4] * s->q[i];
        r[i] = (float)s->offsets[i / SUB4];
    }
    fit_pair(x, w, SUPER, p, r, &again.d, &again.m);
    again.d = as_half(again.d);
    again.m = as_half(again.m);
    if (quants_q4(x, w, &again) < error)
        *s = again;
}

/* 6-bit scales and offsets in 12 bytes: those of the first four sub-blocks whole, the others' low halves behind, their high bits on top. */
static void write_q4(const super4 *s, uint8_t *block)
{
    uint8_t *packed = block + 4, *quants = block + 16;
    put_half(block, s->d);
    put_half(block + 2, s->m);
    for (int k = 0; k < 4; k++) {
        packed[k] = (uint8_t)(s->scales[k] | s->scales[k + 4] >> 4 << 6);
        packed[k + 4] = (uint8_t)(s->offsets[k] | s->offsets[k + 4] >> 4 << 6);
        packed[k + 8] = (uint8_t)((s->scales[k + 4] & 15) | (s->offsets[k + 4] & 15) << 4);
    }
    for (int pair = 0; pair < SUBS4 / 2; pair++)
        for (int i = 0; i < SUB4; i++)
            quants[pair * SUB4 + i] = (uint8_t)((int)s->q[2 * pair * SUB4 + i] | (int)s->q[(2 * pair + 1) * SUB4 + i] << 4);
}

static void encode_q4_k(const float *x, uint8_t *block)
{
    float w[SUPER], scale = 0.0f, offset = 0.0f;
    affine fitted[SUBS4];
    super4 s = {0};
    for (int k = 0; k < SUBS4; k++) {
        set_weights(x + k * SUB4, SUB4, w + k * SUB4);
        fitted[k] = fit_affine(x + k * SUB4, w + k * SUB4);
        scale = fmaxf(scale, fitted[k].scale);
        offset = fmaxf(offset, fitted[k].offset);
    }
    s.d = as_half(scale / 63.0f);
    s.m = as_half(offset / 63.0f);
    for (int k = 0; k < SUBS4; k++) {
        s.scales[k] = (uint8_t)(s.d > 0.0f ? whole(fitted[k].scale / s.d, 0.0f, 63.0f) : 0.0f);
        s.offsets[k] = (uint8_t)(s.m > 0.0f ? whole(fitted[k].offset / s.m, 0.0f, 63.0f) : 0.0f);
    }
    refit_q4(x, w, &s, quants_q4(x, w, &s));
    write_q4(&s, block);
}

/* ------------------------------------------------------------------ all types */

bool pl_type_is_encoded(pl_type type)
{
    switch (type) {
    case PL_F32:
    case PL_F16:
    case PL_BF16:
    case PL_Q8_0:
    case PL_Q6_K:
    case PL_Q4_K:
    case PL_Q4_0: return true;
    default: return false;
    }
}

void pl_encode(pl_type type, const float *source, int64_t values, void *out)
{
    const int64_t block = pl_type_info(type)->values;
    uint8_t *bytes = out;
    if (type != PL_Q6_K && type != PL_Q4_K && type != PL_Q4_0) {
        pl_quantize(type, source, values, out);
        return;
    }
    for (int64_t i = 0; i < values; i += block) {
        uint8_t *to = bytes + pl_row_bytes(type, i);
        if (type == PL_Q6_K)
            encode_q6_k(source + i, to);
        else if (type == PL_Q4_K)
            encode_q4_k(source + i, to);
        else
            encode_q4_0(source + i, to);
    }
}
