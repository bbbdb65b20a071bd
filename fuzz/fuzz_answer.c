/* Fuzz target: a model's answer and text to align. The first byte of the input says what the rest is:
 *   'a'  an answer, no language forced       'f'  the same with one forced
 *   'u' 'j' 'k'  text to align: default route, Japanese, Korean with a dictionary that is the text itself
 *   'l'  a lexicon, a NUL, Korean text to align with it
 *   'm'  Japanese text, cut into words wherever a byte and the one before it add up to a multiple of three
 *   'w'  stamps of a model for the windows of a long sound, a byte each
 *   't'  times to repair, two bytes each
 *   'b'  bytes to decode
 * What must hold is checked with __builtin_trap. */
#include "models/qwen3_asr/answer.h"
#include "models/qwen3_asr/windows.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)      \
    do {                      \
        if (!(condition))     \
            __builtin_trap(); \
    } while (0)

static bool valid(pl_span text)
{
    return pl_utf8_check(text.text, text.length) == text.length;
}

static void check_trimmed(pl_span text)
{
    pl_span trimmed = pl_trim(text);
    HOLDS(trimmed.length == text.length);
}

static void fuzz_answer(pl_arena *arena, pl_span raw, pl_span forced)
{
    pl_answer answer;
    pl_span twice, once;
    parley_status status = pl_answer_parse(arena, raw, forced, &answer, NULL);
    HOLDS(status == (valid(raw) ? PARLEY_OK : PARLEY_FORMAT));
    if (status != PARLEY_OK)
        return;
    HOLDS(valid(answer.text) && valid(answer.language));
    HOLDS(answer.text.length <= raw.length);
    HOLDS(!forced.length || answer.language.length == 0 || answer.language.text == forced.text);
    if (!forced.length)
        check_trimmed(answer.text);
    HOLDS(pl_answer_clean(arena, raw, &once, NULL) == PARLEY_OK && once.length <= raw.length);
    HOLDS(pl_texts_join(arena, (pl_span[]){answer.language, answer.text}, 2, PL_JOIN_SPACE, &twice, NULL) == PARLEY_OK);
    HOLDS(twice.length <= answer.language.length + answer.text.length + 1 && valid(twice));
    const pl_language *language;
    status = pl_language_find(raw, &language, NULL);
    HOLDS(status == PARLEY_OK || (status == PARLEY_ARGUMENT && !language));
}

/* The units together are the text with what is no apostrophe, letter or number left out. */
static void check_units(const pl_units *units, pl_span text)
{
    size_t at = 0, unit = 0, used = 0, length;
    for (; at < text.length; at += length) {
        uint32_t point = pl_utf8_get(text.text + at, &length);
        if (point != '\'' && !(pl_kind(point) & (PL_ANY_LETTER | PL_NUMBER)))
            continue;
        HOLDS(unit < units->count && units->items[unit].length - used >= length);
        HOLDS(memcmp(units->items[unit].text + used, text.text + at, length) == 0);
        used += length;
        if (used == units->items[unit].length) {
            unit++;
            used = 0;
        }
    }
    HOLDS(unit == units->count && used == 0);
}

static void fuzz_units(pl_arena *arena, pl_span text, const char *language)
{
    pl_units units;
    pl_lexicon lexicon = {NULL, 0};
    if (valid(text))
        HOLDS(pl_lexicon_parse(arena, text, &lexicon, NULL) == PARLEY_OK);
    parley_status status = pl_units_split(arena, text, (pl_span){language, strlen(language)}, &(pl_unit_rules){.korean = &lexicon}, &units, NULL);
    HOLDS(status == (valid(text) ? PARLEY_OK : PARLEY_FORMAT));
    if (status != PARLEY_OK)
        return;
    check_units(&units, text);
    int64_t *times = PL_NEW_ARRAY(arena, int64_t, 2 * units.count);
    HOLDS(times != NULL);
    unsigned doubts = pl_alignment_doubts(&(pl_alignment){&units, NULL, times, 1});
    HOLDS(doubts != 0); /* all zero */
}

static void fuzz_lexicon(pl_arena *arena, pl_span input)
{
    const char *nul = input.length ? memchr(input.text, 0, input.length) : NULL;
    size_t length = nul ? (size_t)(nul - input.text) : input.length;
    pl_span file = {input.text, length}, text = {input.text + length, input.length - length}, line, word;
    pl_lexicon lexicon;
    pl_units units;
    parley_status status = pl_lexicon_parse(arena, file, &lexicon, NULL);
    HOLDS(status == (valid(file) ? PARLEY_OK : PARLEY_FORMAT));
    if (status != PARLEY_OK)
        return;
    while (pl_next_line(&file, &line))
        HOLDS(!pl_next_word(&line, &word) || pl_lexicon_has(&lexicon, word));
    status = pl_units_split(arena, text, (pl_span){"Korean", 6}, &(pl_unit_rules){.korean = &lexicon}, &units, NULL);
    HOLDS(status == (valid(text) ? PARLEY_OK : PARLEY_FORMAT));
    if (status == PARLEY_OK)
        check_units(&units, text);
}

