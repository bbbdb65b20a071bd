#include "session.h"

#include "base64.h"
#include "encode.h"
#include "json_body.h"
#include "session_config.h"
#include "session_hear.h"
#include "voices.h"
#include "websocket.h"

#include <gnutls/gnutls.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { HEARINGS = 4, PENDING_OUTPUT = 256 << 10 /* bytes; more waits in the engine */ };

typedef struct speaking {
    parley_request *request; /* NULL: nothing is spoken */
    srv_encoder *encoder;
    char response[24], item[24];
    bool live, finished; /* text comes in pieces; its end has come */
    bool cancelled;      /* what is still there of it is not sent */
} speaking;

struct srv_session {
    srv_server *server;
    const srv_model *tts, *asr; /* NULL: there is none */
    void (*notify)(void *context);
    void *context;
    cli_buffer *out;
    srv_config config;
    uint64_t events, items; /* counted for their names */
    cli_buffer text;        /* of items that are to be spoken */
    speaking speaking;
    srv_hearing *hearings[HEARINGS]; /* in the order of their beginning; all but the last are committed */
    size_t n_hearings;
    const char *event_id; /* of the client's event that is handled; NULL: it has none */
};

/* ------------------------------------------------------------------ sending */

static void begin_event(srv_session *s, cli_json *json, const char *type)
{
    char id[32];
    snprintf(id, sizeof id, "event_%llu", (unsigned long long)++s->events);
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "type", type);
    cli_json_string(json, "event_id", id);
}

static void end_event(srv_session *s, cli_json *json)
{
    cli_json_close(json, '}');
    if (json->out->failed)
        s->out->failed = true;
    else
        srv_ws_frame(s->out, SRV_WS_TEXT, json->out->data, json->out->size);
    cli_buffer_free(json->out);
}

static void send_error(srv_session *s, const char *code, const char *format, ...) CLI_PRINTF(3, 4);

/* A client's mistake does not end the session. */
static void send_error(srv_session *s, const char *code, const char *format, ...)
{
    char message[500];
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    begin_event(s, &json, "error");
    cli_json_open(&json, "error", '{');
    cli_json_string(&json, "type", "invalid_request_error");
    cli_json_string(&json, "code", code);
    cli_json_string(&json, "message", message);
    if (s->event_id)
        cli_json_string(&json, "event_id", s->event_id);
    else
        cli_json_nothing(&json, "event_id");
    cli_json_close(&json, '}');
    end_event(s, &json);
}

static void send_failure(srv_session *s, parley_status status, const parley_error *error)
{
    send_error(s, parley_status_name(status), "%s", error->text);
}

static void send_session(srv_session *s, const char *type)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    begin_event(s, &json, type);
    cli_json_open(&json, "session", '{');
    cli_json_string(&json, "object", "realtime.session");
    cli_json_string(&json, "model", s->tts ? s->tts->name : s->asr->name);
    srv_config_members(&s->config, &json);
    cli_json_close(&json, '}');
    end_event(s, &json);
}

/* An event with one member, or none (`name` NULL). */
static void send_simple(srv_session *s, const char *type, const char *name, const char *value)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    begin_event(s, &json, type);
    if (name)
        cli_json_string(&json, name, value);
    end_event(s, &json);
}

static void new_id(srv_session *s, char id[24], const char *kind)
{
    snprintf(id, 24, "%s_%llu", kind, (unsigned long long)++s->items);
}

/* ------------------------------------------------------------------ speaking */

static void send_response(srv_session *s, const char *type, const char *status, const char *reason)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    begin_event(s, &json, type);
    cli_json_open(&json, "response", '{');
    cli_json_string(&json, "id", s->speaking.response);
    cli_json_string(&json, "object", "realtime.response");
    cli_json_string(&json, "status", status);
    if (reason)
        cli_json_string(&json, "finish_reason", reason);
    cli_json_open(&json, "output_modalities", '[');
    cli_json_string(&json, NULL, "audio");
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    end_event(s, &json);
}

static void audio_event(srv_session *s, const char *type, const cli_buffer *sound)
{
    cli_buffer text = {0}, encoded = {0};
    cli_json json = {.out = &text};
    begin_event(s, &json, type);
    cli_json_string(&json, "response_id", s->speaking.response);
    cli_json_string(&json, "item_id", s->speaking.item);
    cli_json_whole(&json, "output_index", 0);
    cli_json_whole(&json, "content_index", 0);
    if (sound) {
        cli_append_text(&encoded, "\"");
        srv_base64(&encoded, sound->data, sound->size);
        cli_append_text(&encoded, "\"");
        cli_json_raw(&json, "delta", &encoded);
    }
    end_event(s, &json);
    cli_buffer_free(&encoded);
}

