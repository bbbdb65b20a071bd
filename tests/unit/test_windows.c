/* Alignment in windows, with a stage that knows the truth and a model that does not (align_a takes 13.04 s at once). */
#include "rules_fixture.h"

#include "limit_allocator.h"
#include "models/qwen3_asr/windows.h"
#include "support/random.h"

#include <parley/asr.h>

#include <math.h>

enum { RATE = PARLEY_ASR_RATE, LIMIT = 60, MOST_WORDS = 4000 };

/* ------------------------------------------------------------------ a talk and who hears it */

/* Words of a sound and when they are said, in ms; words behind the sound's end are not said. */
typedef struct talk {
    int64_t ms, start[MOST_WORDS], end[MOST_WORDS];
    size_t count;
    pl_span words[MOST_WORDS];
    float *pcm;
    /* what the stage makes of it */
    int64_t stuck_at; /* ms of a window where its stamps stop, -1: nowhere */
    int garbage;      /* percent of stamps that are any time in the window */
    bool scattered;   /* text behind the window's end gets any times near the end, else all the end itself */
    test_random random;
    parley_status status;
    size_t windows;
    int64_t longest; /* ms of a window */
} talk;

/* Fills the sound with words and pauses, one of them `gap` ms. */
static void speak(talk *t, int64_t ms, int64_t gap, uint64_t seed)
{
    test_random r = {seed};
    int64_t at = 80 * test_below(&r, 20);
    *t = (talk){.ms = ms, .stuck_at = -1, .random = {seed + 1}};
    bool said_gap = gap == 0;
    while (at < ms - 1000) {
        int64_t length = 160 + 8 * test_below(&r, 40);
        t->start[t->count] = at;
        t->end[t->count] = at + length;
        t->words[t->count++] = span_of("word");
        at += length + (test_below(&r, 4) ? 0 : 80 + 10 * test_below(&r, test_below(&r, 6) ? 20 : 200));
        if (!said_gap && at > ms / 3) {
            at += gap;
            said_gap = true;
        }
    }
    t->pcm = malloc((size_t)(ms * RATE / 1000) * sizeof *t->pcm);
    assert_non_null(t->pcm);
    for (int64_t i = 0, word = 0; i < ms * RATE / 1000; i++) {
        int64_t now = i * 1000 / RATE;
        while ((size_t)word < t->count && t->end[word] <= now)
            word++;
        bool loud = (size_t)word < t->count && t->start[word] <= now;
        t->pcm[i] = (float)(loud ? 0.2 : 0.001) * (float)(test_below(&r, 2000) - 1000) / 1000;
    }
}

static int64_t stamp(int64_t ms)
{
    return ms > 0 ? (ms + 40) / 80 * 80 : 0;
}

static parley_status hear(void *context, const pl_window *window, int64_t *raw, parley_error *error)
{
    talk *t = context;
    int64_t first = window->first * 1000 / RATE, length = window->samples * 1000 / RATE;
    assert_true(window->first >= 0 && window->samples >= 1 && window->first + window->samples <= t->ms * RATE / 1000);
    assert_true(window->n_units >= 1 && window->unit + window->n_units <= t->count);
    t->windows++;
    t->longest = length > t->longest ? length : t->longest;
    if (t->status != PARLEY_OK)
        return pl_fail(error, t->status, "told to fail");
    for (size_t i = 0; i < 2 * window->n_units; i++) {
        size_t unit = window->unit + i / 2;
        int64_t time = (i % 2 ? t->end[unit] : t->start[unit]) - first;
        if (time > length)
            time = t->scattered ? length - 80 * test_below(&t->random, 12) : length;
        if (t->stuck_at >= 0 && time > t->stuck_at)
            time = t->stuck_at;
        raw[i] = stamp(t->garbage > test_below(&t->random, 100) ? test_below(&t->random, (int)length) : time);
    }
    return PARLEY_OK;
}

typedef struct fixture {
    pl_arena arena;
    pl_units units;
    int64_t *raw, *times;
} fixture;

