#include "transcript_out.h"

#include "json_out.h"
#include "subtitles.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *type;
} formats[SRV_TEXT_FORMATS] = {
    {"json", "application/json"},         {"text", "text/plain; charset=utf-8"}, {"srt", "application/x-subrip; charset=utf-8"},
    {"verbose_json", "application/json"}, {"vtt", "text/vtt; charset=utf-8"},
};

bool srv_text_format_find(const char *name, srv_text_format *format)
{
    for (int i = 0; i < SRV_TEXT_FORMATS; i++) {
        if (!strcmp(name, formats[i].name)) {
            *format = (srv_text_format)i;
            return true;
        }
    }
    return false;
}

const char *srv_text_format_type(srv_text_format format)
{
    return formats[format].type;
}

void srv_write_usage(cli_buffer *out, double seconds)
{
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "type", "duration");
    cli_json_whole(&json, "seconds", (int64_t)ceil(seconds));
    cli_json_close(&json, '}');
}

/* Milliseconds, as people write them. */
static double to_ms(double seconds)
{
    return round(seconds * 1000.0) / 1000.0;
}

/* ------------------------------------------------------------------ JSON */

/* The API has names of languages in small letters. */
static void add_language(cli_json *json, const char *language)
{
    char small[64] = "";
    for (size_t i = 0; language[i] && i + 1 < sizeof small; i++)
        small[i] = (char)tolower((unsigned char)language[i]);
    cli_json_string(json, "language", small);
}

static double mean_logprob(const parley_asr_segment *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n_tokens; i++)
        sum += (double)s->logprobs[i];
    return s->n_tokens ? sum / (double)s->n_tokens : 0;
}

static void add_segment(cli_json *json, size_t i, const parley_asr_segment *s)
{
    cli_json_open(json, NULL, '{');
    cli_json_unsigned(json, "id", i);
    cli_json_whole(json, "seek", (int64_t)(s->start * 100)); /* hundredths of a second, as the API counts */
    cli_json_real(json, "start", s->start);
    cli_json_real(json, "end", s->end);
    cli_json_string(json, "text", s->text);
    cli_json_ids(json, "tokens", s->token_ids, s->n_tokens);
    cli_json_real(json, "temperature", 0);
    cli_json_real(json, "avg_logprob", mean_logprob(s));
    cli_json_bool(json, "no_speech", s->no_speech);
    cli_json_string(json, "language", s->language);
    cli_json_string(json, "finish_reason", parley_finish_name(s->finish));
    cli_json_close(json, '}');
}

static void add_words(cli_json *json, const parley_asr_segment *s, const parley_alignment *a)
{
    for (size_t k = 0; a && k < a->n_words; k++) {
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "word", a->words[k].text);
        cli_json_real(json, "start", to_ms(a->words[k].start + s->start));
        cli_json_real(json, "end", to_ms(a->words[k].end + s->start));
        if (!a->reliable)
            cli_json_bool(json, "reliable", false);
        cli_json_close(json, '}');
    }
}

static void write_verbose(cli_buffer *out, const srv_heard *h)
{
    const parley_asr_result *r = h->result;
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "task", "transcribe");
    add_language(&json, r->language);
    cli_json_real(&json, "duration", r->audio_seconds);
    cli_json_string(&json, "text", r->text);
    cli_json_string(&json, "finish_reason", parley_finish_name(r->finish));
    if (h->segments) {
        cli_json_open(&json, "segments", '[');
        for (size_t i = 0; i < r->n_segments; i++)
            add_segment(&json, i, &r->segments[i]);
        cli_json_close(&json, ']');
    }
    if (h->words) {
        cli_json_open(&json, "words", '[');
        for (size_t i = 0; i < r->n_segments; i++)
            add_words(&json, &r->segments[i], h->alignments ? h->alignments[i] : NULL);
        cli_json_close(&json, ']');
    }
    cli_json_close(&json, '}');
    cli_append_text(out, "\n");
}

static void write_json(cli_buffer *out, const parley_asr_result *r)
{
    cli_buffer usage = {0};
    cli_json json = {.out = out};
    srv_write_usage(&usage, r->audio_seconds);
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "text", r->text);
    cli_json_string(&json, "finish_reason", parley_finish_name(r->finish));
    cli_json_raw(&json, "usage", &usage);
    cli_json_close(&json, '}');
    cli_append_text(out, "\n");
    cli_buffer_free(&usage);
}

/* ------------------------------------------------------------------ text */

typedef struct cues {
    cli_segment *segments; /* [n_segments] */
    cli_word **words;
} cues;

/* Times that contradict each other make no subtitles. */
static bool fill_segment(cues *c, size_t i, const parley_asr_segment *s, const parley_alignment *a)
{
    c->segments[i] =
        (cli_segment){.start = s->start, .end = s->end, .text = s->text, .language = s->language, .finish_reason = parley_finish_name(s->finish)};
    if (!a || !a->reliable)
        return true;
    cli_word *words = c->words[i] = calloc(a->n_words + 1, sizeof *words);
    for (size_t k = 0; words && k < a->n_words; k++)
        words[k] = (cli_word){a->words[k].text, to_ms(a->words[k].start + s->start), to_ms(a->words[k].end + s->start)};
    c->segments[i].words = words;
    c->segments[i].n_words = words ? a->n_words : 0;
    return words != NULL;
}

static parley_status write_cues(cli_buffer *out, cli_text_format format, const srv_heard *h, cues *c, parley_error *error)
{
    const parley_asr_result *r = h->result;
    c->segments = calloc(r->n_segments + 1, sizeof *c->segments);
    c->words = calloc(r->n_segments + 1, sizeof *c->words);
    bool good = c->segments && c->words;
    for (size_t i = 0; i < r->n_segments && good; i++)
        good = fill_segment(c, i, &r->segments[i], h->alignments ? h->alignments[i] : NULL);
    if (!good)
        return cli_fail_memory(error);
    cli_transcript transcript = {.file = "",
                                 .language = r->language,
                                 .text = r->text,
                                 .finish_reason = parley_finish_name(r->finish),
                                 .audio_seconds = r->audio_seconds,
                                 .segments = c->segments,
                                 .n_segments = r->n_segments};
    return cli_write_text(out, format, &transcript, error);
}

static parley_status write_text(cli_buffer *out, cli_text_format format, const srv_heard *h, parley_error *error)
{
    cues c = {0};
    parley_status status = write_cues(out, format, h, &c, error);
    for (size_t i = 0; i < h->result->n_segments && c.words; i++)
        free(c.words[i]);
    free(c.words);
    free(c.segments);
    return status;
}

parley_status srv_write_heard(cli_buffer *out, srv_text_format format, const srv_heard *heard, parley_error *error)
{
    switch (format) {
    case SRV_TEXT_PLAIN: return write_text(out, CLI_FORMAT_TXT, heard, error);
    case SRV_TEXT_SRT: return write_text(out, CLI_FORMAT_SRT, heard, error);
    case SRV_TEXT_VTT: return write_text(out, CLI_FORMAT_VTT, heard, error);
    case SRV_TEXT_VERBOSE: write_verbose(out, heard); break;
    default: write_json(out, heard->result); break;
    }
    return out->failed ? cli_fail_memory(error) : PARLEY_OK;
}
