/* parley say with many texts: as many sessions as --batch allows advance together, and a finished one makes room for the next text at once. */
#include "jobs.h"
#include "json_out.h"
#include "notice.h"
#include "report.h"
#include "say_voice.h"
#include "signals.h"
#include "text_input.h"

#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_BATCH = 8, PULL_SAMPLES = 16384, MAX_JOBS_FILE = 256 << 20 };

/* A text that is being spoken. */
typedef struct slot {
    bool used;
    size_t row; /* of the list, 0-based; files and messages count from 1 */
    parley_tts *session;
    cli_output file;
    cli_wav wav;
    uint64_t frames;
} slot;

typedef struct batch {
    const say_fields *fields;
    cli_jobs jobs;
    say_inputs inputs;
    cli_output json_file;
    cli_buffer *reports; /* one JSON object a row, where --json asks for them */
    parley_model *model;
    parley_reference *reference; /* of the voice that all rows without their own have; NULL: none */
    int32_t sample_rate;         /* Hz */
    double load;                 /* seconds */
    slot slots[CLI_MAX_SESSIONS];
    size_t used, limit; /* slots in use, and how many there may be */
    size_t next, done, failed;
    bool cancelled;
    bool made_directory;
    parley_error first_failure;
    size_t first_failed_row;
    uint64_t frames, samples; /* of all rows that ended */
    double started;           /* seconds */
    cli_progress progress;
} batch;

static void row_path(const batch *b, size_t row, const char *ending, cli_buffer *path)
{
    path->size = 0;
    cli_appendf(path, "%s/%04zu.%s", b->fields->output_dir.value, row + 1, ending);
}

static void release_slot(batch *b, slot *s)
{
    if (s->session)
        cli_signals_unwatch(s->session);
    parley_tts_close(s->session);
    cli_output_discard(&s->file);
    s->session = NULL;
    s->used = false;
    b->used--;
}

static void report_failure(batch *b, size_t row, const parley_error *failure)
{
    cli_notice("text %zu: %s", row + 1, failure->text);
    if (b->failed++ == 0 || row < b->first_failed_row) {
        b->first_failure = *failure;
        b->first_failed_row = row;
    }
    if (!b->reports)
        return;
    cli_json json = {.out = &b->reports[row]};
    cli_json_open(&json, NULL, '{');
    cli_json_unsigned(&json, "row", row + 1);
    cli_json_open(&json, "error", '{');
    cli_json_string(&json, "kind", parley_status_name(failure->status));
    cli_json_string(&json, "text", failure->text);
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
}

static void report_row(batch *b, size_t row, const parley_tts_result *result)
{
    if (!b->reports)
        return;
    cli_report report = {
        .result = *result, .sample_rate = b->sample_rate, .load = b->load, .clone = b->fields->clone.given ? &b->inputs.clone : NULL};
    cli_json json = {.out = &b->reports[row]};
    cli_json_open(&json, NULL, '{');
    cli_json_unsigned(&json, "row", row + 1);
    cli_report_members(&json, &report);
    cli_json_close(&json, '}');
}

static parley_status row_options(const batch *b, const cli_job *job, const say_voice *voice, parley_tts_options *options, parley_error *error)
{
    CLI_TRY(say_tts_options(b->model, b->fields, &b->inputs, voice, options, error));
    options->reference = voice ? NULL : b->reference;
    if (job->language.data)
        options->language = job->language.data;
    if (job->instruct.data)
        options->instruct = job->instruct.size ? job->instruct.data : NULL;
    if (job->has_seed)
        options->seed = job->seed;
    options->exact_cut = options->ref_codes != NULL;
    say_set_pieces(b->fields, job->text.size, options);
    return PARLEY_OK;
}

/* The row's own voice is needed until the session has copied it. */
static parley_status open_row(batch *b, slot *s, const cli_job *job, parley_error *error)
{
    parley_tts_options options;
    say_voice voice = {.file = NULL};
    if (job->voice.data)
        CLI_TRY(say_voice_find(b->model, b->fields, job->voice.data, &voice, error));
    parley_status status = row_options(b, job, job->voice.data ? &voice : NULL, &options, error);
    if (status == PARLEY_OK)
        status = parley_tts_open(b->model, &options, &s->session, error);
    say_voice_free(&voice);
    return status;
}

static parley_status start_row(batch *b, slot *s, parley_error *error)
{
    const cli_job *job = &b->jobs.rows[s->row];
    CLI_TRY(open_row(b, s, job, error));
    cli_signals_watch(s->session);
    CLI_TRY(parley_tts_push_text(s->session, job->text.data ? job->text.data : "", job->text.size, error));
    CLI_TRY(parley_tts_finish_text(s->session, error));
    cli_buffer path = {0};
    row_path(b, s->row, "wav", &path);
    parley_status status = path.failed ? cli_fail_memory(error) : cli_output_open(&s->file, path.data, false, "", error);
    cli_buffer_free(&path);
    if (status == PARLEY_OK)
        status = cli_wav_begin(&s->wav, &s->file, (cli_wav_format)b->fields->wav_format.value, b->sample_rate, error);
    return status;
}

