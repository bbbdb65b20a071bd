/* Sound files and raw samples to mono float32 (public side: parley/audio.h). Decoding by libsndfile over bytes in memory, resampling by soxr HQ. */
#ifndef PL_AUDIO_INPUT_H
#define PL_AUDIO_INPUT_H

#include "base/arena.h"

#include <parley/audio.h>

/* Options complete and checked. Reads the stream to its end, with limits on bytes that follow from max_seconds. */
parley_status pl_audio_read(const char *name, const parley_audio_stream *stream, const parley_audio_options *options, parley_audio *audio,
                            parley_error *error);
parley_status pl_audio_read_memory(const char *name, const void *data, size_t size, const parley_audio_options *options, parley_audio *audio,
                                   parley_error *error);
void pl_audio_free(parley_audio *audio);

/* soxr HQ, one channel: exactly ceil(count * to / from) samples into a block of the allocator. Equal rates: a copy. */
parley_status pl_resample(const parley_allocator *allocator, const float *samples, size_t count, int32_t from, int32_t to, float **out,
                          size_t *out_count, parley_error *error);

#endif
