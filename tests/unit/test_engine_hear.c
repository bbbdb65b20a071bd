/* labels: threads sanitize */
/* Requests of recognition, alignment and voices beside each other: each gives what the plain call gives. */
#include "support/clip_mel.h"
#include "support/counting.h"

#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/random.h"
#include "support/engine.h"

enum { SOUNDS = 5 };

typedef struct sound {
    float *samples;
    size_t count;
} sound;

static sound clips(int first, int count)
{
    static const char *const names[] = {"chirp", "bells", "bursts", "hum"};
    clip_audio audio = {0};
    for (int i = 0; i < count; i++)
        clip_append(&audio, names[(first + i) % 4]);
    sound s = {malloc((size_t)audio.count * sizeof *s.samples), (size_t)audio.count};
    for (size_t i = 0; i < s.count; i++)
        s.samples[i] = (float)audio.samples[i];
    free(audio.samples);
    return s;
}

static parley_asr_options options_of(const parley_model *model, int i)
{
    parley_asr_options o;
    parley_asr_options_init(model, &o);
    o.activations = PARLEY_ACTIVATIONS_F32;
    o.kv = i % 2 ? PARLEY_KV_F16 : PARLEY_KV_F32;
    o.segment_seconds = i % 3 ? 120 : 3;
    o.batch = 1 + i % 3;
    o.budget = PARLEY_TOKENS_GIVEN;
    o.max_tokens = 6 + 3 * i;
    o.context = i == 2 ? "bells and hums" : "";
    return o;
}

/* ------------------------------------------------------------------ whole sounds */

static char *hear_alone(const parley_model *model, const parley_asr_options *o, sound s)
{
    parley_asr *session = NULL;
    parley_asr_result result;
    parley_error error = {0};
    check_ok(parley_asr_open(model, o, &session, &error), &error);
    check_ok(parley_asr_push(session, s.samples, s.count, &error), &error);
    check_ok(parley_asr_finish(session, &error), &error);
    check_ok(parley_asr_run(session, &error), &error);
    parley_asr_result_get(session, &result);
    char *text = strdup(result.text);
    parley_asr_close(session);
    return text;
}

static parley_request *ask(parley_engine *engine, const parley_asr_options *o, sound s)
{
    parley_request *request = NULL;
    parley_error error = {0};
    test_random r = {s.count};
    check_ok(parley_engine_hear(engine, o, NULL, &request, &error), &error);
    for (size_t at = 0; at < s.count;) {
        size_t count = (size_t)(1 + test_below(&r, 20000));
        count = count < s.count - at ? count : s.count - at;
        check_ok(parley_request_push_sound(request, s.samples + at, count, &error), &error);
        at += count;
    }
    check_ok(parley_request_finish_sound(request, &error), &error);
    return request;
}

static void check_heard(parley_request *request, const char *wanted, double seconds)
{
    parley_event event;
    parley_asr_result result;
    size_t updates = 0;
    while (parley_request_next(request, 60, &event) == PARLEY_EVENT_UPDATE) {
        assert_true(event.update.final);
        assert_int_equal(event.update.length, strlen(event.update.text));
        updates++;
    }
    assert_int_equal(event.kind, PARLEY_EVENT_END);
    assert_int_equal(event.status, PARLEY_OK);
    assert_true(parley_request_recognition(request, &result));
    assert_string_equal(result.text, wanted);
    assert_int_equal(result.n_segments, updates);
    assert_true(result.audio_seconds == seconds);
    assert_int_equal(event.finish, result.finish);
    parley_request_release(request);
}

