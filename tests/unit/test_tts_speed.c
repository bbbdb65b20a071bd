/* labels: sanitize */
/* Speech at other speeds: the sound of speed 1, stretched as a whole, however it is made and pulled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "audio/stretch.h"
#include "support/speak.h"

#include <math.h>

static const char text[] = "It's a fine day, isn't it? The three of us should go out.";
static const char story[] = "One day a man came to town. He said nothing, which was strange! Nobody knew him. The end.";
static const double speeds[] = {0.25, 0.8, 1.25, 4};
enum { SPEEDS = sizeof speeds / sizeof speeds[0], GROUPS = 16, REFERENCE = 30, WIDTH = 32 };

static parley_tts_options sampled(const parley_model *model, int frames)
{
    parley_tts_options o = plain_options(model, frames);
    o.talker.temperature = o.predictor.temperature = 0.9f;
    o.seed = 11;
    return o;
}

static void add_reference(parley_tts_options *o)
{
    static float vector[WIDTH];
    static int32_t codes[REFERENCE * GROUPS];
    for (int i = 0; i < REFERENCE * GROUPS; i++)
        codes[i] = i * 31 % 64;
    for (int i = 0; i < WIDTH; i++)
        vector[i] = 0.01f * (float)i;
    o->xvector = vector;
    o->xvector_length = WIDTH;
    o->ref_codes = codes;
    o->ref_frames = REFERENCE;
    o->ref_text = "so it was";
}

/* `plain` is the speech at speed 1. */
static void check_speed(const parley_model *model, const speech *plain, const speech *other, double speed)
{
    pl_arena arena;
    pl_stretch *s = NULL;
    parley_error error;
    pl_arena_init(&arena, NULL, 1 << 14);
    check_ok(pl_stretch_open(&arena, parley_model_info(model)->sample_rate, speed, &s, &error), &error);
    size_t count = pl_stretch_gives(s, plain->samples, true);
    float *expected = malloc(count * sizeof *expected + 1);
    pl_stretch_push(s, plain->pcm, plain->samples, true, expected);
    assert_int_equal(count, floor((double)plain->samples / speed + 0.5));
    assert_int_equal(other->samples, count);
    assert_int_equal(other->result.samples, count);
    assert_memory_equal(other->pcm, expected, count * sizeof *expected);
    assert_int_equal(other->frames, plain->frames);
    assert_memory_equal(other->codes, plain->codes, plain->frames * plain->groups * sizeof *plain->codes);
    assert_int_equal(other->result.finish, plain->result.finish);
    assert_true(other->result.times.first_frame > 0);
    free(expected);
    pl_arena_free(&arena);
}

/* At all speeds, pulled in pieces of several sizes and stepped. */
static void check_speeds(const parley_model *model, parley_tts_options o, const char *words)
{
    static const size_t at_once[] = {1, 777, 100000};
    speech plain = speak(model, &o, words);
    assert_true(plain.samples > 0);
    for (int i = 0; i < SPEEDS; i++) {
        o.speed = speeds[i];
        for (size_t k = 0; k < sizeof at_once / sizeof at_once[0]; k++) {
            speech s = finish(start(model, &o, words), at_once[k]);
            check_speed(model, &plain, &s, speeds[i]);
            free_speech(&s);
        }
    }
    free_speech(&plain);
}

static void whole_texts(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads += 7) { /* 8: the codec beside the frames */
        parley_model *model = open_model(MODEL("tts_a_custom"), NULL, threads, NULL);
        check_speeds(model, sampled(model, 20), text);
        check_speeds(model, sampled(model, 1), text);
        parley_model_close(model);
    }
}

/* Pauses are stretched with the speech, and the pieces as one sound. */
static void pieces_and_pauses(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 7);
    o.piece_length = 20;
    o.pause_seconds = 0.15;
    check_speeds(model, o, story);
    parley_model_close(model);
}

static void references_and_their_cut(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_base"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 9);
    add_reference(&o);
    check_speeds(model, o, text);
    o.exact_cut = true;
    check_speeds(model, o, text);
    parley_model_close(model);
}

