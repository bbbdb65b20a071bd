/* parley hear: sound files to text. Several files are open at a time and advance together; each gives what it gives alone. */
#include "commands.h"
#include "hear_dump.h"
#include "hear_result.h"
#include "hear_stream.h"
#include "notice.h"
#include "output.h"
#include "signals.h"

#include <stdlib.h>
#include <unistd.h>

enum { FILES_AT_ONCE = 8, MOST_SECONDS = 24 * 3600 };
static const double enough = 240; /* seconds of sound in work: no more files are read beside them, as they would only wait */

/* A file that is being heard. */
typedef struct slot {
    bool used;
    size_t row; /* of the list, 0-based; messages count from 1 */
    parley_asr *session;
    double seconds, heard;
} slot;

typedef struct hearing {
    const hear_fields *fields;
    char *const *files;
    size_t n_files;
    int32_t format;
    cli_buffer context;
    parley_audio_options audio;
    cli_output output;
    cli_buffer *texts; /* [n_files]; empty where nothing came */
    hear_dump dump;
    parley_model *model, *aligner;
    cli_unit_rules cutting;
    double load; /* seconds */
    slot slots[FILES_AT_ONCE];
    size_t used, limit; /* slots in use, and how many there may be */
    size_t next, done, failed;
    bool cancelled, made_directory;
    parley_error first_failure;
    size_t first_failed_row;
    double seconds; /* of sound in the files that are done */
    double started;
    cli_progress progress;
} hearing;

static void release_slot(hearing *h, slot *s)
{
    if (s->session)
        cli_signals_unwatch(s->session);
    parley_asr_close(s->session);
    *s = (slot){0};
    h->used--;
}

static void report_failure(hearing *h, size_t row, const parley_error *failure)
{
    cli_buffer *text = &h->texts[row];
    if (h->n_files > 1)
        cli_notice("sound %zu (%.200s): %s", row + 1, h->files[row], failure->text);
    if (h->failed++ == 0 || row < h->first_failed_row) {
        h->first_failure = *failure;
        h->first_failed_row = row;
    }
    text->size = 0;
    if (h->format != HEAR_JSON)
        return;
    cli_json json = {.out = text};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "file", h->files[row]);
    cli_json_open(&json, "error", '{');
    cli_json_string(&json, "kind", parley_status_name(failure->status));
    cli_json_string(&json, "text", failure->text);
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
}

/* ------------------------------------------------------------------ one file */

static parley_status open_session(hearing *h, parley_asr **session, parley_error *error)
{
    parley_asr_options options;
    hear_asr_options(h->model, h->fields, h->context.data ? h->context.data : "", &options);
    if (h->dump.directory) {
        options.tap = hear_dump_tap;
        options.tap_context = &h->dump;
    }
    return parley_asr_open(h->model, &options, session, error);
}

static parley_status start_row(hearing *h, slot *s, parley_error *error)
{
    parley_audio audio = {0};
    parley_status status = cli_read_audio(h->files[s->row], &h->audio, &audio, error);
    if (status == PARLEY_OK && audio.count == 0)
        status = cli_fail(error, PARLEY_ARGUMENT, "\"%.300s\" has no samples", h->files[s->row]);
    cli_signals_graceful(true);
    if (status == PARLEY_OK)
        status = open_session(h, &s->session, error);
    if (status == PARLEY_OK) {
        cli_signals_watch_asr(s->session);
        status = parley_asr_push(s->session, audio.samples, audio.count, error);
    }
    s->seconds = (double)audio.count / PARLEY_ASR_RATE;
    parley_audio_free(&audio); /* the session has a copy */
    return status == PARLEY_OK ? parley_asr_finish(s->session, error) : status;
}

static double seconds_in_work(const hearing *h)
{
    double seconds = 0;
    for (size_t i = 0; i < h->limit; i++)
        seconds += h->slots[i].seconds;
    return seconds;
}

static void fill_slots(hearing *h)
{
    while (h->used < h->limit && seconds_in_work(h) < enough && h->next < h->n_files && !cli_signals_cancelled()) {
        slot *s = NULL;
        for (size_t i = 0; i < h->limit && !s; i++)
            s = h->slots[i].used ? NULL : &h->slots[i];
        parley_error error = {0};
        *s = (slot){.used = true, .row = h->next++};
        h->used++;
        if (start_row(h, s, &error) == PARLEY_OK)
            continue;
        report_failure(h, s->row, &error);
        release_slot(h, s);
    }
}

static parley_status write_own_file(hearing *h, size_t row, parley_error *error)
{
    cli_buffer path = {0};
    hear_output_path(h->fields, h->files[row], &path);
    if (h->format == HEAR_JSON)
        cli_append_text(&h->texts[row], "\n");
    parley_status status = path.failed ? cli_fail_memory(error) : cli_output_whole(path.data, &h->texts[row], error);
    cli_buffer_free(&path);
    cli_buffer_free(&h->texts[row]);
    return status;
}

