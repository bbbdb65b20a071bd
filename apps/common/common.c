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

size_t cli_utf8_character(const char *at, size_t left)
{
    const unsigned char *text = (const unsigned char *)at;
    unsigned char c = text[0];
    size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : (c & 0xF0) == 0xE0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    }
    if ((c == 0xE0 && text[1] < 0xA0) || (c == 0xED && text[1] >= 0xA0) || (c == 0xF0 && text[1] < 0x90) || (c == 0xF4 && text[1] >= 0x90))
        return 0;
    return n;
}

size_t cli_utf8_valid(const char *text, size_t size)
{
    size_t at = 0;
    for (size_t n = 1; at < size && n > 0; at += n)
        n = cli_utf8_character(text + at, size - at);
    return at;
}
