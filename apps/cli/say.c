/* parley say: one text. */
#include "commands.h"
#include "json_out.h"
#include "live_text.h"
#include "notice.h"
#include "report.h"
#include "say_voice.h"
#include "signals.h"
#include "text_input.h"

#include <unistd.h>

enum { PULL_SAMPLES = 16384 };

/* All that one run holds; closed by close_run() however far it came. */
typedef struct run {
    const say_fields *fields;
    cli_buffer text;
    cli_live live;
    say_inputs inputs;
    cli_output wav_file, json_file, codes_file;
    cli_dump dump;
    cli_wav wav;
    parley_model *model;
    parley_tts *session;
    cli_report report;
    cli_progress progress;
    bool cancelled; /* told by a status rather than the finish */
} run;

/* Results of the program, which it writes itself: the PCM as it comes out (after the reference is cut off), the codes as reported. */
static const char *const own_dumps[] = {"pcm", "codes", NULL};

static void close_run(run *r)
{
    cli_progress_end(&r->progress);
    if (r->session)
        cli_signals_unwatch(r->session);
    parley_tts_close(r->session);
    parley_model_close(r->model);
    cli_output_discard(&r->wav_file);
    cli_output_discard(&r->json_file);
    cli_output_discard(&r->codes_file);
    cli_dump_close(&r->dump);
    say_free_inputs(&r->inputs);
    cli_buffer_free(&r->text);
    cli_buffer_free(&r->live.pending);
}

static const char *wav_path(const say_fields *fields)
{
    return fields->output.given ? fields->output.value : "speech.wav";
}

/* Before the model is opened: an output that cannot be written is told at once. */
static parley_status open_outputs(run *r, parley_error *error)
{
    const say_fields *f = r->fields;
    if (cli_is_stdout(wav_path(f)) && isatty(1))
        return cli_fail(error, PARLEY_ARGUMENT, "-o -: standard output is a terminal; send the WAV to a file or a program");
    CLI_TRY(cli_output_open(&r->wav_file, wav_path(f), !f->output.given, "-o", error));
    if (f->json.given)
        CLI_TRY(cli_output_open(&r->json_file, f->json.value, false, "", error));
    if (f->codes.given)
        CLI_TRY(cli_output_open(&r->codes_file, f->codes.value, false, "", error));
    return cli_dump_open(&r->dump, f->dump.value, own_dumps, error);
}

static parley_status open_session(run *r, parley_error *error)
{
    parley_tts_options options;
    CLI_TRY(say_tts_options(r->model, r->fields, &r->inputs, NULL, &options, error));
    if (r->dump.directory) {
        options.tap = cli_dump_tap;
        options.tap_context = &r->dump;
    }
    options.exact_cut = options.ref_codes && (r->wav_file.regular || r->dump.directory);
    say_set_pieces(r->fields, r->fields->live.given ? SIZE_MAX : r->text.size, &options);
    CLI_TRY(parley_tts_open(r->model, &options, &r->session, error));
    cli_signals_graceful(true);
    cli_signals_watch(r->session);
    if (r->fields->live.given)
        return PARLEY_OK;
    CLI_TRY(parley_tts_push_text(r->session, r->text.data ? r->text.data : "", r->text.size, error));
    return parley_tts_finish_text(r->session, error);
}

static parley_status take_samples(run *r, const float *pcm, size_t count, parley_error *error)
{
    CLI_TRY(cli_wav_write(&r->wav, pcm, count, error));
    cli_dump_add(&r->dump, "pcm", 'f', pcm, (int64_t[]){(int64_t)count}, 1);
    if (r->progress.on) {
        parley_tts_result_get(r->session, &r->report.result);
        cli_progress_draw(&r->progress, r->report.result.frames, cli_report_audio_seconds(&r->report), 0, 1);
    }
    return PARLEY_OK;
}

static bool is_live(const run *r)
{
    return r->fields->live.given && !r->live.ended;
}

/* A run that is cancelled ends like one that is done: what was made is kept. */
static parley_status pull_all(run *r, parley_error *error)
{
    static float pcm[PULL_SAMPLES];
    size_t count;
    do {
        count = 0;
        if (is_live(r))
            CLI_TRY(cli_live_feed(&r->live, r->session, parley_tts_waiting(r->session), error));
        parley_status status = parley_tts_pull(r->session, pcm, PULL_SAMPLES, &count, error);
        r->cancelled = status == PARLEY_CANCELLED;
        if (r->cancelled)
            break;
        CLI_TRY(status);
        CLI_TRY(take_samples(r, pcm, count, error));
    } while (count > 0 || (is_live(r) && parley_tts_waiting(r->session)));
    parley_tts_result_get(r->session, &r->report.result);
    if (r->cancelled)
        r->report.result.finish = PARLEY_FINISH_CANCELLED;
    return PARLEY_OK;
}