static void end_speaking(srv_session *s)
{
    parley_request_release(s->speaking.request);
    srv_encoder_close(s->speaking.encoder);
    s->speaking = (speaking){.request = NULL};
}

static const char *text_or_null(const cli_buffer *buffer)
{
    return buffer->size ? buffer->data : NULL;
}

static parley_status choose(srv_session *s, srv_call *call, parley_tts_options *options, cJSON *voice_name, parley_voice **voice)
{
    const srv_options *o = s->server->options;
    parley_tts_options_init(s->tts->model, options);
    options->seed = s->config.seed;
    if (!s->config.seeded && getrandom(&options->seed, sizeof options->seed, 0) != (ssize_t)sizeof options->seed)
        return cli_fail(&call->error, PARLEY_IO, "the system gives no random seed");
    if (o->kv)
        options->kv = *o->kv;
    if (o->activations)
        options->activations = *o->activations;
    if (s->config.language.size)
        options->language = s->config.language.data;
    options->instruct = text_or_null(&s->config.instructions);
    options->speed = s->config.speed;
    options->piece_length = o->piece_length;
    options->live_text = s->speaking.live;
    return srv_voice_find(call, s->tts, voice_name, options, voice);
}

static parley_status open_speaking(srv_session *s, parley_error *error)
{
    srv_call call = {.server = s->server};
    parley_tts_options options;
    parley_request_options request_options;
    parley_voice *voice = NULL;
    cJSON *name = s->config.voice.size ? cJSON_CreateString(s->config.voice.data) : NULL;
    parley_status status = choose(s, &call, &options, name, &voice);
    *error = call.error;
    cli_buffer_free(&call.message);
    srv_request_options(s->server, &request_options);
    request_options.notify = s->notify;
    request_options.notify_context = s->context;
    if (status == PARLEY_OK)
        status = parley_engine_speak(s->tts->engine, &options, &request_options, &s->speaking.request, error);
    parley_voice_free(voice);
    cJSON_Delete(name);
    return status == PARLEY_OK ? srv_encoder_open(&s->speaking.encoder, SRV_PCM, s->tts->info->sample_rate, error) : status;
}

static parley_status start_speaking(srv_session *s, bool live)
{
    parley_error error = {.status = PARLEY_OK};
    if (!s->tts) {
        send_error(s, "model_not_found", "there is no model that speaks");
        return PARLEY_FAMILY;
    }
    if (s->speaking.request) {
        send_error(s, "conversation_already_has_active_response", "%s is still being spoken; cancel it or wait for response.done",
                   s->speaking.response);
        return PARLEY_STATE;
    }
    s->speaking.live = live;
    parley_status status = open_speaking(s, &error);
    if (status == PARLEY_OK && !live) {
        s->speaking.finished = true;
        status = parley_request_push_text(s->speaking.request, s->text.data ? s->text.data : "", s->text.size, &error);
        if (status == PARLEY_OK)
            status = parley_request_finish_text(s->speaking.request, &error);
    }
    if (status != PARLEY_OK) {
        send_failure(s, status, &error);
        end_speaking(s);
        return status;
    }
    new_id(s, s->speaking.response, "resp");
    new_id(s, s->speaking.item, "item");
    send_response(s, "response.created", "in_progress", NULL);
    return PARLEY_OK;
}

static void finish_speaking(srv_session *s, const parley_event *event)
{
    bool cut = event->status == PARLEY_CANCELLED;
    if (event->status == PARLEY_OK)
        audio_event(s, "response.output_audio.done", NULL);
    else if (!cut)
        send_failure(s, event->status, event->error);
    send_response(s, "response.done", event->status == PARLEY_OK ? "completed" : cut ? "cancelled" : "failed", parley_finish_name(event->finish));
    end_speaking(s);
}

static void poll_speaking(srv_session *s)
{
    parley_event event = {.size = sizeof event};
    parley_error error;
    while (s->speaking.request && s->out->size < PENDING_OUTPUT) {
        cli_buffer sound = {0};
        parley_event_kind kind = parley_request_next(s->speaking.request, 0, &event);
        if (kind == PARLEY_EVENT_NONE)
            return;
        if (kind == PARLEY_EVENT_END) {
            finish_speaking(s, &event);
        } else if (kind == PARLEY_EVENT_PCM && !s->speaking.cancelled) {
            if (srv_encode(s->speaking.encoder, event.pcm, event.samples, &sound, &error) == PARLEY_OK)
                audio_event(s, "response.output_audio.delta", &sound);
            else
                s->out->failed = true;
            cli_buffer_free(&sound);
        }
    }
}

