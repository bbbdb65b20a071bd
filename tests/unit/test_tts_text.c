/* labels: sanitize */
/* Texts that are spoken while they come, long texts in pieces, prompts in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "limit_allocator.h"
#include "models/family.h"
#include "support/random.h"
#include "support/speak.h"

static const char text[] =
    "It's a fine day, isn't it?  The 3 of us\n\nshould go out: Gr\xC3\xBC\xC3\x9F Gott, \xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82 Yes!";
static const char story[] = "One day a man came to town. He said nothing, which was strange! Nobody knew him. \"Who is it?\" asked the child; "
                            "but Dr. Smith only smiled.\n\nThen it was night. "
                            "\xE4\xBB\x96\xE8\xB5\xB0\xE4\xBA\x86\xE3\x80\x82\xE5\x86\x8D\xE8\xA7\x81\xE3\x80\x82 The end.  ";

static parley_tts_options sampled(const parley_model *model, int frames)
{
    parley_tts_options o = plain_options(model, frames);
    o.talker.temperature = o.predictor.temperature = 0.9f;
    o.seed = 11;
    o.layout = PARLEY_LAYOUT_STREAMING;
    return o;
}

static void add_reference(parley_tts_options *o, int frames)
{
    enum { GROUPS = 16, MOST = 100 };
    static float vector[32];
    static int32_t codes[MOST * GROUPS];
    for (int i = 0; i < MOST * GROUPS; i++)
        codes[i] = i * 31 % 64;
    for (int i = 0; i < 32; i++)
        vector[i] = 0.01f * (float)i;
    o->xvector = vector;
    o->xvector_length = 32;
    o->ref_codes = codes;
    o->ref_frames = (size_t)frames;
    o->ref_text = "so it was";
}

/* ------------------------------------------------------------------ live text */

typedef struct growing {
    float *pcm;
    size_t samples;
} growing;

/* Pulls until the session waits or ends. */
static void pull_some(parley_tts *session, growing *g)
{
    size_t count = 1;
    parley_error error = {0};
    while (count > 0) {
        g->pcm = realloc(g->pcm, (g->samples + 4096) * sizeof *g->pcm);
        check_ok(parley_tts_pull(session, g->pcm + g->samples, 4096, &count, &error), &error);
        g->samples += count;
    }
}

/* Pushes `pushed` in pieces of random sizes, speaking in between as far as the text goes. */
static speech speak_live(const parley_model *model, const parley_tts_options *options, const char *pushed, int most, size_t *early)
{
    parley_tts *session = NULL;
    parley_error error = {0};
    growing g = {0};
    test_random r = {(uint64_t)most};
    check_ok(parley_tts_open(model, options, &session, &error), &error);
    for (size_t at = 0, length = strlen(pushed); at < length;) {
        size_t count = (size_t)(1 + test_below(&r, most));
        count = count < length - at ? count : length - at;
        check_ok(parley_tts_push_text(session, pushed + at, count, &error), &error);
        at += count;
        pull_some(session, &g);
    }
    if (early)
        *early = g.samples;
    check_ok(parley_tts_finish_text(session, &error), &error);
    speech s = finish(session, 4096);
    g.pcm = realloc(g.pcm, (g.samples + s.samples + 1) * sizeof *g.pcm);
    memcpy(g.pcm + g.samples, s.pcm, s.samples * sizeof *s.pcm);
    free(s.pcm);
    s.pcm = g.pcm;
    s.samples += g.samples;
    return s;
}

static void check_live(const parley_model *model, parley_tts_options o, const char *pushed, bool early_wanted)
{
    size_t early = 0;
    speech whole = speak(model, &o, pushed);
    o.live_text = true;
    for (int most = 1; most < 60; most = most * 2 + 1) {
        speech live = speak_live(model, &o, pushed, most, &early);
        same_speech(&whole, &live);
        assert_int_equal(live.result.finish, whole.result.finish);
        if (early_wanted)
            assert_true(early > 0);
        free_speech(&live);
    }
    free_speech(&whole);
}

