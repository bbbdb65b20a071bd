/* The word splitters against the regular expressions of the specification, run by PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer_fixture.h"

#include <pcre2.h>

#include "text/split.h"
#include "text/unicode.h"

/* \s of the reference is White_Space; PCRE2's has U+180E besides, so the class is written out. */
#define SPACES     "\\x{9}-\\x{d}\\x{20}\\x{85}\\p{Z}"
#define UPPER      "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER      "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define PREFIX     "[^\\r\\n\\p{L}\\p{N}]?"
#define REST(tail) "\\p{N}| ?[^" SPACES "\\p{L}\\p{N}]+[\\r\\n" tail "]*|[" SPACES "]*[\\r\\n]+|[" SPACES "]+(?![^" SPACES "])|[" SPACES "]+"

static const char *const patterns[] = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" PREFIX "\\p{L}+|" REST(""),
    PREFIX UPPER "*" LOWER "+|" PREFIX UPPER "+" LOWER "*|" REST("/"),
};

/* Of each kind that the expressions tell apart, and what looks like one of another; all assigned before Unicode 14, PCRE2's version. */
static const uint32_t points[] = {
    'a',    'b',    's',    'S',    't',    'T',     'r',     'e',     'E',     'v',     'm',     'M',     'l',      'L',    'd',     'D',
    'x',    'Z',    '0',    '9',    ' ',    ' ',     ' ',     '\n',    '\r',    '\t',    '\v',    '\f',    '\'',     '\'',   '\'',    '/',
    '/',    '.',    ',',    '-',    '#',    '<',     '_',     0,       0x1C,    0x1F,    0x7F,    0x85,    0xA0,     0xAA,   0xAD,    0xB2,
    0xBD,   0xDF,   0xE9,   0xC9,   0x17F,  0x1C5,   0x1C8,   0x2B0,   0x2BC,   0x2C2,   0x300,   0x301,   0x345,    0x391,  0x3B1,   0x416,
    0x436,  0x488,  0x5D0,  0x5B0,  0x627,  0x64B,   0x660,   0x903,   0x915,   0x93C,   0x966,   0xE01,   0xE33,    0xE49,  0x1100,  0x1680,
    0x16EE, 0x180E, 0x1E9E, 0x1F88, 0x2000, 0x2007,  0x200A,  0x200B,  0x200D,  0x2019,  0x2028,  0x2029,  0x202F,   0x205F, 0x2060,  0x20DD,
    0x212A, 0x2167, 0x2170, 0x24B6, 0x2460, 0x3000,  0x3005,  0x3007,  0x3042,  0x3099,  0x4E2D,  0xA7F7,  0xAC00,   0xE000, 0xFB00,  0xFE0F,
    0xFEFF, 0xFF11, 0xFF21, 0xFFFD, 0xFFFE, 0x10400, 0x10428, 0x1D400, 0x1F600, 0x1F3FB, 0x20000, 0xE0100, 0x10FFFF, 0x378,  0x50005,
};

typedef struct splitters {
    pcre2_code *codes[2];
    pcre2_match_data *match;
} splitters;

static int set_up(void **state)
{
    static splitters s;
    for (int i = 0; i < 2; i++) {
        int number;
        PCRE2_SIZE offset;
        s.codes[i] = pcre2_compile((PCRE2_SPTR)patterns[i], PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &number, &offset, NULL);
        assert_non_null(s.codes[i]);
    }
    s.match = pcre2_match_data_create(1, NULL);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    splitters *s = *state;
    pcre2_match_data_free(s->match);
    pcre2_code_free(s->codes[0]);
    pcre2_code_free(s->codes[1]);
    return 0;
}

