/* Containers of weights: safetensors (one file, or an index with shards) and GGUF v2 / v3. All bytes are hostile: every size, offset and count is
 * checked before use, nothing is allocated from an unchecked number, and memory stays below twice the file plus 4 MiB. Opening gives views into
 * the mapped files; no tensor data is read. */
#ifndef PL_WEIGHTS_CONTAINER_H
#define PL_WEIGHTS_CONTAINER_H

#include "base/source.h"
#include "base/tensor.h"

typedef struct pl_entry {
    const char *name;
    pl_tensor tensor;   /* row-major, slowest first (GGUF's ne is turned round). The bytes may lie at any address: safetensors do not align them. */
    const char *stored; /* the element type's name in the file ("BF16", "Q4_K", "I64"), for messages: tensor.type PL_OTHER must be refused by it */
    const char *file;   /* name inside the source, for messages */
    uint64_t position;  /* of the data in that file */
    bool used;          /* for the caller's bookkeeping */
} pl_entry;

typedef struct pl_gguf_value pl_gguf_value;

typedef struct pl_container {
    const char *format; /* "safetensors", "gguf" */
    const char *file;   /* the (first) file's name inside the source */
    pl_entry *entries;  /* in the order of the file */
    size_t n_entries;
    uint64_t file_bytes;
    const uint32_t *by_name; /* the entries' indices in the order of their names: found by bisection, which no choice of names can slow down */
    const pl_gguf_value *values;
    size_t n_values;
    const uint32_t *keys_by_name;
    pl_arena arena; /* owns all of the above */
} pl_container;

/* Tensors, and keys of a GGUF file, that a container may hold: far more than any model has, and few enough to bound memory. */
enum { PL_MAX_ENTRIES = 16384 };

/* `folder`: "" or a prefix that ends in '/' ("speech_tokenizer/"). Takes folder + "model.safetensors.index.json" with its shards when there is one,
 * else folder + "model.safetensors". Tensors of known types that nothing here computes with (integers, F64, ..) are entries of type PL_OTHER; bytes
 * that belong to no tensor are allowed. Errors: MISSING (neither, or a shard, or a tensor the index promises), FORMAT, UNSUPPORTED (an unknown
 * element type, more than 4 axes), IO, MEMORY. The container need not be closed after an error. */
parley_status pl_safetensors_open(const parley_allocator *allocator, pl_source *source, const char *folder, pl_container *container,
                                  parley_error *error);

/* A GGUF file. Errors: FORMAT, UNSUPPORTED (version, tensor type by name and number), IO, MISSING, MEMORY. */
parley_status pl_gguf_open(const parley_allocator *allocator, pl_source *source, const char *name, pl_container *container, parley_error *error);

/* Element types by their number in GGUF files; false for those that are not read. The number of OTHER is that of bytes (I8). */
bool pl_gguf_type(int64_t number, pl_type *type);
uint32_t pl_gguf_number(pl_type type);

/* Whether the file begins as a GGUF does. pl_gguf_open itself tells what is wrong with one that does not. */
bool pl_is_gguf(pl_bytes bytes);

void pl_container_close(pl_container *container);

/* NULL when there is none of that name. */
pl_entry *pl_container_find(const pl_container *container, const char *name);

/* ------------------------------------------------------------------ GGUF keys */

typedef struct pl_gguf_text {
    const char *text; /* not NUL-terminated, in the mapped file */
    size_t length;
} pl_gguf_text;

/* Whether the key is there, of any type. */
bool pl_gguf_has(const pl_container *container, const char *key);

/* Numbers are read from the mapped file at each call. Each: false with error untouched when the key is absent; a key of another kind is FORMAT in
 * `*status` (set to PARLEY_OK otherwise) with the error filled. Integers are taken from any integer type (and bool for flags) if the value fits;
 * floats from f32 and f64. A bool is a bool or an integer of 0 or 1. After PARLEY_MEMORY or PARLEY_FORMAT the result is false too: check `status`
 * first. */
bool pl_gguf_int(const pl_container *container, const char *key, int64_t *value, parley_status *status, parley_error *error);
bool pl_gguf_float(const pl_container *container, const char *key, double *value, parley_status *status, parley_error *error);
bool pl_gguf_bool(const pl_container *container, const char *key, bool *value, parley_status *status, parley_error *error);
bool pl_gguf_string(const pl_container *container, const char *key, pl_gguf_text *value, parley_status *status, parley_error *error);

/* Arrays, copied into `arena`. More than `most` integers are FORMAT: eight bytes each may be eight times what they take in the file. */
bool pl_gguf_ints(const pl_container *container, const char *key, size_t most, int64_t **values, size_t *count, pl_arena *arena,
                  parley_status *status, parley_error *error);
bool pl_gguf_strings(const pl_container *container, const char *key, pl_gguf_text **values, size_t *count, pl_arena *arena, parley_status *status,
                     parley_error *error);

/* Keys with a prefix, in file order: calls visit(context, rest of the key, container, whole key). Used for "..codec_language_id.<language>". */
void pl_gguf_each(const pl_container *container, const char *prefix, void (*visit)(void *context, pl_gguf_text rest, const char *key), void *context);

/* ------------------------------------------------------------------ checking */

/* First value of the tensor that is not finite: its index, or -1. Reads all of it. A block type's values are finite when its half-precision scales
 * are, so only those are read. I32 and OTHER are always -1. */
int64_t pl_first_not_finite(const pl_tensor *tensor);

#endif
