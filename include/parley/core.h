/* parley/core.h - status, errors, version, allocator, logger, models.
 *
 * Every function that can fail returns a parley_status and, when the caller passes a parley_error, fills it with a text that names what was
 * wrong, where, what was expected and what was found. The library never prints, exits, reads the environment or keeps global state.
 *
 * Threads: a parley_model is immutable once opened and may be shared by any number of threads; a session (tts.h) belongs to one thread at a
 * time, and any number of sessions may run at once. parley_tts_cancel() alone may be called from anywhere, a signal handler included.
 *
 * Options structures start with their own size; the init function fills in the defaults, then the caller changes what it wants. */
#ifndef PARLEY_CORE_H
#define PARLEY_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PARLEY_BUILD) && defined(__GNUC__)
#define PARLEY_API __attribute__((visibility("default")))
#else
#define PARLEY_API
#endif
#if defined(__GNUC__)
#define PARLEY_MUST_USE __attribute__((warn_unused_result))
#else
#define PARLEY_MUST_USE
#endif

#define PARLEY_VERSION_MAJOR 0
#define PARLEY_VERSION_MINOR 1
#define PARLEY_VERSION_PATCH 0

/* The version of the library that is linked, "major.minor.patch". */
PARLEY_API const char *parley_version(void);

/* ------------------------------------------------------------------ status and errors */

/* X(CONSTANT, name, HTTP status, exit code of the program, meaning) */
#define PARLEY_STATUS_LIST(X)                                                       \
    X(OK, "ok", 200, 0, "done")                                                     \
    X(ARGUMENT, "argument", 400, 2, "a wrong argument or option")                   \
    X(STATE, "state", 409, 3, "a call at the wrong time")                           \
    X(IO, "io", 500, 4, "a file cannot be opened, read or written")                 \
    X(FORMAT, "format", 422, 5, "bytes that cannot be understood")                  \
    X(MISSING, "missing", 422, 6, "a file, key or tensor that is not there")        \
    X(SHAPE, "shape", 422, 7, "a tensor whose shape contradicts the configuration") \
    X(UNSUPPORTED, "unsupported", 501, 8, "understood, but not for this engine")    \
    X(FAMILY, "family", 422, 9, "a model of another kind")                          \
    X(VALUE, "value", 500, 10, "a weight or result that is not finite")             \
    X(MEMORY, "memory", 503, 11, "out of memory")                                   \
    X(LIMIT, "limit", 413, 12, "input longer than a limit")                         \
    X(CANCELLED, "cancelled", 499, 130, "stopped by the caller")                    \
    X(DEVICE, "device", 500, 13, "a device or processor level that is not there")   \
    X(INTERNAL, "internal", 500, 14, "a fault of the library itself")               \
    X(BUSY, "busy", 503, 15, "no room for more work at the moment")                 \
    X(LATE, "late", 504, 16, "not done before the deadline")

typedef enum parley_status {
#define PARLEY_STATUS_ENUM(constant, name, http, exit_code, meaning) PARLEY_##constant,
    PARLEY_STATUS_LIST(PARLEY_STATUS_ENUM)
#undef PARLEY_STATUS_ENUM
} parley_status;

/* What went wrong. `text` is one line of UTF-8 without a line end. `position` is the byte offset in the named file where a parser stopped,
 * 0 where that has no meaning. Owned by the caller; functions that succeed leave it alone. */
typedef struct parley_error {
    parley_status status;
    uint64_t position;
    char text[500];
} parley_error;

/* The short name of a status ("format"), its HTTP status (422), its exit code (5). Unknown values give those of INTERNAL. */
PARLEY_API const char *parley_status_name(parley_status status);
PARLEY_API int parley_status_http(parley_status status);
PARLEY_API int parley_status_exit_code(parley_status status);

/* ------------------------------------------------------------------ allocator and logger */

