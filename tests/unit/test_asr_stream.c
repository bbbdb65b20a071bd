/* Streams of recognition: against the whole sound, against other sizes of pushes, over an hour, and what they refuse. */
#include "limit_allocator.h"

#include "engine/model.h"
#include "models/qwen3_asr/stream.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/listen.h"

/* Sanitizers make the hour many. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#if defined(SLOW) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MINUTES = 5 };
#else
enum { MINUTES = 60 };
#endif

static bool poll(parley_asr *session, parley_asr_update *update)
{
    parley_error error = {0};
    bool got;
    check_ok(parley_asr_poll(session, update, &got, &error), &error);
    return got;
}

/* ------------------------------------------------------------------ following a stream */

/* All updates as lines, and the promise that what stands is repeated. */
typedef struct follower {
    char *log; /* every update */
    size_t size;
    char stable[4096]; /* of the current segment */
    size_t length;
    double end; /* of the last final update */
    int partial, final;
    char text[4096]; /* of the last final update */
} follower;

static void note(follower *f, const parley_asr_update *u)
{
    char line[8192];
    int n = snprintf(line, sizeof line, "%d %.6f %.6f %zu %d %s|%s\n", u->final, u->start, u->end, u->stable, (int)u->finish, u->language, u->text);
    assert_true(n > 0 && (size_t)n < sizeof line);
    f->log = realloc(f->log, f->size + (size_t)n + 1);
    assert_non_null(f->log);
    memcpy(f->log + f->size, line, (size_t)n + 1);
    f->size += (size_t)n;
}

static void check_update(follower *f, const parley_asr_update *u)
{
    assert_int_equal(u->length, strlen(u->text));
    assert_true(u->stable <= u->length && u->length < sizeof f->stable);
    assert_int_equal(pl_utf8_check(u->text, u->stable), u->stable);
    assert_true(u->start == f->end && u->end > u->start);
    assert_true(u->stable >= f->length);
    assert_memory_equal(u->text, f->stable, f->length);
    memcpy(f->stable, u->text, u->stable);
    f->length = u->stable;
    f->partial += !u->final;
    f->final += u->final;
    if (!u->final)
        return;
    assert_int_equal(u->stable, u->length);
    f->end = u->end;
    f->length = 0;
    memcpy(f->text, u->text, u->length + 1);
}

static void follow(parley_asr *session, follower *f, bool log)
{
    parley_asr_update u;
    while (poll(session, &u)) {
        check_update(f, &u);
        if (log)
            note(f, &u);
    }
}

/* Pushes pieces of 1, `piece`, 2 * `piece` .. samples, or all at once (0). */
static follower run_stream(const parley_model *model, const parley_asr_options *options, const sound *s, size_t piece)
{
    parley_asr *session = open_session(model, options);
    follower f = {0};
    size_t at = 0;
    for (size_t n = piece ? 1 : s->count; at < s->count; n += piece) {
        n = n > s->count - at ? s->count - at : n;
        push(session, s->samples + at, n);
        at += n;
        if (piece)
            follow(session, &f, true);
    }
    end_sound(session);
    follow(session, &f, true);
    parley_asr_result r;
    parley_asr_result_get(session, &r);
    assert_int_equal(r.finish, PARLEY_FINISH_STOP);
    assert_true(r.audio_seconds == (double)s->count / PARLEY_ASR_RATE && f.end == r.audio_seconds && r.kv_bytes > 0);
    parley_asr_close(session);
    return f;
}

/* ------------------------------------------------------------------ cases */

static void short_clips(void **state)
{
    (void)state;
    static const struct {
        const char *clip, *language, *text;
    } rows[] = {{"chirp", "English", "hello world"}, {"bells", "Chinese", "你好，世界"}, {"bursts", "French", "l'été, 3 fois!"}, {"hum", "", ""}};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_asr_options o = streaming(model);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sound s = clips(&rows[i].clip, 1);
        parley_asr *session = open_session(model, &o);
        parley_asr_update u;
        push(session, s.samples, s.count);
        assert_false(poll(session, &u)); /* shorter than a chunk */
        end_sound(session);
        assert_true(poll(session, &u));
        assert_string_equal(u.text, rows[i].text);
        assert_string_equal(u.language, rows[i].language);
        assert_true(u.final && u.stable == u.length && u.finish == PARLEY_FINISH_STOP && u.no_speech == !rows[i].text[0]);
        assert_true(u.start == 0 && u.end == (double)s.count / PARLEY_ASR_RATE);
        assert_false(poll(session, &u));
        parley_asr_close(session);
        free(s.samples);
    }
    parley_model_close(model);
}

