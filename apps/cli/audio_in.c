#include "audio_in.h"

#include "ffmpeg.h"
#include "inputs.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const cli_raw_choices[] = {"s16le", "f32le", NULL};

static const parley_audio_form raw_forms[] = {PARLEY_AUDIO_RAW_S16LE, PARLEY_AUDIO_RAW_F32LE};

parley_status cli_audio_options(const cli_audio_fields *fields, parley_audio_options *options, parley_error *error)
{
    parley_audio_options_init(options);
    if (!fields->raw.given && (fields->rate.given || fields->channels.given))
        return cli_fail(error, PARLEY_ARGUMENT, "%s is for raw samples: --raw is missing", fields->rate.given ? "--rate" : "--channels");
    if (fields->raw.given)
        options->form = raw_forms[fields->raw.value];
    if (fields->rate.given)
        options->raw_rate = fields->rate.value;
    if (fields->channels.given)
        options->raw_channels = fields->channels.value;
    return PARLEY_OK;
}

static int64_t read_descriptor(void *context, void *data, size_t size)
{
    const int *fd = context;
    for (;;) {
        ssize_t got = read(*fd, data, size);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

/* Whether ffmpeg may know what the library does not: a file whose kind it cannot tell. Damaged ones are left alone: ffmpeg would hide the damage. */
static bool is_unknown(parley_status status, const parley_audio_options *options, const parley_audio *audio)
{
    return (status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED) && options->form == PARLEY_AUDIO_FILE && !audio->source_format[0];
}

static bool user_stops(void *context)
{
    (void)context;
    return cli_signals_cancelled();
}

static const cli_stop on_signal = {.wanted = user_stops};

/* ------------------------------------------------------------------ files */

static parley_status read_regular(const char *name, int fd, const parley_audio_options *options, parley_audio *audio, parley_error *error)
{
    parley_audio_stream stream = {read_descriptor, &fd};
    parley_status status = parley_audio_read(name, &stream, options, audio, error);
    return is_unknown(status, options, audio) ? cli_ffmpeg_read(name, fd, options, &on_signal, audio, error) : status;
}

/* ------------------------------------------------------------------ pipes */

/* A stream that keeps what it gave, in a file without a name, for ffmpeg to seek in. */
typedef struct kept_stream {
    int fd;
    FILE *copy;
    bool failed; /* the copy, not the stream */
} kept_stream;

static int64_t read_and_keep(void *context, void *data, size_t size)
{
    kept_stream *s = context;
    int64_t got = read_descriptor(&s->fd, data, size);
    if (got > 0 && s->copy && !s->failed)
        s->failed = fwrite(data, 1, (size_t)got, s->copy) != (size_t)got;
    return got;
}

static parley_status read_pipe(const char *name, int fd, const parley_audio_options *options, parley_audio *audio, parley_error *error)
{
    kept_stream kept = {.fd = fd, .copy = options->form == PARLEY_AUDIO_FILE ? tmpfile() : NULL};
    parley_audio_stream stream = {read_and_keep, &kept};
    parley_status status = parley_audio_read(name, &stream, options, audio, error);
    if (is_unknown(status, options, audio)) {
        if (!kept.copy || kept.failed || fflush(kept.copy) != 0)
            status = cli_fail(error, PARLEY_IO, "%.200s: cannot be kept in a temporary file for ffmpeg", name);
        else
            status = cli_ffmpeg_read(name, fileno(kept.copy), options, &on_signal, audio, error);
    }
    if (kept.copy)
        fclose(kept.copy);
    return status;
}

/* ------------------------------------------------------------------ either */

static parley_status open_input(const char *path, int *fd, parley_error *error)
{
    *fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (*fd >= 0)
        return PARLEY_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return cli_fail(error, PARLEY_MISSING, "\"%.300s\": no such file%s", path,
                        strstr(path, "://") ? "; addresses are not fetched, only files are read" : "");
    return cli_fail(error, PARLEY_IO, "cannot open \"%.300s\": %s", path, strerror(errno));
}

static parley_status read_open(const char *name, int fd, const parley_audio_options *options, parley_audio *audio, parley_error *error)
{
    struct stat is;
    if (fstat(fd, &is) != 0)
        return cli_fail(error, PARLEY_IO, "cannot read \"%.300s\": %s", name, strerror(errno));
    if (S_ISDIR(is.st_mode))
        return cli_fail(error, PARLEY_UNSUPPORTED, "\"%.300s\" is a directory, a sound file is expected", name);
    if (isatty(fd))
        return cli_fail(error, PARLEY_ARGUMENT, "%.300s is a terminal, a sound file is expected", name);
    CLI_TRY(cli_input(name, fd, error));
    /* ffmpeg reads a regular file from its start: one that was read from before is like a pipe. */
    if (S_ISREG(is.st_mode) && lseek(fd, 0, SEEK_CUR) == 0)
        return read_regular(name, fd, options, audio, error);
    return read_pipe(name, fd, options, audio, error);
}

parley_status cli_read_audio(const char *path, const parley_audio_options *options, parley_audio *audio, parley_error *error)
{
    *audio = (parley_audio){0};
    if (!strcmp(path, "-"))
        return read_open("standard input", 0, options, audio, error);
    int fd;
    CLI_TRY(open_input(path, &fd, error));
    parley_status status = read_open(path, fd, options, audio, error);
    close(fd);
    return status;
}
