/* A pull scanner over JSON text: no tree, strings in place where they have no escapes. */
#ifndef PL_TEXT_JSON_H
#define PL_TEXT_JSON_H

#include "text/tokenizer.h"

typedef struct pl_json {
    const char *name; /* for error texts */
    pl_span text;
    size_t at;
    pl_arena *arena; /* strings with escapes are copied there */
    parley_error *error;
} pl_json;

/* Errors of all that follow: FORMAT with the byte offset, MEMORY. Also checks that the whole text is UTF-8. */
parley_status pl_json_start(pl_json *json, const char *name, pl_span text, pl_arena *arena, parley_error *error);

/* FORMAT at the place reached: "<name>: <expected>". */
parley_status pl_json_fail(const pl_json *json, const char *expected);

/* Objects and arrays: enter, then next until `*more` is false (the closing bracket is then read). */
parley_status pl_json_enter(pl_json *json, char bracket);
parley_status pl_json_next(pl_json *json, char closing, bool *first, bool *more);

/* The next member's key with its colon. */
parley_status pl_json_key(pl_json *json, pl_span *key);

parley_status pl_json_string(pl_json *json, pl_span *value);
parley_status pl_json_bool(pl_json *json, bool *value);

/* A plain whole number from 0 to `most`. */
parley_status pl_json_whole(pl_json *json, uint32_t most, uint32_t *value);

/* Passes any value. */
parley_status pl_json_skip(pl_json *json);

/* Nothing but blanks may follow. */
parley_status pl_json_end(pl_json *json);

bool pl_span_is(pl_span span, const char *text);

#endif
