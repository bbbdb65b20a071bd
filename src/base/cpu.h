/* What the processor can do. */
#ifndef PL_BASE_CPU_H
#define PL_BASE_CPU_H

#include "base/status.h"

/* Whether processor and operating system support a level; PARLEY_CPU_BEST and SCALAR always. AMX: whether its tiles are granted to this process. */
bool pl_cpu_has(parley_cpu level);

/* The strongest level that is supported and not above `cap` (PARLEY_CPU_BEST: no cap). DEVICE when the cap itself is not supported. Asks
 * Linux for the tiles of AMX where the choice may fall on that level. */
parley_status pl_cpu_choose(parley_cpu cap, parley_cpu *level, parley_error *error);

/* Cores that this process may use, at least 1. */
int pl_cpu_cores(void);

#endif
