/* Units of alignment and the repair of their times: the vectors of align_rules and what they leave out. */
#include "rules_fixture.h"

#include "limit_allocator.h"
#include "models/qwen3_asr/prompt.h"
#include "models/qwen3_asr/units.h"
#include "support/random.h"

#include <math.h>

typedef struct fixture {
    cJSON *rules;
    pl_arena arena;
} fixture;

static int open_fixture(void **state)
{
    static fixture f;
    f.rules = read_case("align_rules/case.json");
    pl_arena_init(&f.arena, NULL, 1 << 16);
    *state = &f;
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    cJSON_Delete(f->rules);
    pl_arena_free(&f->arena);
    return 0;
}

static void assert_units(const pl_units *units, const cJSON *expected)
{
    size_t at = 0;
    const cJSON *unit;
    cJSON_ArrayForEach(unit, expected)
    {
        assert_true(at < units->count);
        assert_span(units->items[at++], unit->valuestring);
    }
    assert_int_equal(at, units->count);
}

static pl_units split(fixture *f, const char *text, const char *language, const pl_unit_rules *rules)
{
    pl_units units;
    assert_int_equal(pl_units_split(&f->arena, span_of(text), span_of(language), rules, &units, NULL), PARLEY_OK);
    return units;
}

/* Stands for the reference's analyser: marks where the ready words of a case begin. */
static parley_status ready_words(void *context, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    (void)length;
    (void)error;
    const char *at = text;
    for (const cJSON *unit = ((const cJSON *)context)->child; unit; unit = unit->next) {
        at = strstr(at, unit->valuestring);
        assert_non_null(at);
        begins[at - text] = 1;
        at += strlen(unit->valuestring);
    }
    return PARLEY_OK;
}

/* The units of a case, the reference's analyser and dictionary stood in for. */
static pl_units split_case(fixture *f, const cJSON *item)
{
    static const char words[] = "안녕 1.0 x\n여러분\t1\n\n나는 2\n학교 1\r\n반갑 1\n 갔다 \n갔 1";
    pl_lexicon korean;
    assert_int_equal(pl_lexicon_parse(&f->arena, span_of(words), &korean, NULL), PARLEY_OK);
    assert_int_equal(korean.count, 7);
    pl_unit_rules rules = {ready_words, (void *)(uintptr_t)member(item, "units"), &korean};
    return split(f, member(item, "text")->valuestring, member(item, "language")->valuestring, &rules);
}

static void splits(void **state)
{
    fixture *f = *state;
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(f->rules, "units"))
    {
        pl_units units = split_case(f, item);
        assert_units(&units, member(item, "units"));
        count++;
    }
    assert_int_equal(count, 34);
}

/* The prompt of units: each tokenised by itself with two timestamps behind it. */
static void makes_the_prompt(void **state)
{
    fixture *f = *state;
    vocabulary_files files = {read_data("models/align_a/vocab.json"), read_data("models/align_a/merges.txt"),
                              read_data("models/align_a/tokenizer_config.json")};
    pl_tokenizer *tokenizer = open_files(files);
    asr_config config = {.audio_start = pl_tokenizer_find(tokenizer, span_of("<|audio_start|>")),
                         .audio_token = pl_tokenizer_find(tokenizer, span_of("<|audio_pad|>")),
                         .audio_end = pl_tokenizer_find(tokenizer, span_of("<|audio_end|>")),
                         .timestamp = pl_tokenizer_find(tokenizer, span_of("<timestamp>"))};
    const cJSON *item, *id;
    int count = 0;
    cJSON_ArrayForEach(item, member(f->rules, "units"))
    {
        const cJSON *expected = cJSON_GetObjectItem(item, "ids");
        if (!expected)
            continue;
        pl_units units = split_case(f, item);
        asr_prompt prompt = {.ids.allocator = pl_default_allocator()};
        int slots[256];
        assert_true(2 * units.count <= sizeof slots / sizeof slots[0]);
        assert_int_equal(pl_asr_align_prompt(&config, tokenizer, (pl_tokenize_options){0}, units.items, units.count, 1, &prompt, slots, NULL),
                         PARLEY_OK);
        for (size_t i = 0; i < 2 * units.count; i++)
            assert_int_equal(prompt.ids.ids[slots[i]], config.timestamp);
        for (int i = 0; i < 2 && !units.count; i++) /* the package asks for the times of nothing */
            assert_int_equal(pl_ids_push(&prompt.ids, config.timestamp, NULL), PARLEY_OK);
        size_t at = 0;
        cJSON_ArrayForEach(id, expected) assert_int_equal(prompt.ids.ids[at++], whole(id));
        assert_int_equal(at, prompt.ids.count);
        pl_ids_free(&prompt.ids);
        count++;
    }
    assert_int_equal(count, 34);
    pl_tokenizer_close(tokenizer);
    free_files(files);
}

