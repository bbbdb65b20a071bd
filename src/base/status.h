/* The one error idiom: a function that can fail returns a parley_status and describes the fault in a caller-owned parley_error (may be NULL). */
#ifndef PL_BASE_STATUS_H
#define PL_BASE_STATUS_H

#include <parley/core.h>

#if defined(__GNUC__)
#define PL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define PL_LIKELY(x)           __builtin_expect(!!(x), 1)
#define PL_UNLIKELY(x)         __builtin_expect(!!(x), 0)
#else
#define PL_PRINTF(text, first)
#define PL_LIKELY(x)   (x)
#define PL_UNLIKELY(x) (x)
#endif

/* Fills `error` and returns `status`. Long texts are cut at a character. */
parley_status pl_fail(parley_error *error, parley_status status, const char *format, ...) PL_PRINTF(3, 4);

/* The same with the byte offset at which a parser stopped. */
parley_status pl_fail_at(parley_error *error, parley_status status, uint64_t position, const char *format, ...) PL_PRINTF(4, 5);

/* Out of memory while making `what`. */
parley_status pl_fail_memory(parley_error *error, const char *what);

#define PL_TRY(call)                           \
    do {                                       \
        parley_status pl_try_status_ = (call); \
        if (pl_try_status_ != PARLEY_OK)       \
            return pl_try_status_;             \
    } while (0)

#endif
