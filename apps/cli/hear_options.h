/* What `parley hear` is asked for. */
#ifndef CLI_HEAR_OPTIONS_H
#define CLI_HEAR_OPTIONS_H

#include <parley/asr.h>

#include "audio_in.h"
#include "model_options.h"
#include "subtitles.h"
#include "unit_options.h"

typedef struct hear_fields {
    cli_model_fields model;
    cli_audio_fields audio;
    cli_unit_fields cutting;
    cli_text language, context, context_file, aligner, output, output_dir, dump;
    cli_int max_tokens, attention, join, gate, timestamps, format, kv, activations;
    cli_real segment;
    cli_flag stream, quiet;
} hear_fields;

extern const cli_command hear_command;

/* The formats of hear and align: those of cli_text_format, then JSON. */
enum { HEAR_JSON = 5 };
enum { HEAR_MOST_SECONDS = 24 * 3600 };  /* of sound in a file */
extern const char *const hear_formats[]; /* names, which are the endings of files too */
extern const char *const hear_attentions[];

/* What --format says, or the ending of -o, or `otherwise`. */
int32_t hear_format(const cli_int *format, const cli_text *output, int32_t otherwise);

/* Options that exclude or need each other, and the names of the files. */
parley_status hear_check(const hear_fields *fields, const cli_arguments *arguments, parley_error *error);

/* The file of --output-dir that belongs to a sound: its name with the ending of the format. */
void hear_output_path(const hear_fields *fields, const char *sound, cli_buffer *path);

/* Text that the library takes as a C string: from a file, with one line end at its end removed. FORMAT: a NUL in it. */
parley_status hear_read_text(const char *path, const char *what, cli_buffer *text, parley_error *error);

void hear_asr_options(const parley_model *model, const hear_fields *fields, const char *context, parley_asr_options *options);

/* Opens a model that finds the times of words. STATE: it is another kind. */
parley_status hear_open_aligner(const cli_model_fields *fields, parley_model **model, double *seconds, parley_error *error);

#endif
