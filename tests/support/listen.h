/* Sounds and recognition sessions in tests. Faults end the test with the library's own text. */
#ifndef TEST_SUPPORT_LISTEN_H
#define TEST_SUPPORT_LISTEN_H

#include "clip_mel.h"
#include "speak.h"

typedef struct sound {
    float *samples;
    size_t count;
} sound;

static inline sound clips(const char *const *names, int count)
{
    clip_audio audio = {0};
    for (int i = 0; i < count; i++)
        clip_append(&audio, names[i]);
    sound s = {malloc((size_t)audio.count * sizeof *s.samples), (size_t)audio.count};
    assert_non_null(s.samples);
    for (size_t i = 0; i < s.count; i++)
        s.samples[i] = (float)audio.samples[i];
    free(audio.samples);
    return s;
}

static inline sound twelve(void)
{
    static const char *const names[] = {"chirp", "bells", "bursts", "hum", "chirp", "bells", "bursts", "hum", "chirp", "bells", "bursts", "hum"};
    return clips(names, 12);
}

/* Clips up to a length. */
static inline sound repeated(double seconds)
{
    sound clip = twelve(), s = {NULL, (size_t)llround(seconds * PARLEY_ASR_RATE)};
    s.samples = malloc(s.count * sizeof *s.samples);
    assert_non_null(s.samples);
    for (size_t i = 0; i < s.count; i++)
        s.samples[i] = clip.samples[i % clip.count];
    free(clip.samples);
    return s;
}

/* Segments of a sound of so many samples follow each other; none is much longer than the limit, seconds. */
static inline void check_tiles(const parley_asr_result *r, size_t samples, double limit)
{
    double end = 0;
    for (size_t i = 0; i < r->n_segments; i++) {
        assert_true(r->segments[i].start == end && r->segments[i].end > end && r->segments[i].end - end <= limit + 5);
        end = r->segments[i].end;
    }
    assert_true(end == (double)samples / PARLEY_ASR_RATE && end == r->audio_seconds);
}

static inline parley_asr_options plain(const parley_model *model)
{
    parley_asr_options o;
    parley_asr_options_init(model, &o);
    o.kv = PARLEY_KV_F32;
    o.activations = PARLEY_ACTIVATIONS_F32;
    return o;
}

static inline parley_asr_options streaming(const parley_model *model)
{
    parley_asr_options o = plain(model);
    o.stream = true;
    return o;
}

static inline parley_asr *open_session(const parley_model *model, const parley_asr_options *options)
{
    parley_asr *session = NULL;
    parley_error error = {0};
    check_ok(parley_asr_open(model, options, &session, &error), &error);
    return session;
}

static inline void push(parley_asr *session, const float *pcm, size_t samples)
{
    parley_error error = {0};
    check_ok(parley_asr_push(session, pcm, samples, &error), &error);
}

static inline void end_sound(parley_asr *session)
{
    parley_error error = {0};
    check_ok(parley_asr_finish(session, &error), &error);
}

static inline void run_session(parley_asr *session)
{
    parley_error error = {0};
    check_ok(parley_asr_run(session, &error), &error);
}

static inline void offline(const parley_model *model, const parley_asr_options *options, const sound *s, char *text, size_t size)
{
    parley_asr *session = open_session(model, options);
    parley_asr_result r;
    push(session, s->samples, s->count);
    end_sound(session);
    run_session(session);
    parley_asr_result_get(session, &r);
    assert_true((size_t)snprintf(text, size, "%s", r.text) < size);
    parley_asr_close(session);
}

#endif