static void assert_split(fixture *f, const char *text, const char *language, const pl_unit_rules *rules, const char *expected)
{
    char joined[600] = "";
    pl_units units = split(f, text, language, rules);
    for (size_t i = 0; i < units.count; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%.*s", i ? "|" : "", (int)units.items[i].length, units.items[i].text);
    assert_string_equal(joined, expected);
}

/* The rules that stand in for the reference's analyser and dictionary. */
static void splits_without_help(void **state)
{
    fixture *f = *state;
    const pl_unit_rules none = {0};
    assert_split(f, "今日はいい天気ですね。", "Japanese", &none, "今日|はいい|天気|ですね");
    assert_split(f, "東京タワーに行きました、ABC 123", "JAPANESE", &none, "東京|タワー|に|行|きました|ABC|1|2|3");
    assert_split(f, "そう。そうー、ガﾞｶﾞーｰ 人々 〇、it's", "japanese", &none, "そう|そうー|ガﾞｶﾞーｰ|人々|〇|it's");
    assert_split(f, "안녕하세요 여러분, 반갑습니다", "Korean", &none, "안녕하세요|여러분|반갑습니다");
    assert_split(f, "今日は", "Japanes", &none, "今|日|は");
    assert_split(f, "", "Korean", &none, "");
}

static parley_status inside_a_character(void *context, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    (void)context;
    (void)text;
    (void)error;
    for (size_t i = 0; i < length; i++)
        assert_int_equal(begins[i], 0);
    begins[1] = 1;
    return PARLEY_OK;
}

/* Returns the status at its context; with or without saying why. */
static parley_status fails(void *context, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    (void)text;
    (void)length;
    (void)begins;
    const parley_status *status = context;
    return *status == PARLEY_IO ? pl_fail(error, PARLEY_IO, "no dictionary") : *status;
}

/* What stands before the first mark is a word too, blanks end words, and what no mark tells is one word. */
static parley_status third_character(void *context, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    (void)context;
    (void)text;
    (void)error;
    if (length > 6)
        begins[6] = 1;
    return PARLEY_OK;
}

static void splits_by_marks(void **state)
{
    fixture *f = *state;
    pl_unit_rules rules = {.japanese = third_character};
    assert_split(f, "東京都庁、に 行く", "Japanese", &rules, "東京|都庁に|行く");
    assert_split(f, "東京", "Japanese", &rules, "東京");
    assert_split(f, "", "Japanese", &rules, "");
    assert_split(f, "東京都庁", "Chinese", &rules, "東|京|都|庁");
}

/* The rule that was used is told. */
static void tells_the_rule(void **state)
{
    fixture *f = *state;
    pl_lexicon none = {NULL, 0};
    pl_unit_rules help = {.japanese = third_character, .korean = &none}, no_help = {0};
    static const struct {
        const char *language;
        parley_unit_rule with, without;
    } cases[] = {{"", PARLEY_UNITS_BLANKS, PARLEY_UNITS_BLANKS},
                 {"Chinese", PARLEY_UNITS_BLANKS, PARLEY_UNITS_BLANKS},
                 {"japanese", PARLEY_UNITS_SPLITTER, PARLEY_UNITS_SCRIPTS},
                 {"Korean", PARLEY_UNITS_LEXICON, PARLEY_UNITS_BLANKS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(split(f, "x", cases[i].language, &help).rule, cases[i].with);
        assert_int_equal(split(f, "x", cases[i].language, &no_help).rule, cases[i].without);
    }
}

static void refuses(void **state)
{
    fixture *f = *state;
    parley_error error = {0};
    pl_units units;
    pl_lexicon lexicon;
    parley_status out_of_memory = PARLEY_MEMORY, no_file = PARLEY_IO;
    pl_unit_rules bad[] = {
        {.japanese = inside_a_character}, {.japanese = fails, .context = &out_of_memory}, {.japanese = fails, .context = &no_file}};
    const parley_status told[] = {PARLEY_VALUE, PARLEY_MEMORY, PARLEY_IO};
    const char *const says[] = {"inside a character", "splitter of Japanese", "no dictionary"};
    assert_int_equal(pl_units_split(&f->arena, span_of("ab \xFF"), span_of(""), &(pl_unit_rules){0}, &units, &error), PARLEY_FORMAT);
    assert_int_equal(error.position, 3);
    assert_int_equal(pl_lexicon_parse(&f->arena, span_of("\xE4"), &lexicon, &error), PARLEY_FORMAT);
    for (int i = 0; i < 3; i++) {
        error = (parley_error){0};
        assert_int_equal(pl_units_split(&f->arena, span_of("今日"), span_of("japanese"), &bad[i], &units, &error), told[i]);
        assert_non_null(strstr(error.text, says[i]));
        assert_int_equal(pl_units_split(&f->arena, span_of("今日"), span_of("japanese"), &bad[i], &units, NULL), told[i]);
    }
}

/* A NUL is a character like others: dropped. */
static void passes_nuls(void **state)
{
    fixture *f = *state;
    pl_units units;
    assert_int_equal(pl_units_split(&f->arena, (pl_span){"a\0b c", 5}, span_of(""), &(pl_unit_rules){0}, &units, NULL), PARLEY_OK);
    assert_int_equal(units.count, 2);
    assert_span(units.items[0], "ab");
}

/* ------------------------------------------------------------------ times */

static void repairs(void **state)
{
    fixture *f = *state;
    const cJSON *item, *value;
    int count = 0;
    cJSON_ArrayForEach(item, member(f->rules, "repair"))
    {
        int64_t times[256];
        size_t n = 0, at = 0;
        cJSON_ArrayForEach(value, member(item, "in")) times[n++] = whole(value);
        assert_int_equal(pl_times_repair(&f->arena, times, n, NULL), PARLEY_OK);
        count++;
        if (!n) /* an error in the package, an empty result here */
            continue;
        cJSON_ArrayForEach(value, member(item, "ok")) assert_int_equal(times[at++], whole(value));
        assert_int_equal(at, n);
    }
    assert_true(count > 30);
}

/* The quadratic recurrence of the specification. */
static void plain_repair(int64_t *v, int n)
{
    int length[64], parent[64], end = 0;
    bool good[64] = {false};
    for (int i = 0; i < n; i++) {
        length[i] = 1;
        parent[i] = -1;
        for (int j = 0; j < i; j++)
            if (v[j] <= v[i] && length[j] + 1 > length[i]) {
                length[i] = length[j] + 1;
                parent[i] = j;
            }
        end = length[i] > length[end] ? i : end;
    }
    for (; end >= 0; end = parent[end])
        good[end] = true;
    for (int i = 0, j; i < n; i = j + 1) {
        for (j = i; j < n && !good[j];)
            j++;
        for (int k = i; k < j; k++) {
            bool has_left = i > 0, has_right = j < n;
            int64_t left = has_left ? v[i - 1] : v[j], right = has_right ? v[j] : left;
            if (j - i <= 2)
                v[k] = k - (i - 1) <= j - k ? left : right;
            else
                v[k] = (int64_t)((double)left + (double)(right - left) / (j - i + 1) * (k - i + 1));
        }
    }
}

static void repairs_as_told(void **state)
{
    fixture *f = *state;
    test_random r = {11};
    for (int round = 0; round < 4000; round++) {
        int64_t times[64], expected[64];
        int n = 1 + test_below(&r, 64), range = 1 + test_below(&r, 60);
        for (int i = 0; i < n; i++)
            expected[i] = times[i] = 80 * (int64_t)(test_below(&r, range) + (test_below(&r, 3) ? i : 0));
        plain_repair(expected, n);
        assert_int_equal(pl_times_repair(&f->arena, times, (size_t)n, NULL), PARLEY_OK);
        for (int i = 0; i < n; i++) {
            assert_int_equal(times[i], expected[i]);
            assert_true(i == 0 || times[i] >= times[i - 1]);
        }
        pl_arena_reset(&f->arena);
    }
}

/* Seconds of the quadratic rule; an instant here. */
static void repairs_many(void **state)
{
    fixture *f = *state;
    enum { COUNT = 200000 };
    int64_t *times = malloc(COUNT * sizeof *times);
    test_random r = {5};
    assert_non_null(times);
    for (int i = 0; i < COUNT; i++)
        times[i] = 80 * (int64_t)test_below(&r, 5000);
    assert_int_equal(pl_times_repair(&f->arena, times, COUNT, NULL), PARLEY_OK);
    for (int i = 1; i < COUNT; i++)
        assert_true(times[i] >= times[i - 1]);
    free(times);
}

/* Expected values are Python's round(x, 3). */
static void rounds(void **state)
{
    (void)state;
    static const double cases[][2] = {
        {0, 0},          {0.0005, 0.001},      {0.0015, 0.002},          {0.0025, 0.003}, {0.0625, 0.062},      {0.1875, 0.188}, {1.0005, 1.0},
        {2.0005, 2.001}, {178.22075, 178.221}, {1197.3429375, 1197.343}, {0.3125, 0.312}, {350.14625, 350.146}, {2.675, 2.675},  {5.0155, 5.016},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (pl_round_milliseconds(cases[i][0]) != cases[i][1])
            fail_msg("%.17g: expected %.17g, got %.17g", cases[i][0], cases[i][1], pl_round_milliseconds(cases[i][0]));
}

/* Against the C library, whose printf rounds exact values too. */
static void rounds_as_printf(void **state)
{
    (void)state;
    test_random r = {9};
    for (int i = 0; i < 200000; i++) {
        double seconds = (i % 2 ? test_below(&r, 40000000) / 16000.0 : 0) + test_below(&r, 5000) * 0.08 + (i % 3 ? 0 : test_below(&r, 1000) / 2000.0);
        char text[40];
        snprintf(text, sizeof text, "%.3f", seconds);
        assert_true(pl_round_milliseconds(seconds) == strtod(text, NULL));
    }
}

/* ------------------------------------------------------------------ trust */

static unsigned doubts(fixture *f, const char *text, const int64_t *raw, double seconds)
{
    pl_units units = split(f, text, "", &(pl_unit_rules){0});
    int64_t repaired[256];
    assert_true(units.count <= 128);
    memcpy(repaired, raw, 2 * units.count * sizeof *raw);
    assert_int_equal(pl_times_repair(&f->arena, repaired, 2 * units.count, NULL), PARLEY_OK);
    return pl_alignment_doubts(&(pl_alignment){&units, raw, repaired, seconds});
}

static void trusts(void **state)
{
    fixture *f = *state;
    assert_int_equal(doubts(f, "hello world", (int64_t[]){80, 480, 560, 1120}, 1.3), 0);
    assert_int_equal(doubts(f, "l'été 3 fois", (int64_t[]){0, 320, 400, 400, 640, 880}, 1), 0);
    assert_int_equal(doubts(f, "one", (int64_t[]){0, 320}, 0.4), 0);
    assert_int_equal(doubts(f, "I am fine", (int64_t[]){0, 80, 80, 160, 160, 400}, 0.45), 0);
}

static void doubts_all(void **state)
{
    fixture *f = *state;
    int64_t rising[256], flat[256], late[256], down[256];
    for (int i = 0; i < 256; i++) {
        rising[i] = 80 * i;
        flat[i] = 400;
        late[i] = i < 24 ? 80 * i : 1920;
        down[i] = 80 * (256 - i);
    }
    static const char words[] = "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r s t u v w x y z";
    assert_int_equal(doubts(f, "...", rising, 10), PL_DOUBT_EMPTY);
    assert_int_equal(doubts(f, words, rising, 10), 0);
    assert_int_equal(doubts(f, words, flat, 10), PL_DOUBT_STAMPS);
    assert_int_equal(doubts(f, "one two", flat, 10), PL_DOUBT_STAMPS);
    assert_int_equal(doubts(f, "one", flat, 10), PL_DOUBT_STAMPS);
    assert_true(doubts(f, words, late, 10) & PL_DOUBT_STAMPS);
    for (int i = 0; i < 100; i++)
        flat[i] = 80 * i; /* the last three of 52 stand still */
    for (int i = 99; i < 104; i++)
        flat[i] = flat[98];
    assert_int_equal(doubts(f, words, flat, 10), PL_DOUBT_STAMPS);
    assert_int_equal(doubts(f, "a b c d e f g h", (int64_t[]){0, 80, 160, 160, 160, 160, 160, 160, 400, 480, 560, 640, 720, 800, 880, 960}, 2),
                     PL_DOUBT_STAMPS);
    assert_int_equal(doubts(f, "hello to everybody listening out there", (int64_t[]){0, 400, 480, 640, 640, 720, 720, 800, 800, 880, 880, 1440}, 2),
                     PL_DOUBT_STAMPS); /* four long words in 240 ms */
    assert_int_equal(doubts(f, words, rising, 7), PL_DOUBT_BEYOND);
    assert_true(doubts(f, words, down, 40) & PL_DOUBT_DISORDER);
    assert_int_equal(doubts(f, "word after word after word after word after word after word after word after word after word", rising, 1) & 16u,
                     PL_DOUBT_TOO_MUCH);
    assert_int_equal(doubts(f, "一二三四五六七八九十一二三四五六七八九十", rising, 1) & 16u, PL_DOUBT_TOO_MUCH);
    assert_int_equal(doubts(f, "一二三四五六七八九十", rising, 1.5), 0);
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    bool done = false;
    for (size_t left = 0; left < 20 && !done; left++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = left};
        parley_allocator allocator = limit_interface(&limit);
        int64_t times[] = {400, 80, 160, 240};
        pl_arena arena;
        pl_units units;
        pl_lexicon korean;
        pl_arena_init(&arena, &allocator, 64);
        parley_status status = pl_lexicon_parse(&arena, span_of("가나 1"), &korean, NULL);
        if (status == PARLEY_OK)
            status = pl_units_split(&arena, span_of("가나다 가"), span_of("korean"), &(pl_unit_rules){.korean = &korean}, &units, NULL);
        if (status == PARLEY_OK)
            status = pl_times_repair(&arena, times, 4, NULL);
        done = status == PARLEY_OK;
        assert_true(done || status == PARLEY_MEMORY);
        assert_true(!done || left >= 6);
        pl_arena_free(&arena);
        assert_int_equal(limit.held, 0);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits),          cmocka_unit_test(makes_the_prompt), cmocka_unit_test(splits_without_help),
        cmocka_unit_test(splits_by_marks), cmocka_unit_test(tells_the_rule),   cmocka_unit_test(refuses),
        cmocka_unit_test(passes_nuls),     cmocka_unit_test(repairs),          cmocka_unit_test(repairs_as_told),
        cmocka_unit_test(repairs_many),    cmocka_unit_test(rounds),           cmocka_unit_test(rounds_as_printf),
        cmocka_unit_test(trusts),          cmocka_unit_test(doubts_all),       cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