/* ------------------------------------------------------------------ events of the client: text */

static bool add_text(srv_session *s, cli_buffer *to, const char *text)
{
    size_t most = s->server->options->limits.text_bytes, length = strlen(text);
    if (to->size + length > most) {
        send_error(s, "limit", "the text is longer than %zu bytes", most);
        return false;
    }
    cli_append(to, text, length);
    s->out->failed = s->out->failed || to->failed;
    return !to->failed;
}

/* The texts of a message's content; false: an error was sent, and some may have been taken. */
static bool add_parts(srv_session *s, const cJSON *item)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, "type"), *content = cJSON_GetObjectItemCaseSensitive(item, "content"), *part;
    if (!cJSON_IsString(type) || strcmp(type->valuestring, "message") != 0 || !cJSON_IsArray(content)) {
        send_error(s, "invalid_value", "an item must be {\"type\": \"message\", \"content\": [..]}");
        return false;
    }
    cJSON_ArrayForEach(part, content)
    {
        const cJSON *kind = cJSON_GetObjectItemCaseSensitive(part, "type"), *text = cJSON_GetObjectItemCaseSensitive(part, "text");
        if (!cJSON_IsString(kind) || !strstr(kind->valuestring, "text") || !cJSON_IsString(text)) {
            send_error(s, "invalid_value", "a part of an item must be {\"type\": \"input_text\", \"text\": ..}");
            return false;
        }
        if (!add_text(s, &s->text, text->valuestring))
            return false;
    }
    return true;
}

/* A list of items from this one on, or this one alone: all of their texts, or none. */
static bool add_items(srv_session *s, const cJSON *item, bool all)
{
    size_t before = s->text.size;
    bool good = true;
    for (; item && good; item = all ? item->next : NULL)
        good = add_parts(s, item);
    if (!good)
        s->text.size = before;
    return good;
}

static void on_item(srv_session *s, const cJSON *event)
{
    char id[24];
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, "item");
    if (!item)
        send_error(s, "invalid_value", "\"item\" is missing");
    if (!item || !add_items(s, item, false))
        return;
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    new_id(s, id, "item");
    begin_event(s, &json, "conversation.item.added");
    cli_json_open(&json, "item", '{');
    cli_json_string(&json, "id", id);
    cli_json_string(&json, "object", "realtime.item");
    cli_json_string(&json, "type", "message");
    cli_json_string(&json, "status", "completed");
    cli_json_string(&json, "role", "user");
    cli_json_close(&json, '}');
    end_event(s, &json);
}

static void on_response(srv_session *s, const cJSON *event)
{
    const cJSON *response = cJSON_GetObjectItemCaseSensitive(event, "response"), *member, *input_items = NULL;
    cJSON_ArrayForEach(member, response)
    {
        bool input = !strcmp(member->string, "input");
        if (!input && strcmp(member->string, "output_modalities") != 0 && strcmp(member->string, "modalities") != 0) {
            send_error(s, "unknown_parameter", "response.%.60s cannot be set; set it with session.update", member->string);
            return;
        }
        if (input)
            input_items = member->child;
    }
    if (!add_items(s, input_items, true))
        return;
    if (s->text.size == 0) {
        send_error(s, "empty_text", "there is no text to speak: conversation.item.create brings it, or response.input");
        return;
    }
    if (start_speaking(s, false) != PARLEY_STATE)
        s->text.size = 0;
}

static void on_cancel(srv_session *s, const cJSON *event)
{
    (void)event;
    if (!s->speaking.request) {
        send_error(s, "response_cancel_not_active", "nothing is being spoken");
        return;
    }
    s->speaking.cancelled = true;
    parley_request_cancel(s->speaking.request);
}

/* Text that is spoken while it comes. */
static void on_text_append(srv_session *s, const cJSON *event)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(event, "text");
    parley_error error = {.status = PARLEY_OK};
    if (!cJSON_IsString(text)) {
        send_error(s, "invalid_value", "\"text\" must be a string");
        return;
    }
    if ((!s->speaking.request || s->speaking.finished) && start_speaking(s, true) != PARLEY_OK)
        return;
    parley_status status = parley_request_push_text(s->speaking.request, text->valuestring, strlen(text->valuestring), &error);
    if (status != PARLEY_OK)
        send_failure(s, status, &error);
}

