/* Strings as the reference's language treats them: blanks, lines, upper and lower case, scripts, bytes that are no UTF-8. All texts but the input of
 * pl_utf8_lossy() are valid UTF-8, NULs included. */
#ifndef PL_TEXT_STRINGS_H
#define PL_TEXT_STRINGS_H

#include "text/tokenizer.h"

/* White_Space and the four separators U+001C .. U+001F, which Unicode does not count but the reference does. U+FEFF is none. */
bool pl_is_blank(uint32_t point);

/* LF, VT, FF, CR, U+001C .. U+001E, U+0085, U+2028, U+2029. */
bool pl_is_line_end(uint32_t point);

/* Without the blanks at both ends. */
pl_span pl_trim(pl_span text);

/* Takes the first line off `rest` (its line end, CR LF as one, goes to neither); false when nothing is left. */
bool pl_next_line(pl_span *rest, pl_span *line);

/* Takes the first run of characters that are not blank off `rest`; false when there is none. */
bool pl_next_word(pl_span *rest, pl_span *word);

/* Whether `text` begins with `start`, which is lower-case ASCII, whatever the case of ASCII letters in `text`. */
bool pl_begins_with(pl_span text, const char *start);

/* Full case mapping of one character, independent of its neighbours (so a final sigma becomes U+03C3). Returns how many characters it makes. */
enum { PL_CASE_MAX = 3 };
size_t pl_upper(uint32_t point, uint32_t out[PL_CASE_MAX]);
size_t pl_lower(uint32_t point, uint32_t out[PL_CASE_MAX]);

/* Whether two texts are equal when both are lowered. */
bool pl_same_lower(pl_span a, pl_span b);

/* Han characters that stand for a unit of their own in alignment: the unified blocks up to extension E and the compatibility block. */
bool pl_is_ideograph(uint32_t point);

/* Characters of scripts that put no space between words or sentences: Chinese and Japanese with their punctuation and wide forms, Thai, Lao, Khmer.
 */
bool pl_is_spaceless(uint32_t point);

/* The code points of a text into an array of the arena. Errors: FORMAT (invalid UTF-8, with its position), MEMORY. */
parley_status pl_code_points(pl_arena *arena, pl_span text, const uint32_t **points, size_t *count, parley_error *error);
parley_status pl_from_code_points(pl_arena *arena, const uint32_t *points, size_t count, pl_span *text, parley_error *error);

/* A copy in which each part that is no UTF-8 is U+FFFD: one for the longest run of bytes that could have begun a character, one for each other
 * byte. Valid text is returned as it is. Errors: MEMORY. */
parley_status pl_utf8_lossy(pl_arena *arena, pl_span bytes, pl_span *text, parley_error *error);

#endif
