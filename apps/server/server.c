/* The server's life: listening, draining, closing. */
#include "call.h"
#include "http.h"
#include "rates.h"
#include "realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 32 << 10, /* of a request's line and headers, and of buffers for what is sent */
    STACK_BYTES = 1 << 20,
    BACKLOG = 128
};

void srv_limits_init(srv_limits *l)
{
    *l = (srv_limits){.body_bytes = 64 << 20,
                      .text_bytes = 64 << 10,
                      .audio_seconds = 7200,
                      .active = 8,
                      .queued = 64,
                      .connections = 256,
                      .stall_seconds = 30,
                      .request_seconds = 3600};
}

/* ------------------------------------------------------------------ listening */

static parley_status resolve(const srv_options *o, struct addrinfo **found, parley_error *error)
{
    char port[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    snprintf(port, sizeof port, "%u", (unsigned)o->port);
    int failure = getaddrinfo(o->host, port, &hints, found);
    if (failure)
        return cli_fail(error, PARLEY_ARGUMENT, "--host \"%.200s\": %s", o->host, gai_strerror(failure));
    return PARLEY_OK;
}

static int listen_on(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol), on = 1;
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

static parley_status open_socket(srv_server *s, int *fd, parley_error *error)
{
    struct addrinfo *found = NULL;
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[INET6_ADDRSTRLEN] = "", port[8] = "";
    CLI_TRY(resolve(s->options, &found, error));
    *fd = listen_on(found);
    int failure = errno;
    freeaddrinfo(found);
    if (*fd < 0)
        return cli_fail(error, PARLEY_IO, "cannot listen on %.200s port %u: %s", s->options->host, (unsigned)s->options->port, strerror(failure));
    if (getsockname(*fd, (struct sockaddr *)&bound, &size) != 0
        || getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return cli_fail(error, PARLEY_IO, "cannot tell the address that was bound");
    snprintf(s->url, sizeof s->url, strchr(host, ':') ? "%s://[%s]:%s" : "%s://%s:%s", s->options->certificate ? "https" : "http", host, port);
    return PARLEY_OK;
}

static void ignore_message(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

/* The daemon owns the socket from here on. */
static parley_status start_daemon(srv_server *s, int fd, parley_error *error)
{
    const srv_options *o = s->options;
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC | MHD_ALLOW_UPGRADE
                     | MHD_USE_ERROR_LOG | (o->certificate ? MHD_USE_TLS : 0);
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, NULL}, {MHD_OPTION_HTTPS_MEM_KEY, 0, NULL}, {MHD_OPTION_END, 0, NULL}};
    char *certificate = o->certificate ? strdup(o->certificate) : NULL, *key = o->private_key ? strdup(o->private_key) : NULL;
    tls[0].ptr_value = certificate;
    tls[1].ptr_value = key;
    if (!certificate || !key)
        tls[0].option = MHD_OPTION_END;
    s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, srv_on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL, MHD_OPTION_LISTEN_SOCKET,
                                 fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->limits.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 (size_t)HEADER_BYTES, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
                                 MHD_OPTION_NOTIFY_COMPLETED, srv_on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, srv_on_connection, s,
                                 MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    free(certificate);
    free(key);
    if (s->daemon)
        return PARLEY_OK;
    return cli_fail(error, PARLEY_IO,
                    o->certificate ? "cannot start the server; are certificate and key PEM files that belong together?"
                                   : "cannot start the server's threads");
}

static parley_status start(srv_server *s, parley_error *error)
{
    const srv_options *o = s->options;
    int fd = -1;
    s->metrics = srv_metrics_open();
    s->rates = o->limits.rate ? srv_rates_open(o->limits.rate) : NULL;
    if (!s->metrics || (o->limits.rate && !s->rates))
        return cli_fail_memory(error);
    CLI_TRY(srv_watch_open(&s->watch, error));
    parley_status status = open_socket(s, &fd, error);
    if (status == PARLEY_OK)
        status = srv_models_open(o, &s->models, error);
    if (status == PARLEY_OK)
        status = start_daemon(s, fd, error);
    if (status != PARLEY_OK && fd >= 0)
        close(fd);
    return status;
}

parley_status srv_open(const srv_options *options, srv_server **server, parley_error *error)
{
    srv_server *s = calloc(1, sizeof *s);
    if (!s)
        return cli_fail_memory(error);
    s->options = options;
    pthread_mutex_init(&s->store, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    parley_status status = start(s, error);
    if (status != PARLEY_OK) {
        srv_close(s);
        return status;
    }
    *server = s;
    return PARLEY_OK;
}

const char *srv_url(const srv_server *server)
{
    return server->url;
}

bool srv_good(srv_server *server, parley_error *error)
{
    return srv_models_state(server->models, error) != SRV_FAILING;
}

double srv_idle_since(srv_server *server)
{
    pthread_mutex_lock(&server->lock);
    double since = server->calls ? 0 : server->idle_since;
    pthread_mutex_unlock(&server->lock);
    return since;
}

/* ------------------------------------------------------------------ ending */

/* Negative: without end. */
static void wait_idle(srv_server *s, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds + 1;
    pthread_mutex_lock(&s->lock);
    while (s->calls > 0 && (seconds < 0 ? pthread_cond_wait(&s->idle, &s->lock) : pthread_cond_timedwait(&s->idle, &s->lock, &until)) != ETIMEDOUT)
        continue;
    pthread_mutex_unlock(&s->lock);
}

void srv_drain(srv_server *s, double seconds)
{
    MHD_socket fd = MHD_quiesce_daemon(s->daemon);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
    srv_sockets_drain(s);
    wait_idle(s, seconds);
}

/* Requests that still run are cancelled, so that the threads of their connections come to an end. */
void srv_close(srv_server *s)
{
    if (!s)
        return;
    if (s->models)
        srv_models_drain(s->models, 0);
    if (s->watch)
        srv_watch_hang_up(s->watch);
    srv_sockets_close(s);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    wait_idle(s, -1);
    srv_models_close(s->models);
    srv_watch_close(s->watch);
    srv_rates_close(s->rates);
    srv_metrics_close(s->metrics);
    pthread_cond_destroy(&s->idle);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->store);
    free(s);
}
