/* /v1/audio/speech: text to sound, while it is made. */
#include "base64.h"
#include "encode.h"
#include "json_body.h"
#include "json_out.h"
#include "voices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

typedef struct speech_fields {
    const char *model, *input, *instructions, *response_format, *stream_format, *language;
    const cJSON *voice;
    srv_number speed;
    srv_seed seed;
    srv_bool stream;
} speech_fields;

#define ROW(name, kind, member)                     \
    {                                               \
        name, kind, offsetof(speech_fields, member) \
    }

static const srv_json_row rows[] = {
    ROW("model", SRV_TEXT, model),
    ROW("input", SRV_TEXT, input),
    ROW("voice", SRV_ANY, voice),
    ROW("instructions", SRV_TEXT, instructions),
    ROW("response_format", SRV_TEXT, response_format),
    ROW("stream_format", SRV_TEXT, stream_format),
    ROW("speed", SRV_NUMBER, speed),
    ROW("language", SRV_TEXT, language),
    ROW("seed", SRV_SEED, seed),
    ROW("stream", SRV_BOOL, stream),
};

/* A request that speaks; it outlives its call where the answer is a stream. */
typedef struct speaking {
    srv_server *server;
    srv_watched *watched;
    const srv_model *model;
    parley_request *request;
    srv_encoder *encoder;
    srv_format format;
    bool events, stream; /* server-sent events; else the sound itself, in chunks or whole */
    bool ended, told;    /* the last event has come; the last bytes are made */
    cli_buffer first;    /* made before the answer began */
    cli_buffer sound;    /* of one event */
    uint64_t first_frames, seed;
} speaking;

static void release(void *context)
{
    speaking *s = context;
    srv_watch_request(s->watched, NULL);
    parley_request_release(s->request);
    srv_encoder_close(s->encoder);
    cli_buffer_free(&s->first);
    cli_buffer_free(&s->sound);
    free(s);
}

/* ------------------------------------------------------------------ what is asked for */

static parley_status read_format(srv_call *call, const speech_fields *f, speaking *s)
{
    s->format = SRV_MP3;
    if (f->response_format && !srv_format_find(f->response_format, &s->format))
        return srv_fail(call, 400, "unsupported_format", "response_format", "\"response_format\" is one of mp3, opus, flac, wav, pcm, not \"%.60s\"",
                        f->response_format);
    s->events = f->stream_format && !strcmp(f->stream_format, "sse");
    if (f->stream_format && !s->events && strcmp(f->stream_format, "audio") != 0)
        return srv_fail(call, 400, "unsupported_format", "stream_format", "\"stream_format\" is audio or sse, not \"%.60s\"", f->stream_format);
    s->stream = !f->stream.given || f->stream.value;
    if (s->events && !s->stream)
        return srv_fail(call, 400, "contradiction", "stream", "\"stream_format\": \"sse\" and \"stream\": false exclude each other");
    return PARLEY_OK;
}

static parley_status check_fields(srv_call *call, const speech_fields *f)
{
    if (!f->input)
        return srv_fail(call, 400, "missing_field", "input", "\"input\" is missing, the text to speak");
    if (strlen(f->input) > call->server->options->limits.text_bytes)
        return srv_fail(call, 413, "text_too_long", "input", "\"input\" has %zu bytes, at most %zu are allowed", strlen(f->input),
                        call->server->options->limits.text_bytes);
    if (f->speed.given && !(f->speed.value >= PARLEY_SPEED_LEAST && f->speed.value <= PARLEY_SPEED_MOST))
        return srv_fail(call, 400, "invalid_speed", "speed", "\"speed\" is %g, expected %g to %g", f->speed.value, PARLEY_SPEED_LEAST,
                        PARLEY_SPEED_MOST);
    return PARLEY_OK;
}

