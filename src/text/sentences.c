#include "text/sentences.h"

#include "text/strings.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <string.h>

/* ------------------------------------------------------------------ characters */

/* Sorted. Ends of sentences that need no space behind them. */
static const uint32_t full_stops[] = {
    0x0589, /* Armenian */
    0x061F, /* Arabic question mark */
    0x06D4, /* Urdu */
    0x0964, /* Devanagari danda, */
    0x0965, /* double danda */
    0x104A, /* Burmese little section, */
    0x104B, /* section */
    0x1362, /* Ethiopic */
    0x1367, /* question mark */
    0x17D4, /* Khmer khan, */
    0x17D5, /* bariyoosan */
    0x203C, /* !! */
    0x2047, /* ?? */
    0x2048, /* ?! */
    0x2049, /* !? */
    0x3002, /* ideographic */
    0xFF01, /* full-width ! */
    0xFF0E, /* full-width . */
    0xFF1F, /* full-width ? */
    0xFF61, /* half-width ideographic */
};

/* Sorted. Ends of clauses that need no space behind them. */
static const uint32_t wide_commas[] = {0x060C, 0x061B, 0x1363, 0x2014, 0x3001, 0xFF0C, 0xFF1A, 0xFF1B, 0xFF64};

/* Sorted. What closes a quotation or bracket, and so belongs to the sentence before it. */
static const uint32_t closers[] = {'"',    '\'',   ')',    ']',    '}',    0x00BB, 0x2019, 0x201D, 0x203A,
                                   0x3009, 0x300B, 0x300D, 0x300F, 0x3011, 0x3015, 0xFF09, 0xFF3D, 0xFF5D};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static bool is_among(const uint32_t *list, size_t count, uint32_t point)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list[middle] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low] == point;
}

static bool is_closer(uint32_t point)
{
    return is_among(closers, COUNT(closers), point);
}

static bool is_full_stop(uint32_t point)
{
    return is_among(full_stops, COUNT(full_stops), point);
}

/* Those that need a space behind them. */
static bool is_narrow_stop(uint32_t point)
{
    return point == '.' || point == '!' || point == '?' || point == 0x2026;
}

/* Thai, Lao, Burmese, Khmer: no space between words, one between clauses. */
static bool is_spaced_by_clause(uint32_t point)
{
    return (point >= 0x0E00 && point <= 0x0EFF) || (point >= 0x1000 && point <= 0x109F) || (point >= 0x1780 && point <= 0x17FF);
}

/* ------------------------------------------------------------------ abbreviations */

/* Lower case, without the last full stop; words behind which a sentence seldom ends. */
static const char *const abbreviations[] = {
    "adj",
    "al",
    "approx",
    "art",
    "av",
    "bd",
    "bzgl",
    "bzw",
    "ca",
    "cap",
    "capt",
    "cf",
    "chap",
    "co",
    "col",
    "corp",
    "d.h",
    "dept",
    "dr",
    "dra",
    "e.g",
    "ed",
    "etc",
    "ev",
    "fig",
    "fr",
    "gen",
    "ggf",
    "gov",
    "hr",
    "i.e",
    "inc",
    "ing",
    "jr",
    "lt",
    "ltd",
    "m",
    "max",
    "mgr",
    "min",
    "mlle",
    "mme",
    "mr",
    "mrs",
    "ms",
    "mt",
    "nr",
    "no",
    "op",
    "p",
    "p.ex",
    "pp",
    "prof",
    "rep",
    "rev",
    "sen",
    "sgt",
    "sig",
    "sr",
    "sra",
    "st",
    "str",
    "u.a",
    "usw",
    "vol",
    "vs",
    "z.b",
    "\xD0\xB3",
    "\xD1\x82.\xD0\xB5",
    "\xD1\x83\xD0\xBB",
};

static bool is_abbreviation(pl_span word)
{
    for (size_t i = 0; i < COUNT(abbreviations); i++)
        if (pl_same_lower(word, (pl_span){abbreviations[i], strlen(abbreviations[i])}))
            return true;
    return false;
}

/* The run of letters, digits and full stops in front of `at`. */
static pl_span word_before(pl_span text, size_t at)
{
    enum { LONGEST = 24 }; /* bytes; more is no abbreviation */
    size_t start = at;
    while (start > 0 && at - start < LONGEST) {
        size_t before = start - 1, length;
        while (before > 0 && ((unsigned char)text.text[before] & 0xC0) == 0x80)
            before--;
        uint32_t point = pl_utf8_get(text.text + before, &length);
        if (point != '.' && !(pl_kind(point) & (PL_ANY_LETTER | PL_NUMBER | PL_MARK)))
            break;
        start = before;
    }
    return (pl_span){text.text + start, at - start};
}

