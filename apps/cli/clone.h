/* A recording becomes a voice: `parley voice make`, and --clone of `parley say`. */
#ifndef CLI_CLONE_H
#define CLI_CLONE_H

#include <parley/voice.h>

#include "audio_in.h"
#include "dump.h"
#include "model_options.h"

/* What describes the recording, the same options for every subcommand that reads one. */
typedef struct cli_sound_fields {
    cli_audio_fields audio;
    cli_real max_audio;
} cli_sound_fields;

enum { CLI_MAX_AUDIO_DEFAULT = 600 }; /* seconds */

#define CLI_ROW_MAX_AUDIO(type, fields)                                                                    \
    {                                                                                                      \
        .name = "--max-audio", .kind = CLI_REAL, .offset = offsetof(type, fields.max_audio), .value = "S", \
        .help = "longest recording, seconds; default 600", .low = 0, .high = 86400, .above = true          \
    }
#define CLI_ROWS_SOUND(type, fields) \
    CLI_ROW_RAW(type, fields.audio), CLI_ROW_RATE(type, fields.audio), CLI_ROW_CHANNELS(type, fields.audio), CLI_ROW_MAX_AUDIO(type, fields)
#define CLI_ROW_CLONE_SILENCE(type, field)                                                                                                \
    {                                                                                                                                     \
        .name = "--clone-silence", .kind = CLI_REAL, .offset = offsetof(type, field), .value = "S",                                       \
        .help = "silence behind the recording in its codes, seconds; 0 is what the official code does; default 0.5", .low = 0, .high = 10 \
    }

enum { CLI_SOUND_RATE = 24000 }; /* Hz of all samples that go to the encoders */

/* Reads a recording at 24 kHz; empty ones are ARGUMENT. */
parley_status cli_read_sound(const char *path, const cli_sound_fields *fields, parley_audio *audio, parley_error *error);

/* Options of an encoder's run: the first signal ends it, once cli_signals_graceful() is on; taps into `dump` (NULL: none). */
void cli_encoder_options(cli_dump *dump, parley_voice_options *options);

/* Whether all samples are 0. */
bool cli_is_silence(const parley_audio *audio);

/* Transcript from an option's text or its file (both NULL: none, `*text` stays empty). ARGUMENT: both, or nothing but white space. */
parley_status cli_reference_text(const char *option, const char *text, const char *file, cli_buffer *transcript, parley_error *error);

typedef struct cli_clone_request {
    const cli_model_fields *model;
    const char *reference; /* a path, or "-" */
    const cli_sound_fields *sound;
    const char *text; /* transcript; NULL: none */
    bool codes;       /* in-context cloning; else the vector alone */
    cli_real silence;
    const char *name; /* of the voice; NULL: its key in the cache */
    bool cache;
    bool refuse_silence; /* a recording of zeros is an error, not a warning */
    cli_dump *dump;      /* of the encoders' stages, which are then computed; NULL: none */
} cli_clone_request;

typedef struct cli_clone {
    parley_voice *voice; /* parley_voice_free() */
    bool cached;
    double seconds; /* that it took */
} cli_clone;

/* Each encoder is opened for its own work alone, and neither when the cache has the voice. A signal cancels them: CANCELLED. */
parley_status cli_clone_run(const cli_clone_request *request, cli_clone *clone, parley_error *error);

/* ARGUMENT where a voice's vector or codes are none of this model; a warning where another model made it. `name` is for messages. */
parley_status cli_voice_fits(const parley_voice *voice, const char *name, const parley_info *info, parley_error *error);

#endif
