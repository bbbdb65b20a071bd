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

/* Free pages between what is held go back too, once nothing has been asked for a while: else more of them stay the more requests ran at once.
 * Returns the end of the work behind which this was done last, which is what `tidied` is. */
static double tidy_heaps(double tidied, double idle_since)
{
    enum { IDLE_SECONDS = 1 };
    if (idle_since <= tidied || cli_seconds() - idle_since < IDLE_SECONDS)
        return tidied;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return idle_since;
}

/* Until a signal, or until a model cannot be opened: then there is nothing to wait for. */
static parley_status wait_for_end(srv_server *server, parley_error *error)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    double tidied = 0;
    while (!cli_signals_cancelled()) {
        if (!srv_good(server, error))
            return error->status;
        tidied = tidy_heaps(tidied, srv_idle_since(server));
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
