#include "hear_dump.h"

#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

parley_status hear_dump_open(hear_dump *dump, const char *directory, parley_error *error)
{
    *dump = (hear_dump){.directory = directory};
    return directory ? cli_output_directory(directory, &dump->made, error) : PARLEY_OK;
}

static void add_segment(hear_dump *dump)
{
    cli_dump *segments = realloc(dump->segments, (dump->count + 1) * sizeof *segments);
    dump->failed = dump->failed || !segments;
    if (!segments)
        return;
    dump->segments = segments;
    segments[dump->count++] = (cli_dump){.directory = dump->directory};
}

void hear_dump_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    hear_dump *dump = context;
    if (!strcmp(name, "mel"))
        add_segment(dump);
    if (dump->count && !dump->failed)
        cli_dump_tap(&dump->segments[dump->count - 1], name, type, data, shape, rank);
}

static parley_status write_numbered(const hear_dump *dump, size_t i, parley_error *error)
{
    cli_buffer path = {0};
    bool made;
    cli_appendf(&path, "%s/%zu", dump->directory, dump->before + i + 1);
    parley_status status = path.failed ? cli_fail_memory(error) : cli_output_directory(path.data, &made, error);
    if (status == PARLEY_OK) {
        dump->segments[i].directory = path.data;
        status = cli_dump_write(&dump->segments[i], error);
        dump->segments[i].directory = dump->directory;
    }
    cli_buffer_free(&path);
    return status;
}

static void forget(hear_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        cli_dump_close(&dump->segments[i]);
    dump->count = 0;
}

parley_status hear_dump_write(hear_dump *dump, bool several, size_t segments, parley_error *error)
{
    parley_status status = dump->failed ? cli_fail_memory(error) : PARLEY_OK;
    for (size_t i = 0; i < dump->count && status == PARLEY_OK; i++)
        status = several ? write_numbered(dump, i, error) : cli_dump_write(&dump->segments[i], error);
    forget(dump);
    dump->before += segments;
    return status;
}

void hear_dump_close(hear_dump *dump)
{
    forget(dump);
    free(dump->segments);
    if (dump->made)
        rmdir(dump->directory); /* fails, as it should, when files are in it */
    *dump = (hear_dump){0};
}
