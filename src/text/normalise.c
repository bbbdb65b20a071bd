#include "text/normalise.h"

#include "text/utf8.h"

#include <string.h>
#include <utf8proc.h>

typedef struct range {
    uint32_t first, last;
} range;

/* Ascending; test_normalise holds every code point of them against utf8proc. */
static const range inert[] = {
    {0x0000, 0x02FF}, {0x03A3, 0x0482}, {0x0488, 0x052F}, {0x0671, 0x06D5},   {0x10D0, 0x1160},   {0x1E00, 0x1F15},
    {0x2002, 0x2064}, {0x20A0, 0x20C0}, {0x212C, 0x218B}, {0x2190, 0x2328},   {0x232B, 0x2426},   {0x2460, 0x2ADB},
    {0x3000, 0x3029}, {0x3041, 0x3096}, {0x309B, 0x30FF}, {0x3131, 0x318E},   {0x3190, 0x31E3},   {0x3220, 0xA48C},
    {0xAC00, 0xD7A3}, {0xE000, 0xF8FF}, {0xFF01, 0xFFBE}, {0x1F300, 0x1F6D7}, {0x1F900, 0x1FA53}, {0x20000, 0x2A6DF},
};

/* Marks that came with Unicode 10 to 15. The reference's NFC has the combining classes of Unicode 9, so it leaves these where they are, as starters
 * that join with nothing, and its ids are what counts. Ascending. */
static const range late_marks[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x089F},   {0x08CA, 0x08D3},   {0x09FE, 0x09FE},   {0x0C3C, 0x0C3C},   {0x0D3B, 0x0D3C},
    {0x0EBA, 0x0EBA},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x10D24, 0x10D27},
    {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
    {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
    {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42},
    {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool in_ranges(const range *ranges, size_t count, uint32_t point)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && point >= ranges[low].first;
}

bool pl_nfc_late_mark(uint32_t point)
{
    return in_ranges(late_marks, COUNT(late_marks), point);
}

bool pl_nfc_inert(uint32_t point)
{
    return point <= inert[0].last || in_ranges(inert, COUNT(inert), point) || pl_nfc_late_mark(point);
}

void pl_normaliser_init(pl_normaliser *normaliser, const parley_allocator *allocator)
{
    pl_buffer empty = {.allocator = *allocator};
    *normaliser = (pl_normaliser){empty, empty, empty};
}

void pl_normaliser_free(pl_normaliser *normaliser)
{
    pl_buffer_free(&normaliser->points);
    pl_buffer_free(&normaliser->order);
    pl_buffer_free(&normaliser->text);
}

/* End of the inert characters from `at` on; `*last` is where those end that nothing behind them can join with: before the last one, unless that is a
 * late mark. */
static size_t inert_run(pl_span text, size_t at, size_t *last)
{
    size_t length;
    *last = at;
    while (at < text.length) {
        if (!pl_nfc_inert(pl_utf8_get(text.text + at, &length)))
            break;
        *last = at;
        at += length;
    }
    if (*last < at && pl_nfc_late_mark(pl_utf8_get(text.text + *last, &length)))
        *last = at;
    return at;
}

static size_t other_run(pl_span text, size_t at)
{
    while (at < text.length) {
        size_t length;
        if (pl_nfc_inert(pl_utf8_get(text.text + at, &length)))
            break;
        at += length;
    }
    return at;
}

/* Full canonical decomposition, in text order. */
static parley_status decompose(pl_normaliser *n, pl_span text, size_t *count, parley_error *error)
{
    enum { LONGEST = 18 };
    *count = 0;
    for (size_t at = 0, length; at < text.length; at += length) {
        uint32_t point = pl_utf8_get(text.text + at, &length);
        PL_TRY(pl_buffer_reserve(&n->points, *count + LONGEST, sizeof(int32_t), *count * sizeof(int32_t), error));
        int32_t *points = n->points.data;
        int boundclass = 0;
        utf8proc_ssize_t made =
            utf8proc_decompose_char((utf8proc_int32_t)point, points + *count, LONGEST, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundclass);
        if (made <= 0 || made > LONGEST)
            return pl_fail(error, PARLEY_INTERNAL, "no decomposition of U+%04X: %s", (unsigned)point, utf8proc_errmsg(made));
        *count += (size_t)made;
    }
    return PARLEY_OK;
}

static unsigned class_of(int32_t point)
{
    return (unsigned)utf8proc_get_property(point)->combining_class & 0xFF;
}

static void insertion_sort(int32_t *points, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int32_t point = points[i];
        unsigned rank = class_of(point);
        size_t k = i;
        for (; k > 0 && class_of(points[k - 1]) > rank; k--)
            points[k] = points[k - 1];
        points[k] = point;
    }
}

/* Stable, by combining class; by counting, so that a megabyte of marks takes no quadratic time. */
static parley_status counting_sort(pl_normaliser *n, int32_t *points, size_t count, parley_error *error)
{
    size_t starts[257] = {0};
    PL_TRY(pl_buffer_reserve(&n->order, count, sizeof(int32_t), 0, error));
    int32_t *sorted = n->order.data;
    for (size_t i = 0; i < count; i++)
        starts[class_of(points[i]) + 1]++;
    for (size_t c = 1; c < 257; c++)
        starts[c] += starts[c - 1];
    for (size_t i = 0; i < count; i++)
        sorted[starts[class_of(points[i])]++] = points[i];
    memcpy(points, sorted, count * sizeof *points);
    return PARLEY_OK;
}

/* Canonical ordering: each run of marks by combining class. */
static parley_status reorder(pl_normaliser *n, size_t count, parley_error *error)
{
    enum { FEW = 24 };
    int32_t *points = n->points.data;
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && class_of(points[end]) != 0)
            end++;
        if (end - i > FEW)
            PL_TRY(counting_sort(n, points + i, end - i, error));
        else
            insertion_sort(points + i, end - i);
        i = end + 1;
    }
    return PARLEY_OK;
}

