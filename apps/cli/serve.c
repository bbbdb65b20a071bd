/* parley serve */
#include "commands.h"

#ifdef PARLEY_HAVE_SERVER

#include "notice.h"
#include "serve_options.h"
#include "signals.h"

#include <stdio.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A thread for each connection would spread what is freed over many heaps of glibc's, none of which gives it back to the others. And as large blocks
 * are freed, glibc learns to take the next ones from those heaps, where a small one behind them keeps them from the system: here caches and work
 * spaces of requests stay mappings of their own, which go when the request ends. With 128 KiB for both, small models were slower (bench/LOG.md). */
static void share_heaps(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* once set it does not grow */
    mallopt(M_TRIM_THRESHOLD, 256 << 10);
#endif
}

/* A time in which nothing is asked. */
typedef struct idle_time {
    double since, due; /* clock: its begin, and when heaps are to be trimmed next */
} idle_time;

/* Free pages between what is held go back too once nothing has been asked for a second: else more of them stay the more requests ran at once. Again
 * after two, four, eight .. seconds, since threads of connections may free something when the last answer is long gone. */
static void tidy_heaps(idle_time *idle, double since)
{
    double now = cli_seconds();
    if (since != idle->since)
        *idle = (idle_time){.since = since, .due = since + 1};
    if (since == 0 || now < idle->due)
        return;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    idle->due = now + (now - since);
}

/* Until a signal, or until a model cannot be opened: then there is nothing to wait for. */
static parley_status wait_for_end(srv_server *server, parley_error *error)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    idle_time idle = {0};
    while (!cli_signals_cancelled()) {
        if (!srv_good(server, error))
            return error->status;
        tidy_heaps(&idle, srv_idle_since(server));
        nanosleep(&pause, NULL);
    }
    return PARLEY_OK;
}

static parley_status run(const serve_fields *fields, const serve_setup *setup, parley_error *error)
{
    srv_server *server = NULL;
    share_heaps();
    cli_signals_graceful(true);
    CLI_TRY(srv_open(&setup->options, &server, error));
    printf("listening on %s\n", srv_url(server));
    fflush(stdout);
    parley_status status = wait_for_end(server, error);
    srv_drain(server, status != PARLEY_OK ? 0 : fields->drain.given ? fields->drain.value : 30);
    srv_close(server);
    return status;
}

parley_status cli_serve(int argc, char **argv, parley_error *error)
{
    static serve_fields fields;
    static serve_setup setup;
    cli_arguments arguments;
    CLI_TRY(cli_parse(&serve_command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&serve_command, error);
    parley_status status = serve_prepare(&fields, &setup, error);
    if (status == PARLEY_OK)
        status = run(&fields, &setup, error);
    serve_release(&setup);
    return status;
}

#else

parley_status cli_serve(int argc, char **argv, parley_error *error)
{
    (void)argc;
    (void)argv;
    return cli_fail(error, PARLEY_UNSUPPORTED, "this parley was built without its server: that needs libmicrohttpd, gnutls, lame and libopusenc");
}

#endif
