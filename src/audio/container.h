/* What libsndfile passes over in silence: sizes that the bytes do not keep, damaged pages. */
#ifndef PL_AUDIO_CONTAINER_H
#define PL_AUDIO_CONTAINER_H

#include "audio/parts.h"

/* "WAV", "FLAC", ..: the container that the first bytes announce; NULL when they announce none of those that are told apart for certain. */
const char *pl_audio_kind(const pl_audio_bytes *bytes);

/* The chunk of WAV, AIFF or CAF that holds the sound. */
typedef struct pl_audio_chunk {
    uint64_t lacks; /* bytes that it promises beyond the end of the file */
    /* Where the writer did not know the length (streams have 0 or a number near the largest): what should stand in its place. */
    uint64_t patch_at;
    uint8_t patch[8];
    unsigned patch_size; /* bytes, 0: nothing to replace */
} pl_audio_chunk;

/* A file that ends inside a chunk in front of it lacks what that one promises. All zeros when there is no such chunk. */
pl_audio_chunk pl_audio_sound_chunk(const pl_audio_bytes *bytes);

/* Every page of an Ogg file: FORMAT at the first that is cut or whose checksum is wrong. Other files pass. */
parley_status pl_audio_check_pages(const char *name, const pl_audio_bytes *bytes, parley_error *error);

#endif
