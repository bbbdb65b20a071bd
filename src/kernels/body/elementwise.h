/* Norms, activations and sums of rows. */

/* ------------------------------------------------------------------ norms */

/* Sum of (x - middle)^2: four vectors of sums, then the rest one by one; the order hangs on n alone. */
static float sum_of_squares(const float *x, float middle, int n)
{
    vf sums[4] = {vf_set1(0.0f), vf_set1(0.0f), vf_set1(0.0f), vf_set1(0.0f)};
    int i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int v = 0; v < 4; v++) {
            vf d = vf_sub(vf_load(x + i + v * LANES), vf_set1(middle));
            sums[v] = vf_fma(d, d, sums[v]);
        }
    float sum = vf_reduce_add(vf_add(vf_add(sums[0], sums[1]), vf_add(sums[2], sums[3])));
    for (; i < n; i++)
        sum += (x[i] - middle) * (x[i] - middle);
    return sum;
}

static float sum_of(const float *x, int n)
{
    vf sums[4] = {vf_set1(0.0f), vf_set1(0.0f), vf_set1(0.0f), vf_set1(0.0f)};
    int i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int v = 0; v < 4; v++)
            sums[v] = vf_add(vf_load(x + i + v * LANES), sums[v]);
    float sum = vf_reduce_add(vf_add(vf_add(sums[0], sums[1]), vf_add(sums[2], sums[3])));
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static void rms_norm(const float *x, const float *w, float eps, int n, float *y)
{
    vf inverse = vf_set1(1.0f / sqrtf(sum_of_squares(x, 0.0f, n) / (float)n + eps));
    for (int i = 0; i < n; i += LANES)
        put(y + i, vf_mul(get(w + i, n - i), vf_mul(get(x + i, n - i), inverse)), n - i);
}

static void layer_norm(const float *x, const float *w, const float *b, float eps, int n, float *y)
{
    float middle = sum_of(x, n) / (float)n;
    vf mean = vf_set1(middle), inverse = vf_set1(1.0f / sqrtf(sum_of_squares(x, middle, n) / (float)n + eps));
    for (int i = 0; i < n; i += LANES) {
        vf value = vf_mul(vf_sub(get(x + i, n - i), mean), inverse);
        put(y + i, vf_fma(value, get(w + i, n - i), get(b + i, n - i)), n - i);
    }
}

/* ------------------------------------------------------------------ rotation */

static void rope(float *x, const float *cosine, const float *sine, int width)
{
    int half = width / 2;
    for (int i = 0; i < half; i += LANES) {
        vf a = get(x + i, half - i), b = get(x + half + i, half - i), c = get(cosine + i, half - i), s = get(sine + i, half - i);
        put(x + i, vf_fnma(b, s, vf_mul(a, c)), half - i);
        put(x + half + i, vf_fma(a, s, vf_mul(b, c)), half - i);
    }
}

/* ------------------------------------------------------------------ activations */

static void silu(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        put(x + i, silu_of(get(x + i, n - i)), n - i);
}

static void gelu(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        vf value = get(x + i, n - i), half = vf_mul(value, vf_set1(0.5f));
        put(x + i, vf_fma(half, vf_erf(vf_mul(value, vf_set1(0.70710678f))), half), n - i);
    }
}

static void elu(const float *x, int64_t n, float *y)
{
    const vf zero = vf_set1(0.0f);
    for (int64_t i = 0; i < n; i += LANES) {
        vf value = get(x + i, n - i);
        put(y + i, vf_select_less(zero, value, value, vf_expm1_below(value)), n - i);
    }
}

/* The polynomial's range is left: the C library, lane by lane. */
static __attribute__((noinline)) vf sine_squared_far(vf a)
{
    float lanes[LANES];
    vf_store(lanes, a);
    for (int i = 0; i < LANES; i++) {
        float s = sinf(lanes[i]);
        lanes[i] = s * s;
    }
    return vf_load(lanes);
}

INLINE vf snake_of(vf x, vf alpha, vf inv_beta)
{
    vf a = vf_mul(x, alpha);
    vf s = PL_LIKELY(vf_all_at_most(vf_abs(a), vf_set1(1e4f))) ? vf_sine_squared(a) : sine_squared_far(a);
    return vf_fma(inv_beta, s, x);
}

