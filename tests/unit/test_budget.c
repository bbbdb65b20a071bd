#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/qwen3_tts/budget.h"

static const struct {
    int64_t text_ids;
    int32_t max_new_tokens, frames;
} cases[] = {
    {0, 8192, 75},
    {1, 8192, 91},
    {20, 8192, 395},
    {507, 8192, 8187}, /* the last length below the checkpoint's limit */
    {508, 8192, 8191},
    {20, 396, 395},
    {20, 395, 394},
    {20, 2, 1},
    {20, 1, 1},
    {20, 0, 1},
    {20, INT32_MIN, 1},
    {-1, 8192, 75},
    {INT64_MIN, 8192, 75},
    {(INT32_MAX - 75) / 16, INT32_MAX, 2147483643}, /* the largest without overflow */
    {(INT32_MAX - 75) / 16 + 1, INT32_MAX, INT32_MAX - 1},
    {INT64_MAX, INT32_MAX, INT32_MAX - 1},
    {INT64_MAX, 8192, 8191},
};

static void budgets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(pl_tts_frame_budget(cases[i].text_ids, cases[i].max_new_tokens), cases[i].frames);
}

/* 75 frames or 6 frames an id, alone, cut slow speech: the budget stays well above the larger of both. */
static void leaves_room_for_slow_speech(void **state)
{
    (void)state;
    for (int64_t ids = 1; ids < 400; ids++) {
        assert_true(pl_tts_frame_budget(ids, 8192) > 75);
        assert_true(pl_tts_frame_budget(ids, 8192) > 2 * 6 * ids);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(budgets), cmocka_unit_test(leaves_room_for_slow_speech)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
