/* UTF-8 text <-> token ids: NFC, word splitter, byte-level byte pair encoding, added tokens (spec/qwen3_tts.md, 2.2). */
#ifndef PL_TEXT_TOKENIZER_H
#define PL_TEXT_TOKENIZER_H

#include "base/arena.h"

typedef struct pl_tokenizer pl_tokenizer;

typedef struct pl_span {
    const char *text;
    size_t length;
} pl_span;

typedef struct pl_added_token {
    int32_t id;
    pl_span content;
    bool special; /* as tokenizer_config.json marks it; has no influence on reading text (see pl_tokenize_flags) */
} pl_added_token;

/* A vocabulary as data. Nothing is kept: the tokenizer copies what it needs. */
typedef struct pl_vocabulary {
    const pl_span *tokens; /* by id, in GPT-2 byte spelling; length 0 = hole */
    size_t n_tokens;
    const pl_span *merges; /* "left right" in rank order */
    size_t n_merges;
    const pl_added_token *added;
    size_t n_added;
    bool repair_merges; /* put back the merges that converters dropped as comments (spec/gguf_dialects.md, rules for all dialects) */
} pl_vocabulary;

/* Errors: FORMAT (a merge or token that cannot be, naming which; a byte without a token), MEMORY. */
parley_status pl_tokenizer_build(const parley_allocator *allocator, const pl_vocabulary *vocabulary, pl_tokenizer **tokenizer, parley_error *error);

/* From the bytes of vocab.json, merges.txt (only a first line that begins with "#version" is a header) and tokenizer_config.json (added tokens;
 * size 0 = none). Names are used in error texts only. Errors: FORMAT with position, MEMORY. */
parley_status pl_tokenizer_parse(const parley_allocator *allocator, pl_span vocab_json, pl_span merges_txt, pl_span tokenizer_config_json,
                                 pl_tokenizer **tokenizer, parley_error *error);
void pl_tokenizer_close(pl_tokenizer *tokenizer);

/* One more than the highest id. */
int32_t pl_tokenizer_size(const pl_tokenizer *tokenizer);

/* Id of a token by its byte-level spelling ("assistant", "\xC4\x8A" for a line end) or of an added token by its content; -1 if there is none. */
int32_t pl_tokenizer_find(const pl_tokenizer *tokenizer, pl_span spelling);

typedef struct pl_tokenize_options {
    bool added_tokens; /* read spellings of added tokens as these tokens (longest, leftmost) */
    parley_splitter splitter;
} pl_tokenize_options;

/* Appended to by pl_tokenize; grows by itself. Start from {0} with the allocator set. */
typedef struct pl_ids {
    parley_allocator allocator;
    int32_t *ids;
    size_t count, capacity;
} pl_ids;

parley_status pl_ids_push(pl_ids *ids, int32_t id, parley_error *error);
void pl_ids_free(pl_ids *ids);

/* Ids of the whole text, NULs included. Linear in its length, whatever it holds. Errors: FORMAT (invalid UTF-8 with the byte offset), MEMORY. */
parley_status pl_tokenize(const pl_tokenizer *tokenizer, pl_span text, pl_tokenize_options options, pl_ids *ids, parley_error *error);

/* The first ids of a text of which more is to come: those that stay the same whatever follows. Spellings of added tokens are text. */
parley_status pl_tokenize_open(const pl_tokenizer *tokenizer, pl_span text, parley_splitter splitter, pl_ids *ids, parley_error *error);

/* Bytes of one token (no byte spelling), "" for holes; valid while the tokenizer is open. */
pl_span pl_token_bytes(const pl_tokenizer *tokenizer, int32_t id);

/* Whether the token is an added one marked special: texts leave these out. */
bool pl_token_is_special(const pl_tokenizer *tokenizer, int32_t id);

/* Text of ids, in the arena: bytes of all tokens but special ones, one behind the other, with U+FFFD for what is no UTF-8 (pl_utf8_lossy). MEMORY. */
parley_status pl_detokenize(pl_arena *arena, const pl_tokenizer *tokenizer, const int32_t *ids, size_t count, pl_span *text, parley_error *error);

/* Offset of the first byte that is not valid UTF-8 (overlong forms, surrogates and values above 10FFFF are not), or `length`. */
size_t pl_utf8_check(const char *text, size_t length);

#endif
