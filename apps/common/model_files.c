#include "model_files.h"

#include "buffer.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
    void (*visit)(void *context, const char *path, const char *name, const struct stat *is);
    void *context;
    bool failed; /* no memory */
} walk;

typedef struct name_list {
    char **names;
    size_t count;
} name_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add(name_list *list, const char *name)
{
    char **grown = realloc(list->names, (list->count + 1) * sizeof *grown), *copy = strdup(name);
    if (grown)
        list->names = grown;
    if (grown && copy)
        list->names[list->count++] = copy;
    else
        free(copy);
    return grown && copy;
}

static void visit_file(walk *w, const char *folder, const char *name)
{
    cli_buffer path = {0};
    struct stat is;
    cli_appendf(&path, "%s/%s", folder, name);
    if (path.failed)
        w->failed = true;
    else if (stat(path.data, &is) == 0 && S_ISREG(is.st_mode))
        w->visit(w->context, path.data, name, &is);
    cli_buffer_free(&path);
}

/* What the library reads in the folder of a model; other files there are none of it. */
static bool is_of_model(const char *name)
{
    static const char *const ends[] = {".json", ".safetensors", ".txt", ".gguf"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (cli_ends_with(name, ends[i]))
            return true;
    return false;
}

static bool is_gguf(const char *name)
{
    return cli_ends_with(name, ".gguf");
}

static void visit_folder(walk *w, const char *folder, bool (*is_wanted)(const char *name))
{
    name_list list = {0};
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    for (struct dirent *entry; !w->failed && (entry = readdir(directory));)
        if (is_wanted(entry->d_name))
            w->failed = !add(&list, entry->d_name);
    closedir(directory);
    if (list.count)
        qsort(list.names, list.count, sizeof *list.names, by_name);
    for (size_t i = 0; i < list.count; i++) {
        if (!w->failed)
            visit_file(w, folder, list.names[i]);
        free(list.names[i]);
    }
    free(list.names);
}

parley_status cli_each_model_file(const char *path, void (*visit)(void *context, const char *path, const char *name, const struct stat *is),
                                  void *context, parley_error *error)
{
    walk w = {.visit = visit, .context = context};
    struct stat is;
    cli_buffer folder = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) {
        visit_folder(&w, path, is_of_model);
        cli_appendf(&folder, "%s/speech_tokenizer", path);
        if (!folder.failed)
            visit_folder(&w, folder.data, is_of_model);
    } else {
        cli_appendf(&folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
        if (!folder.failed && !is_gguf(name))
            visit_file(&w, folder.data, name);
        if (!folder.failed)
            visit_folder(&w, folder.data, is_gguf);
    }
    bool failed = w.failed || folder.failed;
    cli_buffer_free(&folder);
    return failed ? cli_fail_memory(error) : PARLEY_OK;
}
