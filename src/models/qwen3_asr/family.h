/* Qwen3-ASR and Qwen3-ForcedAligner: see README.md in this folder. */
#ifndef PL_MODELS_QWEN3_ASR_FAMILY_H
#define PL_MODELS_QWEN3_ASR_FAMILY_H

#include "audio/activity.h"
#include "audio/mel.h"
#include "models/family.h"
#include "models/qwen3_asr/network.h"

extern const pl_family pl_family_qwen3_asr;
extern const pl_asr_ops pl_asr_ops_qwen3;

/* An open model; immutable. */
typedef struct asr_model {
    pl_environment env;
    pl_arena arena; /* packed weights, tables */
    asr_files files;
    asr_config config;
    asr_tensors tensors;
    asr_network network;
    pl_tokenizer *tokenizer;
    pl_mel *mel;
    pl_activity *activity;
    parley_parts parts;
    parley_info info;
} asr_model;

/* Fewest samples that the front end takes: what its reflection needs, and one. */
enum { ASR_MIN_SAMPLES = 201 };

/* encode.c: samples -> rows of the text decoder's input [pl_tower_tokens()][width], and how many there are. CANCELLED, MEMORY. */
int64_t pl_asr_audio_rows(const asr_model *model, int64_t samples);
parley_status pl_asr_encode(pl_compute *compute, const asr_model *model, const float *pcm, int64_t samples, bool full_attention,
                            const atomic_bool *cancel, const pl_tap *tap, float *rows, parley_error *error);

/* info.c */
parley_status pl_asr_info(pl_arena *arena, const asr_files *files, const asr_config *config, const asr_network *network, parley_info *info,
                          parley_error *error);

/* align.c */
void pl_asr_align_options_init(const void *model, parley_align_options *options);
parley_status pl_asr_align(const void *model, const float *pcm, size_t samples, pl_bytes text, const parley_align_options *options,
                           const atomic_bool *cancel, parley_alignment **alignment, parley_error *error);
parley_status pl_asr_align_kv_bytes(const void *model, size_t samples, pl_bytes text, const parley_align_options *options, uint64_t *bytes,
                                    parley_error *error);

/* quantize.c */
parley_status pl_asr_quantize(const pl_environment *environment, const pl_location *location, const parley_quantize_options *options,
                              const struct pl_sink *sink, parley_error *error);

/* bench.c */
parley_status pl_asr_bench(const void *model, const parley_bench_options *options, pl_report_row report, void *context, parley_error *error);

#endif
