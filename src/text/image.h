/* A built tokenizer as bytes that are used where they lie: opening one checks it, and builds nothing. Little-endian, with the hash tables of
 * vocabulary.c and bpe.c: whoever changes a hash or a structure there raises PL_IMAGE_VERSION. */
#ifndef PL_TEXT_IMAGE_H
#define PL_TEXT_IMAGE_H

#include "text/tokenizer.h"

enum { PL_IMAGE_VERSION = 1 };

/* Bytes of the image; writes them when `bytes` is not NULL. The same tokenizer gives the same bytes. */
size_t pl_tokenizer_image(const pl_tokenizer *tokenizer, uint8_t *bytes);

/* The bytes must outlive the tokenizer; where they are not aligned to 4 they are copied. Everything that the tokenizer relies on is checked, so that
 * no bytes can lead outside of them or into an endless search. FORMAT with the position, UNSUPPORTED (another version), MEMORY. */
parley_status pl_tokenizer_from_image(const parley_allocator *allocator, const void *bytes, size_t size, pl_tokenizer **tokenizer,
                                      parley_error *error);

#endif
