/* Sound as it comes: raw samples and WAV files of 16-bit or float samples at 16 kHz piece by piece, everything else read whole first. */
#ifndef CLI_SOUND_STREAM_H
#define CLI_SOUND_STREAM_H

#include "audio_in.h"

#include <parley/asr.h>

enum { CLI_SOUND_BYTES = 1 << 15 };

typedef struct cli_sound_stream {
    const char *name; /* in messages */
    int fd;
    bool owned, ended, is_whole;
    parley_audio whole;     /* of a sound that cannot be read in pieces */
    size_t given;           /* of `whole` */
    parley_audio_form form; /* of the samples */
    int32_t channels;
    uint64_t left;                  /* bytes of samples; UINT64_MAX: until the end */
    uint64_t frames;                /* so far */
    uint8_t bytes[CLI_SOUND_BYTES]; /* [held], not yet taken */
    size_t held;
    float samples[CLI_SOUND_BYTES / 2];
} cli_sound_stream;

/* `options` as for cli_read_audio(), rate 16000. Errors: its own, and UNSUPPORTED (raw samples of another rate). The structure is closed in any
 * case. */
parley_status cli_sound_stream_open(cli_sound_stream *stream, const char *path, const parley_audio_options *options, parley_error *error);

/* What came, mono, as soon as something did; `*count` 0: the sound has ended, or a signal came. Errors: IO, FORMAT (a part of a sample at the end).
 */
parley_status cli_sound_stream_read(cli_sound_stream *stream, const float **samples, size_t *count, parley_error *error);
void cli_sound_stream_close(cli_sound_stream *stream);

#endif
