/* labels: threads sanitize */
/* Synthesis through the public interface: pieces, batches, threads, cancelling, bad options, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "limit_allocator.h"
#include "support/npy.h"
#include "support/speak.h"

#include <math.h>
#include <pthread.h>

static const char text[] = "Gr\xC3\xBC\xC3\x9F Gott, it is a fine day.";

static int open_shared(void **state)
{
    *state = open_model(MODEL("tts_a_custom"), NULL, 2, NULL);
    return 0;
}

static int close_shared(void **state)
{
    parley_model_close(*state);
    return 0;
}

/* ------------------------------------------------------------------ pieces */

static void test_text_in_pieces(void **state)
{
    parley_tts_options o = plain_options(*state, 6);
    parley_error error = {0};
    parley_tts *session = NULL;
    speech whole = speak(*state, &o, text);
    check_ok(parley_tts_open(*state, &o, &session, &error), &error);
    for (size_t i = 0; i < sizeof text - 1; i++)
        check_ok(parley_tts_push_text(session, text + i, 1, &error), &error);
    check_ok(parley_tts_finish_text(session, &error), &error);
    speech pieces = finish(session, 777);
    same_speech(&whole, &pieces);
    assert_int_equal(whole.samples, whole.frames * 1920);
    free_speech(&whole);
    free_speech(&pieces);
}

/* Codes are forced, so that there are frames enough whatever the model wants to say. */
static void test_chunks_of_any_size_give_the_same_pcm(void **state)
{
    enum { FRAMES = 60, GROUPS = 16 };
    static const int chunks[] = {1, 2, 3, 5, 7, 25};
    int32_t codes[FRAMES * GROUPS];
    for (int i = 0; i < FRAMES * GROUPS; i++)
        codes[i] = i * 29 % 64;
    parley_tts_options o = plain_options(*state, FRAMES);
    o.teacher = codes;
    o.teacher_frames = FRAMES;
    o.chunk_frames = 64;
    speech whole = speak(*state, &o, text);
    assert_int_equal(whole.frames, FRAMES);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        o.chunk_frames = chunks[i];
        speech part = speak(*state, &o, text);
        same_speech(&whole, &part);
        free_speech(&part);
    }
    free_speech(&whole);
}

static void test_codes_without_pcm(void **state)
{
    parley_tts_options o = plain_options(*state, 8);
    speech with = speak(*state, &o, text);
    o.pcm = false;
    speech without = speak(*state, &o, text);
    assert_int_equal(without.samples, 0);
    assert_int_equal(with.frames, without.frames);
    assert_memory_equal(with.codes, without.codes, with.frames * with.groups * sizeof *with.codes);
    free_speech(&with);
    free_speech(&without);
}

/* A reference that went through the codec beforehand changes nothing but the time; another one is refused. */
static void test_shared_reference(void **state)
{
    (void)state;
    enum { REF = 40, GROUPS = 16 };
    static float vector[32];
    int32_t codes[REF * GROUPS];
    for (int i = 0; i < REF * GROUPS; i++)
        codes[i] = i * 31 % 64;
    for (int i = 0; i < 32; i++)
        vector[i] = 0.01f * (float)i;
    parley_model *model = open_model(MODEL("tts_a_base"), NULL, 2, NULL);
    parley_reference *reference = NULL;
    parley_error error = {0};
    check_ok(parley_reference_open(model, codes, REF, &reference, &error), &error);
    parley_tts_options o = plain_options(model, 9);
    o.xvector = vector;
    o.xvector_length = 32;
    o.ref_codes = codes;
    o.ref_frames = REF;
    o.ref_text = "so it was";
    speech own = speak(model, &o, text);
    o.reference = reference;
    for (int i = 0; i < 2; i++) {
        speech shared = speak(model, &o, text);
        same_speech(&own, &shared);
        free_speech(&shared);
    }
    codes[7] ^= 1;
    parley_tts *session = NULL;
    assert_int_equal(parley_tts_open(model, &o, &session, &error), PARLEY_ARGUMENT);
    free_speech(&own);
    parley_reference_close(reference);
    parley_model_close(model);
}

