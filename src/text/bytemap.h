/* The printable spelling of bytes in vocabularies (GPT-2): 33..126, 161..172 and 174..255 stand for themselves, the 68 others follow from U+0100. */
#ifndef PL_TEXT_BYTEMAP_H
#define PL_TEXT_BYTEMAP_H

#include "text/tokenizer.h"

/* The byte that a code point stands for, or -1. */
int pl_byte_of(uint32_t point);

/* Writes the bytes of a spelling (at most its length) and their number; false when it holds what is no such code point. */
bool pl_spelling_bytes(pl_span spelling, char *bytes, size_t *length);

/* Whether a spelling stands for these bytes. */
bool pl_spelling_is(pl_span spelling, pl_span bytes);

#endif
