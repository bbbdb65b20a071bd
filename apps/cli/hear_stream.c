#include "hear_stream.h"

#include "json_out.h"
#include "notice.h"
#include "output.h"
#include "signals.h"
#include "sound_stream.h"

#include <string.h>
#include <unistd.h>

typedef struct streaming {
    const hear_fields *fields;
    int32_t format;
    cli_buffer context, line;
    cli_output output;
    parley_model *model;
    parley_asr *session;
    size_t printed; /* bytes of the segment's text, as plain text */
    cli_progress progress;
} streaming;

parley_status hear_stream_check(const hear_fields *f, const cli_arguments *arguments, parley_error *error)
{
    const struct {
        bool given;
        const char *name;
    } without[] = {
        {f->timestamps.given, "--timestamps"}, {f->dump.given, "--dump"}, {f->output_dir.given, "--output-dir"}, {f->join.given, "--join"}};
    int32_t format = hear_format(&f->format, &f->output, HEAR_JSON);
    for (size_t i = 0; i < CLI_COUNT(without); i++) {
        if (without[i].given)
            return cli_fail(error, PARLEY_ARGUMENT, "--stream and %s exclude each other", without[i].name);
    }
    if (arguments->count > 1)
        return cli_fail(error, PARLEY_ARGUMENT, "--stream hears one sound, not %zu", arguments->count);
    if (format != HEAR_JSON && format != CLI_FORMAT_TXT)
        return cli_fail(error, PARLEY_ARGUMENT, "--stream writes json or txt, not %s", hear_formats[format]);
    if (f->attention.given && f->attention.value != PARLEY_ATTENTION_WINDOWED)
        return cli_fail(error, PARLEY_ARGUMENT, "--stream needs windowed attention");
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ writing */

static void append_json(streaming *s, const parley_asr_update *u)
{
    cli_json json = {.out = &s->line};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "type", u->final ? "final" : "partial");
    cli_json_real(&json, "start", u->start);
    cli_json_real(&json, "end", u->end);
    cli_json_unsigned(&json, "stable", u->stable);
    cli_json_string_n(&json, "text", u->text, u->length);
    cli_json_close(&json, '}');
    cli_append_text(&s->line, "\n");
}

/* What stands is written once; a segment is a line. */
static void append_text(streaming *s, const parley_asr_update *u)
{
    cli_append(&s->line, u->text + s->printed, u->stable - s->printed);
    s->printed = u->stable;
    if (u->final && u->length)
        cli_append_text(&s->line, "\n");
    if (u->final)
        s->printed = 0;
}

static void warn(const streaming *s, const parley_asr_update *u)
{
    if (u->final && u->finish == PARLEY_FINISH_LENGTH && !s->fields->quiet.given)
        cli_notice("warning: %.3f to %.3f s: the text is cut off, all tokens are used", u->start, u->end);
    if (u->final && u->looped && !s->fields->quiet.given)
        cli_notice("warning: %.3f to %.3f s: the text repeated itself without end, one copy is kept", u->start, u->end);
    if (u->final && u->echoed && !s->fields->quiet.given)
        cli_notice("warning: %.3f to %.3f s: the text was a piece of the context; it is %s", u->start, u->end,
                   u->no_speech ? "left out, without the context nothing is heard" : "kept, there is speech without the context, too");
}

static parley_status write_updates(streaming *s, parley_error *error)
{
    for (;;) {
        parley_asr_update update;
        bool got;
        CLI_TRY(parley_asr_poll(s->session, &update, &got, error));
        if (!got)
            return PARLEY_OK;
        s->line.size = 0;
        if (s->format == HEAR_JSON)
            append_json(s, &update);
        else
            append_text(s, &update);
        if (s->line.failed)
            return cli_fail_memory(error);
        CLI_TRY(cli_output_write(&s->output, s->line.data, s->line.size, error));
        warn(s, &update);
        cli_progress_draw_heard(&s->progress, update.end, 0, 0, 1);
    }
}

/* ------------------------------------------------------------------ the run */

static parley_status open_session(streaming *s, parley_error *error)
{
    const hear_fields *f = s->fields;
    parley_asr_options options;
    double load;
    if (f->context_file.given)
        CLI_TRY(hear_read_text(f->context_file.value, "--context-file", &s->context, error));
    else if (f->context.given)
        cli_append_text(&s->context, f->context.value);
    if (s->context.failed)
        return cli_fail_memory(error);
    CLI_TRY(cli_output_open(&s->output, f->output.given ? f->output.value : "-", false, "-o", error));
    CLI_TRY(cli_open_model(&f->model, PARLEY_PARTS_ALL, &s->model, &load, error));
    hear_asr_options(s->model, f, s->context.data ? s->context.data : "", &options);
    options.stream = true;
    if (f->segment.given)
        options.stream_segment_seconds = f->segment.value;
    return parley_asr_open(s->model, &options, &s->session, error);
}

static parley_status hear_all(streaming *s, cli_sound_stream *sound, parley_error *error)
{
    const float *samples;
    size_t count;
    do {
        CLI_TRY(cli_sound_stream_read(sound, &samples, &count, error));
        if (count)
            CLI_TRY(parley_asr_push(s->session, samples, count, error));
        CLI_TRY(write_updates(s, error));
    } while (count);
    if (!cli_signals_cancelled()) {
        CLI_TRY(parley_asr_finish(s->session, error));
        CLI_TRY(write_updates(s, error));
    }
    cli_progress_end(&s->progress);
    CLI_TRY(cli_output_commit(&s->output, error));
    parley_asr_result result = {.size = sizeof result};
    parley_asr_result_get(s->session, &result);
    if (cli_signals_cancelled())
        return cli_fail(error, PARLEY_CANCELLED, "cancelled after %.2f s of sound", result.audio_seconds);
    if (!s->fields->quiet.given)
        cli_notice("%.300s: %.2f s of sound in %.2f s (%.2f x real time), finish %s", sound->name, result.audio_seconds, result.times.total,
                   result.times.total > 0.0 ? result.audio_seconds / result.times.total : 0.0, parley_finish_name(result.finish));
    return PARLEY_OK;
}

static parley_status run(streaming *s, const char *path, cli_sound_stream *sound, parley_error *error)
{
    parley_audio_options options;
    CLI_TRY(cli_audio_options(&s->fields->audio, &options, error));
    options.rate = PARLEY_ASR_RATE;
    CLI_TRY(open_session(s, error));
    CLI_TRY(cli_sound_stream_open(sound, path, &options, error));
    cli_signals_graceful(true);
    cli_signals_watch_asr(s->session);
    parley_status status = hear_all(s, sound, error);
    cli_signals_unwatch(s->session);
    return status;
}

parley_status hear_stream(const hear_fields *fields, const char *path, parley_error *error)
{
    static cli_sound_stream sound;
    bool is_terminal = !(fields->output.given && !cli_is_stdout(fields->output.value)) && isatty(STDOUT_FILENO);
    streaming s = {.fields = fields,
                   .format = hear_format(&fields->format, &fields->output, is_terminal ? CLI_FORMAT_TXT : HEAR_JSON),
                   .output = CLI_OUTPUT_NONE};
    sound.fd = -1;
    cli_progress_start(&s.progress, fields->quiet.given || is_terminal); /* text on the same terminal would run into it */
    parley_status status = run(&s, path, &sound, error);
    parley_asr_close(s.session);
    parley_model_close(s.model);
    cli_sound_stream_close(&sound);
    cli_output_discard(&s.output);
    cli_buffer_free(&s.context);
    cli_buffer_free(&s.line);
    return status;
}
