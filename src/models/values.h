/* Configuration values by table, from JSON documents or from the keys of GGUF files. */
#ifndef PL_MODELS_VALUES_H
#define PL_MODELS_VALUES_H

#include "models/json.h"
#include "text/tokenizer.h"
#include "weights/container.h"
#include "weights/gguf_write.h"

enum { PL_MAX_VALUES = 8 };

typedef enum pl_value_kind { PL_INT, PL_INT64, PL_FLOAT, PL_DOUBLE, PL_BOOL, PL_TEXT, PL_INTS } pl_value_kind;

typedef struct pl_value_row {
    size_t field; /* offset in the structure; PL_INTS: of an int that counts, with PL_MAX_VALUES ints behind it */
    pl_value_kind kind;
    unsigned need;       /* bits of the dialects whose files must have it; elsewhere what the structure held before stays */
    double low, high;    /* inclusive; of texts unused */
    const char *json;    /* path in the JSON document */
    const char *keys[5]; /* of GGUF files, tried in this order */
} pl_value_row;

/* A value that must be one of a few when it is there: anything else is understood by no code here. */
typedef struct pl_value_only {
    const char *json, *key; /* either may be NULL */
    const char *allowed;    /* "silu", "null|0": lists are "5,3,3" or, when all items are equal, that item */
} pl_value_only;

/* Where values come from: a JSON document, or GGUF files that are searched in order. */
typedef struct pl_values {
    pl_arena *arena;  /* texts go there */
    unsigned dialect; /* of the family: a bit of `need` */
    const cJSON *json;
    const pl_container *places[2];
    const char *where; /* for messages */
    bool last;         /* the dialect's own key is the last of a row: messages name it */
    parley_error *error;
} pl_values;

/* MISSING, FORMAT (kinds, ranges), MEMORY. */
parley_status pl_values_read(const pl_values *from, const pl_value_row *rows, size_t count, void *target);
/* The values as keys, under the first name that each has in GGUF files; without those that are out of range, since they are not there. */
void pl_values_write(const pl_value_row *rows, size_t count, const void *source, pl_gguf_head *head);
/* UNSUPPORTED. */
parley_status pl_values_only(const pl_values *from, const pl_value_only *rows, size_t count);

#endif
