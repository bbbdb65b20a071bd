/* The tables of the levels, one a file of ref/, x86/ and arm/. */
#ifndef PL_KERNELS_LEVELS_H
#define PL_KERNELS_LEVELS_H

#include "kernels/kernels.h"

/* What a product may need in float32: a tile of 4 panels by 256 weights, and the sums of 192 columns by 4 panels, with a gate twice. */
enum { PL_TILE_PANELS = 4, PL_TILE_DEPTH = 256, PL_TILE_COLUMNS = 192 };
enum { PL_GEMM_SCRATCH = PL_TILE_PANELS * PL_PANEL * (PL_TILE_DEPTH + 2 * PL_TILE_COLUMNS) * 4 };

extern const pl_kernels pl_kernels_scalar;
#if defined(__x86_64__)
extern const pl_kernels pl_kernels_avx2, pl_kernels_avx512, pl_kernels_avx512vnni, pl_kernels_amx;
#elif defined(__aarch64__)
extern const pl_kernels pl_kernels_neon, pl_kernels_dotprod, pl_kernels_i8mm;
#endif

#endif
