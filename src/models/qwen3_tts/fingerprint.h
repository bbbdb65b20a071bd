/* A codec's fingerprint: 256 comparisons of entries of its codebooks, as 64 hexadecimal digits. What a code means is decided by the codebooks, so
 * they are what is compared. A comparison of two entries of one column comes out the same whatever type a file stores them in, but where they are
 * nearly equal; so fingerprints of one codec differ in a few bits, those of two codecs in about half. */
#ifndef PL_MODELS_QWEN3_TTS_FINGERPRINT_H
#define PL_MODELS_QWEN3_TTS_FINGERPRINT_H

#include "base/arena.h"
#include "codec/decoder.h"

/* "" where the codebooks are not there. `text` lives in `arena`. MEMORY. */
parley_status pl_codec_fingerprint(pl_arena *arena, const pl_codec_shape *shape, const pl_codec_tensors *tensors, const char **text,
                                   parley_error *error);

/* Whether a text is one. */
bool pl_codec_fingerprint_is(const char *text, size_t length);

/* Whether two are of one codec. */
bool pl_codec_fingerprints_agree(const char *a, const char *b);

#endif
