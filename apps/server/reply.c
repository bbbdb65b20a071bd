/* Answers: errors in the shape of the OpenAI API, whole bodies, bodies that are made while they are sent. */
#include "call.h"

#include "json_out.h"
#include "notice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 << 10 }; /* bytes of a stream handed to the socket at once */

parley_status srv_fail(srv_call *call, int http, const char *code, const char *param, const char *format, ...)
{
    char text[sizeof call->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    call->http = http;
    call->code = code;
    call->param = param;
    return cli_fail(&call->error, PARLEY_ARGUMENT, "%s", text);
}

static const char *type_of(int http)
{
    return http == 429 ? "requests" : http == 401 ? "authentication_error" : http >= 500 ? "server_error" : "invalid_request_error";
}

void srv_error_json(cli_buffer *out, int http, const char *code, const char *param, const char *message)
{
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "message", message);
    cli_json_string(&json, "type", type_of(http));
    if (param)
        cli_json_string(&json, "param", param);
    else
        cli_json_nothing(&json, "param");
    cli_json_string(&json, "code", code);
    cli_json_close(&json, '}');
}

/* ------------------------------------------------------------------ queueing */

/* What every answer carries: nothing of it may be guessed as another type or shown inside another page. */
static const srv_header always[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
};

static parley_status queue(srv_call *call, int http, const char *type, const srv_header *headers, size_t n_headers, struct MHD_Response *response)
{
    bool good = response != NULL;
    for (size_t i = 0; i < CLI_COUNT(always) && good; i++)
        good = MHD_add_response_header(response, always[i].name, always[i].value) == MHD_YES;
    for (size_t i = 0; i < n_headers && good; i++)
        good = MHD_add_response_header(response, headers[i].name, headers[i].value) == MHD_YES;
    if (good && type)
        good = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES;
    if (good)
        good = MHD_queue_response(call->connection, (unsigned)http, response) == MHD_YES;
    if (response)
        MHD_destroy_response(response);
    call->answered = good;
    srv_metrics_count(call->server->metrics, call->route ? call->route->path : NULL, http, cli_seconds() - call->started);
    srv_watch_deadline(call->watched, call->server->options->limits.stall_seconds);
    return good ? PARLEY_OK : cli_fail_memory(&call->error);
}

parley_status srv_reply_whole(srv_call *call, const char *type, const srv_header *headers, size_t n_headers, cli_buffer *bytes)
{
    bool failed = bytes->failed;
    struct MHD_Response *response = NULL;
    if (!failed)
        response = MHD_create_response_from_buffer(bytes->size, bytes->data ? bytes->data : "",
                                                   bytes->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response)
        cli_buffer_free(bytes);
    *bytes = (cli_buffer){0};
    return queue(call, 200, type, headers, n_headers, response);
}

parley_status srv_reply_static(srv_call *call, int http, const char *type, const srv_header *headers, size_t n_headers, const void *bytes,
                               size_t size)
{
    union {
        const void *constant;
        void *bytes; /* libmicrohttpd asks for it and leaves it alone */
    } data = {.constant = bytes};
    return queue(call, http, type, headers, n_headers, MHD_create_response_from_buffer(size, data.bytes, MHD_RESPMEM_PERSISTENT));
}

parley_status srv_reply_upgrade(srv_call *call, const srv_header *headers, size_t n_headers, struct MHD_Response *response)
{
    return queue(call, MHD_HTTP_SWITCHING_PROTOCOLS, NULL, headers, n_headers, response);
}

parley_status srv_reply(srv_call *call, int http, const char *type, cli_buffer *bytes)
{
    struct MHD_Response *response = NULL;
    if (!bytes->failed)
        response = MHD_create_response_from_buffer(bytes->size, bytes->data ? bytes->data : "", MHD_RESPMEM_MUST_COPY);
    cli_buffer_free(bytes);
    return queue(call, http, type, NULL, 0, response);
}

/* What RFC 9110 wants beside a status. False: nothing. */
static bool header_of(const srv_call *call, int http, srv_header *header)
{
    const struct {
        int http;
        srv_header header;
    } rows[] = {
        {401, {MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer"}}, {405, {MHD_HTTP_HEADER_ALLOW, call->allowed}},
        {426, {MHD_HTTP_HEADER_UPGRADE, "websocket"}},       {429, {MHD_HTTP_HEADER_RETRY_AFTER, "1"}},
        {503, {MHD_HTTP_HEADER_RETRY_AFTER, "1"}},
    };
    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        *header = rows[i].header;
        if (rows[i].http == http)
            return true;
    }
    return false;
}

parley_status srv_reply_error(srv_call *call, parley_status status)
{
    srv_header header;
    int http = call->http ? call->http : parley_status_http(status);
    cli_buffer text = {0};
    cli_append_text(&text, "{\"error\": ");
    srv_error_json(&text, http, call->code ? call->code : parley_status_name(status), call->param,
                   call->message.size && !call->message.failed ? call->message.data : call->error.text);
    cli_append_text(&text, "}\n");
    struct MHD_Response *response = text.failed ? NULL : MHD_create_response_from_buffer(text.size, text.data, MHD_RESPMEM_MUST_COPY);
    cli_buffer_free(&text);
    size_t n_headers = header_of(call, http, &header);
    return queue(call, http, "application/json", &header, n_headers, response);
}

/* ------------------------------------------------------------------ streams */

typedef struct sending {
    srv_server *server;
    srv_watched *watched;
    srv_stream stream;
    cli_buffer bytes;
    size_t at; /* sent of them */
    bool ended;
} sending;

static parley_status make_more(sending *s)
{
    parley_error error = {.status = PARLEY_OK};
    s->bytes.size = s->at = 0;
    srv_watch_deadline(s->watched, 0);
    parley_status status = s->stream.make(s->stream.context, &s->bytes, &error);
    srv_watch_deadline(s->watched, s->server->options->limits.stall_seconds);
    if (status == PARLEY_OK && s->bytes.failed)
        status = cli_fail_memory(&error);
    if (status != PARLEY_OK && status != PARLEY_CANCELLED)
        cli_notice("an answer that had begun is cut off: %s", error.text);
    s->ended = s->bytes.size == 0;
    return status;
}

static ssize_t send_more(void *context, uint64_t position, char *to, size_t most)
{
    sending *s = context;
    (void)position;
    if (s->at == s->bytes.size && !s->ended && make_more(s) != PARLEY_OK)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (s->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t n = s->bytes.size - s->at < most ? s->bytes.size - s->at : most;
    memcpy(to, s->bytes.data + s->at, n);
    s->at += n;
    srv_watch_deadline(s->watched, s->server->options->limits.stall_seconds);
    return (ssize_t)n;
}

static void end_sending(void *context)
{
    sending *s = context;
    s->stream.release(s->stream.context);
    cli_buffer_free(&s->bytes);
    srv_count_out(s->server);
    free(s);
}

parley_status srv_reply_stream(srv_call *call, const srv_stream *stream)
{
    sending *s = calloc(1, sizeof *s);
    if (!s) {
        stream->release(stream->context);
        return cli_fail_memory(&call->error);
    }
    *s = (sending){.server = call->server, .watched = call->watched, .stream = *stream};
    srv_count_in(call->server);
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, send_more, s, end_sending);
    if (!response)
        end_sending(s);
    return queue(call, 200, stream->type, stream->headers, stream->n_headers, response);
}
