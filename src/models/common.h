/* What families share beyond their tables. */
#ifndef PL_MODELS_COMMON_H
#define PL_MODELS_COMMON_H

#include "models/family.h"
#include "text/tokenizer.h"
#include "weights/container.h"

/* An info with an arena for its lists, freed by parley_info_free(). MEMORY. */
parley_status pl_owned_info_open(const parley_allocator *allocator, parley_info **info, pl_arena **arena, parley_error *error);

/* Ids of a text in a block of their exact size. STATE (no tokenizer), FORMAT, MEMORY. */
parley_status pl_model_tokenize(const pl_environment *env, const pl_tokenizer *tokenizer, const char *text, size_t length, bool special_tokens,
                                int32_t **ids, size_t *count, parley_error *error);

/* Adds a container's tensors to info->types (made on the first call) and info->parameters. MEMORY. */
parley_status pl_count_types(pl_arena *arena, const pl_container *container, parley_info *info, parley_error *error);

/* A text that outlives the files. MEMORY. */
parley_status pl_copy_text(pl_arena *arena, const char *text, const char **copy, parley_error *error);

#endif
