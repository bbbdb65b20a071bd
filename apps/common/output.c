#include "output.h"

#include "inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static cli_output *open_outputs;

static void enlist(cli_output *output)
{
    pthread_mutex_lock(&open_lock);
    output->next = open_outputs;
    open_outputs = output;
    pthread_mutex_unlock(&open_lock);
}

static void delist(cli_output *output)
{
    pthread_mutex_lock(&open_lock);
    for (cli_output **at = &open_outputs; *at; at = &(*at)->next) {
        if (*at == output) {
            *at = output->next;
            break;
        }
    }
    pthread_mutex_unlock(&open_lock);
}

/* The lock stays held: the process ends next, and no other thread may commit meanwhile. */
void cli_output_remove_temporaries(void)
{
    pthread_mutex_lock(&open_lock);
    for (cli_output *o = open_outputs; o; o = o->next)
        unlink(o->temporary);
}

bool cli_is_stdout(const char *path)
{
    return !strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/fd/1") || !strcmp(path, "/proc/self/fd/1");
}

static parley_status fail_write(parley_error *error, const char *path)
{
    return cli_fail(error, PARLEY_IO, "cannot write \"%.300s\": %s", path, strerror(errno));
}

/* Length of the folder part with its slash. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static char *join(const char *folder, size_t folder_size, const char *name)
{
    size_t size = strlen(name) + 1;
    char *path = malloc(folder_size + size);
    if (path) {
        memcpy(path, folder, folder_size);
        memcpy(path + folder_size, name, size);
    }
    return path;
}

/* The file that a name means in the end: a link keeps standing and what it points at is replaced. */
static parley_status resolve(const char *path, char **resolved, parley_error *error)
{
    char target[4096];
    char *at = join("", 0, path);
    for (int links = 0; at; links++) {
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0)
            break;
        if (links == MAX_LINKS || length == (ssize_t)sizeof target - 1) {
            free(at);
            return cli_fail(error, PARLEY_IO, "cannot write \"%.300s\": too many links", path);
        }
        target[length] = 0;
        char *next = join(at, target[0] == '/' ? 0 : folder_length(at), target);
        free(at);
        at = next;
    }
    *resolved = at;
    return at ? PARLEY_OK : cli_fail_memory(error);
}

static int make_temporary(cli_output *output)
{
    for (int tries = 0; tries < 16; tries++) {
        uint64_t random;
        char name[40];
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        snprintf(name, sizeof name, ".parley-%016llx.tmp", (unsigned long long)random);
        free(output->temporary);
        output->temporary = join(output->path, folder_length(output->path), name);
        if (!output->temporary)
            return -1;
        int fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* `existing`: the file that will be replaced keeps its permissions; NULL: there is none. */
static parley_status open_regular(cli_output *output, const struct stat *existing, parley_error *error)
{
    if (output->path[0] == 0)
        return cli_fail(error, PARLEY_IO, "cannot write a file without a name");
    if (existing && access(output->path, W_OK) != 0)
        return fail_write(error, output->path);
    output->fd = make_temporary(output);
    if (output->fd < 0) {
        free(output->temporary);
        output->temporary = NULL;
        return fail_write(error, output->path);
    }
    output->regular = true;
    enlist(output);
    if (existing && fchmod(output->fd, existing->st_mode & 0777) != 0 && errno != EPERM)
        return fail_write(error, output->path);
    return PARLEY_OK;
}

static parley_status open_path(cli_output *output, const char *option, parley_error *error)
{
    struct stat is;
    if (stat(output->path, &is) != 0)
        return errno == ENOENT ? open_regular(output, NULL, error) : fail_write(error, output->path);
    if (S_ISDIR(is.st_mode))
        return cli_fail(error, PARLEY_IO, "cannot write \"%.300s\": it is a directory", output->path);
    if (output->exclusive)
        return cli_fail(error, PARLEY_IO, "\"%.300s\" exists and is not overwritten unless it is named with %s", output->path, option);
    CLI_TRY(cli_inputs_spared(output->path, &is, error));
    if (S_ISREG(is.st_mode))
        return open_regular(output, &is, error);
    output->fd = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return output->fd < 0 ? fail_write(error, output->path) : PARLEY_OK;
}

/* Names of descriptors are links that lead to files which must not be replaced. */
static bool is_descriptor(const char *path)
{
    return !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14) || !strcmp(path, "/dev/stderr");
}

parley_status cli_output_open(cli_output *output, const char *path, bool exclusive, const char *option, parley_error *error)
{
    *output = CLI_OUTPUT_NONE;
    output->exclusive = exclusive;
    parley_status status = PARLEY_OK;
    if (cli_is_stdout(path) || is_descriptor(path)) {
        output->path = join("", 0, cli_is_stdout(path) ? "standard output" : path);
        if (!output->path)
            return cli_fail_memory(error);
        output->fd = cli_is_stdout(path) ? 1 : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (output->fd < 0)
            status = fail_write(error, path);
    } else {
        CLI_TRY(resolve(path, &output->path, error));
        status = open_path(output, option, error);
    }
    if (status != PARLEY_OK)
        cli_output_discard(output);
    return status;
}

/* A descriptor that others made non-blocking: waits until it takes more. */
static bool wait_writable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

parley_status cli_output_write(cli_output *output, const void *bytes, size_t size, parley_error *error)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = write(output->fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno == EAGAIN && wait_writable(output->fd))
            continue;
        if (done < 0)
            return fail_write(error, output->path);
        at += done;
        size -= (size_t)done;
    }
    return PARLEY_OK;
}

