/* labels: threads sanitize */
/* Many requests of speech at once: each gives what a session alone gives; queues, limits, readers that lag, failures, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/counting.h"
#include "support/engine.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

enum { VOICES = 8 };

static const char *const texts[VOICES] = {"One.",
                                          "A second, longer text, which has two parts. This is the other.",
                                          "3",
                                          "The fourth one has more to say than all the others together, has it not?",
                                          "Five five five",
                                          "six",
                                          "Seven. Eight! Nine? And so on, as long as it takes to come to the end of it.",
                                          "And eight."};

static parley_tts_options voice_options(const parley_model *model, int voice)
{
    static const char *const speakers[] = {"serena", "eric", NULL, "dylan"};
    parley_tts_options o = plain_options(model, 5 + voice * 4);
    o.speaker = speakers[voice % 4];
    o.language = voice % 3 ? "english" : "auto";
    o.seed = (uint64_t)voice;
    o.kv = voice % 2 ? PARLEY_KV_F16 : PARLEY_KV_F32;
    if (voice % 2)
        o.talker.temperature = o.predictor.temperature = 0.9f;
    o.layout = voice % 3 == 1 ? PARLEY_LAYOUT_STREAMING : PARLEY_LAYOUT_FULL;
    o.live_text = voice % 3 == 1;
    o.piece_length = voice == 6 ? 20 : 0;
    return o;
}

/* ------------------------------------------------------------------ helpers */

static parley_engine_options defaults(void)
{
    parley_engine_options o;
    parley_engine_options_init(&o);
    return o;
}

static parley_request *ask(parley_engine *engine, const parley_tts_options *options, const parley_request_options *request_options, const char *text)
{
    parley_request *request = NULL;
    parley_error error = {0};
    check_ok(parley_engine_speak(engine, options, request_options, &request, &error), &error);
    for (size_t at = 0, length = strlen(text); at < length; at += 7)
        check_ok(parley_request_push_text(request, text + at, length - at < 7 ? length - at : 7, &error), &error);
    check_ok(parley_request_finish_text(request, &error), &error);
    return request;
}

/* Reads to the end; returns its status. */
static parley_status hear_out(parley_request *request, speech *s)
{
    parley_event event;
    *s = (speech){0};
    while (parley_request_next(request, 60, &event) == PARLEY_EVENT_PCM) {
        assert_int_equal(event.first_sample, s->samples);
        s->pcm = realloc(s->pcm, (s->samples + event.samples) * sizeof *s->pcm);
        memcpy(s->pcm + s->samples, event.pcm, event.samples * sizeof *s->pcm);
        s->samples += event.samples;
    }
    assert_int_equal(event.kind, PARLEY_EVENT_END);
    assert_true(parley_request_speech(request, &s->result));
    s->frames = s->result.frames;
    s->groups = (size_t)s->result.groups;
    s->codes = malloc(s->frames * s->groups * sizeof *s->codes + 1);
    if (s->frames)
        memcpy(s->codes, s->result.codes, s->frames * s->groups * sizeof *s->codes);
    assert_int_equal(event.finish, s->result.finish);
    assert_true((event.status == PARLEY_OK) == (event.error == NULL));
    return event.status;
}

static void check_speech(parley_request *request, const speech *wanted)
{
    speech got;
    assert_int_equal(hear_out(request, &got), PARLEY_OK);
    assert_int_equal(got.result.finish, wanted->result.finish);
    same_speech(wanted, &got);
    free_speech(&got);
    parley_request_release(request);
}

static void speak_alone(const parley_model *model, speech alone[VOICES])
{
    for (int i = 0; i < VOICES; i++) {
        parley_tts_options o = voice_options(model, i);
        alone[i] = speak(model, &o, texts[i]);
    }
}

static void free_all(speech *speeches)
{
    for (int i = 0; i < VOICES; i++)
        free_speech(&speeches[i]);
}

static uint64_t frames_of(parley_request *request)
{
    parley_request_progress progress;
    parley_request_progress_get(request, &progress);
    return progress.frames;
}

static void wait_until_idle(parley_engine *engine)
{
    parley_engine_figures f;
    do
        parley_engine_figures_get(engine, &f);
    while (f.active + f.queued > 0);
}

