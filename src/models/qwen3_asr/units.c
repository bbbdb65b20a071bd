#include "models/qwen3_asr/units.h"

#include "base/sort.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <string.h>

/* ------------------------------------------------------------------ collecting */

typedef struct collector {
    pl_arena *arena;
    char *text; /* all units, one behind the other; the one that grows begins at `begin` */
    size_t begin, length;
    pl_span *items;
    size_t count, room;
} collector;

static parley_status start(collector *c, pl_arena *arena, size_t room, parley_error *error)
{
    *c = (collector){.arena = arena, .text = pl_arena_alloc_raw(arena, room, 1)};
    return c->text ? PARLEY_OK : pl_fail_memory(error, "the units of a text");
}

/* Ends the unit that grows, if it holds something. */
static parley_status close_unit(collector *c, parley_error *error)
{
    if (c->begin == c->length)
        return PARLEY_OK;
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        pl_span *items = PL_NEW_ARRAY(c->arena, pl_span, room);
        if (!items)
            return pl_fail_memory(error, "the units of a text");
        if (c->count)
            memcpy(items, c->items, c->count * sizeof *items);
        c->items = items;
        c->room = room;
    }
    c->items[c->count++] = (pl_span){c->text + c->begin, c->length - c->begin};
    c->begin = c->length;
    return PARLEY_OK;
}

/* There is room for the whole text, and units are parts of it. */
static void append(collector *c, pl_span character)
{
    memcpy(c->text + c->length, character.text, character.length);
    c->length += character.length;
}

/* ------------------------------------------------------------------ where a piece is cut */

/* Classes of characters: a unit ends where the class changes and at every one that stands alone. */
enum { DROPPED, BREAKS, ALONE, PLAIN, HAN, HIRAGANA, KATAKANA };

typedef int (*classify)(uint32_t point, int before);

static bool kept(uint32_t point)
{
    return point == '\'' || (pl_kind(point) & (PL_ANY_LETTER | PL_NUMBER)) != 0;
}

static int whole_class(uint32_t point, int before)
{
    (void)before;
    return kept(point) ? PLAIN : DROPPED;
}

static int ideograph_class(uint32_t point, int before)
{
    return pl_is_ideograph(point) ? kept(point) ? ALONE : DROPPED : whole_class(point, before);
}

static int script_class(uint32_t point, int before)
{
    if (!kept(point))
        return pl_kind(point) & PL_MARK ? DROPPED : BREAKS;
    if ((point == 0x30FC || point == 0xFF70) && (before == HIRAGANA || before == KATAKANA)) /* the sign of a long vowel */
        return before;
    if (pl_is_ideograph(point) || point == 0x3005 || point == 0x3007) /* iteration mark, zero */
        return HAN;
    if (pl_kind(point) & PL_NUMBER)
        return ALONE;
    if (point >= 0x3041 && point <= 0x309F)
        return HIRAGANA;
    return (point >= 0x30A0 && point <= 0x30FF) || (point >= 0x31F0 && point <= 0x31FF) || (point >= 0xFF66 && point <= 0xFF9F) ? KATAKANA : PLAIN;
}

/* Cleans a piece of text into units. */
static parley_status take(collector *c, pl_span piece, classify class_of, parley_error *error)
{
    int before = BREAKS;
    for (size_t at = 0, length; at < piece.length; at += length) {
        int class = class_of(pl_utf8_get(piece.text + at, &length), before);
        if (class == DROPPED)
            continue;
        if (class != before || class == ALONE)
            PL_TRY(close_unit(c, error));
        if (class != BREAKS)
            append(c, (pl_span){piece.text + at, length});
        before = class;
    }
    return close_unit(c, error);
}

/* ------------------------------------------------------------------ routes */

static parley_status split_blanks(collector *c, pl_span text, classify class_of, parley_error *error)
{
    for (pl_span word; pl_next_word(&text, &word);)
        PL_TRY(take(c, word, class_of, error));
    return PARLEY_OK;
}

/* Words as the caller's function marks them; none goes on over a blank. */
static parley_status split_marked(collector *c, pl_span text, const pl_unit_rules *rules, parley_error *error)
{
    unsigned char *begins = PL_NEW_ARRAY(c->arena, unsigned char, text.length + 1);
    if (!begins)
        return pl_fail_memory(error, "the words of a text");
    parley_status status = rules->japanese(rules->context, text.text, text.length, begins, error);
    if (status != PARLEY_OK)
        return error && error->status == status ? status : pl_fail(error, status, "the splitter of Japanese text failed");
    for (size_t first = 0, end; first < text.length; first = end) {
        for (end = first + 1; end < text.length && !begins[end];)
            end++;
        if (end < text.length && ((unsigned char)text.text[end] & 0xC0) == 0x80)
            return pl_fail_at(error, PARLEY_VALUE, end, "the splitter of Japanese text lets a word begin inside a character, at byte %zu", end);
        PL_TRY(split_blanks(c, (pl_span){text.text + first, end - first}, whole_class, error));
    }
    return PARLEY_OK;
}

