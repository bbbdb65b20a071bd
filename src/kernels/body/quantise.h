/* Activations to 8 bits in blocks of 32. */

/* sums: of the halves */
static void quantize_block(const float *x, int8_t *q, float *scale, int32_t *sums)
{
    enum { VECTORS = BLOCK / LANES };
    vi largest = vi_set1(0), totals[2] = {vi_set1(0), vi_set1(0)};
    float inverse;
    UNROLL(8)
    for (int v = 0; v < VECTORS; v++)
        largest = vi_max(largest, vi_and(vi_load(x + v * LANES), vi_set1(0x7FFFFFFF)));
    *scale = block_scale(vi_reduce_max(largest), &inverse);
    if (!(inverse > 0.0f)) {
        memset(q, 0, BLOCK);
        sums[0] = sums[1] = 0;
        return;
    }
    UNROLL(8)
    for (int v = 0; v < VECTORS; v++) {
        vi rounded = vi_of_float(vf_mul(vf_load(x + v * LANES), vf_set1(inverse)));
        totals[v / (VECTORS / 2)] = vi_add(totals[v / (VECTORS / 2)], rounded);
        vi_store_i8(q + v * LANES, rounded);
    }
    sums[0] = vi_reduce_add(totals[0]);
    sums[1] = vi_reduce_add(totals[1]);
}

static void quantize_rows(const float *x, int64_t stride, int width, int first, int last, const pl_q8_rows *out)
{
    int blocks = width / BLOCK;
    for (int r = first; r < last; r++)
        for (int b = 0; b < blocks; b++) {
            int64_t at = (int64_t)r * blocks + b;
            int32_t sums[2];
            quantize_block(x + r * stride + b * BLOCK, out->q + at * BLOCK, out->scale + at, sums);
            out->sum[at] = (sums[0] + sums[1]) * 128;
            if (out->half)
                out->half[at] = sums[0];
        }
}
