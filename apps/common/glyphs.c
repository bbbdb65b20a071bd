#include "glyphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* No line begins with these ... */
static const uint32_t closing[] = {
    '!',    ')',    ',',    '.',    ':',    ';',    '?',    ']',    '}',    '%',    0x2019, 0x201D, 0x2026, 0x3001, 0x3002,
    0x3005, 0x3009, 0x300B, 0x300D, 0x300F, 0x3011, 0x3015, 0x3041, 0x3043, 0x3045, 0x3047, 0x3049, 0x3063, 0x3083, 0x3085,
    0x3087, 0x309D, 0x30A1, 0x30A3, 0x30A5, 0x30A7, 0x30A9, 0x30C3, 0x30E3, 0x30E5, 0x30E7, 0x30FB, 0x30FC, 0x30FD, 0xFF01,
    0xFF05, 0xFF09, 0xFF0C, 0xFF0E, 0xFF1A, 0xFF1B, 0xFF1F, 0xFF3D, 0xFF5D, 0xFF61, 0xFF63, 0xFF64,
};
/* ... and none ends with these. */
static const uint32_t opening[] = {'(', '[', '{', 0x2018, 0x201C, 0x3008, 0x300A, 0x300C, 0x300E, 0x3010, 0x3014, 0xFF08, 0xFF3B, 0xFF5B, 0xFF62};
static const uint32_t sentence_ends[] = {'.', '!', '?', 0x0589, 0x061F, 0x06D4, 0x0964, 0x2026, 0x3002, 0xFF01, 0xFF0E, 0xFF1F, 0xFF61};
static const uint32_t clause_ends[] = {',', ';', ':', 0x060C, 0x2013, 0x2014, 0x3001, 0xFF0C, 0xFF1A, 0xFF1B, 0xFF64};
/* What may stand behind a stop and belongs to it. */
static const uint32_t after_stops[] = {'"', '\'', ')', ']', 0x2019, 0x201D, 0x300D, 0x300F, 0x3011, 0xFF09};

#define HAS(set, point) has(set, CLI_COUNT(set), point)

static bool has(const uint32_t *set, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++)
        if (set[i] == point)
            return true;
    return false;
}

int32_t cli_next_point(const char *text, int *length)
{
    utf8proc_int32_t point;
    size_t left = strnlen(text, 4);
    if (!left) {
        *length = 0;
        return 0;
    }
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)left, &point);
    *length = used > 0 ? (int)used : 1;
    return used > 0 ? point : -1;
}

static bool is_blank(int32_t point)
{
    utf8proc_category_t category = utf8proc_category(point);
    return (point >= '\t' && point <= '\r') || point == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL
           || category == UTF8PROC_CATEGORY_ZP;
}