static void test_sounds_at_once(void **state)
{
    (void)state;
    static const int rows[] = {1, 7, 32, 4096};
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    sound sounds[SOUNDS];
    char *alone[SOUNDS];
    for (int i = 0; i < SOUNDS; i++) {
        parley_asr_options o = options_of(model, i);
        sounds[i] = clips(i, 1 + i);
        alone[i] = hear_alone(model, &o, sounds[i]);
    }
    for (size_t c = 0; c < sizeof rows / sizeof rows[0]; c++) {
        parley_engine_options eo;
        parley_request *requests[2 * SOUNDS];
        parley_engine_options_init(&eo);
        eo.prompt_rows = rows[c];
        eo.max_active = 3;
        parley_engine *engine = open_engine(model, &eo);
        for (int i = 0; i < 2 * SOUNDS; i++) {
            parley_asr_options o = options_of(model, i % SOUNDS);
            requests[i] = ask(engine, &o, sounds[i % SOUNDS]);
        }
        for (int i = 0; i < 2 * SOUNDS; i++)
            check_heard(requests[i], alone[i % SOUNDS], (double)sounds[i % SOUNDS].count / PARLEY_ASR_RATE);
        parley_engine_figures f;
        parley_engine_figures_get(engine, &f);
        assert_true(f.heard_seconds > 0 && f.turn_rows > f.turns);
        parley_engine_close(engine);
    }
    for (int i = 0; i < SOUNDS; i++) {
        free(sounds[i].samples);
        free(alone[i]);
    }
    parley_model_close(model);
}

/* ------------------------------------------------------------------ streams */

typedef struct heard {
    char text[4000]; /* final texts, each with where it ends */
} heard;

static void add(heard *h, const parley_asr_update *u)
{
    size_t at = strlen(h->text);
    if (u->final)
        snprintf(h->text + at, sizeof h->text - at, "[%.3f %.*s %s]", u->end, (int)u->length, u->text, u->language);
}

static void stream_alone(const parley_model *model, const parley_asr_options *o, sound s, heard *h)
{
    parley_asr *session = NULL;
    parley_error error = {0};
    bool got = true;
    check_ok(parley_asr_open(model, o, &session, &error), &error);
    check_ok(parley_asr_push(session, s.samples, s.count, &error), &error);
    check_ok(parley_asr_finish(session, &error), &error);
    while (got) {
        parley_asr_update update;
        check_ok(parley_asr_poll(session, &update, &got, &error), &error);
        if (got)
            add(h, &update);
    }
    parley_asr_close(session);
}

static void check_stream(parley_request *request, const heard *alone)
{
    heard got = {0};
    parley_event event;
    while (parley_request_next(request, 60, &event) == PARLEY_EVENT_UPDATE)
        add(&got, &event.update);
    assert_int_equal(event.status, PARLEY_OK);
    assert_string_equal(got.text, alone->text);
    parley_asr_result result;
    assert_true(parley_request_recognition(request, &result) && result.audio_seconds > 0);
    parley_request_release(request);
}

static void test_streams_beside_sounds(void **state)
{
    (void)state;
    enum { STREAMS = 3 };
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    parley_error error = {0};
    sound s = clips(0, 5), other = clips(2, 2);
    parley_asr_options o = options_of(model, 1), whole = options_of(model, 4);
    o.stream = true;
    o.stream_chunk_seconds = 1;
    o.stream_segment_seconds = 4;
    heard alone = {0};
    stream_alone(model, &o, s, &alone);
    assert_true(strlen(alone.text) > 20);
    char *alone_whole = hear_alone(model, &whole, other);
    parley_request *streams[STREAMS], *file = ask(engine, &whole, other);
    for (int i = 0; i < STREAMS; i++)
        check_ok(parley_engine_hear(engine, &o, NULL, &streams[i], &error), &error);
    for (size_t at = 0; at < s.count; at += 3200)
        for (int i = 0; i < STREAMS; i++)
            check_ok(parley_request_push_sound(streams[i], s.samples + at, s.count - at < 3200 ? s.count - at : 3200, &error), &error);
    for (int i = 0; i < STREAMS; i++)
        check_ok(parley_request_finish_sound(streams[i], &error), &error);
    for (int i = 0; i < STREAMS; i++)
        check_stream(streams[i], &alone);
    check_heard(file, alone_whole, (double)other.count / PARLEY_ASR_RATE);
    free(alone_whole);
    free(s.samples);
    free(other.samples);
    parley_engine_close(engine);
    parley_model_close(model);
}

