#include "ffmpeg.h"

#include "buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { SECONDS = 120, POLL_MILLISECONDS = 200, SAID = 4096 };

/* Containers that hold their sound themselves. Playlists and manifests (hls, dash, concat, sdp, ..), which name other files and addresses, are not
 * among them; the protocols exclude the network besides. */
#define CONTAINERS                                                                                                                             \
    "aac,ac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,dsf,dts,eac3,flac,flv,loas,matroska,mov,mp3,mpc,mpc8,mpeg,mpegts,nut,ogg,oma,rm,tak,tta," \
    "voc,w64,wav,wv,xwma"

typedef struct child {
    pid_t pid; /* 0: not running */
    int out, said_fd;
    double deadline;
    const cli_stop *stop;
    bool late, cancelled;
    char said[SAID]; /* the end of what it wrote on standard error */
    size_t n_said;
} child;

/* ------------------------------------------------------------------ starting */

/* The program's path; NULL when it is in no absolute folder of PATH (a relative one would depend on where one happens to be). */
static char *find_program(void)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        cli_buffer path = {0};
        struct stat is;
        cli_append(&path, at, length);
        cli_append_text(&path, "/ffmpeg");
        if (*at == '/' && !path.failed && stat(path.data, &is) == 0 && S_ISREG(is.st_mode) && access(path.data, X_OK) == 0)
            return path.data;
        cli_buffer_free(&path);
        at += length + (at[length] == ':');
    }
    return NULL;
}

static int make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) != 0)
            return errno;
    return 0;
}