static int open_fixture(void **state)
{
    static fixture f;
    pl_arena_init(&f.arena, NULL, 1 << 16);
    f.raw = calloc(2 * MOST_WORDS, sizeof *f.raw);
    f.times = calloc(2 * MOST_WORDS, sizeof *f.times);
    *state = &f;
    return f.raw && f.times ? 0 : -1;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    pl_arena_free(&f->arena);
    free(f->raw);
    free(f->times);
    return 0;
}

/* Aligns, checks what always holds, and gives the doubts. */
static unsigned align(fixture *f, talk *t, int64_t limit_seconds, size_t *windows)
{
    f->units = (pl_units){t->words, t->count, PARLEY_UNITS_BLANKS};
    pl_windowed job = {
        .pcm = t->pcm, .samples = t->ms * RATE / 1000, .limit = limit_seconds * RATE, .units = &f->units, .raw = f->raw, .times = f->times};
    assert_int_equal(pl_align_windows(&f->arena, &job, &(pl_window_stage){hear, t}, NULL), PARLEY_OK);
    pl_arena_reset(&f->arena);
    for (size_t i = 1; i < 2 * t->count; i++)
        assert_true(f->times[i] >= f->times[i - 1]);
    assert_true(t->longest <= 1000 * limit_seconds);
    assert_int_equal(t->windows, job.n_windows);
    assert_true((int64_t)job.n_windows <= 8 * t->ms / (1000 * limit_seconds) + 2); /* a window brings an eighth of the limit */
    *windows = job.n_windows;
    return job.doubts;
}

/* Largest distance from the truth, ms. */
static int64_t worst(const fixture *f, const talk *t)
{
    int64_t most = 0;
    for (size_t i = 0; i < t->count; i++) {
        int64_t start = llabs(f->times[2 * i] - t->start[i]), end = llabs(f->times[2 * i + 1] - t->end[i]);
        most = start > most ? start : most;
        most = end > most ? end : most;
    }
    return most;
}

static void close_talk(talk *t)
{
    free(t->pcm);
}

/* ------------------------------------------------------------------ tests */

enum { CLOSE = 120 }; /* ms: half a stamp, a cut that falls into a word, a whole ms */

static void short_sound_is_one_window(void **state)
{
    static talk t;
    size_t windows;
    speak(&t, 1000 * LIMIT, 0, 3);
    assert_int_equal(align(*state, &t, LIMIT, &windows), 0);
    assert_int_equal(windows, 1);
    assert_int_equal(t.longest, 1000 * LIMIT);
    assert_true(worst(*state, &t) <= 40);
    close_talk(&t);
}

static void long_sound_is_found(void **state)
{
    static talk t;
    size_t windows;
    for (uint64_t seed = 0; seed < 40; seed++) {
        speak(&t, 61000 + 11003 * (int64_t)(seed % 20), 0, seed);
        t.scattered = seed % 2;
        assert_int_equal(align(*state, &t, LIMIT, &windows), 0);
        assert_true(windows >= 2);
        assert_true(t.longest <= LIMIT * 1000 * 3 / 5);
        if (worst(*state, &t) > CLOSE)
            fail_msg("seed %d: %d ms off", (int)seed, (int)worst(*state, &t));
        close_talk(&t);
    }
}

/* Single stamps that are nonsense move their word between its neighbours and nothing else. */
static void nonsense_stays_where_it_is(void **state)
{
    static talk t;
    fixture *f = *state;
    size_t windows, off = 0, all = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        speak(&t, 250000, seed % 4 ? 0 : 60000, seed);
        t.scattered = seed % 2;
        t.garbage = 4;
        assert_int_equal(align(f, &t, LIMIT, &windows), 0);
        for (size_t i = 0; i < t.count; i++)
            off += llabs(f->times[2 * i] - t.start[i]) > 500 || llabs(f->times[2 * i + 1] - t.end[i]) > 500;
        all += t.count;
        close_talk(&t);
    }
    if (50 * off > all)
        fail_msg("%zu of %zu words are off", off, all);
}