/* All memory of the library comes from here. `alloc` returns `size` bytes aligned to `alignment` (a power of two, at most 4096) or NULL;
 * `release` gets the same size back. Both must be safe to call from several threads. */
typedef struct parley_allocator {
    void *(*alloc)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
} parley_allocator;

typedef enum parley_log_level { PARLEY_LOG_ERROR, PARLEY_LOG_WARNING, PARLEY_LOG_INFO, PARLEY_LOG_DEBUG } parley_log_level;

/* Remarks that are no errors (an instruction without effect, say). One line of UTF-8 without a line end; called on the thread that works. */
typedef struct parley_logger {
    void (*log)(void *context, parley_log_level level, const char *text);
    void *context;
} parley_logger;

/* ------------------------------------------------------------------ opening a model */

/* Processor levels, weakest first within an architecture. PARLEY_CPU_BEST takes the best one that the processor has. */
typedef enum parley_cpu {
    PARLEY_CPU_BEST,
    PARLEY_CPU_SCALAR,
    PARLEY_CPU_AVX2,
    PARLEY_CPU_AVX512,
    PARLEY_CPU_AVX512VNNI,
    PARLEY_CPU_AMX, /* AVX512VNNI and 8-bit tiles; opening a model at this level asks Linux for them, for the whole process */
    PARLEY_CPU_NEON,
    PARLEY_CPU_DOTPROD,
    PARLEY_CPU_I8MM
} parley_cpu;

/* "scalar", "avx2", .. "best"; and back: false when the name is none of them. */
PARLEY_API const char *parley_cpu_name(parley_cpu level);
PARLEY_API bool parley_cpu_from_name(const char *name, parley_cpu *level);

/* The word splitter in front of the byte pair encoding: the model's own, or the one that the reference swaps in for local directories. */
typedef enum parley_splitter { PARLEY_SPLITTER_QWEN2, PARLEY_SPLITTER_MISTRAL } parley_splitter;

/* What of a model is needed; the rest is neither required nor loaded. */
typedef enum parley_parts {
    PARLEY_PARTS_ALL,           /* everything that synthesis needs */
    PARLEY_PARTS_TEXT,          /* the tokenizer alone */
    PARLEY_PARTS_CODEC,         /* the codec's decoder alone */
    PARLEY_PARTS_SPEAKER,       /* the speaker encoder alone */
    PARLEY_PARTS_CODEC_ENCODER, /* the codec's encoder alone */
    PARLEY_PARTS_CLONE          /* everything that synthesis needs, and the speaker encoder and the codec's encoder where the model has them */
} parley_parts;

/* Arithmetic of the codec's decoder. INT8: its matrices rounded to 8 bits, in blocks of 32 values, and products with activations that are rounded
 * likewise; docs/QUALITY.md says how near that comes. STORED: INT8 for a codec that was stored so (parley quantize), F32 for all others. */
typedef enum parley_codec_type { PARLEY_CODEC_STORED, PARLEY_CODEC_F32, PARLEY_CODEC_INT8 } parley_codec_type;

typedef struct parley_open_options {
    size_t size;                       /* sizeof(parley_open_options) */
    const char *codec_path;            /* codec to use (directory or GGUF file); NULL: the one that lies with the model */
    const char *second_path;           /* the other file of a model in two (text model and mmproj file of llama.cpp); NULL: it is sought beside */
    parley_parts parts;                /* default PARLEY_PARTS_ALL */
    parley_cpu cpu;                    /* highest processor level to use; a level that the processor lacks is PARLEY_DEVICE */
    int32_t threads;                   /* threads that compute, the caller's included, 1 to 256; default: one a core, at most 8 */
    parley_splitter splitter;          /* default PARLEY_SPLITTER_QWEN2 */
    parley_codec_type codec_type;      /* default PARLEY_CODEC_STORED */
    const parley_allocator *allocator; /* NULL: malloc and free. Copied; its context must outlive the model. */
    const parley_logger *logger;       /* NULL: remarks are dropped. Copied likewise. */
} parley_open_options;

