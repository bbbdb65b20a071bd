/* The dialect `parley`: files that parley_quantize() writes (docs/GGUF.md). What both families share of it. */
#ifndef PL_MODELS_PARLEY_H
#define PL_MODELS_PARLEY_H

#include "models/values.h"
#include "text/tokenizer.h"

/* Names of keys and of the tokenizer's tensor. */
#define PL_PARLEY_ARCHITECTURE "parley"
#define PL_PARLEY_FAMILY       "parley.family"
#define PL_PARLEY_VERSION      "parley.version"
#define PL_PARLEY_LAYOUT       "parley.layout"
#define PL_PARLEY_NAMES        "parley.packed.names"
#define PL_PARLEY_TYPES        "parley.packed.types"
#define PL_PARLEY_SHAPES       "parley.packed.shapes"
#define PL_PARLEY_TOKENIZER    "parley.tokenizer"

enum { PL_PARLEY_FORMAT = 1 }; /* of the keys and tensors */

/* Whether this is such a file, of this family. */
bool pl_parley_is(const pl_container *container, const char *family);

/* Gives the packed tensors the type and shape that they have as matrices. UNSUPPORTED (another version of the format or of the panels), FORMAT,
 * MISSING, MEMORY. */
parley_status pl_parley_prepare(pl_container *container, const char *where, parley_error *error);

/* The tokenizer in it, which uses the container's bytes where they lie: close it first. */
parley_status pl_parley_tokenizer(const parley_allocator *allocator, const pl_container *container, const char *where, pl_tokenizer **tokenizer,
                                  parley_error *error);

#endif
