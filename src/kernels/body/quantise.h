/* Activations to 8 bits in blocks of 32. */

enum { VECTORS = BLOCK / LANES }; /* of a block */

static void put_sums(const pl_q8_rows *out, int64_t at, int32_t first, int32_t second)
{
    out->sum[at] = (first + second) * 128;
    if (out->half)
        out->half[at] = first;
}

/* The values of a block to block `at` of the rows. */
INLINE void quantize_values(const vf *x, const pl_q8_rows *out, int64_t at)
{
    int8_t *q = out->q + at * BLOCK;
    vi largest = vi_set1(0), totals[2] = {vi_set1(0), vi_set1(0)}; /* of the halves */
    float inverse;
    UNROLL(8)
    for (int v = 0; v < VECTORS; v++)
        largest = vi_max(largest, vi_and(vi_cast(x[v]), vi_set1(0x7FFFFFFF)));
    out->scale[at] = block_scale(vi_reduce_max(largest), &inverse);
    if (!(inverse > 0.0f)) {
        memset(q, 0, BLOCK);
        put_sums(out, at, 0, 0);
        return;
    }
    UNROLL(8)
    for (int v = 0; v < VECTORS; v++) {
        vi rounded = vi_of_float(vf_mul(x[v], vf_set1(inverse)));
        totals[v / (VECTORS / 2)] = vi_add(totals[v / (VECTORS / 2)], rounded);
        vi_store_i8(q + v * LANES, rounded);
    }
    put_sums(out, at, vi_reduce_add(totals[0]), vi_reduce_add(totals[1]));
}

static void quantize_rows(const float *x, int64_t stride, int width, int first, int last, const pl_q8_rows *out)
{
    int blocks = width / BLOCK;
    for (int r = first; r < last; r++)
        for (int b = 0; b < blocks; b++) {
            vf values[VECTORS];
            UNROLL(8)
            for (int v = 0; v < VECTORS; v++)
                values[v] = vf_load(x + r * stride + b * BLOCK + v * LANES);
            quantize_values(values, out, (int64_t)r * blocks + b);
        }
}
