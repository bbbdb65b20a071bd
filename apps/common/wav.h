/* Mono WAV files of 16-bit or float samples. */
#ifndef CLI_WAV_H
#define CLI_WAV_H

#include "output.h"

typedef enum cli_wav_format { CLI_WAV_S16, CLI_WAV_F32 } cli_wav_format;

enum { CLI_WAV_HEADER_MAX = 58 };

typedef struct cli_wav {
    cli_output *output;
    cli_wav_format format;
    int32_t rate;     /* Hz */
    uint64_t samples; /* written so far */
} cli_wav;

/* Length that is not known, or does not fit the format's 32 bits: the sizes are 0xFFFFFFFF, as players of pipes expect. */
#define CLI_WAV_OPEN_END UINT64_MAX

/* Writes the header, up to the samples, of a file of so many samples; returns its size (44 or 58). */
size_t cli_wav_header(uint8_t header[CLI_WAV_HEADER_MAX], cli_wav_format format, int32_t rate, uint64_t samples);

/* Nearest 16-bit value of -1..1 (times 32767), clamped; not a number gives 0. */
int16_t cli_wav_s16(float sample);

/* Starts a file on an open output, which the caller commits after cli_wav_end(). */
parley_status cli_wav_begin(cli_wav *wav, cli_output *output, cli_wav_format format, int32_t rate, parley_error *error);
parley_status cli_wav_write(cli_wav *wav, const float *pcm, size_t samples, parley_error *error);
/* Puts the true sizes into the header of a regular file. */
parley_status cli_wav_end(cli_wav *wav, parley_error *error);

#endif