/* A piece of the context is kept where it is heard without the context, too, and then grows as any text; else it is dropped. */
static void echoes(void **state)
{
    (void)state;
    static const struct {
        const char *clips[3], *context, *text;
        int count;
        bool gate, echoed, no_speech;
    } rows[] = {{{"chirp"}, "hello world", "hello world", 1, true, true, false},
                {{"hum"}, "laugh ha ha oh", "", 1, false, true, true},
                {{"hum"}, "laugh ha ha oh", "", 1, true, false, true},
                {{"hum", "hum", "hum"}, "laugh ha ha oh", "", 3, true, false, true}};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parley_asr_options o = streaming(model);
        sound s = clips(rows[i].clips, rows[i].count);
        parley_asr_update u, last = {0};
        o.context = rows[i].context;
        o.speech_gate = rows[i].gate;
        parley_asr *session = open_session(model, &o);
        push(session, s.samples, s.count);
        end_sound(session);
        while (poll(session, &u))
            last = u;
        assert_true(last.final && last.echoed == rows[i].echoed && last.no_speech == rows[i].no_speech);
        assert_int_equal(last.length, strlen(rows[i].text));
        assert_int_equal(last.stable, last.length);
        parley_asr_close(session);
        free(s.samples);
    }
    parley_model_close(model);
}

/* Without a prefix an answer is that of the sound so far, heard as a file: cached windows and what follows them are in their places. */
static void answers_are_those_of_the_sound_so_far(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve(), part = s;
    parley_asr_options o = streaming(model), whole = plain(model);
    o.stream_unfixed_chunks = 100;
    o.stream_chunk_seconds = 0.7;
    parley_asr *session = open_session(model, &o);
    parley_asr_update u;
    char text[1024];
    int updates = 0;
    push(session, s.samples, s.count);
    end_sound(session);
    for (; poll(session, &u); updates++) {
        part.count = (size_t)llround(u.end * PARLEY_ASR_RATE);
        offline(model, &whole, &part, text, sizeof text);
        assert_string_equal(u.text, text);
        assert_int_equal(u.stable, u.final ? u.length : 0);
    }
    assert_int_equal(updates, 17);
    assert_string_equal(text, "一二三 one two");
    parley_asr_close(session);
    free(s.samples);
    parley_model_close(model);
}

static void sizes_of_pushes(void **state)
{
    (void)state;
    static const size_t pieces[] = {997, 16000, 70000};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr_options o = streaming(model);
    o.stream_chunk_seconds = 1;
    o.stream_segment_seconds = 5;
    o.language = "fr";
    o.context = "laugh ha ha oh hello world";
    for (int forced = 0; forced < 2; forced++) {
        o.language = forced ? "fr" : "auto";
        follower whole = run_stream(model, &o, &s, 0);
        assert_true(whole.final >= 3 && whole.partial >= 6);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            follower f = run_stream(model, &o, &s, pieces[i]);
            assert_string_equal(f.log, whole.log);
            free(f.log);
        }
        free(whole.log);
    }
    free(s.samples);
    parley_model_close(model);
}

static void add_text(char *text, size_t size, bool spaced, const char *more)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", spaced ? " " : "", more);
}

