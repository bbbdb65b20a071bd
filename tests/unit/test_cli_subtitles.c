/* Transcripts as text files: exact ones, and rules of subtitles on random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cues.h"
#include "glyphs.h"
#include "subtitles.h"
#include "support/random.h"

static const char *write(cli_text_format format, const cli_transcript *transcript)
{
    static cli_buffer out;
    parley_error error = {0};
    cli_buffer_free(&out);
    out = (cli_buffer){0};
    assert_int_equal(cli_write_text(&out, format, transcript, &error), PARLEY_OK);
    return out.data;
}

static cli_transcript one_segment(const cli_segment *segment)
{
    return (cli_transcript){"a.wav", "English", segment->text, "stop", segment->end, segment, 1};
}

static cli_segment plain(const char *text, double start, double end)
{
    return (cli_segment){.start = start, .end = end, .text = text, .language = "", .finish_reason = "stop"};
}

static const cli_word hello_words[] = {{"Hello", 0.08, 0.4}, {"world", 0.48, 1.2}, {"5", 3725.0, 3725.5}, {"R", 3725.5, 3726}, {"D", 3726, 3727.25}};
static const cli_segment hello = {
    .start = 0, .end = 3730, .text = "Hello, world! 5 < R&D", .language = "English", .words = hello_words, .n_words = 5};

static void formats(void **state)
{
    (void)state;
    cli_transcript t = one_segment(&hello);
    assert_string_equal(write(CLI_FORMAT_TXT, &t), "Hello, world! 5 < R&D\n");
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,080 --> 00:00:01,200\nHello, world!\n\n"
                                                   "2\n01:02:05,000 --> 01:02:07,250\n5 < R&D\n\n");
    assert_string_equal(write(CLI_FORMAT_VTT, &t), "WEBVTT\n\n00:00:00.080 --> 00:00:01.200\nHello, world!\n\n"
                                                   "01:02:05.000 --> 01:02:07.250\n5 &lt; R&amp;D\n\n");
    assert_string_equal(write(CLI_FORMAT_TSV, &t), "start\tend\ttext\n80\t400\tHello\n480\t1200\tworld\n3725000\t3725500\t5\n3725500\t3726000\tR\n"
                                                   "3726000\t3727250\tD\n");
    assert_string_equal(write(CLI_FORMAT_LRC, &t), "[00:00.08]Hello, world!\n[62:05.00]5 < R&D\n");
}

static void nothing_said(void **state)
{
    (void)state;
    cli_segment silence = plain("", 0, 4);
    cli_transcript t = one_segment(&silence);
    assert_string_equal(write(CLI_FORMAT_TXT, &t), "\n");
    assert_string_equal(write(CLI_FORMAT_VTT, &t), "WEBVTT\n\n");
    assert_string_equal(write(CLI_FORMAT_TSV, &t), "start\tend\ttext\n");
    cli_buffer out = {0};
    parley_error error;
    assert_int_equal(cli_write_text(&out, CLI_FORMAT_SRT, &t, &error), PARLEY_OK);
    assert_int_equal(out.size, 0);
}

static void names(void **state)
{
    (void)state;
    static const char *const all[] = {"txt", "srt", "vtt", "tsv", "lrc"};
    cli_text_format format;
    for (int i = 0; i < 5; i++) {
        assert_true(cli_text_format_find(all[i], &format));
        assert_int_equal(format, i);
    }
    assert_false(cli_text_format_find("json", &format));
    assert_false(cli_text_format_find("", &format));
}

/* Without words the text is spread over the segment by its characters. */
static void spreads(void **state)
{
    (void)state;
    cli_segment segment = plain("abcde. fghij.", 10, 16);
    cli_transcript t = one_segment(&segment);
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:10,000 --> 00:00:16,000\nabcde. fghij.\n\n");
    segment.end = 22; /* too long for one cue */
    t.audio_seconds = 22;
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:10,000 --> 00:00:16,000\nabcde.\n\n2\n00:00:16,000 --> 00:00:22,000\nfghij.\n\n");
    assert_string_equal(write(CLI_FORMAT_TSV, &t), "start\tend\ttext\n10000\t22000\tabcde. fghij.\n");
}

