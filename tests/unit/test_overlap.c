/* labels: threads */
/* The codec beside the frames that follow it: jobs in the background, and sessions that speak as they do in turn. */
#include "base/background.h"
#include "models/qwen3_tts/overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/npy.h"
#include "support/speak.h"

enum { FRAMES = 40, GROUPS = 16, MANY = 8 /* threads from which on the two overlap */ };

static const char text[] = "It is a fine day.";

/* ------------------------------------------------------------------ jobs */

typedef struct note {
    int *order, *count;
    int name;
} note;

static void write_down(void *context)
{
    const note *n = context;
    n->order[(*n->count)++] = n->name;
}

static void jobs_run_in_order(void **state)
{
    (void)state;
    enum { JOBS = 50 };
    pl_background *background;
    parley_error error;
    int order[JOBS + 1], count = 0;
    note notes[JOBS];
    pl_job jobs[JOBS];
    parley_allocator allocator = pl_default_allocator();
    assert_int_equal(pl_background_open(&allocator, &background, &error), PARLEY_OK);
    assert_false(pl_background_busy(background));
    for (int i = 0; i < JOBS; i++) {
        notes[i] = (note){order, &count, i};
        jobs[i] = (pl_job){.run = write_down, .context = &notes[i]};
        pl_background_submit(background, &jobs[i]);
    }
    pl_background_wait(background, &jobs[JOBS - 1]);
    assert_int_equal(count, JOBS);
    assert_false(pl_background_busy(background));
    for (int i = 0; i < JOBS; i++) {
        assert_true(pl_background_done(background, &jobs[i]));
        assert_int_equal(order[i], i);
    }
    pl_background_submit(background, &jobs[7]); /* a job may be used again */
    pl_background_close(background);            /* finishes what waits */
    assert_int_equal(count, JOBS + 1);
    assert_int_equal(order[JOBS], 7);
    pl_background_close(NULL);
}

/* Threads are shared out, never added to. */
static void threads_are_shared_out(void **state)
{
    (void)state;
    parley_allocator allocator = pl_default_allocator();
    parley_error error;
    tts_overlap o;
    for (int threads = 1; threads <= 16; threads++)
        for (int int8 = 0; int8 < 2; int8++) {
            assert_int_equal(pl_tts_overlap_open(&allocator, threads, int8, &o, &error), PARLEY_OK);
            assert_true((o.thread != NULL) == (threads >= MANY));
            if (o.thread)
                assert_int_equal(pl_pool_threads(o.codec) + pl_pool_threads(o.frames), threads);
            pl_tts_overlap_close(&o);
        }
}

/* ------------------------------------------------------------------ sessions */

/* Codes are forced, so that there are frames enough whatever the model wants to say. */
static parley_tts_options forced(const parley_model *model)
{
    static int32_t codes[FRAMES * GROUPS];
    for (int i = 0; i < FRAMES * GROUPS; i++)
        codes[i] = i * 29 % 64;
    parley_tts_options o = plain_options(model, FRAMES);
    o.teacher = codes;
    o.teacher_frames = FRAMES;
    o.chunk_frames = 3;
    return o;
}

static parley_tts *started(const parley_model *model)
{
    parley_tts_options o = forced(model);
    return start(model, &o, text);
}

static void sessions_speak_as_in_turn(void **state)
{
    (void)state;
    parley_model *in_turn = open_model(MODEL("tts_a_custom"), NULL, 2, NULL), *beside = open_model(MODEL("tts_a_custom"), NULL, MANY, NULL);
    speech want = finish(started(in_turn), 1000);
    assert_int_equal(want.samples, FRAMES * 1920);
    for (int piece = 777; piece < 20000; piece *= 5) {
        speech got = finish(started(beside), (size_t)piece);
        same_speech(&want, &got);
        free_speech(&got);
    }
    parley_tts *batch[3];
    for (int i = 0; i < 3; i++)
        batch[i] = started(beside);
    for (size_t running = 1; running > 0;)
        check_ok(parley_tts_step(batch, 3, &running, NULL), &(parley_error){0});
    for (int i = 0; i < 3; i++) {
        speech got = finish(batch[i], 4000);
        same_speech(&want, &got);
        free_speech(&got);
    }
    free_speech(&want);
    parley_model_close(in_turn);
    parley_model_close(beside);
}

/* Whenever a session ends, what was begun is finished first; PCM and frames agree. */
static void sessions_end_at_any_time(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, MANY, NULL);
    for (int steps = 1; steps <= 12; steps += 3) {
        parley_tts *closed = started(model), *cancelled = started(model);
        size_t running;
        for (int i = 0; i < steps; i++) {
            check_ok(parley_tts_step(&closed, 1, &running, NULL), &(parley_error){0});
            check_ok(parley_tts_step(&cancelled, 1, &running, NULL), &(parley_error){0});
        }
        parley_tts_close(closed);
        parley_tts_cancel(cancelled);
        speech got = finish(cancelled, 500);
        assert_int_equal(got.samples, got.frames * 1920);
        assert_true(got.frames <= (size_t)steps);
        free_speech(&got);
    }
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_run_in_order), cmocka_unit_test(threads_are_shared_out),
                                       cmocka_unit_test(sessions_speak_as_in_turn), cmocka_unit_test(sessions_end_at_any_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
