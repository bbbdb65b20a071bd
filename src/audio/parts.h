/* What the files of this folder share: samples on their way from a source to the result. */
#ifndef PL_AUDIO_PARTS_H
#define PL_AUDIO_PARTS_H

#include "audio/input.h"

enum { PL_AUDIO_RATE_LOW = 1000, PL_AUDIO_RATE_HIGH = 768000 }; /* Hz */

/* ------------------------------------------------------------------ resampling in pieces */

typedef struct pl_resampler_piece pl_resampler_piece;

/* Samples go in piece by piece, what comes out is kept in a list of blocks: memory follows the result, not the source. */
typedef struct pl_resampler {
    parley_allocator allocator;
    const char *name; /* for error texts */
    pl_arena arena;   /* blocks */
    pl_resampler_piece *first, *last;
    void *soxr; /* NULL: equal rates */
    int32_t from, to;
    uint64_t taken, made; /* samples */
} pl_resampler;

/* Both rates PL_AUDIO_RATE_LOW to PL_AUDIO_RATE_HIGH. To be closed whether it succeeds or not. */
parley_status pl_resampler_open(pl_resampler *resampler, const parley_allocator *allocator, int32_t from, int32_t to, parley_error *error);
parley_status pl_resampler_add(pl_resampler *resampler, const float *samples, size_t count, parley_error *error);
/* Exactly ceil(taken * to / from) samples in one block of the allocator. VALUE: a result that float32 cannot hold. */
parley_status pl_resampler_finish(pl_resampler *resampler, float **samples, size_t *count, parley_error *error);
void pl_resampler_close(pl_resampler *resampler);

/* ------------------------------------------------------------------ from a source to the result */

enum { PL_INTAKE_VALUES = 1 << 16, PL_INTAKE_MAX_CHANNELS = 1024 };

/* Averages channels, checks values and length, resamples. */
typedef struct pl_intake {
    const char *name;
    const parley_audio_options *options;
    parley_audio *audio; /* source_* are filled on the way */
    pl_resampler resampler;
    uint64_t limit; /* frames */
    float *values;  /* [PL_INTAKE_VALUES], interleaved: where decoders put samples */
    float *mono;    /* [PL_INTAKE_VALUES] */
} pl_intake;

/* UNSUPPORTED: rate or channels out of range. To be closed whether it succeeds or not. */
parley_status pl_intake_open(pl_intake *intake, const char *name, const parley_audio_options *options, int32_t rate, int32_t channels,
                             parley_audio *audio, parley_error *error);
/* Takes `frames` of intake->values (frames * channels <= PL_INTAKE_VALUES). VALUE, LIMIT. */
parley_status pl_intake_add(pl_intake *intake, size_t frames, parley_error *error);
parley_status pl_intake_finish(pl_intake *intake, parley_error *error);
void pl_intake_close(pl_intake *intake);

/* ------------------------------------------------------------------ sources */

/* Bytes of a sound file: one block of the caller, or blocks as they were read. */
typedef struct pl_audio_bytes {
    const uint8_t *whole; /* NULL: in blocks */
    uint8_t **blocks;     /* each of PL_AUDIO_BLOCK bytes */
    uint64_t size;
} pl_audio_bytes;

enum { PL_AUDIO_BLOCK = 1 << 20 };

/* Copies up to `size` bytes from `position` on and returns how many there were. */
size_t pl_audio_bytes_copy(const pl_audio_bytes *bytes, uint64_t position, void *data, size_t size);

/* audio->source_format stays empty unless the bytes are of a kind that is known. */
parley_status pl_audio_decode(const char *name, const pl_audio_bytes *bytes, const parley_audio_options *options, parley_audio *audio,
                              parley_error *error);
parley_status pl_audio_read_raw(const char *name, const parley_audio_stream *stream, const parley_audio_options *options, parley_audio *audio,
                                parley_error *error);

/* Fills `data` from the stream, with as many calls as it takes; less than `size` is the end. IO. */
parley_status pl_audio_fill(const char *name, const parley_audio_stream *stream, void *data, size_t size, size_t *got, parley_error *error);

#endif
