#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* vsnprintf cuts between bytes: a character that lost its end would make the message invalid UTF-8. */
static void drop_cut_character(char *text, size_t length)
{
    size_t start = length;
    while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (wanted > length - start + 1)
        text[start - 1] = 0;
}

parley_status cli_fail(parley_error *error, parley_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    if (length >= (int)sizeof error->text)
        drop_cut_character(error->text, strlen(error->text));
    error->status = status;
    error->position = 0;
    return status;
}

parley_status cli_fail_memory(parley_error *error)
{
    return cli_fail(error, PARLEY_MEMORY, "out of memory");
}

parley_status cli_in_file(parley_status status, const char *path, parley_error *error)
{
    parley_error inner = *error;
    return status == PARLEY_OK ? status : cli_fail(error, status, "\"%.200s\": %.270s", path, inner.text);
}

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool cli_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcasecmp(text + n - m, end) == 0;
}