typedef struct parley_model parley_model;

/* Fills in the defaults. */
PARLEY_API void parley_open_options_init(parley_open_options *options);

/* Opens a model: a directory with config.json (safetensors), a GGUF file, or a folder of GGUF files. Of a model in two files either may be named, or
 * both, in any order. The files stay mapped until parley_model_close() and must not change meanwhile. Errors: IO, FORMAT, MISSING, SHAPE,
 * UNSUPPORTED, FAMILY, MEMORY, DEVICE, ARGUMENT. */
PARLEY_API PARLEY_MUST_USE parley_status parley_model_open(const char *path, const parley_open_options *options, parley_model **model,
                                                           parley_error *error);

/* A file in memory. `name` is its path inside the model directory ("config.json", "speech_tokenizer/model.safetensors"), or any name for GGUF. */
typedef struct parley_memory_file {
    const char *name;
    const void *data;
    size_t size;
} parley_memory_file;

/* The same from files in memory, which must stay until the model is closed. codec_path and second_path must be NULL. */
PARLEY_API PARLEY_MUST_USE parley_status parley_model_open_memory(const parley_memory_file *files, size_t count, const parley_open_options *options,
                                                                  parley_model **model, parley_error *error);

/* Closes a model; its sessions must be closed before. NULL is allowed. */
PARLEY_API void parley_model_close(parley_model *model);

/* ------------------------------------------------------------------ information */

typedef struct parley_speaker {
    const char *name;
    const char *dialect; /* "" when the speaker has none */
} parley_speaker;

typedef struct parley_type_use {
    const char *type; /* "f32", "bf16", "q8_0", .. */
    uint64_t tensors;
    uint64_t bytes;
} parley_type_use;

/* What a model is. All pointers live as long as the structure that holds them (the model, or until parley_info_free()). Numbers of a part that
 * is not there are 0, texts "". */
typedef struct parley_info {
    size_t size;
    const char *family;         /* "qwen3_tts" */
    const char *dialect;        /* "hf", "qwentts", "qts", "transcribe", "llama", "parley"; several joined by "+" */
    const char *model_type;     /* "base", "custom_voice", "voice_design"; "recogniser", "aligner"; "" */
    const char *model_size;     /* "0b6", "1b7", "" */
    const char *identity;       /* what voices depend on: type, size, length of vectors, groups and size of codebooks, as one word */
    const char *codec_identity; /* fingerprint of the codec's codebooks, on which codes depend (docs/VOICES.md): 64 hexadecimal digits */
    bool has_talker, has_predictor, has_speaker_encoder, has_codec, has_tokenizer;
    bool has_codec_encoder;                   /* without it no recording can become codes */
    bool has_audio_encoder, has_text_decoder; /* of models that hear */
    const char *const *languages;             /* as --language takes them, dialects left out; "auto" is always possible and not listed */
    size_t n_languages;
    const parley_speaker *speakers;
    size_t n_speakers;
    const parley_type_use *types;
    size_t n_types;
    uint64_t parameters;         /* values in the weights */
    uint64_t file_bytes;         /* size of all files that are used */
    uint64_t packed_bytes;       /* of weights held in packed form, in place of mapped ones */
    uint64_t kv_bytes_per_frame; /* 16-bit cache, one position */
    uint64_t memory_bytes;       /* estimate for one session of 60 s with a 16-bit cache: weights in use, cache, work space */
    int32_t talker_width, talker_layers, predictor_width, predictor_layers;
    int32_t encoder_width, encoder_layers, decoder_width, decoder_layers;
    int32_t groups;        /* codes a frame */
    int32_t codebook_size; /* valid codes are 0 .. codebook_size - 1 */
    int32_t text_vocabulary;
    int32_t xvector_length; /* of voices given as a vector; 0: the model takes none */
    int32_t context_length; /* positions: prompt and frames together */
    int32_t max_new_tokens; /* the checkpoint's own limit of frames, plus 1 */
    int32_t sample_rate;    /* Hz */
    int32_t samples_per_frame;
} parley_info;

