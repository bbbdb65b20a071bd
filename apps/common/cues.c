#include "cues.h"

#include "glyphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { SHORTEST_MS = 1000 };          /* a shorter cue stays until then, if nothing follows */
static const double long_pause = 1.0; /* s: a cue never goes on over such a one */

int cli_columns(const char *text)
{
    int columns = 0, length;
    for (int32_t point; point = cli_next_point(text, &length), length > 0; text += length)
        columns += point < 0 ? 1 : utf8proc_charwidth(point);
    return columns;
}

/* ------------------------------------------------------------------ fitting */

typedef struct layout {
    const cli_glyphs *g;
    int columns, lines; /* limits */
} layout;

static double gap_before(const layout *l, size_t atom)
{
    return atom < l->g->n_atoms ? l->g->atoms[atom].start - l->g->atoms[atom - 1].end : long_pause;
}

/* Adds one atom to lines that are filled greedily; false when there is no room. */
static bool fill(const layout *l, const cli_atom *atom, int *line, int *column)
{
    int wanted = atom->columns + (atom->space && *column ? 1 : 0);
    if (*column + wanted <= l->columns) {
        *column += wanted;
        return true;
    }
    *column = atom->columns;
    return ++*line < l->lines;
}

/* End of the longest cue that begins with atom `first`. */
static size_t longest_cue(const layout *l, size_t first)
{
    const cli_atom *atoms = l->g->atoms;
    int line = 0, column = 0;
    fill(l, &atoms[first], &line, &column);
    size_t end = first + 1;
    for (; end < l->g->n_atoms; end++) {
        if (gap_before(l, end) >= long_pause || 1000 * (atoms[end].end - atoms[first].start) > CLI_CUE_MS || !fill(l, &atoms[end], &line, &column))
            break;
    }
    return end;
}

/* The best place to end a cue that may reach as far as `last`: full, at a stop, at a pause. */
static size_t best_end(const layout *l, size_t first, size_t last)
{
    static const double stop_worth[] = {[CLI_NO_STOP] = 0, [CLI_CLAUSE_STOP] = 0.4, [CLI_SENTENCE_STOP] = 0.8};
    double best = -1, total = 0, filled = 0;
    size_t end = last;
    for (size_t i = first; i < last; i++)
        total += l->g->atoms[i].columns + 1;
    for (size_t i = first; i < last; i++) {
        filled += l->g->atoms[i].columns + 1;
        double worth = filled / total + stop_worth[l->g->atoms[i].stop] + 0.8 * fmin(gap_before(l, i + 1), long_pause) / long_pause;
        if (worth >= best) {
            best = worth;
            end = i + 1;
        }
    }
    return end;
}

/* ------------------------------------------------------------------ lines */

static int width(const layout *l, size_t first, size_t end)
{
    int columns = 0;
    for (size_t i = first; i < end; i++)
        columns += l->g->atoms[i].columns + (i > first && l->g->atoms[i].space ? 1 : 0);
    return columns;
}

/* Where the second line begins: `end` when one is enough, else the most even break, a stop counting as some columns. */
static size_t second_line(const layout *l, size_t first, size_t end)
{
    enum { STOP_WORTH = 24 };
    int best = INT32_MAX;
    size_t found = end;
    if (width(l, first, end) <= l->columns)
        return end;
    for (size_t i = first + 1; i < end; i++) {
        int upper = width(l, first, i), lower = width(l, i, end);
        int cost = abs(upper - lower) - STOP_WORTH * l->g->atoms[i - 1].stop;
        if (upper <= l->columns && lower <= l->columns && cost < best) {
            best = cost;
            found = i;
        }
    }
    return found;
}

static void append_line(cli_cues *cues, const layout *l, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const cli_atom *atom = &l->g->atoms[i];
        if (atom->space && i > first)
            cli_append(&cues->text, " ", 1);
        for (size_t k = atom->first; k < atom->first + atom->count; k++)
            cli_append(&cues->text, l->g->items[k].text, (size_t)l->g->items[k].length);
    }
    cli_append(&cues->text, "", 1);
}

static parley_status add_cue(cli_cues *cues, const layout *l, size_t first, size_t end, parley_error *error)
{
    if (cues->count == cues->room) {
        size_t room = cues->room ? 2 * cues->room : 64;
        cli_cue *items = realloc(cues->items, room * sizeof *items);
        if (!items)
            return cli_fail_memory(error);
        cues->items = items;
        cues->room = room;
    }
    cli_cue *cue = &cues->items[cues->count++];
    size_t second = second_line(l, first, end);
    *cue = (cli_cue){llround(1000 * l->g->atoms[first].start), llround(1000 * l->g->atoms[end - 1].end), {cues->text.size, 0}, 1};
    append_line(cues, l, first, second);
    if (second < end) {
        cue->n_lines = 2;
        cue->lines[1] = cues->text.size;
        append_line(cues, l, second, end);
    }
    return cues->text.failed ? cli_fail_memory(error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ cues */

static parley_status add_segment(cli_cues *cues, const cli_segment *segment, int most_lines, parley_error *error)
{
    cli_glyphs glyphs;
    parley_status status = cli_glyphs_make(segment, CLI_COLUMNS, CLI_WIDE_COLUMNS, &glyphs, error);
    layout l = {&glyphs, glyphs.wide ? CLI_WIDE_COLUMNS : CLI_COLUMNS, most_lines};
    for (size_t first = 0, end; status == PARLEY_OK && first < glyphs.n_atoms; first = end) {
        end = best_end(&l, first, longest_cue(&l, first));
        status = add_cue(cues, &l, first, end, error);
    }
    cli_glyphs_free(&glyphs);
    return status;
}

/* End of a cue in [start, end) before one at `next`: not too long, nor gone before it is read where the sound goes on. */
static int64_t settled_end(const cli_cue *cue, int64_t next, int64_t sound)
{
    int64_t end = cue->end, readable = cue->start + SHORTEST_MS;
    if (readable > sound)
        readable = sound;
    if (end < readable)
        end = readable;
    if (end > cue->start + CLI_CUE_MS)
        end = cue->start + CLI_CUE_MS;
    if (end > next)
        end = next;
    return end > cue->start ? end : cue->start + 1;
}

/* Order, no overlap, no cue without length. */
static void settle_times(cli_cues *cues, int64_t sound)
{
    int64_t before = 0;
    for (size_t i = 0; i < cues->count; i++) {
        cli_cue *cue = &cues->items[i];
        if (cue->start < before)
            cue->start = before;
        before = cue->end = settled_end(cue, i + 1 < cues->count ? cues->items[i + 1].start : INT64_MAX, sound);
    }
}

parley_status cli_cues_make(const cli_transcript *transcript, int most_lines, cli_cues *cues, parley_error *error)
{
    *cues = (cli_cues){0};
    for (size_t i = 0; i < transcript->n_segments; i++)
        CLI_TRY(add_segment(cues, &transcript->segments[i], most_lines, error));
    settle_times(cues, llround(1000 * transcript->audio_seconds));
    return PARLEY_OK;
}

void cli_cues_free(cli_cues *cues)
{
    cli_buffer_free(&cues->text);
    free(cues->items);
    *cues = (cli_cues){0};
}
