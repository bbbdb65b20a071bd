/* Processors with the integer matrix products. SMMLA wants eight k of two rows side by side, the panels keep four k of sixteen: the dot product fits
 * them, so this level computes as dotprod does, compiled for the newer processor. */
#include "kernels/arm/vec_neon.h"
#include "kernels/arm/dot.h"

#define LEVEL_TABLE pl_kernels_i8mm
#define LEVEL       PARLEY_CPU_I8MM
#include "kernels/body/table.h"
