/* Vector functions. Polynomials are minimax fits of our own (weighted least squares, Lawson's iteration, in double). */

/* The first `n` lanes of p when fewer are left, zeros behind them. */
INLINE vf get(const float *p, int64_t left)
{
    return left >= LANES ? vf_load(p) : vf_load_part(p, (int)left);
}
INLINE void put(float *p, vf a, int64_t left)
{
    if (left >= LANES)
        vf_store(p, a);
    else
        vf_store_part(p, a, (int)left);
}

/* 2^n for n within -126 .. 127 */
INLINE vf power_of_two(vi n)
{
    return vf_cast(vi_shift_left(vi_add(n, vi_set1(127)), 23));
}

/* exp(r) - 1 for r = x - n ln 2, |r| <= ln 2 / 2: r + r^2 p(r), with exp(r) - 1 - r = r^2 p(r) to 3e-9. */
INLINE vf exp_rest(vf x, vf n)
{
    vf r = vf_fnma(n, vf_set1(0x1.62e4p-1f), x); /* ln 2 in two parts, the first short enough for an exact product */
    r = vf_fnma(n, vf_set1(1.42860677e-6f), r);
    vf p = vf_fma(r, vf_set1(1.395060232e-03f), vf_set1(8.368953509e-03f));
    p = vf_fma(p, r, vf_set1(4.166620414e-02f));
    p = vf_fma(p, r, vf_set1(1.666651831e-01f));
    p = vf_fma(p, r, vf_set1(5.000000096e-01f));
    return vf_fma(p, vf_mul(r, r), r);
}

/* exp(x) = 2^n exp(r). 2^n in two factors reaches infinity and the subnormals. */
INLINE vf vf_exp(vf x)
{
    x = vf_min(vf_set1(89.0f), vf_max(vf_set1(-104.0f), x));
    vf n = vf_round(vf_mul(x, vf_set1(1.44269504f)));
    vf e = vf_add(vf_set1(1.0f), exp_rest(x, n));
    vi whole = vi_of_float(n), half = vi_shift_arithmetic(whole, 1);
    return vf_mul(vf_mul(e, power_of_two(half)), power_of_two(vi_sub(whole, half)));
}

/* exp(x) - 1 for x <= 0 (above: that of 0): 2^n (exp(r) - 1) + (2^n - 1), the second term exact. Below -25 it is -1 in float32. */
INLINE vf vf_expm1_below(vf x)
{
    x = vf_min(vf_set1(0.0f), vf_max(vf_set1(-25.0f), x));
    vf n = vf_round(vf_mul(x, vf_set1(1.44269504f)));
    vf power = power_of_two(vi_of_float(n));
    return vf_fma(exp_rest(x, n), power, vf_sub(power, vf_set1(1.0f)));
}

/* erf(z) = z p(z^2) below 1 (1e-9), 1 - exp(-g(|z|)) above (2e-11), with g a fit of -ln(erfc) on 1 .. 4; beyond, erf is 1 in float32. */
INLINE vf vf_erf(vf z)
{
    vf a = vf_min(vf_set1(4.0f), vf_abs(z)), u = vf_mul(a, a);
    vf p = vf_fma(u, vf_set1(7.889123097e-05f), vf_set1(-8.020842347e-04f));
    p = vf_fma(p, u, vf_set1(5.189535459e-03f));
    p = vf_fma(p, u, vf_set1(-2.685444465e-02f));
    p = vf_fma(p, u, vf_set1(1.128360018e-01f));
    p = vf_fma(p, u, vf_set1(-3.761262714e-01f));
    p = vf_fma(p, u, vf_set1(1.128379166e+00f));
    vf g = vf_fma(a, vf_set1(2.168675441e-05f), vf_set1(-4.413351899e-04f));
    g = vf_fma(g, a, vf_set1(4.204555678e-03f));
    g = vf_fma(g, a, vf_set1(-2.520823912e-02f));
    g = vf_fma(g, a, vf_set1(1.084185479e-01f));
    g = vf_fma(g, a, vf_set1(6.332199221e-01f));
    g = vf_fma(g, a, vf_set1(1.129578409e+00f));
    g = vf_fma(g, a, vf_set1(-1.880366971e-04f));
    vf far = vf_sub(vf_set1(1.0f), vf_exp(vf_sub(vf_set1(0.0f), g)));
    return vf_copysign(vf_select_less(a, vf_set1(1.0f), vf_mul(p, a), far), z);
}

/* sin(a)^2 for |a| <= 1e4: a minus the nearest multiple of pi, pi in three parts (n * the first is below 2^36, and cancels exactly in the fma). */
INLINE vf vf_sine_squared(vf a)
{
    vf n = vf_round(vf_mul(a, vf_set1(0.318309886f)));
    vf r = vf_fnma(n, vf_set1(0x1.921fb6p+1f), a);
    r = vf_fnma(n, vf_set1(-0x1.777a5cp-24f), r);
    r = vf_fnma(n, vf_set1(-0x1.ee59dap-49f), r);
    vf u = vf_mul(r, r);
    vf p = vf_fma(u, vf_set1(2.599751676e-06f), vf_set1(-1.980647891e-04f));
    p = vf_fma(p, u, vf_set1(8.333015417e-03f));
    p = vf_fma(p, u, vf_set1(-1.666665702e-01f));
    vf s = vf_fma(vf_mul(p, u), r, r);
    return vf_mul(s, s);
}

INLINE vf silu_of(vf x)
{
    return vf_div(x, vf_add(vf_set1(1.0f), vf_exp(vf_sub(vf_set1(0.0f), x))));
}
