/* Sessions of recognition: which samples are heard, whatever the length; what is not believed at once; memory that does not grow with the sound. */
#include "limit_allocator.h"

#include "models/qwen3_asr/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/listen.h"
#include "support/random.h"

enum { RATE = PARLEY_ASR_RATE };

/* ------------------------------------------------------------------ silence */

static sound noise(double seconds)
{
    sound s = {NULL, (size_t)llround(seconds * RATE)};
    test_random r = {11};
    s.samples = malloc(s.count * sizeof *s.samples);
    assert_non_null(s.samples);
    for (size_t i = 0; i < s.count; i++)
        s.samples[i] = test_float(&r, 0.1f);
    return s;
}

static void put_clip(sound *s, double at, const char *name)
{
    sound clip = clips(&name, 1);
    memcpy(s->samples + (size_t)(at * RATE), clip.samples, clip.count * sizeof *clip.samples);
    free(clip.samples);
}

/* The model is asked about the segments that have some of the sound from `from` to `to`, seconds, and about no other. */
static void asked(const parley_model *model, const parley_asr_options *options, const sound *s, double from, double to)
{
    parley_asr *session = open_session(model, options);
    parley_asr_result r;
    push(session, s->samples, s->count);
    end_sound(session);
    run_session(session);
    parley_asr_result_get(session, &r);
    for (size_t i = 0; i < r.n_segments; i++) {
        const parley_asr_segment *g = &r.segments[i];
        bool wanted = g->start < to && g->end > from;
        if ((g->n_tokens > 0) != wanted)
            fail_msg("segment %g to %g s: %zu tokens", g->start, g->end, g->n_tokens);
        if (!wanted)
            assert_true(g->no_speech && !g->text[0] && !g->language[0] && g->finish == PARLEY_FINISH_STOP);
    }
    parley_asr_close(session);
}

static void ignore(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    (void)context, (void)name, (void)type, (void)data, (void)shape, (void)rank;
}

