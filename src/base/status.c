#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    int http, exit_code;
} statuses[] = {
#define STATUS_ROW(constant, name, http, exit_code, meaning) {name, http, exit_code},
    PARLEY_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static size_t index_of(parley_status status)
{
    size_t i = (size_t)status;
    return i < sizeof statuses / sizeof statuses[0] ? i : (size_t)PARLEY_INTERNAL;
}

const char *parley_status_name(parley_status status)
{
    return statuses[index_of(status)].name;
}

int parley_status_http(parley_status status)
{
    return statuses[index_of(status)].http;
}

int parley_status_exit_code(parley_status status)
{
    return statuses[index_of(status)].exit_code;
}

/* Drops the bytes of a character that the end of the buffer cut in two, and makes it one line. */
static void tidy(char *text, size_t size, int wanted)
{
    if (wanted >= (int)size) {
        size_t n = size - 1;
        while (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0x80)
            n--;
        if (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0xC0)
            n--;
        else if (n < size - 1)
            n = size - 1;
        text[n] = '\0';
    }
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F)
            *text = ' ';
}

static parley_status fill(parley_error *error, parley_status status, uint64_t position, const char *format, va_list args)
{
    if (error) {
        error->status = status;
        error->position = position;
        tidy(error->text, sizeof error->text, vsnprintf(error->text, sizeof error->text, format, args));
    }
    return status;
}

parley_status pl_fail(parley_error *error, parley_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(error, status, 0, format, args);
    va_end(args);
    return status;
}

parley_status pl_fail_at(parley_error *error, parley_status status, uint64_t position, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(error, status, position, format, args);
    va_end(args);
    return status;
}

parley_status pl_fail_memory(parley_error *error, const char *what)
{
    return pl_fail(error, PARLEY_MEMORY, "out of memory while making %s", what);
}
