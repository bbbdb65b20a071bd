/* labels: threads sanitize */
/* Cancelling ends a request whatever others do: before it is queued, in the queue, in front of long work, inside of it. */
#include "support/clip_mel.h"
#include "support/counting.h"

#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "support/engine.h"

#include <sched.h>

static void count_notice(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void check_cancelled(parley_request *request, double seconds)
{
    parley_event event;
    parley_request_progress p;
    assert_int_equal(parley_request_next(request, seconds, &event), PARLEY_EVENT_END);
    assert_int_equal(event.status, PARLEY_CANCELLED);
    assert_int_equal(event.finish, PARLEY_FINISH_CANCELLED);
    parley_request_progress_get(request, &p);
    assert_int_equal(p.state, PARLEY_REQUEST_ENDED);
    assert_int_equal(p.kv_bytes, 0);
}

static void hear_out(parley_request *request)
{
    parley_event event;
    while (parley_request_next(request, 60, &event) != PARLEY_EVENT_END)
        assert_int_not_equal(event.kind, PARLEY_EVENT_NONE);
    assert_int_equal(event.status, PARLEY_OK);
    parley_request_release(request);
}

static parley_request *say(parley_engine *engine, const parley_tts_options *options, const char *text)
{
    parley_request *request = NULL;
    parley_error error = {0};
    check_ok(parley_engine_speak(engine, options, NULL, &request, &error), &error);
    check_ok(parley_request_push_text(request, text, strlen(text), &error), &error);
    check_ok(parley_request_finish_text(request, &error), &error);
    return request;
}

/* ------------------------------------------------------------------ before the queue */

/* The engine's thread tells it, once; then the engine holds nothing of it. */
static void check_told(parley_engine *engine, parley_request *request, const atomic_int *notices, const counting *memory, size_t open)
{
    parley_engine_figures f;
    assert_true(parley_engine_drain(engine, 60));
    assert_int_equal(atomic_load(notices), 1);
    parley_request_release(request);
    assert_int_equal(memory->held, open);
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.accepted + f.cancelled + f.refused, 0);
}

static void test_speech_that_is_not_queued(void **state)
{
    (void)state;
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, &allocator);
    for (int live = 0; live < 2; live++) {
        atomic_int notices = 0;
        parley_engine *engine = open_engine(model, NULL);
        size_t open = memory.held;
        parley_tts_options o = plain_options(model, 10);
        parley_request_options ro;
        parley_request *request = NULL;
        parley_error error = {0};
        parley_request_options_init(&ro);
        ro.notify = count_notice;
        ro.notify_context = &notices;
        o.live_text = live;
        o.layout = live ? PARLEY_LAYOUT_STREAMING : PARLEY_LAYOUT_FULL;
        check_ok(parley_engine_speak(engine, &o, &ro, &request, &error), &error);
        check_ok(parley_request_push_text(request, "one", live ? 0 : 3, &error), &error);
        parley_request_cancel(request);
        check_cancelled(request, 0);
        parley_request_cancel(request);
        assert_int_equal(parley_request_push_text(request, "two", 3, &error), PARLEY_STATE);
        assert_int_equal(parley_request_finish_text(request, &error), PARLEY_STATE);
        check_told(engine, request, &notices, &memory, open);
        parley_engine_close(engine);
    }
    parley_model_close(model);
}

static void test_sound_that_is_not_queued(void **state)
{
    (void)state;
    static const float sound[PARLEY_ASR_RATE];
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, &allocator);
    parley_engine *engine = open_engine(model, NULL);
    size_t open = memory.held;
    atomic_int notices = 0;
    parley_request_options ro;
    parley_request *request = NULL;
    parley_error error = {0};
    parley_request_options_init(&ro);
    ro.notify = count_notice;
    ro.notify_context = &notices;
    check_ok(parley_engine_hear(engine, NULL, &ro, &request, &error), &error);
    check_ok(parley_request_push_sound(request, sound, PARLEY_ASR_RATE, &error), &error);
    parley_request_cancel(request);
    check_cancelled(request, 0);
    assert_int_equal(parley_request_push_sound(request, sound, 1, &error), PARLEY_STATE);
    assert_int_equal(parley_request_finish_sound(request, &error), PARLEY_STATE);
    check_told(engine, request, &notices, &memory, open);
    parley_engine_close(engine);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ behind others */