static void silence_is_not_heard(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_asr_options o = plain(model), off = o, tapped = o, given = o, stream;
    sound s = noise(21.1);
    o.segment_seconds = off.segment_seconds = 10;
    assert_true(o.speech_gate);
    asked(model, &o, &s, 0, 0);
    off.speech_gate = false;
    asked(model, &off, &s, 0, 22);
    tapped.tap = ignore;
    asked(model, &tapped, &s, 0, 22);
    given.budget = PARLEY_TOKENS_GIVEN;
    given.max_tokens = 2;
    asked(model, &given, &s, 0, 22);
    put_clip(&s, 12, "chirp");
    asked(model, &o, &s, 12, 13.3);
    stream = o;
    stream.stream = true;
    parley_asr *session = open_session(model, &stream);
    parley_error error = {0};
    parley_asr_update u;
    bool got = true, heard = false;
    push(session, s.samples, s.count);
    end_sound(session);
    for (check_ok(parley_asr_poll(session, &u, &got, &error), &error); got; check_ok(parley_asr_poll(session, &u, &got, &error), &error)) {
        assert_true(u.end > 12 || (u.no_speech && u.length == 0 && !heard));
        heard = heard || u.length > 0;
    }
    assert_true(heard);
    parley_asr_close(session);
    free(s.samples);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ loops */

/* A segment that is said to have looped is heard in two halves, in its place among the others. */
static void loops_are_heard_in_halves(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = repeated(20);
    parley_asr_options o = plain(model);
    parley_asr_result r;
    o.segment_seconds = 5;
    parley_asr *session = open_session(model, &o);
    asr_session *inner = (asr_session *)session;
    push(session, s.samples, s.count);
    end_sound(session);
    int n = inner->n_segments;
    asr_segment *g = &inner->segments[1], old = *g;
    parley_finish finish = PARLEY_FINISH_STOP;
    bool again;
    g->guarded = true;
    g->result.text = "again and again";
    assert_int_equal(pl_asr_doubt(inner, g, &finish, &again, NULL), PARLEY_OK);
    assert_true(again && g->stage == ASR_LOOPED);
    inner->begun = 2;
    assert_int_equal(pl_asr_split_looped(inner, NULL), PARLEY_OK);
    assert_int_equal(inner->n_segments, n + 1);
    g = &inner->segments[1];
    assert_true(g[0].first == old.first && g[1].first == old.first + g[0].samples && g[0].samples + g[1].samples == old.samples);
    assert_true(llabs((long long)(g[0].samples - old.samples / 2)) <= old.samples / 10);
    run_session(session);
    parley_asr_result_get(session, &r);
    check_tiles(&r, s.count, 5);
    for (size_t i = 0; i < r.n_segments; i++)
        assert_int_equal(r.segments[i].looped, i == 1 || i == 2);
    inner->segments[1].guarded = true; /* a half is not cut again */
    assert_int_equal(pl_asr_doubt(inner, &inner->segments[1], &finish, &again, NULL), PARLEY_OK);
    assert_false(again);
    parley_asr_close(session);
    free(s.samples);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ echoes */

/* A word of the context that is really said stays, and is told. */
static void echoes_that_are_speech_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"chirp"};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = clips(names, 1);
    parley_asr_options o = plain(model);
    parley_asr_result r;
    static const struct {
        const char *context, *text;
        bool echoed;
    } rows[] = {{"", "hello world", false}, {"hello world", "hello world", true}, {"kernel, cache; eBay", "hello kernel.", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        o.context = rows[i].context;
        parley_asr *session = open_session(model, &o);
        push(session, s.samples, s.count);
        end_sound(session);
        run_session(session);
        parley_asr_result_get(session, &r);
        assert_string_equal(r.text, rows[i].text);
        assert_int_equal(r.segments[0].echoed, rows[i].echoed);
        assert_true(!r.segments[0].no_speech && r.segments[0].n_tokens > 0 && r.finish == PARLEY_FINISH_STOP);
        parley_asr_close(session);
    }
    free(s.samples);
    parley_model_close(model);
}

/* With this context the model has words for a hum; without it none. The gate, which would not have asked, is open. */
static void echoes_in_a_hum_go(void **state)
{
    (void)state;
    static const char *const names[] = {"hum"};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = clips(names, 1);
    parley_asr_options o = plain(model);
    parley_asr_result r;
    o.speech_gate = false;
    o.context = "laugh ha ha oh";
    parley_asr *session = open_session(model, &o);
    push(session, s.samples, s.count);
    end_sound(session);
    run_session(session);
    parley_asr_result_get(session, &r);
    assert_true(r.segments[0].echoed && r.segments[0].no_speech && !r.text[0] && !r.language[0] && r.segments[0].n_tokens > 0);
    parley_asr_close(session);
    free(s.samples);
    parley_model_close(model);
}

/* What the second hearing, without the context, decides. */
static void echoes_of_nothing_go(void **state)
{
    (void)state;
    static const struct {
        const char *bare;
        parley_finish finish, wanted;
        bool stays;
    } rows[] = {{"", PARLEY_FINISH_STOP, PARLEY_FINISH_STOP, false},
                {"colonel", PARLEY_FINISH_STOP, PARLEY_FINISH_STOP, true},
                {"colonel", PARLEY_FINISH_LENGTH, PARLEY_FINISH_STOP, true},
                {"", PARLEY_FINISH_CANCELLED, PARLEY_FINISH_CANCELLED, true}};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, NULL);
    parley_asr_options o = plain(model);
    o.context = "kernel, cache";
    parley_asr *session = open_session(model, &o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asr_segment g = {.samples = RATE, .n_tokens = 3, .result = {.text = "Cache.", .language = "English"}};
        parley_finish finish = PARLEY_FINISH_STOP;
        bool again;
        assert_int_equal(pl_asr_doubt((asr_session *)session, &g, &finish, &again, NULL), PARLEY_OK);
        assert_true(again && g.bare && g.result.echoed && g.stage == ASR_WAITING && g.n_tokens == 0);
        g.result.text = rows[i].bare;
        finish = rows[i].finish;
        assert_int_equal(pl_asr_doubt((asr_session *)session, &g, &finish, &again, NULL), PARLEY_OK);
        assert_true(!again && g.result.echoed && g.result.no_speech == !rows[i].stays && finish == rows[i].wanted);
        assert_string_equal(g.result.text, rows[i].stays ? "Cache." : "");
        assert_string_equal(g.result.language, rows[i].stays ? "English" : "");
        assert_int_equal(g.n_tokens, rows[i].stays ? 3 : 0);
    }
    parley_asr_close(session);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ memory */

/* Segments in work are bounded by what their caches may hold; work space by the positions of a step: of 20 minutes a part is held at a time. */
static void memory_is_bounded(void **state)
{
    (void)state;
    limit_allocator counter = {.limit = SIZE_MAX / 2, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&counter);
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, &allocator);
    size_t before = counter.held, most[2];
    for (int k = 0; k < 2; k++) {
        sound s = repeated(k ? 1200 : 240);
        parley_asr_options o = plain(model);
        o.budget = PARLEY_TOKENS_GIVEN;
        o.max_tokens = 4;
        parley_asr *session = open_session(model, &o);
        push(session, s.samples, s.count);
        end_sound(session);
        counter.most = counter.held;
        run_session(session);
        most[k] = counter.most - before - s.count * sizeof *s.samples;
        parley_asr_close(session);
        free(s.samples);
    }
    assert_in_range(most[1], 1, most[0] * 2 + most[0] / 10); /* a batch of 4 for one of 2 */
    parley_model_close(model);
    assert_int_equal(counter.held, 0);
}

