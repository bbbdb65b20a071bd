/* Recognition that is made to give a teacher's tokens. */
#include <parley/parley.h>

#include "support/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 2 * PARLEY_ASR_RATE, TOKENS = 6 };

typedef struct answer {
    int32_t ids[TOKENS];
    size_t count;
    uint64_t choices, agreed;
} answer;

static int open_model(void **state)
{
    parley_model *model = NULL;
    parley_error error;
    if (parley_model_open(TEST_DATA "/models/asr_a", NULL, &model, &error) != PARLEY_OK)
        return -1;
    *state = model;
    return 0;
}

static int close_model(void **state)
{
    parley_model_close(*state);
    return 0;
}

static parley_asr_options options_of(const parley_model *model, const int32_t *teacher, size_t count)
{
    parley_asr_options o;
    parley_asr_options_init(model, &o);
    o.budget = PARLEY_TOKENS_GIVEN;
    o.max_tokens = TOKENS;
    o.teacher = teacher;
    o.n_teacher = count;
    return o;
}

static answer hear(const parley_model *model, const int32_t *teacher, size_t count)
{
    parley_asr_options options = options_of(model, teacher, count);
    float *pcm = malloc(SAMPLES * sizeof *pcm);
    test_random r = {41};
    parley_asr *session;
    parley_error error;
    parley_asr_result result;
    answer a = {.count = 0};
    assert_non_null(pcm);
    for (int i = 0; i < SAMPLES; i++)
        pcm[i] = test_float(&r, 0.3f);
    assert_int_equal(parley_asr_open(model, &options, &session, &error), PARLEY_OK);
    assert_int_equal(parley_asr_push(session, pcm, SAMPLES, &error), PARLEY_OK);
    assert_int_equal(parley_asr_finish(session, &error), PARLEY_OK);
    assert_int_equal(parley_asr_run(session, &error), PARLEY_OK);
    parley_asr_result_get(session, &result);
    assert_int_equal(result.n_segments, 1);
    assert_true(result.segments[0].n_tokens <= TOKENS);
    a.count = result.segments[0].n_tokens;
    memcpy(a.ids, result.segments[0].token_ids, a.count * sizeof *a.ids);
    a.choices = result.teacher_choices;
    a.agreed = result.teacher_agreed;
    parley_asr_close(session);
    free(pcm);
    return a;
}

static void own_tokens_are_agreed_to(void **state)
{
    answer alone = hear(*state, NULL, 0), taught = hear(*state, alone.ids, alone.count);
    assert_true(alone.count >= 2 && alone.choices == 0 && alone.agreed == 0);
    assert_int_equal(taught.count, alone.count);
    assert_memory_equal(taught.ids, alone.ids, alone.count * sizeof *alone.ids);
    assert_int_equal(taught.choices, alone.count);
    assert_int_equal(taught.agreed, alone.count);
}

/* Each choice follows the teacher's tokens before it, not its own. */
static void other_tokens_are_given(void **state)
{
    answer alone = hear(*state, NULL, 0);
    int32_t other[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        other[i] = 40 + i; /* ordinary tokens: none ends the answer */
    answer taught = hear(*state, other, TOKENS);
    assert_int_equal(taught.count, TOKENS);
    assert_memory_equal(taught.ids, other, sizeof other);
    assert_int_equal(taught.choices, TOKENS);
    assert_true(taught.agreed < TOKENS);
    answer half = hear(*state, alone.ids, 1); /* then it goes on by itself */
    assert_int_equal(half.choices, 1);
    assert_int_equal(half.count, alone.count);
    assert_memory_equal(half.ids, alone.ids, alone.count * sizeof *alone.ids);
}

static void teachers_are_checked(void **state)
{
    static const int32_t ids[] = {1, -1}, high[] = {1 << 24};
    parley_asr *session;
    parley_error error;
    parley_asr_options options = options_of(*state, ids, 2);
    assert_int_equal(parley_asr_open(*state, &options, &session, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "teacher id 1 is -1"));
    options = options_of(*state, high, 1);
    assert_int_equal(parley_asr_open(*state, &options, &session, &error), PARLEY_ARGUMENT);
    options = options_of(*state, ids, 1);
    options.stream = true;
    assert_int_equal(parley_asr_open(*state, &options, &session, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "a stream takes none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_tokens_are_agreed_to), cmocka_unit_test(other_tokens_are_given),
                                       cmocka_unit_test(teachers_are_checked)};
    return cmocka_run_group_tests(tests, open_model, close_model);
}