/* Texts that are put together as `spaced` says are joined by the library's rule. */
static void spaces(void **state)
{
    (void)state;
    enum { SIZE = 4096, MOST = 40 };
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr_options o = streaming(model), whole = plain(model);
    o.stream_chunk_seconds = 0.5;
    o.stream_segment_seconds = 1;
    whole.segment_seconds = 1;
    char text[SIZE] = "";
    pl_span texts[MOST], joined;
    size_t n = 0, spaced = 0, first = 0;
    pl_arena arena;
    parley_allocator allocator = ((const parley_model *)model)->env.allocator;
    pl_arena_init(&arena, &allocator, SIZE);
    parley_asr *session = open_session(model, &o);
    parley_asr_update u;
    push(session, s.samples, s.count);
    end_sound(session);
    while (poll(session, &u)) {
        if (!u.final || !u.length)
            continue;
        assert_true(n < MOST);
        add_text(text, SIZE, u.spaced, u.text);
        texts[n++] = (pl_span){pl_arena_text(&arena, u.text, u.length), u.length};
        spaced += u.spaced;
    }
    parley_asr_close(session);
    assert_int_equal(pl_texts_join(&arena, texts, n, PL_JOIN_SPACE, &joined, NULL), PARLEY_OK);
    assert_int_equal(strlen(text), joined.length);
    assert_memory_equal(text, joined.text, joined.length);
    assert_true(spaced > 0 && spaced < n - 1);
    parley_asr_result r;
    session = open_session(model, &whole);
    push(session, s.samples, s.count);
    end_sound(session);
    run_session(session);
    parley_asr_result_get(session, &r);
    for (text[0] = '\0'; first < r.n_segments; first++)
        add_text(text, SIZE, r.segments[first].spaced, r.segments[first].text);
    assert_string_equal(text, r.text);
    parley_asr_close(session);
    pl_arena_free(&arena);
    free(s.samples);
    parley_model_close(model);
}

/* What the engine does with a session between two steps. */
static void prepare(parley_asr *session, follower *f)
{
    parley_asr_update u;
    while (session->ops->wants_preparing(session)) {
        session->ops->prepare(session);
        if (!session->ops->take_update(session, &u))
            continue;
        check_update(f, &u);
        note(f, &u);
    }
}

/* Streams and a whole sound are answered in steps that they share: each is heard as it is alone, and every step takes each further that was asked. */
static void steps_are_shared(void **state)
{
    (void)state;
    enum { STREAMS = 3, SESSIONS };
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr *sessions[SESSIONS];
    follower alone[STREAMS], together[SESSIONS] = {{0}};
    parley_asr_options whole = plain(model);
    for (int i = 0; i < STREAMS; i++) {
        parley_asr_options o = streaming(model);
        o.stream_chunk_seconds = 1 + i;
        o.stream_segment_seconds = 6;
        o.context = i == 1 ? "laugh ha ha oh hello world" : "";
        alone[i] = run_stream(model, &o, &s, 0);
        sessions[i] = open_session(model, &o);
    }
    sessions[STREAMS] = open_session(model, &whole);
    for (int i = 0; i < SESSIONS; i++) {
        push(sessions[i], s.samples, s.count);
        end_sound(sessions[i]);
    }
    int shared = 0;
    for (size_t n = 1; n;) {
        parley_asr *asked[SESSIONS];
        parley_error errors[SESSIONS] = {{0}};
        size_t running;
        n = 0;
        for (int i = 0; i < SESSIONS; i++) {
            prepare(sessions[i], &together[i]);
            if (sessions[i]->ops->can_step(sessions[i]))
                asked[n++] = sessions[i];
        }
        shared += n == SESSIONS;
        if (n)
            assert_int_equal(sessions[0]->ops->step(asked, n, 16, &running, errors), PARLEY_OK);
    }
    assert_true(shared > 5);
    for (int i = 0; i < STREAMS; i++) {
        assert_string_equal(together[i].log, alone[i].log);
        free(together[i].log);
        free(alone[i].log);
    }
    parley_asr *session = open_session(model, &whole);
    parley_asr_result r, alone_whole;
    push(session, s.samples, s.count);
    end_sound(session);
    run_session(session);
    parley_asr_result_get(session, &alone_whole);
    parley_asr_result_get(sessions[STREAMS], &r);
    assert_int_equal(r.finish, alone_whole.finish);
    assert_string_equal(r.text, alone_whole.text);
    parley_asr_close(session);
    for (int i = 0; i < SESSIONS; i++)
        parley_asr_close(sessions[i]);
    free(s.samples);
    parley_model_close(model);
}

