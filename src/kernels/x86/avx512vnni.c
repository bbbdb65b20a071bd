/* AVX-512 with VNNI. */
#include "kernels/x86/vnni.h"

#define OWN_INT8_TILES
#define LEVEL_TABLE pl_kernels_avx512vnni
#define LEVEL       PARLEY_CPU_AVX512VNNI
#include "kernels/body/table.h"
