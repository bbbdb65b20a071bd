#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t cli_peak_memory(void)
{
    cli_buffer text = {0};
    parley_error error;
    uint64_t kilobytes = 0;
    if (cli_read_file("/proc/self/status", "status", 1 << 20, &text, &error) == PARLEY_OK) {
        const char *line = strstr(text.data, "\nVmHWM:");
        kilobytes = line ? strtoull(line + 7, NULL, 10) : 0;
    }
    cli_buffer_free(&text);
    return kilobytes * 1024;
}

double cli_report_audio_seconds(const cli_report *report)
{
    return report->sample_rate > 0 ? (double)report->result.samples / report->sample_rate : 0.0;
}

static void add_clone(cli_json *json, const cli_clone *clone)
{
    cli_json_open(json, "clone", '{');
    cli_json_string(json, "mode", clone->voice->codes ? "icl" : "xvector");
    cli_json_unsigned(json, "frames", clone->voice->frames);
    cli_json_bool(json, "cached", clone->cached);
    cli_json_real(json, "seconds", clone->seconds);
    cli_json_close(json, '}');
}

static void add_times(cli_json *json, const cli_report *report)
{
    const parley_tts_times *times = &report->result.times;
    cli_json_open(json, "times", '{');
    cli_json_real(json, "load", report->load);
    cli_json_real(json, "prefill", times->prefill);
    cli_json_real(json, "first_frame", times->first_frame);
    cli_json_real(json, "talker", times->talker);
    cli_json_real(json, "predictor", times->predictor);
    cli_json_real(json, "codec", times->codec);
    cli_json_real(json, "total", times->total);
    cli_json_close(json, '}');
}

/* Share of the choices that fell on the teacher's code; null where there was none. */
static void add_agreement(cli_json *json, const parley_tts_result *result)
{
    static const char *const names[2] = {"c0", "rest"};
    cli_json_open(json, "agreement", '{');
    for (int i = 0; i < 2; i++)
        cli_json_real(json, names[i], result->teacher_choices[i] ? (double)result->teacher_agreed[i] / (double)result->teacher_choices[i] : NAN);
    cli_json_close(json, '}');
}

void cli_report_members(cli_json *json, const cli_report *report)
{
    const parley_tts_result *result = &report->result;
    double audio = cli_report_audio_seconds(report);
    uint64_t peak = cli_peak_memory();
    cli_json_ids(json, "text_ids", result->text_ids, result->n_text_ids);
    cli_json_whole(json, "pieces", result->pieces);
    cli_json_whole(json, "prompt_length", result->prompt_length);
    cli_json_unsigned(json, "frames", result->frames);
    cli_json_string(json, "finish_reason", parley_finish_name(result->finish));
    cli_json_whole(json, "frame_budget", result->frame_budget);
    cli_json_unsigned(json, "seed", result->seed);
    cli_json_whole(json, "sample_rate", report->sample_rate);
    cli_json_real(json, "audio_seconds", audio);
    add_times(json, report);
    cli_json_real(json, "real_time_factor", audio > 0.0 ? result->times.total / audio : NAN);
    if (peak)
        cli_json_unsigned(json, "peak_memory_bytes", peak);
    else
        cli_json_nothing(json, "peak_memory_bytes");
    cli_json_unsigned(json, "kv_bytes", result->kv_bytes);
    if (report->teacher)
        add_agreement(json, result);
    if (report->clone)
        add_clone(json, report->clone);
}