static void on_text_commit(srv_session *s, const cJSON *event)
{
    parley_error error = {.status = PARLEY_OK};
    (void)event;
    if (!s->speaking.request || s->speaking.finished) {
        send_error(s, "input_text_buffer_commit_empty", "no text was appended that could be committed");
        return;
    }
    parley_status status = parley_request_finish_text(s->speaking.request, &error);
    s->speaking.finished = true;
    if (status == PARLEY_OK) {
        send_simple(s, "input_text_buffer.committed", "response_id", s->speaking.response);
        return;
    }
    send_failure(s, status, &error);
    send_response(s, "response.done", "failed", NULL);
    end_speaking(s);
}

/* ------------------------------------------------------------------ events of the client: sound */

static srv_hearing *open_hearing(srv_session *s)
{
    return s->n_hearings && !srv_hearing_committed(s->hearings[s->n_hearings - 1]) ? s->hearings[s->n_hearings - 1] : NULL;
}

static srv_hearing *start_hearing(srv_session *s)
{
    parley_error error = {.status = PARLEY_OK};
    char id[24];
    if (!s->asr || s->n_hearings == HEARINGS) {
        if (s->asr)
            send_error(s, "busy", "%d recordings are still being written down", (int)HEARINGS);
        else
            send_error(s, "model_not_found", "there is no model that hears");
        return NULL;
    }
    new_id(s, id, "item");
    srv_hearing_setup setup = {.server = s->server, .model = s->asr, .config = &s->config, .notify = s->notify, .context = s->context, .item = id};
    parley_status status = srv_hearing_open(&setup, &s->hearings[s->n_hearings], &error);
    if (status != PARLEY_OK) {
        send_failure(s, status, &error);
        return NULL;
    }
    return s->hearings[s->n_hearings++];
}

static void drop_hearing(srv_session *s, size_t i)
{
    srv_hearing_close(s->hearings[i]);
    memmove(&s->hearings[i], &s->hearings[i + 1], (--s->n_hearings - i) * sizeof s->hearings[0]);
}

static void append_sound(srv_session *s, const void *bytes, size_t size)
{
    parley_error error = {.status = PARLEY_OK};
    if (size % 2) {
        send_error(s, "invalid_audio", "%zu bytes are no whole number of 16-bit samples", size);
        return;
    }
    srv_hearing *h = open_hearing(s);
    if (size == 0 || (!h && !(h = start_hearing(s))))
        return;
    parley_status status = srv_hearing_push(h, bytes, size / 2, &error);
    if (status == PARLEY_OK)
        return;
    send_failure(s, status, &error);
    drop_hearing(s, s->n_hearings - 1);
}

static void on_append(srv_session *s, const cJSON *event)
{
    const cJSON *audio = cJSON_GetObjectItemCaseSensitive(event, "audio");
    gnutls_datum_t decoded = {0};
    if (!cJSON_IsString(audio)) {
        send_error(s, "invalid_value", "\"audio\" must be a string");
        return;
    }
    const union {
        const char *text;
        unsigned char *bytes; /* gnutls leaves them alone */
    } from = {.text = audio->valuestring};
    const gnutls_datum_t text = {.data = from.bytes, .size = (unsigned)strlen(audio->valuestring)};
    if (text.size && gnutls_base64_decode2(&text, &decoded) < 0) {
        send_error(s, "invalid_audio", "\"audio\" is no base64");
        return;
    }
    append_sound(s, decoded.data, decoded.size);
    gnutls_free(decoded.data);
}

static void on_commit(srv_session *s, const cJSON *event)
{
    parley_error error = {.status = PARLEY_OK};
    srv_hearing *h = open_hearing(s);
    (void)event;
    if (!h) {
        send_error(s, "input_audio_buffer_commit_empty", "no sound was appended that could be committed");
        return;
    }
    parley_status status = srv_hearing_commit(h, &error);
    if (status == PARLEY_OK) {
        send_simple(s, "input_audio_buffer.committed", "item_id", srv_hearing_item(h));
        return;
    }
    send_failure(s, status, &error);
    drop_hearing(s, s->n_hearings - 1);
}

static void on_clear(srv_session *s, const cJSON *event)
{
    (void)event;
    if (open_hearing(s))
        drop_hearing(s, s->n_hearings - 1);
    send_simple(s, "input_audio_buffer.cleared", NULL, NULL);
}

static void send_transcript(srv_session *s, const srv_hearing *h, const char *type, const char *name, const char *text)
{
    cli_buffer bytes = {0};
    cli_json json = {.out = &bytes};
    begin_event(s, &json, type);
    cli_json_string(&json, "item_id", srv_hearing_item(h));
    cli_json_whole(&json, "content_index", 0);
    cli_json_string(&json, name, text);
    end_event(s, &json);
}

