#include "audio/input.h"
#include "base/file.h"

#include <math.h>

enum { RATE_LOW = 1000, RATE_HIGH = 768000, MOST_CHANNELS = 64 };

static const double most_seconds = 1e6;

void parley_audio_options_init(parley_audio_options *options)
{
    *options = (parley_audio_options){.size = sizeof *options, .raw_rate = 24000, .raw_channels = 1, .rate = 24000, .max_seconds = 7200.0};
}

static parley_status fail_range(const char *what, int32_t value, int low, int high, parley_error *error)
{
    return pl_fail(error, PARLEY_ARGUMENT, "%s: %d, expected %d to %d", what, (int)value, low, high);
}

/* The caller's options or the defaults, checked. */
static parley_status complete(const parley_audio_options *given, parley_audio_options *o, parley_error *error)
{
    parley_audio_options_init(o);
    if (given && given->size != sizeof *o)
        return pl_fail(error, PARLEY_ARGUMENT, "audio options of %zu bytes, expected %zu: parley_audio_options_init() was not called", given->size,
                       sizeof *o);
    if (given)
        *o = *given;
    if (o->form > PARLEY_AUDIO_RAW_F32LE)
        return pl_fail(error, PARLEY_ARGUMENT, "form: %d is no parley_audio_form", (int)o->form);
    if (o->raw_rate < RATE_LOW || o->raw_rate > RATE_HIGH)
        return fail_range("raw_rate", o->raw_rate, RATE_LOW, RATE_HIGH, error);
    if (o->rate < RATE_LOW || o->rate > RATE_HIGH)
        return fail_range("rate", o->rate, RATE_LOW, RATE_HIGH, error);
    if (o->raw_channels < 1 || o->raw_channels > MOST_CHANNELS)
        return fail_range("raw_channels", o->raw_channels, 1, MOST_CHANNELS, error);
    if (!isfinite(o->max_seconds) || o->max_seconds <= 0.0 || o->max_seconds > most_seconds)
        return pl_fail(error, PARLEY_ARGUMENT, "max_seconds: %g, expected above 0, up to %g", o->max_seconds, most_seconds);
    return PARLEY_OK;
}

/* An error leaves nothing to free, whatever the reason. */
static parley_status prepare(const char *name, const parley_audio_options *given, parley_audio_options *o, parley_audio *audio, parley_error *error)
{
    if (!name || !audio)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", name ? "audio" : "name");
    *audio = (parley_audio){.allocator = pl_default_allocator()};
    return complete(given, o, error);
}

parley_status parley_audio_read(const char *name, const parley_audio_stream *stream, const parley_audio_options *options, parley_audio *audio,
                                parley_error *error)
{
    parley_audio_options o;
    PL_TRY(prepare(name, options, &o, audio, error));
    if (!stream || !stream->read)
        return pl_fail(error, PARLEY_ARGUMENT, "%s: the stream has no read function", name);
    return pl_audio_read(name, stream, &o, audio, error);
}

parley_status parley_audio_read_memory(const char *name, const void *data, size_t size, const parley_audio_options *options, parley_audio *audio,
                                       parley_error *error)
{
    parley_audio_options o;
    PL_TRY(prepare(name, options, &o, audio, error));
    if (!data && size > 0)
        return pl_fail(error, PARLEY_ARGUMENT, "%s: %zu bytes at NULL", name, size);
    return pl_audio_read_memory(name, data, size, &o, audio, error);
}

parley_status parley_audio_read_file(const char *path, const parley_audio_options *options, parley_audio *audio, parley_error *error)
{
    parley_audio_options o;
    int file;
    PL_TRY(prepare(path, options, &o, audio, error));
    PL_TRY(pl_file_open(path, &file, error));
    parley_audio_stream stream = {pl_file_read, &file};
    parley_status status = pl_audio_read(path, &stream, &o, audio, error);
    pl_file_close(file);
    return status;
}

void parley_audio_free(parley_audio *audio)
{
    if (audio)
        pl_audio_free(audio);
}
