/* Spectra of real sequences of any even length, several sequences ("lanes") at once: one lane's result does not depend on the others. */
#ifndef PL_AUDIO_FFT_H
#define PL_AUDIO_FFT_H

#include "base/arena.h"

enum { PL_FFT_LANES = 4, PL_FFT_MAX_FACTORS = 32 };

/* Tables. Double precision: quiet bands beside loud ones would drown in the rounding of a float32 transform. */
typedef struct pl_fft {
    int length, half;
    int factors[PL_FFT_MAX_FACTORS], n_factors; /* of half: 4, 2, odd primes */
    const double *roots;                        /* [half][2]: exp(-2 pi i k / half) */
    const double *turns;                        /* [half / 2 + 1][2]: exp(-2 pi i k / length) */
} pl_fft;

/* Errors: ARGUMENT (odd or too small), MEMORY. */
parley_status pl_fft_open(pl_arena *arena, int length, pl_fft *fft, parley_error *error);

/* x [length][lanes], overwritten -> spectrum [length / 2 + 1][re, im][lanes], not scaled. */
void pl_fft_run(const pl_fft *fft, double *x, double *spectrum);

#endif