static void breaks_lines(void **state)
{
    (void)state;
    cli_segment segment = plain("The quick brown fox jumps over the lazy dog, and then it goes home to sleep.", 0, 6);
    cli_transcript t = one_segment(&segment);
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,000 --> 00:00:06,000\nThe quick brown fox jumps over the lazy\n"
                                                   "dog, and then it goes home to sleep.\n\n");
    segment.text = "一二三四五六七八九十一二三四五六七八九、十一二三四五六七八。";
    assert_string_equal(write(CLI_FORMAT_SRT, &t),
                        "1\n00:00:00,000 --> 00:00:06,000\n一二三四五六七八九十一二三四五六七八九、\n十一二三四五六七八。\n\n");
    assert_string_equal(write(CLI_FORMAT_LRC, &t), "[00:00.00]一二三四五六七八九十一二三四五六七八九、\n[00:04.00]十一二三四五六七八。\n");
}

/* A word longer than a line, characters of no width, blanks and controls, an arrow. */
static void odd_texts(void **state)
{
    (void)state;
    char text[200] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "x");
    cli_segment segment = plain(text, 0, 5);
    cli_transcript t = one_segment(&segment);
    const char *srt = write(CLI_FORMAT_SRT, &t);
    assert_non_null(strstr(srt, "\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n2\n"));
    segment.text = " a\t\n\xE3\x80\x80"
                   "b\x01"
                   "e\xCC\x81 --> \xFF<i> ";
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,000 --> 00:00:05,000\na be\xCC\x81 -> <i>\n\n");
    assert_string_equal(write(CLI_FORMAT_VTT, &t), "WEBVTT\n\n00:00:00.000 --> 00:00:05.000\na be\xCC\x81 --&gt; &lt;i&gt;\n\n");
    assert_int_equal(cli_columns("a\xCC\x81\xE4\xBD\xA0\xEA\xB0\x80\xFF"), 6);
}

/* Words that are not those of the text are shown alone. */
static void foreign_words(void **state)
{
    (void)state;
    static const cli_word words[] = {{"one", 0, 1}, {"二", 1, 2}, {"三", 2, 3}};
    cli_segment segment = {.end = 3, .text = "something else", .language = "", .words = words, .n_words = 3};
    cli_transcript t = one_segment(&segment);
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,000 --> 00:00:03,000\none 二三\n\n");
    segment.text = "one 二三 more";
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,000 --> 00:00:03,000\none 二三\n\n");
    segment.text = "“One”";
    segment.n_words = 1;
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,000 --> 00:00:01,000\none\n\n");
    segment.text = "“one” …";
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:00,000 --> 00:00:01,000\n“one” …\n\n");
}

/* Times that no clock shows: equal ones, ones that go back, none. */
static void odd_times(void **state)
{
    (void)state;
    static const cli_word words[] = {{"a", 1, 1}, {"b", 1, 1}, {"c", 30, 50}, {"d", 2, 3}, {"e", (double)NAN, (double)INFINITY}, {"f", -5, -4}};
    cli_segment segment = {.end = 60, .text = "", .language = "", .words = words, .n_words = 6};
    cli_transcript t = one_segment(&segment);
    assert_string_equal(write(CLI_FORMAT_SRT, &t), "1\n00:00:01,000 --> 00:00:02,000\na b\n\n2\n00:00:30,000 --> 00:00:37,000\nc\n\n"
                                                   "3\n00:00:50,000 --> 00:00:51,000\nd e f\n\n");
}

/* ------------------------------------------------------------------ rules on random transcripts */

enum { WORDS = 120 };

static const char *const vocabulary[] = {"I",     "am",   "hello",  "internationalisation", "世", "界", "カタカナ", "안녕하세요", "3000",
                                         "naive", "สวัสดี", "o'clock"};
static const char *const stops[] = {"", "", "", "", ",", ".", "!", "。", "、", " -"};

/* A segment of random words with pauses, its text with punctuation; `end` is where it ends. */
static cli_segment random_segment(test_random *r, double start, char *text, cli_word *words, bool with_words)
{
    int count = test_below(r, WORDS);
    double at = start;
    *text = '\0';
    for (int i = 0; i < count; i++) {
        const char *word = vocabulary[test_below(r, (int)(sizeof vocabulary / sizeof vocabulary[0]))];
        at += test_below(r, 4) ? 0 : 0.08 * test_below(r, 30);
        double end = at + 0.08 * test_below(r, test_below(r, 30) ? 8 : 120);
        words[i] = (cli_word){word, at, end};
        at = end;
        strcat(text, word);
        strcat(text, stops[test_below(r, (int)(sizeof stops / sizeof stops[0]))]);
        if (test_below(r, 3) || cli_columns(word) == (int)strlen(word) || strlen(word) > 12) /* only Chinese and Japanese stand without */
            strcat(text, " ");
    }
    return (cli_segment){.start = start, .end = at + 0.5, .text = text, .language = "", .words = words, .n_words = with_words ? (size_t)count : 0};
}

