#include "voice_store.h"

#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 28 };

static const char ending[] = ".voice";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

bool cli_voice_is_file(const char *value)
{
    return strchr(value, '/') || cli_ends_with(value, ending);
}

static bool good_name(const char *name, size_t length)
{
    return length > 0 && length <= CLI_VOICE_NAME_MAX && strspn(name, letters) >= length;
}

parley_status cli_voice_check_name(const char *name, parley_error *error)
{
    if (good_name(name, strlen(name)) && strlen(name) == strspn(name, letters))
        return PARLEY_OK;
    return cli_fail(error, PARLEY_ARGUMENT, "\"%.120s\" is no name of a voice: 1 to %d of the letters A-Z a-z 0-9 _ -", name,
                    (int)CLI_VOICE_NAME_MAX);
}

parley_status cli_voice_folder(const char *given, cli_buffer *path, parley_error *error)
{
    if (given && !*given)
        return cli_fail(error, PARLEY_ARGUMENT, "--voices: a directory without a name");
    if (given)
        cli_append_text(path, given);
    else if (!cli_user_folder("XDG_DATA_HOME", ".local/share", path) && !path->failed)
        return cli_fail(error, PARLEY_ARGUMENT, "no directory of voices: name one with --voices (neither XDG_DATA_HOME nor HOME is set)");
    return path->failed ? cli_fail_memory(error) : PARLEY_OK;
}

parley_status cli_voice_path(const char *given_folder, const char *name, cli_buffer *path, parley_error *error)
{
    CLI_TRY(cli_voice_check_name(name, error));
    CLI_TRY(cli_voice_folder(given_folder, path, error));
    cli_appendf(path, "/%s%s", name, ending);
    return path->failed ? cli_fail_memory(error) : PARLEY_OK;
}

void cli_names_free(cli_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (cli_names){0};
}

static bool add_name(cli_names *names, const char *file)
{
    size_t length = strlen(file), rest = sizeof ending - 1;
    if (length <= rest || strcmp(file + length - rest, ending) != 0 || !good_name(file, length - rest))
        return true;
    char **grown = realloc(names->names, (names->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    names->names = grown;
    char *name = strdup(file);
    if (!name)
        return false;
    name[length - rest] = 0;
    names->names[names->count++] = name;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static parley_status list_folder(const char *path, cli_names *names, parley_error *error)
{
    DIR *directory = opendir(path);
    if (!directory && errno == ENOENT)
        return PARLEY_OK;
    if (!directory)
        return cli_fail(error, PARLEY_IO, "cannot read the directory \"%.300s\": %s", path, strerror(errno));
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(directory));)
        good = add_name(names, entry->d_name);
    closedir(directory);
    if (!good)
        return cli_fail_memory(error);
    if (names->count)
        qsort(names->names, names->count, sizeof *names->names, by_name);
    return PARLEY_OK;
}

parley_status cli_voice_names(const char *given_folder, cli_names *names, parley_error *error)
{
    cli_buffer path = {0};
    *names = (cli_names){0};
    parley_status status = cli_voice_folder(given_folder, &path, error);
    if (status == PARLEY_OK)
        status = list_folder(path.data, names, error);
    if (status != PARLEY_OK)
        cli_names_free(names);
    cli_buffer_free(&path);
    return status;
}

parley_status cli_voice_load(const char *path, parley_voice **voice, parley_error *error)
{
    cli_buffer bytes = {0};
    parley_status status = cli_read_file(path, "voice", MAX_FILE, &bytes, error);
    if (status == PARLEY_OK) {
        status = parley_voice_read(bytes.data ? bytes.data : "", bytes.size, voice, error);
        cli_in_file(status, path, error);
    }
    cli_buffer_free(&bytes);
    return status;
}

static parley_status fail_missing(const char *given_folder, const char *name, parley_error *error)
{
    cli_buffer folder = {0}, list = {0};
    cli_names names = {0};
    CLI_TRY(cli_voice_names(given_folder, &names, error));
    parley_status status = cli_voice_folder(given_folder, &folder, error);
    for (size_t i = 0; i < names.count; i++)
        cli_appendf(&list, "%s%s", i ? ", " : "", names.names[i]);
    if (status == PARLEY_OK)
        status = cli_fail(error, PARLEY_MISSING, "no voice \"%.100s\" in \"%.150s\"; there is %.200s", name, folder.data,
                          names.count && !list.failed ? list.data : "none");
    cli_names_free(&names);
    cli_buffer_free(&folder);
    cli_buffer_free(&list);
    return status;
}

parley_status cli_voice_find(const char *given_folder, const char *value, parley_voice **voice, parley_error *error)
{
    if (cli_voice_is_file(value))
        return cli_voice_load(value, voice, error);
    cli_buffer path = {0};
    parley_status status = cli_voice_path(given_folder, value, &path, error);
    if (status == PARLEY_OK)
        status = cli_voice_load(path.data, voice, error);
    cli_buffer_free(&path);
    return status == PARLEY_MISSING ? fail_missing(given_folder, value, error) : status;
}

static parley_status open_named(cli_output *output, const char *given_folder, const char *name, cli_buffer *path, parley_error *error)
{
    CLI_TRY(cli_voice_check_name(name, error));
    CLI_TRY(cli_voice_folder(given_folder, path, error));
    CLI_TRY(cli_make_folders(path->data, 0777, error));
    path->size = 0;
    CLI_TRY(cli_voice_path(given_folder, name, path, error));
    return cli_output_open(output, path->data, true, "-o", error);
}

parley_status cli_voice_open(cli_output *output, const char *path, const char *given_folder, const char *name, parley_error *error)
{
    if (path)
        return cli_output_open(output, path, false, "-o", error);
    cli_buffer named = {0};
    parley_status status = open_named(output, given_folder, name, &named, error);
    cli_buffer_free(&named);
    return status;
}

parley_status cli_voice_save(const parley_voice *voice, cli_output *output, parley_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    CLI_TRY(parley_voice_write(voice, &bytes, &size, error));
    parley_status status = cli_output_write(output, bytes, size, error);
    parley_voice_bytes_free(bytes, size);
    return status == PARLEY_OK ? cli_output_commit(output, error) : status;
}
