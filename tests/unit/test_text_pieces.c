/* Texts that come in pieces: ids that stay, and places for cuts. */
#include "tokenizer_fixture.h"

#include "support/random.h"
#include "text/sentences.h"

/* ------------------------------------------------------------------ ids */

typedef struct fixture {
    vocabulary_files files;
    pl_tokenizer *tokenizer;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f.files = published_files();
    f.tokenizer = open_files(f.files);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    pl_tokenizer_close(f->tokenizer);
    free_files(f->files);
    return 0;
}

/* Of every beginning of the text: the ids are those with which the ids of the whole begin. Returns how many were known before the end. */
static size_t check_open(const pl_tokenizer *tokenizer, pl_span text, parley_splitter splitter)
{
    pl_ids whole = {.allocator = pl_default_allocator()}, open = {.allocator = pl_default_allocator()};
    assert_int_equal(pl_tokenize(tokenizer, text, (pl_tokenize_options){.splitter = splitter}, &whole, NULL), PARLEY_OK);
    for (size_t at = 0, length; at < text.length; at += length) {
        (void)pl_utf8_get(text.text + at, &length);
        open.count = 0;
        assert_int_equal(pl_tokenize_open(tokenizer, (pl_span){text.text, at + length}, splitter, &open, NULL), PARLEY_OK);
        assert_true(open.count <= whole.count);
        if (open.count && memcmp(open.ids, whole.ids, open.count * sizeof *open.ids) != 0)
            fail_msg("the first %zu bytes of \"%.*s\" give ids that do not stay", at + length, (int)text.length, text.text);
    }
    size_t known = open.count;
    pl_ids_free(&whole);
    pl_ids_free(&open);
    return known;
}

static void check_list(const pl_tokenizer *tokenizer, const char *name)
{
    text_vectors vectors = read_vectors(name);
    size_t known = 0;
    for (size_t i = 0; i < vectors.count; i++)
        if (vectors.items[i].text.length < 600)
            for (int s = PARLEY_SPLITTER_QWEN2; s <= PARLEY_SPLITTER_MISTRAL; s++)
                known += check_open(tokenizer, vectors.items[i].text, (parley_splitter)s);
    assert_true(known > 100);
    free_vectors(&vectors);
}

static void ids_stay(void **state)
{
    const fixture *f = *state;
    check_list(f->tokenizer, "tts_text/real.json");
    check_list(f->tokenizer, "tts_text/extra.json");
}

/* What joins with its neighbours: spaces, line ends, contractions, marks of several classes, jamo, halves of composites. */
static void ids_of_nasty_texts_stay(void **state)
{
    static const char *const parts[] = {" ",
                                        "  ",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "'",
                                        "l",
                                        "L",
                                        "re",
                                        "S",
                                        "a",
                                        "O",
                                        "1",
                                        "23",
                                        ".",
                                        ",",
                                        "/",
                                        "\"",
                                        "\xC2\xA0",
                                        "\xE3\x80\x80",
                                        "\xCC\x81",
                                        "\xCC\xA3",
                                        "\xCC\x96",
                                        "\xE0\xA7\x87",
                                        "\xE0\xA6\xBE",
                                        "\xE0\xA6\x95",
                                        "\xE1\x84\x80",
                                        "\xE1\x85\xA1",
                                        "\xE1\x86\xA8",
                                        "\xEA\xB0\x80",
                                        "\xE4\xBD\xA0",
                                        "\xE3\x80\x82",
                                        "\xC3\xA9",
                                        "\xF0\x9F\x98\x80",
                                        "\xE2\x80\x8D",
                                        "\xC5\xBF"};
    const fixture *f = *state;
    test_random r = {7};
    for (int i = 0; i < 4000; i++) {
        char text[200];
        size_t length = 0;
        for (int n = 1 + test_below(&r, 14); n > 0; n--) {
            const char *part = parts[test_below(&r, (int)(sizeof parts / sizeof parts[0]))];
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        }
        check_open(f->tokenizer, (pl_span){text, length}, i % 2 ? PARLEY_SPLITTER_MISTRAL : PARLEY_SPLITTER_QWEN2);
    }
}

/* ------------------------------------------------------------------ cuts */

/* Pieces with " | " between them. */
static void expect_cuts(const char *text, int32_t length, const char *wanted)
{
    char got[2000] = "";
    pl_span rest = {text, strlen(text)};
    pl_piece piece;
    while (pl_piece_find(rest, length, &piece)) {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s | ", (int)piece.end, rest.text);
        rest = (pl_span){rest.text + piece.next, rest.length - piece.next};
    }
    snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s", (int)rest.length, rest.text);
    assert_string_equal(got, wanted);
}

