#include "quality.h"

#include "audio_in.h"
#include "inputs.h"
#include "jobs.h"
#include "notice.h"
#include "output.h"
#include "stages.h"

#include <parley/asr.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frames of each text at most (10 s), tokens of each clip. */
enum { MOST_FRAMES = 125, MOST_TOKENS = 256, LIST_BYTES = 1 << 24, FREE_SEED = 1 };

static const char *const speech_stages[] = {"prompt_embeds", "prefill_norm", "hidden", "c0_logits", "pred_hidden", "pred_logits", "pcm", NULL};
static const char *const hearing_stages[] = {"tower_out", "text_final", "logits", NULL};

static const char own_texts[] = "Good morning. The train to the coast leaves at twenty past seven.\n"
                                "She sold the old piano, but she kept the small one by the window.\n"
                                "Is it going to rain tomorrow, or can we walk along the river?\n";

typedef struct comparison {
    const cli_quality *quality;
    parley_model *source, *made;
    cli_jobs items; /* texts, or names of sound files */
    cli_stage_sums sums;
    uint64_t choices[2], agreed[2];  /* of the made model under the source's choices: first codes and the others, or tokens */
    uint64_t source_free, made_free; /* frames or tokens of free runs */
    uint64_t same_free;              /* items whose free runs gave the same */
} comparison;

/* ------------------------------------------------------------------ speech */

typedef struct spoken {
    int32_t *codes;
    size_t frames, groups;
} spoken;

static parley_status pull_all(parley_tts *session, const char *text, parley_error *error)
{
    float pcm[4096];
    size_t count;
    CLI_TRY(parley_tts_push_text(session, text, strlen(text), error));
    CLI_TRY(parley_tts_finish_text(session, error));
    do
        CLI_TRY(parley_tts_pull(session, pcm, CLI_COUNT(pcm), &count, error));
    while (count > 0);
    return PARLEY_OK;
}

static parley_status keep_codes(const parley_tts_result *result, spoken *out, parley_error *error)
{
    size_t count = result->frames * (size_t)result->groups;
    out->frames = result->frames;
    out->groups = (size_t)result->groups;
    out->codes = malloc(count * sizeof *out->codes + 1);
    if (!out->codes)
        return cli_fail_memory(error);
    if (count)
        memcpy(out->codes, result->codes, count * sizeof *out->codes);
    return PARLEY_OK;
}

/* Speaks a text once; `out` and `result` may be NULL. */
static parley_status speak(const parley_model *model, const parley_tts_options *options, const char *text, spoken *out, parley_tts_result *result,
                           parley_error *error)
{
    parley_tts *session;
    parley_tts_result own;
    CLI_TRY(parley_tts_open(model, options, &session, error));
    parley_status status = pull_all(session, text, error);
    parley_tts_result_get(session, &own);
    if (status == PARLEY_OK && out)
        status = keep_codes(&own, out, error);
    if (result)
        *result = own;
    parley_tts_close(session);
    return status;
}

static parley_tts_options greedy_options(const parley_model *model, cli_stages *stages)
{
    parley_tts_options o;
    parley_tts_options_init(model, &o);
    o.talker.temperature = o.predictor.temperature = 0.0f;
    o.budget = PARLEY_BUDGET_FRAMES;
    o.max_frames = MOST_FRAMES;
    o.tap = cli_stages_tap;
    o.tap_context = stages;
    return o;
}

/* The source speaks greedily, the other model is made to say the same codes. */
static parley_status compare_taught(comparison *c, const char *text, parley_error *error)
{
    cli_stages source = {.names = speech_stages}, made = {.names = speech_stages};
    spoken said = {0};
    parley_tts_result result = {0};
    parley_tts_options options = greedy_options(c->source, &source);
    parley_status status = speak(c->source, &options, text, &said, NULL, error);
    if (status == PARLEY_OK) {
        options = greedy_options(c->made, &made);
        options.teacher = said.codes;
        options.teacher_frames = said.frames;
        status = said.frames ? speak(c->made, &options, text, NULL, &result, error) : PARLEY_OK;
    }
    if (status == PARLEY_OK && said.frames)
        cli_stages_add(&c->sums, &source, &made);
    for (int i = 0; i < 2 && status == PARLEY_OK; i++) {
        c->choices[i] += result.teacher_choices[i];
        c->agreed[i] += result.teacher_agreed[i];
    }
    cli_stages_free(&source);
    cli_stages_free(&made);
    free(said.codes);
    return status;
}