/* Silence of many windows between words. */
static void passes_silence_over(void **state)
{
    static talk t;
    size_t windows;
    for (uint64_t seed = 0; seed < 20; seed++) {
        speak(&t, 300000, 20000 + 8000 * (int64_t)seed, seed);
        t.scattered = seed % 2;
        assert_int_equal(align(*state, &t, LIMIT, &windows), 0);
        if (worst(*state, &t) > CLOSE)
            fail_msg("seed %d: %d ms off", (int)seed, (int)worst(*state, &t));
        close_talk(&t);
    }
}

/* A text that ends long before the sound does. */
static void text_may_end_early(void **state)
{
    static talk t;
    size_t windows;
    speak(&t, 200000, 0, 5);
    t.count /= 3;
    assert_int_equal(align(*state, &t, LIMIT, &windows), 0);
    assert_true(worst(*state, &t) <= CLOSE);
    close_talk(&t);
}

/* Stamps that stand still late in a window: a talk of 306 s whose last words all get 272.64 s, in one window and in several. */
static void stamps_that_stand_still_are_sought_again(void **state)
{
    static talk t;
    static const int64_t lengths[] = {306, 300, 290};
    size_t windows;
    for (int i = 0; i < 3; i++) {
        speak(&t, 1000 * lengths[i], 0, 7);
        t.stuck_at = i ? 272640 : 160000;
        assert_int_equal(align(*state, &t, 300, &windows), 0);
        assert_int_equal(windows, i ? 2 : 3);
        assert_true(worst(*state, &t) <= CLOSE);
        close_talk(&t);
    }
    speak(&t, 290000, 0, 7); /* too little sound is left: told, as it is */
    t.stuck_at = 280000;
    assert_int_equal(align(*state, &t, 300, &windows), PL_DOUBT_STAMPS);
    assert_int_equal(windows, 1);
    close_talk(&t);
}

/* A model that is lost from the start: flagged, every word there, in order, in a bounded number of windows. */
static void a_lost_model_is_told(void **state)
{
    static talk t;
    size_t windows;
    fixture *f = *state;
    for (int64_t stuck_at = 0; stuck_at < 7000; stuck_at += 1000) {
        speak(&t, 400000, 0, 11);
        t.stuck_at = stuck_at;
        assert_true(align(f, &t, LIMIT, &windows) & PL_DOUBT_LOST);
        assert_true(f->times[2 * t.count - 1] <= t.ms);
        assert_true(f->times[0] <= 1000 * LIMIT);
        close_talk(&t);
    }
}

/* More text than sound: what is left over gets the end, and is told. */
static void surplus_text_is_told(void **state)
{
    static talk t;
    size_t windows;
    for (int more = 3; more < 800; more *= 4) {
        speak(&t, 150000, 0, 13);
        for (int i = 0; i < more; i++) {
            t.start[t.count] = t.end[t.count] = INT64_MAX / 2;
            t.words[t.count++] = span_of("word");
        }
        assert_true(align(*state, &t, LIMIT, &windows) & PL_DOUBT_STAMPS);
        close_talk(&t);
    }
}

/* Any stamps at all: what align() checks, and no unit is lost. */
static parley_status any(void *context, const pl_window *window, int64_t *raw, parley_error *error)
{
    talk *t = context;
    (void)error;
    t->windows++;
    for (size_t i = 0; i < 2 * window->n_units; i++)
        raw[i] = 80 * test_below(&t->random, t->scattered ? 5000 : 3);
    return PARLEY_OK;
}

static void any_stamps_end(void **state)
{
    static talk t;
    fixture *f = *state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        speak(&t, 61000 + 7001 * (int64_t)seed, 0, seed);
        t.scattered = seed % 2;
        f->units = (pl_units){t.words, t.count, PARLEY_UNITS_BLANKS};
        pl_windowed job = {.pcm = t.pcm, .samples = t.ms * RATE / 1000, .limit = LIMIT * RATE, .units = &f->units, .raw = f->raw, .times = f->times};
        assert_int_equal(pl_align_windows(&f->arena, &job, &(pl_window_stage){any, &t}, NULL), PARLEY_OK);
        assert_true(job.doubts != 0);
        assert_true((int64_t)job.n_windows <= 8 * t.ms / (1000 * LIMIT) + 2);
        for (size_t i = 1; i < 2 * t.count; i++)
            assert_true(f->times[i] >= f->times[i - 1]);
        pl_arena_reset(&f->arena);
        close_talk(&t);
    }
}