static parley_status mark(void *context, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    bool *good = context;
    (void)error;
    for (size_t i = 1; i < length; i++) {
        begins[i] = ((unsigned char)text[i] + (unsigned char)text[i - 1]) % 3 == 0;
        *good = *good && !(begins[i] && ((unsigned char)text[i] & 0xC0) == 0x80);
    }
    return PARLEY_OK;
}

static void fuzz_marks(pl_arena *arena, pl_span text)
{
    bool good = true;
    pl_units units;
    pl_unit_rules rules = {.japanese = mark, .context = &good};
    parley_status status = pl_units_split(arena, text, (pl_span){"Japanese", 8}, &rules, &units, NULL);
    HOLDS(status == (!valid(text) ? PARLEY_FORMAT : good ? PARLEY_OK : PARLEY_VALUE));
    if (status == PARLEY_OK)
        check_units(&units, text);
}

/* Stamps of a window, again from the beginning when they are used up. */
typedef struct stamps {
    const uint8_t *data;
    size_t size, at, units;
} stamps;

static parley_status next_stamps(void *context, const pl_window *window, int64_t *raw, parley_error *error)
{
    stamps *s = context;
    (void)error;
    HOLDS(window->n_units > 0 && window->unit + window->n_units <= s->units);
    for (size_t i = 0; i < 2 * window->n_units; i++)
        raw[i] = 20 * s->data[s->at++ % s->size];
    return PARLEY_OK;
}

static void fuzz_windows(pl_arena *arena, const uint8_t *data, size_t size)
{
    enum { SECONDS = 12, MOST_UNITS = 400 };
    static const float silence[SECONDS * PARLEY_ASR_RATE];
    if (size == 0)
        return;
    stamps s = {data, size, 0, 1 + size % MOST_UNITS};
    pl_span *words = PL_NEW_ARRAY(arena, pl_span, s.units);
    HOLDS(words != NULL);
    for (size_t i = 0; i < s.units; i++)
        words[i] = (pl_span){"word", 1 + i % 4};
    pl_units units = {words, s.units, PARLEY_UNITS_GIVEN};
    pl_windowed job = {.pcm = silence,
                       .samples = (int64_t)(1 + data[0] % SECONDS) * PARLEY_ASR_RATE - data[size - 1],
                       .limit = 2 * PARLEY_ASR_RATE,
                       .units = &units,
                       .raw = PL_NEW_ARRAY(arena, int64_t, 2 * s.units),
                       .times = PL_NEW_ARRAY(arena, int64_t, 2 * s.units)};
    HOLDS(job.raw != NULL && job.times != NULL);
    HOLDS(pl_align_windows(arena, &job, &(pl_window_stage){next_stamps, &s}, NULL) == PARLEY_OK);
    HOLDS((int64_t)job.n_windows <= 8 * job.samples / job.limit + 2);
    for (size_t i = 1; i < 2 * s.units; i++)
        HOLDS(job.times[i] >= job.times[i - 1]);
}

static void fuzz_times(pl_arena *arena, const uint8_t *data, size_t size)
{
    size_t count = size / 2;
    int64_t *times = PL_NEW_ARRAY(arena, int64_t, count), low = INT64_MAX, high = 0;
    HOLDS(times != NULL);
    for (size_t i = 0; i < count; i++) {
        times[i] = 80 * (data[2 * i] + 256 * (data[2 * i + 1] % 20));
        low = times[i] < low ? times[i] : low;
        high = times[i] > high ? times[i] : high;
    }
    HOLDS(pl_times_repair(arena, times, count, NULL) == PARLEY_OK);
    for (size_t i = 0; i < count; i++)
        HOLDS(times[i] >= (i ? times[i - 1] : low) && times[i] <= high);
}

static void fuzz_bytes(pl_arena *arena, pl_span bytes)
{
    pl_span text;
    HOLDS(pl_utf8_lossy(arena, bytes, &text, NULL) == PARLEY_OK && valid(text));
    HOLDS(text.length <= 3 * bytes.length && (!valid(bytes) || text.text == bytes.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *copy = malloc(size); /* of its own size, so that the sanitizer sees every step beyond it */
    HOLDS(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    copy = realloc(copy, size > 1 ? size - 1 : 1);
    HOLDS(copy != NULL);
    pl_span input = {copy, size - 1};
    pl_arena arena;
    pl_arena_init(&arena, NULL, 4096);
    switch (data[0]) {
    case 'a': fuzz_answer(&arena, input, (pl_span){"", 0}); break;
    case 'f': fuzz_answer(&arena, input, (pl_span){"French", 6}); break;
    case 'u': fuzz_units(&arena, input, "English"); break;
    case 'j': fuzz_units(&arena, input, "japanese"); break;
    case 'k': fuzz_units(&arena, input, "Korean"); break;
    case 'l': fuzz_lexicon(&arena, input); break;
    case 'm': fuzz_marks(&arena, input); break;
    case 'w': fuzz_windows(&arena, data + 1, size - 1); break;
    case 't': fuzz_times(&arena, data + 1, size - 1); break;
    case 'b': fuzz_bytes(&arena, input); break;
    default: break;
    }
    pl_arena_free(&arena);
    free(copy);
    return 0;
}