static parley_request_state state_of(parley_request *request)
{
    parley_request_progress progress;
    parley_request_progress_get(request, &progress);
    return progress.state;
}

/* ------------------------------------------------------------------ equality */

static void test_every_voice_is_what_it_is_alone(void **state)
{
    (void)state;
    static const struct {
        int active, rows, threads;
        double slice;
    } cases[] = {{8, 32, 2, 0.02}, {3, 1, 1, 0.001}, {1, 5, 2, 0.02}, {8, 4096, 3, 0.001}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        parley_model *model = open_model(MODEL("tts_a_custom"), NULL, cases[c].threads, NULL);
        parley_engine_options eo = defaults();
        speech alone[VOICES];
        parley_request *requests[VOICES];
        eo.max_active = cases[c].active;
        eo.prompt_rows = cases[c].rows;
        eo.slice_seconds = cases[c].slice;
        speak_alone(model, alone);
        parley_engine *engine = open_engine(model, &eo);
        for (int i = 0; i < VOICES; i++) {
            parley_tts_options o = voice_options(model, i);
            requests[i] = ask(engine, &o, NULL, texts[i]);
        }
        for (int i = 0; i < VOICES; i++)
            check_speech(requests[i], &alone[i]);
        parley_engine_close(engine);
        free_all(alone);
        parley_model_close(model);
    }
}

static void test_what_came_before_does_not_matter(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    static const int order[] = {0, 3, 0, 6, 5, 0, 1, 0};
    speech alone[VOICES];
    speak_alone(model, alone);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        parley_tts_options o = voice_options(model, order[i]);
        check_speech(ask(engine, &o, NULL, texts[order[i]]), &alone[order[i]]);
    }
    parley_engine_close(engine);
    free_all(alone);
    parley_model_close(model);
}

/* Callers on threads of their own, and a session of the model beside the engine. */
typedef struct caller {
    parley_engine *engine;
    const parley_model *model;
    const speech *alone;
    int voice;
} caller;

static void *call(void *argument)
{
    caller *c = argument;
    for (int i = 0; i < 3; i++) {
        int voice = (c->voice + i) % VOICES;
        parley_tts_options o = voice_options(c->model, voice);
        check_speech(ask(c->engine, &o, NULL, texts[voice]), &c->alone[voice]);
    }
    return NULL;
}

static void test_callers_on_many_threads(void **state)
{
    (void)state;
    enum { CALLERS = 6 };
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    speech alone[VOICES];
    pthread_t threads[CALLERS];
    caller callers[CALLERS];
    speak_alone(model, alone);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){engine, model, alone, i};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        parley_tts_options o = voice_options(model, i);
        speech s = speak(model, &o, texts[i]);
        same_speech(&alone[i], &s);
        free_speech(&s);
    }
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    parley_engine_figures f;
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.accepted, CALLERS * 3);
    assert_int_equal(f.stopped + f.cut, CALLERS * 3);
    assert_int_equal(f.first_audio_count, CALLERS * 3);
    uint64_t counted = 0;
    for (int i = 0; i < PARLEY_LATENCY_BUCKETS; i++)
        counted += f.first_audio[i];
    assert_int_equal(counted, CALLERS * 3);
    assert_int_equal(f.kv_bytes, 0);
    assert_true(f.kv_bytes_most > 0);
    assert_true(f.turn_rows >= f.frames && f.frames > 0);
    parley_engine_close(engine);
    free_all(alone);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ first sound */

