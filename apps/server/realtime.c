/* /v1/realtime: the socket of a session. A thread for each waits for bytes of the client and for news of the engines. */
#include "realtime.h"

#include "call.h"
#include "session.h"
#include "websocket.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 16 << 10, LOOK_MS = 500, JSON_BYTES = 1 << 20, BACKLOG = 4 << 20 /* of what a client has not taken */ };

typedef struct srv_socket {
    srv_server *server;
    struct srv_socket *next;
    srv_watched *watched;
    const srv_model *tts, *asr;
    int fd, wake[2];
    struct MHD_UpgradeResponseHandle *upgrade;
    srv_session *session;
    srv_ws in;
    cli_buffer out;
    size_t sent;         /* of `out` */
    double heard, taken; /* clock: when the client last sent, and took */
    bool closing;        /* a close was sent */
    bool stop;           /* under the server's lock */
} srv_socket;

static void notify(void *context)
{
    srv_socket *s = context;
    srv_pipe_wake(s->wake);
}

/* ------------------------------------------------------------------ bytes */

/* False: the client is gone. */
static bool receive(srv_socket *s)
{
    char bytes[READ_BYTES];
    ssize_t n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (n == 0)
        return false;
    s->heard = cli_seconds();
    srv_ws_feed(&s->in, bytes, (size_t)n);
    return true;
}

static bool send_pending(srv_socket *s)
{
    while (s->sent < s->out.size) {
        ssize_t n = send(s->fd, s->out.data + s->sent, s->out.size - s->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        s->sent += (size_t)n;
        s->taken = cli_seconds();
    }
    s->out.size = s->sent = 0;
    return true;
}

/* What was sent makes room, so that the session sees how much waits. */
static void compact(srv_socket *s)
{
    if (s->sent == 0)
        return;
    memmove(s->out.data, s->out.data + s->sent, s->out.size - s->sent);
    s->out.size -= s->sent;
    s->sent = 0;
}

static void close_with(srv_socket *s, int code, const char *reason)
{
    if (!s->closing)
        srv_ws_close_frame(&s->out, code, reason);
    s->closing = true;
}

static void take_message(srv_socket *s, const srv_ws_message *message)
{
    switch (message->kind) {
    case SRV_WS_TEXT:
    case SRV_WS_BINARY: srv_session_take(s->session, message->bytes, message->size, message->kind == SRV_WS_BINARY); break;
    case SRV_WS_PING: srv_ws_frame(&s->out, SRV_WS_PONG, message->bytes, message->size); break;
    case SRV_WS_CLOSE: close_with(s, SRV_WS_NORMAL, ""); break;
    default: break;
    }
}

/* A client that sends and does not take its answers is not read any further than this. */
static void take_messages(srv_socket *s)
{
    while (!s->closing && s->out.size < BACKLOG) {
        srv_ws_message message = srv_ws_next(&s->in);
        if (message.kind == SRV_WS_NONE)
            break;
        take_message(s, &message);
    }
    if (s->in.failure)
        close_with(s, s->in.failure, "");
    if (s->out.failed)
        close_with(s, SRV_WS_FAULT, "out of memory");
}

/* ------------------------------------------------------------------ life */

static bool stopped(srv_socket *s, bool *draining)
{
    pthread_mutex_lock(&s->server->lock);
    bool stop = s->stop;
    *draining = s->server->draining;
    pthread_mutex_unlock(&s->server->lock);
    return stop;
}

/* Half a message that does not go on, or answers that are not taken. */
static bool stalled(const srv_socket *s)
{
    double now = cli_seconds(), most = s->server->options->limits.stall_seconds;
    return (srv_ws_halfway(&s->in) && now - s->heard > most) || (s->out.size && now - s->taken > most);
}

static void wait_for_news(srv_socket *s, bool again)
{
    char drained[64];
    bool full = s->out.size >= BACKLOG;
    struct pollfd fds[] = {{.fd = s->fd, .events = (short)((full ? 0 : POLLIN) | (s->out.size ? POLLOUT : 0))}, {.fd = s->wake[0], .events = POLLIN}};
    if (s->out.size == 0)
        s->taken = cli_seconds();
    if (poll(fds, 2, again ? 0 : LOOK_MS) > 0 && (fds[1].revents & POLLIN))
        while (read(s->wake[0], drained, sizeof drained) > 0)
            continue;
}

static void serve(srv_socket *s)
{
    bool draining;
    while (!stopped(s, &draining)) {
        compact(s);
        take_messages(s);
        size_t before = s->out.size;
        srv_session_poll(s->session);
        bool made = s->out.size > before;
        if (draining && !srv_session_busy(s->session))
            close_with(s, SRV_WS_GOING_AWAY, "the server is about to stop");
        if (!send_pending(s) || (s->closing && !s->out.size) || stalled(s))
            return;
        wait_for_news(s, made && !s->out.size); /* all of it was sent: there may be more than was asked for */
        if (!receive(s))
            return;
    }
    close_with(s, SRV_WS_GOING_AWAY, "the server stops");
    (void)send_pending(s);
}

static void remove_socket(srv_socket *s)
{
    srv_server *server = s->server;
    pthread_mutex_lock(&server->lock);
    for (srv_socket **at = &server->sockets; *at; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            break;
        }
    }
    pthread_mutex_unlock(&server->lock);
}

static void free_socket(srv_socket *s)
{
    srv_session_close(s->session);
    srv_ws_free(&s->in);
    cli_buffer_free(&s->out);
    for (int i = 0; i < 2; i++)
        if (s->wake[i] >= 0)
            close(s->wake[i]);
    free(s);
}

