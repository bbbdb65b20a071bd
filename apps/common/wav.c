#include "wav.h"

#include "bytes.h"

#include <math.h>

enum { PIECE = 4096 };

static uint32_t sample_size(cli_wav_format format)
{
    return format == CLI_WAV_F32 ? 4 : 2;
}

/* RIFF counts what follows its own size field; IEEE float files carry the long "fmt " chunk and a "fact" chunk. */
size_t cli_wav_header(uint8_t header[CLI_WAV_HEADER_MAX], cli_wav_format format, int32_t rate, uint64_t samples)
{
    bool is_float = format == CLI_WAV_F32;
    uint32_t width = sample_size(format), format_size = is_float ? 18 : 16;
    size_t size = is_float ? 58 : 44;
    bool open_end = samples > (UINT32_MAX - CLI_WAV_HEADER_MAX) / width;
    uint32_t data = open_end ? UINT32_MAX : (uint32_t)samples * width;
    uint8_t *at = header;
    memcpy(at, "RIFF....WAVEfmt ", 16);
    cli_put32(at + 4, open_end ? UINT32_MAX : (uint32_t)size - 8 + data);
    cli_put32(at + 16, format_size);
    cli_put16(at + 20, is_float ? 3 : 1);
    cli_put16(at + 22, 1); /* channels */
    cli_put32(at + 24, (uint32_t)rate);
    cli_put32(at + 28, (uint32_t)rate * width);
    cli_put16(at + 32, (uint16_t)width);
    cli_put16(at + 34, (uint16_t)(width * 8));
    at += 20 + format_size;
    if (is_float) {
        cli_put16(at - 2, 0); /* no extension */
        memcpy(at, "fact", 4);
        cli_put32(at + 4, 4);
        cli_put32(at + 8, open_end ? UINT32_MAX : (uint32_t)samples);
        at += 12;
    }
    memcpy(at, "data", 4);
    cli_put32(at + 4, data);
    return size;
}

int16_t cli_wav_s16(float sample)
{
    if (isnan(sample))
        return 0;
    float scaled = sample * 32767.0f;
    if (scaled >= 32767.0f)
        return 32767;
    return scaled <= -32768.0f ? -32768 : (int16_t)lrintf(scaled);
}

parley_status cli_wav_begin(cli_wav *wav, cli_output *output, cli_wav_format format, int32_t rate, parley_error *error)
{
    *wav = (cli_wav){.output = output, .format = format, .rate = rate};
    uint8_t header[CLI_WAV_HEADER_MAX];
    size_t size = cli_wav_header(header, format, rate, output->regular ? 0 : CLI_WAV_OPEN_END);
    return cli_output_write(output, header, size, error);
}

static size_t encode(cli_wav_format format, const float *pcm, size_t samples, uint8_t *bytes)
{
    for (size_t i = 0; i < samples; i++) {
        if (format == CLI_WAV_F32)
            cli_put32(bytes + 4 * i, cli_float_bits(pcm[i]));
        else
            cli_put16(bytes + 2 * i, (uint16_t)cli_wav_s16(pcm[i]));
    }
    return samples * sample_size(format);
}

parley_status cli_wav_write(cli_wav *wav, const float *pcm, size_t samples, parley_error *error)
{
    uint8_t bytes[PIECE * 4];
    while (samples > 0) {
        size_t n = samples < PIECE ? samples : PIECE;
        CLI_TRY(cli_output_write(wav->output, bytes, encode(wav->format, pcm, n, bytes), error));
        wav->samples += n;
        pcm += n;
        samples -= n;
    }
    return PARLEY_OK;
}

parley_status cli_wav_end(cli_wav *wav, parley_error *error)
{
    if (!wav->output->regular)
        return PARLEY_OK;
    uint8_t header[CLI_WAV_HEADER_MAX];
    size_t size = cli_wav_header(header, wav->format, wav->rate, wav->samples);
    return cli_output_patch(wav->output, 0, header, size, error);
}