static void test_the_first_sound_comes_with_the_first_frame(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    parley_tts_options o = voice_options(model, 3);
    parley_request *request = ask(engine, &o, NULL, texts[3]);
    parley_event event;
    assert_int_equal(parley_request_next(request, 60, &event), PARLEY_EVENT_PCM);
    assert_int_equal(event.frames, 1);
    assert_int_equal(event.first_sample, 0);
    parley_request_release(request);
    parley_engine_close(engine);
    /* The same of a session, whose frames are the caller's steps: sound after frames 1, 3, 7, 15, 23. */
    parley_tts *session = start(model, &o, texts[3]);
    size_t running = 1, made = 0;
    for (size_t frame = 1; running; frame++) {
        assert_int_equal(parley_tts_step(&session, 1, &running, NULL), PARLEY_OK);
        if (!running)
            break;
        made = frame == 1 || frame == 3 || frame == 7 || frame == 15 || frame == 23 ? frame : made;
        assert_int_equal(parley_tts_ready(session), made * 1920);
    }
    parley_tts_close(session);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ readers, cancelling, limits */

static void count_notice(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void test_a_reader_that_lags_holds_nobody_up(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine_options eo = defaults();
    eo.pcm_seconds = 0.16;
    parley_engine *engine = open_engine(model, &eo);
    parley_tts_options slow = voice_options(model, 7), other = voice_options(model, 6);
    slow.max_frames = 60;
    speech alone = speak(model, &slow, texts[7]), alone_other = speak(model, &other, texts[6]);
    atomic_int notices = 0;
    parley_request_options ro;
    parley_request_options_init(&ro);
    ro.notify = count_notice;
    ro.notify_context = &notices;
    parley_request *request = ask(engine, &slow, &ro, texts[7]);
    for (int i = 0; i < 3; i++)
        check_speech(ask(engine, &other, NULL, texts[6]), &alone_other);
    assert_true(alone.frames > 20);
    assert_true(frames_of(request) <= 3); /* two frames fill the buffer, the third came with the second */
    assert_int_equal(state_of(request), PARLEY_REQUEST_ACTIVE);
    check_speech(request, &alone);
    assert_true(atomic_load(&notices) > 5);
    parley_engine_close(engine);
    free_speech(&alone);
    free_speech(&alone_other);
    parley_model_close(model);
}

static void test_cancelling(void **state)
{
    (void)state;
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, &allocator);
    size_t before = memory.held;
    parley_engine_options eo = defaults();
    eo.max_active = 1;
    parley_engine *engine = open_engine(model, &eo);
    size_t open = memory.held;
    parley_tts_options o = voice_options(model, 7);
    o.max_frames = 2000;
    for (int i = 0; i < 5; i++) {
        parley_request *request = ask(engine, &o, NULL, texts[7]), *queued = ask(engine, &o, NULL, texts[0]);
        parley_event event;
        speech s;
        assert_int_equal(parley_request_next(request, 60, &event), PARLEY_EVENT_PCM);
        parley_request_cancel(queued);
        assert_int_equal(hear_out(queued, &s), PARLEY_CANCELLED);
        assert_int_equal(s.frames, 0);
        assert_int_equal(s.result.finish, PARLEY_FINISH_CANCELLED);
        free_speech(&s);
        uint64_t frames = frames_of(request);
        parley_request_cancel(request);
        while (parley_request_next(request, 60, &event) != PARLEY_EVENT_END)
            ;
        assert_int_equal(event.status, PARLEY_CANCELLED);
        assert_true(frames_of(request) <= frames + 2); /* one that was being made, one that had been made */
        parley_request_release(request);
        parley_request_release(queued);
        request = ask(engine, &o, NULL, texts[7]);
        parley_request_release(request); /* somebody who has left */
    }
    assert_true(parley_engine_drain(engine, 60));
    assert_int_equal(memory.held, open);
    parley_engine_close(engine);
    assert_int_equal(memory.held, before);
    parley_model_close(model);
    assert_int_equal(memory.held, 0);
}

/* Cancels its request while frame `at` is computed: the tap is called once a frame, behind the talker's step. */
typedef struct leaver {
    parley_request *request;
    atomic_int steps;
    int at;
} leaver;

static void leave_in_frame(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    leaver *l = context;
    (void)type, (void)data, (void)shape, (void)rank;
    if (!strcmp(name, "hidden") && atomic_fetch_add(&l->steps, 1) + 1 == l->at)
        parley_request_cancel(l->request);
}

static void test_cancelling_within_a_frame_ends_with_that_frame(void **state)
{
    (void)state;
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, &allocator);
    parley_tts_options other = voice_options(model, 6), o = voice_options(model, 3);
    speech alone = speak(model, &other, texts[6]), s;
    parley_engine *engine = open_engine(model, NULL);
    size_t open = memory.held;
    for (int at = 1; at < 8; at++) {
        leaver l = {.at = at};
        parley_error error = {0};
        parley_engine_figures f;
        o.max_frames = 2000;
        o.tap = leave_in_frame;
        o.tap_context = &l;
        check_ok(parley_engine_speak(engine, &o, NULL, &l.request, &error), &error);
        check_ok(parley_request_push_text(l.request, texts[3], strlen(texts[3]), &error), &error);
        check_ok(parley_request_finish_text(l.request, &error), &error);
        assert_int_equal(hear_out(l.request, &s), PARLEY_CANCELLED);
        assert_int_equal(atomic_load(&l.steps), at); /* no further step was begun */
        assert_in_range(s.frames, at - 1, at);
        parley_engine_figures_get(engine, &f);
        assert_int_equal(f.kv_bytes, 0);
        free_speech(&s);
        check_speech(ask(engine, &other, NULL, texts[6]), &alone);
        parley_request_release(l.request);
        wait_until_idle(engine);
        while (memory.held != open) /* the engine's thread may still be letting go */
            sched_yield();
    }
    parley_engine_close(engine);
    free_speech(&alone);
    parley_model_close(model);
}

