/* Voices that --clone made, kept in the user's cache directory under a key, so that the same recording is encoded once. The files are voice files;
 * one that is damaged is made again. Nothing here is fatal: without a cache everything is computed. */
#ifndef CLI_VOICE_CACHE_H
#define CLI_VOICE_CACHE_H

#include <parley/voice.h>

#include "model_options.h"

/* Bytes that all files together may take; the oldest go first. */
#define CLI_VOICE_CACHE_MAX ((uint64_t)256 << 20)

/* What a clone depends on. */
typedef struct cli_voice_source {
    const float *pcm; /* [samples] */
    size_t samples;
    const cli_model_fields *model;
    const char *model_path;
    const parley_info *info;
    size_t silence; /* samples appended before the codec's encoder */
    bool codes;
} cli_voice_source;

/* The key: a hash of the samples, the model's and the codec's identity, the files (inode, size, time of change), the processor level asked for, the
 * version of the library, and the rest of the source. */
parley_status cli_voice_cache_key(const cli_voice_source *source, char key[PARLEY_VOICE_HASH_TEXT], parley_error *error);

/* The voice under this key, NULL when there is none that is whole and of this model. */
parley_voice *cli_voice_cache_get(const char *key, const parley_info *info, bool codes);

/* Keeps a voice whose name is the key, then removes the oldest files beyond the limit. Failures are told as warnings. */
void cli_voice_cache_put(const char *key, const parley_voice *voice);

#endif
