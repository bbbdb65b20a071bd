#include "signals.h"

#include "output.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    bool graceful, cancelled;
    parley_tts *sessions[CLI_MAX_SESSIONS];
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
        if (state.sessions[i])
            parley_tts_cancel(state.sessions[i]);
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

void cli_signals_graceful(void)
{
    pthread_mutex_lock(&state.lock);
    state.graceful = true;
    pthread_mutex_unlock(&state.lock);
}

bool cli_signals_cancelled(void)
{
    pthread_mutex_lock(&state.lock);
    bool cancelled = state.cancelled;
    pthread_mutex_unlock(&state.lock);
    return cancelled;
}

void cli_signals_watch(parley_tts *session)
{
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < CLI_MAX_SESSIONS; i++) {
        if (!state.sessions[i]) {
            state.sessions[i] = session;
            break;
        }
    }
    if (state.cancelled)
        parley_tts_cancel(session);
    pthread_mutex_unlock(&state.lock);
}

void cli_signals_unwatch(parley_tts *session)
{
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < CLI_MAX_SESSIONS; i++) {
        if (state.sessions[i] == session)
            state.sessions[i] = NULL;
    }
    pthread_mutex_unlock(&state.lock);
}