static void fill_slots(batch *b)
{
    while (b->used < b->limit && b->next < b->jobs.count && !cli_signals_cancelled()) {
        slot *s = NULL;
        for (size_t i = 0; i < b->limit && !s; i++)
            s = b->slots[i].used ? NULL : &b->slots[i];
        parley_error error = {0};
        *s = (slot){.used = true, .row = b->next++, .file = CLI_OUTPUT_NONE};
        b->used++;
        if (start_row(b, s, &error) == PARLEY_OK)
            continue;
        report_failure(b, s->row, &error);
        release_slot(b, s);
    }
}

static parley_status take_samples(slot *s, bool drain, parley_error *error)
{
    static float pcm[PULL_SAMPLES];
    while (drain || parley_tts_ready(s->session) > 0) {
        size_t count = 0;
        parley_status status = parley_tts_pull(s->session, pcm, PULL_SAMPLES, &count, error);
        if (status == PARLEY_CANCELLED || (status == PARLEY_OK && count == 0))
            break;
        CLI_TRY(status);
        CLI_TRY(cli_wav_write(&s->wav, pcm, count, error));
    }
    return PARLEY_OK;
}

static parley_status write_codes(const batch *b, size_t row, const parley_tts_result *result, parley_error *error)
{
    cli_buffer path = {0}, bytes = {0};
    row_path(b, row, b->fields->codes.value, &path);
    if (!path.failed)
        cli_codes_write(&bytes, path.data, result->codes, result->frames, result->groups);
    parley_status status = path.failed ? cli_fail_memory(error) : cli_output_whole(path.data, &bytes, error);
    cli_buffer_free(&path);
    cli_buffer_free(&bytes);
    return status;
}

static parley_status finish_row(batch *b, slot *s, parley_error *error)
{
    parley_tts_result result = {.size = sizeof result};
    CLI_TRY(take_samples(s, true, error));
    parley_tts_result_get(s->session, &result);
    if (b->fields->codes.given)
        CLI_TRY(write_codes(b, s->row, &result, error));
    CLI_TRY(cli_wav_end(&s->wav, error));
    CLI_TRY(cli_output_commit(&s->file, error));
    report_row(b, s->row, &result);
    b->cancelled = b->cancelled || result.finish == PARLEY_FINISH_CANCELLED;
    b->frames += result.frames;
    b->samples += result.samples;
    b->done++;
    return PARLEY_OK;
}

/* What a step made of one text: its samples, its end, or its failure. */
static void settle(batch *b, slot *s, parley_error *error)
{
    parley_tts_result result = {.size = sizeof result};
    bool cancelled = error->status == PARLEY_CANCELLED;
    parley_status status = cancelled ? PARLEY_OK : error->status;
    if (status == PARLEY_OK)
        status = take_samples(s, false, error);
    parley_tts_result_get(s->session, &result);
    s->frames = result.frames;
    bool ended = cancelled || result.finish != PARLEY_FINISH_NONE;
    if (status == PARLEY_OK && !ended)
        return;
    if (status == PARLEY_OK)
        status = finish_row(b, s, error);
    if (status != PARLEY_OK)
        report_failure(b, s->row, error);
    b->cancelled = b->cancelled || cancelled;
    release_slot(b, s);
}

static void step(batch *b)
{
    parley_tts *sessions[CLI_MAX_SESSIONS] = {0};
    slot *slots[CLI_MAX_SESSIONS];
    static parley_error errors[CLI_MAX_SESSIONS];
    size_t count = 0, running = 0;
    bool told = false;
    for (size_t i = 0; i < b->limit; i++) {
        if (!b->slots[i].session)
            continue;
        errors[count] = (parley_error){0};
        slots[count] = &b->slots[i];
        sessions[count++] = b->slots[i].session;
    }
    parley_status status = parley_tts_step(sessions, count, &running, errors);
    for (size_t i = 0; i < count; i++)
        told = told || errors[i].status != PARLEY_OK;
    for (size_t i = 0; i < count; i++) {
        if (status != PARLEY_OK && !told) /* the step as a whole failed */
            cli_fail(&errors[i], status, "the batch failed: %s", parley_status_name(status));
        settle(b, slots[i], &errors[i]);
    }
}

static void draw_progress(batch *b)
{
    uint64_t frames = b->frames;
    int32_t length = parley_model_info(b->model)->samples_per_frame;
    for (size_t i = 0; i < b->limit; i++)
        frames += b->slots[i].session ? b->slots[i].frames : 0;
    double speed = b->fields->speed.given ? b->fields->speed.value : 1.0;
    double seconds = b->sample_rate ? (double)frames * length / b->sample_rate / speed : 0.0;
    cli_progress_draw(&b->progress, frames, seconds, b->done + b->failed, b->jobs.count);
}