static void test_live_text_gives_the_speech_of_the_whole(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 90);
    check_live(model, o, text, true);
    o.budget = PARLEY_BUDGET_TEXT;
    o.talker.temperature = 0;
    check_live(model, o, "Yes. Well.", false);
    o = sampled(model, 20);
    o.layout = PARLEY_LAYOUT_FULL;
    check_live(model, o, text, false);
    parley_model_close(model);
}

/* With reference codes text that is longer than the reference is fed along with the frames; shorter text is known only at its end. */
static void test_live_text_behind_a_reference(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_base"), NULL, 2, NULL);
    for (int frames = 6; frames <= 90; frames *= 15) {
        parley_tts_options o = sampled(model, 40);
        add_reference(&o, frames);
        check_live(model, o, text, frames == 6);
    }
    parley_model_close(model);
}

static void test_live_text_waits(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 1, NULL);
    parley_tts_options o = sampled(model, 30);
    parley_tts *session = NULL;
    parley_error error = {0};
    float pcm[1920];
    size_t count, running;
    o.live_text = true;
    check_ok(parley_tts_open(model, &o, &session, &error), &error);
    check_ok(parley_tts_pull(session, pcm, 1920, &count, &error), &error);
    assert_int_equal(count, 0);
    assert_true(parley_tts_waiting(session));
    check_ok(parley_tts_push_text(session, "  ", 2, &error), &error);
    assert_false(parley_tts_waiting(session));
    check_ok(parley_tts_step(&session, 1, &running, &error), &error);
    assert_int_equal(running, 0); /* nothing to speak yet */
    assert_true(parley_tts_waiting(session));
    check_ok(parley_tts_push_text(session, "Good morning to all of you", 26, &error), &error);
    check_ok(parley_tts_pull(session, pcm, 1920, &count, &error), &error);
    assert_true(count > 0);
    parley_tts_cancel(session);
    while (count > 0)
        check_ok(parley_tts_pull(session, pcm, 1920, &count, &error), &error);
    check_ok(parley_tts_push_text(session, "late", 4, &error), &error); /* nobody hears it */
    parley_tts_close(session);
    check_ok(parley_tts_open(model, &o, &session, &error), &error);
    check_ok(parley_tts_push_text(session, "a b c d e \xE4\xBD", 12, &error), &error); /* a character in parts */
    check_ok(parley_tts_pull(session, pcm, 1920, &count, &error), &error);
    check_ok(parley_tts_push_text(session, "\xA0", 1, &error), &error);
    check_ok(parley_tts_push_text(session, "\xE4zzz", 4, &error), &error);
    do
        count = 0;
    while (parley_tts_pull(session, pcm, 1920, &count, &error) == PARLEY_OK && count > 0);
    assert_int_equal(error.status, PARLEY_FORMAT);
    assert_int_equal(error.position, 13);
    parley_tts_close(session);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ pieces */

/* A cut text is the speech of its pieces, each with the next seed, with silence between. */
static void test_pieces_are_texts_of_their_own(void **state)
{
    (void)state;
    static const char *const pieces[] = {"One day a man came to town.",
                                         "He said nothing, which was strange!",
                                         "Nobody knew him. \"Who is it?\" asked the child;",
                                         "but Dr. Smith only smiled.",
                                         "Then it was night. \xE4\xBB\x96\xE8\xB5\xB0\xE4\xBA\x86\xE3\x80\x82",
                                         "\xE5\x86\x8D\xE8\xA7\x81\xE3\x80\x82 The end.  "};
    enum { PIECES = sizeof pieces / sizeof pieces[0] };
    parley_model *model = open_model(MODEL("tts_a_base"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 12);
    add_reference(&o, 9);
    o.piece_length = 22;
    o.pause_seconds = 0.1;
    speech all = speak(model, &o, story);
    size_t sample = 0, frame = 0;
    assert_int_equal(all.result.pieces, PIECES);
    o.piece_length = 0;
    for (int i = 0; i < PIECES; i++, o.seed++) {
        speech one = speak(model, &o, pieces[i]);
        for (int z = 0; i > 0 && z < 2400; z++)
            assert_true(all.pcm[sample++] == 0);
        assert_true(sample + one.samples <= all.samples);
        assert_memory_equal(one.codes, all.codes + frame * all.groups, one.frames * one.groups * sizeof *one.codes);
        assert_memory_equal(one.pcm, all.pcm + sample, one.samples * sizeof *one.pcm);
        sample += one.samples;
        frame += one.frames;
        free_speech(&one);
    }
    assert_int_equal(sample, all.samples);
    assert_int_equal(frame, all.frames);
    free_speech(&all);
    parley_model_close(model);
}

static void test_live_pieces(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 12);
    for (int32_t length = 20; length < 300; length *= 3) {
        o.piece_length = length;
        o.layout = length == 20 ? PARLEY_LAYOUT_FULL : PARLEY_LAYOUT_STREAMING;
        check_live(model, o, story, length == 20);
    }
    o.budget = PARLEY_BUDGET_TEXT;
    o.piece_length = 25;
    check_live(model, o, "A b c d e f g h i j k. Lmno p. Q.", false);
    parley_model_close(model);
}

