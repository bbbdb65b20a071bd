#include "http.h"

#include "rates.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const srv_route routes[] = {
    {"GET", "/health", SRV_NO_BODY, true, false, srv_health},
    {"GET", "/metrics", SRV_NO_BODY, false, false, srv_metrics_page},
    {"GET", "/v1/models", SRV_NO_BODY, false, false, srv_list_models},
    {"GET", "/v1/models/*", SRV_NO_BODY, false, false, srv_show_model},
    {"POST", "/v1/audio/speech", SRV_JSON, false, true, srv_speech},
    {"POST", "/v1/audio/transcriptions", SRV_FORM, false, true, srv_transcriptions},
    {"GET", "/v1/audio/voices", SRV_NO_BODY, false, false, srv_list_voices},
    {"POST", "/v1/audio/voices", SRV_FORM, false, true, srv_add_voice},
    {"DELETE", "/v1/audio/voices/*", SRV_NO_BODY, false, true, srv_delete_voice},
    {"GET", "/v1/realtime", SRV_NO_BODY, false, true, srv_realtime},
    {"GET", "/*", SRV_NO_BODY, true, false, srv_page},
};

/* Behind the pattern's '*' stands the rest of the path; NULL: another path. */
static const char *match(const char *pattern, const char *path)
{
    size_t length = strlen(pattern);
    if (pattern[length - 1] != '*')
        return strcmp(pattern, path) ? NULL : path + length;
    return strncmp(pattern, path, length - 1) ? NULL : path + length - 1;
}

/* The methods of a path; there are few. */
static void allow(srv_call *call, const char *method)
{
    size_t length = strlen(call->allowed);
    snprintf(call->allowed + length, sizeof call->allowed - length, "%s%s", length ? ", " : "", method);
}

static parley_status find_route(srv_call *call, const char *method, const char *path)
{
    bool head = !strcmp(method, "HEAD");
    for (size_t i = 0; i < CLI_COUNT(routes); i++) {
        call->rest = match(routes[i].path, path);
        if (!call->rest)
            continue;
        if (!strcmp(routes[i].method, method) || (head && !strcmp(routes[i].method, "GET"))) {
            call->route = &routes[i];
            return PARLEY_OK;
        }
        if (strcmp(routes[i].path, "/*") != 0)
            allow(call, routes[i].method);
    }
    if (!call->allowed[0])
        return srv_fail(call, 404, "not_found", NULL, "there is no %.20s %.200s", method, path);
    return srv_fail(call, 405, "method_not_allowed", NULL, "%.200s takes %s, not %.20s", path, call->allowed, method);
}

/* ------------------------------------------------------------------ who may ask */

/* Of the hashes, so that neither the length nor the first difference shows in the time. */
static bool same_key(const char *given, const char *key)
{
    uint8_t a[32], b[32];
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, given, strlen(given), a) == 0 && gnutls_hash_fast(GNUTLS_DIG_SHA256, key, strlen(key), b) == 0
           && gnutls_memcmp(a, b, sizeof a) == 0;
}

/* Browsers cannot set the header on a WebSocket: there the key may be a subprotocol, as the OpenAI API has it. */
static bool has_protocol_key(srv_call *call, const char *key)
{
    static const char lead[] = "openai-insecure-api-key.";
    const char *list = srv_request_header(call, "Sec-WebSocket-Protocol");
    const char *found = list ? strstr(list, lead) : NULL;
    char given[256] = "";
    if (!found)
        return false;
    found += sizeof lead - 1;
    size_t length = strcspn(found, ", \t");
    if (length >= sizeof given)
        return false;
    memcpy(given, found, length);
    return same_key(given, key);
}

static parley_status check_key(srv_call *call)
{
    const char *key = call->server->options->api_key, *given = srv_request_header(call, MHD_HTTP_HEADER_AUTHORIZATION);
    static const char bearer[] = "Bearer ";
    if (!key || call->route->open)
        return PARLEY_OK;
    if (given && !strncasecmp(given, bearer, sizeof bearer - 1) && same_key(given + sizeof bearer - 1, key))
        return PARLEY_OK;
    if (!given && has_protocol_key(call, key))
        return PARLEY_OK;
    return srv_fail(call, 401, "invalid_api_key", NULL, given ? "wrong API key" : "an API key is needed: Authorization: Bearer KEY");
}

/* A page of another site must not use the server that runs on its visitor's machine. */
static parley_status check_origin(srv_call *call)
{
    const char *origin = srv_request_header(call, "Origin"), *host = srv_request_header(call, MHD_HTTP_HEADER_HOST);
    const char *slashes = origin ? strstr(origin, "://") : NULL;
    if (!origin || (slashes && host && !strcasecmp(slashes + 3, host)))
        return PARLEY_OK;
    return srv_fail(call, 403, "wrong_origin", NULL, "requests from pages of \"%.100s\" are not accepted, only from pages of this server", origin);
}

