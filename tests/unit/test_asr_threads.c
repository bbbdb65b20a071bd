/* labels: threads sanitize */
/* Several threads hear with one model: whole sounds, streams, and one that is cancelled from outside. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/listen.h"

typedef struct worker {
    pthread_t thread;
    const parley_model *model;
    const sound *sound;
    bool stream, wrong;
} worker;

static bool hear_whole(const worker *w)
{
    parley_asr_options o = plain(w->model);
    parley_asr *session = NULL;
    parley_asr_result r;
    if (parley_asr_open(w->model, &o, &session, NULL) != PARLEY_OK || parley_asr_push(session, w->sound->samples, w->sound->count, NULL) != PARLEY_OK
        || parley_asr_finish(session, NULL) != PARLEY_OK || parley_asr_run(session, NULL) != PARLEY_OK)
        return false;
    parley_asr_result_get(session, &r);
    bool good = strcmp(r.text, "hello world") == 0;
    parley_asr_close(session);
    return good;
}

static bool hear_stream(const worker *w)
{
    parley_asr_options o = streaming(w->model);
    parley_asr *session = NULL;
    parley_asr_update u = {0};
    bool got = true, good = false;
    if (parley_asr_open(w->model, &o, &session, NULL) != PARLEY_OK || parley_asr_push(session, w->sound->samples, w->sound->count, NULL) != PARLEY_OK
        || parley_asr_finish(session, NULL) != PARLEY_OK)
        return false;
    while (got && parley_asr_poll(session, &u, &got, NULL) == PARLEY_OK)
        good = good || (got && u.final && strcmp(u.text, "hello world") == 0);
    parley_asr_close(session);
    return good;
}

static void *work(void *context)
{
    worker *w = context;
    for (int i = 0; i < 3; i++)
        w->wrong = w->wrong || !(w->stream ? hear_stream(w) : hear_whole(w));
    return NULL;
}

static void sessions_share_a_model(void **state)
{
    (void)state;
    static const char *const names[] = {"chirp"};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = clips(names, 1);
    worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.model = model, .sound = &s, .stream = i % 2};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_false(workers[i].wrong);
    }
    free(s.samples);
    parley_model_close(model);
}

static void *cancel(void *context)
{
    parley_asr_cancel(context);
    return NULL;
}

static void cancelled_from_outside(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    for (int stream = 0; stream < 2; stream++) {
        parley_asr_options o = stream ? streaming(model) : plain(model);
        parley_asr *session = open_session(model, &o);
        parley_asr_update u;
        parley_asr_result r;
        parley_error error = {0};
        pthread_t thread;
        bool got = true;
        push(session, s.samples, s.count);
        end_sound(session);
        assert_int_equal(pthread_create(&thread, NULL, cancel, session), 0);
        while (stream && got)
            check_ok(parley_asr_poll(session, &u, &got, &error), &error);
        if (!stream)
            run_session(session);
        assert_int_equal(pthread_join(thread, NULL), 0);
        parley_asr_result_get(session, &r);
        assert_true(r.finish == PARLEY_FINISH_CANCELLED || r.finish == PARLEY_FINISH_STOP);
        parley_asr_close(session);
    }
    free(s.samples);
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sessions_share_a_model), cmocka_unit_test(cancelled_from_outside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