/* An hour: after the first minute no memory is taken that was not there, and no answer costs more than what a segment bounds. */
static void an_hour(void **state)
{
    (void)state;
    limit_allocator counter = {.limit = SIZE_MAX / 2, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&counter);
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, &allocator);
    sound s = twelve();
    parley_asr_options o = streaming(model);
    o.stream_chunk_seconds = 7.5;
    parley_asr *session = open_session(model, &o);
    const asr_stream *t = ((asr_session *)session)->stream;
    follower f = {0};
    parley_asr_update u;
    size_t most = 0, pushed = 0;
    int64_t head = (int64_t)t->prompt.ids.count;
    for (int turn = 0; pushed < (size_t)MINUTES * 60 * PARLEY_ASR_RATE; turn++, pushed += s.count) {
        push(session, s.samples, s.count);
        while (poll(session, &u)) {
            check_update(&f, &u);
            assert_in_range(t->work.frames, 1, 2 * 800 + 1); /* the window that was finished meanwhile, and the next one's beginning */
            assert_in_range(t->work.prompt, 1, head + 2 * 104 + 1 + 400);
        }
        if (turn == 20)
            most = counter.most;
    }
    end_sound(session);
    follow(session, &f, false);
    assert_true(f.end == (double)pushed / PARLEY_ASR_RATE);
    assert_in_range(f.final, MINUTES * 2, MINUTES * 4);
    assert_int_equal(counter.most, most);
    parley_asr_close(session);
    parley_model_close(model);
    assert_int_equal(counter.held, 0);
    free(s.samples);
}

/* A rest of every length behind a cut is heard to its end. */
static void rests(void **state)
{
    (void)state;
    static const size_t more[] = {0, 1, 200, 201, 4000, 15999, 16000};
    parley_model *model = open_model(MODEL("asr_b"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr_options o = streaming(model);
    o.stream_chunk_seconds = 1;
    o.stream_segment_seconds = 2;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        sound part = {s.samples, 3 * PARLEY_ASR_RATE + more[i]};
        follower f = run_stream(model, &o, &part, 0);
        assert_true(f.final >= 2);
        free(f.log);
    }
    free(s.samples);
    parley_model_close(model);
}

static void cancelling(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound s = twelve();
    parley_asr_options o = streaming(model);
    for (int before = 0; before < 2; before++) {
        parley_asr *session = open_session(model, &o);
        parley_asr_update u;
        parley_asr_result r;
        push(session, s.samples, s.count);
        for (int i = 0; i < 2 * before; i++)
            assert_true(poll(session, &u));
        parley_asr_cancel(session);
        assert_int_equal(poll(session, &u), before);
        if (before)
            assert_true(u.final && u.finish == PARLEY_FINISH_CANCELLED && u.end == 4 && u.length > 0);
        assert_false(poll(session, &u));
        parley_asr_result_get(session, &r);
        assert_int_equal(r.finish, PARLEY_FINISH_CANCELLED);
        parley_asr_close(session);
    }
    free(s.samples);
    parley_model_close(model);
}

static void tiny_sounds(void **state)
{
    (void)state;
    static const float silence[201];
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, NULL);
    parley_asr_options o = streaming(model);
    parley_error error = {0};
    for (size_t n = 1; n <= 201; n += 100) {
        parley_asr *session = open_session(model, &o);
        parley_asr_update u;
        push(session, silence, n);
        end_sound(session);
        assert_true(poll(session, &u));
        assert_true(u.final && u.end == (double)n / PARLEY_ASR_RATE);
        if (n <= 200)
            assert_true(u.no_speech && u.length == 0 && u.text[0] == '\0' && u.language[0] == '\0');
        assert_false(poll(session, &u));
        parley_asr_close(session);
    }
    parley_asr *session = open_session(model, &o);
    push(session, silence, 0);
    assert_int_equal(parley_asr_finish(session, &error), PARLEY_ARGUMENT);
    parley_asr_close(session);
    parley_model_close(model);
}

