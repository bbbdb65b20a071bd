/* Reference audio: a file, a pipe or standard input, to mono samples. What the library cannot decode goes through the ffmpeg program. */
#ifndef CLI_AUDIO_IN_H
#define CLI_AUDIO_IN_H

#include "options.h"

#include <parley/audio.h>

/* How raw samples are laid out, the same options for every subcommand that reads sound. */
typedef struct cli_audio_fields {
    cli_int raw; /* index into cli_raw_choices */
    cli_int rate, channels;
} cli_audio_fields;

extern const char *const cli_raw_choices[];

/* Rows of an option table; `fields` is the member of `type` that is a cli_audio_fields. */
#define CLI_ROW_RAW(type, fields)                                                                   \
    {                                                                                               \
        .name = "--raw", .kind = CLI_CHOICE, .offset = offsetof(type, fields.raw), .value = "TYPE", \
        .help = "the sound is raw samples, not a file with a header", .choices = cli_raw_choices    \
    }
#define CLI_ROW_RATE(type, fields)                                                                                                          \
    {                                                                                                                                       \
        .name = "--rate", .kind = CLI_INT, .offset = offsetof(type, fields.rate), .value = "N", .help = "Hz of raw samples; default 24000", \
        .low = 1000, .high = 768000                                                                                                         \
    }
#define CLI_ROW_CHANNELS(type, fields)                                                                  \
    {                                                                                                   \
        .name = "--channels", .kind = CLI_INT, .offset = offsetof(type, fields.channels), .value = "N", \
        .help = "channels of raw samples, which are averaged; default 1", .low = 1, .high = 64          \
    }

/* Fills the library's options (defaults, then the fields). The caller may still change `rate` and `max_seconds`. ARGUMENT: --rate or --channels
 * without --raw. */
parley_status cli_audio_options(const cli_audio_fields *fields, parley_audio_options *options, parley_error *error);

/* `path`: a file, a pipe or device, or "-" for standard input; always a name in the file system, never an address. What is no sound file that the
 * library knows is decoded by ffmpeg, when it is in PATH. Errors: those of parley_audio_read_file(); MISSING (no such file); UNSUPPORTED (a
 * directory; ffmpeg would be needed and is not installed). Free with parley_audio_free(). */
parley_status cli_read_audio(const char *path, const parley_audio_options *options, parley_audio *audio, parley_error *error);

#endif
