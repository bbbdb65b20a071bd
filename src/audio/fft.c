#include "audio/fft.h"

#include <math.h>
#include <string.h>

enum { LANES = PL_FFT_LANES, CELL = 2 * LANES, MAX_LENGTH = 1 << 24 };

static const double two_pi = 6.283185307179586476925286766559;

/* ------------------------------------------------------------------ tables */

static void factorize(pl_fft *fft)
{
    int rest = fft->half;
    for (int radix = 4; rest > 1;) {
        if (rest % radix == 0) {
            fft->factors[fft->n_factors++] = radix;
            rest /= radix;
        } else if (radix == 4) {
            radix = 2;
        } else {
            radix = radix == 2 ? 3 : radix + 2;
        }
    }
}

static double *circle(pl_arena *arena, int count, int length)
{
    double *roots = pl_arena_alloc_raw(arena, (size_t)count, 2 * sizeof *roots);
    for (int k = 0; roots && k < count; k++) {
        double angle = two_pi * k / length;
        roots[2 * k] = cos(angle);
        roots[2 * k + 1] = -sin(angle);
    }
    return roots;
}

parley_status pl_fft_open(pl_arena *arena, int length, pl_fft *fft, parley_error *error)
{
    if (length < 2 || length % 2 || length > MAX_LENGTH)
        return pl_fail(error, PARLEY_ARGUMENT, "length of a Fourier transform: expected an even number from 2 to %d, got %d", MAX_LENGTH, length);
    *fft = (pl_fft){.length = length, .half = length / 2};
    factorize(fft);
    fft->roots = circle(arena, fft->half, fft->half);
    fft->turns = circle(arena, fft->half / 2 + 1, length);
    return fft->roots && fft->turns ? PARLEY_OK : pl_fail_memory(error, "tables of a Fourier transform");
}

/* ------------------------------------------------------------------ butterflies */

/* One pass of the self-sorting transform (Stockham, decimation in frequency): `parts` transforms of length radix * parts, `stride` interleaved. */
typedef struct pass {
    const double *roots; /* of the whole transform */
    int radix, parts, stride, half;
} pass;

/* y = (re, im) * w for one lane. */
static inline void turn(double re, double im, const double *w, double *y)
{
    y[0] = re * w[0] - im * w[1];
    y[LANES] = re * w[1] + im * w[0];
}

/* `in`, `out`: doubles from an element to the next; w: powers 1, 2, 3 of the twiddle factor. */
static inline void butterfly4(const double *restrict x, size_t in, double *restrict y, size_t out, const double *const w[3])
{
    for (int l = 0; l < LANES; l++) {
        const double *a = x + l, *b = a + in, *c = b + in, *d = c + in;
        double sum_re = a[0] + c[0], sum_im = a[LANES] + c[LANES], odd_re = b[0] + d[0], odd_im = b[LANES] + d[LANES];
        double dif_re = a[0] - c[0], dif_im = a[LANES] - c[LANES], rot_re = b[LANES] - d[LANES], rot_im = d[0] - b[0]; /* -i (b - d) */
        y[l] = sum_re + odd_re;
        y[l + LANES] = sum_im + odd_im;
        turn(dif_re + rot_re, dif_im + rot_im, w[0], y + l + out);
        turn(sum_re - odd_re, sum_im - odd_im, w[1], y + l + 2 * out);
        turn(dif_re - rot_re, dif_im - rot_im, w[2], y + l + 3 * out);
    }
}

static void pass4(const pass *p, const double *x, double *y)
{
    size_t run = (size_t)p->stride * CELL;
    for (int i = 0; i < p->parts; i++) {
        size_t step = (size_t)i * (size_t)p->stride * 2;
        const double *w[3] = {p->roots + step, p->roots + 2 * step, p->roots + 3 * step};
        for (int q = 0; q < p->stride; q++)
            butterfly4(x + (size_t)i * run + (size_t)q * CELL, (size_t)p->parts * run, y + (size_t)i * 4 * run + (size_t)q * CELL, run, w);
    }
}

static void pass2(const pass *p, const double *restrict x, double *restrict y)
{
    size_t run = (size_t)p->stride * CELL, in = (size_t)p->parts * run;
    for (int i = 0; i < p->parts; i++) {
        const double *w = p->roots + (size_t)i * (size_t)p->stride * 2;
        for (size_t q = 0; q < run; q += CELL) {
            const double *a = x + (size_t)i * run + q;
            double *sum = y + (size_t)i * 2 * run + q;
            for (int l = 0; l < LANES; l++) {
                sum[l] = a[l] + a[in + (size_t)l];
                sum[l + LANES] = a[l + LANES] + a[in + LANES + (size_t)l];
                turn(a[l] - a[in + (size_t)l], a[l + LANES] - a[in + LANES + (size_t)l], w, sum + run + l);
            }
        }
    }
}