static void sentences(void **state)
{
    (void)state;
    static const struct {
        int32_t length; /* below what is before the place that is no cut, above half of what is before the cut */
        const char *text, *cuts;
    } cases[] = {
        {4, "One. Two! Three? Four", "One. | Two! | Three? | Four"},
        {4, "  One. \n Two. ", "  One. | Two. "},
        {4, "One.Two", "One.Two"},
        {11, "Hello to Dr. Smith. Bye.", "Hello to Dr. Smith. | Bye."},
        {11, "Written by J. Tolkien. Bye.", "Written by J. Tolkien. | Bye."},
        {8, "Take e.g. Nuts. Fine.", "Take e.g. Nuts. | Fine."},
        {9, "It cost 3. 50 of it. Yes.", "It cost 3. 50 of it. | Yes."},
        {12, "It was in 1999. Then", "It was in 1999. | Then"},
        {8, "\"Really?\" he said. \"Yes.\"", "\"Really?\" he said. | \"Yes.\""},
        {7, "Wait... and so. Now", "Wait... and so. | Now"},
        {5, "What?! No", "What?! | No"},
        {5, "A title\n\nThe text", "A title | The text"},
        {4, "End.\nNext", "End. | Next"},
        {6, "\u4F60\u597D\u3002\u518D\u89C1\uFF01\u662F\u5417\uFF1F\uFF01\u597D",
         "\u4F60\u597D\u3002 | \u518D\u89C1\uFF01 | \u662F\u5417\uFF1F\uFF01 | \u597D"},
        {9, "\u300C\u306F\u3044\u3002\u300D\u3068", "\u300C\u306F\u3044\u3002\u300D | \u3068"},
        {3, "\u0939\u093E\u0901\u0964 \u0928\u0939\u0940\u0902", "\u0939\u093E\u0901\u0964 | \u0928\u0939\u0940\u0902"},
        {3, "\u0646\u0639\u0645\u061F \u0644\u0627", "\u0646\u0639\u0645\u061F | \u0644\u0627"},
        {4, "\u00BFQu\u00E9? \u00A1Nada! Sr. P", "\u00BFQu\u00E9? | \u00A1Nada! | Sr. P"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_cuts(cases[i].text, cases[i].length, cases[i].cuts);
}

static void lengths(void **state)
{
    (void)state;
    expect_cuts("One. Two. Three.", 20, "One. Two. Three.");
    expect_cuts("One. Two. Three. Four.", 8, "One. Two. | Three. Four.");
    expect_cuts("one two, three four five", 6, "one two, three | four five");                     /* no clause end from 9 on: a word end from 12 */
    expect_cuts("one two three, four five six seven", 8, "one two three, | four five six seven"); /* a clause end from 12 */
    expect_cuts("abcdefghijklmnopqrstuvwxyz", 6, "abcdefghijklmnopqr | stuvwxyz");
    expect_cuts("e\u0301e\u0301e\u0301", 1, "e\u0301e\u0301 | e\u0301"); /* marks stay with their letter */
    expect_cuts("\u0E2A\u0E27\u0E31\u0E2A\u0E14\u0E35 \u0E04\u0E23\u0E31\u0E1A \u0E14\u0E35", 10,
                "\u0E2A\u0E27\u0E31\u0E2A\u0E14\u0E35 | \u0E04\u0E23\u0E31\u0E1A \u0E14\u0E35"); /* Thai: a space ends a clause */
    expect_cuts("", 1, "");
    expect_cuts("   ", 1, "   ");
}

/* The cut of a text is that of every longer text and of every shorter one that has a cut; characters are never parted. */
static void cuts_do_not_depend_on_what_follows(void **state)
{
    (void)state;
    static const char *const parts[] = {" ",      "\n",     "\n\n",   ".",      "!",      "?",      ",",          ";",      "\"",
                                        ")",      "a",      "B",      "Dr",     "3",      "word",   "J",          "\u4F60", "\u3002",
                                        "\uFF0C", "\u300D", "\u0E01", "\u0E31", "\u0301", "\u2026", "\U0001F1E9", "\u200D"};
    test_random r = {3};
    int found = 0;
    for (int i = 0; i < 20000; i++) {
        char text[300];
        size_t length = 0;
        for (int n = 1 + test_below(&r, 30); n > 0; n--) {
            const char *part = parts[test_below(&r, (int)(sizeof parts / sizeof parts[0]))];
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        }
        int32_t limit = 1 + test_below(&r, 12);
        pl_piece whole, part;
        bool any = pl_piece_find((pl_span){text, length}, limit, &whole);
        found += any;
        for (size_t at = 0, bytes; at < length; at += bytes) {
            (void)pl_utf8_get(text + at, &bytes);
            if (!pl_piece_find((pl_span){text, at + bytes}, limit, &part))
                continue;
            assert_true(any);
            assert_int_equal(part.end, whole.end);
            assert_int_equal(part.next, whole.next);
        }
        if (!any)
            continue;
        assert_true(whole.end > 0 && whole.end <= whole.next && whole.next < length);
        assert_int_equal(pl_utf8_check(text, whole.end), whole.end);
        assert_int_equal(pl_utf8_check(text, whole.next), whole.next);
    }
    assert_true(found > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_stay),
        cmocka_unit_test(ids_of_nasty_texts_stay),
        cmocka_unit_test(sentences),
        cmocka_unit_test(lengths),
        cmocka_unit_test(cuts_do_not_depend_on_what_follows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
