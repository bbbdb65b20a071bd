/* parley/audio.h - sound files and raw samples to mono float32, at any rate.
 *
 * Reads what libsndfile opens: WAV of all sample types, FLAC, Ogg Vorbis, Opus, MP3, AIFF. Channels are averaged. Values beyond -1..1 pass
 * unclipped. Other containers are the caller's business (the program asks ffmpeg). */
#ifndef PARLEY_AUDIO_H
#define PARLEY_AUDIO_H

#include <parley/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How bytes are to be understood: as a sound file, or as raw little-endian samples, interleaved. */
typedef enum parley_audio_form { PARLEY_AUDIO_FILE, PARLEY_AUDIO_RAW_S16LE, PARLEY_AUDIO_RAW_F32LE } parley_audio_form;

typedef struct parley_audio_options {
    size_t size;                    /* sizeof(parley_audio_options) */
    parley_audio_form form;         /* default PARLEY_AUDIO_FILE */
    int32_t raw_rate, raw_channels; /* of raw samples: Hz (1,000 to 768,000), channels (1 to 64); default 24000, 1 */
    int32_t rate;       /* of the result, Hz (1,000 to 768,000); default 24000. Resampled with soxr, quality HQ; length ceil(n * rate / from) */
    double max_seconds; /* longer input is PARLEY_LIMIT; default 7,200 */
    const parley_allocator *allocator; /* NULL: malloc and free */
} parley_audio_options;

typedef struct parley_audio {
    float *samples; /* [count], mono */
    size_t count;
    int32_t rate; /* of samples, Hz */
    int32_t source_rate, source_channels;
    uint64_t source_frames;     /* samples a channel in the source */
    char source_format[48];     /* "WAV, signed 16 bit PCM", "raw s16le"; after an error: "" when the bytes are no sound file of a known kind */
    parley_allocator allocator; /* that made `samples` */
} parley_audio;

/* Fills in the defaults. */
PARLEY_API void parley_audio_options_init(parley_audio_options *options);

/* Where bytes come from. `read` fills up to `size` bytes and returns how many (0 at the end), or -1. */
typedef struct parley_audio_stream {
    int64_t (*read)(void *context, void *data, size_t size);
    void *context;
} parley_audio_stream;

/* Whole input to memory. `name` (a path, "standard input") is used in error texts. Sound files are buffered whole before they are decoded.
 * Errors: IO; FORMAT (no sound file, or damaged: with the position in samples); UNSUPPORTED; LIMIT; ARGUMENT; MEMORY. An empty input (0 samples) is
 * no error here, but 0 bytes are no sound file. The error's position is the sample where decoding stopped, or the byte in a damaged header or page;
 * the text tells which. Channels of a file: 1 to 1,024; its rate as in the options. Bytes of a sound file: at most 1,536,000 a second of max_seconds
 * and 64 MiB, never more than 4 GiB. MP3 has no checksums: damage inside is heard, not seen; MP3 and Ogg files may end early (at a page). */
PARLEY_API PARLEY_MUST_USE parley_status parley_audio_read(const char *name, const parley_audio_stream *stream, const parley_audio_options *options,
                                                           parley_audio *audio, parley_error *error);

/* The same from bytes in memory, and from a regular file (anything else is UNSUPPORTED: it could keep the caller waiting; MISSING: no such file). */
PARLEY_API PARLEY_MUST_USE parley_status parley_audio_read_memory(const char *name, const void *data, size_t size,
                                                                  const parley_audio_options *options, parley_audio *audio, parley_error *error);
PARLEY_API PARLEY_MUST_USE parley_status parley_audio_read_file(const char *path, const parley_audio_options *options, parley_audio *audio,
                                                                parley_error *error);

/* Frees the samples; the structure is the caller's. */
PARLEY_API void parley_audio_free(parley_audio *audio);

#ifdef __cplusplus
}
#endif
#endif