static void summarise(const hearing *h, const slot *s, const hear_result *result)
{
    if (h->fields->quiet.given || h->n_files > 1)
        return;
    cli_notice("%.300s: %.2f s of sound in %.2f s (%.2f x real time), %zu segments, finish %s", result->file, s->seconds, result->seconds,
               result->seconds > 0.0 ? s->seconds / result->seconds : 0.0, result->n_segments, parley_finish_name(result->finish));
}

static parley_status finish_row(hearing *h, slot *s, parley_error *error)
{
    hear_result result = {.fields = h->fields,
                          .model = h->model,
                          .aligner = h->aligner,
                          .cutting = &h->cutting,
                          .file = h->files[s->row],
                          .session = s->session,
                          .load = h->load,
                          .warn = !h->fields->quiet.given};
    CLI_TRY(hear_write_result(&result, h->format, &h->texts[s->row], error));
    if (h->dump.directory)
        CLI_TRY(hear_dump_write(&h->dump, h->n_files > 1 || result.n_segments > 1, result.n_segments, error));
    if (h->fields->output_dir.given)
        CLI_TRY(write_own_file(h, s->row, error));
    summarise(h, s, &result);
    h->cancelled = h->cancelled || result.finish == PARLEY_FINISH_CANCELLED;
    h->seconds += s->seconds;
    h->done++;
    return PARLEY_OK;
}

/* What a step made of one file: segments, its end, or its failure. */
static void settle(hearing *h, slot *s, parley_error *error)
{
    parley_asr_result result = {.size = sizeof result};
    parley_status status = error->status;
    parley_asr_result_get(s->session, &result);
    s->heard = result.heard_seconds;
    if (status == PARLEY_OK && result.finish == PARLEY_FINISH_NONE)
        return;
    if (status == PARLEY_OK)
        status = finish_row(h, s, error);
    if (status != PARLEY_OK)
        report_failure(h, s->row, error);
    release_slot(h, s);
}

/* ------------------------------------------------------------------ all files */

static void step(hearing *h)
{
    parley_asr *sessions[FILES_AT_ONCE] = {0};
    slot *slots[FILES_AT_ONCE];
    parley_error errors[FILES_AT_ONCE] = {0};
    size_t count = 0, running = 0;
    bool told = false;
    for (size_t i = 0; i < h->limit; i++) {
        if (!h->slots[i].used)
            continue;
        slots[count] = &h->slots[i];
        sessions[count++] = h->slots[i].session;
    }
    parley_status status = parley_asr_step(sessions, count, &running, errors);
    for (size_t i = 0; i < count; i++)
        told = told || errors[i].status != PARLEY_OK;
    for (size_t i = 0; i < count; i++) {
        if (status != PARLEY_OK && !told) /* the step as a whole failed */
            cli_fail(&errors[i], status, "the batch failed: %s", parley_status_name(status));
        settle(h, slots[i], &errors[i]);
    }
}

static void draw_progress(hearing *h)
{
    double heard = h->seconds, known = h->seconds;
    for (size_t i = 0; i < h->limit; i++) {
        heard += h->slots[i].heard;
        known += h->slots[i].seconds;
    }
    cli_progress_draw_heard(&h->progress, heard, known, h->done + h->failed, h->n_files);
}

static void join_texts(const hearing *h, cli_buffer *text)
{
    bool array = h->format == HEAR_JSON && h->n_files > 1, first = true;
    cli_append_text(text, array ? "[" : "");
    for (size_t i = 0; i < h->n_files; i++) {
        text->failed = text->failed || h->texts[i].failed;
        if (h->texts[i].size == 0) /* failed, or not reached before the run was cancelled */
            continue;
        cli_append_text(text, array && !first ? ",\n " : "");
        cli_append(text, h->texts[i].data, h->texts[i].size);
        first = false;
    }
    cli_append_text(text, array ? "]\n" : h->format == HEAR_JSON ? "\n" : "");
}

static parley_status write_output(hearing *h, parley_error *error)
{
    cli_buffer text = {0};
    join_texts(h, &text);
    parley_status status = text.failed ? cli_fail_memory(error) : cli_output_write(&h->output, text.data, text.size, error);
    cli_buffer_free(&text);
    return status == PARLEY_OK ? cli_output_commit(&h->output, error) : status;
}