static parley_status write_reports(batch *b, parley_error *error)
{
    cli_buffer text = {0};
    cli_append_text(&text, "[");
    bool first = true;
    for (size_t i = 0; i < b->jobs.count; i++) {
        text.failed = text.failed || b->reports[i].failed;
        if (b->reports[i].size == 0) /* not reached before the run was cancelled */
            continue;
        cli_append_text(&text, first ? "" : ",\n ");
        cli_append(&text, b->reports[i].data, b->reports[i].size);
        first = false;
    }
    cli_append_text(&text, "]\n");
    parley_status status = text.failed ? cli_fail_memory(error) : cli_output_write(&b->json_file, text.data, text.size, error);
    cli_buffer_free(&text);
    return status == PARLEY_OK ? cli_output_commit(&b->json_file, error) : status;
}

static parley_status conclude(batch *b, parley_error *error)
{
    double audio = b->sample_rate ? (double)b->samples / b->sample_rate : 0.0, total = cli_seconds() - b->started;
    cli_progress_end(&b->progress);
    if (b->reports)
        CLI_TRY(write_reports(b, error));
    if (b->cancelled || cli_signals_cancelled())
        return cli_fail(error, PARLEY_CANCELLED, "cancelled: \"%.300s\" holds %zu of %zu texts; those that were running are cut short",
                        b->fields->output_dir.value, b->done, b->jobs.count);
    if (!b->fields->quiet.given)
        cli_notice("%.300s: %zu of %zu texts, %.2f s of speech in %.2f s (%.2f x real time)", b->fields->output_dir.value, b->done, b->jobs.count,
                   audio, total, total > 0.0 ? audio / total : 0.0);
    if (b->failed == 0)
        return PARLEY_OK;
    return cli_fail(error, b->first_failure.status, "%zu of %zu texts failed, the first is text %zu: %.300s", b->failed, b->jobs.count,
                    b->first_failed_row + 1, b->first_failure.text);
}

static parley_status read_jobs(batch *b, parley_error *error)
{
    const say_fields *f = b->fields;
    cli_buffer text = {0};
    parley_status status =
        f->jobs.given ? cli_read_file(f->jobs.value, "--jobs", MAX_JOBS_FILE, &text, error) : cli_text_input(NULL, f->file.value, &text, error);
    if (status == PARLEY_OK && f->jobs.given)
        status = cli_jobs_parse(f->jobs.value, text.data, text.size, &b->jobs, error);
    else if (status == PARLEY_OK)
        status = cli_jobs_lines(f->file.given ? f->file.value : "standard input", text.data, text.size, &b->jobs, error);
    cli_buffer_free(&text);
    return status;
}

/* The codes of the voice that the command line names go through the codec once for all rows. */
static parley_status open_reference(batch *b, parley_error *error)
{
    parley_tts_options options;
    CLI_TRY(say_tts_options(b->model, b->fields, &b->inputs, NULL, &options, error));
    if (!options.ref_codes)
        return PARLEY_OK;
    return parley_reference_open(b->model, options.ref_codes, options.ref_frames, &b->reference, error);
}

static parley_status prepare(batch *b, parley_error *error)
{
    const say_fields *f = b->fields;
    CLI_TRY(read_jobs(b, error));
    CLI_TRY(say_read_inputs(f, &b->inputs, error));
    CLI_TRY(cli_output_directory(f->output_dir.value, &b->made_directory, error));
    if (f->json.given)
        CLI_TRY(cli_output_open(&b->json_file, f->json.value, false, "", error));
    if (f->json.given && !(b->reports = calloc(b->jobs.count, sizeof *b->reports)))
        return cli_fail_memory(error);
    CLI_TRY(say_clone(f, &b->inputs, NULL, error));
    CLI_TRY(cli_open_model(&f->model, PARLEY_PARTS_ALL, &b->model, &b->load, error));
    CLI_TRY(say_bind_voice(b->model, f, &b->inputs, error));
    CLI_TRY(open_reference(b, error));
    b->sample_rate = parley_model_info(b->model)->sample_rate;
    b->limit = f->batch.given ? (size_t)f->batch.value : DEFAULT_BATCH;
    return PARLEY_OK;
}

static parley_status run(batch *b, parley_error *error)
{
    CLI_TRY(prepare(b, error));
    cli_signals_graceful(true);
    cli_progress_start(&b->progress, b->fields->quiet.given);
    b->started = cli_seconds();
    for (fill_slots(b); b->used > 0; fill_slots(b)) {
        step(b);
        draw_progress(b);
    }
    return conclude(b, error);
}

static void close_batch(batch *b)
{
    for (size_t i = 0; i < b->limit; i++) {
        if (b->slots[i].used)
            release_slot(b, &b->slots[i]);
    }
    parley_reference_close(b->reference);
    parley_model_close(b->model);
    cli_output_discard(&b->json_file);
    for (size_t i = 0; b->reports && i < b->jobs.count; i++)
        cli_buffer_free(&b->reports[i]);
    free(b->reports);
    cli_jobs_free(&b->jobs);
    say_free_inputs(&b->inputs);
    if (b->made_directory)
        rmdir(b->fields->output_dir.value); /* fails, as it should, when files are in it */
}

parley_status say_many(const say_fields *fields, parley_error *error)
{
    static batch b;
    b = (batch){.fields = fields, .json_file = CLI_OUTPUT_NONE};
    parley_status status = run(&b, error);
    close_batch(&b);
    return status;
}
