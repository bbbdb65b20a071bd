/* What the engine knows of a model family: a table of functions. */
#ifndef PL_MODELS_FAMILY_H
#define PL_MODELS_FAMILY_H

#include "base/log.h"
#include "base/pool.h"
#include "base/source.h"
#include "kernels/kernels.h"

#include <parley/asr.h>
#include <parley/quantize.h>
#include <parley/voice.h>

#include <stdatomic.h>

/* What a model works with; lives as long as it. */
typedef struct pl_environment {
    parley_allocator allocator;
    parley_logger logger;
    const pl_kernels *kernels;
    pl_pool *pool;
    parley_splitter splitter;
} pl_environment;

/* Where the files are. */
typedef struct pl_location {
    const char *path; /* or NULL: in memory */
    const parley_memory_file *memory;
    size_t n_memory;
    const char *second_path, *codec_path; /* or NULL */
    parley_parts parts;
    parley_codec_type codec_type;
} pl_location;

typedef void (*pl_report_finding)(void *context, const parley_finding *finding);
typedef void (*pl_report_row)(void *context, const parley_bench_row *row);

/* Voice files. They depend on no open model but where a file does not name its own sizes. */
typedef struct pl_voice_file_ops {
    parley_status (*write)(const parley_voice *voice, void **bytes, size_t *size, parley_error *error);
    void (*bytes_free)(void *bytes, size_t size);
    parley_status (*read)(const void *bytes, size_t size, parley_voice **voice, parley_error *error);
    void (*free)(parley_voice *voice);
    parley_status (*read_spk)(const parley_info *info, const void *bytes, size_t size, float *vector, parley_error *error);
    parley_status (*read_rvq)(const parley_allocator *allocator, const parley_info *info, const void *bytes, size_t size, int32_t **codes,
                              size_t *frames, parley_error *error);
    parley_status (*write_rvq)(const int32_t *codes, size_t frames, int32_t groups, int32_t codebook_size, void **bytes, size_t *size,
                               parley_error *error);
    parley_status (*check)(const parley_voice *voice, const parley_info *info, parley_error *error);
} pl_voice_file_ops;

/* Synthesis. A session of a family begins with a struct parley_tts. */
typedef struct pl_tts_ops {
    void (*options_init)(const void *model, parley_tts_options *options);
    parley_status (*open)(const void *model, const parley_tts_options *options, parley_tts **session, parley_error *error);
    void (*close)(parley_tts *session);
    parley_status (*push_text)(parley_tts *session, const char *text, size_t length, parley_error *error);
    parley_status (*finish_text)(parley_tts *session, parley_error *error);
    parley_status (*pull)(parley_tts *session, float *pcm, size_t capacity, size_t *count, parley_error *error);
    /* At most `prompt_rows` rows of prompts; what is left of them comes with later steps. */
    parley_status (*step)(parley_tts *const *sessions, size_t count, int32_t prompt_rows, size_t *running, parley_error *errors);
    size_t (*ready)(const parley_tts *session);
    bool (*waiting)(const parley_tts *session);
    /* Whether there is long work in front of the next step; does it, while other sessions are stepped. Without it the step does it. Failures come
     * with the step. */
    bool (*wants_preparing)(const parley_tts *session);
    void (*prepare)(parley_tts *session);
    uint64_t (*kv_bytes)(const parley_tts *session); /* most that its caches come to, as far as its text is known */
    void (*cancel)(parley_tts *session);
    void (*result)(const parley_tts *session, parley_tts_result *result);
    parley_status (*codec_open)(const void *model, const parley_codec_options *options, parley_codec **codec, parley_error *error);
    void (*codec_close)(parley_codec *codec);
    parley_status (*codec_decode)(parley_codec *codec, const int32_t *codes, size_t frames, float *pcm, parley_error *error);
    int64_t (*speaker_find)(const void *model, const char *name);
    parley_status (*reference_open)(const void *model, const int32_t *codes, size_t frames, parley_reference **reference, parley_error *error);
    void (*reference_close)(parley_reference *reference);
    parley_status (*voice_vector)(const void *model, const float *pcm, size_t samples, const parley_voice_options *options, float *vector,
                                  parley_error *error);
    parley_status (*codec_encode)(const void *model, const float *pcm, size_t samples, const parley_voice_options *options, int32_t **codes,
                                  size_t *frames, parley_error *error);
    uint64_t (*reference_cut)(uint64_t ref_frames, uint64_t total_frames, uint64_t samples);
    const pl_voice_file_ops *voice_files;
} pl_tts_ops;

