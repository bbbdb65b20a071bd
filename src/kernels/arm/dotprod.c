/* NEON with the byte dot product (Armv8.2). */
#include "kernels/arm/vec_neon.h"
#include "kernels/arm/dot.h"

#define OWN_INT8_TILES
#define LEVEL_TABLE pl_kernels_dotprod
#define LEVEL       PARLEY_CPU_DOTPROD
#include "kernels/body/table.h"