/* Letters and punctuation of a text, blanks left out. */
static void squeeze(char *out, const char *text)
{
    out += strlen(out);
    for (; *text; text++)
        if (*text != ' ')
            *out++ = *text;
    *out = '\0';
}

static void check_cues(const cli_transcript *t, int most_lines)
{
    static char shown[20000], expected[20000];
    cli_cues cues;
    parley_error error;
    int64_t before = 0;
    shown[0] = expected[0] = '\0';
    assert_int_equal(cli_cues_make(t, most_lines, &cues, &error), PARLEY_OK);
    for (size_t i = 0; i < cues.count; i++) {
        const cli_cue *cue = &cues.items[i];
        assert_true(cue->start >= before && cue->end > cue->start && cue->end - cue->start <= CLI_CUE_MS);
        assert_in_range(cue->n_lines, 1, most_lines);
        before = cue->end;
        for (int k = 0; k < cue->n_lines; k++) {
            const char *line = cues.text.data + cue->lines[k];
            assert_in_range(cli_columns(line), 1, CLI_COLUMNS);
            assert_true(line[0] != ' ' && line[strlen(line) - 1] != ' ');
            assert_true(strncmp(line, "。", 3) != 0 && line[0] != ',');
            squeeze(shown, line);
        }
    }
    for (size_t i = 0; i < t->n_segments; i++)
        squeeze(expected, t->segments[i].text);
    assert_string_equal(shown, expected);
    cli_cues_free(&cues);
}

static void keeps_the_rules(void **state)
{
    (void)state;
    static char text[2][8000];
    static cli_word words[2][WORDS];
    test_random r = {23};
    for (int round = 0; round < 600; round++) {
        cli_segment segments[2];
        segments[0] = random_segment(&r, 0, text[0], words[0], round & 1);
        segments[1] = random_segment(&r, segments[0].end, text[1], words[1], round & 2);
        cli_transcript t = {"", "", "", "stop", segments[1].end, segments, 2};
        check_cues(&t, CLI_LINES);
        check_cues(&t, 1);
    }
}

/* ------------------------------------------------------------------ rules on hostile transcripts */

static const char *const odd_pieces[] = {"a",
                                         "Wort",
                                         "世",
                                         "カ",
                                         "ｱ",
                                         "안",
                                         "สวัสดี",
                                         "ไม่ได้",
                                         "नमस्ते",
                                         "مرحبا",
                                         "👩‍👩‍👧‍👦",
                                         "👍🏽",
                                         "🇩🇪",
                                         "❤️",
                                         "e\xCC\x81",
                                         "\xCC\x81",
                                         "\xE2\x80\x8B",
                                         "\xE2\x80\x8D",
                                         "\xC2\xAD",
                                         "\xEF\xBB\xBF",
                                         "\xE2\x80\x8F",
                                         "。",
                                         "、",
                                         "「",
                                         "...",
                                         "!?",
                                         "—",
                                         "\xE3\x80\x80",
                                         "\xC2\xA0",
                                         " ",
                                         "\t",
                                         "\n",
                                         "\xFF",
                                         "-->",
                                         "https://example.org/a/very/long/address/without/any/blank?in=it&at=all#whatever",
                                         "ㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋ"};

static void random_piece(test_random *r, char *out)
{
    const char *piece = odd_pieces[test_below(r, (int)CLI_COUNT(odd_pieces))];
    for (int copies = test_below(r, 12) ? 1 : 1 + test_below(r, 60); copies > 0; copies--)
        strcat(out, piece);
}

/* Words and a text of pieces, which agree or do not; any times, or rising ones. */
static cli_segment hostile_segment(test_random *r, char *text, char (*texts)[6000], cli_word *words, int most)
{
    int count = test_below(r, most), kind = test_below(r, 4);
    double at = test_below(r, 100);
    cli_segment segment = {.start = at, .text = text, .language = "", .words = words, .n_words = kind ? (size_t)count : 0};
    *text = '\0';
    for (int i = 0; i < count; i++) {
        texts[i][0] = '\0';
        random_piece(r, texts[i]);
        strcat(text, kind == 1 && !test_below(r, 8) ? "not what is said" : texts[i]);
        if (test_below(r, 3))
            strcat(text, " ");
        double start = test_below(r, 3) ? at : (double)test_below(r, 200), length = 0.08 * test_below(r, test_below(r, 9) ? 6 : 400);
        words[i] = (cli_word){texts[i], kind == 3 ? start : at, (kind == 3 ? start : at) + length};
        at += length;
    }
    segment.end = at;
    return segment;
}