static void send_not_heard(srv_session *s, const srv_hearing *h, const parley_error *error)
{
    cli_buffer bytes = {0};
    cli_json json = {.out = &bytes};
    begin_event(s, &json, "conversation.item.input_audio_transcription.failed");
    cli_json_string(&json, "item_id", srv_hearing_item(h));
    cli_json_whole(&json, "content_index", 0);
    cli_json_open(&json, "error", '{');
    cli_json_string(&json, "code", parley_status_name(error->status));
    cli_json_string(&json, "message", error->text);
    cli_json_close(&json, '}');
    end_event(s, &json);
}

/* True: it has ended and is gone. */
static bool poll_hearing(srv_session *s, size_t i)
{
    srv_hearing *h = s->hearings[i];
    cli_buffer delta = {0};
    parley_error error = {.status = PARLEY_OK};
    const char *whole = NULL;
    bool ended = false;
    parley_status status = srv_hearing_poll(h, &delta, &whole, &ended, &error);
    if (delta.size)
        send_transcript(s, h, "conversation.item.input_audio_transcription.delta", "delta", delta.data);
    if (ended && status == PARLEY_OK)
        send_transcript(s, h, "conversation.item.input_audio_transcription.completed", "transcript", whole);
    else if (ended)
        send_not_heard(s, h, &error);
    cli_buffer_free(&delta);
    if (ended)
        drop_hearing(s, i);
    return ended;
}

/* ------------------------------------------------------------------ all events */

static void on_update(srv_session *s, const cJSON *event)
{
    parley_error error = {.status = PARLEY_OK};
    parley_status status = srv_config_update(&s->config, cJSON_GetObjectItemCaseSensitive(event, "session"), &error);
    if (status != PARLEY_OK)
        send_error(s, "invalid_value", "%s", error.text);
    else
        send_session(s, "session.updated");
}

static const struct {
    const char *type;
    void (*handle)(srv_session *session, const cJSON *event);
} handlers[] = {
    {"session.update", on_update},
    {"conversation.item.create", on_item},
    {"response.create", on_response},
    {"response.cancel", on_cancel},
    {"input_text_buffer.append", on_text_append},
    {"input_text_buffer.commit", on_text_commit},
    {"input_audio_buffer.append", on_append},
    {"input_audio_buffer.commit", on_commit},
    {"input_audio_buffer.clear", on_clear},
};

static void handle(srv_session *s, const cJSON *event)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(event, "type"), *id = cJSON_GetObjectItemCaseSensitive(event, "event_id");
    s->event_id = cJSON_IsString(id) ? id->valuestring : NULL;
    for (size_t i = 0; i < CLI_COUNT(handlers) && cJSON_IsString(type); i++) {
        if (!strcmp(handlers[i].type, type->valuestring)) {
            handlers[i].handle(s, event);
            return;
        }
    }
    send_error(s, "unknown_event", "\"type\" %.60s is no event of this server", cJSON_IsString(type) ? type->valuestring : "(none)");
}

void srv_session_take(srv_session *s, const char *bytes, size_t size, bool binary)
{
    cJSON *event = NULL;
    parley_error error = {.status = PARLEY_OK};
    s->event_id = NULL;
    if (binary)
        append_sound(s, bytes, size);
    else if (srv_json_parse(bytes, size, &event, &error) != PARLEY_OK)
        send_error(s, "invalid_json", "%s", error.text);
    else
        handle(s, event);
    s->event_id = NULL;
    cJSON_Delete(event);
}

void srv_session_poll(srv_session *s)
{
    poll_speaking(s);
    for (size_t i = 0; i < s->n_hearings;)
        i += !poll_hearing(s, i);
}

bool srv_session_busy(const srv_session *s)
{
    return s->speaking.request || s->n_hearings;
}

srv_session *srv_session_open(srv_server *server, const srv_model *tts, const srv_model *asr, void (*notify)(void *context), void *context,
                              cli_buffer *out)
{
    srv_session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (srv_session){.server = server, .tts = tts, .asr = asr, .notify = notify, .context = context, .out = out};
    srv_config_init(&s->config);
    send_session(s, "session.created");
    return s;
}

void srv_session_close(srv_session *s)
{
    if (!s)
        return;
    end_speaking(s);
    while (s->n_hearings)
        drop_hearing(s, s->n_hearings - 1);
    srv_config_free(&s->config);
    cli_buffer_free(&s->text);
    free(s);
}