/* ------------------------------------------------------------------ batches */

enum { ROWS = 8 };

static const char *const row_texts[ROWS] = {"One.",
                                            "A second, longer text.",
                                            "3",
                                            "The fourth one has more to say than all the others together, has it not?",
                                            "Five five five",
                                            "six",
                                            "Seven.",
                                            "And eight."};

static parley_tts_options row_options(const parley_model *model, int row)
{
    static const char *const voices[] = {"serena", "eric", NULL, "dylan"};
    parley_tts_options o = plain_options(model, 5 + row * 3);
    o.speaker = voices[row % 4];
    o.language = row % 3 ? "english" : "auto";
    o.seed = (uint64_t)row;
    o.kv = row % 2 ? PARLEY_KV_F16 : PARLEY_KV_F32;
    if (row % 2)
        o.talker.temperature = o.predictor.temperature = 0.9f;
    o.layout = row % 3 == 1 ? PARLEY_LAYOUT_STREAMING : PARLEY_LAYOUT_FULL;
    return o;
}

/* Rows join one step after the other and leave when they are done. */
static void test_batch_equals_alone(void **state)
{
    parley_tts *sessions[ROWS];
    speech alone[ROWS];
    size_t running = 1, joined = 0;
    for (int i = 0; i < ROWS; i++) {
        parley_tts_options o = row_options(*state, i);
        alone[i] = speak(*state, &o, row_texts[i]);
    }
    while (running > 0 || joined < ROWS) {
        for (int twice = 0; twice < 2 && joined < ROWS; twice++, joined++) {
            parley_tts_options o = row_options(*state, (int)joined);
            sessions[joined] = start(*state, &o, row_texts[joined]);
        }
        parley_error errors[ROWS] = {0};
        check_ok(parley_tts_step(sessions, joined, &running, errors), &errors[0]);
    }
    for (int i = 0; i < ROWS; i++) {
        size_t ready = parley_tts_ready(sessions[i]);
        speech row = finish(sessions[i], 5000);
        assert_int_equal(ready, row.samples);
        same_speech(&alone[i], &row);
        free_speech(&row);
        free_speech(&alone[i]);
    }
}

static void test_failure_of_one_row_leaves_the_others(void **state)
{
    parley_tts_options o = plain_options(*state, 10);
    speech alone = speak(*state, &o, row_texts[1]);
    parley_tts *sessions[3] = {start(*state, &o, row_texts[0]), start(*state, &o, row_texts[1]), start(*state, &o, row_texts[2])};
    parley_error errors[3] = {0};
    size_t running = 1;
    parley_tts_cancel(sessions[0]);
    for (int step = 0; running > 0; step++) {
        if (step == 3)
            parley_tts_cancel(sessions[2]);
        check_ok(parley_tts_step(sessions, 3, &running, errors), &errors[0]);
    }
    speech first = finish(sessions[0], 100), second = finish(sessions[1], 4000), third = finish(sessions[2], 4000);
    assert_int_equal(first.result.finish, PARLEY_FINISH_CANCELLED);
    assert_int_equal(first.frames, 0);
    assert_int_equal(third.result.finish, PARLEY_FINISH_CANCELLED);
    assert_int_equal(third.frames, 3);
    same_speech(&alone, &second);
    free_speech(&alone);
    free_speech(&first);
    free_speech(&second);
    free_speech(&third);
}

static void test_threads_agree(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 4};
    speech got[3];
    for (int i = 0; i < 3; i++) {
        parley_model *model = open_model(MODEL("tts_b_custom"), NULL, threads[i], NULL);
        parley_tts_options o = plain_options(model, 12);
        got[i] = speak(model, &o, text);
        if (i > 0)
            same_speech(&got[0], &got[i]);
        parley_model_close(model);
    }
    for (int i = 0; i < 3; i++)
        free_speech(&got[i]);
}

