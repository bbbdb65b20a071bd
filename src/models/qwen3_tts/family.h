/* Qwen3-TTS, 12 Hz: see README.md in this folder. */
#ifndef PL_MODELS_QWEN3_TTS_FAMILY_H
#define PL_MODELS_QWEN3_TTS_FAMILY_H

#include "audio/mel.h"
#include "models/family.h"
#include "models/qwen3_tts/network.h"
#include "models/qwen3_tts/overlap.h"

extern const pl_family pl_family_qwen3_tts;

/* An open model; immutable. */
typedef struct tts_model {
    pl_environment env;
    pl_arena arena; /* packed weights, tables */
    tts_files files;
    tts_config config;
    tts_tensors tensors;
    tts_network network;
    pl_tokenizer *tokenizer; /* NULL where the parts that were opened have no text */
    pl_mel *mel;             /* front end of the speaker encoder; NULL without one */
    tts_overlap overlap;
    parley_parts parts;
    parley_info info;
} tts_model;

/* info.c: what the files are, into `info`; lists live in `arena`. `network` NULL: not loaded. */
parley_status pl_tts_info(pl_arena *arena, const tts_files *files, const tts_config *config, const tts_tensors *tensors, const tts_network *network,
                          parley_info *info, parley_error *error);

/* quantize.c */
parley_status pl_tts_quantize(const pl_environment *environment, const pl_location *location, const parley_quantize_options *options,
                              const struct pl_sink *sink, parley_error *error);

/* clone.c: front end of the speaker encoder; recordings to vectors and codes. */
parley_status pl_tts_mel_open(const parley_allocator *allocator, const tts_config *config, pl_mel **mel, parley_error *error);
parley_status pl_tts_voice_vector(const void *model, const float *pcm, size_t samples, const parley_voice_options *options, float *vector,
                                  parley_error *error);
parley_status pl_tts_codec_encode(const void *model, const float *pcm, size_t samples, const parley_voice_options *options, int32_t **codes,
                                  size_t *frames, parley_error *error);

/* session.c, codec.c, bench.c */
extern const pl_tts_ops pl_tts_ops_qwen3;
parley_status pl_tts_codec_open(const void *model, const parley_codec_options *options, parley_codec **codec, parley_error *error);
void pl_tts_codec_close(parley_codec *codec);
parley_status pl_tts_codec_decode(parley_codec *codec, const int32_t *codes, size_t frames, float *pcm, parley_error *error);
parley_status pl_tts_reference_open(const void *model, const int32_t *codes, size_t frames, parley_reference **reference, parley_error *error);
void pl_tts_reference_close(parley_reference *reference);
parley_status pl_tts_bench(const void *model, const parley_bench_options *options, pl_report_row report, void *context, parley_error *error);

#endif