/* A name that no owner of a site can point at this machine: an address, localhost, or one of the own network. */
static bool is_own_name(const char *host)
{
    static const char *const ends[] = {".localhost", ".local", ".internal", ".home.arpa"};
    struct in_addr address;
    char name[256];
    size_t length = strcspn(host, ":"), i = 0;
    if (*host == '[' || length >= sizeof name) /* [: an address of IPv6 */
        return *host == '[';
    memcpy(name, host, length);
    name[length] = 0;
    while (i < CLI_COUNT(ends) && !cli_ends_with(name, ends[i]))
        i++;
    return i < CLI_COUNT(ends) || !strchr(name, '.') || inet_pton(AF_INET, name, &address) == 1;
}

/* A site whose name its owner lets resolve to this machine (DNS rebinding) would pass check_origin(). It knows no key and has no certificate. */
static parley_status check_host(srv_call *call)
{
    const srv_options *o = call->server->options;
    const char *host = srv_request_header(call, MHD_HTTP_HEADER_HOST);
    if (!host || o->api_key || o->certificate || call->route->open || is_own_name(host))
        return PARLEY_OK;
    return srv_fail(call, 403, "wrong_host", NULL, "without a key or TLS the server is asked by address or local name, not as \"%.100s\"", host);
}

static parley_status check_rate(srv_call *call)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!call->route->counts || !call->server->rates || srv_rates_take(call->server->rates, info ? info->client_addr : NULL))
        return PARLEY_OK;
    return srv_fail(call, 429, "rate_limit_exceeded", NULL, "more than %d requests a minute from this address",
                    (int)call->server->options->limits.rate);
}

static parley_status check_state(srv_call *call)
{
    pthread_mutex_lock(&call->server->lock);
    bool draining = call->server->draining;
    pthread_mutex_unlock(&call->server->lock);
    return draining && !call->route->open ? srv_fail(call, 503, "shutting_down", NULL, "the server is about to stop") : PARLEY_OK;
}

/* ------------------------------------------------------------------ bodies */

enum {
    DROPPED_BYTES = 64 << 20,
    LEAST_RATE = 64 << 10 /* bytes a second that a body must come with, behind the seconds that any request has: a slow uplink's 0.5 Mbit/s */
};

static parley_status fail_body(srv_call *call)
{
    return srv_fail(call, 413, "body_too_large", NULL, "the body is larger than %zu bytes", call->server->options->limits.body_bytes);
}

/* JSON is small: its text and a little around it. */
static size_t most_bytes(const srv_call *call)
{
    const srv_limits *l = &call->server->options->limits;
    size_t json = 6 * l->text_bytes + (16 << 10); /* six: a character as \u0000 */
    return call->route->body == SRV_JSON && json < l->body_bytes ? json : l->body_bytes;
}

/* What the headers tell already. */
static parley_status check_body(srv_call *call)
{
    const char *length = srv_request_header(call, MHD_HTTP_HEADER_CONTENT_LENGTH), *type = srv_request_header(call, MHD_HTTP_HEADER_CONTENT_TYPE);
    static const char json[] = "application/json";
    if (call->route->body == SRV_NO_BODY)
        return PARLEY_OK;
    if (length && strtoull(length, NULL, 10) > most_bytes(call))
        return fail_body(call);
    if (call->route->body == SRV_FORM)
        return srv_upload_open(&call->upload, call->connection, call->server->options->limits.text_bytes, &call->error);
    if (!type || strncasecmp(type, json, sizeof json - 1) != 0 || !strchr("; \t", type[sizeof json - 1])) /* the NUL is found, too */
        return srv_fail(call, 415, "unsupported_media_type", NULL, "the content type must be application/json, it is \"%.100s\"",
                        type ? type : "not given");
    return PARLEY_OK;
}

/* An answer before the end of a body would be lost on clients that write first and read later, so that what is not wanted is read and dropped, up to
 * a limit. False: beyond it. */
static bool drop_body(const srv_call *call)
{
    return call->taken <= DROPPED_BYTES;
}