/* Both speak as they would, with the same draws. */
static parley_status compare_free(comparison *c, const char *text, parley_error *error)
{
    spoken said[2] = {{0}, {0}};
    const parley_model *const models[2] = {c->source, c->made};
    parley_status status = PARLEY_OK;
    for (int i = 0; i < 2 && status == PARLEY_OK; i++) {
        parley_tts_options options;
        parley_tts_options_init(models[i], &options);
        options.budget = PARLEY_BUDGET_FRAMES;
        options.max_frames = MOST_FRAMES;
        options.seed = FREE_SEED;
        options.pcm = false;
        status = speak(models[i], &options, text, &said[i], NULL, error);
    }
    c->source_free += said[0].frames;
    c->made_free += said[1].frames;
    c->same_free += status == PARLEY_OK && said[0].frames == said[1].frames
                    && memcmp(said[0].codes, said[1].codes, said[0].frames * said[0].groups * sizeof(int32_t)) == 0;
    free(said[0].codes);
    free(said[1].codes);
    return status;
}

static parley_status compare_text(comparison *c, const char *text, parley_error *error)
{
    CLI_TRY(compare_taught(c, text, error));
    return compare_free(c, text, error);
}

/* ------------------------------------------------------------------ hearing */

typedef struct heard {
    int32_t *ids;
    size_t count;
    uint64_t choices, agreed;
} heard;

static parley_status keep_ids(const parley_asr_result *result, heard *out, parley_error *error)
{
    out->choices = result->teacher_choices;
    out->agreed = result->teacher_agreed;
    if (result->n_segments == 0)
        return PARLEY_OK;
    out->count = result->segments[0].n_tokens;
    out->ids = malloc(out->count * sizeof *out->ids + 1);
    if (!out->ids)
        return cli_fail_memory(error);
    if (out->count)
        memcpy(out->ids, result->segments[0].token_ids, out->count * sizeof *out->ids);
    return PARLEY_OK;
}

static parley_status run_hearing(parley_asr *session, const parley_audio *sound, heard *out, parley_error *error)
{
    parley_asr_result result;
    CLI_TRY(parley_asr_push(session, sound->samples, sound->count, error));
    CLI_TRY(parley_asr_finish(session, error));
    CLI_TRY(parley_asr_run(session, error));
    parley_asr_result_get(session, &result);
    return keep_ids(&result, out, error);
}

/* Hears a clip; with a teacher its first segment is made to give these ids. */
static parley_status hear(const parley_model *model, const parley_audio *sound, const heard *teacher, cli_stages *stages, heard *out,
                          parley_error *error)
{
    parley_asr *session;
    parley_asr_options options;
    parley_asr_options_init(model, &options);
    options.budget = PARLEY_TOKENS_GIVEN;
    options.max_tokens = MOST_TOKENS;
    if (teacher) {
        options.teacher = teacher->ids;
        options.n_teacher = teacher->count;
    }
    if (stages) {
        options.tap = cli_stages_tap;
        options.tap_context = stages;
    }
    CLI_TRY(parley_asr_open(model, &options, &session, error));
    parley_status status = run_hearing(session, sound, out, error);
    parley_asr_close(session);
    return status;
}

static parley_status compare_sound(comparison *c, const parley_audio *sound, parley_error *error)
{
    cli_stages source = {.names = hearing_stages}, made = {.names = hearing_stages};
    heard first = {0}, taught = {0}, alone = {0};
    parley_status status = hear(c->source, sound, NULL, &source, &first, error);
    if (status == PARLEY_OK && first.count)
        status = hear(c->made, sound, &first, &made, &taught, error);
    if (status == PARLEY_OK)
        status = hear(c->made, sound, NULL, NULL, &alone, error);
    if (status == PARLEY_OK && first.count)
        cli_stages_add(&c->sums, &source, &made);
    c->choices[0] += taught.choices;
    c->agreed[0] += taught.agreed;
    c->source_free += first.count;
    c->made_free += alone.count;
    c->same_free += first.count == alone.count && (!first.count || !memcmp(first.ids, alone.ids, first.count * sizeof *first.ids));
    free(first.ids), free(taught.ids), free(alone.ids);
    cli_stages_free(&source);
    cli_stages_free(&made);
    return status;
}

static parley_status compare_clip(comparison *c, const char *path, parley_error *error)
{
    parley_audio_options options;
    parley_audio sound;
    parley_audio_options_init(&options);
    options.rate = PARLEY_ASR_RATE;
    CLI_TRY(cli_read_audio(path, &options, &sound, error));
    parley_status status = compare_sound(c, &sound, error);
    parley_audio_free(&sound);
    return status;
}

