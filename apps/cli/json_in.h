/* A strict reader of JSON (RFC 8259) that walks the bytes: the caller asks for what it expects. Texts may hold NULs and bytes that are no UTF-8,
 * which whoever uses them reports. */
#ifndef CLI_JSON_IN_H
#define CLI_JSON_IN_H

#include "buffer.h"

typedef struct cli_json_in {
    const char *name; /* of the file, for messages */
    const char *data;
    size_t size, at;
    size_t line; /* line in the file where data begins, 0: messages give the byte instead */
} cli_json_in;

parley_status cli_json_fail(const cli_json_in *in, parley_error *error, parley_status status, const char *format, ...) CLI_PRINTF(4, 5);

/* The next byte that is no white space, without taking it; 0 at the end. */
char cli_json_peek(cli_json_in *in);
/* Takes `token` if it comes next. */
bool cli_json_accept(cli_json_in *in, char token);
parley_status cli_json_expect(cli_json_in *in, char token, parley_error *error);
/* Takes "null" if it comes next. */
bool cli_json_null(cli_json_in *in);
/* Appends the decoded text. */
parley_status cli_json_text(cli_json_in *in, cli_buffer *text, parley_error *error);
/* Numbers without fraction or exponent. */
parley_status cli_json_int32(cli_json_in *in, int32_t *value, parley_error *error);
parley_status cli_json_uint64(cli_json_in *in, uint64_t *value, parley_error *error);
/* Nothing but white space may be left. */
parley_status cli_json_end(cli_json_in *in, parley_error *error);

#endif
