/* /v1/audio/transcriptions: an uploaded sound to text. */
#include "call.h"
#include "json_out.h"
#include "transcript_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SAMPLES = PARLEY_ASR_RATE / 2 }; /* a shorter segment is aligned with silence behind it, as it was heard */

/* A request that hears; it outlives its call where the answer is a stream. */
typedef struct hearing {
    srv_server *server;
    srv_watched *watched;
    const srv_model *model, *aligner; /* aligner NULL: no words are wanted */
    parley_request *request;
    parley_audio audio;
    const char *language, *prompt;
    srv_text_format format;
    bool stream, words, segments;
    parley_asr_result result;
    parley_request **align; /* [result.n_segments]; NULL: none */
    cli_buffer first;       /* events made before the answer began */
    bool ended;
} hearing;

static void release(void *context)
{
    hearing *h = context;
    srv_watch_request(h->watched, NULL);
    for (size_t i = 0; h->align && i < h->result.n_segments; i++)
        parley_request_release(h->align[i]);
    free(h->align);
    parley_request_release(h->request);
    parley_audio_free(&h->audio);
    cli_buffer_free(&h->first);
    free(h);
}

/* ------------------------------------------------------------------ what is asked for */

static const char *const known[] = {"file", "model", "language", "prompt", "response_format", "temperature", "stream", "timestamp_granularities[]",
                                    NULL};

static parley_status read_granularities(srv_call *call, hearing *h)
{
    bool any = false;
    for (size_t i = 0; i < call->upload->count; i++) {
        const srv_field *field = &call->upload->fields[i];
        const char *value = field->value.data ? field->value.data : "";
        if (strcmp(field->name, "timestamp_granularities[]") != 0)
            continue;
        any = true;
        if (!strcmp(value, "word"))
            h->words = true;
        else if (!strcmp(value, "segment"))
            h->segments = true;
        else
            return srv_fail(call, 400, "invalid_value", "timestamp_granularities", "\"timestamp_granularities[]\" is word or segment, not \"%.60s\"",
                            value);
    }
    if (any && h->format != SRV_TEXT_VERBOSE)
        return srv_fail(call, 400, "contradiction", "timestamp_granularities",
                        "\"timestamp_granularities[]\" needs \"response_format\": verbose_json");
    if (!any)
        h->segments = true;
    return PARLEY_OK;
}

static parley_status read_temperature(srv_call *call)
{
    const char *text = srv_upload_text(call->upload, "temperature");
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (text && (!*text || *end || !isfinite(value)))
        return srv_fail(call, 400, "invalid_value", "temperature", "\"temperature\" must be a number, not \"%.60s\"", text);
    if (value != 0)
        return srv_fail(call, 400, "unsupported_temperature", "temperature", "\"temperature\" %g: the most likely text is taken, 0 is the only value",
                        value);
    return PARLEY_OK;
}

static parley_status read_stream(srv_call *call, hearing *h)
{
    const char *text = srv_upload_text(call->upload, "stream");
    h->stream = text && !strcmp(text, "true");
    if (text && !h->stream && strcmp(text, "false") != 0)
        return srv_fail(call, 400, "invalid_value", "stream", "\"stream\" must be true or false, not \"%.60s\"", text);
    if (h->stream && h->format != SRV_TEXT_JSON && h->format != SRV_TEXT_PLAIN)
        return srv_fail(call, 400, "contradiction", "stream", "\"stream\": true goes with \"response_format\": json or text");
    return PARLEY_OK;
}

static parley_status read_fields(srv_call *call, hearing *h)
{
    const char *format = srv_upload_text(call->upload, "response_format");
    CLI_TRY(srv_upload_check(call->upload, known, &call->error));
    if (format && !srv_text_format_find(format, &h->format))
        return srv_fail(call, 400, "unsupported_format", "response_format",
                        "\"response_format\" is one of json, text, srt, verbose_json, vtt, not \"%.60s\"", format);
    h->language = srv_upload_text(call->upload, "language");
    h->prompt = srv_upload_text(call->upload, "prompt");
    CLI_TRY(read_temperature(call));
    CLI_TRY(read_stream(call, h));
    return read_granularities(call, h);
}

/* Subtitles are better with the times of words, where they can be had. */
static parley_status find_models(srv_call *call, hearing *h)
{
    bool helps = h->format == SRV_TEXT_SRT || h->format == SRV_TEXT_VTT;
    h->model = srv_call_model(call, SRV_ASR, srv_upload_text(call->upload, "model"));
    if (!h->model)
        return PARLEY_ARGUMENT;
    if (h->words || helps)
        h->aligner = srv_models_find(call->server->models, SRV_ALIGNER, NULL);
    if (h->words && !h->aligner)
        return srv_fail(call, 400, "no_aligner", "timestamp_granularities",
                        "times of words need an aligner, and the server was started without --aligner");
    return PARLEY_OK;
}

