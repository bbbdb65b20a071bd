#include "models/qwen3_asr/answer.h"

#include "base/checked.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <math.h>
#include <string.h>

enum { THRESHOLD = 20, LONGEST_UNIT = 20 }; /* of the clean-up: copies that are too many, code points */

static const char tag[] = "<asr_text>";

const pl_language pl_languages[PL_LANGUAGES] = {
    {"Chinese", "zh", true},  {"English", "en", true},  {"Cantonese", "yue", true}, {"Arabic", "ar", false},     {"German", "de", true},
    {"French", "fr", true},   {"Spanish", "es", true},  {"Portuguese", "pt", true}, {"Indonesian", "id", false}, {"Italian", "it", true},
    {"Korean", "ko", true},   {"Russian", "ru", true},  {"Thai", "th", false},      {"Vietnamese", "vi", false}, {"Japanese", "ja", true},
    {"Turkish", "tr", false}, {"Hindi", "hi", false},   {"Malay", "ms", false},     {"Dutch", "nl", false},      {"Swedish", "sv", false},
    {"Danish", "da", false},  {"Finnish", "fi", false}, {"Polish", "pl", false},    {"Czech", "cs", false},      {"Filipino", "fil", false},
    {"Persian", "fa", false}, {"Greek", "el", false},   {"Romanian", "ro", false},  {"Hungarian", "hu", false},  {"Macedonian", "mk", false},
};

/* ------------------------------------------------------------------ repetitions */

/* Pass 1, in place: runs of one character. Returns the new count. */
static size_t clean_runs(uint32_t *s, size_t n)
{
    size_t out = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && s[end] == s[i];)
            end++;
        size_t keep = end - i > THRESHOLD ? 1 : end - i;
        memmove(s + out, s + i, keep * sizeof *s);
        out += keep;
    }
    return out;
}

/* How many values from `i` on equal the one `k` behind them, as far as `most`. */
static size_t periodic(const uint32_t *s, size_t i, size_t n, size_t k, size_t most)
{
    size_t same = 0;
    while (same < most && i + same + k < n && s[i + same] == s[i + same + k])
        same++;
    return same;
}

/* The shortest unit that stands often enough at `i`, or 0. */
static size_t repeated_unit(const uint32_t *s, size_t i, size_t n)
{
    for (size_t k = 1; k <= LONGEST_UNIT && i + k * THRESHOLD <= n; k++)
        if (periodic(s, i, n, k, k * (THRESHOLD - 1)) == k * (THRESHOLD - 1))
            return k;
    return 0;
}

/* Pass 2, in place. What stands behind a match is treated as a text of its own, which for this scan means going on there. */
static size_t clean_units(uint32_t *s, size_t n)
{
    size_t out = 0, i = 0;
    while (i + 2 * THRESHOLD <= n) {
        size_t k = repeated_unit(s, i, n), length = k ? k : 1;
        size_t copies = k ? periodic(s, i, n, k, n) / k + 1 : 1;
        memmove(s + out, s + i, length * sizeof *s);
        out += length;
        i += copies * length;
    }
    memmove(s + out, s + i, (n - i) * sizeof *s);
    return out + (n - i);
}

parley_status pl_answer_clean(pl_arena *arena, pl_span text, pl_span *out, parley_error *error)
{
    const uint32_t *points;
    size_t n;
    PL_TRY(pl_code_points(arena, text, &points, &n, error));
    uint32_t *s = pl_arena_alloc_raw(arena, n, sizeof *s);
    if (!s)
        return pl_fail_memory(error, "the clean-up of a text");
    if (n)
        memcpy(s, points, n * sizeof *s);
    return pl_from_code_points(arena, s, clean_units(s, clean_runs(s, n)), out, error);
}

/* ------------------------------------------------------------------ header */

parley_status pl_language_normalise(pl_arena *arena, pl_span name, pl_span *out, parley_error *error)
{
    size_t most, length = 0, written = 0;
    char *text = pl_mul_size(name.length, PL_CASE_MAX * PL_UTF8_MAX, &most) ? pl_arena_alloc_raw(arena, most, 1) : NULL;
    if (!text)
        return pl_fail_memory(error, "the name of a language");
    for (size_t at = 0; at < name.length; at += length) {
        uint32_t changed[PL_CASE_MAX], point = pl_utf8_get(name.text + at, &length);
        size_t count = at == 0 ? pl_upper(point, changed) : pl_lower(point, changed);
        for (size_t i = 0; i < count; i++)
            written += pl_utf8_put(changed[i], text + written);
    }
    *out = (pl_span){text, written};
    return PARLEY_OK;
}

static bool find(pl_span text, const char *wanted, size_t *at)
{
    size_t length = strlen(wanted);
    for (*at = 0; *at + length <= text.length; ++*at)
        if (memcmp(text.text + *at, wanted, length) == 0)
            return true;
    return false;
}

