/* What becomes of the model's answer: header and text, repetitions, joining of segments, budgets (spec/qwen3_asr.md 4.2 to 4.7). */
#ifndef PL_MODELS_QWEN3_ASR_ANSWER_H
#define PL_MODELS_QWEN3_ASR_ANSWER_H

#include "text/strings.h"

typedef struct pl_answer {
    pl_span language, text; /* language length 0: unknown */
} pl_answer;

/* `raw`: the decoded string, special tokens dropped, the tag <asr_text> kept. `forced`: the language that stood in the prompt, length 0 for none.
 * The spans lie in the arena, in `raw` or in `forced`. Errors: FORMAT (raw is no UTF-8), MEMORY. */
parley_status pl_answer_parse(pl_arena *arena, pl_span raw, pl_span forced, pl_answer *answer, parley_error *error);

/* Runs of a character longer than 20, and units of up to 20 characters that stand 20 times or more, become one copy. Errors as above. */
parley_status pl_answer_clean(pl_arena *arena, pl_span text, pl_span *out, parley_error *error);

/* The first letter upper case, the others lower, as the model's header is read: any name, U+00DF at the head becomes "SS". */
parley_status pl_language_normalise(pl_arena *arena, pl_span name, pl_span *out, parley_error *error);

/* Languages of segments joined by commas: trimmed, blank ones and direct repetitions left out. */
parley_status pl_languages_join(pl_arena *arena, const pl_span *languages, size_t count, pl_span *out, parley_error *error);

typedef enum pl_join {
    PL_JOIN_SPACE, /* one space, unless a character of a script without spaces stands on either side or a blank is there already */
    PL_JOIN_NONE   /* the reference */
} pl_join;

/* Whether a space may stand at a text's end, at its beginning: not beside a blank or a script without spaces, nor without a text. */
bool pl_text_spaced_behind(pl_span text);
bool pl_text_spaced_before(pl_span text);

/* Texts of segments, empty ones left out. */
parley_status pl_texts_join(pl_arena *arena, const pl_span *texts, size_t count, pl_join join, pl_span *out, parley_error *error);

/* Whether the letters and numbers of `text`, case aside, are a run of those of `context`: the known fault that unclear sound gives a piece of the
 * context back. Says nothing about whether they were spoken. False for a text without letters. Errors: FORMAT, MEMORY. */
parley_status pl_answer_echoes(pl_arena *arena, pl_span text, pl_span context, bool *echoes, parley_error *error);

typedef struct pl_language {
    const char *name, *code;
    bool aligned; /* one of the aligner's eleven */
} pl_language;

enum { PL_LANGUAGES = 30 };
extern const pl_language pl_languages[PL_LANGUAGES];

/* By English name or code in any case, blanks around it ignored; "auto" and a blank text give NULL. Errors: ARGUMENT (unknown: lists them all). */
parley_status pl_language_find(pl_span text, const pl_language **language, parley_error *error);

/* New tokens that a segment may take: 12 a second, at least 256, at most `room` (positions of the context that the prompt leaves). */
int32_t pl_answer_budget(double seconds, int32_t room);

/* Finds an answer that has fallen into a loop. Fed with values one by one: token ids, or code points of the text. */
enum { PL_LOOP_PERIOD = 256, PL_LOOP_COPIES = 64 };

typedef struct pl_loop_guard {
    int32_t last[PL_LOOP_PERIOD]; /* ring of the last values */
    int64_t same[PL_LOOP_PERIOD]; /* [period - 1]: how many values in a row equal the one a period before them */
    int64_t count;
} pl_loop_guard;

void pl_loop_guard_init(pl_loop_guard *guard);

/* True once the last values are 64 copies of one period of at most 256 values; `*keep` is then how many values remain when one copy is kept. */
bool pl_loop_guard_push(pl_loop_guard *guard, int32_t value, int64_t *keep);

#endif
