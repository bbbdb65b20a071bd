/* What becomes of the model's answer: the vectors of asr_rules and what they leave out. */
#include "rules_fixture.h"

#include "limit_allocator.h"
#include "models/qwen3_asr/answer.h"
#include "support/random.h"

typedef struct fixture {
    cJSON *rules;
    pl_arena arena;
} fixture;

static int open_fixture(void **state)
{
    static fixture f;
    f.rules = read_case("asr_rules/case.json");
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

static void parses(void **state)
{
    fixture *f = *state;
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(f->rules, "parse"))
    {
        pl_answer answer;
        assert_int_equal(pl_answer_parse(&f->arena, text_of(member(item, "raw")), text_of(member(item, "forced")), &answer, NULL), PARLEY_OK);
        assert_span(answer.language, member(item, "language")->valuestring);
        assert_span(answer.text, member(item, "text")->valuestring);
        count++;
    }
    assert_int_equal(count, 60);
}

static void refuses_broken_text(void **state)
{
    fixture *f = *state;
    parley_error error = {0};
    pl_answer answer;
    assert_int_equal(pl_answer_parse(&f->arena, span_of("ab\xC3"), span_of(""), &answer, &error), PARLEY_FORMAT);
    assert_int_equal(error.position, 2);
    assert_non_null(strstr(error.text, "offset 2"));
}

/* Case mappings that the vectors do not reach. */
static void normalises(void **state)
{
    fixture *f = *state;
    static const char *const cases[][2] = {
        {"\xEF\xAC\x81NNISH", "FInnish"},
        {"\xC5\x89"
         "a",
         "\xCA\xBCNa"},
        {"x\xC4\xB0", "Xi\xCC\x87"},
        {"", ""},
        {"\xC3\xA9IRE", "\xC3\x89ire"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pl_span out;
        assert_int_equal(pl_language_normalise(&f->arena, span_of(cases[i][0]), &out, NULL), PARLEY_OK);
        assert_span(out, cases[i][1]);
    }
}

static void cleans(void **state)
{
    fixture *f = *state;
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(f->rules, "clean"))
    {
        pl_span out;
        assert_int_equal(pl_answer_clean(&f->arena, text_of(member(item, "in")), &out, NULL), PARLEY_OK);
        assert_span(out, member(item, "out")->valuestring);
        count++;
    }
    assert_true(count > 50);
}

/* The clean-up as the specification tells it, recursion and all, on bytes. */
static size_t plain_units(const char *s, size_t n, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < n;) {
        size_t found = 0;
        for (size_t k = 1; k <= 20 && n >= 40 && i <= n - 40 && i + 20 * k <= n && !found; k++) {
            found = k;
            for (size_t copy = 1; copy < 20 && found; copy++)
                if (memcmp(s + i, s + i + copy * k, k) != 0)
                    found = 0;
        }
        if (!found) {
            out[written++] = s[i++];
            continue;
        }
        size_t end = i + 20 * found;
        while (end + found <= n && memcmp(s + end, s + i, found) == 0)
            end += found;
        memcpy(out + written, s + i, found);
        return written + found + plain_units(s + end, n - end, out + written + found);
    }
    return written;
}

static size_t random_repetitions(test_random *r, char *s, size_t most)
{
    size_t n = 0;
    while (n + 20 * 40 < most && test_below(r, 6)) {
        int unit = 1 + test_below(r, 24), copies = 1 + test_below(r, 30);
        for (int i = 0; i < unit; i++)
            s[n + (size_t)i] = (char)('a' + test_below(r, 2));
        for (int c = 1; c < copies; c++)
            memcpy(s + n + c * unit, s + n, (size_t)unit);
        n += (size_t)(unit * copies);
    }
    return n;
}

static void cleans_as_told(void **state)
{
    fixture *f = *state;
    static char s[6000], runs[6000], expected[6000];
    test_random r = {7};
    for (int round = 0; round < 3000; round++) {
        size_t n = random_repetitions(&r, s, sizeof s - 1000), m = 0;
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i; end < n && s[end] == s[i];)
                end++;
            size_t keep = end - i > 20 ? 1 : end - i;
            memcpy(runs + m, s + i, keep);
            m += keep;
        }
        expected[plain_units(runs, m, expected)] = '\0';
        pl_span out;
        assert_int_equal(pl_answer_clean(&f->arena, (pl_span){s, n}, &out, NULL), PARLEY_OK);
        assert_span(out, expected);
        pl_arena_reset(&f->arena);
    }
}

