#include "voice_cache.h"

#include "folders.h"
#include "notice.h"
#include "output.h"
#include "voice_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY = PARLEY_VOICE_HASH_TEXT - 1, STALE_SECONDS = 3600 };

static const char ending[] = ".voice";

/* ------------------------------------------------------------------ key */

/* A file's stamp: another model under the same path is another key, the same one under another path is not. */
static void stamp(const char *folder, const char *name, cli_buffer *list)
{
    cli_buffer path = {0};
    struct stat is;
    cli_appendf(&path, "%s/%s", folder, name);
    if (!path.failed && stat(path.data, &is) == 0 && S_ISREG(is.st_mode))
        cli_appendf(list, "%s %llu %llu %lld %lld.%09ld\n", name, (unsigned long long)is.st_dev, (unsigned long long)is.st_ino, (long long)is.st_size,
                    (long long)is.st_mtim.tv_sec, is.st_mtim.tv_nsec);
    cli_buffer_free(&path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Regular files of a folder in the order of their names; `end` NULL: all. */
static void stamp_folder(const char *folder, const char *end, cli_buffer *list)
{
    cli_names names = {0};
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) && !list->failed;) {
        if (end && !cli_ends_with(entry->d_name, end))
            continue;
        char **grown = realloc(names.names, (names.count + 1) * sizeof *grown), *name = strdup(entry->d_name);
        list->failed = !grown || !name;
        if (grown)
            names.names = grown;
        if (grown && name)
            names.names[names.count++] = name;
        else
            free(name);
    }
    closedir(directory);
    if (names.count)
        qsort(names.names, names.count, sizeof *names.names, by_name);
    for (size_t i = 0; i < names.count; i++)
        stamp(folder, names.names[i], list);
    cli_names_free(&names);
}

/* A directory with its codec's, or a GGUF file with those beside it, of which the loader may take some. */
static void stamp_model(const char *path, cli_buffer *list)
{
    struct stat is;
    cli_buffer folder = {0};
    const char *slash = strrchr(path, '/');
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) {
        stamp_folder(path, NULL, list);
        cli_appendf(&folder, "%s/speech_tokenizer", path);
        if (!folder.failed)
            stamp_folder(folder.data, NULL, list);
    } else {
        cli_appendf(&folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
        cli_appendf(list, "%s\n", slash ? slash + 1 : path);
        if (!folder.failed)
            stamp_folder(folder.data, ".gguf", list);
    }
    cli_buffer_free(&folder);
}