/* Where the caches may hold no more, a segment waits for the one before it, whichever session it is of. The texts are the same. */
static void segments_wait_for_room(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr_options o = plain(model);
    char text[2][1024];
    o.segment_seconds = 3;
    for (int narrow = 0; narrow < 2; narrow++) {
        parley_asr *sessions[2] = {open_session(model, &o), open_session(model, &o)};
        int most = 0;
        for (int i = 0; i < 2; i++) {
            push(sessions[i], s.samples, s.count);
            end_sound(sessions[i]);
            if (narrow)
                ((asr_session *)sessions[i])->most_cached = 1;
        }
        double before = 0;
        for (size_t running = 2; running;) {
            parley_error errors[2] = {{0}};
            parley_asr_result r;
            int at_once = 0;
            check_ok(parley_asr_step(sessions, 2, &running, errors), &errors[0]);
            parley_asr_result_get(sessions[0], &r);
            assert_true(r.heard_seconds >= before && r.heard_seconds <= r.audio_seconds);
            assert_true(r.finish == PARLEY_FINISH_NONE || r.heard_seconds == r.audio_seconds);
            before = r.heard_seconds;
            for (int i = 0; i < 2; i++)
                for (int g = 0; g < ((asr_session *)sessions[i])->n_segments; g++)
                    at_once += ((asr_session *)sessions[i])->segments[g].kv.bytes > 0;
            most = at_once > most ? at_once : most;
        }
        assert_true(narrow ? most == 1 : most > 4);
        parley_asr_result r;
        parley_asr_result_get(sessions[1], &r);
        snprintf(text[narrow], sizeof text[narrow], "%s", r.text);
        parley_asr_close(sessions[0]);
        parley_asr_close(sessions[1]);
    }
    assert_string_equal(text[0], text[1]);
    free(s.samples);
    parley_model_close(model);
}

