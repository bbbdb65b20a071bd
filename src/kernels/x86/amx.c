/* AMX: byte products of many columns in tiles, everything else as AVX-512 with VNNI. The system must have granted the tiles (base/cpu.c). */
#include "kernels/x86/vnni.h"

#define TILE_CONFIG(config)      _tile_loadconfig(config)
#define TILE_RELEASE()           _tile_release()
#define TILE_ZERO(t)             _tile_zero(t)
#define TILE_LOAD(t, p, stride)  _tile_loadd(t, p, stride)
#define TILE_STORE(t, p, stride) _tile_stored(t, p, stride)
#define TILE_DOT(sums, x, w)     _tile_dpbsud(sums, x, w) /* signed times unsigned */

#define LEVEL_TABLE pl_kernels_amx
#define LEVEL       PARLEY_CPU_AMX
#define LEVEL_TILES
#include "kernels/body/table.h"
