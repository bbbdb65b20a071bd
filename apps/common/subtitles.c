#include "subtitles.h"

#include "cues.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const names[] = {
    [CLI_FORMAT_TXT] = "txt", [CLI_FORMAT_SRT] = "srt", [CLI_FORMAT_VTT] = "vtt", [CLI_FORMAT_TSV] = "tsv", [CLI_FORMAT_LRC] = "lrc",
};

bool cli_text_format_find(const char *name, cli_text_format *format)
{
    for (size_t i = 0; i < CLI_COUNT(names); i++)
        if (strcmp(names[i], name) == 0) {
            *format = (cli_text_format)i;
            return true;
        }
    return false;
}

/* HH:MM:SS and milliseconds behind `mark`; hours may have more digits. */
static void append_time(cli_buffer *out, int64_t ms, char mark)
{
    int64_t seconds = ms / 1000;
    cli_appendf(out, "%02" PRId64 ":%02d:%02d%c%03d", seconds / 3600, (int)(seconds / 60 % 60), (int)(seconds % 60), mark, (int)(ms % 1000));
}

static void append_times(cli_buffer *out, const cli_cue *cue, char mark)
{
    append_time(out, cue->start, mark);
    cli_append_text(out, " --> ");
    append_time(out, cue->end, mark);
    cli_append_text(out, "\n");
}

/* SubRip has no escapes; an arrow in the text would read as a line of times. */
static void append_srt_line(cli_buffer *out, const char *line)
{
    for (const char *arrow; (arrow = strstr(line, "-->")); line = arrow + 3) {
        cli_append(out, line, (size_t)(arrow - line));
        cli_append_text(out, "->");
    }
    cli_append_text(out, line);
    cli_append_text(out, "\n");
}

static void append_vtt_line(cli_buffer *out, const char *line)
{
    for (; *line; line++) {
        const char *entity = *line == '&' ? "&amp;" : *line == '<' ? "&lt;" : *line == '>' ? "&gt;" : NULL;
        if (entity)
            cli_append_text(out, entity);
        else
            cli_append(out, line, 1);
    }
    cli_append_text(out, "\n");
}

static void append_srt(cli_buffer *out, const cli_cues *cues)
{
    for (size_t i = 0; i < cues->count; i++) {
        cli_appendf(out, "%zu\n", i + 1);
        append_times(out, &cues->items[i], ',');
        for (int k = 0; k < cues->items[i].n_lines; k++)
            append_srt_line(out, cues->text.data + cues->items[i].lines[k]);
        cli_append_text(out, "\n");
    }
}

static void append_vtt(cli_buffer *out, const cli_cues *cues)
{
    cli_append_text(out, "WEBVTT\n\n");
    for (size_t i = 0; i < cues->count; i++) {
        append_times(out, &cues->items[i], '.');
        for (int k = 0; k < cues->items[i].n_lines; k++)
            append_vtt_line(out, cues->text.data + cues->items[i].lines[k]);
        cli_append_text(out, "\n");
    }
}

static void append_lrc(cli_buffer *out, const cli_cues *cues)
{
    for (size_t i = 0; i < cues->count; i++) {
        int64_t ms = cues->items[i].start;
        cli_appendf(out, "[%02" PRId64 ":%02d.%02d]%s\n", ms / 60000, (int)(ms / 1000 % 60), (int)(ms % 1000 / 10),
                    cues->text.data + cues->items[i].lines[0]);
    }
}

static void append_row(cli_buffer *out, double start, double end, const char *text)
{
    cli_appendf(out, "%lld\t%lld\t", llround(1000 * start), llround(1000 * end));
    for (; *text; text++)
        cli_append(out, (unsigned char)*text < ' ' ? " " : text, 1);
    cli_append_text(out, "\n");
}

static void append_tsv(cli_buffer *out, const cli_transcript *transcript)
{
    cli_append_text(out, "start\tend\ttext\n");
    for (size_t i = 0; i < transcript->n_segments; i++) {
        const cli_segment *segment = &transcript->segments[i];
        for (size_t k = 0; k < segment->n_words; k++)
            append_row(out, segment->words[k].start, segment->words[k].end, segment->words[k].text);
        if (!segment->n_words && *segment->text)
            append_row(out, segment->start, segment->end, segment->text);
    }
}

static parley_status append_cues(cli_buffer *out, cli_text_format format, const cli_transcript *transcript, parley_error *error)
{
    cli_cues cues;
    parley_status status = cli_cues_make(transcript, format == CLI_FORMAT_LRC ? 1 : CLI_LINES, &cues, error);
    if (status == PARLEY_OK && format == CLI_FORMAT_SRT)
        append_srt(out, &cues);
    if (status == PARLEY_OK && format == CLI_FORMAT_VTT)
        append_vtt(out, &cues);
    if (status == PARLEY_OK && format == CLI_FORMAT_LRC)
        append_lrc(out, &cues);
    cli_cues_free(&cues);
    return status;
}

parley_status cli_write_text(cli_buffer *out, cli_text_format format, const cli_transcript *transcript, parley_error *error)
{
    if (format == CLI_FORMAT_TXT) {
        cli_append_text(out, transcript->text);
        cli_append_text(out, "\n");
    } else if (format == CLI_FORMAT_TSV) {
        append_tsv(out, transcript);
    } else {
        CLI_TRY(append_cues(out, format, transcript, error));
    }
    return out->failed ? cli_fail_memory(error) : PARLEY_OK;
}
