/* Attention of a few heads over a cache, block by block of 64 absolute positions, keys and values widened in registers. Each head's numbers are
 * formed alike however many heads go together. */

/* Values i .. i + LANES - 1 of a cache row. */
INLINE vf kv_load(pl_type type, const uint8_t *row, int i)
{
    switch (type) {
    case PL_F32: return vf_load((const float *)(const void *)row + i);
    case PL_F16: return vf_load_f16(row + i * 2);
    case PL_BF16: return vf_load_bf16(row + i * 2);
    default: break;
    }
    const uint8_t *block = row + i / BLOCK * (BLOCK + 2);
    uint16_t half;
    memcpy(&half, block, sizeof half);
    return vf_mul(vf_set1(half_to_float(half)), vf_load_i8(block + 2 + i % BLOCK));
}

/* The last values of a row whose width is no multiple of LANES (never Q8_0), zeros behind them. */
static __attribute__((noinline)) vf kv_load_part(pl_type type, const uint8_t *row, int i, int n)
{
    float lanes[LANES] = {0};
    pl_dequantize(type, row + pl_row_bytes(type, i), n, lanes);
    return vf_load(lanes);
}

/* Dot products of H heads with one key. */
INLINE void dots(const pl_attend *a, pl_type type, int head, const uint8_t *key, float *scores, const int H)
{
    vf sums[4];
    const float *q = a->q + (int64_t)head * a->width;
    UNROLL(4)
    for (int h = 0; h < H; h++)
        sums[h] = vf_set1(0.0f);
    int i = 0;
    for (; i + LANES <= a->width; i += LANES) {
        vf k = kv_load(type, key, i);
        UNROLL(4)
        for (int h = 0; h < H; h++)
            sums[h] = vf_fma(vf_load(q + (int64_t)h * a->width + i), k, sums[h]);
    }
    if (i < a->width) {
        vf k = kv_load_part(type, key, i, a->width - i);
        UNROLL(4)
        for (int h = 0; h < H; h++)
            sums[h] = vf_fma(vf_load_part(q + (int64_t)h * a->width + i, a->width - i), k, sums[h]);
    }
    UNROLL(4)
    for (int h = 0; h < H; h++)
        scores[h * PL_KV_BLOCK] = vf_reduce_add(sums[h]) * a->scale;
}

/* Scores to weights exp(score - maximum); positions outside the window hold -infinity and get 0. Gives back what earlier sums shrink by. */
static float weigh(float *scores, float *maximum, float *sum)
{
    vf top = vf_load(scores), total = vf_set1(0.0f);
    for (int j = LANES; j < PL_KV_BLOCK; j += LANES)
        top = vf_max(top, vf_load(scores + j));
    float highest = vf_reduce_max(top), before = *maximum;
    *maximum = highest > before ? highest : before;
    for (int j = 0; j < PL_KV_BLOCK; j += LANES) {
        vf p = vf_exp(vf_sub(vf_load(scores + j), vf_set1(*maximum)));
        vf_store(scores + j, p);
        total = vf_add(total, p);
    }
    float keep = expf(before - *maximum);
    *sum = *sum * keep + vf_reduce_add(total);
    return keep;
}

/* out = out * keep + sum of weight * value, KV_CHUNKS vectors (or N of them) of H heads at once. */
INLINE void add_values(const pl_attend *a, pl_type type, int head, int i, const uint8_t *values, int first, int last, const float *weights,
                       const float *keep, const int H, const int N)
{
    vf sums[4][KV_CHUNKS];
    size_t row_bytes = pl_row_bytes(type, a->width);
    float *out = a->out + (int64_t)head * a->width + i;
    UNROLL(4)
    for (int h = 0; h < H; h++)
        UNROLL(4)
    for (int n = 0; n < N; n++)
        sums[h][n] = vf_mul(vf_load(out + (int64_t)h * a->width + n * LANES), vf_set1(keep[h]));
    for (int j = first; j < last; j++)
        UNROLL(4)
    for (int n = 0; n < N; n++) {
        vf v = kv_load(type, values + (size_t)j * row_bytes, i + n * LANES);
        UNROLL(4)
        for (int h = 0; h < H; h++)
            sums[h][n] = vf_fma(vf_set1(weights[h * PL_KV_BLOCK + j]), v, sums[h][n]);
    }
    UNROLL(4)
    for (int h = 0; h < H; h++)
        UNROLL(4)
    for (int n = 0; n < N; n++)
        vf_store(out + (int64_t)h * a->width + n * LANES, sums[h][n]);
}

