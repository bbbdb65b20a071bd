#include "default_model.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Relative places are seen from the program's own folder, so that a moved installation or build tree still finds its model. */
static const char *const places[] = {
    "../share/parley/models/parley-small-tts",
    "../models/parley-small-tts",
#ifdef PARLEY_DEFAULT_MODEL_INSTALL
    PARLEY_DEFAULT_MODEL_INSTALL,
#endif
#ifdef PARLEY_DEFAULT_MODEL_BUILD
    PARLEY_DEFAULT_MODEL_BUILD,
#endif
};

/* The program's folder with a slash behind it; empty when the system does not tell. */
static void program_folder(cli_buffer *folder)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length > 0)
        cli_append(folder, path, (size_t)length);
}

static bool is_model(const cli_buffer *path)
{
    cli_buffer config = {0};
    struct stat is;
    cli_appendf(&config, "%s/config.json", path->data);
    bool found = !config.failed && stat(config.data, &is) == 0 && S_ISREG(is.st_mode);
    cli_buffer_free(&config);
    return found;
}

parley_status cli_default_model(cli_buffer *path, parley_error *error)
{
    cli_buffer folder = {0}, looked = {0};
    bool found = false;
    program_folder(&folder);
    for (size_t i = 0; i < CLI_COUNT(places) && !found; i++) {
        path->size = 0;
        if (places[i][0] != '/')
            cli_append(path, folder.data, folder.size);
        cli_append_text(path, places[i]);
        found = !path->failed && is_model(path);
        cli_appendf(&looked, "%s%s", i ? ", " : "", path->failed ? "" : path->data);
    }
    parley_status status = path->failed || looked.failed ? cli_fail_memory(error) : PARLEY_OK;
    if (status == PARLEY_OK && !found)
        status = cli_fail(error, PARLEY_MISSING, "no model: name one with -m; the one that comes with parley was not found in %s", looked.data);
    cli_buffer_free(&folder);
    cli_buffer_free(&looked);
    return status;
}