/* One sound that failed leaves nothing; of several, the others are written. */
static parley_status conclude(hearing *h, parley_error *error)
{
    double total = cli_seconds() - h->started;
    cli_progress_end(&h->progress);
    if (h->n_files == 1 && h->failed) {
        *error = h->first_failure;
        return error->status;
    }
    if (!h->fields->output_dir.given)
        CLI_TRY(write_output(h, error));
    if (h->cancelled || cli_signals_cancelled())
        return cli_fail(error, PARLEY_CANCELLED, "cancelled: %zu of %zu sounds were begun, the last ones are cut short", h->done, h->n_files);
    if (!h->fields->quiet.given && h->n_files > 1)
        cli_notice("%zu of %zu sounds, %.2f s of sound in %.2f s (%.2f x real time)", h->done, h->n_files, h->seconds, total,
                   total > 0.0 ? h->seconds / total : 0.0);
    if (h->failed == 0)
        return PARLEY_OK;
    return cli_fail(error, h->first_failure.status, "%zu of %zu sounds failed, the first is sound %zu: %.300s", h->failed, h->n_files,
                    h->first_failed_row + 1, h->first_failure.text);
}

/* ------------------------------------------------------------------ the run */

static parley_status open_outputs(hearing *h, parley_error *error)
{
    const hear_fields *f = h->fields;
    if (f->output_dir.given)
        CLI_TRY(cli_output_directory(f->output_dir.value, &h->made_directory, error));
    else
        CLI_TRY(cli_output_open(&h->output, f->output.given ? f->output.value : "-", false, "-o", error));
    return hear_dump_open(&h->dump, f->dump.value, error);
}

static parley_status open_models(hearing *h, parley_error *error)
{
    const hear_fields *f = h->fields;
    CLI_TRY(cli_open_model(&f->model, PARLEY_PARTS_ALL, &h->model, &h->load, error));
    if (!f->aligner.given)
        return PARLEY_OK;
    cli_model_fields fields = f->model;
    double load;
    fields.model = f->aligner;
    CLI_TRY(cli_unit_rules_open(&f->cutting, &h->cutting, error));
    fields.model2 = (cli_text){false, NULL};
    CLI_TRY(hear_open_aligner(&fields, &h->aligner, &load, error));
    h->load += load;
    return PARLEY_OK;
}

/* A session that is closed at once: what is wrong with the model or the options is so with every file. */
static parley_status try_session(hearing *h, parley_error *error)
{
    parley_asr *session;
    CLI_TRY(open_session(h, &session, error));
    parley_asr_close(session);
    return PARLEY_OK;
}

static parley_status prepare(hearing *h, parley_error *error)
{
    const hear_fields *f = h->fields;
    CLI_TRY(cli_audio_options(&f->audio, &h->audio, error));
    h->audio.rate = PARLEY_ASR_RATE;
    h->audio.max_seconds = HEAR_MOST_SECONDS;
    if (f->context_file.given)
        CLI_TRY(hear_read_text(f->context_file.value, "--context-file", &h->context, error));
    else if (f->context.given)
        cli_append_text(&h->context, f->context.value);
    if (h->context.failed || !(h->texts = calloc(h->n_files, sizeof *h->texts)))
        return cli_fail_memory(error);
    CLI_TRY(open_outputs(h, error));
    CLI_TRY(open_models(h, error));
    h->limit = h->dump.directory ? 1 : FILES_AT_ONCE;
    return try_session(h, error);
}

static parley_status run(hearing *h, parley_error *error)
{
    CLI_TRY(prepare(h, error));
    cli_progress_start(&h->progress, h->fields->quiet.given);
    h->started = cli_seconds();
    for (fill_slots(h); h->used > 0; fill_slots(h)) {
        draw_progress(h);
        step(h);
    }
    return conclude(h, error);
}

static void close_hearing(hearing *h)
{
    for (size_t i = 0; i < h->limit; i++) {
        if (h->slots[i].used)
            release_slot(h, &h->slots[i]);
    }
    parley_model_close(h->model);
    parley_model_close(h->aligner);
    cli_unit_rules_close(&h->cutting);
    cli_output_discard(&h->output);
    hear_dump_close(&h->dump);
    for (size_t i = 0; h->texts && i < h->n_files; i++)
        cli_buffer_free(&h->texts[i]);
    free(h->texts);
    cli_buffer_free(&h->context);
    if (h->made_directory)
        rmdir(h->fields->output_dir.value); /* fails, as it should, when files are in it */
}

parley_status cli_hear(int argc, char **argv, parley_error *error)
{
    hear_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&hear_command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&hear_command, error);
    CLI_TRY(hear_check(&fields, &arguments, error));
    if (fields.stream.given) {
        CLI_TRY(hear_stream_check(&fields, &arguments, error));
        return hear_stream(&fields, arguments.values[0], error);
    }
    static hearing h;
    h = (hearing){.fields = &fields,
                  .files = arguments.values,
                  .n_files = arguments.count,
                  .format = hear_format(&fields.format, &fields.output, CLI_FORMAT_TXT),
                  .output = CLI_OUTPUT_NONE};
    parley_status status = run(&h, error);
    close_hearing(&h);
    return status;
}