static void test_limits(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine_options eo = defaults();
    eo.max_active = 1;
    eo.max_queued = 1;
    eo.text_bytes = 100;
    eo.pcm_seconds = 0.16;
    parley_engine *engine = open_engine(model, &eo);
    parley_tts_options o = voice_options(model, 7);
    o.max_frames = 60;
    o.live_text = false;
    parley_error error = {0};
    parley_request *third = NULL;
    parley_request *running = ask(engine, &o, NULL, texts[7]), *queued = ask(engine, &o, NULL, texts[7]);
    check_ok(parley_engine_speak(engine, &o, NULL, &third, &error), &error);
    check_ok(parley_request_push_text(third, "a", 1, &error), &error);
    assert_int_equal(parley_request_finish_text(third, &error), PARLEY_BUSY);
    assert_int_equal(parley_status_http(PARLEY_BUSY), 503);
    parley_request_release(third);
    parley_request_progress progress;
    while (state_of(running) != PARLEY_REQUEST_ACTIVE)
        sched_yield();
    parley_request_progress_get(queued, &progress);
    assert_int_equal(progress.state, PARLEY_REQUEST_QUEUED);
    assert_int_equal(progress.ahead, 0);
    parley_request_release(running);
    parley_event event;
    assert_int_equal(parley_request_next(queued, 60, &event), PARLEY_EVENT_PCM);
    parley_request_release(queued);
    wait_until_idle(engine);

    check_ok(parley_engine_speak(engine, &o, NULL, &third, &error), &error);
    char many[101] = {0};
    check_ok(parley_request_push_text(third, memset(many, 'a', 100), 100, &error), &error);
    assert_int_equal(parley_request_push_text(third, "b", 1, &error), PARLEY_LIMIT);
    check_ok(parley_request_finish_text(third, &error), &error);
    assert_int_equal(parley_request_push_text(third, "b", 1, &error), PARLEY_STATE);
    assert_int_equal(parley_request_push_sound(third, NULL, 0, &error), PARLEY_STATE);
    parley_request_release(third);

    o.speaker = "nobody";
    assert_int_equal(parley_engine_speak(engine, &o, NULL, &third, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "serena"));
    o = voice_options(model, 0);
    check_ok(parley_engine_speak(engine, &o, NULL, &third, &error), &error);
    check_ok(parley_request_push_text(third, " \xFF", 2, &error), &error);
    assert_int_equal(parley_request_finish_text(third, &error), PARLEY_FORMAT);
    assert_int_equal(parley_request_next(third, 0, &event), PARLEY_EVENT_NONE);
    parley_request_release(third);
    parley_engine_figures f;
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.refused, 1);
    assert_true(parley_engine_drain(engine, 60));
    assert_int_equal(parley_engine_speak(engine, &o, NULL, &third, &error), PARLEY_STATE);
    parley_engine_close(engine);
    parley_model_close(model);
}