typedef struct job {
    const parley_model *model;
    int row;
    speech got;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    parley_tts_options o = row_options(j->model, j->row);
    j->got = speak(j->model, &o, row_texts[j->row]);
    return NULL;
}

/* Sessions on threads of their own share a model. */
static void test_sessions_at_once(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){.model = *state, .row = i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        parley_tts_options o = row_options(*state, i);
        speech alone = speak(*state, &o, row_texts[i]);
        same_speech(&alone, &jobs[i].got);
        free_speech(&alone);
        free_speech(&jobs[i].got);
    }
}

/* ------------------------------------------------------------------ ends */

static void test_cancel_keeps_what_was_made(void **state)
{
    parley_tts_options o = plain_options(*state, 50);
    o.chunk_frames = 1;
    float pcm[1920];
    size_t count, total = 0;
    parley_error error = {0};
    parley_tts *session = start(*state, &o, text);
    while (total < 1920 * 4) {
        check_ok(parley_tts_pull(session, pcm, 1920, &count, &error), &error);
        total += count;
    }
    parley_tts_cancel(session);
    speech rest = finish(session, 1000);
    assert_int_equal(rest.result.finish, PARLEY_FINISH_CANCELLED);
    assert_true(rest.frames < 6);
    free_speech(&rest);
}

static void test_budget_from_the_text(void **state)
{
    parley_tts_options o = plain_options(*state, 1);
    o.budget = PARLEY_BUDGET_TEXT;
    parley_tts *session = start(*state, &o, "a a");
    parley_tts_result result;
    parley_tts_result_get(session, &result);
    const parley_info *info = parley_model_info(*state);
    int text_ids = (int)result.n_text_ids - 8, wanted = 75 + 16 * text_ids;
    assert_int_equal(result.frame_budget, wanted < info->max_new_tokens - 1 ? wanted : info->max_new_tokens - 1);
    parley_tts_close(session);
}

static void test_calls_at_the_wrong_time(void **state)
{
    parley_tts_options o = plain_options(*state, 2);
    parley_error error = {0};
    parley_tts *session;
    float pcm[64];
    size_t count;
    check_ok(parley_tts_open(*state, &o, &session, &error), &error);
    assert_int_equal(parley_tts_pull(session, pcm, 64, &count, &error), PARLEY_STATE);
    check_ok(parley_tts_push_text(session, "a", 1, &error), &error);
    check_ok(parley_tts_finish_text(session, &error), &error);
    assert_int_equal(parley_tts_push_text(session, "a", 1, &error), PARLEY_STATE);
    assert_int_equal(parley_tts_finish_text(session, &error), PARLEY_STATE);
    speech s = finish(session, 64);
    free_speech(&s);
    parley_tts *twice[2] = {start(*state, &o, "a"), NULL};
    twice[1] = twice[0];
    assert_int_equal(parley_tts_step(twice, 2, &count, &error), PARLEY_ARGUMENT);
    parley_tts_close(twice[0]);
}

/* ------------------------------------------------------------------ bad options */

static void refused(const parley_model *model, const parley_tts_options *o, parley_status status, const char *word)
{
    parley_tts *session = NULL;
    parley_error error = {0};
    parley_status got = parley_tts_open(model, o, &session, &error);
    if (got != status || !strstr(error.text, word))
        fail_msg("%s: \"%s\", wanted %s with \"%s\"", parley_status_name(got), error.text, parley_status_name(status), word);
    assert_null(session);
}

