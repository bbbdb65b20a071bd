/* Runs synthesis sessions in tests. Faults end the test with the library's own text. */
#ifndef TEST_SUPPORT_SPEAK_H
#define TEST_SUPPORT_SPEAK_H

#include <parley/parley.h>

#include <stdlib.h>
#include <string.h>

#define MODEL(name) TEST_DATA "/models/" name

typedef struct speech {
    float *pcm;
    size_t samples;
    int32_t *codes;
    size_t frames, groups;
    parley_tts_result result; /* its pointers are not valid any more */
} speech;

static inline void check_ok(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK)
        fail_msg("%s: %s", parley_status_name(status), error->text);
}

static inline parley_model *open_model(const char *path, const char *codec, int threads, const parley_allocator *allocator)
{
    parley_open_options o;
    parley_model *model = NULL;
    parley_error error = {0};
    parley_open_options_init(&o);
    o.codec_path = codec;
    o.threads = threads;
    o.allocator = allocator;
    check_ok(parley_model_open(path, &o, &model, &error), &error);
    return model;
}

/* Greedy, at most `frames` frames, float32. */
static inline parley_tts_options plain_options(const parley_model *model, int frames)
{
    parley_tts_options o;
    parley_tts_options_init(model, &o);
    o.talker.temperature = o.predictor.temperature = 0;
    o.budget = PARLEY_BUDGET_FRAMES;
    o.max_frames = frames;
    o.kv = PARLEY_KV_F32;
    o.activations = PARLEY_ACTIVATIONS_F32;
    return o;
}

static inline parley_tts *start(const parley_model *model, const parley_tts_options *options, const char *text)
{
    parley_tts *session = NULL;
    parley_error error = {0};
    check_ok(parley_tts_open(model, options, &session, &error), &error);
    check_ok(parley_tts_push_text(session, text, strlen(text), &error), &error);
    check_ok(parley_tts_finish_text(session, &error), &error);
    return session;
}

/* Pulls the rest, `at_once` samples at a time, takes codes and result, closes the session. */
static inline speech finish(parley_tts *session, size_t at_once)
{
    speech s = {0};
    size_t capacity = 0, count;
    parley_error error = {0};
    do {
        if (capacity - s.samples < at_once) {
            capacity = capacity * 2 + at_once;
            s.pcm = realloc(s.pcm, capacity * sizeof *s.pcm);
        }
        check_ok(parley_tts_pull(session, s.pcm + s.samples, at_once, &count, &error), &error);
        s.samples += count;
    } while (count > 0);
    parley_tts_result_get(session, &s.result);
    s.frames = s.result.frames;
    s.groups = (size_t)s.result.groups;
    s.codes = malloc(s.frames * s.groups * sizeof *s.codes + 1);
    if (s.frames)
        memcpy(s.codes, s.result.codes, s.frames * s.groups * sizeof *s.codes);
    parley_tts_close(session);
    return s;
}

static inline speech speak(const parley_model *model, const parley_tts_options *options, const char *text)
{
    return finish(start(model, options, text), 4096);
}

static inline void same_speech(const speech *a, const speech *b)
{
    assert_int_equal(a->frames, b->frames);
    if (a->frames)
        assert_memory_equal(a->codes, b->codes, a->frames * a->groups * sizeof *a->codes);
    assert_int_equal(a->samples, b->samples);
    if (a->samples)
        assert_memory_equal(a->pcm, b->pcm, a->samples * sizeof *a->pcm);
}

static inline void free_speech(speech *s)
{
    free(s->pcm);
    free(s->codes);
}

#endif
