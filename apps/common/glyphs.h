/* A text as characters with columns and times, and as atoms: the parts between which a line may be broken. */
#ifndef CLI_GLYPHS_H
#define CLI_GLYPHS_H

#include "buffer.h"
#include "transcript.h"

typedef struct cli_glyph {
    const char *text; /* in the source */
    int length;       /* bytes */
    int columns;
    uint32_t point;
    bool space;        /* blanks stand before it */
    bool joined;       /* shown as one with the character before it: marks, parts of emoji */
    int64_t word;      /* index of the word that it is part of, or -1 */
    double start, end; /* s; NaN where it is part of no word */
} cli_glyph;

/* How well a line or cue ends behind it. */
enum { CLI_NO_STOP, CLI_CLAUSE_STOP, CLI_SENTENCE_STOP };

typedef struct cli_atom {
    size_t first, count; /* glyphs */
    int columns;
    bool space;
    int stop;
    double start, end;
} cli_atom;

typedef struct cli_glyphs {
    cli_glyph *items;
    size_t count;
    bool wide; /* has characters of two columns */
    cli_atom *atoms;
    size_t n_atoms;
} cli_glyphs;

/* Characters without control characters and blanks, and without those of no width at the beginning, with times, and atoms of at most `narrow`
 * columns, or `wide` where the text has wide characters. Free with cli_glyphs_free(), also after an error. Errors: MEMORY. */
parley_status cli_glyphs_make(const cli_segment *segment, int narrow, int wide, cli_glyphs *glyphs, parley_error *error);
void cli_glyphs_free(cli_glyphs *glyphs);

/* The character at `text`, its length to `*length` (0 at the end). Bytes that are no UTF-8 give -1 and length 1. */
int32_t cli_next_point(const char *text, int *length);

#endif
