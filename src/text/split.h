/* The word splitters in front of the byte pair encoding, as scanners. */
#ifndef PL_TEXT_SPLIT_H
#define PL_TEXT_SPLIT_H

#include "text/tokenizer.h"

/* Where the piece that begins at `at` ends (above `at`, at most text.length). `text` is valid UTF-8, `at` below its length and on a character.
 * Reading all pieces of a text in turn takes time linear in its length. */
size_t pl_split_next(parley_splitter splitter, pl_span text, size_t at);

#endif