static void test_deadlines(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine_options eo = defaults();
    eo.max_active = 1;
    eo.pcm_seconds = 0.16;
    parley_engine *engine = open_engine(model, &eo);
    parley_tts_options o = voice_options(model, 7);
    o.max_frames = 60;
    parley_request *endless = ask(engine, &o, NULL, texts[7]); /* nobody reads it */
    parley_request_options ro;
    parley_request_options_init(&ro);
    ro.deadline_seconds = 0.05;
    parley_request *queued = ask(engine, &o, &ro, texts[7]);
    speech s;
    assert_int_equal(hear_out(queued, &s), PARLEY_LATE);
    free_speech(&s);
    parley_request_release(queued);
    parley_request_release(endless);
    parley_request *unread = ask(engine, &o, &ro, texts[7]);
    parley_event event;
    while (state_of(unread) != PARLEY_REQUEST_ENDED)
        sched_yield();
    assert_int_equal(parley_request_next(unread, 0, &event), PARLEY_EVENT_END); /* what is late is of no use */
    assert_int_equal(event.status, PARLEY_LATE);
    parley_request_release(unread);
    parley_engine_figures f;
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.late, 2);
    assert_int_equal(f.cancelled, 1);
    parley_engine_close(engine);
    parley_model_close(model);
}

/* Caches for two requests at most: all are spoken, one that needs more than there is at all is refused. */
static void test_admission_by_memory(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine_options eo = defaults();
    parley_request *requests[VOICES];
    speech alone[VOICES];
    parley_error error = {0};
    speak_alone(model, alone);
    parley_engine *engine = open_engine(model, &eo);
    uint64_t most = 0;
    for (int i = 0; i < VOICES; i++) {
        parley_tts_options o = voice_options(model, i);
        parley_request *request = ask(engine, &o, NULL, texts[i]);
        check_speech(request, &alone[i]);
        parley_engine_figures f;
        parley_engine_figures_get(engine, &f);
        most = f.kv_bytes_most;
        assert_true(most >= alone[i].result.kv_bytes);
    }
    parley_engine_close(engine);
    eo.max_kv_bytes = most + most / 2;
    engine = open_engine(model, &eo);
    for (int i = 0; i < VOICES; i++) {
        parley_tts_options o = voice_options(model, i);
        requests[i] = ask(engine, &o, NULL, texts[i]);
    }
    for (int i = 0; i < VOICES; i++)
        check_speech(requests[i], &alone[i]);
    parley_engine_figures f;
    parley_engine_figures_get(engine, &f);
    assert_true(f.kv_bytes_most <= eo.max_kv_bytes);
    parley_tts_options o = voice_options(model, 0);
    o.max_frames = 5000;
    parley_request *large = NULL;
    check_ok(parley_engine_speak(engine, &o, NULL, &large, &error), &error);
    check_ok(parley_request_push_text(large, "a", 1, &error), &error);
    assert_int_equal(parley_request_finish_text(large, &error), PARLEY_LIMIT);
    parley_request_release(large);
    parley_engine_close(engine);
    free_all(alone);
    parley_model_close(model);
}

