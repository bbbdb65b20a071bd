/* The AMX level with its tile instructions replaced by their model in C. Compiled for AVX-512 VNNI (tests/CMakeLists.txt). */
#include "kernels/x86/vnni.h"
#include "support/tile_model.h"

#define TILE_CONFIG(config)      model_config(config)
#define TILE_RELEASE()           model_release()
#define TILE_ZERO(t)             model_zero(t)
#define TILE_LOAD(t, p, stride)  model_load(t, p, stride)
#define TILE_STORE(t, p, stride) model_store(t, p, stride)
#define TILE_DOT(sums, x, w)     model_dot(sums, x, w)

#define LEVEL_TABLE tile_model_kernels
#define LEVEL       PARLEY_CPU_AMX
#define LEVEL_TILES
#include "kernels/kernels.h"
extern const pl_kernels tile_model_kernels;
#include "kernels/body/table.h"
