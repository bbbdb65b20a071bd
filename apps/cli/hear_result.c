#include "hear_result.h"

#include "notice.h"
#include "signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SAMPLES = PARLEY_ASR_RATE / 2 }; /* a shorter piece is aligned with silence behind it, as it was heard */

/* The transcript in the making. */
typedef struct writing {
    hear_result *r;
    parley_asr_result heard;
    cli_segment *segments; /* [heard.n_segments], as is all below */
    parley_alignment **alignments;
    cli_word **words;
    cli_words_note *notes;
    double align; /* seconds */
} writing;

static void close_writing(writing *w)
{
    for (size_t i = 0; i < w->heard.n_segments; i++) {
        if (w->alignments)
            parley_alignment_free(w->alignments[i]);
        if (w->words)
            free(w->words[i]);
    }
    free(w->segments);
    free(w->alignments);
    free(w->words);
    free(w->notes);
}

static parley_status open_writing(writing *w, parley_error *error)
{
    w->heard.size = sizeof w->heard;
    parley_asr_result_get(w->r->session, &w->heard);
    size_t n = w->heard.n_segments;
    w->segments = calloc(n + 1, sizeof *w->segments);
    w->alignments = calloc(n + 1, sizeof *w->alignments);
    w->words = calloc(n + 1, sizeof *w->words);
    w->notes = calloc(n + 1, sizeof *w->notes);
    if (!w->segments || !w->alignments || !w->words || !w->notes)
        return cli_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        const parley_asr_segment *s = &w->heard.segments[i];
        w->notes[i].reliable = true;
        w->segments[i] = (cli_segment){.start = s->start,
                                       .end = s->end,
                                       .text = s->text,
                                       .language = s->language,
                                       .finish_reason = parley_finish_name(s->finish),
                                       .token_ids = s->token_ids,
                                       .logprobs = s->logprobs,
                                       .n_tokens = s->n_tokens,
                                       .no_speech = s->no_speech,
                                       .looped = s->looped,
                                       .echoed = s->echoed};
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ words */

/* The model writes the language itself; what is none is not passed on. */
static const char *known_language(const parley_model *model, const char *language)
{
    const parley_info *info = parley_model_info(model);
    for (size_t i = 0; i < info->n_languages; i++) {
        if (!strcmp(info->languages[i], language))
            return language;
    }
    return "";
}

static parley_status take_words(writing *w, size_t i, parley_error *error)
{
    const parley_alignment *a = w->alignments[i];
    cli_word *words = w->words[i] = calloc(a->n_words + 1, sizeof *words);
    if (!words)
        return cli_fail_memory(error);
    for (size_t k = 0; k < a->n_words; k++)
        words[k] = (cli_word){a->words[k].text, a->words[k].start, a->words[k].end};
    w->segments[i].words = words;
    w->segments[i].n_words = a->n_words;
    w->notes[i] = (cli_words_note){a->reliable, cli_unit_rule_name(a->rule)};
    return PARLEY_OK;
}

static parley_status align_samples(writing *w, size_t i, const float *pcm, size_t samples, parley_error *error)
{
    const hear_fields *f = w->r->fields;
    const cli_segment *s = &w->segments[i];
    parley_align_options options;
    parley_align_options_init(w->r->aligner, &options);
    options.language = known_language(w->r->aligner, s->language);
    options.offset = s->start;
    cli_unit_rules_apply(w->r->cutting, &options);
    if (f->attention.given)
        options.attention = (parley_attention)f->attention.value;
    if (f->kv.given)
        options.kv = (parley_kv)f->kv.value;
    if (f->activations.given)
        options.activations = (parley_activations)f->activations.value;
    return parley_align(w->r->aligner, pcm, samples, s->text, strlen(s->text), &options, &w->alignments[i], error);
}

static parley_status align_padded(writing *w, size_t i, const float *pcm, size_t samples, parley_error *error)
{
    float *padded = calloc(LEAST_SAMPLES, sizeof *padded);
    if (!padded)
        return cli_fail_memory(error);
    memcpy(padded, pcm, samples * sizeof *padded);
    parley_status status = align_samples(w, i, padded, LEAST_SAMPLES, error);
    free(padded);
    return status;
}

/* A text without letters and numbers has no words; that is no error here. */
static parley_status align_segment(writing *w, size_t i, parley_error *error)
{
    const cli_segment *s = &w->segments[i];
    size_t first = (size_t)llround(s->start * PARLEY_ASR_RATE), end = (size_t)llround(s->end * PARLEY_ASR_RATE);
    size_t samples;
    const float *sound = parley_asr_sound(w->r->session, &samples);
    if (!s->text[0] || cli_signals_cancelled() || end > samples || first >= end)
        return PARLEY_OK;
    const float *pcm = sound + first;
    bool is_short = w->heard.n_segments > 1 && end - first < LEAST_SAMPLES;
    double clock = cli_seconds();
    parley_status status = is_short ? align_padded(w, i, pcm, end - first, error) : align_samples(w, i, pcm, end - first, error);
    w->align += cli_seconds() - clock;
    if (status == PARLEY_ARGUMENT)
        return PARLEY_OK;
    CLI_TRY(status);
    return take_words(w, i, error);
}

/* ------------------------------------------------------------------ the file */

static void warn(const writing *w)
{
    for (size_t i = 0; i < w->heard.n_segments && w->r->warn; i++) {
        const parley_asr_segment *s = &w->heard.segments[i];
        if (s->finish == PARLEY_FINISH_LENGTH)
            cli_notice("warning: %.300s, %.3f to %.3f s: the text is cut off, all %zu tokens are used", w->r->file, s->start, s->end, s->n_tokens);
        if (s->looped)
            cli_notice("warning: %.300s, %.3f to %.3f s: the text repeated itself without end; this is from hearing it in two halves, or one copy",
                       w->r->file, s->start, s->end);
        if (s->echoed)
            cli_notice("warning: %.300s, %.3f to %.3f s: the text was a piece of the context; it is %s", w->r->file, s->start, s->end,
                       s->no_speech ? "left out, without the context nothing is heard" : "kept, there is speech without the context, too");
        if (!w->notes[i].reliable)
            cli_notice("warning: %.300s, %.3f to %.3f s: the times of the words are not reliable", w->r->file, s->start, s->end);
    }
}

/* Stamps that nobody should believe are shown in JSON, with a flag, but make no subtitles. */
static void drop_doubtful(writing *w)
{
    for (size_t i = 0; i < w->heard.n_segments; i++) {
        if (!w->notes[i].reliable)
            w->segments[i].n_words = 0;
    }
}

static void write_json(const writing *w, const cli_transcript *transcript, cli_buffer *out)
{
    cli_json json = {.out = out};
    cli_hear_costs costs = {.load = w->r->load, .align = w->align, .times = w->heard.times, .kv_bytes = w->heard.kv_bytes};
    cli_json_open(&json, NULL, '{');
    cli_transcript_members(&json, transcript, w->r->aligner ? w->notes : NULL, &costs);
    cli_json_close(&json, '}');
}

static parley_status write_all(writing *w, int32_t format, cli_buffer *out, parley_error *error)
{
    CLI_TRY(open_writing(w, error));
    for (size_t i = 0; i < w->heard.n_segments && w->r->aligner; i++)
        CLI_TRY(align_segment(w, i, error));
    warn(w);
    cli_transcript transcript = {.file = w->r->file,
                                 .language = w->heard.language,
                                 .text = w->heard.text,
                                 .finish_reason = parley_finish_name(w->heard.finish),
                                 .audio_seconds = w->heard.audio_seconds,
                                 .segments = w->segments,
                                 .n_segments = w->heard.n_segments};
    w->r->seconds = w->heard.times.total + w->align;
    w->r->n_segments = w->heard.n_segments;
    w->r->finish = w->heard.finish;
    if (format == HEAR_JSON) {
        write_json(w, &transcript, out);
        return out->failed ? cli_fail_memory(error) : PARLEY_OK;
    }
    drop_doubtful(w);
    return cli_write_text(out, (cli_text_format)format, &transcript, error);
}

parley_status hear_write_result(hear_result *result, int32_t format, cli_buffer *out, parley_error *error)
{
    writing w = {.r = result};
    parley_status status = write_all(&w, format, out, error);
    close_writing(&w);
    return status;
}
