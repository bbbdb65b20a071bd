#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Bytes of the character of UTF-8 that begins here, 0 where none does: `left` bytes follow. */
static size_t character(const unsigned char *s, size_t left)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool outside = (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF4 && s[1] > 0x8F); /* surrogates, above U+10FFFF */
    return overlong || outside ? 0 : n;
}

/* Makes one line of valid UTF-8 of what may hold names from hostile files: controls become spaces (those of two bytes too, which some terminals
 * obey), stray bytes '?'; a character that the end of the buffer cut in two is dropped. */
static void tidy(char *text, bool cut)
{
    unsigned char *s = (unsigned char *)text;
    size_t length = strlen(text);
    for (size_t i = 0, n; i < length; i += n) {
        n = character(s + i, length - i);
        if (n == 0 && cut && length - i < 4) {
            s[i] = '\0';
            return;
        }
        bool control = s[i] < ' ' || s[i] == 0x7F || (n == 2 && s[i] == 0xC2 && s[i + 1] < 0xA0);
        if (control)
            memset(s + i, ' ', n);
        else if (n == 0)
            s[i] = '?', n = 1;
    }
}

/* By way of a buffer of its own, since an argument may be error->text itself (a text that is being added to). */
static parley_status fill(parley_error *error, parley_status status, uint64_t position, const char *format, va_list args)
{
    if (error) {
        char text[sizeof error->text];
        int wanted = vsnprintf(text, sizeof text, format, args);
        if (wanted < 0)
            text[0] = '\0';
        tidy(text, wanted >= (int)sizeof text);
        error->status = status;
        error->position = position;
        memcpy(error->text, text, strlen(text) + 1);
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