static bool says_none(pl_span header)
{
    for (size_t at = 0; at < header.length; at++)
        if (pl_begins_with((pl_span){header.text + at, header.length - at}, "language none"))
            return true;
    return false;
}

/* The name behind "language " in the first line that has one. */
static pl_span header_name(pl_span header)
{
    static const char key[] = "language ";
    for (pl_span line; pl_next_line(&header, &line);) {
        line = pl_trim(line);
        if (!pl_begins_with(line, key))
            continue;
        pl_span name = pl_trim((pl_span){line.text + sizeof key - 1, line.length - (sizeof key - 1)});
        if (name.length)
            return name;
    }
    return (pl_span){"", 0};
}

parley_status pl_answer_parse(pl_arena *arena, pl_span raw, pl_span forced, pl_answer *answer, parley_error *error)
{
    const pl_span nothing = {"", 0};
    size_t valid = pl_utf8_check(raw.text, raw.length), at;
    *answer = (pl_answer){nothing, nothing};
    if (valid != raw.length)
        return pl_fail_at(error, PARLEY_FORMAT, valid, "the model's answer: expected UTF-8, got something else at offset %zu", valid);
    raw = pl_trim(raw);
    if (!raw.length)
        return PARLEY_OK;
    PL_TRY(pl_answer_clean(arena, raw, &raw, error));
    if (forced.length) {
        *answer = (pl_answer){forced, raw};
        return PARLEY_OK;
    }
    if (!find(raw, tag, &at)) {
        answer->text = pl_trim(raw);
        return PARLEY_OK;
    }
    pl_span header = {raw.text, at};
    at += sizeof tag - 1;
    answer->text = pl_trim((pl_span){raw.text + at, raw.length - at});
    if (says_none(header))
        return PARLEY_OK;
    return pl_language_normalise(arena, header_name(header), &answer->language, error);
}

/* ------------------------------------------------------------------ several segments */

typedef struct joiner {
    char *text;
    size_t length;
} joiner;

/* Room for all parts and one byte between each two. */
static parley_status start_join(pl_arena *arena, const pl_span *parts, size_t count, joiner *j, parley_error *error)
{
    size_t most = count;
    for (size_t i = 0; i < count; i++)
        if (!pl_add_size(most, parts[i].length, &most))
            return pl_fail_memory(error, "a joined text");
    *j = (joiner){pl_arena_alloc_raw(arena, most, 1), 0};
    return j->text ? PARLEY_OK : pl_fail_memory(error, "a joined text");
}

static void add_part(joiner *j, const char *between, pl_span part)
{
    if (j->length && *between)
        j->text[j->length++] = *between;
    memcpy(j->text + j->length, part.text, part.length);
    j->length += part.length;
}

parley_status pl_languages_join(pl_arena *arena, const pl_span *languages, size_t count, pl_span *out, parley_error *error)
{
    joiner j;
    pl_span last = {"", 0};
    PL_TRY(start_join(arena, languages, count, &j, error));
    for (size_t i = 0; i < count; i++) {
        pl_span language = languages[i].length ? pl_trim(languages[i]) : last;
        if (!language.length || (language.length == last.length && memcmp(language.text, last.text, last.length) == 0))
            continue;
        add_part(&j, ",", language);
        last = language;
    }
    *out = (pl_span){j.text, j.length};
    return PARLEY_OK;
}

/* No space is needed beside a character that is a blank or of a script without spaces. */
static bool closes(uint32_t point)
{
    return pl_is_blank(point) || pl_is_spaceless(point);
}

bool pl_text_spaced_behind(pl_span text)
{
    size_t at = text.length, bytes;
    while (at > 0 && (text.text[--at] & 0xC0) == 0x80)
        continue;
    return text.length && !closes(pl_utf8_get(text.text + at, &bytes));
}

bool pl_text_spaced_before(pl_span text)
{
    size_t bytes;
    return text.length && !closes(pl_utf8_get(text.text, &bytes));
}