static void joins_languages(void **state)
{
    fixture *f = *state;
    const cJSON *item, *part;
    cJSON_ArrayForEach(item, member(f->rules, "merge_languages"))
    {
        pl_span languages[8], out;
        size_t count = 0;
        cJSON_ArrayForEach(part, member(item, "in")) languages[count++] = text_of(part);
        assert_int_equal(pl_languages_join(&f->arena, languages, count, &out, NULL), PARLEY_OK);
        assert_span(out, member(item, "out")->valuestring);
    }
}

static void joins_texts(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *parts[4], *space, *none;
    } cases[] = {
        {{"one", "two"}, "one two", "onetwo"},
        {{"", "one", "", "two"}, "one two", "onetwo"},
        {{"你好。", "world"}, "你好。world", "你好。world"},
        {{"hello", "世界"}, "hello世界", "hello世界"},
        {{"かな", "カナ"}, "かなカナ", "かなカナ"},
        {{"ครับ", "ok"}, "ครับok", "ครับok"},
        {{"ສະບາຍດີ", "ok"}, "ສະບາຍດີok", "ສະບາຍດີok"},
        {{"ok", "សួស្តី"}, "okសួស្តី", "okសួស្តី"},
        {{"안녕", "하세요"}, "안녕 하세요", "안녕하세요"},
        {{"one ", "two"}, "one two", "one two"},
        {{NULL}, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pl_span parts[4], out;
        size_t count = 0;
        for (; count < 4 && cases[i].parts[count]; count++)
            parts[count] = span_of(cases[i].parts[count]);
        assert_int_equal(pl_texts_join(&f->arena, parts, count, PL_JOIN_SPACE, &out, NULL), PARLEY_OK);
        assert_span(out, cases[i].space);
        assert_int_equal(pl_texts_join(&f->arena, parts, count, PL_JOIN_NONE, &out, NULL), PARLEY_OK);
        assert_span(out, cases[i].none);
    }
}

static void sees_echoes(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *text, *context;
        bool echoes;
    } cases[] = {
        {"Aspirin, Ibuprofen.", "medicines: aspirin ibuprofen, paracetamol", true},
        {"Aspirin paracetamol", "medicines: aspirin ibuprofen, paracetamol", false},
        {"阿司匹林", "药名：阿司匹林、布洛芬", true},
        {"aab", "aaab", true},
        {"abab c", "abacababc", true},
        {"ababd", "abacababc", false},
        {"...", "...", false},
        {"", "abc", false},
        {"abc", "", false},
        {"abcd", "abc", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool echoes;
        assert_int_equal(pl_answer_echoes(&f->arena, span_of(cases[i].text), span_of(cases[i].context), &echoes, NULL), PARLEY_OK);
        assert_int_equal(echoes, cases[i].echoes);
    }
}

/* The package takes names only; codes are an addition, so what it refuses as a code is found here. */
static void finds_languages(void **state)
{
    fixture *f = *state;
    const cJSON *item;
    const pl_language *language;
    int at = 0;
    cJSON_ArrayForEach(item, member(f->rules, "languages")) assert_string_equal(pl_languages[at++].name, item->valuestring);
    assert_int_equal(at, PL_LANGUAGES);
    cJSON_ArrayForEach(item, member(f->rules, "language_argument"))
    {
        const char *in = member(item, "in")->valuestring;
        const cJSON *ok = cJSON_GetObjectItem(item, "ok");
        parley_status status = pl_language_find(span_of(in), &language, NULL);
        if (ok) {
            assert_int_equal(status, PARLEY_OK);
            assert_string_equal(language->name, ok->valuestring);
        } else if (strcmp(in, "en") == 0 || strcmp(in, "zh") == 0) {
            assert_int_equal(status, PARLEY_OK);
            assert_string_equal(language->code, in);
        } else if (strspn(in, " ") == strlen(in)) {
            assert_int_equal(status, PARLEY_OK);
            assert_null(language);
        } else {
            assert_int_equal(status, PARLEY_ARGUMENT);
        }
    }
}

static void names_the_languages(void **state)
{
    (void)state;
    const pl_language *language;
    parley_error error = {0};
    assert_int_equal(pl_language_find(span_of("AUTO"), &language, NULL), PARLEY_OK);
    assert_null(language);
    assert_int_equal(pl_language_find(span_of("\tFIL\n"), &language, NULL), PARLEY_OK);
    assert_string_equal(language->name, "Filipino");
    assert_int_equal(pl_language_find(span_of("Kliñgon, a language with a very long name indeed, and on it goes"), &language, &error),
                     PARLEY_ARGUMENT);
    for (int i = 0; i < PL_LANGUAGES; i++) {
        assert_non_null(strstr(error.text, pl_languages[i].name));
        assert_int_equal(pl_language_find(span_of(pl_languages[i].code), &language, NULL), PARLEY_OK);
        assert_ptr_equal(language, &pl_languages[i]);
    }
    assert_non_null(strstr(error.text, "Macedonian mk"));
    assert_int_equal(pl_language_find(span_of("\xFF"), &language, &error), PARLEY_ARGUMENT);
}