/* Length of the part of an eojeol that is split off: its longest beginning of two characters or more that is a word, else all of it. */
static size_t left_part(const pl_lexicon *lexicon, pl_span eojeol)
{
    size_t ends[256], count = 0, length; /* behind 2, 3, .. characters; words longer than that are in no lexicon */
    size_t at = 0;
    for (size_t n = 1; at < eojeol.length && count < sizeof ends / sizeof ends[0]; n++) {
        pl_utf8_get(eojeol.text + at, &length);
        at += length;
        if (n >= 2)
            ends[count++] = at;
    }
    if (count <= 1) /* two characters or fewer stay whole */
        return eojeol.length;
    while (count-- > 0)
        if (pl_lexicon_has(lexicon, (pl_span){eojeol.text, ends[count]}))
            return ends[count];
    return eojeol.length;
}

static parley_status split_korean(collector *c, pl_span text, const pl_lexicon *lexicon, parley_error *error)
{
    for (pl_span word; pl_next_word(&text, &word);) {
        size_t left = lexicon ? left_part(lexicon, word) : word.length;
        PL_TRY(take(c, (pl_span){word.text, left}, whole_class, error));
        PL_TRY(take(c, (pl_span){word.text + left, word.length - left}, whole_class, error));
    }
    return PARLEY_OK;
}

static bool is_language(pl_span language, const char *name)
{
    return language.length == strlen(name) && pl_begins_with(language, name);
}

static parley_unit_rule choose(pl_span language, const pl_unit_rules *rules)
{
    if (is_language(language, "korean"))
        return rules->korean ? PARLEY_UNITS_LEXICON : PARLEY_UNITS_BLANKS;
    if (is_language(language, "japanese"))
        return rules->japanese ? PARLEY_UNITS_SPLITTER : PARLEY_UNITS_SCRIPTS;
    return PARLEY_UNITS_BLANKS;
}

parley_status pl_units_split(pl_arena *arena, pl_span text, pl_span language, const pl_unit_rules *rules, pl_units *units, parley_error *error)
{
    collector c;
    parley_unit_rule rule = choose(language, rules);
    size_t valid = pl_utf8_check(text.text, text.length);
    if (valid != text.length)
        return pl_fail_at(error, PARLEY_FORMAT, valid, "text to align: expected UTF-8, got the byte 0x%02X at offset %zu",
                          (unsigned char)text.text[valid], valid);
    PL_TRY(start(&c, arena, text.length, error));
    if (is_language(language, "korean"))
        PL_TRY(split_korean(&c, text, rules->korean, error));
    else if (rule == PARLEY_UNITS_SPLITTER)
        PL_TRY(split_marked(&c, text, rules, error));
    else
        PL_TRY(split_blanks(&c, text, rule == PARLEY_UNITS_SCRIPTS ? script_class : ideograph_class, error));
    *units = (pl_units){c.items, c.count, rule};
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ lexicon */

static int compare_spans(pl_span a, pl_span b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter ? memcmp(a.text, b.text, shorter) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_words(const void *context, uint32_t a, uint32_t b)
{
    const pl_span *words = context;
    return compare_spans(words[a], words[b]);
}

parley_status pl_lexicon_parse(pl_arena *arena, pl_span file, pl_lexicon *lexicon, parley_error *error)
{
    size_t count = 0, lines = 0, valid = pl_utf8_check(file.text, file.length);
    if (valid != file.length)
        return pl_fail_at(error, PARLEY_FORMAT, valid, "dictionary: expected UTF-8, got the byte 0x%02X at offset %zu",
                          (unsigned char)file.text[valid], valid);
    for (pl_span rest = file, line; pl_next_line(&rest, &line);)
        lines++;
    if (lines > UINT32_MAX)
        return pl_fail(error, PARLEY_LIMIT, "dictionary: %zu lines, at most %u", lines, UINT32_MAX);
    pl_span *words = PL_NEW_ARRAY(arena, pl_span, lines), *sorted = PL_NEW_ARRAY(arena, pl_span, lines);
    uint32_t *order = PL_NEW_ARRAY(arena, uint32_t, lines);
    if (!words || !sorted || !order)
        return pl_fail_memory(error, "the dictionary");
    for (pl_span line; pl_next_line(&file, &line);)
        count += pl_next_word(&line, &words[count]);
    pl_sort(order, count, compare_words, words);
    for (size_t i = 0; i < count; i++)
        sorted[i] = words[order[i]];
    *lexicon = (pl_lexicon){sorted, count};
    return PARLEY_OK;
}

bool pl_lexicon_has(const pl_lexicon *lexicon, pl_span word)
{
    size_t low = 0, high = lexicon->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_spans(word, lexicon->words[middle]);
        if (order == 0)
            return true;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