static parley_status choose(srv_call *call, const speech_fields *f, const srv_model *model, parley_tts_options *options, parley_voice **voice)
{
    const srv_options *o = call->server->options;
    parley_tts_options_init(model->model, options);
    options->piece_length = o->piece_length;
    options->seed = f->seed.value;
    if (!f->seed.given && getrandom(&options->seed, sizeof options->seed, 0) != (ssize_t)sizeof options->seed)
        return cli_fail(&call->error, PARLEY_IO, "the system gives no random seed");
    if (!f->seed.given)
        options->seed >>= 11; /* 53 bits: a number that JSON can carry back */
    if (o->kv)
        options->kv = *o->kv;
    if (o->activations)
        options->activations = *o->activations;
    if (f->speed.given)
        options->speed = f->speed.value;
    if (f->language)
        options->language = f->language;
    if (f->instructions && *f->instructions)
        options->instruct = f->instructions;
    return srv_voice_find(call, model, f->voice, options, voice);
}

static parley_status begin(srv_call *call, const speech_fields *f, speaking *s)
{
    parley_tts_options options;
    parley_request_options request_options;
    parley_voice *voice = NULL;
    CLI_TRY(check_fields(call, f));
    CLI_TRY(read_format(call, f, s));
    s->model = srv_call_model(call, SRV_TTS, f->model);
    if (!s->model)
        return PARLEY_ARGUMENT;
    parley_status status = choose(call, f, s->model, &options, &voice);
    srv_request_options(call->server, &request_options);
    if (status == PARLEY_OK)
        status = parley_engine_speak(s->model->engine, &options, &request_options, &s->request, &call->error);
    s->seed = options.seed;
    parley_voice_free(voice);
    CLI_TRY(status);
    CLI_TRY(parley_request_push_text(s->request, f->input, strlen(f->input), &call->error));
    CLI_TRY(parley_request_finish_text(s->request, &call->error));
    return srv_encoder_open(&s->encoder, s->format, s->model->info->sample_rate, &call->error);
}

/* ------------------------------------------------------------------ making */

static void delta_event(speaking *s, cli_buffer *out)
{
    cli_append_text(out, "data: {\"type\": \"speech.audio.delta\", \"audio\": \"");
    srv_base64(out, s->sound.data, s->sound.size);
    cli_append_text(out, "\"}\n\n");
    out->failed = out->failed || s->sound.failed;
}

static void done_event(const speaking *s, cli_buffer *out)
{
    parley_tts_result result = {.size = sizeof result};
    cli_json json = {.out = out};
    (void)parley_request_speech(s->request, &result);
    cli_append_text(out, "data: ");
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "type", "speech.audio.done");
    cli_json_string(&json, "finish_reason", parley_finish_name(result.finish));
    cli_json_unsigned(&json, "seed", s->seed);
    cli_json_open(&json, "usage", '{');
    cli_json_whole(&json, "input_tokens", result.prompt_length);
    cli_json_unsigned(&json, "output_tokens", result.frames);
    cli_json_unsigned(&json, "total_tokens", (uint64_t)result.prompt_length + result.frames);
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
    cli_append_text(out, "\n\n");
}

/* Takes the next event of the request into `sound`, waiting for it. */
static parley_status take_event(speaking *s, parley_error *error)
{
    parley_event event = {.size = sizeof event};
    while (parley_request_next(s->request, 3600, &event) == PARLEY_EVENT_NONE)
        continue;
    s->ended = event.kind == PARLEY_EVENT_END;
    if (s->ended && event.status != PARLEY_OK) {
        *error = *event.error;
        return event.status;
    }
    if (event.kind == PARLEY_EVENT_PCM && s->first_frames == 0)
        s->first_frames = event.frames;
    return s->ended ? srv_encode_end(s->encoder, &s->sound, error) : srv_encode(s->encoder, event.pcm, event.samples, &s->sound, error);
}

