/* What the readers of containers share; of no use outside src/weights. */
#ifndef PL_WEIGHTS_PARTS_H
#define PL_WEIGHTS_PARTS_H

#include "weights/container.h"

/* Longest name of a file, and longest part of a tensor's name, in an error text. */
enum { PL_WHERE = 300, PL_EXCERPT = 120 };

/* Numbers of GGUF value types. */
enum {
    PL_GGUF_U8,
    PL_GGUF_I8,
    PL_GGUF_U16,
    PL_GGUF_I16,
    PL_GGUF_U32,
    PL_GGUF_I32,
    PL_GGUF_F32,
    PL_GGUF_BOOL,
    PL_GGUF_STRING,
    PL_GGUF_ARRAY,
    PL_GGUF_U64,
    PL_GGUF_I64,
    PL_GGUF_F64,
    PL_GGUF_TYPES
};

/* A key with its value where it lies in the mapped file: the reader has checked that all of it is there. */
struct pl_gguf_value {
    const char *key;
    uint32_t type, item; /* `item`: type of an array's elements */
    uint64_t count;      /* elements of an array */
    const uint8_t *data; /* the value; of a string its length field, of an array its first element */
    const uint8_t *end;
    uint64_t position;
};

static inline uint32_t pl_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t pl_load_u64(const uint8_t *p)
{
    return (uint64_t)pl_load_u32(p) | (uint64_t)pl_load_u32(p + 4) << 32;
}

/* Bytes of a GGUF value of a fixed size, 0 for strings, arrays and unknown types; its name for messages ("u32", "unknown"). */
unsigned pl_gguf_size(uint32_t type);
const char *pl_gguf_type_name(uint32_t type);

/* Orders the keys by name; a name that occurs twice is FORMAT. `where` is what messages call the file. */
parley_status pl_container_index_keys(pl_container *container, const char *where, parley_error *error);

/* Orders the entries by name. Names that occur twice and tensors of one file that share bytes are FORMAT. */
parley_status pl_container_index(pl_container *container, const char *where, parley_error *error);

bool pl_is_utf8(const uint8_t *text, size_t length);

/* How many bytes of a name a message should show ("%.*s"): all, or those before the character that crosses PL_EXCERPT. */
int pl_excerpt(const char *name);

#endif
