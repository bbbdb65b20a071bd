/* What the word splitters need to know of a code point. */
#ifndef PL_TEXT_UNICODE_H
#define PL_TEXT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

enum {
    PL_CAPITAL = 1,                                    /* Lu, Lt */
    PL_SMALL = 2,                                      /* Ll */
    PL_LETTER = 4,                                     /* Lm, Lo: letters of no case */
    PL_ANY_LETTER = PL_CAPITAL | PL_SMALL | PL_LETTER, /* L */
    PL_MARK = 8,                                       /* M */
    PL_NUMBER = 16,                                    /* N */
    PL_SPACE = 32,                                     /* White_Space */
    PL_LINE_END = 64                                   /* CR, LF; always with PL_SPACE */
};

extern const unsigned char pl_ascii_kinds[128];
unsigned pl_other_kind(uint32_t point);

/* Bits of the kinds above; 0 for punctuation, symbols, controls and what is unassigned. */
static inline unsigned pl_kind(uint32_t point)
{
    return point < 0x80 ? pl_ascii_kinds[point] : pl_other_kind(point);
}

#endif