static void snake(const float *x, const float *alpha, const float *inv_beta, int width, int64_t rows, float *y)
{
    for (int64_t t = 0; t < rows; t++, x += width, y += width)
        for (int c = 0; c < width; c += LANES)
            put(y + c, snake_of(get(x + c, width - c), get(alpha + c, width - c), get(inv_beta + c, width - c)), width - c);
}

static void snake_q8(const float *x, const float *alpha, const float *inv_beta, int width, int64_t rows, const pl_q8_rows *out)
{
    int64_t at = 0;
    for (int64_t t = 0; t < rows; t++, x += width)
        for (int c = 0; c < width; c += BLOCK, at++) {
            vf values[VECTORS];
            UNROLL(8)
            for (int v = 0; v < VECTORS; v++)
                values[v] = snake_of(vf_load(x + c + v * LANES), vf_load(alpha + c + v * LANES), vf_load(inv_beta + c + v * LANES));
            quantize_values(values, out, at);
        }
}

/* ------------------------------------------------------------------ sums */

static void add(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        put(y + i, vf_add(get(y + i, n - i), get(x + i, n - i)), n - i);
}

static void add_scaled(float *y, const float *x, const float *scale, int width, int rows)
{
    for (int r = 0; r < rows; r++, x += width, y += width)
        for (int i = 0; i < width; i += LANES)
            put(y + i, vf_fma(get(scale + i, width - i), get(x + i, width - i), get(y + i, width - i)), width - i);
}

static void depthwise(const float *x, const float *w, const float *bias, int taps, int width, int rows, float *y)
{
    for (int t = 0; t < rows; t++, x += width, y += width)
        for (int c = 0; c < width; c += LANES) {
            vf sum = get(bias + c, width - c);
            for (int64_t j = 0; j < taps; j++)
                sum = vf_fma(get(w + j * width + c, width - c), get(x + j * width + c, width - c), sum);
            put(y + c, sum, width - c);
        }
}

enum { DOT_ROWS = 4 }; /* side by side, to hide the latency of their sums; a row's own sum is the same alone */

INLINE void dot_some(const float *x, int64_t stride, const float *w, int n, float bias, const int count, float *y)
{
    vf sums[DOT_ROWS];
    UNROLL(4)
    for (int r = 0; r < count; r++)
        sums[r] = vf_set1(0.0f);
    for (int k = 0; k < n; k += LANES) {
        vf weights = get(w + k, n - k);
        UNROLL(4)
        for (int r = 0; r < count; r++)
            sums[r] = vf_fma(weights, get(x + r * stride + k, n - k), sums[r]);
    }
    UNROLL(4)
    for (int r = 0; r < count; r++)
        y[r] = vf_reduce_add(sums[r]) + bias;
}

static void dot_rows(const float *x, int64_t stride, const float *w, int n, float bias, int rows, float *y)
{
    int r = 0;
    for (; r + DOT_ROWS <= rows; r += DOT_ROWS)
        dot_some(x + r * stride, stride, w, n, bias, DOT_ROWS, y + r);
    for (; r < rows; r++)
        dot_some(x + r * stride, stride, w, n, bias, 1, y + r);
}

static void encode(pl_type type, const float *x, int n, void *out)
{
    uint8_t *bytes = out;
    int i = 0;
    for (; type == PL_F16 && i + LANES <= n; i += LANES)
        vf_store_f16(bytes + (size_t)i * 2, vf_load(x + i));
    pl_quantize(type, x + i, n - i, bytes + pl_row_bytes(type, i));
}

static void add_row(pl_type type, const void *row, int width, float *y)
{
    float values[PL_TILE_DEPTH];
    const uint8_t *bytes = row;
    for (int i = 0; i < width; i += PL_TILE_DEPTH) {
        int n = width - i < PL_TILE_DEPTH ? width - i : PL_TILE_DEPTH;
        pl_dequantize(type, bytes + pl_row_bytes(type, i), n, values);
        add(y + i, values, n);
    }
}