parley_status cli_output_patch(cli_output *output, uint64_t offset, const void *bytes, size_t size, parley_error *error)
{
    ssize_t done;
    do
        done = pwrite(output->fd, bytes, size, (off_t)offset);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return fail_write(error, output->path);
    return done == (ssize_t)size ? PARLEY_OK : cli_fail(error, PARLEY_IO, "cannot write \"%.300s\": cut short", output->path);
}

parley_status cli_output_sync(cli_output *output, parley_error *error)
{
    return output->regular && fsync(output->fd) != 0 ? fail_write(error, output->path) : PARLEY_OK;
}

/* An exclusive name is taken with link(), which fails when another process was faster; file systems without links get a check instead. */
static int put_in_place(const cli_output *output)
{
    if (!output->exclusive)
        return rename(output->temporary, output->path);
    if (link(output->temporary, output->path) == 0)
        return unlink(output->temporary);
    if (errno == EEXIST)
        return -1;
    if (access(output->path, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(output->temporary, output->path);
}

parley_status cli_outputs_check(parley_error *error)
{
    struct stat is;
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&open_lock);
    for (const cli_output *o = open_outputs; o && status == PARLEY_OK; o = o->next)
        if (stat(o->path, &is) == 0)
            status = cli_inputs_spared(o->path, &is, error);
    pthread_mutex_unlock(&open_lock);
    return status;
}

parley_status cli_output_commit(cli_output *output, parley_error *error)
{
    parley_status status = PARLEY_OK;
    if (output->fd > 2) {
        int fd = output->fd;
        output->fd = -1;
        if (close(fd) != 0 && errno != EINTR)
            status = fail_write(error, output->path);
    }
    if (status == PARLEY_OK && output->temporary) {
        delist(output);
        if (put_in_place(output) != 0)
            status = fail_write(error, output->path);
        else
            *output->temporary = 0; /* nothing to remove any more */
    }
    cli_output_discard(output);
    return status;
}

void cli_output_discard(cli_output *output)
{
    if (output->temporary) {
        delist(output);
        if (*output->temporary)
            unlink(output->temporary);
    }
    if (output->fd > 2)
        close(output->fd);
    free(output->temporary);
    free(output->path);
    *output = CLI_OUTPUT_NONE;
}

parley_status cli_output_whole(const char *path, const cli_buffer *bytes, parley_error *error)
{
    if (bytes->failed)
        return cli_fail_memory(error);
    cli_output output;
    CLI_TRY(cli_output_open(&output, path, false, "", error));
    parley_status status = cli_output_write(&output, bytes->data, bytes->size, error);
    if (status == PARLEY_OK)
        return cli_output_commit(&output, error);
    cli_output_discard(&output);
    return status;
}

parley_status cli_output_directory(const char *path, bool *made, parley_error *error)
{
    struct stat is;
    *made = mkdir(path, 0777) == 0;
    if (!*made && errno != EEXIST)
        return cli_fail(error, PARLEY_IO, "cannot make the directory \"%.300s\": %s", path, strerror(errno));
    if (stat(path, &is) != 0)
        return fail_write(error, path);
    if (!S_ISDIR(is.st_mode))
        return cli_fail(error, PARLEY_IO, "\"%.300s\" is not a directory", path);
    return access(path, W_OK | X_OK) == 0 ? PARLEY_OK : fail_write(error, path);
}