static void failures_are_passed_on(void **state)
{
    static talk t;
    fixture *f = *state;
    parley_error error = {0};
    speak(&t, 100000, 0, 1);
    t.status = PARLEY_LIMIT;
    f->units = (pl_units){t.words, t.count, PARLEY_UNITS_BLANKS};
    pl_windowed job = {.pcm = t.pcm, .samples = t.ms * RATE / 1000, .limit = LIMIT * RATE, .units = &f->units, .raw = f->raw, .times = f->times};
    assert_int_equal(pl_align_windows(&f->arena, &job, &(pl_window_stage){hear, &t}, &error), PARLEY_LIMIT);
    assert_string_equal(error.text, "told to fail");
    limit_allocator none = {.limit = SIZE_MAX, .left = 0};
    parley_allocator allocator = limit_interface(&none);
    pl_arena arena;
    pl_arena_init(&arena, &allocator, 64);
    t.status = PARLEY_OK;
    assert_int_equal(pl_align_windows(&arena, &job, &(pl_window_stage){hear, &t}, NULL), PARLEY_MEMORY);
    pl_arena_free(&arena);
    close_talk(&t);
}

/* ------------------------------------------------------------------ the model */

static parley_alignment *run_model(const parley_model *model, const float *pcm, size_t samples, const char *text)
{
    parley_align_options options;
    parley_alignment *alignment = NULL;
    parley_align_options_init(model, &options);
    options.kv = PARLEY_KV_F32;
    assert_int_equal(parley_align(model, pcm, samples, text, strlen(text), &options, &alignment, NULL), PARLEY_OK);
    return alignment;
}

/* Notes what it was told, and ends the work when it has been told often enough. */
typedef struct listener {
    int calls, most;
    double seconds;
} listener;

static bool listen_in(void *context, double seconds)
{
    listener *l = context;
    assert_true(l->calls ? seconds > l->seconds : seconds == 0);
    l->seconds = seconds;
    return ++l->calls <= l->most;
}

static void tells_how_far_it_is(const parley_model *model, const float *pcm, size_t samples, const char *text)
{
    parley_align_options options;
    parley_alignment *alignment = NULL;
    parley_error error = {0};
    listener all = {.most = 1000}, two = {.most = 2};
    parley_align_options_init(model, &options);
    options.progress = listen_in;
    options.progress_context = &all;
    assert_int_equal(parley_align(model, pcm, samples, text, strlen(text), &options, &alignment, &error), PARLEY_OK);
    assert_int_equal(all.calls, alignment->n_windows);
    assert_true(all.calls > 3);
    parley_alignment_free(alignment);
    options.progress_context = &two;
    assert_int_equal(parley_align(model, pcm, samples, text, strlen(text), &options, &alignment, &error), PARLEY_CANCELLED);
    assert_int_equal(two.calls, 3);
}

/* A tie to the millisecond: 1197.3425 + 0.08 k is rounded by its exact value, as the reference does. */
static void adds_the_offset(const parley_model *model, const float *pcm, size_t samples)
{
    parley_align_options options;
    parley_alignment *plain = run_model(model, pcm, samples, "one two"), *moved = NULL;
    parley_align_options_init(model, &options);
    options.kv = PARLEY_KV_F32;
    options.offset = 1197.3425;
    assert_int_equal(parley_align(model, pcm, samples, "one two", 7, &options, &moved, NULL), PARLEY_OK);
    for (size_t i = 0; i < 2; i++) {
        char text[40];
        snprintf(text, sizeof text, "%.3f", plain->words[i].start + options.offset);
        assert_true(moved->words[i].start == strtod(text, NULL));
    }
    parley_alignment_free(plain);
    parley_alignment_free(moved);
    options.offset = NAN;
    assert_int_equal(parley_align(model, pcm, samples, "one two", 7, &options, &moved, NULL), PARLEY_ARGUMENT);
}