static parley_status write_report(run *r, parley_error *error)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    cli_json_open(&json, NULL, '{');
    cli_report_members(&json, &r->report);
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    parley_status status = text.failed ? cli_fail_memory(error) : cli_output_write(&r->json_file, text.data, text.size, error);
    cli_buffer_free(&text);
    return status == PARLEY_OK ? cli_output_commit(&r->json_file, error) : status;
}

static parley_status write_codes(run *r, parley_error *error)
{
    const parley_tts_result *result = &r->report.result;
    cli_buffer bytes = {0};
    cli_codes_write(&bytes, r->fields->codes.value, result->codes, result->frames, result->groups);
    parley_status status = bytes.failed ? cli_fail_memory(error) : cli_output_write(&r->codes_file, bytes.data, bytes.size, error);
    cli_buffer_free(&bytes);
    return status == PARLEY_OK ? cli_output_commit(&r->codes_file, error) : status;
}

static parley_status write_results(run *r, parley_error *error)
{
    const parley_tts_result *result = &r->report.result;
    CLI_TRY(cli_wav_end(&r->wav, error));
    cli_dump_add(&r->dump, "codes", 'i', result->codes, (int64_t[]){(int64_t)result->frames, result->groups}, 2);
    CLI_TRY(cli_dump_write(&r->dump, error));
    CLI_TRY(cli_output_commit(&r->wav_file, error));
    if (r->fields->codes.given)
        CLI_TRY(write_codes(r, error));
    return r->fields->json.given ? write_report(r, error) : PARLEY_OK;
}

static void summarise(const run *r)
{
    const parley_tts_result *result = &r->report.result;
    double audio = cli_report_audio_seconds(&r->report), total = result->times.total;
    if (r->fields->quiet.given)
        return;
    cli_notice("%.300s: %.2f s of speech in %.2f s (%.2f x real time), %zu frames, finish %s, seed %llu",
               cli_is_stdout(wav_path(r->fields)) ? "standard output" : wav_path(r->fields), audio, total, total > 0.0 ? audio / total : 0.0,
               result->frames, parley_finish_name(result->finish), (unsigned long long)result->seed);
}

static parley_status speak(run *r, parley_error *error)
{
    CLI_TRY(open_outputs(r, error));
    CLI_TRY(say_clone(r->fields, &r->inputs, &r->dump, error));
    r->report.clone = r->fields->clone.given ? &r->inputs.clone : NULL;
    CLI_TRY(cli_open_model(&r->fields->model, PARLEY_PARTS_ALL, &r->model, &r->report.load, error));
    CLI_TRY(say_bind_voice(r->model, r->fields, &r->inputs, error));
    r->report.sample_rate = parley_model_info(r->model)->sample_rate;
    r->report.teacher = r->fields->teacher.given;
    r->report.result.size = sizeof r->report.result;
    cli_progress_start(&r->progress, r->fields->quiet.given);
    CLI_TRY(open_session(r, error));
    CLI_TRY(cli_wav_begin(&r->wav, &r->wav_file, (cli_wav_format)r->fields->wav_format.value, r->report.sample_rate, error));
    CLI_TRY(pull_all(r, error));
    cli_progress_end(&r->progress);
    CLI_TRY(write_results(r, error));
    if (r->report.result.finish == PARLEY_FINISH_CANCELLED)
        return cli_fail(error, PARLEY_CANCELLED, "cancelled: \"%.300s\" is complete with the %zu frames made so far (%.2f s)", wav_path(r->fields),
                        r->report.result.frames, cli_report_audio_seconds(&r->report));
    summarise(r);
    return PARLEY_OK;
}

static parley_status say_one(const say_fields *fields, const char *argument, parley_error *error)
{
    run r = {.fields = fields, .wav_file = CLI_OUTPUT_NONE, .json_file = CLI_OUTPUT_NONE, .codes_file = CLI_OUTPUT_NONE};
    parley_status status = fields->live.given ? PARLEY_OK : cli_text_input(argument, fields->file.value, &r.text, error);
    if (status == PARLEY_OK)
        status = say_read_inputs(fields, &r.inputs, error);
    if (status == PARLEY_OK)
        status = speak(&r, error);
    close_run(&r);
    return status;
}

parley_status cli_say(int argc, char **argv, parley_error *error)
{
    say_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&say_command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&say_command, error);
    CLI_TRY(say_check(&fields, &arguments, error));
    if (fields.jobs.given || fields.lines.given)
        return say_many(&fields, error);
    return say_one(&fields, arguments.count ? arguments.values[0] : NULL, error);
}