static parley_status read_file(srv_call *call, hearing *h)
{
    size_t at = 0;
    const srv_field *file = srv_upload_next(call->upload, "file", &at);
    parley_audio_options options;
    if (!file || !file->is_file)
        return srv_fail(call, 400, "missing_field", "file", "the form needs the file \"file\", a sound");
    parley_audio_options_init(&options);
    options.rate = PARLEY_ASR_RATE;
    options.max_seconds = call->server->options->limits.audio_seconds;
    call->param = "file";
    CLI_TRY(srv_read_sound(call, file, &options, &h->audio));
    call->param = NULL;
    return PARLEY_OK;
}

static parley_status begin(srv_call *call, hearing *h)
{
    const srv_options *o = call->server->options;
    parley_asr_options options;
    parley_request_options request_options;
    CLI_TRY(read_fields(call, h));
    CLI_TRY(find_models(call, h));
    CLI_TRY(read_file(call, h));
    parley_asr_options_init(h->model->model, &options);
    if (h->language && *h->language)
        options.language = h->language;
    if (h->prompt)
        options.context = h->prompt;
    if (o->kv)
        options.kv = *o->kv;
    if (o->activations)
        options.activations = *o->activations;
    srv_request_options(call->server, &request_options);
    CLI_TRY(parley_engine_hear(h->model->engine, &options, &request_options, &h->request, &call->error));
    CLI_TRY(parley_request_push_sound(h->request, h->audio.samples, h->audio.count, &call->error));
    if (!h->aligner)
        parley_audio_free(&h->audio);
    if (!h->aligner)
        h->audio = (parley_audio){.samples = NULL};
    return parley_request_finish_sound(h->request, &call->error);
}

/* ------------------------------------------------------------------ words */

/* The model writes the language itself; what is none is not passed on. */
static const char *known_language(const srv_model *model, const char *language)
{
    for (size_t i = 0; i < model->info->n_languages; i++) {
        if (!strcmp(model->info->languages[i], language))
            return language;
    }
    return "";
}

static parley_status align_samples(hearing *h, size_t i, const float *pcm, size_t samples, parley_error *error)
{
    const parley_asr_segment *s = &h->result.segments[i];
    const srv_options *o = h->server->options;
    parley_align_options options;
    parley_request_options request_options;
    parley_align_options_init(h->aligner->model, &options);
    options.language = known_language(h->aligner, s->language);
    if (o->kv)
        options.kv = *o->kv;
    if (o->activations)
        options.activations = *o->activations;
    srv_request_options(h->server, &request_options);
    return parley_engine_align(h->aligner->engine, pcm, samples, s->text, strlen(s->text), &options, &request_options, &h->align[i], error);
}

static parley_status start_segment(hearing *h, size_t i, parley_error *error)
{
    const parley_asr_segment *s = &h->result.segments[i];
    size_t first = (size_t)llround(s->start * PARLEY_ASR_RATE), end = (size_t)llround(s->end * PARLEY_ASR_RATE);
    float padded[LEAST_SAMPLES] = {0};
    if (!s->text[0] || end > h->audio.count || first >= end)
        return PARLEY_OK;
    const float *pcm = h->audio.samples + first;
    size_t samples = end - first;
    if (h->result.n_segments > 1 && samples < LEAST_SAMPLES) {
        memcpy(padded, pcm, samples * sizeof *pcm);
        pcm = padded;
        samples = LEAST_SAMPLES;
    }
    parley_status status = align_samples(h, i, pcm, samples, error);
    return status == PARLEY_ARGUMENT ? PARLEY_OK : status; /* a text without letters and numbers has no words */
}

/* One segment after the other: another client's segments go in between. */
static parley_status align_all(hearing *h, parley_error *error)
{
    h->align = calloc(h->result.n_segments + 1, sizeof(parley_request *));
    if (!h->align)
        return cli_fail_memory(error);
    for (size_t i = 0; i < h->result.n_segments; i++) {
        CLI_TRY(start_segment(h, i, error));
        if (!h->align[i])
            continue;
        parley_status status = srv_wait_end(h->watched, h->align[i], error);
        if (status != PARLEY_OK && status != PARLEY_ARGUMENT)
            return status;
    }
    return PARLEY_OK;
}