/* The child starts with the signals of a fresh process: this one blocks some and ignores others. */
static int spawn(const char *program, char *const *arguments, int in, int out, int err, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    int number = posix_spawn_file_actions_init(&files);
    if (number)
        return number;
    number = posix_spawnattr_init(&attributes);
    if (number == 0) {
        number = posix_spawn_file_actions_adddup2(&files, in, 0);
        number = number ? number : posix_spawn_file_actions_adddup2(&files, out, 1);
        number = number ? number : posix_spawn_file_actions_adddup2(&files, err, 2);
        number = number ? number : posix_spawnattr_setsigmask(&attributes, &none);
        number = number ? number : posix_spawnattr_setsigdefault(&attributes, &defaults);
        number = number ? number : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        number = number ? number : posix_spawn(pid, program, &files, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return number;
}

static void close_two(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static int start_with_pipes(child *c, const char *program, char *const *arguments, int fd, int out[2], int said[2])
{
    int number = make_pipe(out);
    number = number ? number : make_pipe(said);
    /* With one of the three standard streams closed the pipes would lie in their place. */
    if (number == 0 && (fd > 0 && fd < 3))
        number = EBADF;
    for (int i = 0; i < 2 && number == 0; i++)
        number = out[i] < 3 || said[i] < 3 ? EBADF : 0;
    return number ? number : spawn(program, arguments, fd, out[1], said[1], &c->pid);
}

static parley_status start(child *c, const char *program, int fd, double seconds, const cli_stop *stop, parley_error *error)
{
    char limit[32];
    /* -t: one second more than is allowed, so that the library sees that there is more. */
    snprintf(limit, sizeof limit, "%.0f", seconds + 1.0);
    const char *const arguments[] = {program,
                                     "-hide_banner",
                                     "-nostdin", /* else bytes of the file are taken for keys: a 'q' ends the work early */
                                     "-nostats",
                                     "-loglevel",
                                     "error",
                                     "-xerror",
                                     "-protocol_whitelist",
                                     "file",
                                     "-format_whitelist",
                                     CONTAINERS,
                                     "-i",
                                     "file:/dev/fd/0",
                                     "-map",
                                     "0:a:0",
                                     "-t",
                                     limit,
                                     "-c:a",
                                     "pcm_f32le",
                                     "-bitexact",
                                     "-f",
                                     "wav",
                                     "pipe:1",
                                     NULL};
    char *copies[CLI_COUNT(arguments)];
    for (size_t i = 0; i < CLI_COUNT(arguments); i++)
        copies[i] = (char *)(uintptr_t)arguments[i]; /* posix_spawn() changes nothing */
    int out[2] = {-1, -1}, said[2] = {-1, -1};
    *c = (child){.out = -1, .said_fd = -1, .deadline = cli_seconds() + SECONDS, .stop = stop};
    int number = start_with_pipes(c, program, copies, fd, out, said);
    if (number != 0) {
        c->pid = 0;
        close_two(out);
        close_two(said);
        return cli_fail(error, PARLEY_IO, "cannot start \"%.200s\": %s", program, strerror(number));
    }
    close(out[1]);
    close(said[1]);
    c->out = out[0];
    c->said_fd = said[0];
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ reading */

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Keeps the end of what is said: the first half goes when there is no room. */
static void listen_to(child *c)
{
    if (c->n_said == SAID) {
        memmove(c->said, c->said + SAID / 2, SAID / 2);
        c->n_said = SAID / 2;
    }
    ssize_t got = read(c->said_fd, c->said + c->n_said, SAID - c->n_said);
    if (got > 0)
        c->n_said += (size_t)got;
    else if (got == 0 || errno != EINTR)
        close_end(&c->said_fd);
}

/* Waits until one of the pipes has something; false when that takes too long or no more is wanted. */
static bool wait_for(child *c, struct pollfd ends[2])
{
    for (;;) {
        ends[0] = (struct pollfd){.fd = c->out, .events = POLLIN};
        ends[1] = (struct pollfd){.fd = c->said_fd, .events = POLLIN};
        c->late = cli_seconds() > c->deadline;
        c->cancelled = c->stop->wanted(c->stop->context);
        if (c->late || c->cancelled)
            return false;
        int ready = poll(ends, 2, POLL_MILLISECONDS);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static int64_t read_sound(void *context, void *data, size_t size)
{
    child *c = context;
    struct pollfd ends[2];
    while (c->out >= 0) {
        if (!wait_for(c, ends))
            return -1;
        if (ends[1].revents)
            listen_to(c);
        if (!ends[0].revents)
            continue;
        ssize_t got = read(c->out, data, size);
        if (got > 0)
            return got;
        if (got < 0 && errno == EINTR)
            continue;
        close_end(&c->out);
    }
    return 0;
}

/* ------------------------------------------------------------------ ending */

/* Ends the child, at the latest at its deadline, and takes its exit status; false: it did not end well. */
static bool finish(child *c, bool at_once)
{
    struct pollfd ends[2];
    int status = -1;
    close_end(&c->out);
    while (!at_once && c->said_fd >= 0) {
        if (wait_for(c, ends))
            listen_to(c);
        else
            at_once = true;
    }
    close_end(&c->said_fd);
    /* Both its outputs are closed; a program that then does not end is none that we wait for. */
    for (int i = 0; !at_once && i < 100; i++) {
        pid_t done = waitpid(c->pid, &status, WNOHANG);
        if (done == c->pid || (done < 0 && errno != EINTR))
            return done == c->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        (void)poll(NULL, 0, i < 10 ? 1 : 20);
    }
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

/* The last line that was said; `line` has room for SAID + 1. */
static const char *last_line(const child *c, char *line)
{
    size_t end = c->n_said;
    while (end > 0 && strchr("\r\n ", c->said[end - 1]))
        end--;
    size_t start = end;
    while (start > 0 && c->said[start - 1] != '\n')
        start--;
    memcpy(line, c->said + start, end - start);
    line[end - start] = 0;
    return end > start ? line : "it ended without a word";
}

static parley_status fail_child(const child *c, const char *name, const parley_audio *audio, parley_error *error)
{
    char line[SAID + 1];
    if (c->cancelled)
        return cli_fail(error, PARLEY_CANCELLED, "stopped while ffmpeg was decoding \"%.200s\"", name);
    if (c->late)
        return cli_fail(error, PARLEY_LIMIT, "ffmpeg needed more than %d seconds for \"%.200s\" and was stopped", (int)SECONDS, name);
    return cli_fail(error, PARLEY_FORMAT, "%.200s: ffmpeg cannot decode it, after %llu samples: %.200s", name,
                    (unsigned long long)audio->source_frames, last_line(c, line));
}

parley_status cli_ffmpeg_read(const char *name, int fd, const parley_audio_options *options, const cli_stop *stop, parley_audio *audio,
                              parley_error *error)
{
    *audio = (parley_audio){0};
    char *program = find_program();
    if (!program)
        return cli_fail(
            error, PARLEY_UNSUPPORTED,
            "%.200s: no sound file that libsndfile reads; other kinds need the program ffmpeg, which is not in PATH: install it or convert "
            "the file to WAV",
            name);
    child c;
    (void)lseek(fd, 0, SEEK_SET); /* where /dev/fd/0 is the same open file, not one opened anew */
    parley_status status = start(&c, program, fd, options->max_seconds, stop, error);
    free(program);
    if (status != PARLEY_OK)
        return status;
    parley_audio_stream stream = {read_sound, &c};
    status = parley_audio_read(name, &stream, options, audio, error);
    /* A sound that is too long, or no memory: the child still works and is not to blame. Everything else is judged by how it ended. */
    bool ours = status != PARLEY_OK && status != PARLEY_IO && status != PARLEY_FORMAT && status != PARLEY_UNSUPPORTED;
    bool well = finish(&c, ours || c.late || c.cancelled);
    if (!ours && !well) {
        status = fail_child(&c, name, audio, error);
        parley_audio_free(audio);
    }
    snprintf(audio->source_format, sizeof audio->source_format, "decoded by ffmpeg");
    return status;
}
