/* What every file of the program uses: its errors are those of the library, so that exit codes come from one table. */
#ifndef CLI_COMMON_H
#define CLI_COMMON_H

#include <parley/core.h>

#if defined(__GNUC__)
#define CLI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define CLI_PRINTF(at, first)
#endif

#define CLI_TRY(call)                    \
    do {                                 \
        parley_status cli_try_ = (call); \
        if (cli_try_ != PARLEY_OK)       \
            return cli_try_;             \
    } while (0)

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fills the error (cut to its size, never inside a character) and returns the status. `error` must not be NULL. */
parley_status cli_fail(parley_error *error, parley_status status, const char *format, ...) CLI_PRINTF(3, 4);
parley_status cli_fail_memory(parley_error *error);
/* Puts the name of a file before the error of what was made of it; returns `status`, and does nothing when that is PARLEY_OK. */
parley_status cli_in_file(parley_status status, const char *path, parley_error *error);

/* Seconds of a clock that never goes back. */
double cli_seconds(void);

/* Whether a long task is to end early. */
typedef struct cli_stop {
    bool (*wanted)(void *context);
    void *context;
} cli_stop;

/* Whether `text` ends with `end`, whatever the case of ASCII letters. */
bool cli_ends_with(const char *text, const char *end);

/* Length of the UTF-8 character at `at`, 0 when there is none (overlong forms, surrogates and values above U+10FFFF are none). `left` > 0. */
size_t cli_utf8_character(const char *at, size_t left);

/* Bytes up to the first that is no UTF-8, or `size`. */
size_t cli_utf8_valid(const char *text, size_t size);

#endif
