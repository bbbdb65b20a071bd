#include "text/strings.h"

#include "base/checked.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <string.h>
#include <utf8proc.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

typedef struct range {
    uint32_t first, last;
} range;

static const range ideographs[] = {
    {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF},
};

static const range spaceless[] = {
    {0x0E00, 0x0EFF},   /* Thai, Lao */
    {0x1780, 0x17FF},   /* Khmer */
    {0x19E0, 0x19FF},   /* Khmer symbols */
    {0x2E80, 0x312F},   /* radicals, punctuation, kana, Bopomofo */
    {0x3190, 0x9FFF},   /* Kanbun to unified ideographs */
    {0xF900, 0xFAFF},   /* compatibility ideographs */
    {0xFE30, 0xFE4F},   /* vertical forms */
    {0xFF00, 0xFF9F},   /* wide forms, half-width katakana */
    {0xFFE0, 0xFFE6},   /* wide signs */
    {0x1AFF0, 0x1B16F}, /* kana supplements */
    {0x20000, 0x3FFFF}, /* ideographic planes */
};

/* Upper case of more than one character (Unicode's SpecialCasing, without conditions). Ascending. */
static const struct {
    uint32_t point, upper[PL_CASE_MAX];
} long_upper[] = {
    {0x00DF, {0x0053, 0x0053}},         {0x0149, {0x02BC, 0x004E}},         {0x01F0, {0x004A, 0x030C}},         {0x0390, {0x0399, 0x0308, 0x0301}},
    {0x03B0, {0x03A5, 0x0308, 0x0301}}, {0x0587, {0x0535, 0x0552}},         {0x1E96, {0x0048, 0x0331}},         {0x1E97, {0x0054, 0x0308}},
    {0x1E98, {0x0057, 0x030A}},         {0x1E99, {0x0059, 0x030A}},         {0x1E9A, {0x0041, 0x02BE}},         {0x1F50, {0x03A5, 0x0313}},
    {0x1F52, {0x03A5, 0x0313, 0x0300}}, {0x1F54, {0x03A5, 0x0313, 0x0301}}, {0x1F56, {0x03A5, 0x0313, 0x0342}}, {0x1F80, {0x1F08, 0x0399}},
    {0x1F81, {0x1F09, 0x0399}},         {0x1F82, {0x1F0A, 0x0399}},         {0x1F83, {0x1F0B, 0x0399}},         {0x1F84, {0x1F0C, 0x0399}},
    {0x1F85, {0x1F0D, 0x0399}},         {0x1F86, {0x1F0E, 0x0399}},         {0x1F87, {0x1F0F, 0x0399}},         {0x1F88, {0x1F08, 0x0399}},
    {0x1F89, {0x1F09, 0x0399}},         {0x1F8A, {0x1F0A, 0x0399}},         {0x1F8B, {0x1F0B, 0x0399}},         {0x1F8C, {0x1F0C, 0x0399}},
    {0x1F8D, {0x1F0D, 0x0399}},         {0x1F8E, {0x1F0E, 0x0399}},         {0x1F8F, {0x1F0F, 0x0399}},         {0x1F90, {0x1F28, 0x0399}},
    {0x1F91, {0x1F29, 0x0399}},         {0x1F92, {0x1F2A, 0x0399}},         {0x1F93, {0x1F2B, 0x0399}},         {0x1F94, {0x1F2C, 0x0399}},
    {0x1F95, {0x1F2D, 0x0399}},         {0x1F96, {0x1F2E, 0x0399}},         {0x1F97, {0x1F2F, 0x0399}},         {0x1F98, {0x1F28, 0x0399}},
    {0x1F99, {0x1F29, 0x0399}},         {0x1F9A, {0x1F2A, 0x0399}},         {0x1F9B, {0x1F2B, 0x0399}},         {0x1F9C, {0x1F2C, 0x0399}},
    {0x1F9D, {0x1F2D, 0x0399}},         {0x1F9E, {0x1F2E, 0x0399}},         {0x1F9F, {0x1F2F, 0x0399}},         {0x1FA0, {0x1F68, 0x0399}},
    {0x1FA1, {0x1F69, 0x0399}},         {0x1FA2, {0x1F6A, 0x0399}},         {0x1FA3, {0x1F6B, 0x0399}},         {0x1FA4, {0x1F6C, 0x0399}},
    {0x1FA5, {0x1F6D, 0x0399}},         {0x1FA6, {0x1F6E, 0x0399}},         {0x1FA7, {0x1F6F, 0x0399}},         {0x1FA8, {0x1F68, 0x0399}},
    {0x1FA9, {0x1F69, 0x0399}},         {0x1FAA, {0x1F6A, 0x0399}},         {0x1FAB, {0x1F6B, 0x0399}},         {0x1FAC, {0x1F6C, 0x0399}},
    {0x1FAD, {0x1F6D, 0x0399}},         {0x1FAE, {0x1F6E, 0x0399}},         {0x1FAF, {0x1F6F, 0x0399}},         {0x1FB2, {0x1FBA, 0x0399}},
    {0x1FB3, {0x0391, 0x0399}},         {0x1FB4, {0x0386, 0x0399}},         {0x1FB6, {0x0391, 0x0342}},         {0x1FB7, {0x0391, 0x0342, 0x0399}},
    {0x1FBC, {0x0391, 0x0399}},         {0x1FC2, {0x1FCA, 0x0399}},         {0x1FC3, {0x0397, 0x0399}},         {0x1FC4, {0x0389, 0x0399}},
    {0x1FC6, {0x0397, 0x0342}},         {0x1FC7, {0x0397, 0x0342, 0x0399}}, {0x1FCC, {0x0397, 0x0399}},         {0x1FD2, {0x0399, 0x0308, 0x0300}},
    {0x1FD3, {0x0399, 0x0308, 0x0301}}, {0x1FD6, {0x0399, 0x0342}},         {0x1FD7, {0x0399, 0x0308, 0x0342}}, {0x1FE2, {0x03A5, 0x0308, 0x0300}},
    {0x1FE3, {0x03A5, 0x0308, 0x0301}}, {0x1FE4, {0x03A1, 0x0313}},         {0x1FE6, {0x03A5, 0x0342}},         {0x1FE7, {0x03A5, 0x0308, 0x0342}},
    {0x1FF2, {0x1FFA, 0x0399}},         {0x1FF3, {0x03A9, 0x0399}},         {0x1FF4, {0x038F, 0x0399}},         {0x1FF6, {0x03A9, 0x0342}},
    {0x1FF7, {0x03A9, 0x0342, 0x0399}}, {0x1FFC, {0x03A9, 0x0399}},         {0xFB00, {0x0046, 0x0046}},         {0xFB01, {0x0046, 0x0049}},
    {0xFB02, {0x0046, 0x004C}},         {0xFB03, {0x0046, 0x0046, 0x0049}}, {0xFB04, {0x0046, 0x0046, 0x004C}}, {0xFB05, {0x0053, 0x0054}},
    {0xFB06, {0x0053, 0x0054}},         {0xFB13, {0x0544, 0x0546}},         {0xFB14, {0x0544, 0x0535}},         {0xFB15, {0x0544, 0x053B}},
    {0xFB16, {0x054E, 0x0546}},         {0xFB17, {0x0544, 0x053D}},
};