static void wrong_calls(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, NULL);
    parley_asr_options o = streaming(model), p = plain(model);
    parley_asr *stream = open_session(model, &o), *file = open_session(model, &p);
    parley_error error = {0};
    parley_asr_update u;
    float nan_sample = NAN;
    bool got = true;
    assert_int_equal(parley_asr_run(stream, &error), PARLEY_STATE);
    assert_int_equal(parley_asr_poll(file, &u, &got, &error), PARLEY_STATE);
    assert_false(got);
    assert_int_equal(parley_asr_poll(NULL, &u, &got, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_asr_push(stream, &nan_sample, 1, &error), PARLEY_VALUE);
    push(stream, &(float){0.5f}, 1);
    end_sound(stream);
    assert_int_equal(parley_asr_push(stream, &nan_sample, 1, &error), PARLEY_STATE);
    assert_int_equal(parley_asr_finish(stream, &error), PARLEY_STATE);
    parley_asr_close(stream);
    parley_asr_close(file);
    parley_model_close(model);
}

static void wrong_options(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, NULL);
    parley_asr_options bad[10];
    for (size_t i = 0; i < 10; i++)
        bad[i] = streaming(model);
    bad[0].stream_chunk_seconds = 0.2;
    bad[1].stream_chunk_seconds = 31;
    bad[2].stream_chunk_seconds = NAN;
    bad[3].stream_segment_seconds = 3.9;
    bad[4].stream_segment_seconds = 1201;
    bad[5].stream_unfixed_chunks = -1;
    bad[6].stream_rollback = 0;
    bad[7].stream_rollback = 1001;
    bad[8].attention = PARLEY_ATTENTION_FULL;
    bad[9].stream_segment_seconds = NAN;
    for (size_t i = 0; i < 10; i++) {
        parley_asr *session = NULL;
        parley_error error = {0};
        assert_int_equal(parley_asr_open(model, &bad[i], &session, &error), PARLEY_ARGUMENT);
        assert_null(session);
    }
    parley_model_close(model);
}

/* Every allocation that fails ends the stream with an error and nothing is lost. */
static void out_of_memory(void **state)
{
    (void)state;
    limit_allocator counter = {.limit = SIZE_MAX / 2, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&counter);
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, &allocator);
    parley_asr_options o = streaming(model);
    sound s = twelve();
    size_t held = counter.held;
    int failures = 0;
    bool whole = false;
    for (size_t left = 0; !whole; left += 1 + left / 4) {
        parley_asr *session = NULL;
        parley_error error = {0};
        parley_asr_update u;
        bool got = true;
        counter.left = left;
        parley_status status = parley_asr_open(model, &o, &session, &error);
        if (status == PARLEY_OK)
            status = parley_asr_push(session, s.samples, 3 * PARLEY_ASR_RATE, &error);
        if (status == PARLEY_OK)
            status = parley_asr_finish(session, &error);
        while (status == PARLEY_OK && got)
            status = parley_asr_poll(session, &u, &got, &error);
        counter.left = SIZE_MAX;
        whole = status == PARLEY_OK;
        failures += !whole;
        assert_true(whole || status == PARLEY_MEMORY);
        if (session && !whole && status == PARLEY_MEMORY)
            assert_true(parley_asr_poll(session, &u, &got, &error) == PARLEY_MEMORY || !got);
        parley_asr_close(session);
        assert_int_equal(counter.held, held);
    }
    assert_true(failures > 5);
    free(s.samples);
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_clips),     cmocka_unit_test(echoes),        cmocka_unit_test(answers_are_those_of_the_sound_so_far),
        cmocka_unit_test(sizes_of_pushes), cmocka_unit_test(an_hour),       cmocka_unit_test(rests),
        cmocka_unit_test(cancelling),      cmocka_unit_test(tiny_sounds),   cmocka_unit_test(wrong_calls),
        cmocka_unit_test(wrong_options),   cmocka_unit_test(out_of_memory), cmocka_unit_test(steps_are_shared),
        cmocka_unit_test(spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