/* Live texts that grow beyond what is left: when all wait for room, the last one gives way and the first is spoken. */
static void test_growing_texts_share_what_room_there_is(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine_options eo = defaults();
    parley_tts_options o = voice_options(model, 1);
    parley_error error = {0};
    parley_request *requests[2];
    o.budget = PARLEY_BUDGET_TEXT;
    speech alone = speak(model, &o, texts[6]);
    eo.max_kv_bytes = 6 * (alone.result.kv_bytes + 60000);
    parley_engine *engine = open_engine(model, &eo);
    for (int i = 0; i < 2; i++) {
        check_ok(parley_engine_speak(engine, &o, NULL, &requests[i], &error), &error);
        check_ok(parley_request_push_text(requests[i], "Seven. Eight!", 13, &error), &error);
    }
    for (int i = 0; i < 2; i++)
        while (state_of(requests[i]) == PARLEY_REQUEST_QUEUED)
            sched_yield();
    int ended = 0;
    for (int i = 0; i < 2; i++) {
        check_ok(parley_request_push_text(requests[i], texts[6] + 13, strlen(texts[6]) - 13, &error), &error);
        check_ok(parley_request_finish_text(requests[i], &error), &error);
    }
    for (int i = 0; i < 2; i++) {
        speech s;
        parley_status status = hear_out(requests[i], &s);
        assert_true(status == PARLEY_OK || (status == PARLEY_LIMIT && i == 1));
        if (status == PARLEY_OK)
            same_speech(&alone, &s);
        ended += status == PARLEY_OK;
        free_speech(&s);
        parley_request_release(requests[i]);
    }
    assert_true(ended >= 1);
    free_speech(&alone);
    parley_engine_close(engine);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ failures and memory */

static void test_a_failure_stays_in_its_request(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    parley_tts_options good = voice_options(model, 3), bad = voice_options(model, 1);
    bad.max_frames = 1000;
    parley_error error = {0};
    speech alone = speak(model, &good, texts[3]), s;
    parley_request *first = ask(engine, &good, NULL, texts[3]), *broken = NULL;
    check_ok(parley_engine_speak(engine, &bad, NULL, &broken, &error), &error);
    check_ok(parley_request_push_text(broken, "A good", 6, &error), &error);
    parley_request_progress progress;
    do { /* until the speech has caught up with the text */
        parley_request_progress_get(broken, &progress);
        assert_int_not_equal(progress.state, PARLEY_REQUEST_ENDED);
    } while (!progress.waits_for_text);
    parley_request *second = ask(engine, &good, NULL, texts[3]);
    check_ok(parley_request_push_text(broken, "\xFF\xFF\xFF\xFF\xFF", 5, &error), &error);
    assert_int_equal(hear_out(broken, &s), PARLEY_FORMAT);
    free_speech(&s);
    assert_int_equal(parley_request_push_text(broken, "more", 4, &error), PARLEY_STATE);
    check_speech(first, &alone);
    check_speech(second, &alone);
    parley_request_release(broken);
    parley_engine_figures f;
    parley_engine_figures_get(engine, &f);
    assert_int_equal(f.failed, 1);
    parley_engine_close(engine);
    free_speech(&alone);
    parley_model_close(model);
}

/* One allocation fails, whichever: whoever does not get it says so, the others are what they are alone, nothing is lost. */
static void test_out_of_memory_stays_in_its_request(void **state)
{
    (void)state;
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("tts_c_custom"), NULL, 2, &allocator);
    size_t before = memory.held;
    parley_tts_options o = plain_options(model, 3);
    speech alone = speak(model, &o, "So.");
    int failed = 0;
    for (long n = 0; n < 150; n++) {
        parley_engine *engine = open_engine(model, NULL);
        parley_request *requests[3] = {NULL};
        atomic_store(&memory.until_failure, n);
        for (int i = 0; i < 3; i++) {
            parley_error error = {0};
            parley_status status = parley_engine_speak(engine, &o, NULL, &requests[i], &error);
            if (status == PARLEY_OK)
                status = parley_request_push_text(requests[i], "So.", 3, &error);
            if (status == PARLEY_OK)
                status = parley_request_finish_text(requests[i], &error);
            if (status == PARLEY_OK)
                continue;
            assert_int_equal(status, PARLEY_MEMORY);
            failed++;
            parley_request_release(requests[i]);
            requests[i] = NULL;
        }
        for (int i = 0; i < 3; i++) {
            speech s;
            if (!requests[i])
                continue;
            parley_status status = hear_out(requests[i], &s);
            if (status == PARLEY_OK && s.frames) /* codes are left out where there is no room for them */
                same_speech(&alone, &s);
            else if (status != PARLEY_OK)
                assert_int_equal(status, PARLEY_MEMORY);
            failed += status != PARLEY_OK;
            free_speech(&s);
            parley_request_release(requests[i]);
        }
        atomic_store(&memory.until_failure, -1);
        parley_engine_close(engine);
        assert_int_equal(memory.held, before);
    }
    assert_true(failed > 50 && failed <= 150); /* of each failure one request's, never more */
    free_speech(&alone);
    parley_model_close(model);
    assert_int_equal(memory.held, 0);
}