static parley_status write_result(hearing *h, cli_buffer *out, parley_error *error)
{
    const parley_alignment **alignments = calloc(h->result.n_segments + 1, sizeof *alignments);
    srv_heard heard = {.result = &h->result, .alignments = alignments, .words = h->words, .segments = h->segments};
    if (!alignments)
        return cli_fail_memory(error);
    for (size_t i = 0; h->align && i < h->result.n_segments; i++) {
        const parley_alignment *a = NULL;
        if (h->align[i] && parley_request_alignment(h->align[i], &a))
            alignments[i] = a;
    }
    parley_status status = srv_write_heard(out, h->format, &heard, error);
    free((void *)alignments);
    return status;
}

/* ------------------------------------------------------------------ whole */

static parley_status answer_whole(srv_call *call, hearing *h)
{
    cli_buffer out = {0};
    srv_text_format format = h->format;
    parley_status status = srv_wait_end(call->watched, h->request, &call->error);
    h->result.size = sizeof h->result;
    (void)parley_request_recognition(h->request, &h->result);
    if (status == PARLEY_OK && h->aligner)
        status = align_all(h, &call->error);
    if (status == PARLEY_OK)
        status = write_result(h, &out, &call->error);
    release(h);
    if (status == PARLEY_OK)
        return srv_reply(call, 200, srv_text_format_type(format), &out);
    cli_buffer_free(&out);
    return status;
}

/* ------------------------------------------------------------------ events */

static void delta_event(const char *text, cli_buffer *out)
{
    cli_json json = {.out = out};
    cli_append_text(out, "data: ");
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "type", "transcript.text.delta");
    cli_json_string(&json, "delta", text);
    cli_json_close(&json, '}');
    cli_append_text(out, "\n\n");
}

static void done_event(const hearing *h, cli_buffer *out)
{
    cli_buffer usage = {0};
    cli_json json = {.out = out};
    srv_write_usage(&usage, h->result.audio_seconds);
    cli_append_text(out, "data: ");
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "type", "transcript.text.done");
    cli_json_string(&json, "text", h->result.text);
    cli_json_string(&json, "finish_reason", parley_finish_name(h->result.finish));
    cli_json_raw(&json, "usage", &usage);
    cli_json_close(&json, '}');
    cli_append_text(out, "\n\n");
    cli_buffer_free(&usage);
}

static void add_segment(const parley_asr_update *update, cli_buffer *out)
{
    cli_buffer delta = {0};
    if (!update->length)
        return;
    if (update->spaced)
        cli_append(&delta, " ", 1);
    cli_append(&delta, update->text, update->length);
    delta_event(delta.data ? delta.data : "", out);
    out->failed = out->failed || delta.failed;
    cli_buffer_free(&delta);
}

static void end_events(hearing *h, cli_buffer *out)
{
    h->result.size = sizeof h->result;
    (void)parley_request_recognition(h->request, &h->result);
    done_event(h, out);
}

static parley_status make(void *context, cli_buffer *out, parley_error *error)
{
    hearing *h = context;
    parley_event event = {.size = sizeof event};
    if (h->first.size) {
        cli_append(out, h->first.data, h->first.size);
        h->first.size = 0;
        return PARLEY_OK;
    }
    while (!h->ended && out->size == 0) {
        parley_event_kind kind = parley_request_next(h->request, 3600, &event);
        if (kind == PARLEY_EVENT_END && event.status != PARLEY_OK) {
            *error = *event.error;
            return event.status;
        }
        h->ended = kind == PARLEY_EVENT_END;
        if (h->ended)
            end_events(h, out);
        else if (kind == PARLEY_EVENT_UPDATE && event.update.final)
            add_segment(&event.update, out);
    }
    return PARLEY_OK;
}

static parley_status answer_events(srv_call *call, hearing *h)
{
    static const srv_header headers[] = {{"Cache-Control", "no-store"}};
    parley_error error = {.status = PARLEY_OK};
    srv_watch_request(call->watched, h->request);
    parley_status status = make(h, &h->first, &error);
    if (status != PARLEY_OK) {
        call->error = error;
        release(h);
        return status;
    }
    srv_stream stream = {.type = "text/event-stream", .headers = headers, .n_headers = 1, .make = make, .release = release, .context = h};
    return srv_reply_stream(call, &stream);
}

parley_status srv_transcriptions(srv_call *call)
{
    hearing *h = calloc(1, sizeof *h);
    if (!h)
        return cli_fail_memory(&call->error);
    *h = (hearing){.server = call->server, .watched = call->watched, .format = SRV_TEXT_JSON};
    parley_status status = begin(call, h);
    if (status == PARLEY_OK)
        return h->stream ? answer_events(call, h) : answer_whole(call, h);
    release(h);
    return status;
}