static void compare(const splitters *s, int splitter, pl_span text)
{
    for (size_t at = 0; at < text.length;) {
        int found = pcre2_match(s->codes[splitter], (PCRE2_SPTR)text.text, text.length, at, PCRE2_ANCHORED, s->match, NULL);
        assert_int_equal(found, 1); /* the expressions leave nothing out */
        size_t expected = pcre2_get_ovector_pointer(s->match)[1], end = pl_split_next((parley_splitter)splitter, text, at);
        if (end != expected) {
            for (size_t i = 0, n; i < text.length; i += n)
                print_error("%s%X", i == at ? " |" : " ", (unsigned)pl_utf8_get(text.text + i, &n));
            fail_msg("splitter %d: piece at %zu ends at %zu, expected %zu", splitter, at, end, expected);
        }
        at = end;
    }
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void random_strings(void **state)
{
    enum { ROUNDS = 40000, LONGEST = 24 };
    const size_t count = sizeof points / sizeof points[0];
    uint64_t seed = 20261130;
    for (int round = 0; round < ROUNDS; round++) {
        char text[LONGEST * PL_UTF8_MAX];
        size_t length = 0, characters = 1 + next_random(&seed) % LONGEST;
        size_t span = round % 3 ? count : 42; /* a third in ASCII alone, where contractions and line ends meet */
        for (size_t i = 0; i < characters; i++)
            length += pl_utf8_put(points[next_random(&seed) % span], text + length);
        for (int splitter = 0; splitter < 2; splitter++)
            compare(*state, splitter, (pl_span){text, length});
    }
}

/* All pairs of the points between two letters, and alone. */
static void all_pairs(void **state)
{
    const size_t count = sizeof points / sizeof points[0];
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++) {
            char text[2 + 2 * PL_UTF8_MAX];
            size_t length = 1;
            text[0] = 'q';
            length += pl_utf8_put(points[a], text + length);
            length += pl_utf8_put(points[b], text + length);
            text[length++] = 'q';
            for (int splitter = 0; splitter < 2; splitter++) {
                compare(*state, splitter, (pl_span){text, length});
                compare(*state, splitter, (pl_span){text + 1, length - 2});
            }
        }
}

/* Case folding reaches beyond ASCII once: the long s. */
static void contractions_ignore_case(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t end;
    } rows[] = {{"'s", 2},  {"'S", 2}, {"'\xC5\xBF", 3},     {"'\xC5\xBFt", 3}, {"'t", 2},  {"'re", 3}, {"'rE", 3},
                {"'VE", 3}, {"'m", 2}, {"'lL", 3},           {"'d", 2},         {"'sx", 2}, {"'rx", 3}, {"'lx", 3},
                {"'l", 2},  {"'", 1},  {"'\xE2\x84\xAA", 4}, {"'xs", 3},        {"''s", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(pl_split_next(PARLEY_SPLITTER_QWEN2, (pl_span){rows[i].text, strlen(rows[i].text)}, 0), rows[i].end);
}

/* White_Space to the last character. */
static void spaces_are_white_space(void **state)
{
    (void)state;
    static const uint32_t spaces[] = {0x9,    0xA,    0xB,    0xC,    0xD,    0x20,   0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003,
                                      0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    size_t next = 0;
    for (uint32_t point = 0; point < 0x110000; point++) {
        bool expected = next < sizeof spaces / sizeof spaces[0] && spaces[next] == point;
        next += expected;
        assert_int_equal((pl_kind(point) & PL_SPACE) != 0, expected);
        assert_int_equal((pl_kind(point) & PL_LINE_END) != 0, point == '\r' || point == '\n');
    }
}

/* Numbers of code points by kind in the reference's engine (Unicode 16), counted there one by one. */
static void kinds_of_all_code_points(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        int count;
    } rows[] = {{PL_ANY_LETTER, 141028}, {PL_CAPITAL, 1858 + 31}, {PL_SMALL, 2258}, {PL_LETTER, 404 + 136477}, {PL_MARK, 2501}, {PL_NUMBER, 1911}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int count = 0;
        for (uint32_t point = 0; point < 0x110000; point++)
            count += (point < 0xD800 || point > 0xDFFF) && (pl_kind(point) & rows[i].kind);
        assert_int_equal(count, rows[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_strings),           cmocka_unit_test(all_pairs),
        cmocka_unit_test(contractions_ignore_case), cmocka_unit_test(spaces_are_white_space),
        cmocka_unit_test(kinds_of_all_code_points),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