/* Of an open model. */
PARLEY_API const parley_info *parley_model_info(const parley_model *model);

/* Of files, without loading weights; one part alone (a tokenizer file, say) is no error. Free with parley_info_free(). */
PARLEY_API PARLEY_MUST_USE parley_status parley_inspect(const char *path, const parley_open_options *options, parley_info **info,
                                                        parley_error *error);
PARLEY_API void parley_info_free(parley_info *info);

typedef enum parley_finding_kind {
    PARLEY_FINDING_MISSING,
    PARLEY_FINDING_SHAPE,
    PARLEY_FINDING_TYPE,
    PARLEY_FINDING_VALUE, /* not finite */
    PARLEY_FINDING_UNUSED
} parley_finding_kind;

typedef struct parley_finding {
    parley_finding_kind kind;
    const char *tensor; /* the name in the file */
    const char *text;   /* what was expected and found */
} parley_finding;

/* Reads every tensor and reports all findings. `*faults` counts those that are not PARLEY_FINDING_UNUSED. Fails only where the files cannot be
 * read or understood at all. */
PARLEY_API PARLEY_MUST_USE parley_status parley_check(const char *path, const parley_open_options *options,
                                                      void (*report)(void *context, const parley_finding *finding), void *context, size_t *faults,
                                                      parley_error *error);

/* ------------------------------------------------------------------ text */

/* Ids of `text` (UTF-8, `length` bytes; NULs are characters). With `special_tokens` the spellings of added tokens are read as these tokens,
 * without it they are text. `*ids` is released with parley_free_ids(). Errors: FORMAT (invalid UTF-8, with its position), MISSING (no tokenizer). */
PARLEY_API PARLEY_MUST_USE parley_status parley_tokenize(const parley_model *model, const char *text, size_t length, bool special_tokens,
                                                         int32_t **ids, size_t *count, parley_error *error);
PARLEY_API void parley_free_ids(const parley_model *model, int32_t *ids, size_t count);

/* ------------------------------------------------------------------ measuring */

typedef struct parley_bench_row {
    const char *stage; /* "talker step", .. */
    const char *shape; /* "1024 x 3072, n 1" */
    const char *type;  /* weight type */
    const char *level; /* processor level */
    int32_t threads;
    double seconds;                   /* median of one run */
    double seconds_low, seconds_high; /* fastest and slowest run */
    double gigabytes;                 /* weight bytes read in one run, 1e9 */
    double giga_operations;           /* multiplications and additions in one run, 1e9 */
    /* Of the machine's limit, measured in the same call: the time in which its memory could deliver the bytes or its arithmetic do the operations,
     * whichever is longer, as a share of `seconds`. 0 where the work is not known. */
    double share;
    const char *limit; /* "read", "int8", "f32": which of them; "" where the work is not known */
} parley_bench_row;

typedef struct parley_bench_options {
    size_t size;
    int32_t runs;          /* measurements of each stage, the median is reported; default 5 */
    int32_t prompt;        /* positions of the prefill; default 107 */
    int32_t frames;        /* frames of the whole run; default 125 */
    bool int8_activations; /* default true: as synthesis does */
} parley_bench_options;

/* Fills in the defaults. */
PARLEY_API void parley_bench_options_init(parley_bench_options *options);

/* Times the stages of an open model on made-up input; each row is reported as soon as it is measured. */
PARLEY_API PARLEY_MUST_USE parley_status parley_model_bench(const parley_model *model, const parley_bench_options *options,
                                                            void (*report)(void *context, const parley_bench_row *row), void *context,
                                                            parley_error *error);

#ifdef __cplusplus
}
#endif
#endif