static void test_wrong_options(void **state)
{
    (void)state;
    static const int32_t codes[16];
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 1, NULL);
    for (int i = 0; i < 6; i++) {
        parley_tts_options o = plain_options(model, 2);
        parley_tts *session = NULL;
        parley_error error = {0};
        o.live_text = i < 2;
        o.special_tokens = i == 0;
        o.piece_length = i == 2 ? 19 : i == 3 ? 100001 : i == 4 ? 100 : 0;
        o.pause_seconds = i == 5 ? 11 : 0;
        o.teacher = i == 1 || i == 4 ? codes : NULL;
        o.teacher_frames = 1;
        assert_int_equal(parley_tts_open(model, &o, &session, &error), PARLEY_ARGUMENT);
    }
    parley_model_close(model);
}

static void test_memory_of_pieces_is_that_of_one(void **state)
{
    (void)state;
    limit_allocator counter = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&counter);
    parley_model *model = open_model(MODEL("tts_c_custom"), NULL, 1, &allocator);
    size_t before = counter.held, most = 0;
    parley_tts_options o = plain_options(model, 4);
    char *many = calloc(200, 32);
    for (int i = 0; i < 200; i++)
        strcat(many, "So it was and ever will be. ");
    o.piece_length = 20;
    speech s = speak(model, &o, "So it was and ever will be. So it was and ever will be.");
    free_speech(&s);
    most = counter.most - before;
    s = speak(model, &o, many);
    assert_int_equal(s.result.pieces, 200);
    assert_true(counter.most - before < most + 200 * (4 * 16 * 4) * 3 + 3 * 8192); /* codes and the text itself */
    free_speech(&s);
    assert_int_equal(counter.held, before);
    free(many);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ prompts in parts */

/* The same codes and PCM whatever the rows of a step, alone and beside others. */
static void test_prompts_in_parts(void **state)
{
    (void)state;
    enum { SESSIONS = 4 };
    parley_model *model = open_model(MODEL("tts_a_base"), NULL, 2, NULL);
    for (int32_t rows = 1; rows < 300; rows = rows * 3 + 2) {
        parley_tts *sessions[SESSIONS];
        speech alone[SESSIONS];
        size_t running = 1;
        for (int i = 0; i < SESSIONS; i++) {
            parley_tts_options o = sampled(model, 6 + i);
            o.kv = (parley_kv)i % 3;
            o.seed = (uint64_t)i;
            if (i % 2)
                add_reference(&o, 30 + i);
            alone[i] = speak(model, &o, text);
            sessions[i] = start(model, &o, text);
        }
        for (int steps = 1; running > 0; steps++)
            check_ok(sessions[0]->ops->step(sessions, (size_t)(steps < SESSIONS ? steps : SESSIONS), rows, &running, NULL), NULL);
        for (int i = 0; i < SESSIONS; i++) {
            speech s = finish(sessions[i], 4096);
            same_speech(&alone[i], &s);
            free_speech(&s);
            free_speech(&alone[i]);
        }
    }
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_text_gives_the_speech_of_the_whole),
        cmocka_unit_test(test_live_text_behind_a_reference),
        cmocka_unit_test(test_live_text_waits),
        cmocka_unit_test(test_pieces_are_texts_of_their_own),
        cmocka_unit_test(test_live_pieces),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_memory_of_pieces_is_that_of_one),
        cmocka_unit_test(test_prompts_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
