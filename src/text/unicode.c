#include "text/unicode.h"

#include <utf8proc.h>

/* Kinds of ASCII: space, line end, number, upper and lower case. */
#define S PL_SPACE
#define E (PL_SPACE | PL_LINE_END)
#define N PL_NUMBER
#define U PL_CAPITAL
#define L PL_SMALL
const unsigned char pl_ascii_kinds[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, S, E, S, S, E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* control */
    S, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, N, N, N, N, N, N, N, N, N, N, 0, 0, 0, 0, 0, 0, /* space .. ? */
    0, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, 0, 0, 0, 0, 0, /* @ .. _ */
    0, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, 0, 0, /* ` .. delete */
};
#undef S
#undef E
#undef N
#undef U
#undef L

static const unsigned char category_kinds[] = {
    [UTF8PROC_CATEGORY_LU] = PL_CAPITAL, [UTF8PROC_CATEGORY_LT] = PL_CAPITAL, [UTF8PROC_CATEGORY_LL] = PL_SMALL,  [UTF8PROC_CATEGORY_LM] = PL_LETTER,
    [UTF8PROC_CATEGORY_LO] = PL_LETTER,  [UTF8PROC_CATEGORY_MN] = PL_MARK,    [UTF8PROC_CATEGORY_MC] = PL_MARK,   [UTF8PROC_CATEGORY_ME] = PL_MARK,
    [UTF8PROC_CATEGORY_ND] = PL_NUMBER,  [UTF8PROC_CATEGORY_NL] = PL_NUMBER,  [UTF8PROC_CATEGORY_NO] = PL_NUMBER, [UTF8PROC_CATEGORY_ZS] = PL_SPACE,
    [UTF8PROC_CATEGORY_ZL] = PL_SPACE,   [UTF8PROC_CATEGORY_ZP] = PL_SPACE,   [UTF8PROC_CATEGORY_CO] = 0,
};

/* Characters that are new in Unicode 15.1 and 16, which the reference's splitter knows and utf8proc 2.8 does not. Ascending. */
static const struct {
    uint32_t first, last;
    unsigned char kind;
} later[] = {
    {0x897, 0x897, PL_MARK},       {0x1C89, 0x1C89, PL_CAPITAL},  {0x1C8A, 0x1C8A, PL_SMALL},    {0xA7CB, 0xA7CC, PL_CAPITAL},
    {0xA7CD, 0xA7CD, PL_SMALL},    {0xA7DA, 0xA7DA, PL_CAPITAL},  {0xA7DB, 0xA7DB, PL_SMALL},    {0xA7DC, 0xA7DC, PL_CAPITAL},
    {0x105C0, 0x105F3, PL_LETTER}, {0x10D40, 0x10D49, PL_NUMBER}, {0x10D4A, 0x10D4F, PL_LETTER}, {0x10D50, 0x10D65, PL_CAPITAL},
    {0x10D69, 0x10D6D, PL_MARK},   {0x10D6F, 0x10D6F, PL_LETTER}, {0x10D70, 0x10D85, PL_SMALL},  {0x10EC2, 0x10EC4, PL_LETTER},
    {0x10EFC, 0x10EFC, PL_MARK},   {0x11380, 0x11389, PL_LETTER}, {0x1138B, 0x1138B, PL_LETTER}, {0x1138E, 0x1138E, PL_LETTER},
    {0x11390, 0x113B5, PL_LETTER}, {0x113B7, 0x113B7, PL_LETTER}, {0x113B8, 0x113C0, PL_MARK},   {0x113C2, 0x113C2, PL_MARK},
    {0x113C5, 0x113C5, PL_MARK},   {0x113C7, 0x113CA, PL_MARK},   {0x113CC, 0x113D0, PL_MARK},   {0x113D1, 0x113D1, PL_LETTER},
    {0x113D2, 0x113D2, PL_MARK},   {0x113D3, 0x113D3, PL_LETTER}, {0x113E1, 0x113E2, PL_MARK},   {0x116D0, 0x116E3, PL_NUMBER},
    {0x11BC0, 0x11BE0, PL_LETTER}, {0x11BF0, 0x11BF9, PL_NUMBER}, {0x11F5A, 0x11F5A, PL_MARK},   {0x13460, 0x143FA, PL_LETTER},
    {0x16100, 0x1611D, PL_LETTER}, {0x1611E, 0x1612F, PL_MARK},   {0x16130, 0x16139, PL_NUMBER}, {0x16D40, 0x16D6C, PL_LETTER},
    {0x16D70, 0x16D79, PL_NUMBER}, {0x18CFF, 0x18CFF, PL_LETTER}, {0x1CCF0, 0x1CCF9, PL_NUMBER}, {0x1E5D0, 0x1E5ED, PL_LETTER},
    {0x1E5EE, 0x1E5EF, PL_MARK},   {0x1E5F0, 0x1E5F0, PL_LETTER}, {0x1E5F1, 0x1E5FA, PL_NUMBER}, {0x2EBF0, 0x2EE5D, PL_LETTER},
};

static unsigned later_kind(uint32_t point)
{
    size_t low = 0, high = sizeof later / sizeof later[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > later[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof later / sizeof later[0] && point >= later[low].first ? later[low].kind : 0;
}

unsigned pl_other_kind(uint32_t point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    if (category == UTF8PROC_CATEGORY_CN)
        return later_kind(point);
    if (point == 0x85) /* next line: a control character, but White_Space */
        return PL_SPACE;
    return (size_t)category < sizeof category_kinds ? category_kinds[category] : 0;
}