static void test_bad_names_list_the_good_ones(void **state)
{
    parley_tts_options o = plain_options(*state, 2);
    o.language = "klingon";
    refused(*state, &o, PARLEY_ARGUMENT, "portuguese");
    o.language = "beijing_dialect"; /* as the reference: dialects are the speakers' */
    refused(*state, &o, PARLEY_ARGUMENT, "unknown");
    o.language = "auto";
    assert_int_equal(parley_speaker_find(*state, "SERENA"), parley_speaker_find(*state, "serena"));
    assert_true(parley_speaker_find(*state, "serena") >= 0);
    assert_int_equal(parley_speaker_find(*state, "s\xFF"), -1);
    o.speaker = "nobody";
    refused(*state, &o, PARLEY_ARGUMENT, "serena");
}

static void test_numbers_out_of_range(void **state)
{
    static const float bad_temperature[] = {-0.1f, 10.5f, NAN, INFINITY}, bad_top_p[] = {0, -1, 1.01f, NAN};
    parley_tts_options good = plain_options(*state, 2), o;
    for (int i = 0; i < 4; i++) {
        o = good;
        o.talker.temperature = bad_temperature[i];
        refused(*state, &o, PARLEY_ARGUMENT, "talker temperature");
        o = good;
        o.predictor.top_p = bad_top_p[i];
        refused(*state, &o, PARLEY_ARGUMENT, "predictor top-p");
    }
    o = good;
    o.talker.top_k = -1;
    refused(*state, &o, PARLEY_ARGUMENT, "top-k");
    o = good;
    o.talker.repetition_penalty = 0;
    refused(*state, &o, PARLEY_ARGUMENT, "penalty");
    o = good;
    o.max_frames = 0;
    refused(*state, &o, PARLEY_ARGUMENT, "frames");
    o = good;
    o.size = 8;
    refused(*state, &o, PARLEY_ARGUMENT, "options_init");
}

static void test_voices_that_do_not_fit(void **state)
{
    static const float vector[32] = {0.1f};
    static const int32_t codes[16] = {1};
    parley_tts_options o = plain_options(*state, 2);
    o.xvector = vector;
    o.xvector_length = 32;
    refused(*state, &o, PARLEY_ARGUMENT, "base model");
    parley_model *base = open_model(MODEL("tts_a_base"), NULL, 1, NULL);
    o = plain_options(base, 2);
    o.speaker = "serena";
    refused(base, &o, PARLEY_ARGUMENT, "no speakers");
    o.speaker = NULL;
    o.xvector = vector;
    o.xvector_length = 31;
    refused(base, &o, PARLEY_ARGUMENT, "31 values, expected 32");
    o.xvector_length = 32;
    o.ref_codes = codes;
    o.ref_frames = 1;
    refused(base, &o, PARLEY_ARGUMENT, "text is missing");
    o.ref_text = "so";
    o.xvector = NULL;
    refused(base, &o, PARLEY_ARGUMENT, "vector is missing");
    o.xvector = vector;
    static const int32_t bad[16] = {[5] = 64};
    o.ref_codes = bad;
    refused(base, &o, PARLEY_ARGUMENT, "frame 0, group 5 is 64, expected 0 to 63");
    parley_model_close(base);
}

static void check_text(const parley_model *model, const parley_tts_options *o, const char *bytes, size_t length, parley_status status,
                       const char *word)
{
    parley_tts *session = NULL;
    parley_error error = {0};
    check_ok(parley_tts_open(model, o, &session, &error), &error);
    check_ok(parley_tts_push_text(session, bytes, length, &error), &error);
    parley_status got = parley_tts_finish_text(session, &error);
    if (got != status || (word && !strstr(error.text, word)))
        fail_msg("%s: \"%s\", wanted %s with \"%s\"", parley_status_name(got), error.text, parley_status_name(status), word);
    parley_tts_close(session);
}

