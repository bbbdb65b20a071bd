/* Where a long text may be cut into pieces that are spoken one after the other. */
#ifndef PL_TEXT_SENTENCES_H
#define PL_TEXT_SENTENCES_H

#include "text/tokenizer.h"

/* How good a place between two characters is for a cut. */
typedef enum pl_break {
    PL_BREAK_NONE,      /* inside a character as readers see it */
    PL_BREAK_CHARACTER, /* between two characters */
    PL_BREAK_WORD,      /* behind white space */
    PL_BREAK_CLAUSE,    /* behind a comma, semicolon, colon, dash or line end; at a space between words of Thai, Lao, Khmer or Burmese */
    PL_BREAK_SENTENCE   /* behind the end of a sentence or paragraph */
} pl_break;

/* A piece of a text: without the white space around its cut. */
typedef struct pl_piece {
    size_t end;  /* bytes of the piece */
    size_t next; /* where the text behind it begins: a character that is no white space */
} pl_piece;

/* The first piece of `text` (valid UTF-8), with a cut at the first sentence end from `length` on, at the first clause end from 1.5 times that, at the
 * first word end from twice, between any characters from three times. Characters of scripts without spaces count as three, white space in front
 * and behind does not count. False: there is no such place. What is there decides alone: more text never moves a cut that was found. */
bool pl_piece_find(pl_span text, int32_t length, pl_piece *piece);

#endif