/* "J. Smith", "e.g. this", "Dr. No", "am 3. Mai": the full stop at `at` ends a word rather than a sentence. */
static bool ends_word_only(pl_span text, size_t at)
{
    enum { ORDINAL = 2 }; /* digits; a longer number is rather a year or an amount at the end */
    pl_span word = word_before(text, at);
    size_t length = 0, digits = 0;
    while (digits < word.length && word.text[digits] >= '0' && word.text[digits] <= '9')
        digits++;
    if (word.length > 0 && digits == word.length)
        return digits <= ORDINAL;
    if (word.length > 0 && (pl_kind(pl_utf8_get(word.text, &length)) & PL_CAPITAL) && length == word.length)
        return true;
    return is_abbreviation(word);
}

/* ------------------------------------------------------------------ breaks */

/* What stands around a place: the last character that is no white space and no closer, and where it stands; white space between. */
typedef struct place {
    uint32_t last, before; /* before the place: last character that counts; very last one that is no white space */
    size_t last_at;
    bool spaces, line_end, paragraph; /* between them and what follows */
} place;

static pl_break behind_narrow_stop(pl_span text, const place *p, uint32_t next)
{
    if (!p->spaces || (pl_kind(next) & PL_SMALL))
        return p->spaces ? PL_BREAK_WORD : PL_BREAK_CHARACTER;
    if (p->last == '.' && ends_word_only(text, p->last_at))
        return PL_BREAK_WORD;
    return PL_BREAK_SENTENCE;
}

/* `next`: the character behind the place, no white space. */
static pl_break break_of(pl_span text, const place *p, uint32_t next)
{
    if (is_closer(next) && !p->spaces)
        return PL_BREAK_CHARACTER;
    if (p->paragraph)
        return PL_BREAK_SENTENCE;
    if (is_full_stop(p->last))
        return !p->spaces && (is_full_stop(next) || is_narrow_stop(next)) ? PL_BREAK_CHARACTER : PL_BREAK_SENTENCE;
    if (is_narrow_stop(p->last) && !p->line_end)
        return behind_narrow_stop(text, p, next);
    if (p->line_end)
        return is_narrow_stop(p->last) ? PL_BREAK_SENTENCE : PL_BREAK_CLAUSE;
    if (is_among(wide_commas, COUNT(wide_commas), p->last))
        return PL_BREAK_CLAUSE;
    if (!p->spaces)
        return PL_BREAK_CHARACTER;
    if (p->last == ',' || p->last == ';' || p->last == ':' || p->last == 0x2013 || p->last == '-')
        return PL_BREAK_CLAUSE;
    return is_spaced_by_clause(p->last) && is_spaced_by_clause(next) ? PL_BREAK_CLAUSE : PL_BREAK_WORD;
}

/* Marks, joiners, variation selectors and skin tones belong to the character before them; regional indicators go in pairs, of which none is cut. */
static bool joins(uint32_t before, uint32_t next)
{
    const uint32_t joiner = 0x200D;
    bool flags = before >= 0x1F1E6 && before <= 0x1F1FF && next >= 0x1F1E6 && next <= 0x1F1FF;
    return (pl_kind(next) & PL_MARK) || next == joiner || before == joiner || (next >= 0x1F3FB && next <= 0x1F3FF) || flags;
}

static void pass_space(place *p, uint32_t point)
{
    if (pl_is_line_end(point) && point != '\r') {
        p->paragraph = p->line_end;
        p->line_end = true;
    }
    p->spaces = true;
}

/* Twice the length from which on a break is taken, in lengths. */
static const int halves[] = {[PL_BREAK_CHARACTER] = 6, [PL_BREAK_WORD] = 4, [PL_BREAK_CLAUSE] = 3, [PL_BREAK_SENTENCE] = 2};

static bool is_taken(pl_break b, int64_t count, int32_t length)
{
    return b != PL_BREAK_NONE && 2 * count >= (int64_t)halves[b] * length;
}

bool pl_piece_find(pl_span text, int32_t length, pl_piece *piece)
{
    enum { WIDE = 3 };
    place p = {0};
    int64_t count = 0;
    for (size_t at = 0, end = 0, bytes; at < text.length; at += bytes) {
        uint32_t point = pl_utf8_get(text.text + at, &bytes);
        if (pl_is_blank(point)) {
            pass_space(&p, point);
            continue;
        }
        if (end > 0 && !joins(p.before, point) && is_taken(break_of(text, &p, point), count, length)) {
            *piece = (pl_piece){end, at};
            return true;
        }
        count += (end > 0 && p.spaces) + (pl_is_spaceless(point) ? WIDE : 1);
        if (!is_closer(point) || p.spaces) {
            p.last = point;
            p.last_at = at;
        }
        p.before = point;
        p.spaces = p.line_end = p.paragraph = false;
        end = at + bytes;
    }
    return false;
}
