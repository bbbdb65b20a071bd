/* parley/voice.h - cloning: a recording becomes a voice. A voice is a speaker vector and, for in-context cloning, the recording's codes with their
 * transcript. PCM here is mono float32 at parley_info.sample_rate (24 kHz). */
#ifndef PARLEY_VOICE_H
#define PARLEY_VOICE_H

#include <parley/tts.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct parley_voice_options {
    size_t size;
    parley_tap_fn tap; /* see parley_tts_options */
    void *tap_context;
    /* Asked between pieces of work, by the thread that called, a second apart at most on usual machines: true ends the call with CANCELLED. NULL:
     * never. */
    bool (*cancelled)(void *context);
    void *cancel_context;
} parley_voice_options;

/* No tap, no cancelling. */
PARLEY_API void parley_voice_options_init(parley_voice_options *options);

/* Speaker vector [parley_info.xvector_length] of PCM, by the model's speaker encoder (Base models). Needs at least 1280 samples. Errors: STATE (the
 * model was opened without its speaker encoder, or has none), ARGUMENT (too short: names both numbers), VALUE (samples not finite), CANCELLED,
 * MEMORY. Memory beside the weights: 0.87 MB a second of PCM in the published size. */
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_vector(const parley_model *model, const float *pcm, size_t samples,
                                                             const parley_voice_options *options, float *vector, parley_error *error);

/* Codes [frames][groups] of PCM by the codec's encoder, frames = ceil(samples / samples_per_frame); always float32 arithmetic. `*codes` is released
 * with parley_free_ids(model, codes, frames * groups). Errors: STATE (no codec encoder), ARGUMENT (no samples), VALUE, CANCELLED, MEMORY. Memory
 * beside the weights: 21 MB and about 0.15 MB a second of PCM. */
PARLEY_API PARLEY_MUST_USE parley_status parley_codec_encode(const parley_model *model, const float *pcm, size_t samples,
                                                             const parley_voice_options *options, int32_t **codes, size_t *frames,
                                                             parley_error *error);

/* ------------------------------------------------------------------ voice files */

/* What a voice file holds. Texts are UTF-8 with a NUL; "" and 0 where there is none. */
typedef struct parley_voice {
    const char *name;
    const char *model;   /* identity of the model that made it: parley_info.identity */
    const char *text;    /* transcript of the reference; needed with codes */
    const float *vector; /* [vector_length] */
    size_t vector_length;
    const int32_t *codes; /* [frames][groups]; NULL: none */
    size_t frames;
    int32_t groups, codebook_size;
    const char *codec; /* of the codes: parley_info.codec_identity; "" where that is not known, and without codes */
} parley_voice;

/* Bytes of a voice file (docs/VOICES.md), with a hash over all of them. Released with parley_voice_bytes_free(). Errors: ARGUMENT, MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_write(const parley_voice *voice, void **bytes, size_t *size, parley_error *error);
PARLEY_API void parley_voice_bytes_free(void *bytes, size_t size);

/* Reads the bytes of a voice file; `*voice` owns copies and is freed with parley_voice_free(). Errors: FORMAT (with the position; also when the hash
 * does not fit), UNSUPPORTED (a later version), LIMIT, MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_read(const void *bytes, size_t size, parley_voice **voice, parley_error *error);
PARLEY_API void parley_voice_free(parley_voice *voice);

/* Whether a voice can be used with a model: the vector must be as long as the model takes it, codes must be of the model's codec, whatever types
 * their files store it in. A voice without codes depends on no codec. What is not known is not checked. Errors: ARGUMENT, naming both sides. */
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_check(const parley_voice *voice, const parley_info *info, parley_error *error);

/* Files of qwentts.cpp: `.spk` (a vector) and `.rvq` (codes), which do not name their sizes: they are checked against the model's. Results are
 * released with free functions above: codes with parley_free_ids(). Errors: FORMAT, MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_read_spk(const parley_model *model, const void *bytes, size_t size, float *vector,
                                                               parley_error *error);
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_read_rvq(const parley_model *model, const void *bytes, size_t size, int32_t **codes,
                                                               size_t *frames, parley_error *error);
/* And back: `*bytes` with parley_voice_bytes_free(). */
PARLEY_API PARLEY_MUST_USE parley_status parley_voice_write_rvq(const int32_t *codes, size_t frames, int32_t groups, int32_t codebook_size,
                                                                void **bytes, size_t *size, parley_error *error);

/* SHA-256 of bytes as 64 hexadecimal digits and a NUL: the hash of voice files, for callers that keep voices by what they were made from. */
enum { PARLEY_VOICE_HASH_TEXT = 65 };
PARLEY_API void parley_voice_hash(const void *bytes, size_t size, char text[PARLEY_VOICE_HASH_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