/* An encoder may hold back the first samples: then the next ones are taken too, since an empty piece would be the end. */
static parley_status make(void *context, cli_buffer *out, parley_error *error)
{
    speaking *s = context;
    if (s->first.size) {
        cli_append(out, s->first.data, s->first.size);
        s->first.size = 0;
        return PARLEY_OK;
    }
    s->sound.size = 0;
    while (!s->ended && s->sound.size == 0)
        CLI_TRY(take_event(s, error));
    if (!s->events) {
        cli_append(out, s->sound.data, s->sound.size);
        out->failed = out->failed || s->sound.failed;
        return PARLEY_OK;
    }
    if (s->sound.size)
        delta_event(s, out);
    if (s->ended && !s->told)
        done_event(s, out);
    s->told = s->ended;
    return PARLEY_OK;
}

static parley_status make_all(speaking *s, cli_buffer *whole, parley_error *error)
{
    size_t before;
    do {
        before = whole->size;
        cli_buffer piece = {0};
        parley_status status = make(s, &piece, error);
        cli_append(whole, piece.data, piece.size);
        whole->failed = whole->failed || piece.failed;
        cli_buffer_free(&piece);
        CLI_TRY(status);
    } while (whole->size > before);
    srv_encode_patch(s->format, s->model->info->sample_rate, whole);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ answering */

typedef struct speech_headers {
    char seed[24], frames[24];
    srv_header rows[3];
} speech_headers;

/* How many frames the model had made when the first sound was there: 1 unless the reader was late. */
static size_t fill_headers(const speaking *s, speech_headers *h)
{
    snprintf(h->seed, sizeof h->seed, "%llu", (unsigned long long)s->seed);
    snprintf(h->frames, sizeof h->frames, "%llu", (unsigned long long)s->first_frames);
    h->rows[0] = (srv_header){"X-Parley-Seed", h->seed};
    h->rows[1] = (srv_header){"X-Parley-First-Frames", h->frames};
    h->rows[2] = (srv_header){"Cache-Control", "no-store"};
    return CLI_COUNT(h->rows);
}

/* The first sound is waited for: what fails before it is still an error of its own. */
static parley_status answer(srv_call *call, speaking *s)
{
    speech_headers headers;
    parley_error error = {.status = PARLEY_OK};
    cli_buffer whole = {0};
    srv_watch_request(call->watched, s->request);
    parley_status status = s->stream ? make(s, &s->first, &error) : make_all(s, &whole, &error);
    if (status != PARLEY_OK) {
        call->error = error;
        cli_buffer_free(&whole);
        release(s);
        return status;
    }
    size_t n_headers = fill_headers(s, &headers);
    if (s->stream) {
        srv_stream stream = {.type = s->events ? "text/event-stream" : srv_format_type(s->format),
                             .headers = headers.rows,
                             .n_headers = n_headers,
                             .make = make,
                             .release = release,
                             .context = s};
        return srv_reply_stream(call, &stream);
    }
    srv_format format = s->format;
    release(s);
    return srv_reply_whole(call, srv_format_type(format), headers.rows, n_headers, &whole);
}

parley_status srv_speech(srv_call *call)
{
    cJSON *json = NULL;
    speech_fields fields = {0};
    speaking *s = calloc(1, sizeof *s);
    if (!s)
        return cli_fail_memory(&call->error);
    *s = (speaking){.server = call->server, .watched = call->watched};
    parley_status status = srv_json_parse(call->body.data, call->body.size, &json, &call->error);
    if (status == PARLEY_OK)
        status = srv_json_fields(json, rows, CLI_COUNT(rows), &fields, &call->param, &call->error);
    if (status == PARLEY_OK)
        status = begin(call, &fields, s);
    if (status != PARLEY_OK && call->param)
        call->param = srv_json_known(rows, CLI_COUNT(rows), call->param);
    cJSON_Delete(json);
    if (status != PARLEY_OK) {
        release(s);
        return status;
    }
    return answer(call, s);
}