static void gives_a_budget(void **state)
{
    (void)state;
    assert_int_equal(pl_answer_budget(0.1, 60000), 256);
    assert_int_equal(pl_answer_budget(21.34, 60000), 257);
    assert_int_equal(pl_answer_budget(120, 60000), 1440);
    assert_int_equal(pl_answer_budget(1200, 60000), 14400);
    assert_int_equal(pl_answer_budget(1200, 100), 100);
    assert_int_equal(pl_answer_budget(1e30, INT32_MAX), INT32_MAX);
    assert_int_equal(pl_answer_budget(5, -3), 0);
}

/* Values of a period of `period` behind `before` others: where the guard speaks and what it keeps. */
static void loop(int period, int before)
{
    static pl_loop_guard guard;
    int64_t keep = -1;
    pl_loop_guard_init(&guard);
    for (int i = 0; i < before; i++)
        assert_false(pl_loop_guard_push(&guard, 1000 + i, &keep));
    for (int i = 0; i < period * PL_LOOP_COPIES - 1; i++)
        assert_false(pl_loop_guard_push(&guard, i % period, &keep));
    assert_true(pl_loop_guard_push(&guard, period - 1, &keep));
    assert_int_equal(keep, before + period);
}

static void sees_loops(void **state)
{
    (void)state;
    static const int periods[] = {1, 2, 3, 7, 22, 255, 256};
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        loop(periods[i], 0);
        loop(periods[i], 5);
        loop(periods[i], 700);
    }
}

static void sees_no_loop(void **state)
{
    (void)state;
    static pl_loop_guard guard;
    int64_t keep;
    pl_loop_guard_init(&guard);
    for (int i = 0; i < 257 * 200; i++)
        assert_false(pl_loop_guard_push(&guard, i % 257, &keep));
    for (int round = 0; round < 500; round++)
        for (int i = 0; i < 64; i++)
            assert_false(pl_loop_guard_push(&guard, i < 63 ? 7 : 1000 + round, &keep));
}

static void decodes_broken_bytes(void **state)
{
    fixture *f = *state;
    static const char *const cases[][2] = {
        {"plain \xE4\xBD\xA0", "plain \xE4\xBD\xA0"},
        {"a\xE4\xBD", "a\xEF\xBF\xBD"},
        {"a\xE4\xBDz", "a\xEF\xBF\xBDz"},
        {"\xBD\xBD", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF0\x9F\x98\xE4", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC0\xAF\xF5", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF4\x90\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE0\x80x", "\xEF\xBF\xBD\xEF\xBF\xBDx"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pl_span out;
        assert_int_equal(pl_utf8_lossy(&f->arena, span_of(cases[i][0]), &out, NULL), PARLEY_OK);
        assert_span(out, cases[i][1]);
    }
}

/* Each allocation refused in turn: an error, no crash. */
static void survives_want_of_memory(void **state)
{
    (void)state;
    for (size_t left = 0; left < 8; left++) {
        limit_allocator limit = {.limit = SIZE_MAX, .left = left};
        parley_allocator allocator = limit_interface(&limit);
        pl_arena arena;
        pl_arena_init(&arena, &allocator, 64);
        pl_answer answer;
        pl_span parts[2] = {{"English", 7}, {"Thai", 4}}, out;
        parley_status status = pl_answer_parse(&arena, span_of("language english<asr_text>hello"), span_of(""), &answer, NULL);
        if (status == PARLEY_OK)
            status = pl_languages_join(&arena, parts, 2, &out, NULL);
        assert_int_equal(status, left < 5 ? PARLEY_MEMORY : PARLEY_OK);
        pl_arena_free(&arena);
        assert_int_equal(limit.held, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(refuses_broken_text),
        cmocka_unit_test(normalises),
        cmocka_unit_test(cleans),
        cmocka_unit_test(cleans_as_told),
        cmocka_unit_test(joins_languages),
        cmocka_unit_test(joins_texts),
        cmocka_unit_test(sees_echoes),
        cmocka_unit_test(finds_languages),
        cmocka_unit_test(names_the_languages),
        cmocka_unit_test(gives_a_budget),
        cmocka_unit_test(sees_loops),
        cmocka_unit_test(sees_no_loop),
        cmocka_unit_test(decodes_broken_bytes),
        cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