static void check_line(const char *line)
{
    int length, wide = 0;
    for (const char *at = line; cli_next_point(at, &length), length > 0; at += length) {
        char one[8] = "";
        memcpy(one, at, (size_t)length);
        wide += cli_columns(one) == 2;
    }
    assert_in_range(cli_columns(line), 1, wide ? CLI_WIDE_COLUMNS : CLI_COLUMNS);
    assert_true(wide <= CLI_WIDE_COLUMNS / 2);
    assert_null(strpbrk(line, "\n\r\t"));
}

static void hostile_transcripts_keep_the_rules(void **state)
{
    (void)state;
    enum { MOST = 24 };
    static char text[2][MOST * 12000], texts[2][MOST][6000];
    static cli_word words[2][MOST];
    test_random r = {31};
    for (int round = 0; round < 1500; round++) {
        cli_segment segments[2];
        cli_cues cues;
        int64_t before = 0;
        parley_error error;
        for (int i = 0; i < 2; i++)
            segments[i] = hostile_segment(&r, text[i], texts[i], words[i], MOST);
        cli_transcript t = {"", "", "", "stop", (double)test_below(&r, 300), segments, 2};
        int lines = 1 + round % CLI_LINES;
        assert_int_equal(cli_cues_make(&t, lines, &cues, &error), PARLEY_OK);
        for (size_t i = 0; i < cues.count; i++) {
            const cli_cue *cue = &cues.items[i];
            assert_true(cue->start >= before && cue->end > cue->start && cue->end - cue->start <= CLI_CUE_MS);
            before = cue->end;
            assert_in_range(cue->n_lines, 1, lines);
            for (int k = 0; k < cue->n_lines; k++)
                check_line(cues.text.data + cue->lines[k]);
        }
        cli_cues_free(&cues);
    }
}

/* A character of several parts is shown on one line, however lines fall. */
static void characters_stay_whole(void **state)
{
    (void)state;
    static const char *const whole[] = {"👩‍👩‍👧‍👦", "👍🏽", "ที่", "नि", "e\xCC\x81\xCC\xA3"};
    for (size_t i = 0; i < CLI_COUNT(whole); i++)
        for (int shift = 0; shift < 12; shift++) {
            char text[4000] = "";
            size_t length = strlen(whole[i]);
            cli_cues cues;
            parley_error error;
            memset(text, 'x', (size_t)shift);
            for (int k = 0; k < 90; k++)
                strcat(text, whole[i]);
            cli_segment segment = plain(text, 0, 100);
            cli_transcript t = one_segment(&segment);
            assert_int_equal(cli_cues_make(&t, CLI_LINES, &cues, &error), PARLEY_OK);
            assert_true(cues.count > 1);
            for (size_t c = 0; c < cues.count; c++)
                for (int k = 0; k < cues.items[c].n_lines; k++) {
                    const char *line = cues.text.data + cues.items[c].lines[k];
                    check_line(line);
                    line += strspn(line, "x");
                    assert_int_equal(strlen(line) % length, 0);
                    assert_true(!*line || !strncmp(line, whole[i], length));
                }
            cli_cues_free(&cues);
        }
}

/* Where times are those of speech, a cue appears with its first word. */
static void cues_begin_with_their_words(void **state)
{
    (void)state;
    static char text[8000];
    static cli_word words[WORDS];
    test_random r = {41};
    for (int round = 0; round < 200; round++) {
        cli_segment segment = random_segment(&r, 0, text, words, true);
        cli_transcript t = one_segment(&segment);
        cli_cues cues;
        parley_error error;
        int64_t before = 0;
        assert_int_equal(cli_cues_make(&t, CLI_LINES, &cues, &error), PARLEY_OK);
        for (size_t i = 0; i < cues.count; i++) {
            bool found = cues.items[i].start == before;
            for (size_t k = 0; k < segment.n_words && !found; k++)
                found = llround(1000 * words[k].start) == cues.items[i].start;
            before = cues.items[i].end;
            assert_true(found);
        }
        cli_cues_free(&cues);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(nothing_said),
        cmocka_unit_test(names),
        cmocka_unit_test(spreads),
        cmocka_unit_test(breaks_lines),
        cmocka_unit_test(odd_texts),
        cmocka_unit_test(foreign_words),
        cmocka_unit_test(odd_times),
        cmocka_unit_test(keeps_the_rules),
        cmocka_unit_test(hostile_transcripts_keep_the_rules),
        cmocka_unit_test(characters_stay_whole),
        cmocka_unit_test(cues_begin_with_their_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