/* The tokens of a stream come out of turns, as all others do. */
static void test_streams_take_turns(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    parley_error error = {0};
    parley_engine_figures f;
    parley_request *request;
    sound s = clips(0, 3);
    parley_asr_options o = options_of(model, 1);
    o.stream = true;
    o.stream_chunk_seconds = 1;
    heard alone = {0};
    stream_alone(model, &o, s, &alone);
    check_ok(parley_engine_hear(engine, &o, NULL, &request, &error), &error);
    check_ok(parley_request_push_sound(request, s.samples, s.count, &error), &error);
    check_ok(parley_request_finish_sound(request, &error), &error);
    check_stream(request, &alone);
    parley_engine_figures_get(engine, &f);
    assert_true(f.turns >= (uint64_t)o.max_tokens); /* an answer's at least */
    assert_int_equal(f.kv_bytes, 0);
    free(s.samples);
    parley_engine_close(engine);
    parley_model_close(model);
}

/* Two models at work: three speak, three hear whole sounds, two hear as the sound comes, and a short sound comes behind the long ones. */
static void test_all_kinds_at_once(void **state)
{
    (void)state;
    enum { EACH = 3, STREAMS = 2 };
    static const char *const texts[EACH] = {"One speaks.", "Another one has more to say, has it not?", "3"};
    parley_model *speaker = open_model(MODEL("tts_a_custom"), NULL, 2, NULL), *hearer = open_model(MODEL("asr_a"), NULL, 2, NULL);
    parley_engine *speaking = open_engine(speaker, NULL), *hearing = open_engine(hearer, NULL);
    parley_request *speeches[EACH], *files[EACH], *streams[STREAMS];
    speech said[EACH];
    char *texts_alone[EACH];
    heard heard_alone[STREAMS] = {{{0}}};
    sound sounds[EACH] = {clips(0, 5), clips(1, 4), clips(2, 1)};
    parley_tts_options to[EACH];
    parley_asr_options fo[EACH], so[STREAMS];
    parley_error error = {0};
    for (int i = 0; i < EACH; i++) {
        to[i] = plain_options(speaker, 12 + 5 * i);
        to[i].seed = (uint64_t)i;
        to[i].talker.temperature = to[i].predictor.temperature = 0.9f;
        said[i] = speak(speaker, &to[i], texts[i]);
        fo[i] = options_of(hearer, i);
        texts_alone[i] = hear_alone(hearer, &fo[i], sounds[i]);
    }
    for (int i = 0; i < STREAMS; i++) {
        so[i] = options_of(hearer, 2 + i);
        so[i].stream = true;
        so[i].stream_chunk_seconds = 1 + i;
        stream_alone(hearer, &so[i], sounds[i], &heard_alone[i]);
        check_ok(parley_engine_hear(hearing, &so[i], NULL, &streams[i], &error), &error);
        check_ok(parley_request_push_sound(streams[i], sounds[i].samples, sounds[i].count, &error), &error);
        check_ok(parley_request_finish_sound(streams[i], &error), &error);
    }
    for (int i = 0; i < EACH; i++) {
        check_ok(parley_engine_speak(speaking, &to[i], NULL, &speeches[i], &error), &error);
        check_ok(parley_request_push_text(speeches[i], texts[i], strlen(texts[i]), &error), &error);
        check_ok(parley_request_finish_text(speeches[i], &error), &error);
        files[i] = ask(hearing, &fo[i], sounds[i]);
    }
    for (int i = 0; i < STREAMS; i++)
        check_stream(streams[i], &heard_alone[i]);
    for (int i = 0; i < EACH; i++) {
        parley_event event;
        size_t samples = 0;
        check_heard(files[i], texts_alone[i], (double)sounds[i].count / PARLEY_ASR_RATE);
        while (parley_request_next(speeches[i], 60, &event) == PARLEY_EVENT_PCM) {
            assert_memory_equal(event.pcm, said[i].pcm + samples, event.samples * sizeof *event.pcm);
            samples += event.samples;
        }
        assert_int_equal(event.status, PARLEY_OK);
        assert_int_equal(samples, said[i].samples);
        parley_request_release(speeches[i]);
        free_speech(&said[i]);
        free(texts_alone[i]);
        free(sounds[i].samples);
    }
    parley_engine_close(speaking);
    parley_engine_close(hearing);
    parley_model_close(speaker);
    parley_model_close(hearer);
}

