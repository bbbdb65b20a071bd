#include "quantize_paths.h"

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

parley_status cli_quantize_paths(const char *in, const cli_model_fields *more, const char *out, parley_error *error)
{
    const char *const models[] = {in, more->model2.value, more->codec.value};

    if (is_directory(out) && !same(in, out))
        return PARLEY_OK; /* opening it for writing says what is wrong */
    for (size_t i = 0; i < CLI_COUNT(models); i++)
        if (models[i] && is_read(models[i], out))
            return cli_fail(error, PARLEY_ARGUMENT, "\"%.200s\" is or lies in the model that is read; write the new file somewhere else", out);
    return PARLEY_OK;
}
