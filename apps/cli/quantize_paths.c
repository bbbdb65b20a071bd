#include "quantize_paths.h"

#include "output.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 };

static bool same(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool is_directory(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

static bool is_special(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && !S_ISDIR(is.st_mode) && !S_ISREG(is.st_mode);
}

/* The folder of a path; false when it does not fit. */
static bool folder_of(const char *path, char folder[PATH_SIZE])
{
    const char *slash = strrchr(path, '/');
    int length = !slash ? snprintf(folder, PATH_SIZE, ".") : snprintf(folder, PATH_SIZE, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return length > 0 && length < PATH_SIZE;
}

/* Inside the folder, or the codec's folder in it. */
static bool is_inside(const char *model, const char *out)
{
    char folder[PATH_SIZE], inner[PATH_SIZE];
    if (!is_directory(model) || !folder_of(out, folder))
        return false;
    int length = snprintf(inner, sizeof inner, "%s/speech_tokenizer", model);
    return same(folder, model) || (length > 0 && length < PATH_SIZE && same(folder, inner));
}

/* A GGUF file takes what it lacks from beside it: any file of its family there that has no talker, or is one of two, may be such a part. */
static bool is_beside(const char *model, const char *out)
{
    char a[PATH_SIZE], b[PATH_SIZE];
    parley_info *info = NULL;
    if (is_directory(model) || !folder_of(model, a) || !folder_of(out, b) || !same(a, b) || parley_inspect(out, NULL, &info, NULL) != PARLEY_OK)
        return false;
    bool part = (!info->has_talker && !info->has_text_decoder) || strstr(info->dialect, "llama");
    parley_info_free(info);
    return part;
}

static bool is_read(const char *model, const char *out)
{
    return same(model, out) || is_inside(model, out) || is_beside(model, out);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The same file, or the same name in the same folder where neither is yet. */
static bool same_target(const char *a, const char *b)
{
    char first[PATH_SIZE], second[PATH_SIZE];
    return same(a, b) || (!strcmp(name_of(a), name_of(b)) && folder_of(a, first) && folder_of(b, second) && same(first, second));
}

static parley_status check_unread(const char *in, const cli_model_fields *more, const char *what, const char *out, parley_error *error)
{
    const char *const models[] = {in, more->model2.value, more->codec.value};

    if (is_directory(out) && !same(in, out))
        return PARLEY_OK; /* opening it for writing says what is wrong */
    for (size_t i = 0; i < CLI_COUNT(models); i++)
        if (models[i] && is_read(models[i], out))
            return cli_fail(error, PARLEY_ARGUMENT, "%s\"%.200s\" is or lies in the model that is read; write the new file somewhere else", what,
                            out);
    return PARLEY_OK;
}

parley_status cli_quantize_paths(const char *in, const cli_model_fields *more, const char *out, const char *report, parley_error *error)
{
    cli_output trial = CLI_OUTPUT_NONE;

    CLI_TRY(check_unread(in, more, "", out, error));
    if (!report || cli_is_stdout(report))
        return PARLEY_OK;
    CLI_TRY(check_unread(in, more, "--report: ", report, error));
    if (same_target(out, report))
        return cli_fail(error, PARLEY_ARGUMENT, "--report: \"%.200s\" is the new model's file; name another one", report);
    if (is_special(report))
        return PARLEY_OK; /* a reader of a pipe would see its end */
    parley_status status = cli_output_open(&trial, report, false, "--report", error);
    cli_output_discard(&trial);
    return status;
}
