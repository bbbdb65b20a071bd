/* Everything that a level's file needs behind its vectors (LANES, vf_, vi_, q_, ..): the bodies and the table. All functions are static, so that
 * none compiled for a stronger processor can be picked by the linker for a weaker one; the tables of tiles are named after their level. */
#include "kernels/levels.h"
#include "base/status.h"
#include "kernels/panels.h"
#include "kernels/body/blocks.h"
#include "kernels/body/scale.h"

#include <math.h>

enum {
    BLOCK = PL_Q_BLOCK,
    PV = PL_PANEL / LANES /* vectors of a panel */
};

#include "kernels/body/math.h"
#include "kernels/body/quantise.h"
#include "kernels/body/few_bits.h"
#include "kernels/body/gemm.h"
#include "kernels/body/gemm_int8.h"
#include "kernels/body/gemm_finish.h"
#include "kernels/body/attend.h"
#include "kernels/body/elementwise.h"

const pl_kernels LEVEL_TABLE = {
    .level = LEVEL,
    .int8 = true,
    .gemm = gemm,
    .quantize_rows = quantize_rows,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .rope = rope,
    .attend = attend,
    .silu = silu,
    .gelu = gelu,
    .elu = elu,
    .add = add,
    .add_scaled = add_scaled,
    .snake = snake,
    .snake_q8 = snake_q8,
    .depthwise = depthwise,
    .dot_rows = dot_rows,
    .add_row = add_row,
    .encode = encode,
};
