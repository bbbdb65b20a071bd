/* Sounds of lengths around the limits of segments: every sample is heard once, whatever the length. */
/* labels: long */
#include "models/qwen3_asr/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/listen.h"

enum { RATE = PARLEY_ASR_RATE };

/* What went into the encoder, against what the segments say. */
typedef struct hearing {
    const asr_session *session;
    int segments;
    int64_t end; /* samples heard so far */
} hearing;

/* A spectrum is that of its segment's samples, bit for bit; segments follow each other. */
static void on_mel(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    hearing *h = context;
    if (strcmp(name, "mel") != 0)
        return;
    const asr_session *s = h->session;
    const asr_segment *g = &s->segments[h->segments++];
    pl_arena arena;
    pl_arena_init(&arena, NULL, 1 << 16);
    int64_t frames = pl_mel_frames(s->model->mel, g->padded), bands = shape[1];
    float *pcm = PL_NEW_ARRAY(&arena, float, g->padded), *mel = PL_NEW_ARRAY(&arena, float, frames *bands);
    assert_true(type == 'f' && rank == 2 && shape[0] == frames && g->first == h->end && g->padded >= g->samples);
    memcpy(pcm, s->pcm + g->first, (size_t)g->samples * sizeof *pcm);
    assert_int_equal(pl_mel_run(s->model->mel, NULL, &arena, pcm, g->padded, mel, NULL), PARLEY_OK);
    assert_memory_equal(mel, data, (size_t)(frames * bands) * sizeof *mel);
    h->end += g->samples;
    pl_arena_free(&arena);
}

static void hear_length(const parley_model *model, double seconds, double limit)
{
    sound s = repeated(seconds);
    parley_asr_options o = plain(model);
    hearing h = {0};
    parley_asr_result r;
    o.segment_seconds = limit;
    o.budget = PARLEY_TOKENS_GIVEN;
    o.max_tokens = 1;
    o.tap = on_mel;
    o.tap_context = &h;
    parley_asr *session = open_session(model, &o);
    h.session = (const asr_session *)session;
    push(session, s.samples, s.count / 3);
    push(session, s.samples + s.count / 3, s.count - s.count / 3);
    end_sound(session);
    size_t count;
    assert_memory_equal(parley_asr_sound(session, &count), s.samples, s.count * sizeof *s.samples);
    assert_int_equal(count, s.count);
    run_session(session);
    parley_asr_result_get(session, &r);
    assert_int_equal(h.end, s.count);
    assert_int_equal(h.segments, r.n_segments);
    assert_true(seconds > limit ? (double)r.n_segments >= seconds / limit : r.n_segments == 1);
    check_tiles(&r, s.count, limit);
    parley_asr_close(session);
    free(s.samples);
}

static const double seconds_of[] = {29.9, 30, 30.1, 60, 62.455, 240, 301};

static void every_sample_once(void **state)
{
    (void)state;
    static const double limits[] = {30, 60, 120, 1200};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    for (size_t i = 0; i < sizeof seconds_of / sizeof *seconds_of; i++) {
        size_t step = seconds_of[i] > 100 ? 2 : 1; /* of long ones 30 and 120 s */
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k += step)
            hear_length(model, seconds_of[i], limits[k]);
    }
    hear_length(model, 301, 1200);
    hear_length(model, 1200, 120);
    parley_model_close(model);
}

/* A budget of 12 tokens a second, for each segment its own. */
static void budgets(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    for (size_t i = 0; i < sizeof seconds_of / sizeof *seconds_of; i++) {
        sound s = repeated(seconds_of[i]);
        parley_asr_options o = plain(model);
        parley_error error = {0};
        parley_asr_result r;
        size_t running;
        o.batch = 64;
        parley_asr *session = open_session(model, &o);
        const asr_session *inner = (const asr_session *)session;
        push(session, s.samples, s.count);
        end_sound(session);
        check_ok(parley_asr_step(&session, 1, &running, &error), &error);
        assert_int_equal(inner->begun, inner->n_segments);
        for (int g = 0; g < inner->n_segments; g++) {
            double wanted = 12.0 * (double)inner->segments[g].samples / RATE;
            assert_true(inner->segments[g].budget >= wanted && inner->segments[g].budget >= 256);
        }
        parley_asr_cancel(session);
        run_session(session);
        parley_asr_result_get(session, &r);
        assert_int_equal(r.finish, PARLEY_FINISH_CANCELLED);
        check_tiles(&r, s.count, 120);
        parley_asr_close(session);
        free(s.samples);
    }
    parley_model_close(model);
}

static void streamed_lengths(void **state)
{
    (void)state;
    static const double limits[] = {30, 60};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    for (size_t i = 0; i < sizeof seconds_of / sizeof *seconds_of; i++)
        for (size_t k = 0; k < sizeof limits / sizeof *limits - (seconds_of[i] > 100); k++) {
            sound s = repeated(seconds_of[i]);
            parley_asr_options o = streaming(model);
            parley_error error = {0};
            parley_asr_update u;
            bool got = true;
            double end = 0;
            o.stream_segment_seconds = limits[k];
            o.stream_chunk_seconds = 5;
            parley_asr *session = open_session(model, &o);
            push(session, s.samples, s.count);
            end_sound(session);
            for (check_ok(parley_asr_poll(session, &u, &got, &error), &error); got; check_ok(parley_asr_poll(session, &u, &got, &error), &error)) {
                assert_true(u.start == end && u.end > end && u.end - u.start <= limits[k]);
                end = u.final ? u.end : end;
            }
            assert_true(end == (double)s.count / RATE);
            parley_asr_close(session);
            free(s.samples);
        }
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_once),
        cmocka_unit_test(budgets),
        cmocka_unit_test(streamed_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