static bool is_letter(uint32_t point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
           || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

/* ------------------------------------------------------------------ characters */

/* Appends the characters of a text; `space`: as if a blank stood before it. There is room for all of its bytes. */
static void add_text(cli_glyphs *g, const char *text, bool space, int64_t word)
{
    int length;
    utf8proc_int32_t state = 0;
    for (int32_t point; point = cli_next_point(text, &length), length > 0; text += length) {
        if (point < 0)
            continue;
        if (is_blank(point)) {
            space = true;
            continue;
        }
        if (utf8proc_category(point) == UTF8PROC_CATEGORY_CC)
            continue;
        int columns = utf8proc_charwidth(point);
        if (!g->count && !columns)
            continue;
        if (space)
            state = 0;
        bool apart = !g->count || utf8proc_grapheme_break_stateful((utf8proc_int32_t)g->items[g->count - 1].point, point, &state);
        g->items[g->count++] = (cli_glyph){text, length, columns, (uint32_t)point, space && g->count, !apart && !space, word, NAN, NAN};
        g->wide |= columns == 2;
        space = false;
    }
}

/* Chinese, Japanese and other wide characters between which any line may be broken; Hangul is wide but has spaces. */
static bool breaks_anywhere(const cli_glyph *glyph)
{
    bool hangul = (glyph->point >= 0x1100 && glyph->point <= 0x11FF) || (glyph->point >= 0x3130 && glyph->point <= 0x318F)
                  || (glyph->point >= 0xAC00 && glyph->point <= 0xD7A3);
    return glyph->columns == 2 && !hangul;
}

/* Finds the segment's words in its text: every letter must belong to the next word. False when text and words differ. */
static bool own(cli_glyphs *g, const cli_segment *segment)
{
    size_t word = 0;
    const char *at = segment->n_words ? segment->words[0].text : "";
    for (size_t i = 0; i < g->count; i++) {
        int length;
        int32_t point;
        while ((point = cli_next_point(at, &length), length == 0) && word + 1 < segment->n_words)
            at = segment->words[++word].text;
        if (length && (uint32_t)point == g->items[i].point) {
            g->items[i].word = (int64_t)word;
            at += length;
        } else if (is_letter(g->items[i].point)) {
            return false;
        }
    }
    return word + 1 == segment->n_words && *at == '\0';
}

/* The words alone, a space between two unless one of the characters there is of a script without spaces. */
static void add_words(cli_glyphs *g, const cli_segment *segment)
{
    g->count = 0;
    g->wide = false;
    for (size_t i = 0; i < segment->n_words; i++) {
        size_t first = g->count;
        add_text(g, segment->words[i].text, true, (int64_t)i);
        if (first && first < g->count && breaks_anywhere(&g->items[first]) && breaks_anywhere(&g->items[first - 1]))
            g->items[first].space = false;
    }
}

/* ------------------------------------------------------------------ times */

/* Spreads [start, end] evenly over glyphs [first, last) that are part of `word`. */
static void spread(cli_glyphs *g, size_t first, size_t last, int64_t word, double start, double end)
{
    size_t count = 0, at = 0;
    for (size_t i = first; i < last; i++)
        count += g->items[i].word == word;
    for (size_t i = first; i < last; i++) {
        if (g->items[i].word != word)
            continue;
        g->items[i].start = start + (end - start) * (double)at / (double)count;
        g->items[i].end = start + (end - start) * (double)++at / (double)count;
    }
}

static double sane(double seconds, double least)
{
    return seconds > least && seconds < 1e9 ? seconds : least;
}

static void time_words(cli_glyphs *g, const cli_segment *segment)
{
    double before = 0;
    for (size_t i = 0, last; i < g->count; i = last) {
        int64_t word = g->items[i].word;
        for (last = i + 1; last < g->count && (g->items[last].word == word || g->items[last].word < 0);)
            last++;
        if (word < 0)
            continue;
        double start = sane(segment->words[word].start, before);
        before = sane(segment->words[word].end, start);
        spread(g, i, last, word, start, before);
    }
}

static void time_text(cli_glyphs *g, const cli_segment *segment)
{
    double start = sane(segment->start, 0);
    for (size_t i = 0; i < g->count; i++)
        g->items[i].word = 0;
    spread(g, 0, g->count, 0, start, sane(segment->end, start));
    for (size_t i = 0; i < g->count; i++)
        g->items[i].word = -1;
}

/* ------------------------------------------------------------------ atoms */

static bool breakable(const cli_glyph *before, const cli_glyph *glyph)
{
    if (glyph->joined || glyph->columns == 0 || (before->word >= 0 && before->word == glyph->word && !glyph->space))
        return false;
    if (glyph->space)
        return true;
    return (breaks_anywhere(before) || breaks_anywhere(glyph)) && !HAS(closing, glyph->point) && !HAS(opening, before->point);
}

static int stop_of(const cli_glyphs *g, const cli_atom *atom)
{
    size_t at = atom->first + atom->count;
    while (at > atom->first + 1 && HAS(after_stops, g->items[at - 1].point))
        at--;
    uint32_t point = g->items[at - 1].point;
    return HAS(sentence_ends, point) ? CLI_SENTENCE_STOP : HAS(clause_ends, point) ? CLI_CLAUSE_STOP : CLI_NO_STOP;
}

/* From its first timed character to its last; all of it at `before` when none is. */
static void time_atom(const cli_glyphs *g, cli_atom *atom, double before)
{
    double start = NAN, end = NAN;
    for (size_t i = atom->first; i < atom->first + atom->count; i++) {
        if (isnan(start))
            start = g->items[i].start;
        if (!isnan(g->items[i].end))
            end = g->items[i].end;
    }
    atom->start = isnan(start) ? before : start;
    atom->end = isnan(end) ? atom->start : end;
}

/* Of a character and those that are joined to it; of one that is joined, its own. */
static int columns_at(const cli_glyphs *g, size_t at)
{
    int columns = g->items[at].columns;
    for (size_t i = at + 1; i < g->count && g->items[i].joined && !g->items[at].joined; i++)
        columns += g->items[i].columns;
    return columns;
}

static void make_atoms(cli_glyphs *g, int limit)
{
    cli_atom *atom = NULL;
    for (size_t i = 0; i < g->count; i++) {
        const cli_glyph *glyph = &g->items[i];
        if (!atom || breakable(glyph - 1, glyph) || atom->columns + columns_at(g, i) > limit) {
            atom = &g->atoms[g->n_atoms++];
            *atom = (cli_atom){.first = i, .space = glyph->space};
        }
        atom->count++;
        atom->columns += glyph->columns;
    }
    double before = NAN;
    for (size_t i = 0; i < g->count && isnan(before); i++)
        before = g->items[i].start;
    for (size_t i = 0; i < g->n_atoms; i++) {
        g->atoms[i].stop = stop_of(g, &g->atoms[i]);
        time_atom(g, &g->atoms[i], isnan(before) ? 0 : before);
        before = g->atoms[i].end;
    }
}

parley_status cli_glyphs_make(const cli_segment *segment, int narrow, int wide, cli_glyphs *glyphs, parley_error *error)
{
    size_t room = strlen(segment->text), words = 0;
    *glyphs = (cli_glyphs){0};
    for (size_t i = 0; i < segment->n_words; i++)
        words += strlen(segment->words[i].text);
    room = (room > words ? room : words) + 1;
    glyphs->items = calloc(room, sizeof *glyphs->items);
    glyphs->atoms = calloc(room, sizeof *glyphs->atoms);
    if (!glyphs->items || !glyphs->atoms)
        return cli_fail_memory(error);
    add_text(glyphs, segment->text, false, -1);
    if (segment->n_words && !own(glyphs, segment))
        add_words(glyphs, segment);
    if (segment->n_words)
        time_words(glyphs, segment);
    else
        time_text(glyphs, segment);
    make_atoms(glyphs, glyphs->wide ? wide : narrow);
    return PARLEY_OK;
}

void cli_glyphs_free(cli_glyphs *glyphs)
{
    free(glyphs->items);
    free(glyphs->atoms);
    *glyphs = (cli_glyphs){0};
}