static parley_status append(pl_normaliser *n, size_t *length, pl_span text, parley_error *error)
{
    PL_TRY(pl_buffer_reserve(&n->text, *length + text.length, 1, *length, error));
    if (text.length)
        memcpy((char *)n->text.data + *length, text.text, text.length);
    *length += text.length;
    return PARLEY_OK;
}

/* Appends NFC of a stretch that begins and ends where characters cannot join. */
static parley_status append_composed(pl_normaliser *n, size_t *length, pl_span text, parley_error *error)
{
    size_t count;
    PL_TRY(decompose(n, text, &count, error));
    PL_TRY(reorder(n, count, error));
    utf8proc_ssize_t composed = utf8proc_normalize_utf32(n->points.data, (utf8proc_ssize_t)count, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (composed < 0 || (size_t)composed > count)
        return pl_fail(error, PARLEY_INTERNAL, "composition of characters failed: %s", utf8proc_errmsg(composed));
    PL_TRY(pl_buffer_reserve(&n->text, *length + (size_t)composed * PL_UTF8_MAX, 1, *length, error));
    const int32_t *points = n->points.data;
    for (utf8proc_ssize_t i = 0; i < composed; i++)
        *length += pl_utf8_put((uint32_t)points[i], (char *)n->text.data + *length);
    return PARLEY_OK;
}

parley_status pl_nfc(pl_normaliser *normaliser, pl_span text, pl_span *out, parley_error *error)
{
    size_t last, length = 0, end = inert_run(text, 0, &last);
    *out = text;
    if (end == text.length)
        return PARLEY_OK;
    for (size_t at = 0; at < text.length;) {
        end = inert_run(text, at, &last);
        if (end == text.length)
            last = end;
        PL_TRY(append(normaliser, &length, (pl_span){text.text + at, last - at}, error));
        at = other_run(text, end);
        if (last < at)
            PL_TRY(append_composed(normaliser, &length, (pl_span){text.text + last, at - last}, error));
    }
    *out = (pl_span){normaliser->text.data, length};
    return PARLEY_OK;
}
