#define _GNU_SOURCE /* POLLRDHUP: the peer has closed its side, told without reading */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOK_MS = 500 }; /* between two looks at the deadlines */

struct srv_watched {
    srv_watch *watch;
    srv_watched *next;
    int fd;
    double deadline; /* cli_seconds(); 0: none */
    parley_request *request;
    bool gone;
    bool handed_over;
    bool polled; /* in this round */
};

struct srv_watch {
    pthread_mutex_t lock;
    pthread_t thread;
    int wake[2]; /* pipe */
    bool stop;
    srv_watched *first;
    size_t count;
    struct pollfd *fds; /* the thread's */
    size_t room;
};

void srv_pipe_wake(const int fds[2])
{
    char byte = 0;
    ssize_t written = write(fds[1], &byte, 1); /* full: the thread is woken already */
    (void)written;
}

/* With the lock. What must be polled, in the order of the list; the pipe is first. */
static size_t collect(srv_watch *w)
{
    if (w->count + 1 > w->room) {
        struct pollfd *grown = realloc(w->fds, 2 * (w->count + 1) * sizeof *grown);
        if (grown) {
            w->fds = grown;
            w->room = 2 * (w->count + 1);
        }
    }
    size_t n = 0;
    w->fds[n++] = (struct pollfd){.fd = w->wake[0], .events = POLLIN};
    for (srv_watched *c = w->first; c; c = c->next) {
        c->polled = c->request && !c->gone && n < w->room;
        if (c->polled)
            w->fds[n++] = (struct pollfd){.fd = c->fd, .events = POLLRDHUP};
    }
    return n;
}

/* With the lock. Connections that came or went meanwhile make the order differ: the descriptor tells. */
static void look(srv_watch *w, size_t n)
{
    double now = cli_seconds();
    for (srv_watched *c = w->first; c; c = c->next) {
        for (size_t i = 1; i < n && c->polled && c->request && !c->gone; i++) {
            if (w->fds[i].fd != c->fd || !(w->fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)))
                continue;
            c->gone = true;
            parley_request_cancel(c->request);
        }
        if (c->deadline > 0 && now > c->deadline) {
            shutdown(c->fd, SHUT_RDWR);
            c->deadline = 0;
        }
    }
}

static void *run(void *context)
{
    srv_watch *w = context;
    char drained[64];
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        size_t n = collect(w);
        pthread_mutex_unlock(&w->lock);
        int ready = poll(w->fds, n, LOOK_MS);
        while (ready > 0 && (w->fds[0].revents & POLLIN) && read(w->wake[0], drained, sizeof drained) > 0)
            continue;
        pthread_mutex_lock(&w->lock);
        look(w, ready > 0 ? n : 1);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

bool srv_pipe_open(int fds[2])
{
    if (pipe(fds) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

parley_status srv_watch_open(srv_watch **watch, parley_error *error)
{
    srv_watch *w = calloc(1, sizeof *w);
    struct pollfd *fds = calloc(16, sizeof *fds);
    bool piped = w && fds && srv_pipe_open(w->wake);
    if (!piped || pthread_mutex_init(&w->lock, NULL) != 0 || pthread_create(&w->thread, NULL, run, w) != 0) {
        int failure = errno;
        if (piped) {
            close(w->wake[0]);
            close(w->wake[1]);
        }
        free(fds);
        free(w);
        return cli_fail(error, PARLEY_IO, "cannot start to watch connections: %s", strerror(failure));
    }
    *watch = w;
    return PARLEY_OK;
}

void srv_watch_close(srv_watch *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_mutex_unlock(&w->lock);
    srv_pipe_wake(w->wake);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    close(w->wake[0]);
    close(w->wake[1]);
    free(w->fds);
    free(w);
}

srv_watched *srv_watch_add(srv_watch *w, int fd, double seconds)
{
    srv_watched *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (srv_watched){.watch = w, .fd = fd, .deadline = seconds > 0 ? cli_seconds() + seconds : 0};
    pthread_mutex_lock(&w->lock);
    c->next = w->first;
    w->first = c;
    w->count++;
    pthread_mutex_unlock(&w->lock);
    return c;
}

void srv_watch_remove(srv_watched *c)
{
    if (!c)
        return;
    srv_watch *w = c->watch;
    pthread_mutex_lock(&w->lock);
    for (srv_watched **at = &w->first; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            w->count--;
            break;
        }
    }
    pthread_mutex_unlock(&w->lock);
    free(c);
}

void srv_watch_deadline(srv_watched *c, double seconds)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->watch->lock);
    c->deadline = seconds > 0 && !c->handed_over ? cli_seconds() + seconds : 0;
    pthread_mutex_unlock(&c->watch->lock);
}

void srv_watch_hand_over(srv_watched *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->watch->lock);
    c->handed_over = true;
    c->deadline = 0;
    pthread_mutex_unlock(&c->watch->lock);
}

void srv_watch_request(srv_watched *c, parley_request *request)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->watch->lock);
    c->request = request;
    c->polled = false;
    if (request && c->gone)
        parley_request_cancel(request);
    pthread_mutex_unlock(&c->watch->lock);
    if (request)
        srv_pipe_wake(c->watch->wake);
}

bool srv_watch_gone(srv_watched *c)
{
    if (!c)
        return false;
    struct pollfd peer = {.fd = c->fd, .events = POLLRDHUP};
    if (poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR)))
        return true;
    pthread_mutex_lock(&c->watch->lock);
    bool gone = c->gone;
    pthread_mutex_unlock(&c->watch->lock);
    return gone;
}

void srv_watch_hang_up(srv_watch *w)
{
    pthread_mutex_lock(&w->lock);
    for (srv_watched *c = w->first; c; c = c->next) {
        c->gone = true;
        if (c->request)
            parley_request_cancel(c->request);
        shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&w->lock);
}

size_t srv_watch_count(srv_watch *w)
{
    pthread_mutex_lock(&w->lock);
    size_t count = w->count;
    pthread_mutex_unlock(&w->lock);
    return count;
}