static bool may_drop(srv_call *call)
{
    const char *length = srv_request_header(call, MHD_HTTP_HEADER_CONTENT_LENGTH);
    bool chunked = srv_request_header(call, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    bool asks = srv_request_header(call, MHD_HTTP_HEADER_EXPECT) != NULL; /* such a client reads before it writes */
    return !asks && (chunked || (length && strtoull(length, NULL, 10) <= DROPPED_BYTES));
}

/* A large body may take longer than a small one, as long as it goes on. */
static void extend_deadline(srv_call *call)
{
    double seconds = call->server->options->limits.stall_seconds + (double)call->taken / LEAST_RATE;
    srv_watch_deadline(call->watched, fmax(call->started + seconds - cli_seconds(), 1e-3));
}

/* False: the connection is to be closed. */
static bool take_body(srv_call *call, const char *bytes, size_t size)
{
    call->taken += size;
    extend_deadline(call);
    if (call->refused || call->http || call->route->body == SRV_NO_BODY)
        return drop_body(call);
    if (call->taken > most_bytes(call))
        fail_body(call);
    else if (call->upload)
        srv_upload_take(call->upload, bytes, size);
    else
        cli_append(&call->body, bytes, size);
    return true;
}

static parley_status end_body(srv_call *call)
{
    if (call->http)
        return PARLEY_LIMIT;
    if (call->body.failed)
        return cli_fail_memory(&call->error);
    return call->upload ? srv_upload_end(call->upload, &call->error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ a request */

static parley_status begin(srv_call *call, const char *method, const char *path)
{
    CLI_TRY(find_route(call, method, path));
    CLI_TRY(check_state(call));
    CLI_TRY(check_origin(call));
    CLI_TRY(check_host(call));
    CLI_TRY(check_key(call));
    CLI_TRY(check_rate(call));
    return check_body(call);
}

static parley_status work(srv_call *call)
{
    CLI_TRY(end_body(call));
    srv_watch_deadline(call->watched, 0);
    return call->route->answer(call);
}

static srv_call *new_call(srv_server *server, struct MHD_Connection *connection)
{
    srv_call *call = calloc(1, sizeof *call);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!call)
        return NULL;
    *call = (srv_call){.server = server, .connection = connection, .watched = info ? info->socket_context : NULL, .started = cli_seconds()};
    srv_watch_deadline(call->watched, server->options->limits.stall_seconds);
    srv_count_in(server);
    return call;
}

static enum MHD_Result answered(srv_call *call, parley_status status)
{
    if (status != PARLEY_OK && !call->answered)
        status = srv_reply_error(call, status);
    return status == PARLEY_OK || call->answered ? MHD_YES : MHD_NO;
}

/* Called once with the headers, then with each piece of the body, then at its end. */
enum MHD_Result srv_on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                               const char *bytes, size_t *size, void **state)
{
    srv_call *call = *state;
    (void)version;
    if (!call) {
        *state = call = new_call(context, connection);
        if (!call)
            return MHD_NO;
        call->refused = begin(call, method, url);
        return call->refused == PARLEY_OK || may_drop(call) ? MHD_YES : answered(call, call->refused);
    }
    if (*size > 0) {
        bool go_on = take_body(call, bytes, *size);
        *size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    return answered(call, call->refused ? call->refused : work(call));
}

void srv_on_completed(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
    srv_call *call = *state;
    (void)connection;
    (void)code;
    if (!call)
        return;
    *state = NULL;
    srv_watch_deadline(call->watched, call->server->options->limits.stall_seconds);
    cli_buffer_free(&call->body);
    cli_buffer_free(&call->message);
    srv_upload_close(call->upload);
    srv_count_out(context);
    free(call);
}

void srv_on_connection(void *context, struct MHD_Connection *connection, void **watched, enum MHD_ConnectionNotificationCode code)
{
    srv_server *server = context;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *watched = info ? srv_watch_add(server->watch, info->connect_fd, server->options->limits.stall_seconds) : NULL;
    } else {
        srv_watch_remove(*watched);
        *watched = NULL;
    }
}

/* ------------------------------------------------------------------ what handlers use */

const char *srv_request_header(srv_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

const char *srv_query(srv_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}

void srv_request_options(const srv_server *server, parley_request_options *options)
{
    parley_request_options_init(options);
    options->deadline_seconds = server->options->limits.request_seconds;
}

parley_status srv_wait_end(srv_watched *watched, parley_request *request, parley_error *error)
{
    parley_event event = {.size = sizeof event};
    srv_watch_request(watched, request);
    while (parley_request_next(request, 3600, &event) != PARLEY_EVENT_END)
        continue;
    srv_watch_request(watched, NULL);
    if (event.status != PARLEY_OK)
        *error = *event.error;
    return event.status;
}

void srv_count_in(srv_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->calls++;
    pthread_mutex_unlock(&server->lock);
}

void srv_count_out(srv_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->calls--;
    server->idle_since = cli_seconds();
    pthread_cond_broadcast(&server->idle);
    pthread_mutex_unlock(&server->lock);
}