static bool in_ranges(const range *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

bool pl_is_ideograph(uint32_t point)
{
    return in_ranges(ideographs, COUNT(ideographs), point);
}

bool pl_is_spaceless(uint32_t point)
{
    return in_ranges(spaceless, COUNT(spaceless), point);
}

bool pl_is_blank(uint32_t point)
{
    return (pl_kind(point) & PL_SPACE) != 0 || (point >= 0x1C && point <= 0x1F);
}

bool pl_is_line_end(uint32_t point)
{
    return (point >= 0x0A && point <= 0x0D) || (point >= 0x1C && point <= 0x1E) || point == 0x85 || point == 0x2028 || point == 0x2029;
}

static pl_span behind(pl_span text, size_t at)
{
    return (pl_span){text.text + at, text.length - at};
}

/* Offset of the first character from `at` on that is (not) blank. */
static size_t skip(pl_span text, size_t at, bool blank)
{
    for (size_t length; at < text.length; at += length)
        if (pl_is_blank(pl_utf8_get(text.text + at, &length)) != blank)
            break;
    return at;
}

pl_span pl_trim(pl_span text)
{
    size_t begin = skip(text, 0, true), end = text.length, length;
    while (end > begin) {
        size_t at = end - 1;
        while (at > begin && (text.text[at] & 0xC0) == 0x80)
            at--;
        if (!pl_is_blank(pl_utf8_get(text.text + at, &length)))
            break;
        end = at;
    }
    return text.length ? (pl_span){text.text + begin, end - begin} : text;
}

bool pl_next_line(pl_span *rest, pl_span *line)
{
    size_t at = 0, length = 0;
    uint32_t point = 0;
    if (rest->length == 0)
        return false;
    for (; at < rest->length; at += length)
        if (pl_is_line_end(point = pl_utf8_get(rest->text + at, &length)))
            break;
    *line = (pl_span){rest->text, at};
    if (at < rest->length)
        at += length;
    if (point == '\r' && at < rest->length && rest->text[at] == '\n')
        at++;
    *rest = behind(*rest, at);
    return true;
}

bool pl_next_word(pl_span *rest, pl_span *word)
{
    size_t begin = skip(*rest, 0, true), end = skip(*rest, begin, false);
    if (begin == end)
        return false;
    *word = (pl_span){rest->text + begin, end - begin};
    *rest = behind(*rest, end);
    return true;
}

static char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool pl_begins_with(pl_span text, const char *start)
{
    size_t length = strlen(start);
    if (text.length < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (ascii_lower(text.text[i]) != start[i])
            return false;
    return true;
}

size_t pl_upper(uint32_t point, uint32_t out[PL_CASE_MAX])
{
    size_t low = 0, high = COUNT(long_upper);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > long_upper[middle].point)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == COUNT(long_upper) || long_upper[low].point != point) {
        out[0] = (uint32_t)utf8proc_toupper((utf8proc_int32_t)point);
        return 1;
    }
    size_t count = 0;
    for (; count < PL_CASE_MAX && long_upper[low].upper[count]; count++)
        out[count] = long_upper[low].upper[count];
    return count;
}