/* Lengths around the limit and far behind it: every word, in order, within the sound; within the limit one window. */
static void the_model_in_windows(void **state)
{
    (void)state;
    enum { REACH = 163 * 80 * RATE / 1000, COPIES = 12, WORDS = 70 };
    parley_model *model = NULL;
    parley_open_options open;
    char path[500], text[WORDS * 8] = "";
    parley_open_options_init(&open);
    snprintf(path, sizeof path, "%s/models/align_a", TEST_DATA);
    assert_int_equal(parley_model_open(path, &open, &model, NULL), PARLEY_OK);
    float *pcm = malloc(COPIES * (size_t)REACH * sizeof *pcm);
    assert_non_null(pcm);
    test_random r = {4};
    for (size_t i = 0; i < COPIES * (size_t)REACH; i++)
        pcm[i] = (float)(0.3 * sin((double)i * 0.05) * (i / 3000 % 4 ? 1 : 0.01)) + (float)test_below(&r, 100) / 10000;
    for (int i = 0; i < WORDS; i++)
        snprintf(text + strlen(text), 8, "w%d ", i);
    static const size_t lengths[] = {201, 7999, REACH - 1, REACH, REACH + 1, REACH + 5000, 3 * REACH, COPIES * (size_t)REACH};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        parley_alignment *a = run_model(model, pcm, lengths[i], text);
        assert_int_equal(a->n_words, WORDS);
        assert_int_equal(a->n_windows > 1, lengths[i] > REACH);
        for (int k = 0; k < WORDS; k++) {
            char word[8];
            snprintf(word, sizeof word, "w%d", k);
            assert_string_equal(a->words[k].text, word);
            assert_true(a->words[k].start >= (k ? a->words[k - 1].end : 0) && a->words[k].end >= a->words[k].start);
        }
        parley_alignment_free(a);
    }
    adds_the_offset(model, pcm, REACH);
    tells_how_far_it_is(model, pcm, COPIES * (size_t)REACH, text);
    free(pcm);
    parley_model_close(model);
}

/* Whichever allocation fails, nothing is left behind. */
static void survives_want_of_memory(void **state)
{
    (void)state;
    enum { SAMPLES = 30 * RATE };
    static float pcm[SAMPLES];
    limit_allocator limit = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&limit);
    parley_model *model = NULL;
    parley_open_options open;
    char path[500];
    bool done = false;
    parley_open_options_init(&open);
    open.allocator = &allocator;
    open.threads = 1;
    snprintf(path, sizeof path, "%s/models/align_a", TEST_DATA);
    assert_int_equal(parley_model_open(path, &open, &model, NULL), PARLEY_OK);
    size_t before = limit.held;
    for (size_t left = 0; left < 4000 && !done; left += 1 + left / 8) {
        parley_align_options options;
        parley_alignment *alignment = NULL;
        parley_align_options_init(model, &options);
        limit.left = left;
        parley_status status = parley_align(model, pcm, SAMPLES, "one two three four", 18, &options, &alignment, NULL);
        limit.left = SIZE_MAX;
        assert_true(status == PARLEY_OK || status == PARLEY_MEMORY);
        done = status == PARLEY_OK;
        assert_true(!done || (left > 8 && alignment->n_windows > 1));
        parley_alignment_free(alignment);
        assert_int_equal(limit.held, before);
    }
    assert_true(done);
    parley_model_close(model);
    assert_int_equal(limit.held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_sound_is_one_window),
        cmocka_unit_test(long_sound_is_found),
        cmocka_unit_test(nonsense_stays_where_it_is),
        cmocka_unit_test(passes_silence_over),
        cmocka_unit_test(text_may_end_early),
        cmocka_unit_test(stamps_that_stand_still_are_sought_again),
        cmocka_unit_test(a_lost_model_is_told),
        cmocka_unit_test(surplus_text_is_told),
        cmocka_unit_test(any_stamps_end),
        cmocka_unit_test(failures_are_passed_on),
        cmocka_unit_test(the_model_in_windows),
        cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