static void *run(void *context)
{
    srv_socket *s = context;
    srv_server *server = s->server;
    s->session = srv_session_open(server, s->tts, s->asr, notify, s, &s->out);
    if (s->session)
        serve(s);
    remove_socket(s);
    shutdown(s->fd, SHUT_WR);
    MHD_upgrade_action(s->upgrade, MHD_UPGRADE_ACTION_CLOSE);
    free_socket(s);
    srv_count_out(server);
    return NULL;
}

static bool start_thread(srv_socket *s)
{
    enum { STACK = 512 << 10 };
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    bool started = pthread_attr_setstacksize(&attributes, STACK) == 0 && pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0
                   && pthread_create(&thread, &attributes, run, s) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* The connection is ours from here on; `extra` is what the client has sent already. */
static void on_upgrade(void *context, struct MHD_Connection *connection, void *call, const char *extra, size_t extra_size, MHD_socket fd,
                       struct MHD_UpgradeResponseHandle *upgrade)
{
    srv_socket *s = context;
    (void)connection;
    (void)call;
    s->fd = fd;
    s->upgrade = upgrade;
    s->heard = s->taken = cli_seconds();
    srv_watch_hand_over(s->watched);
    srv_ws_feed(&s->in, extra, extra_size);
    srv_count_in(s->server);
    pthread_mutex_lock(&s->server->lock);
    s->next = s->server->sockets;
    s->server->sockets = s;
    pthread_mutex_unlock(&s->server->lock);
    if (start_thread(s))
        return;
    remove_socket(s);
    MHD_upgrade_action(upgrade, MHD_UPGRADE_ACTION_CLOSE);
    srv_count_out(s->server);
    free_socket(s);
}

static srv_socket *new_socket(srv_call *call)
{
    srv_socket *s = calloc(1, sizeof *s);
    const srv_limits *l = &call->server->options->limits;
    if (!s)
        return NULL;
    *s = (srv_socket){.server = call->server, .watched = call->watched, .wake = {-1, -1}};
    srv_ws_init(&s->in, 6 * l->text_bytes > JSON_BYTES ? 6 * l->text_bytes : JSON_BYTES);
    if (srv_pipe_open(s->wake))
        return s;
    s->wake[0] = s->wake[1] = -1;
    free_socket(s);
    return NULL;
}

/* `model` may name either kind; the other is the first one there is. */
static parley_status find_models(srv_call *call, srv_socket *s)
{
    const char *model = srv_query(call, "model");
    srv_models *models = call->server->models;
    s->tts = model ? srv_models_find(models, SRV_TTS, model) : NULL;
    s->asr = model ? srv_models_find(models, SRV_ASR, model) : NULL;
    if (model && !s->tts && !s->asr)
        return srv_call_model(call, SRV_TTS, model) ? PARLEY_OK : PARLEY_ARGUMENT;
    if (!s->tts)
        s->tts = srv_models_find(models, SRV_TTS, NULL);
    if (!s->asr)
        s->asr = srv_models_find(models, SRV_ASR, NULL);
    return s->tts || s->asr || srv_call_model(call, SRV_TTS, NULL) ? PARLEY_OK : PARLEY_ARGUMENT;
}

static parley_status check_handshake(srv_call *call, char accept[SRV_WS_ACCEPT])
{
    const char *upgrade = srv_request_header(call, MHD_HTTP_HEADER_UPGRADE), *version = srv_request_header(call, "Sec-WebSocket-Version");
    if (!upgrade || strcasecmp(upgrade, "websocket") != 0)
        return srv_fail(call, 426, "upgrade_required", NULL, "this is a WebSocket: Upgrade: websocket is needed");
    if (!version || strcmp(version, "13") != 0)
        return srv_fail(call, 400, "invalid_handshake", NULL, "the WebSocket's version must be 13");
    if (!srv_ws_accept(srv_request_header(call, "Sec-WebSocket-Key"), accept))
        return srv_fail(call, 400, "invalid_handshake", NULL, "Sec-WebSocket-Key is missing or has not 24 characters");
    return PARLEY_OK;
}

parley_status srv_realtime(srv_call *call)
{
    char accept[SRV_WS_ACCEPT];
    const char *protocols = srv_request_header(call, "Sec-WebSocket-Protocol");
    CLI_TRY(check_handshake(call, accept));
    srv_socket *s = new_socket(call);
    if (!s)
        return cli_fail_memory(&call->error);
    parley_status status = find_models(call, s);
    struct MHD_Response *response = status == PARLEY_OK ? MHD_create_response_for_upgrade(on_upgrade, s) : NULL;
    if (!response) {
        free_socket(s);
        return status == PARLEY_OK ? cli_fail_memory(&call->error) : status;
    }
    const srv_header headers[] = {{MHD_HTTP_HEADER_UPGRADE, "websocket"}, {"Sec-WebSocket-Accept", accept}, {"Sec-WebSocket-Protocol", "realtime"}};
    bool named = protocols && !strncmp(protocols, "realtime", 8);
    return srv_reply_upgrade(call, headers, named ? 3 : 2, response);
}

/* ------------------------------------------------------------------ all of them */

static void wake_all(srv_server *server, bool stop)
{
    pthread_mutex_lock(&server->lock);
    for (srv_socket *s = server->sockets; s; s = s->next) {
        s->stop = s->stop || stop;
        notify(s);
    }
    pthread_mutex_unlock(&server->lock);
}

void srv_sockets_drain(srv_server *server)
{
    wake_all(server, false);
}

void srv_sockets_close(srv_server *server)
{
    wake_all(server, true);
    pthread_mutex_lock(&server->lock);
    while (server->sockets)
        pthread_cond_wait(&server->idle, &server->lock);
    pthread_mutex_unlock(&server->lock);
}
