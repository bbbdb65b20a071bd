#include "sound_stream.h"

#include "bytes.h"
#include "inputs.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_WAIT = 100 /* ms, then signals are looked at */, RIFF_HEAD = 12, CHUNK_HEAD = 8, FORMAT_CHUNK = 16, MOST_CHANNELS = 64 };

/* ------------------------------------------------------------------ bytes */

/* Bytes behind those held, when there are some; signals end the sound. */
static parley_status read_more(cli_sound_stream *s, parley_error *error)
{
    struct pollfd wait = {.fd = s->fd, .events = POLLIN};
    while (!cli_signals_cancelled() && poll(&wait, 1, LONGEST_WAIT) == 0)
        ;
    if (cli_signals_cancelled()) {
        s->ended = true;
        return PARLEY_OK;
    }
    ssize_t got;
    do
        got = read(s->fd, s->bytes + s->held, sizeof s->bytes - s->held);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return cli_fail(error, PARLEY_IO, "cannot read \"%.300s\": %s", s->name, strerror(errno));
    s->ended = got == 0;
    s->held += (size_t)got;
    return PARLEY_OK;
}

static parley_status need(cli_sound_stream *s, size_t size, parley_error *error)
{
    while (s->held < size && !s->ended)
        CLI_TRY(read_more(s, error));
    return PARLEY_OK;
}

static void drop(cli_sound_stream *s, size_t size)
{
    s->held -= size;
    memmove(s->bytes, s->bytes + size, s->held);
}

/* ------------------------------------------------------------------ WAV */

/* Whether the samples can be taken as they come. */
static bool take_format(cli_sound_stream *s, const uint8_t *b, size_t size)
{
    static const uint32_t pcm = 1, ieee = 3, extensible = 0xFFFE;
    uint32_t tag = cli_get32(b) & 0xFFFF, channels = cli_get32(b) >> 16, rate = cli_get32(b + 4), bits = cli_get32(b + 12) >> 16;
    uint32_t frame = cli_get32(b + 12) & 0xFFFF;
    if (tag == extensible && size >= 26)
        tag = cli_get32(b + 24 - 2) >> 16;
    s->channels = (int32_t)channels;
    s->form = tag == ieee ? PARLEY_AUDIO_RAW_F32LE : PARLEY_AUDIO_RAW_S16LE;
    bool is_known = (tag == pcm && bits == 16) || (tag == ieee && bits == 32);
    return is_known && rate == PARLEY_ASR_RATE && channels >= 1 && channels <= MOST_CHANNELS && frame == channels * bits / 8;
}