/* Recognition and alignment. A session of a family begins with a struct parley_asr. */
typedef struct pl_asr_ops {
    void (*options_init)(const void *model, parley_asr_options *options);
    parley_status (*open)(const void *model, const parley_asr_options *options, parley_asr **session, parley_error *error);
    void (*close)(parley_asr *session);
    parley_status (*push)(parley_asr *session, const float *pcm, size_t samples, parley_error *error);
    parley_status (*finish)(parley_asr *session, parley_error *error);
    parley_status (*step)(parley_asr *const *sessions, size_t count, int32_t prompt_rows, size_t *running, parley_error *errors); /* as above */
    bool (*can_step)(const parley_asr *session); /* whether a step has something to do */
    /* Takes over what was prepared; whether there is more: sound to encode, or a stream's answer to read. Does it, while other sessions are stepped,
     * and this one unless it is a stream. Failures come with the step. What comes of a stream is one update, which waits to be taken. */
    bool (*wants_preparing)(parley_asr *session);
    void (*prepare)(parley_asr *session);
    bool (*take_update)(parley_asr *session, parley_asr_update *update);
    parley_status (*kv_bytes)(const parley_asr *session, uint64_t *bytes, parley_error *error);            /* most that its caches come to */
    parley_status (*poll)(parley_asr *session, parley_asr_update *update, bool *got, parley_error *error); /* a stream's steps and all */
    void (*cancel)(parley_asr *session);
    void (*result)(parley_asr *session, parley_asr_result *result);
    const float *(*sound)(const parley_asr *session, size_t *samples);
    void (*align_options_init)(const void *model, parley_align_options *options);
    /* `cancel` may be NULL. */
    parley_status (*align)(const void *model, const float *pcm, size_t samples, pl_bytes text, const parley_align_options *options,
                           const atomic_bool *cancel, parley_alignment **alignment, parley_error *error);
    /* Most that its cache comes to; errors as there where they come from the text. */
    parley_status (*align_kv_bytes)(const void *model, size_t samples, pl_bytes text, const parley_align_options *options, uint64_t *bytes,
                                    parley_error *error);
} pl_asr_ops;

struct pl_sink; /* models/quantize.h */

typedef struct pl_family {
    const char *name;
    bool (*probe)(const parley_allocator *allocator, pl_source *source); /* whether the files look like this family's */
    parley_status (*open)(const pl_environment *environment, const pl_location *location, void **model, parley_error *error);
    void (*close)(void *model);
    const parley_info *(*info)(const void *model);
    parley_status (*inspect)(const pl_environment *environment, const pl_location *location, parley_info **info, parley_error *error);
    parley_status (*check)(const pl_environment *environment, const pl_location *location, pl_report_finding report, void *context, size_t *faults,
                           parley_error *error);
    parley_status (*tokenize)(const void *model, const char *text, size_t length, bool special_tokens, int32_t **ids, size_t *count,
                              parley_error *error);
    parley_status (*bench)(const void *model, const parley_bench_options *options, pl_report_row report, void *context, parley_error *error);
    parley_status (*quantize)(const pl_environment *environment, const pl_location *location, const parley_quantize_options *options,
                              const struct pl_sink *sink, parley_error *error);
    const pl_tts_ops *tts; /* NULL: the family does not speak */
    const pl_asr_ops *asr; /* NULL: it does not hear */
} pl_family;

struct parley_tts {
    const pl_tts_ops *ops;
    const void *model; /* the family's */
};

struct parley_asr {
    const pl_asr_ops *ops;
    const void *model; /* the family's */
};

struct parley_reference {
    const pl_tts_ops *ops;
};

struct parley_codec {
    const pl_tts_ops *ops;
};

/* All families, NULL behind the last. */
const pl_family *const *pl_families(void);

#endif