static void test_two_hundred_requests_leave_the_memory_as_it_was(void **state)
{
    (void)state;
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("tts_c_custom"), NULL, 2, &allocator);
    parley_engine *engine = open_engine(model, NULL);
    size_t before = memory.held;
    for (int round = 0; round < 25; round++) {
        parley_request *requests[VOICES];
        for (int i = 0; i < VOICES; i++) {
            parley_tts_options o = plain_options(model, 1 + (round + i) % 4);
            requests[i] = ask(engine, &o, NULL, texts[i]);
        }
        for (int i = 0; i < VOICES; i++) {
            speech s;
            if (i % 4 == 3)
                parley_request_cancel(requests[i]);
            hear_out(requests[i], &s);
            free_speech(&s);
            parley_request_release(requests[i]);
        }
        while (memory.held != before) /* the engine's thread may still be letting go */
            sched_yield();
    }
    parley_engine_close(engine);
    parley_model_close(model);
    assert_int_equal(memory.held, 0);
}

static void test_closing_with_requests_under_way(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    parley_tts_options o = voice_options(model, 7);
    o.max_frames = 1000;
    for (int i = 0; i < 20; i++) {
        parley_engine *engine = open_engine(model, NULL);
        for (int k = 0; k < 12; k++)
            parley_request_release(ask(engine, &o, NULL, texts[k % VOICES]));
        if (i % 2)
            (void)parley_engine_drain(engine, i % 4 ? 0 : 0.01);
        parley_engine_close(engine);
    }
    parley_engine_close(NULL);
    parley_request_release(NULL);
    parley_model_close(model);
}

static void test_wrong_options(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("tts_c_custom"), NULL, 1, NULL);
    parley_engine *engine = NULL;
    parley_error error = {0};
    for (int i = 0; i < 9; i++) {
        parley_engine_options o = defaults();
        o.size -= i == 0;
        o.max_active = i == 1 ? 0 : i == 2 ? 65 : 8;
        o.max_queued = i == 3 ? -1 : 64;
        o.prompt_rows = i == 4 ? 0 : 32;
        o.slice_seconds = i == 5 ? NAN : 0.02;
        o.pcm_seconds = i == 6 ? 0.1 : 10;
        o.sound_seconds = i == 7 ? 0 : 10;
        o.text_bytes = i == 8 ? 0 : 10;
        assert_int_equal(parley_engine_open(model, &o, &engine, &error), PARLEY_ARGUMENT);
    }
    assert_int_equal(parley_engine_open(NULL, NULL, &engine, &error), PARLEY_ARGUMENT);
    engine = open_engine(model, NULL);
    parley_request *request = NULL;
    parley_request_options ro;
    parley_request_options_init(&ro);
    ro.deadline_seconds = NAN;
    assert_int_equal(parley_engine_speak(engine, NULL, &ro, &request, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_engine_hear(engine, NULL, NULL, &request, &error), PARLEY_FAMILY);
    assert_int_equal(parley_engine_align(engine, &(float){0}, 1, "a", 1, NULL, NULL, &request, &error), PARLEY_FAMILY);
    assert_int_equal(parley_engine_encode_voice(engine, NULL, 0, NULL, NULL, &request, &error), PARLEY_ARGUMENT);
    parley_engine_close(engine);
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_voice_is_what_it_is_alone),
        cmocka_unit_test(test_what_came_before_does_not_matter),
        cmocka_unit_test(test_callers_on_many_threads),
        cmocka_unit_test(test_the_first_sound_comes_with_the_first_frame),
        cmocka_unit_test(test_a_reader_that_lags_holds_nobody_up),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_cancelling_within_a_frame_ends_with_that_frame),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_admission_by_memory),
        cmocka_unit_test(test_growing_texts_share_what_room_there_is),
        cmocka_unit_test(test_a_failure_stays_in_its_request),
        cmocka_unit_test(test_out_of_memory_stays_in_its_request),
        cmocka_unit_test(test_two_hundred_requests_leave_the_memory_as_it_was),
        cmocka_unit_test(test_closing_with_requests_under_way),
        cmocka_unit_test(test_wrong_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
