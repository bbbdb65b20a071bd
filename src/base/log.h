#ifndef PL_BASE_LOG_H
#define PL_BASE_LOG_H

#include "base/status.h"

/* One remark to the caller's logger, if there is one. Long texts are cut. */
void pl_log(const parley_logger *logger, parley_log_level level, const char *format, ...) PL_PRINTF(3, 4);

#endif
