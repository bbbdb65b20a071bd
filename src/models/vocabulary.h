/* The tokenizer of a checkpoint: upstream's files, or the arrays of a GGUF file. */
#ifndef PL_MODELS_VOCABULARY_H
#define PL_MODELS_VOCABULARY_H

#include "base/source.h"
#include "text/tokenizer.h"
#include "weights/container.h"

/* vocab.json, merges.txt and tokenizer_config.json of a source's folder. MISSING, FORMAT, IO, MEMORY. */
parley_status pl_model_tokenizer_files(const parley_allocator *allocator, pl_source *source, const char *folder, pl_tokenizer **tokenizer,
                                       parley_error *error);

/* How the converter of a GGUF file wrote the vocabulary. */
typedef enum pl_gguf_vocabulary {
    PL_GGUF_LOST_MERGES,  /* merges that begin with '#' are lost: put back; added tokens have types of their own */
    PL_GGUF_ADDED_BEHIND, /* merges are whole; from the first control token on all are added tokens, whatever their type, or fillers <|unused_N|> */
    PL_GGUF_TYPED         /* merges are whole; added tokens have types of their own */
} pl_gguf_vocabulary;

/* The tokenizer.ggml arrays, of which only the first `most` tokens are taken (0: all). MISSING, FORMAT, UNSUPPORTED (another model of tokenizer),
 * MEMORY. */
parley_status pl_model_tokenizer_gguf(const parley_allocator *allocator, pl_source *source, const pl_container *container, pl_gguf_vocabulary written,
                                      size_t most, pl_tokenizer **tokenizer, parley_error *error);

#endif
