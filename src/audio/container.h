/* What libsndfile passes over in silence: sizes that the bytes do not keep, damaged pages. */
#ifndef PL_AUDIO_CONTAINER_H
#define PL_AUDIO_CONTAINER_H

#include "audio/parts.h"

/* "WAV", "FLAC", ..: the container that the first bytes announce; NULL when they announce none of those that are told apart for certain. */
const char *pl_audio_kind(const pl_audio_bytes *bytes);

/* Bytes of sound that a chunk of WAV, AIFF or CAF promises beyond the end of the file; 0: none, or its size is not known (streams write 0 or a
 * number near the largest). */
uint64_t pl_audio_lacks(const pl_audio_bytes *bytes);

/* Every page of an Ogg file: FORMAT at the first that is cut or whose checksum is wrong. Other files pass. */
parley_status pl_audio_check_pages(const char *name, const pl_audio_bytes *bytes, parley_error *error);

#endif