size_t pl_lower(uint32_t point, uint32_t out[PL_CASE_MAX])
{
    if (point == 0x130) { /* the only one that becomes two: i and a dot above */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)point);
    return 1;
}

/* The lowered characters of a text, one after the other. */
typedef struct lowered {
    pl_span rest;
    uint32_t points[PL_CASE_MAX];
    size_t at, count;
} lowered;

static bool next_lowered(lowered *l, uint32_t *point)
{
    if (l->at == l->count) {
        size_t length;
        if (l->rest.length == 0)
            return false;
        l->count = pl_lower(pl_utf8_get(l->rest.text, &length), l->points);
        l->at = 0;
        l->rest = (pl_span){l->rest.text + length, l->rest.length - length};
    }
    *point = l->points[l->at++];
    return true;
}

bool pl_same_lower(pl_span a, pl_span b)
{
    lowered x = {.rest = a}, y = {.rest = b};
    uint32_t p = 0, q = 0;
    bool more_x, more_y;
    do {
        more_x = next_lowered(&x, &p);
        more_y = next_lowered(&y, &q);
    } while (more_x && more_y && p == q);
    return !more_x && !more_y;
}

parley_status pl_code_points(pl_arena *arena, pl_span text, const uint32_t **points, size_t *count, parley_error *error)
{
    size_t valid = pl_utf8_check(text.text, text.length), n = 0, length;
    if (valid != text.length)
        return pl_fail_at(error, PARLEY_FORMAT, valid, "text: expected UTF-8, got the byte 0x%02X at offset %zu", (unsigned char)text.text[valid],
                          valid);
    uint32_t *out = pl_arena_alloc_raw(arena, text.length, sizeof *out);
    if (!out)
        return pl_fail_memory(error, "the characters of a text");
    for (size_t at = 0; at < text.length; at += length)
        out[n++] = pl_utf8_get(text.text + at, &length);
    *points = out;
    *count = n;
    return PARLEY_OK;
}

parley_status pl_from_code_points(pl_arena *arena, const uint32_t *points, size_t count, pl_span *text, parley_error *error)
{
    char *out = pl_arena_alloc_raw(arena, count, PL_UTF8_MAX);
    size_t length = 0;
    if (!out)
        return pl_fail_memory(error, "a text");
    for (size_t i = 0; i < count; i++)
        length += pl_utf8_put(points[i], out + length);
    *text = (pl_span){out, length};
    return PARLEY_OK;
}

/* Length of the bytes at `at`, where no character stands, that one U+FFFD stands for: as many as begin some character. */
static size_t broken(pl_span bytes, size_t at)
{
    unsigned char first = (unsigned char)bytes.text[at];
    size_t wanted = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2, n = 1;
    if (first < 0xC2 || first > 0xF4)
        return 1;
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80, high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (; n < wanted - 1 && at + n < bytes.length; n++, low = 0x80, high = 0xBF) {
        unsigned char next = (unsigned char)bytes.text[at + n];
        if (next < low || next > high)
            break;
    }
    return n;
}

parley_status pl_utf8_lossy(pl_arena *arena, pl_span bytes, pl_span *text, parley_error *error)
{
    size_t valid = pl_utf8_check(bytes.text, bytes.length), length = 0, most;
    *text = bytes;
    if (valid == bytes.length)
        return PARLEY_OK;
    char *out = pl_mul_size(bytes.length, 3, &most) ? pl_arena_alloc_raw(arena, most, 1) : NULL;
    if (!out)
        return pl_fail_memory(error, "a text");
    for (size_t at = 0; at < bytes.length;) {
        valid = pl_utf8_check(bytes.text + at, bytes.length - at);
        if (valid)
            memcpy(out + length, bytes.text + at, valid);
        length += valid;
        at += valid;
        if (at < bytes.length) {
            length += pl_utf8_put(0xFFFD, out + length);
            at += broken(bytes, at);
        }
    }
    *text = (pl_span){out, length};
    return PARLEY_OK;
}
