/* Options that open a model, the same for every subcommand. */
#ifndef CLI_MODEL_OPTIONS_H
#define CLI_MODEL_OPTIONS_H

#include "options.h"

typedef struct cli_model_fields {
    cli_text model, model2, codec;
    cli_int threads, cpu, splitter, codec_type;
} cli_model_fields;

/* Choices in the order of parley_cpu from SCALAR on, and of parley_splitter. */
extern const char *const cli_cpu_choices[];
extern const char *const cli_splitter_choices[];
extern const char *const cli_activations_choices[];
extern const char *const cli_kv_choices[];         /* of parley_kv */
extern const char *const cli_codec_type_choices[]; /* of parley_codec_type from F32 on */

/* Rows of an option table; `fields` is the member of `type` that is a cli_model_fields. */
#define CLI_ROW_MODEL(type, fields)                                                                                   \
    {                                                                                                                 \
        .name = "--model", .letter = 'm', .kind = CLI_TEXT, .offset = offsetof(type, fields.model), .value = "MODEL", \
        .help = "directory, GGUF file or folder of GGUF files; default: the one that comes with parley"               \
    }
#define CLI_ROW_MODEL2(type, fields)                                                                                    \
    {                                                                                                                   \
        .name = "--model2", .alias = "-m2", .kind = CLI_TEXT, .offset = offsetof(type, fields.model2), .value = "FILE", \
        .help = "the other file of a model in two (text model, mmproj); default: sought beside"                         \
    }
#define CLI_ROW_CODEC(type, fields)                                                                   \
    {                                                                                                 \
        .name = "--codec", .kind = CLI_TEXT, .offset = offsetof(type, fields.codec), .value = "PATH", \
        .help = "codec to use in place of the one that lies with the model"                           \
    }
#define CLI_ROW_CODEC_TYPE(type, fields)                                                                                          \
    {                                                                                                                             \
        .name = "--codec-type", .kind = CLI_CHOICE, .offset = offsetof(type, fields.codec_type),                                  \
        .help = "arithmetic of the codec: int8 is faster, f32 exact; default as stored, f32 unless parley quantize made it int8", \
        .choices = cli_codec_type_choices                                                                                         \
    }
#define CLI_ROW_THREADS(type, fields)                                                                 \
    {                                                                                                 \
        .name = "--threads", .kind = CLI_INT, .offset = offsetof(type, fields.threads), .value = "N", \
        .help = "threads that compute; default: one a core, at most 8", .low = 1, .high = 256         \
    }
#define CLI_ROW_CPU(type, fields)                                                                        \
    {                                                                                                    \
        .name = "--cpu", .kind = CLI_CHOICE, .offset = offsetof(type, fields.cpu), .value = "LEVEL",     \
        .help = "highest processor level to use; default: the best there is", .choices = cli_cpu_choices \
    }
#define CLI_ROW_SPLITTER(type, fields)                                                                            \
    {                                                                                                             \
        .name = "--splitter", .kind = CLI_CHOICE, .offset = offsetof(type, fields.splitter), .value = "NAME",     \
        .help = "word splitter of the tokenizer; default qwen2, the model's own", .choices = cli_splitter_choices \
    }

/* Fills the library's options from the fields. */
parley_status cli_open_options(const cli_model_fields *fields, parley_parts parts, parley_open_options *options, parley_error *error);

/* The path of -m, or the default model where there is none. ARGUMENT: -m2 without -m. */
parley_status cli_model_path(const cli_model_fields *fields, cli_buffer *buffer, parley_error *error);

/* Opens the model; `*seconds` (may be NULL) is how long that took. */
parley_status cli_open_model(const cli_model_fields *fields, parley_parts parts, parley_model **model, double *seconds, parley_error *error);

#endif