/* The one that runs is stopped in the middle of its work. */
static void test_in_the_queue(void **state)
{
    (void)state;
    gate g = GATE;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine_options eo;
    parley_engine_options_init(&eo);
    eo.max_active = 1;
    parley_engine *engine = open_engine(model, &eo);
    parley_tts_options o = plain_options(model, 10), tapped = o;
    tapped.tap = gate_tap;
    tapped.tap_context = &g;
    parley_request *runs = say(engine, &tapped, "one"), *waits[3];
    gate_wait(&g);
    for (int i = 0; i < 3; i++)
        waits[i] = say(engine, &o, "two");
    parley_request_cancel(waits[1]);
    check_cancelled(waits[1], 0);
    parley_request_progress p;
    parley_request_progress_get(waits[2], &p);
    assert_int_equal(p.ahead, 1);
    parley_request_release(waits[1]);
    gate_open(&g);
    hear_out(runs);
    hear_out(waits[0]);
    hear_out(waits[2]);
    parley_engine_figures f;
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.accepted, 4);
    assert_int_equal(f.cancelled, 1);
    assert_int_equal(f.stopped + f.cut, 3);
    parley_engine_close(engine);
    parley_model_close(model);
}

static parley_request *hear(parley_engine *engine, const parley_asr_options *options, const clip_audio *audio)
{
    parley_request *request = NULL;
    parley_error error = {0};
    float *samples = malloc((size_t)audio->count * sizeof *samples);
    for (int64_t i = 0; i < (int64_t)audio->count; i++)
        samples[i] = (float)audio->samples[i];
    check_ok(parley_engine_hear(engine, options, NULL, &request, &error), &error);
    check_ok(parley_request_push_sound(request, samples, (size_t)audio->count, &error), &error);
    check_ok(parley_request_finish_sound(request, &error), &error);
    free(samples);
    return request;
}

/* Sound that waits to be encoded behind one that takes long. */
static void test_in_front_of_long_work(void **state)
{
    (void)state;
    gate g = GATE;
    clip_audio audio = {0};
    clip_append(&audio, "bells");
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    parley_asr_options o, tapped;
    parley_asr_options_init(model, &o);
    tapped = o;
    tapped.tap = gate_tap;
    tapped.tap_context = &g;
    parley_request *runs = hear(engine, &tapped, &audio), *waits[3];
    gate_wait(&g);
    for (int i = 0; i < 3; i++)
        waits[i] = hear(engine, &o, &audio);
    parley_engine_figures f = {.jobs = 0};
    while (f.jobs < 4) {
        sched_yield();
        parley_engine_figures_get(engine, &f);
    }
    for (int i = 2; i > 0; i--) { /* the last one, one in the middle */
        parley_request_cancel(waits[i]);
        check_cancelled(waits[i], 60);
        parley_request_release(waits[i]);
    }
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.jobs, 2);
    gate_open(&g);
    hear_out(runs);
    hear_out(waits[0]);
    parley_engine_close(engine);
    parley_model_close(model);
    free(audio.samples);
}

/* ------------------------------------------------------------------ inside of long work */

/* Each of the two encoders looks whether anybody still waits for it. */
static void test_inside_of_a_voice(void **state)
{
    (void)state;
    enum { SAMPLES = 24000 };
    parley_open_options open;
    parley_model *model = NULL;
    parley_error error = {0};
    parley_open_options_init(&open);
    open.parts = PARLEY_PARTS_CLONE;
    open.threads = 1;
    check_ok(parley_model_open(MODEL("tts_a_base"), &open, &model, &error), &error);
    for (int codes = 0; codes < 2; codes++) {
        parley_engine engine = {.model = model, .allocator = model->env.allocator};
        parley_request request = {.engine = &engine, .ops = &pl_voice_ops};
        float *pcm = pl_alloc(&engine.allocator, SAMPLES, sizeof *pcm);
        memset(pcm, 0, SAMPLES * sizeof *pcm);
        pl_lock_init(&engine.lock);
        pl_arena_init(&request.work.arena, &engine.allocator, 64);
        request.work.pcm = pcm;
        request.work.samples = SAMPLES;
        request.work.encode = (parley_encode_options){.size = sizeof request.work.encode, .vector = !codes, .codes = codes};
        request.ops->cancel(&request);
        request.ops->job(&request);
        assert_true(request.work.done);
        assert_int_equal(request.failure.status, PARLEY_CANCELLED);
        request.ops->close(&request);
        pl_lock_destroy(&engine.lock);
    }
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speech_that_is_not_queued), cmocka_unit_test(test_sound_that_is_not_queued), cmocka_unit_test(test_in_the_queue),
        cmocka_unit_test(test_in_front_of_long_work),     cmocka_unit_test(test_inside_of_a_voice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