static void test_leaving(void **state)
{
    (void)state;
    counting memory = {.until_failure = -1};
    parley_allocator allocator = counting_interface(&memory);
    parley_model *model = open_model(MODEL("asr_a"), NULL, 2, &allocator);
    size_t before = memory.held;
    parley_engine *engine = open_engine(model, NULL);
    size_t open = memory.held;
    parley_error error = {0};
    sound s = clips(1, 6);
    for (int i = 0; i < 12; i++) {
        parley_asr_options o = options_of(model, i);
        parley_request *request = NULL;
        parley_event event;
        o.max_tokens = 10000;
        o.stream = i % 2;
        if (!o.stream) {
            request = ask(engine, &o, s);
        } else {
            check_ok(parley_engine_hear(engine, &o, NULL, &request, &error), &error);
            check_ok(parley_request_push_sound(request, s.samples, s.count, &error), &error);
        }
        if (i % 3 == 0) {
            parley_request_cancel(request);
            while (parley_request_next(request, 60, &event) == PARLEY_EVENT_UPDATE)
                ;
            assert_int_equal(event.status, PARLEY_CANCELLED);
        }
        parley_request_release(request);
    }
    assert_true(parley_engine_drain(engine, 60));
    assert_int_equal(memory.held, open);
    parley_engine_close(engine);
    assert_int_equal(memory.held, before);
    parley_model_close(model);
    free(s.samples);
}

