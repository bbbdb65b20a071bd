#include "voice_cache.h"

#include "folders.h"
#include "model_files.h"
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
static void stamp(void *context, const char *path, const char *name, const struct stat *is)
{
    (void)path;
    cli_appendf(context, "%s %llu %llu %lld %lld.%09ld\n", name, (unsigned long long)is->st_dev, (unsigned long long)is->st_ino,
                (long long)is->st_size, (long long)is->st_mtim.tv_sec, is->st_mtim.tv_nsec);
}

/* Of a file also its name: those beside it are stamped, too. */
static parley_status stamp_model(const char *path, cli_buffer *list, parley_error *error)
{
    struct stat is;
    const char *slash = strrchr(path, '/');
    if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode))
        cli_appendf(list, "%s\n", slash ? slash + 1 : path);
    return cli_each_model_file(path, stamp, list, error);
}

parley_status cli_voice_cache_key(const cli_voice_source *source, char key[PARLEY_VOICE_HASH_TEXT], parley_error *error)
{
    cli_buffer text = {0};
    char sound[PARLEY_VOICE_HASH_TEXT];
    const cli_model_fields *model = source->model;
    parley_voice_hash(source->pcm, source->samples * sizeof *source->pcm, sound);
    cli_appendf(&text, "parley %s\nsound %s\nmodel %s %s\nlevel %s\nsilence %zu\ncodes %d\n", parley_version(), sound, source->info->identity,
                source->info->codec_identity, model->cpu.given ? cli_cpu_choices[model->cpu.value] : "best", source->silence, (int)source->codes);
    parley_status status = stamp_model(source->model_path, &text, error);
    if (status == PARLEY_OK && model->model2.given)
        status = stamp_model(model->model2.value, &text, error);
    if (status == PARLEY_OK && model->codec.given)
        status = stamp_model(model->codec.value, &text, error);
    if (status == PARLEY_OK && text.failed)
        status = cli_fail_memory(error);
    if (status == PARLEY_OK)
        parley_voice_hash(text.data, text.size, key);
    cli_buffer_free(&text);
    return status;
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

static bool fits(const parley_voice *voice, const char *key, const parley_info *info, bool codes)
{
    return !strcmp(voice->name, key) && !strcmp(voice->model, info->identity) && (voice->codes != NULL) == codes
           && !strcmp(voice->codec, codes ? info->codec_identity : "");
}

/* What cannot be used is removed: another one takes its place. */
parley_voice *cli_voice_cache_get(const char *key, const parley_info *info, bool codes)
{
    cli_buffer folder = {0}, path = {0};
    parley_voice *voice = NULL;
    parley_error error = {0};
    struct stat is;
    if (cache_path(key, &folder, &path) && lstat(path.data, &is) == 0 && S_ISREG(is.st_mode) && private_folder(folder.data, &error) == PARLEY_OK) {
        if (cli_voice_load(path.data, &voice, &error) == PARLEY_OK && fits(voice, key, info, codes)) {
            utimensat(AT_FDCWD, path.data, NULL, 0); /* used just now: the last to be removed */
        } else {
            parley_voice_free(voice);
            voice = NULL;
            unlink(path.data);
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
