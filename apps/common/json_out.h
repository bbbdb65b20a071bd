/* Writes JSON into a buffer. Commas come by themselves. */
#ifndef CLI_JSON_OUT_H
#define CLI_JSON_OUT_H

#include "buffer.h"

typedef struct cli_json {
    cli_buffer *out;
    bool comma; /* something stands before the next value */
} cli_json;

/* `key` NULL: an element of an array, or the outermost value. */
void cli_json_open(cli_json *json, const char *key, char bracket);
void cli_json_close(cli_json *json, char bracket);
/* UTF-8 stays as it is; bytes that are no UTF-8 become U+FFFD, so that the output is always valid. */
void cli_json_string(cli_json *json, const char *key, const char *text);
void cli_json_string_n(cli_json *json, const char *key, const char *text, size_t length);
void cli_json_whole(cli_json *json, const char *key, int64_t value);
void cli_json_unsigned(cli_json *json, const char *key, uint64_t value);
/* Numbers that JSON cannot hold (infinite, none) become null. */
void cli_json_real(cli_json *json, const char *key, double value);
void cli_json_bool(cli_json *json, const char *key, bool value);
void cli_json_nothing(cli_json *json, const char *key);
void cli_json_ids(cli_json *json, const char *key, const int32_t *ids, size_t count);
/* A value that is JSON already. */
void cli_json_raw(cli_json *json, const char *key, const cli_buffer *value);

#endif