static void test_wrong_calls(void **state)
{
    (void)state;
    parley_model *model = open_model(MODEL("asr_a"), NULL, 1, NULL);
    parley_engine_options eo;
    parley_engine_options_init(&eo);
    eo.sound_seconds = 1;
    parley_engine *engine = open_engine(model, &eo);
    parley_asr_options o = options_of(model, 1);
    parley_request *request = NULL;
    parley_error error = {0};
    static const float silence[PARLEY_ASR_RATE], bad[] = {0, 0, INFINITY};
    o.language = "Klingon";
    assert_int_equal(parley_engine_hear(engine, &o, NULL, &request, &error), PARLEY_ARGUMENT);
    for (int stream = 0; stream < 2; stream++) {
        o = options_of(model, 1);
        o.stream = stream;
        check_ok(parley_engine_hear(engine, &o, NULL, &request, &error), &error);
        assert_int_equal(parley_request_finish_sound(request, &error), PARLEY_ARGUMENT);
        assert_int_equal(parley_request_push_sound(request, bad, 3, &error), PARLEY_VALUE);
        assert_int_equal(error.position, 2);
        check_ok(parley_request_push_sound(request, silence, PARLEY_ASR_RATE, &error), &error);
        assert_int_equal(parley_request_push_sound(request, silence, 1, &error), PARLEY_LIMIT);
        assert_int_equal(parley_request_push_text(request, "a", 1, &error), PARLEY_STATE);
        check_ok(parley_request_finish_sound(request, &error), &error);
        assert_int_equal(parley_request_push_sound(request, silence, 0, &error), PARLEY_STATE);
        parley_request_release(request);
    }
    assert_int_equal(parley_engine_speak(engine, NULL, NULL, &request, &error), PARLEY_FAMILY);
    parley_engine_close(engine);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ work */

static void test_alignment(void **state)
{
    (void)state;
    static const char text[] = "Hello, this is a test of words";
    static const char *const units[] = {"one", "two"};
    parley_model *model = open_model(MODEL("align_a"), NULL, 2, NULL);
    parley_engine *engine = open_engine(model, NULL);
    sound s = clips(0, 2);
    parley_error error = {0};
    for (int i = 0; i < 2; i++) {
        parley_align_options o;
        parley_alignment *alone = NULL;
        const parley_alignment *got = NULL;
        parley_request *request = NULL;
        parley_event event;
        parley_align_options_init(model, &o);
        o.units = i ? units : NULL;
        o.n_units = i ? 2 : 0;
        check_ok(parley_align(model, s.samples, s.count, text, sizeof text - 1, &o, &alone, &error), &error);
        check_ok(parley_engine_align(engine, s.samples, s.count, text, sizeof text - 1, &o, NULL, &request, &error), &error);
        assert_int_equal(parley_request_next(request, 60, &event), PARLEY_EVENT_END);
        assert_int_equal(event.status, PARLEY_OK);
        assert_true(parley_request_alignment(request, &got));
        assert_int_equal(got->n_words, alone->n_words);
        for (size_t w = 0; w < alone->n_words; w++) {
            assert_string_equal(got->words[w].text, alone->words[w].text);
            assert_true(got->words[w].start == alone->words[w].start && got->words[w].end == alone->words[w].end);
        }
        parley_request_release(request);
        parley_alignment_free(alone);
        check_ok(parley_engine_align(engine, s.samples, s.count, "  ", 2, NULL, NULL, &request, &error), &error);
        assert_int_equal(parley_request_next(request, 60, &event), PARLEY_EVENT_END);
        assert_int_equal(event.status, PARLEY_ARGUMENT); /* nothing to align */
        assert_false(parley_request_alignment(request, &got));
        parley_request_release(request);
        check_ok(parley_engine_align(engine, s.samples, s.count, text, sizeof text - 1, NULL, NULL, &request, &error), &error);
        parley_request_release(request);
    }
    parley_engine_close(engine);
    free(s.samples);
    parley_model_close(model);
}

/* The cache of an alignment is counted while it runs, grows with the text, and is refused where there can be no room for it. */
static void test_room_of_alignments(void **state)
{
    (void)state;
    static const char *const texts[] = {"one",
                                        "one and two and three and four and five and six and seven and eight and nine and ten and eleven and twelve "
                                        "and thirteen and fourteen and fifteen and sixteen and seventeen and eighteen and nineteen and twenty"};
    parley_model *model = open_model(MODEL("align_a"), NULL, 1, NULL);
    sound s = clips(0, 2);
    parley_error error = {0};
    uint64_t most[2];
    parley_engine_figures f;
    parley_request *request = NULL;
    for (int i = 0; i < 2; i++) {
        parley_event event;
        parley_engine *engine = open_engine(model, NULL);
        check_ok(parley_engine_align(engine, s.samples, s.count, texts[i], strlen(texts[i]), NULL, NULL, &request, &error), &error);
        assert_int_equal(parley_request_next(request, 60, &event), PARLEY_EVENT_END);
        assert_int_equal(event.status, PARLEY_OK);
        parley_request_release(request);
        parley_engine_figures_get(engine, &f);
        most[i] = f.kv_bytes_most;
        assert_int_equal(f.kv_bytes, 0);
        parley_engine_close(engine);
    }
    assert_true(most[0] > 0 && most[1] > most[0]);
    parley_engine_options eo;
    parley_engine_options_init(&eo);
    eo.max_kv_bytes = most[0];
    parley_engine *engine = open_engine(model, &eo);
    check_ok(parley_engine_align(engine, s.samples, s.count, texts[0], strlen(texts[0]), NULL, NULL, &request, &error), &error);
    parley_request_release(request);
    assert_int_equal(parley_engine_align(engine, s.samples, s.count, texts[1], strlen(texts[1]), NULL, NULL, &request, &error), PARLEY_LIMIT);
    parley_engine_close(engine);
    free(s.samples);
    parley_model_close(model);
}

/* Silence goes into the codes, the vector is that of the recording. */
static void check_voice_with_silence(parley_engine *engine, const parley_model *model, sound s, const float *vector)
{
    const parley_info *info = parley_model_info(model);
    size_t count = s.count + (size_t)info->sample_rate / 2, frames;
    float *longer = calloc(count, sizeof *longer);
    memcpy(longer, s.samples, s.count * sizeof *longer);
    parley_encode_options o;
    parley_request *request = NULL;
    parley_error error = {0};
    parley_event event;
    parley_voice voice;
    int32_t *codes;
    check_ok(parley_codec_encode(model, longer, count, NULL, &codes, &frames, &error), &error);
    parley_encode_options_init(engine, &o);
    o.silence_seconds = 11;
    assert_int_equal(parley_engine_encode_voice(engine, s.samples, s.count, &o, NULL, &request, &error), PARLEY_ARGUMENT);
    o.silence_seconds = 0.5;
    check_ok(parley_engine_encode_voice(engine, s.samples, s.count, &o, NULL, &request, &error), &error);
    assert_int_equal(parley_request_next(request, 60, &event), PARLEY_EVENT_END);
    assert_true(event.status == PARLEY_OK && parley_request_voice(request, &voice));
    assert_int_equal(voice.frames, frames);
    assert_memory_equal(voice.codes, codes, frames * (size_t)voice.groups * sizeof *codes);
    assert_memory_equal(voice.vector, vector, voice.vector_length * sizeof *vector);
    parley_request_release(request);
    parley_free_ids(model, codes, frames * (size_t)info->groups);
    free(longer);
}

/* A voice is made while others speak: both are as they are alone. */
static void test_voices(void **state)
{
    (void)state;
    parley_open_options open;
    parley_model *model = NULL;
    parley_error error = {0};
    parley_open_options_init(&open);
    open.parts = PARLEY_PARTS_CLONE;
    open.threads = 2;
    check_ok(parley_model_open(MODEL("tts_a_base"), &open, &model, &error), &error);
    parley_engine *engine = open_engine(model, NULL);
    size_t length = (size_t)parley_model_info(model)->xvector_length;
    sound s = clips(0, 1);
    float *vector = malloc(length * sizeof *vector);
    int32_t *codes;
    size_t frames;
    check_ok(parley_voice_vector(model, s.samples, s.count, NULL, vector, &error), &error);
    check_ok(parley_codec_encode(model, s.samples, s.count, NULL, &codes, &frames, &error), &error);
    parley_tts_options o = plain_options(model, 30);
    speech alone = speak(model, &o, "Somebody speaks.");
    parley_request *speaking = NULL, *encoding = NULL;
    check_ok(parley_engine_speak(engine, &o, NULL, &speaking, &error), &error);
    check_ok(parley_request_push_text(speaking, "Somebody speaks.", 16, &error), &error);
    check_ok(parley_request_finish_text(speaking, &error), &error);
    check_ok(parley_engine_encode_voice(engine, s.samples, s.count, NULL, NULL, &encoding, &error), &error);
    parley_event event;
    assert_int_equal(parley_request_next(encoding, 60, &event), PARLEY_EVENT_END);
    assert_int_equal(event.status, PARLEY_OK);
    parley_voice voice;
    assert_true(parley_request_voice(encoding, &voice));
    assert_int_equal(voice.vector_length, length);
    assert_int_equal(voice.frames, frames);
    assert_memory_equal(voice.vector, vector, length * sizeof *vector);
    assert_memory_equal(voice.codes, codes, frames * (size_t)voice.groups * sizeof *codes);
    size_t samples = 0;
    while (parley_request_next(speaking, 60, &event) == PARLEY_EVENT_PCM) {
        assert_memory_equal(event.pcm, alone.pcm + samples, event.samples * sizeof *event.pcm);
        samples += event.samples;
    }
    assert_int_equal(samples, alone.samples);
    parley_request_release(speaking);
    parley_request_release(encoding);
    check_voice_with_silence(engine, model, s, vector);
    check_ok(parley_engine_encode_voice(engine, s.samples, 100, NULL, NULL, &encoding, &error), &error);
    assert_int_equal(parley_request_next(encoding, 60, &event), PARLEY_EVENT_END);
    assert_int_equal(event.status, PARLEY_ARGUMENT); /* too short */
    parley_request_release(encoding);
    parley_free_ids(model, codes, frames * (size_t)voice.groups);
    free(vector);
    free_speech(&alone);
    free(s.samples);
    parley_engine_close(engine);
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sounds_at_once),
        cmocka_unit_test(test_streams_beside_sounds),
        cmocka_unit_test(test_streams_take_turns),
        cmocka_unit_test(test_all_kinds_at_once),
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_room_of_alignments),
        cmocka_unit_test(test_voices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