static void test_bad_texts(void **state)
{
    parley_tts_options o = plain_options(*state, 2);
    check_text(*state, &o, "", 0, PARLEY_ARGUMENT, "empty");
    check_text(*state, &o, " \n\t ", 4, PARLEY_ARGUMENT, "empty");
    check_text(*state, &o, "\u3000\u00A0", 5, PARLEY_ARGUMENT, "white space only");
    check_text(*state, &o, "a\xFF", 2, PARLEY_FORMAT, "the text is not valid UTF-8 at byte 1");
    check_text(*state, &o, "\xFF", 1, PARLEY_FORMAT, "the text is not valid UTF-8 at byte 0");
    check_text(*state, &o, "a\0b", 3, PARLEY_OK, NULL);
    check_text(*state, &o, "?!", 2, PARLEY_OK, NULL);
    o.allow_empty = true;
    check_text(*state, &o, "", 0, PARLEY_OK, NULL);
    o = plain_options(*state, 40000);
    check_text(*state, &o, "a", 1, PARLEY_LIMIT, "40000 frames");
    check_text(*state, &o, "a", 1, PARLEY_LIMIT, "32768");
}

/* ------------------------------------------------------------------ memory */

static void test_requests_leave_the_process_as_large(void **state)
{
    (void)state;
    limit_allocator counter = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&counter);
    parley_model *model = open_model(MODEL("tts_c_custom"), NULL, 1, &allocator);
    size_t before = counter.held, most = 0;
    for (int i = 0; i < 200; i++) {
        parley_tts_options o = plain_options(model, 1 + i % 3);
        speech s = speak(model, &o, row_texts[i % ROWS]);
        free_speech(&s);
        assert_int_equal(counter.held, before);
        if (i == 20)
            most = counter.most;
    }
    assert_int_equal(counter.most, most);
    parley_model_close(model);
    assert_int_equal(counter.held, 0);
}

/* Between the first frames and the last nothing is taken from the allocator; what a cache needs more comes in blocks of 64 positions. */
static void test_no_allocation_between_steps(void **state)
{
    (void)state;
    limit_allocator counter = {.limit = SIZE_MAX, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&counter);
    parley_model *model = open_model(MODEL("tts_a_custom"), NULL, 1, &allocator);
    parley_tts_options o = plain_options(model, 30);
    o.chunk_frames = 2;
    float pcm[1920];
    size_t count;
    parley_error error = {0};
    parley_tts *session = start(model, &o, "So.");
    for (int i = 0; i < 6; i++)
        check_ok(parley_tts_pull(session, pcm, 1920, &count, &error), &error);
    counter.left = 0; /* any further call fails */
    speech s = finish(session, 1920);
    assert_true(s.frames > 15);
    assert_int_equal(s.result.finish, PARLEY_FINISH_LENGTH);
    free_speech(&s);
    parley_model_close(model);
    assert_int_equal(counter.held, 0);
}

/* One whole use with the allocator failing at its n-th call: PARLEY_MEMORY, nothing lost, or success when n is large enough. */
static bool survives(size_t calls)
{
    limit_allocator counter = {.limit = SIZE_MAX, .left = calls};
    parley_allocator allocator = limit_interface(&counter);
    parley_open_options options;
    parley_model *model = NULL;
    parley_tts *session = NULL;
    parley_error error = {0};
    float pcm[1920];
    size_t count = 1;
    parley_open_options_init(&options);
    options.allocator = &allocator;
    options.threads = 1;
    parley_status status = parley_model_open(MODEL("tts_c_custom"), &options, &model, &error);
    if (status == PARLEY_OK) {
        parley_tts_options o = plain_options(model, 2);
        status = parley_tts_open(model, &o, &session, &error);
    }
    if (status == PARLEY_OK)
        status = parley_tts_push_text(session, "So.", 3, &error);
    if (status == PARLEY_OK)
        status = parley_tts_finish_text(session, &error);
    while (status == PARLEY_OK && count > 0)
        status = parley_tts_pull(session, pcm, 1920, &count, &error);
    if (status != PARLEY_OK && status != PARLEY_MEMORY)
        fail_msg("call %zu: %s: %s", calls, parley_status_name(status), error.text);
    parley_tts_close(session);
    parley_model_close(model);
    assert_int_equal(counter.held, 0);
    return status == PARLEY_OK;
}

