#include "signals.h"

#include "output.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    bool graceful, cancelled;
    struct {
        void *session;
        void (*cancel)(void *session);
    } watched[CLI_MAX_SESSIONS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Ends the process as if the signal had not been handled, but without leaving temporaries. */
static void end_process(int number)
{
    cli_output_remove_temporaries();
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(130);
}

static void cancel(int number)
{
    pthread_mutex_lock(&state.lock);
    bool end = !state.graceful || state.cancelled;
    state.cancelled = true;
    for (size_t i = 0; i < CLI_MAX_SESSIONS && !end; i++) {
        if (state.watched[i].session)
            state.watched[i].cancel(state.watched[i].session);
    }
    pthread_mutex_unlock(&state.lock);
    if (end)
        end_process(number);
}

static void *wait_for_signals(void *context)
{
    const sigset_t *set = context;
    int number;
    for (;;) {
        if (sigwait(set, &number) == 0)
            cancel(number);
    }
    return NULL;
}

parley_status cli_signals_start(parley_error *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    static sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < CLI_COUNT(numbers); i++) {
        struct sigaction before;
        /* One that the parent ignores (nohup, jobs in the background) stays ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaddset(&set, numbers[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    pthread_t thread;
    int failure = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (!failure)
        failure = pthread_create(&thread, NULL, wait_for_signals, &set);
    if (failure)
        return cli_fail(error, PARLEY_IO, "cannot start a thread: %s", strerror(failure));
    pthread_detach(thread);
    return PARLEY_OK;
}

bool cli_signals_graceful(bool on)
{
    pthread_mutex_lock(&state.lock);
    state.graceful = on;
    bool cancelled = state.cancelled;
    pthread_mutex_unlock(&state.lock);
    return cancelled;
}

bool cli_signals_cancelled(void)
{
    pthread_mutex_lock(&state.lock);
    bool cancelled = state.cancelled;
    pthread_mutex_unlock(&state.lock);
    return cancelled;
}

static void cancel_tts(void *session)
{
    parley_tts_cancel(session);
}

static void cancel_asr(void *session)
{
    parley_asr_cancel(session);
}

static void watch(void *session, void (*cancel_session)(void *session))
{
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < CLI_MAX_SESSIONS; i++) {
        if (!state.watched[i].session) {
            state.watched[i].session = session;
            state.watched[i].cancel = cancel_session;
            break;
        }
    }
    if (state.cancelled)
        cancel_session(session);
    pthread_mutex_unlock(&state.lock);
}

void cli_signals_watch(parley_tts *session)
{
    watch(session, cancel_tts);
}

void cli_signals_watch_asr(parley_asr *session)
{
    watch(session, cancel_asr);
}

void cli_signals_unwatch(const void *session)
{
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < CLI_MAX_SESSIONS; i++) {
        if (state.watched[i].session == session)
            state.watched[i].session = NULL;
    }
    pthread_mutex_unlock(&state.lock);
}