/* ------------------------------------------------------------------ the report */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static parley_status write_report(const comparison *c, bool speaks, parley_error *error)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "source", c->quality->source);
    cli_json_string(&json, "made", c->quality->made);
    cli_json_unsigned(&json, speaks ? "texts" : "clips", c->items.count);
    cli_stages_json(&json, speaks ? speech_stages : hearing_stages, &c->sums);
    cli_json_open(&json, "taught", '{');
    cli_json_unsigned(&json, speaks ? "first_codes" : "tokens", c->choices[0]);
    cli_json_real(&json, speaks ? "first_code_agreement" : "token_agreement", share(c->agreed[0], c->choices[0]));
    if (speaks) {
        cli_json_unsigned(&json, "other_codes", c->choices[1]);
        cli_json_real(&json, "other_code_agreement", share(c->agreed[1], c->choices[1]));
    }
    cli_json_close(&json, '}');
    cli_json_open(&json, "free", '{');
    cli_json_unsigned(&json, speaks ? "source_frames" : "source_tokens", c->source_free);
    cli_json_unsigned(&json, speaks ? "made_frames" : "made_tokens", c->made_free);
    cli_json_real(&json, speaks ? "duration_ratio" : "length_ratio", share(c->made_free, c->source_free));
    cli_json_unsigned(&json, "equal", c->same_free);
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    parley_status status = cli_output_whole(c->quality->report, &text, error);
    cli_buffer_free(&text);
    return status;
}

static parley_status read_items(comparison *c, bool speaks, parley_error *error)
{
    const char *file = speaks ? c->quality->texts : c->quality->clips;
    cli_buffer lines = {0};
    if (!file && !speaks)
        return cli_fail(error, PARLEY_ARGUMENT, "--report of a model that hears needs --clips");
    if (speaks ? c->quality->clips : c->quality->texts)
        return cli_fail(error, PARLEY_ARGUMENT, "%s", speaks ? "--clips is for models that hear" : "--texts is for models that speak");
    if (!file)
        return cli_jobs_lines("texts", own_texts, sizeof own_texts - 1, &c->items, error);
    parley_status status = cli_read_file(file, speaks ? "--texts" : "--clips", LIST_BYTES, &lines, error);
    if (status == PARLEY_OK)
        status = cli_jobs_lines(file, lines.data, lines.size, &c->items, error);
    cli_buffer_free(&lines);
    return status;
}

static parley_status open_models(comparison *c, parley_error *error)
{
    parley_open_options options;
    const cli_quality *q = c->quality;
    const char *const read[] = {q->source, q->made, q->fields->model2.value, q->fields->codec.value};
    for (size_t i = 0; i < CLI_COUNT(read); i++)
        if (read[i])
            CLI_TRY(cli_input_model(read[i], error));
    CLI_TRY(cli_open_options(q->fields, PARLEY_PARTS_ALL, &options, error));
    CLI_TRY(parley_model_open(q->source, &options, &c->source, error));
    options.codec_path = options.second_path = NULL;
    return parley_model_open(q->made, &options, &c->made, error);
}

static parley_status check_kind(const parley_info *info, parley_error *error)
{
    if (!info->has_talker && strcmp(info->model_type, "aligner") == 0)
        return cli_fail(error, PARLEY_ARGUMENT, "--report compares models that speak or transcribe, an aligner does neither");
    return PARLEY_OK;
}

static parley_status compare_all(comparison *c, parley_error *error)
{
    CLI_TRY(open_models(c, error));
    bool speaks = parley_model_info(c->source)->has_talker;
    CLI_TRY(read_items(c, speaks, error));
    for (size_t i = 0; i < c->items.count; i++) {
        const char *item = c->items.rows[i].text.data;
        CLI_TRY(speaks ? compare_text(c, item, error) : compare_clip(c, item, error));
    }
    return write_report(c, speaks, error);
}

parley_status cli_quality_check(const cli_quality *quality, parley_error *error)
{
    comparison c = {.quality = quality};
    parley_open_options options;
    parley_info *info = NULL;
    CLI_TRY(cli_open_options(quality->fields, PARLEY_PARTS_ALL, &options, error));
    parley_status status = parley_inspect(quality->source, &options, &info, error);
    if (status == PARLEY_OK)
        status = check_kind(info, error);
    if (status == PARLEY_OK)
        status = read_items(&c, info->has_talker, error);
    cli_jobs_free(&c.items);
    parley_info_free(info);
    return status;
}

parley_status cli_quality_report(const cli_quality *quality, parley_error *error)
{
    comparison c = {.quality = quality};
    parley_status status = compare_all(&c, error);
    cli_jobs_free(&c.items);
    parley_model_close(c.made);
    parley_model_close(c.source);
    return status;
}
