#include "transcript_json.h"

#include "report.h"

#include <math.h>

void cli_words_member(cli_json *json, const cli_word *words, size_t count)
{
    cli_json_open(json, "words", '[');
    for (size_t i = 0; i < count; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "text", words[i].text);
        cli_json_real(json, "start", words[i].start);
        cli_json_real(json, "end", words[i].end);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

void cli_cost_members(cli_json *json, const cli_hear_costs *costs, double audio_seconds)
{
    uint64_t peak = cli_peak_memory();
    double total = costs->times.total + costs->align;
    cli_json_open(json, "times", '{');
    cli_json_real(json, "load", costs->load);
    cli_json_real(json, "encode", costs->times.encode);
    cli_json_real(json, "prefill", costs->times.prefill);
    cli_json_real(json, "decode", costs->times.decode);
    cli_json_real(json, "align", costs->align);
    cli_json_real(json, "total", total);
    cli_json_close(json, '}');
    cli_json_real(json, "real_time_factor", audio_seconds > 0.0 ? total / audio_seconds : NAN);
    if (peak)
        cli_json_unsigned(json, "peak_memory_bytes", peak);
    else
        cli_json_nothing(json, "peak_memory_bytes");
}

static void add_segment(cli_json *json, const cli_segment *segment, const cli_words_note *note)
{
    cli_json_open(json, NULL, '{');
    cli_json_real(json, "start", segment->start);
    cli_json_real(json, "end", segment->end);
    cli_json_string(json, "text", segment->text);
    cli_json_string(json, "language", segment->language);
    cli_json_string(json, "finish_reason", segment->finish_reason);
    cli_json_ids(json, "token_ids", segment->token_ids, segment->n_tokens);
    cli_json_open(json, "logprobs", '[');
    for (size_t i = 0; i < segment->n_tokens; i++)
        cli_json_real(json, NULL, (double)segment->logprobs[i]);
    cli_json_close(json, ']');
    cli_json_bool(json, "no_speech", segment->no_speech);
    if (segment->looped)
        cli_json_bool(json, "looped", true);
    if (segment->echoed)
        cli_json_bool(json, "echoed", true);
    cli_words_member(json, segment->words, segment->n_words);
    if (note) {
        cli_json_bool(json, "words_reliable", note->reliable);
        cli_json_string(json, "units_by", note->units_by ? note->units_by : "");
    }
    cli_json_close(json, '}');
}

void cli_transcript_members(cli_json *json, const cli_transcript *transcript, const cli_words_note *notes, const cli_hear_costs *costs)
{
    cli_json_string(json, "file", transcript->file);
    cli_json_string(json, "language", transcript->language);
    cli_json_string(json, "text", transcript->text);
    cli_json_string(json, "finish_reason", transcript->finish_reason);
    cli_json_real(json, "audio_seconds", transcript->audio_seconds);
    cli_json_open(json, "segments", '[');
    for (size_t i = 0; i < transcript->n_segments; i++)
        add_segment(json, &transcript->segments[i], notes ? &notes[i] : NULL);
    cli_json_close(json, ']');
    cli_cost_members(json, costs, transcript->audio_seconds);
    cli_json_unsigned(json, "kv_bytes", costs->kv_bytes);
}