parley_status pl_texts_join(pl_arena *arena, const pl_span *texts, size_t count, pl_join join, pl_span *out, parley_error *error)
{
    joiner j;
    PL_TRY(start_join(arena, texts, count, &j, error));
    for (size_t i = 0; i < count; i++) {
        if (!texts[i].length)
            continue;
        bool space = join == PL_JOIN_SPACE && pl_text_spaced_behind((pl_span){j.text, j.length}) && pl_text_spaced_before(texts[i]);
        add_part(&j, space ? " " : "", texts[i]);
    }
    *out = (pl_span){j.text, j.length};
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ context given back */

/* Letters and numbers in lower case. */
static parley_status letters(pl_arena *arena, pl_span text, uint32_t **out, size_t *count, parley_error *error)
{
    const uint32_t *points;
    size_t n;
    PL_TRY(pl_code_points(arena, text, &points, &n, error));
    *out = pl_arena_alloc_raw(arena, n, PL_CASE_MAX * sizeof **out);
    *count = 0;
    if (!*out)
        return pl_fail_memory(error, "the letters of a text");
    for (size_t i = 0; i < n; i++)
        if (pl_kind(points[i]) & (PL_ANY_LETTER | PL_NUMBER))
            *count += pl_lower(points[i], *out + *count);
    return PARLEY_OK;
}

/* Whether `run` stands in `s`; linear in both (Knuth, Morris and Pratt). `borders` [m]: length of the longest border of each beginning of it. */
static bool holds_run(const uint32_t *s, size_t n, const uint32_t *run, size_t m, size_t *borders)
{
    borders[0] = 0;
    for (size_t i = 1, k = 0; i < m; i++) {
        while (k > 0 && run[i] != run[k])
            k = borders[k - 1];
        borders[i] = k += run[i] == run[k];
    }
    for (size_t i = 0, k = 0; i < n; i++) {
        while (k > 0 && s[i] != run[k])
            k = borders[k - 1];
        k += s[i] == run[k];
        if (k == m)
            return true;
    }
    return false;
}

parley_status pl_answer_echoes(pl_arena *arena, pl_span text, pl_span context, bool *echoes, parley_error *error)
{
    uint32_t *run, *all;
    size_t m, n;
    PL_TRY(letters(arena, text, &run, &m, error));
    PL_TRY(letters(arena, context, &all, &n, error));
    size_t *borders = PL_NEW_ARRAY(arena, size_t, m);
    if (!borders)
        return pl_fail_memory(error, "the letters of a text");
    *echoes = m > 0 && m <= n && holds_run(all, n, run, m, borders);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ names of languages */

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static bool same_name(pl_span text, const char *name)
{
    if (strlen(name) != text.length)
        return false;
    for (size_t i = 0; i < text.length; i++)
        if (lower(text.text[i]) != lower(name[i]))
            return false;
    return true;
}

static parley_status fail_unknown(pl_span text, parley_error *error)
{
    enum { SHOWN = 40 };
    char list[440];
    size_t length = 0;
    for (int i = 0; i < PL_LANGUAGES; i++) {
        size_t name = strlen(pl_languages[i].name), code = strlen(pl_languages[i].code);
        if (length + name + code + 4 > sizeof list)
            break;
        list[length++] = ',';
        list[length++] = ' ';
        memcpy(list + length, pl_languages[i].name, name);
        list[length += name] = ' ';
        memcpy(list + ++length, pl_languages[i].code, code);
        length += code;
    }
    size_t shown = text.length;
    for (; shown > SHOWN || (shown < text.length && (text.text[shown] & 0xC0) == 0x80);)
        shown--;
    return pl_fail(error, PARLEY_ARGUMENT, "unknown language \"%.*s\": expected auto%.*s", (int)shown, text.text, (int)length, list);
}

parley_status pl_language_find(pl_span text, const pl_language **language, parley_error *error)
{
    *language = NULL;
    if (pl_utf8_check(text.text, text.length) != text.length)
        return pl_fail(error, PARLEY_ARGUMENT, "language: expected a name in UTF-8");
    text = pl_trim(text);
    if (!text.length || same_name(text, "auto"))
        return PARLEY_OK;
    for (int i = 0; i < PL_LANGUAGES && !*language; i++)
        if (same_name(text, pl_languages[i].name) || same_name(text, pl_languages[i].code))
            *language = &pl_languages[i];
    return *language ? PARLEY_OK : fail_unknown(text, error);
}

/* ------------------------------------------------------------------ limits */

int32_t pl_answer_budget(double seconds, int32_t room)
{
    enum { A_SECOND = 12, LEAST = 256 }; /* speech gives 3 to 5 tokens a second */
    double wanted = ceil(A_SECOND * seconds);
    int32_t budget = !(wanted > LEAST) ? LEAST : wanted < (double)INT32_MAX ? (int32_t)wanted : INT32_MAX;
    return budget < room ? budget : room > 0 ? room : 0;
}

void pl_loop_guard_init(pl_loop_guard *guard)
{
    memset(guard, 0, sizeof *guard);
}

bool pl_loop_guard_push(pl_loop_guard *guard, int32_t value, int64_t *keep)
{
    bool found = false;
    for (int64_t period = 1; period <= PL_LOOP_PERIOD && period <= guard->count; period++) {
        int64_t *same = &guard->same[period - 1];
        *same = guard->last[(guard->count - period) % PL_LOOP_PERIOD] == value ? *same + 1 : 0;
        if (!found && *same >= period * (PL_LOOP_COPIES - 1)) {
            found = true;
            *keep = guard->count + 1 - *same;
        }
    }
    guard->last[guard->count++ % PL_LOOP_PERIOD] = value;
    return found;
}
