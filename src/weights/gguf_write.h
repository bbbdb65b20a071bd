/* The head of a GGUF file: keys and descriptions of tensors, as bytes. The data follow it, each tensor at a multiple of PL_GGUF_ALIGNMENT. */
#ifndef PL_WEIGHTS_GGUF_WRITE_H
#define PL_WEIGHTS_GGUF_WRITE_H

#include "weights/container.h"

enum { PL_GGUF_ALIGNMENT = 64 };

/* Bytes that grow. Once memory runs out `failed` stays set and nothing is added. */
typedef struct pl_gguf_bytes {
    const parley_allocator *allocator;
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} pl_gguf_bytes;

/* Zero but for the allocators. Names of keys are not checked for doubles. */
typedef struct pl_gguf_head {
    pl_gguf_bytes keys, tensors;
    uint64_t n_keys, n_tensors;
    uint64_t data_bytes; /* of the tensors so far, filled up to the alignment */
} pl_gguf_head;

void pl_gguf_head_init(pl_gguf_head *head, const parley_allocator *allocator);
void pl_gguf_head_free(pl_gguf_head *head);

void pl_gguf_put_int(pl_gguf_head *head, const char *key, int64_t value); /* i32 where it fits, else i64 */
void pl_gguf_put_float(pl_gguf_head *head, const char *key, float value);
void pl_gguf_put_double(pl_gguf_head *head, const char *key, double value);
void pl_gguf_put_bool(pl_gguf_head *head, const char *key, bool value);
void pl_gguf_put_text(pl_gguf_head *head, const char *key, const char *text);
void pl_gguf_put_ints(pl_gguf_head *head, const char *key, const int32_t *values, size_t count);

/* The items of an array of texts follow by pl_gguf_put_item(). */
void pl_gguf_put_texts(pl_gguf_head *head, const char *key, size_t count);
void pl_gguf_put_item(pl_gguf_head *head, const char *text);

/* `shape` slowest axis first. The data come in the order of these calls. */
void pl_gguf_put_tensor(pl_gguf_head *head, const char *name, pl_type type, const int64_t *shape, int rank, uint64_t bytes);

/* The whole head with its padding, to be released by pl_release(allocator, *bytes, *size, 1). MEMORY. */
parley_status pl_gguf_head_finish(pl_gguf_head *head, uint8_t **bytes, size_t *size, parley_error *error);

#endif