parley_status cli_voice_cache_key(const cli_voice_source *source, char key[PARLEY_VOICE_HASH_TEXT], parley_error *error)
{
    cli_buffer text = {0};
    char sound[PARLEY_VOICE_HASH_TEXT];
    const cli_model_fields *model = source->model;
    parley_voice_hash(source->pcm, source->samples * sizeof *source->pcm, sound);
    cli_appendf(&text, "parley %s\nsound %s\nmodel %s\nlevel %s\nsilence %zu\ncodes %d\n", parley_version(), sound, source->identity,
                model->cpu.given ? cli_cpu_choices[model->cpu.value] : "best", source->silence, (int)source->codes);
    stamp_model(source->model_path, &text);
    if (model->model2.given)
        stamp_model(model->model2.value, &text);
    if (model->codec.given)
        stamp_model(model->codec.value, &text);
    if (!text.failed)
        parley_voice_hash(text.data, text.size, key);
    bool failed = text.failed;
    cli_buffer_free(&text);
    return failed ? cli_fail_memory(error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ the directory */

/* Ours alone: what others could write into must not be trusted, recordings of voices are nobody else's business. */
static parley_status private_folder(const char *path, parley_error *error)
{
    struct stat is;
    if (lstat(path, &is) != 0)
        return cli_fail(error, PARLEY_IO, "\"%.300s\": %s", path, strerror(errno));
    if (!S_ISDIR(is.st_mode) || is.st_uid != geteuid())
        return cli_fail(error, PARLEY_IO, "\"%.300s\" is not a directory of this user", path);
    if ((is.st_mode & 0777) != 0700 && chmod(path, 0700) != 0)
        return cli_fail(error, PARLEY_IO, "cannot make \"%.300s\" private: %s", path, strerror(errno));
    return PARLEY_OK;
}

static bool is_key(const char *name)
{
    return strlen(name) == KEY + sizeof ending - 1 && strspn(name, "0123456789abcdef") == KEY && !strcmp(name + KEY, ending);
}

static bool cache_path(const char *key, cli_buffer *folder, cli_buffer *path)
{
    if (!cli_user_folder("XDG_CACHE_HOME", ".cache", folder))
        return false;
    cli_appendf(path, "%s/%s%s", folder->data, key, ending);
    return !path->failed;
}

parley_voice *cli_voice_cache_get(const char *key, const char *identity, bool codes)
{
    cli_buffer folder = {0}, path = {0};
    parley_voice *voice = NULL;
    parley_error error = {0};
    struct stat is;
    if (cache_path(key, &folder, &path) && lstat(path.data, &is) == 0 && S_ISREG(is.st_mode) && private_folder(folder.data, &error) == PARLEY_OK
        && cli_voice_load(path.data, &voice, &error) == PARLEY_OK) {
        bool fits = !strcmp(voice->name, key) && !strcmp(voice->model, identity) && (voice->codes != NULL) == codes;
        if (!fits) {
            parley_voice_free(voice);
            voice = NULL;
        } else {
            utimensat(AT_FDCWD, path.data, NULL, 0); /* used just now: the last to be removed */
        }
    }
    cli_buffer_free(&folder);
    cli_buffer_free(&path);
    return voice;
}

/* ------------------------------------------------------------------ the limit */

typedef struct kept {
    char name[KEY + sizeof ending];
    uint64_t bytes;
    struct timespec used;
} kept;

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const kept *)a)->used, *y = &((const kept *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Files of the cache, and what a process that was killed left of one. */
static kept *list_kept(DIR *directory, size_t *count)
{
    kept *list = NULL;
    *count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat is;
        if (fstatat(dirfd(directory), entry->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(is.st_mode))
            continue;
        if (cli_ends_with(entry->d_name, ".tmp") && is.st_mtim.tv_sec + STALE_SECONDS < time(NULL))
            unlinkat(dirfd(directory), entry->d_name, 0);
        kept *grown = is_key(entry->d_name) ? realloc(list, (*count + 1) * sizeof *grown) : NULL;
        if (!grown)
            continue;
        list = grown;
        list[*count] = (kept){.bytes = (uint64_t)is.st_size, .used = is.st_mtim};
        memcpy(list[(*count)++].name, entry->d_name, KEY + sizeof ending);
    }
    return list;
}

static void trim(const char *folder)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    size_t count;
    uint64_t total = 0;
    kept *list = list_kept(directory, &count);
    for (size_t i = 0; i < count; i++)
        total += list[i].bytes;
    if (count)
        qsort(list, count, sizeof *list, by_age);
    for (size_t i = 0; i < count && total > CLI_VOICE_CACHE_MAX; i++) {
        if (unlinkat(dirfd(directory), list[i].name, 0) == 0)
            total -= list[i].bytes;
    }
    free(list);
    closedir(directory);
}

/* ------------------------------------------------------------------ writing */

static parley_status write_private(const char *path, const parley_voice *voice, parley_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    cli_output output = CLI_OUTPUT_NONE;
    CLI_TRY(parley_voice_write(voice, &bytes, &size, error));
    parley_status status = cli_output_open(&output, path, false, "", error);
    if (status == PARLEY_OK && fchmod(output.fd, 0600) != 0)
        status = cli_fail(error, PARLEY_IO, "cannot make \"%.300s\" private: %s", path, strerror(errno));
    if (status == PARLEY_OK)
        status = cli_output_write(&output, bytes, size, error);
    if (status == PARLEY_OK)
        status = cli_output_commit(&output, error);
    cli_output_discard(&output);
    parley_voice_bytes_free(bytes, size);
    return status;
}

static parley_status put(const char *folder, const char *path, const parley_voice *voice, parley_error *error)
{
    struct stat is;
    CLI_TRY(cli_make_folders(folder, 0700, error));
    CLI_TRY(private_folder(folder, error));
    if (lstat(path, &is) == 0 && !S_ISREG(is.st_mode))
        return cli_fail(error, PARLEY_IO, "\"%.300s\" is no file", path);
    CLI_TRY(write_private(path, voice, error));
    trim(folder);
    return PARLEY_OK;
}

void cli_voice_cache_put(const char *key, const parley_voice *voice)
{
    cli_buffer folder = {0}, path = {0};
    parley_error error = {0};
    if (cache_path(key, &folder, &path) && put(folder.data, path.data, voice, &error) != PARLEY_OK)
        cli_notice("warning: the voice is not kept for next time: %s", error.text);
    cli_buffer_free(&folder);
    cli_buffer_free(&path);
}