/* The last values of a row whose width is no multiple of LANES. */
static void add_values_part(const pl_attend *a, int head, int i, const uint8_t *values, int first, int last, const float *weights, float keep)
{
    int n = a->width - i;
    size_t row_bytes = pl_row_bytes(a->type, a->width);
    float *out = a->out + (int64_t)head * a->width + i;
    vf sum = vf_mul(vf_load_part(out, n), vf_set1(keep));
    for (int j = first; j < last; j++)
        sum = vf_fma(vf_set1(weights[j]), kv_load_part(a->type, values + (size_t)j * row_bytes, i, n), sum);
    vf_store_part(out, sum, n);
}

/* Positions first .. last - 1 of one block for heads head .. head + H - 1. */
INLINE void attend_block(const pl_attend *a, pl_type type, int head, const uint8_t *block, int first, int last, float *maximum, float *sum,
                         const int H)
{
    float scores[4 * PL_KV_BLOCK], keep[4];
    size_t row_bytes = pl_row_bytes(type, a->width);
    for (int j = 0; j < H * PL_KV_BLOCK; j++)
        scores[j] = -INFINITY;
    for (int j = first; j < last; j++)
        dots(a, type, head, block + a->k_offset + (size_t)j * row_bytes, scores + j, H);
    for (int h = 0; h < H; h++)
        keep[h] = weigh(scores + h * PL_KV_BLOCK, maximum + h, sum + h);
    int i = 0;
    for (; i + KV_CHUNKS * LANES <= a->width; i += KV_CHUNKS * LANES)
        add_values(a, type, head, i, block + a->v_offset, first, last, scores, keep, H, KV_CHUNKS);
    for (; i + LANES <= a->width; i += LANES)
        add_values(a, type, head, i, block + a->v_offset, first, last, scores, keep, H, 1);
    for (int h = 0; h < H && i < a->width; h++)
        add_values_part(a, head + h, i, block + a->v_offset, first, last, scores + h * PL_KV_BLOCK, keep[h]);
}

SPECIAL void attend_heads(const pl_attend *a, pl_type type, int head, const int H)
{
    float maximum[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, sum[4] = {0};
    float *out = a->out + (int64_t)head * a->width;
    memset(out, 0, sizeof *out * (size_t)H * (size_t)a->width);
    for (int64_t b = a->begin / PL_KV_BLOCK; b * PL_KV_BLOCK < a->end; b++) {
        int64_t start = b * PL_KV_BLOCK;
        int first = a->begin > start ? (int)(a->begin - start) : 0, last = a->end - start < PL_KV_BLOCK ? (int)(a->end - start) : PL_KV_BLOCK;
        attend_block(a, type, head, a->blocks[b], first, last, maximum, sum, H);
    }
    for (int h = 0; h < H; h++)
        for (int i = 0; i < a->width; i += LANES) {
            float *p = out + (int64_t)h * a->width + i;
            put(p, vf_mul(get(p, a->width - i), vf_set1(1.0f / sum[h])), a->width - i);
        }
}

#define ATTEND(name, type)                             \
    static void name##_1(const pl_attend *a, int head) \
    {                                                  \
        attend_heads(a, type, head, 1);                \
    }                                                  \
    static void name##_2(const pl_attend *a, int head) \
    {                                                  \
        attend_heads(a, type, head, 2);                \
    }                                                  \
    static void name##_4(const pl_attend *a, int head) \
    {                                                  \
        if (KV_HEADS == 4)                             \
            attend_heads(a, type, head, 4);            \
    }
ATTEND(attend_f32, PL_F32)
ATTEND(attend_f16, PL_F16)
ATTEND(attend_bf16, PL_BF16)
ATTEND(attend_q8, PL_Q8_0)

typedef void (*attend_function)(const pl_attend *a, int head);

static void attend(const pl_attend *a)
{
    static const attend_function functions[][3] = {
        {attend_f32_1, attend_f32_2, attend_f32_4},
        {attend_f16_1, attend_f16_2, attend_f16_4},
        {attend_bf16_1, attend_bf16_2, attend_bf16_4},
        {attend_q8_1, attend_q8_2, attend_q8_4},
    };
    int row = a->type == PL_F32 ? 0 : a->type == PL_F16 ? 1 : a->type == PL_BF16 ? 2 : 3;
    for (int head = 0; head < a->heads;) {
        int left = a->heads - head, n = left >= KV_HEADS ? KV_HEADS : left >= 2 ? 2 : 1;
        functions[row][n / 2](a, head);
        head += n;
    }
}
