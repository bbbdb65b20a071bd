/* Text to the units that alignment gives times, and their times set right (spec/qwen3_asr.md 5.3 to 5.5). */
#ifndef PL_MODELS_QWEN3_ASR_UNITS_H
#define PL_MODELS_QWEN3_ASR_UNITS_H

#include "text/strings.h"

#include <parley/asr.h>

/* ------------------------------------------------------------------ units */

/* Words, sorted. */
typedef struct pl_lexicon {
    const pl_span *words;
    size_t count;
} pl_lexicon;

/* The reference's dictionary format: the first blank-separated field of each line is a word, the rest is ignored. The words lie in `file`.
 * Errors: FORMAT (no UTF-8), LIMIT, MEMORY. */
parley_status pl_lexicon_parse(pl_arena *arena, pl_span file, pl_lexicon *lexicon, parley_error *error);
bool pl_lexicon_has(const pl_lexicon *lexicon, pl_span word);

typedef struct pl_unit_rules {
    parley_split_fn japanese; /* NULL: runs of one script (Han, hiragana, katakana, other letters), each digit alone */
    void *context;
    const pl_lexicon *korean; /* NULL: whole eojeol */
} pl_unit_rules;

typedef struct pl_units {
    const pl_span *items;
    size_t count;
    parley_unit_rule rule;
} pl_units;

/* `language`: an English name in any case; only Japanese and Korean have routes of their own. Units hold apostrophes, letters and numbers only and
 * lie in the arena. Errors: FORMAT (no UTF-8), MEMORY, VALUE (a word that begins inside a character), those of the splitter. */
parley_status pl_units_split(pl_arena *arena, pl_span text, pl_span language, const pl_unit_rules *rules, pl_units *units, parley_error *error);

/* ------------------------------------------------------------------ times */

/* Makes times (ms, start and end of each unit in turn) non-decreasing, in place: what is no part of the longest non-decreasing subsequence is moved
 * to or between its neighbours. As the reference's quadratic rule, in n log n. Errors: LIMIT, MEMORY. */
parley_status pl_times_repair(pl_arena *scratch, int64_t *times, size_t count, parley_error *error);

/* The first unit of a run of equal stamps that no speech makes (8 units); `units` when there is none. */
size_t pl_times_stuck(const int64_t *times, size_t units);

/* How many syllables a unit has at least: one for a character of a syllabic script or a digit, a third for each other letter. */
double pl_unit_syllables(pl_span unit);

/* Seconds rounded to whole milliseconds by their exact value, a tie to the even one. Finite values only. */
double pl_round_milliseconds(double seconds);

/* Why times are not to be trusted. */
enum {
    PL_DOUBT_EMPTY = 1,     /* no units */
    PL_DOUBT_STAMPS = 2,    /* a long run of equal times, a shorter one at the end, or most units of no length */
    PL_DOUBT_BEYOND = 4,    /* a time well behind the end of the sound */
    PL_DOUBT_DISORDER = 8,  /* more than half of the times had to be repaired */
    PL_DOUBT_TOO_MUCH = 16, /* more text than can be spoken in that time */
    PL_DOUBT_LOST = 32,     /* a window whose stamps stand still where there is sound for them */
};

typedef struct pl_alignment {
    const pl_units *units;
    const int64_t *raw, *repaired; /* [2 * units] ms; raw NULL: not known */
    double seconds;                /* of the sound */
} pl_alignment;

/* Bits of the above; 0: reliable. */
unsigned pl_alignment_doubts(const pl_alignment *alignment);

#endif