/* Output j and radix - j of an odd radix: elements k and radix - k come with conjugate factors, so that their sum meets the cosine only and
 * their difference the sine only. roots[k * unit]: the radix-th roots of unity. */
static inline void butterfly_pair(const pass *p, const double *restrict x, size_t in, int j, double even[CELL], double odd[CELL])
{
    size_t unit = (size_t)(p->half / p->radix) * 2;
    for (int l = 0; l < CELL; l++) {
        even[l] = x[l];
        odd[l] = 0;
    }
    for (int k = 1, at = j; k <= p->radix / 2; k++, at = at + j < p->radix ? at + j : at + j - p->radix) {
        const double *a = x + (size_t)k * in, *b = x + (size_t)(p->radix - k) * in, *w = p->roots + (size_t)at * unit;
        for (int l = 0; l < CELL; l++)
            even[l] += w[0] * (a[l] + b[l]);
        for (int l = 0; l < LANES; l++) { /* i sin (a - b) */
            odd[l] -= w[1] * (a[l + LANES] - b[l + LANES]);
            odd[l + LANES] += w[1] * (a[l] - b[l]);
        }
    }
}

static void butterfly_odd(const pass *p, const double *restrict x, double *restrict y, int part)
{
    size_t out = (size_t)p->stride * CELL, in = (size_t)p->parts * out;
    for (int l = 0; l < CELL; l++)
        y[l] = x[l];
    for (int k = 1; k < p->radix; k++)
        for (int l = 0; l < CELL; l++)
            y[l] += x[(size_t)k * in + (size_t)l];
    for (int j = 1; j <= p->radix / 2; j++) {
        double even[CELL], odd[CELL];
        butterfly_pair(p, x, in, j, even, odd);
        const double *w = p->roots + (size_t)part * (size_t)j * (size_t)p->stride * 2;
        const double *v = p->roots + (size_t)part * (size_t)(p->radix - j) * (size_t)p->stride * 2;
        for (int l = 0; l < LANES; l++) {
            turn(even[l] + odd[l], even[l + LANES] + odd[l + LANES], w, y + (size_t)j * out + l);
            turn(even[l] - odd[l], even[l + LANES] - odd[l + LANES], v, y + (size_t)(p->radix - j) * out + l);
        }
    }
}

static void pass_odd(const pass *p, const double *x, double *y)
{
    size_t run = (size_t)p->stride * CELL;
    for (int i = 0; i < p->parts; i++)
        for (int q = 0; q < p->stride; q++)
            butterfly_odd(p, x + (size_t)i * run + (size_t)q * CELL, y + (size_t)i * (size_t)p->radix * run + (size_t)q * CELL, i);
}

/* ------------------------------------------------------------------ real sequences */

/* z holds the transform of x[2k] + i x[2k + 1]; the spectra of the even and the odd samples are its conjugate-even and conjugate-odd parts.
 * X[k] = E + w O, X[half - k] = conj(E - w O). z may be X. */
static void untangle(const pl_fft *fft, const double *z, double *spectrum)
{
    for (int k = 0; k <= fft->half / 2; k++) {
        double a[CELL], b[CELL];
        memcpy(a, z + (size_t)k * CELL, sizeof a);
        memcpy(b, z + (size_t)(k ? fft->half - k : 0) * CELL, sizeof b);
        const double *w = fft->turns + (size_t)k * 2;
        double *low = spectrum + (size_t)k * CELL, *high = spectrum + (size_t)(fft->half - k) * CELL;
        for (int l = 0; l < LANES; l++) {
            double even_re = 0.5 * (a[l] + b[l]), even_im = 0.5 * (a[l + LANES] - b[l + LANES]);
            double odd_re = 0.5 * (a[l + LANES] + b[l + LANES]), odd_im = 0.5 * (b[l] - a[l]);
            double re = odd_re * w[0] - odd_im * w[1], im = odd_re * w[1] + odd_im * w[0];
            low[l] = even_re + re;
            low[l + LANES] = even_im + im;
            high[l] = even_re - re;
            high[l + LANES] = im - even_im;
        }
    }
}

void pl_fft_run(const pl_fft *fft, double *x, double *spectrum)
{
    double *from = x, *to = spectrum;
    pass p = {.roots = fft->roots, .parts = fft->half, .stride = 1, .half = fft->half};
    for (int i = 0; i < fft->n_factors; i++) {
        p.radix = fft->factors[i];
        p.parts /= p.radix;
        if (p.radix == 4)
            pass4(&p, from, to);
        else if (p.radix == 2)
            pass2(&p, from, to);
        else
            pass_odd(&p, from, to);
        p.stride *= p.radix;
        double *swap = from;
        from = to;
        to = swap;
    }
    untangle(fft, from, spectrum);
}
