/* A scanner over JSON text: no tree, no memory, bounded depth. The caller asks for what it expects next; anything else is FORMAT with the place. */
#ifndef PL_WEIGHTS_SCAN_H
#define PL_WEIGHTS_SCAN_H

#include "base/status.h"

typedef struct pl_scan {
    const uint8_t *text;
    size_t size, at;
    uint64_t base;     /* of the text in its file, for positions */
    const char *where; /* what messages call the file */
    parley_error *error;
} pl_scan;

/* FORMAT at the present place: "<where>: <what> expected at byte N". */
parley_status pl_scan_expected(const pl_scan *scan, const char *what);

/* This character after white space. */
parley_status pl_scan_expect(pl_scan *scan, char c);

/* A string. `text` NULL: only checked. Else its bytes and a NUL go there (never more than the string takes in the file, quotes included), and a
 * zero character in it is FORMAT. */
parley_status pl_scan_string(pl_scan *scan, char *text, size_t *length);

/* A string as pl_scan_string reads it, and the colon. */
parley_status pl_scan_key(pl_scan *scan, char *text, size_t *length);

/* A whole number from 0 to 2^64 - 1, without fraction or exponent. */
parley_status pl_scan_uint(pl_scan *scan, uint64_t *value);

/* After an opening bracket or an element: whether another element follows. `first` tells which, and is cleared. */
parley_status pl_scan_more(pl_scan *scan, char closing, bool *first, bool *more);

/* Any value, nested at most 32 deep. */
parley_status pl_scan_skip(pl_scan *scan);

/* Nothing but white space to the end. */
parley_status pl_scan_end(pl_scan *scan);

#endif