/* Each segment is answered while the next one is being encoded, which waits for room then. The text is the same. */
static void the_next_segment_is_encoded_beside(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr_options o = plain(model);
    o.segment_seconds = 3;
    o.batch = 1;
    parley_asr *sessions[2];
    for (int i = 0; i < 2; i++) {
        sessions[i] = open_session(model, &o);
        push(sessions[i], s.samples, s.count);
        end_sound(sessions[i]);
    }
    run_session(sessions[1]);
    const asr_session *session = (asr_session *)sessions[0];
    const pl_asr_ops *ops = sessions[0]->ops;
    parley_error error = {0};
    size_t running;
    assert_false(ops->can_step(sessions[0]));
    for (int next = 0; next < session->n_segments; next++) {
        assert_true(ops->wants_preparing(sessions[0]));
        while (ops->can_step(sessions[0]))
            check_ok(ops->step(sessions, 1, 16, &running, &error), &error);
        assert_int_equal(session->done, next);
        assert_true(session->segments[next].kv.bytes == 0);
        ops->prepare(sessions[0]);
    }
    assert_false(ops->wants_preparing(sessions[0]));
    while (ops->can_step(sessions[0]))
        check_ok(ops->step(sessions, 1, 16, &running, &error), &error);
    parley_asr_result r[2];
    for (int i = 0; i < 2; i++)
        parley_asr_result_get(sessions[i], &r[i]);
    assert_int_equal(r[0].finish, PARLEY_FINISH_STOP);
    assert_true(r[0].n_segments > 3);
    assert_string_equal(r[0].text, r[1].text);
    for (int i = 0; i < 2; i++)
        parley_asr_close(sessions[i]);
    free(s.samples);
    parley_model_close(model);
}

/* A prompt of more positions than a step takes gives the same bits as one that a tap keeps whole, alone and among others. */
static void prompts_in_pieces(void **state)
{
    (void)state;
    enum { TOKENS = 4 };
    static const double lengths[] = {70, 3, 50, 90};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_asr *together[4];
    sound s = repeated(90);
    parley_asr_options o = plain(model), whole;
    o.budget = PARLEY_TOKENS_GIVEN;
    o.max_tokens = TOKENS;
    whole = o;
    whole.tap = ignore;
    for (int i = 0; i < 4; i++) {
        together[i] = open_session(model, &o);
        push(together[i], s.samples + 1000 * i, (size_t)(lengths[i] * RATE) - 3000);
        end_sound(together[i]);
    }
    parley_error errors[4] = {{0}};
    for (size_t running = 4; running;)
        check_ok(parley_asr_step(together, 4, &running, errors), &errors[0]);
    for (int i = 0; i < 4; i++) {
        parley_asr_result a, b;
        parley_asr *alone = open_session(model, &whole);
        push(alone, s.samples + 1000 * i, (size_t)(lengths[i] * RATE) - 3000);
        end_sound(alone);
        run_session(alone);
        parley_asr_result_get(alone, &a);
        parley_asr_result_get(together[i], &b);
        assert_int_equal(a.segments[0].n_tokens, b.segments[0].n_tokens);
        assert_memory_equal(a.segments[0].token_ids, b.segments[0].token_ids, a.segments[0].n_tokens * sizeof(int32_t));
        assert_memory_equal(a.segments[0].logprobs, b.segments[0].logprobs, a.segments[0].n_tokens * sizeof(float));
        parley_asr_close(alone);
        parley_asr_close(together[i]);
    }
    free(s.samples);
    parley_model_close(model);
}

/* The estimate that admits segments is of the size of what they hold. */
static void appetites(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, NULL);
    sound s = repeated(60);
    parley_asr_options o = plain(model);
    o.budget = PARLEY_TOKENS_GIVEN;
    o.max_tokens = 4;
    parley_asr *session = open_session(model, &o);
    push(session, s.samples, s.count);
    end_sound(session);
    uint64_t bytes = pl_asr_appetite((asr_session *)session, &((asr_session *)session)->segments[0]);
    parley_asr_result r;
    run_session(session);
    parley_asr_result_get(session, &r);
    assert_in_range(bytes, r.kv_bytes, r.kv_bytes * 2);
    parley_asr_close(session);
    free(s.samples);
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_not_heard),        cmocka_unit_test(loops_are_heard_in_halves),
        cmocka_unit_test(echoes_that_are_speech_stay), cmocka_unit_test(echoes_in_a_hum_go),
        cmocka_unit_test(echoes_of_nothing_go),        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(segments_wait_for_room),      cmocka_unit_test(appetites),
        cmocka_unit_test(prompts_in_pieces),           cmocka_unit_test(the_next_segment_is_encoded_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