static void test_out_of_memory_anywhere(void **state)
{
    (void)state;
    size_t calls = 0;
    while (!survives(calls))
        calls += calls < 300 ? 1 : 5;
    assert_true(calls > 20);
}

/* ------------------------------------------------------------------ the same checkpoint in other clothes */

static parley_memory_file memory_file(const char *folder, const char *name)
{
    char path[500];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *bytes = npy_read_file(path, &size);
    return (parley_memory_file){name, bytes, size};
}

static void test_files_in_memory(void **state)
{
    static const char *const names[] = {"config.json",
                                        "generation_config.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "tokenizer_config.json",
                                        "model.safetensors",
                                        "speech_tokenizer/config.json",
                                        "speech_tokenizer/model.safetensors"};
    enum { FILES = sizeof names / sizeof names[0] };
    parley_memory_file files[FILES];
    parley_model *model = NULL;
    parley_error error = {0};
    for (int i = 0; i < FILES; i++)
        files[i] = memory_file(MODEL("tts_a_custom"), names[i]);
    check_ok(parley_model_open_memory(files, FILES, NULL, &model, &error), &error);
    parley_tts_options o = plain_options(*state, 6), m = plain_options(model, 6);
    speech from_path = speak(*state, &o, text), from_memory = speak(model, &m, text);
    same_speech(&from_path, &from_memory);
    free_speech(&from_path);
    free_speech(&from_memory);
    parley_model_close(model);
    for (int i = 0; i < FILES; i++)
        free((void *)(uintptr_t)files[i].data);
}

static void same_codes(const char *path_a, const char *path_b, const char *codec)
{
    parley_model *a = open_model(path_a, NULL, 2, NULL), *b = open_model(path_b, codec, 2, NULL);
    parley_tts_options oa = plain_options(a, 20), ob = plain_options(b, 20);
    speech sa = speak(a, &oa, "It is ## one checkpoint."), sb = speak(b, &ob, "It is ## one checkpoint.");
    assert_int_equal(sa.frames, sb.frames);
    assert_memory_equal(sa.codes, sb.codes, sa.frames * sa.groups * sizeof *sa.codes);
    free_speech(&sa);
    free_speech(&sb);
    parley_model_close(a);
    parley_model_close(b);
}

static void test_dialects_agree(void **state)
{
    (void)state;
    same_codes(MODEL("tts_a_custom"), TEST_DATA "/gguf_qwentts_a_custom/talker-bf16.gguf", TEST_DATA "/gguf_qwentts_a_custom/codec-f32.gguf");
    same_codes(MODEL("tts_a_base"), TEST_DATA "/gguf_qts_a_base/model-bf16.gguf", MODEL("tts_a_base/speech_tokenizer"));
    same_codes(MODEL("tts_a_base"), TEST_DATA "/gguf_qts_a_base/model-bf16.gguf", TEST_DATA "/gguf_qwentts_a_custom/codec-f32.gguf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_in_pieces),
        cmocka_unit_test(test_chunks_of_any_size_give_the_same_pcm),
        cmocka_unit_test(test_codes_without_pcm),
        cmocka_unit_test(test_shared_reference),
        cmocka_unit_test(test_batch_equals_alone),
        cmocka_unit_test(test_failure_of_one_row_leaves_the_others),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_sessions_at_once),
        cmocka_unit_test(test_cancel_keeps_what_was_made),
        cmocka_unit_test(test_budget_from_the_text),
        cmocka_unit_test(test_calls_at_the_wrong_time),
        cmocka_unit_test(test_bad_names_list_the_good_ones),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_voices_that_do_not_fit),
        cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_requests_leave_the_process_as_large),
        cmocka_unit_test(test_no_allocation_between_steps),
        cmocka_unit_test(test_out_of_memory_anywhere),
        cmocka_unit_test(test_files_in_memory),
        cmocka_unit_test(test_dialects_agree),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