/* Looks at the head without taking it. `*at`: of the samples, 0 when they cannot be taken as they come. */
static parley_status read_wav_head(cli_sound_stream *s, size_t *at, parley_error *error)
{
    static const uint32_t open_end = 0xFFFFFFFF;
    bool known = false;
    *at = 0;
    CLI_TRY(need(s, RIFF_HEAD, error));
    if (s->held < RIFF_HEAD || memcmp(s->bytes, "RIFF", 4) != 0 || memcmp(s->bytes + 8, "WAVE", 4) != 0)
        return PARLEY_OK;
    for (size_t chunk = RIFF_HEAD; chunk + CHUNK_HEAD <= sizeof s->bytes;) {
        CLI_TRY(need(s, chunk + CHUNK_HEAD, error));
        const uint8_t *b = s->bytes + chunk;
        if (s->held < chunk + CHUNK_HEAD)
            return PARLEY_OK;
        uint32_t size = cli_get32(b + 4), padded = size + (size & 1);
        chunk += CHUNK_HEAD;
        if (!memcmp(b, "data", 4)) {
            *at = known ? chunk : 0;
            s->left = size == open_end ? UINT64_MAX : size;
            return PARLEY_OK;
        }
        if (size > sizeof s->bytes - chunk)
            return PARLEY_OK;
        CLI_TRY(need(s, chunk + size, error));
        if (!memcmp(b, "fmt ", 4) && size >= FORMAT_CHUNK && s->held >= chunk + size)
            known = take_format(s, b + CHUNK_HEAD, size);
        chunk += padded;
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ sounds that are read whole */

static int64_t replay(void *context, void *data, size_t size)
{
    cli_sound_stream *s = context;
    parley_error error;
    if (s->held == 0 && !s->ended && read_more(s, &error) != PARLEY_OK)
        return -1;
    size_t count = s->held < size ? s->held : size;
    memcpy(data, s->bytes, count);
    drop(s, count);
    return (int64_t)count;
}

/* A regular file from its start, with all that may decode it; a pipe with what the library knows. */
static parley_status read_whole(cli_sound_stream *s, const char *path, const parley_audio_options *options, parley_error *error)
{
    struct stat is;
    if (fstat(s->fd, &is) == 0 && S_ISREG(is.st_mode) && lseek(s->fd, 0, SEEK_SET) == 0) {
        CLI_TRY(cli_read_audio(path, options, &s->whole, error));
    } else {
        parley_audio_stream stream = {replay, s};
        CLI_TRY(parley_audio_read(s->name, &stream, options, &s->whole, error));
    }
    s->is_whole = true;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ either */

static parley_status open_descriptor(cli_sound_stream *s, const char *path, parley_error *error)
{
    struct stat is;
    s->fd = 0;
    s->name = "standard input";
    if (strcmp(path, "-") != 0) {
        s->name = path;
        s->fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
        if (s->fd < 0)
            return cli_fail(error, errno == ENOENT || errno == ENOTDIR ? PARLEY_MISSING : PARLEY_IO, "cannot open \"%.300s\": %s", path,
                            strerror(errno));
        s->owned = true;
    }
    if (fstat(s->fd, &is) != 0)
        return cli_fail(error, PARLEY_IO, "cannot read \"%.300s\": %s", s->name, strerror(errno));
    if (S_ISDIR(is.st_mode))
        return cli_fail(error, PARLEY_UNSUPPORTED, "\"%.300s\" is a directory, a sound file is expected", s->name);
    if (isatty(s->fd))
        return cli_fail(error, PARLEY_ARGUMENT, "%.300s is a terminal, a sound file is expected", s->name);
    return cli_input(s->name, s->fd, error);
}

static parley_status open_sound(cli_sound_stream *s, const char *path, const parley_audio_options *options, parley_error *error)
{
    size_t at;
    if (options->form != PARLEY_AUDIO_FILE && options->raw_rate != PARLEY_ASR_RATE)
        return cli_fail(error, PARLEY_UNSUPPORTED,
                        "--stream takes raw samples at %d Hz, not at %d: --rate %d is missing, or the sound must be resampled", PARLEY_ASR_RATE,
                        (int)options->raw_rate, PARLEY_ASR_RATE);
    CLI_TRY(open_descriptor(s, path, error));
    s->left = UINT64_MAX;
    if (options->form != PARLEY_AUDIO_FILE) {
        s->form = options->form;
        s->channels = options->raw_channels;
        return PARLEY_OK;
    }
    CLI_TRY(read_wav_head(s, &at, error));
    if (at == 0)
        return read_whole(s, path, options, error);
    drop(s, at);
    return PARLEY_OK;
}

parley_status cli_sound_stream_open(cli_sound_stream *stream, const char *path, const parley_audio_options *options, parley_error *error)
{
    *stream = (cli_sound_stream){.fd = -1};
    parley_status status = open_sound(stream, path, options, error);
    if (status != PARLEY_OK)
        cli_sound_stream_close(stream);
    return status;
}

static size_t take_whole(cli_sound_stream *s, const float **samples)
{
    size_t left = s->whole.count - s->given, count = left < PARLEY_ASR_RATE ? left : PARLEY_ASR_RATE;
    *samples = s->whole.samples + s->given;
    s->given += count;
    return count;
}

static float value_at(parley_audio_form form, const uint8_t *b)
{
    if (form == PARLEY_AUDIO_RAW_F32LE)
        return cli_bits_float(cli_get32(b));
    int value = b[0] | b[1] << 8;
    return (float)(value >= 0x8000 ? value - 0x10000 : value) / 32768.0f;
}

static size_t frame_bytes(const cli_sound_stream *s)
{
    return (size_t)s->channels * (s->form == PARLEY_AUDIO_RAW_F32LE ? 4 : 2);
}

/* Channels are averaged. */
static size_t convert(cli_sound_stream *s, size_t bytes)
{
    size_t frame = frame_bytes(s), width = frame / (size_t)s->channels, count = bytes / frame;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t c = 0; c < (size_t)s->channels; c++)
            sum += (double)value_at(s->form, s->bytes + i * frame + c * width);
        s->samples[i] = s->channels == 1 ? value_at(s->form, s->bytes + i * frame) : (float)(sum / s->channels);
    }
    drop(s, count * frame);
    s->left -= s->left == UINT64_MAX ? 0 : count * frame;
    s->frames += count;
    return count;
}

parley_status cli_sound_stream_read(cli_sound_stream *s, const float **samples, size_t *count, parley_error *error)
{
    *count = 0;
    *samples = s->samples;
    if (cli_signals_cancelled())
        return PARLEY_OK;
    if (s->is_whole) {
        *count = take_whole(s, samples);
        return PARLEY_OK;
    }
    size_t frame = frame_bytes(s);
    if (s->left < frame)
        return PARLEY_OK;
    CLI_TRY(need(s, frame, error));
    if (s->held < frame) {
        if (s->held == 0 || cli_signals_cancelled())
            return PARLEY_OK;
        return cli_fail(error, PARLEY_FORMAT, "%.300s: ends inside sample %llu: %zu bytes, expected %zu", s->name, (unsigned long long)s->frames,
                        s->held, frame);
    }
    *count = convert(s, s->held < s->left ? s->held : (size_t)s->left);
    return PARLEY_OK;
}

void cli_sound_stream_close(cli_sound_stream *stream)
{
    if (stream->owned)
        close(stream->fd);
    parley_audio_free(&stream->whole);
    *stream = (cli_sound_stream){.fd = -1};
}