static void batches(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 12);
    parley_tts *sessions[SPEEDS + 1];
    speech plain = speak(model, &o, text);
    size_t running = 1;
    for (int i = 0; i <= SPEEDS; i++) {
        o.speed = i < SPEEDS ? speeds[i] : 1;
        sessions[i] = start(model, &o, text);
    }
    while (running > 0)
        check_ok(parley_tts_step(sessions, SPEEDS + 1, &running, NULL), NULL);
    for (int i = 0; i < SPEEDS; i++) {
        speech s = finish(sessions[i], 4096);
        check_speed(model, &plain, &s, speeds[i]);
        free_speech(&s);
    }
    speech last = finish(sessions[SPEEDS], 4096);
    same_speech(&plain, &last);
    free_speech(&last);
    free_speech(&plain);
    parley_model_close(model);
}

/* Live text: what can be heard before the text has ended is a beginning of the whole. */
static void live_text(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_tts_options o = sampled(model, 90);
    parley_error error = {0};
    o.layout = PARLEY_LAYOUT_STREAMING;
    o.speed = 1.25;
    speech whole = speak(model, &o, text);
    float *early = malloc((whole.samples + 1) * sizeof *early);
    size_t count = 1, got = 0;
    parley_tts *session = NULL;
    o.live_text = true;
    check_ok(parley_tts_open(model, &o, &session, &error), &error);
    size_t half = strlen(text) / 2;
    for (size_t at = 0; at < half; at++) {
        check_ok(parley_tts_push_text(session, text + at, 1, &error), &error);
        for (count = 1; count > 0; got += count)
            check_ok(parley_tts_pull(session, early + got, whole.samples + 1 - got, &count, &error), &error);
    }
    assert_true(parley_tts_waiting(session) && got > 0 && got < whole.samples);
    assert_memory_equal(early, whole.pcm, got * sizeof *early);
    check_ok(parley_tts_push_text(session, text + half, strlen(text + half), &error), &error);
    check_ok(parley_tts_finish_text(session, &error), &error);
    speech rest = finish(session, 4096);
    assert_int_equal(got + rest.samples, whole.samples);
    assert_memory_equal(rest.pcm, whole.pcm + got, rest.samples * sizeof *rest.pcm);
    free(early);
    free_speech(&rest);
    free_speech(&whole);
    parley_model_close(model);
}

/* The first frame is heard at once, and a cancelled speech is stretched to its end. */
static void first_sound_and_cancelling(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 1, NULL);
    parley_tts_options o = sampled(model, 40);
    for (int i = 0; i < SPEEDS; i++) {
        parley_tts_result r = {.size = sizeof r};
        size_t running = 0;
        o.speed = speeds[i];
        parley_tts *session = start(model, &o, text);
        check_ok(parley_tts_step(&session, 1, &running, NULL), NULL);
        parley_tts_result_get(session, &r);
        assert_int_equal(r.frames, 1);
        assert_true(parley_tts_ready(session) >= 240 && parley_tts_ready(session) == r.samples);
        parley_tts_cancel(session);
        speech s = finish(session, 4096);
        assert_int_equal(s.result.finish, PARLEY_FINISH_CANCELLED);
        assert_int_equal(s.samples, floor(1920 / speeds[i] + 0.5));
        free_speech(&s);
        session = start(model, &o, text);
        parley_tts_cancel(session);
        s = finish(session, 4096);
        assert_int_equal(s.samples, 0);
        free_speech(&s);
    }
    parley_model_close(model);
}

static void wrong_speeds(void **state)
{
    (void)state;
    const double wrong[] = {0, -1, 0.24, 4.01, NAN, INFINITY};
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 1, NULL);
    parley_tts_options o = plain_options(model, 2);
    assert_true(o.speed == 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        parley_tts *session = NULL;
        parley_error error = {0};
        o.speed = wrong[i];
        assert_int_equal(parley_tts_open(model, &o, &session, &error), PARLEY_ARGUMENT);
        assert_non_null(strstr(error.text, "speed: "));
        assert_non_null(strstr(error.text, "expected 0.25 to 4"));
    }
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_texts),  cmocka_unit_test(pieces_and_pauses), cmocka_unit_test(references_and_their_cut),
        cmocka_unit_test(batches),      cmocka_unit_test(live_text),         cmocka_unit_test(first_sound_and_cancelling),
        cmocka_unit_test(wrong_speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
