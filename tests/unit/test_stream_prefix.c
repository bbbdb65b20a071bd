/* Which prefix each step of the reference's streaming loop asks for (golden case asr_stream). */
#include "rules_fixture.h"

#include "models/qwen3_asr/answer.h"
#include "models/qwen3_asr/prefix.h"

/* The loop of the reference with a scripted model: the answers come from the case. */
static int check_run(const pl_tokenizer *tokenizer, const cJSON *run)
{
    pl_arena arena;
    pl_span raw = {"", 0}, forced = {"", 0};
    pl_answer answer = {raw, raw};
    size_t step = 0;
    const cJSON *item;
    pl_arena_init(&arena, NULL, 1 << 14);
    if (cJSON_IsString(member(run, "language")))
        assert_int_equal(pl_language_normalise(&arena, text_of(member(run, "language")), &forced, NULL), PARLEY_OK);
    cJSON_ArrayForEach(item, member(run, "steps"))
    {
        bool last = strcmp(member(item, "event")->valuestring, "finish") == 0;
        pl_prefix_rule rule = {(size_t)whole(member(run, "K")), (size_t)whole(member(run, "first")), last, PARLEY_SPLITTER_QWEN2};
        pl_span prefix, parts[2];
        assert_int_equal(pl_stream_prefix(&arena, tokenizer, raw, step++, &rule, &prefix, NULL), PARLEY_OK);
        assert_span(prefix, member(item, "prefix")->valuestring);
        parts[0] = prefix;
        parts[1] = text_of(member(item, "says"));
        assert_int_equal(pl_texts_join(&arena, parts, 2, PL_JOIN_NONE, &raw, NULL), PARLEY_OK);
        assert_int_equal(pl_answer_parse(&arena, raw, forced, &answer, NULL), PARLEY_OK);
        if (cJSON_GetObjectItem(item, "raw")) {
            assert_span(raw, member(item, "raw")->valuestring);
            assert_span(answer.language, member(item, "language")->valuestring);
            assert_span(answer.text, member(item, "text")->valuestring);
        }
    }
    assert_span(answer.language, member(run, "language_out")->valuestring);
    assert_span(answer.text, member(run, "text_out")->valuestring);
    pl_arena_free(&arena);
    return (int)step;
}

static void streams(void **state)
{
    (void)state;
    vocabulary_files files = {read_data("models/asr_a/vocab.json"), read_data("models/asr_a/merges.txt"),
                              read_data("models/asr_a/tokenizer_config.json")};
    pl_tokenizer *tokenizer = open_files(files);
    cJSON *json = read_case("asr_stream/case.json");
    const cJSON *run;
    int runs = 0, steps = 0;
    cJSON_ArrayForEach(run, member(json, "runs"))
    {
        steps += check_run(tokenizer, run);
        runs++;
    }
    assert_int_equal(runs, 5);
    assert_int_equal(steps, 20);
    cJSON_Delete(json);
    pl_tokenizer_close(tokenizer);
    free_files(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(streams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
