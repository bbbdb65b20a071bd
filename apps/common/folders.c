#include "folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cli_user_folder(const char *variable, const char *below, cli_buffer *path)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    if (base && base[0] == '/')
        cli_appendf(path, "%s/parley/voices", base);
    else if (home && home[0] == '/')
        cli_appendf(path, "%s/%s/parley/voices", home, below);
    else
        return false;
    return !path->failed;
}

parley_status cli_make_folders(const char *path, unsigned mode, parley_error *error)
{
    cli_buffer part = {0};
    parley_status status = PARLEY_OK;
    size_t length = strlen(path);
    for (size_t at = 1; at <= length && status == PARLEY_OK; at++) {
        if (path[at] != '/' && path[at] != 0)
            continue;
        part.size = 0;
        cli_append(&part, path, at);
        if (part.failed)
            status = cli_fail_memory(error);
        else if (mkdir(part.data, (mode_t)mode) != 0 && errno != EEXIST)
            status = cli_fail(error, PARLEY_IO, "cannot make the directory \"%.300s\": %s", part.data, strerror(errno));
    }
    cli_buffer_free(&part);
    return status;
}
