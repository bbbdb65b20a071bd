/* JSON from strangers: bounded before it is parsed, read by tables. */
#ifndef SERVER_JSON_BODY_H
#define SERVER_JSON_BODY_H

#include <cjson/cJSON.h>

#include "buffer.h"

enum { SRV_JSON_DEPTH = 16, SRV_JSON_VALUES = 1000 };

/* An object. Depth and number of values are bounded, so that what cJSON allocates is a small multiple of the bytes; "\u0000", which C strings cannot
 * hold, is refused. Freed with cJSON_Delete(). Errors: ARGUMENT. */
parley_status srv_json_parse(const char *bytes, size_t size, cJSON **json, parley_error *error);

typedef enum srv_json_kind { SRV_TEXT, SRV_NUMBER, SRV_BOOL, SRV_SEED, SRV_ANY } srv_json_kind;

typedef struct srv_json_row {
    const char *name;
    srv_json_kind kind;
    size_t offset; /* of a const char *, srv_number, srv_bool, srv_seed, const cJSON * */
} srv_json_row;

typedef struct srv_number {
    bool given;
    double value;
} srv_number;
typedef struct srv_bool {
    bool given, value;
} srv_bool;
typedef struct srv_seed {
    bool given;
    uint64_t value;
} srv_seed;

/* Fills `fields` from the object; null counts as absent. ARGUMENT: a key that no row has, a value of another kind, a key that comes twice; `*param`
 * names it (a row's name or a part of the object). */
parley_status srv_json_fields(const cJSON *object, const srv_json_row *rows, size_t n_rows, void *fields, const char **param, parley_error *error);

/* The row's own copy of a name, which outlives the object; NULL: no row has it. */
const char *srv_json_known(const srv_json_row *rows, size_t n_rows, const char *name);

#endif
