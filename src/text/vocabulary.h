/* The built vocabulary: what pl_tokenizer is. Immutable, so that threads may share it. */
#ifndef PL_TEXT_VOCABULARY_H
#define PL_TEXT_VOCABULARY_H

#include "text/added.h"
#include "text/bpe.h"
#include "text/tokenizer.h"

struct pl_tokenizer {
    pl_arena arena;
    uint32_t size;      /* one more than the highest id */
    char *bytes;        /* of all tokens, by id */
    uint32_t *offsets;  /* [size + 1] into bytes */
    uint32_t *by_bytes; /* ids of tokens that are not added, by hash of their bytes; PL_NO_TOKEN = empty slot */
    size_t by_bytes_mask;
    uint32_t byte_tokens[256];
    pl_merges merges;
    pl_added added;
    uint8_t *special; /* [size / 8 + 1] bits: added tokens that are marked special */
};

#define PL_NO_TOKEN UINT32_MAX

/* Where tokens and merges were read from, for error texts and positions. Either may be empty. */
typedef struct pl_text_file {
    const char *name;
    pl_span bytes;
} pl_text_file;

parley_status pl_vocabulary_build(const parley_allocator *allocator, const pl_vocabulary *vocabulary, pl_text_file tokens_file,
                                  pl_text_file merges_file, pl_tokenizer **tokenizer, parley_error *error);

/* How many bytes of a spelling an error text shows: whole characters. */
int pl_shown(pl_span spelling);

/* The token, not an added one, of these bytes; PL_NO_TOKEN when there is none. */
uint32_t pl_token_of_bytes(const pl_tokenizer *tokenizer, pl_span bytes);

/* Fills tokenizer->merges from `list` (left, right, product; in the order of their ranks), putting back what a converter dropped if told so. */
parley_status pl_rank_merges(pl_tokenizer *tokenizer, const pl_merge *list, size_t count, bool repair, pl_arena *temporary, parley_error *error);

#endif
