#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void pl_log(const parley_logger *logger, parley_log_level level, const char *format, ...)
{
    if (!logger->log)
        return;
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    logger->log(logger->context, level, text);
}
