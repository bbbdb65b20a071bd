/* A model as one file of the dialect `parley`: which tensor becomes what type, and writing it. Families give tensors, keys and a tokenizer. */
#ifndef PL_MODELS_QUANTIZE_H
#define PL_MODELS_QUANTIZE_H

#include "models/catalogue.h"
#include "models/parley.h"
#include "weights/gguf_write.h"

#include <parley/quantize.h>

typedef enum pl_quantized_part {
    PL_PART_TALKER,
    PL_PART_PREDICTOR,
    PL_PART_CODEC,
    PL_PART_ENCODER,
    PL_PART_KEPT,
    PL_QUANTIZED_PARTS
} pl_quantized_part;

/* What a tensor is to the rules of docs/GGUF.md. */
typedef enum pl_quantized_role {
    PL_ROLE_VALUES, /* vectors, codebooks, depthwise kernels: float32 */
    PL_ROLE_KEPT,   /* as in the source */
    PL_ROLE_KERNEL, /* convolution over images: never in blocks */
    PL_ROLE_TABLE,  /* rows of embeddings: q6_k or better */
    PL_ROLE_HEAD,   /* decides between scores, or runs once: q8_0 or better */
    PL_ROLE_LAYER
} pl_quantized_role;

typedef struct pl_quantized_tensor {
    char name[PL_MODEL_NAME];
    const pl_tensor *tensor;
    const pl_tensor *divisor; /* [rows]: the value is a row's over its divisor, which is at least 1e-5; NULL: none */
    pl_use use;
    pl_quantized_part part;
    pl_quantized_role role;
    /* Decided by the plan: the source and the target as matrices. */
    pl_pack_map map;
    int64_t rows, cols;
    pl_type type;
    bool packed;
    uint64_t bytes;
} pl_quantized_tensor;

/* What is to be written. */
typedef struct pl_quantization {
    const pl_environment *env;
    const parley_quantize_options *options;
    const char *where; /* the source, for messages */
    pl_arena arena;
    pl_quantized_tensor *tensors;
    size_t count, capacity;
    bool failed; /* out of memory */
    pl_gguf_head head;
} pl_quantization;

/* Where it goes. */
typedef struct pl_sink {
    parley_write_fn write;
    void *context;
    parley_quantized_fn report; /* may be NULL */
    void *report_context;
} pl_sink;

/* Begins the head with the keys that all such files have. */
void pl_quantization_init(pl_quantization *q, const pl_environment *env, const parley_quantize_options *options, const char *family,
                          const char *where);
void pl_quantization_free(pl_quantization *q);

/* Adds a tensor; when memory runs out `failed` is set. Pointers must last. */
void pl_quantization_add(pl_quantization *q, const char *name, const pl_tensor *tensor, const pl_tensor *divisor, pl_use use, pl_quantized_part part,
                         pl_quantized_role role);

/* Types, packing and sizes of all tensors by the rules. ARGUMENT. */
parley_status pl_quantization_plan(pl_quantization *q, parley_error *error);

/* The whole file, in order. `tokenizer` NULL: none. VALUE, MEMORY, what the sink returns. */
parley_status pl_quantization_write(pl_quantization *q, const pl_tokenizer *tokenizer, const pl_sink *sink, parley_error *error);

#endif
