/* Added tokens: found in raw text before anything else, leftmost and longest. */
#ifndef PL_TEXT_ADDED_H
#define PL_TEXT_ADDED_H

#include "text/tokenizer.h"

typedef struct pl_added_node {
    uint32_t child, sibling; /* 0 = none */
    int32_t id;              /* of the token that ends here, or -1 */
    unsigned char byte;
} pl_added_node;

/* A trie. Searching costs at most the longest token a byte of text. */
typedef struct pl_added {
    pl_added_node *nodes; /* node 0 is not used */
    uint32_t count;
    uint32_t first[256]; /* nodes of first bytes, 0 = no token begins so */
} pl_added;

/* Room for tokens of `bytes` bytes in all; false when there is no memory. */
bool pl_added_init(pl_added *added, pl_arena *arena, size_t bytes);

/* False when the content, which is not empty, is there already. */
bool pl_added_put(pl_added *added, pl_span content, int32_t id);

/* Id of this very content, or -1. */
int32_t pl_added_find(const pl_added *added, pl_span content);

typedef struct pl_added_match {
    size_t start, end;
    int32_t id;
} pl_added_match;

/* The next token in the text from `at` on. */
bool pl_added_next(const pl_added *added, pl_span text, size_t at, pl_added_match *match);

#endif
