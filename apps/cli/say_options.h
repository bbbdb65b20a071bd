/* What `parley say` is asked for, shared by one text (say.c) and many (say_jobs.c). */
#ifndef CLI_SAY_OPTIONS_H
#define CLI_SAY_OPTIONS_H

#include <parley/tts.h>

#include "clone.h"
#include "codes.h"
#include "dump.h"
#include "model_options.h"
#include "npy.h"
#include "wav.h"

typedef struct say_fields {
    cli_model_fields model;
    cli_text voice, voices, language, instruct, xvector, ref_codes, ref_text, ref_text_file, clone;
    cli_sound_fields sound; /* of --clone */
    cli_int layout, kv, activations, wav_format, clone_mode;
    cli_flag greedy, special_tokens, allow_empty, lines, quiet, no_cache, live;
    cli_real clone_silence, pause, speed;
    cli_real temperature, top_p, repetition_penalty, sub_temperature, sub_top_p;
    cli_int top_k, sub_top_k, max_frames, batch, split;
    cli_seed seed;
    cli_text output, json, codes, teacher, dump, file, jobs, output_dir;
} say_fields;

extern const cli_command say_command;

/* Checks what options mean together. */
parley_status say_check(const say_fields *fields, const cli_arguments *arguments, parley_error *error);

/* What a value of --voice means: a speaker of the model (its name lives with the model), a voice file, or neither. */
typedef struct say_voice {
    const char *speaker;
    parley_voice *file;
} say_voice;

/* What the options name: files, read before the model is opened, and the voice. */
typedef struct say_inputs {
    cli_npy xvector;
    cli_codes ref_codes, teacher;
    cli_buffer ref_text;
    cli_clone clone;
    say_voice voice;
} say_inputs;

extern const char *const say_clone_modes[];

parley_status say_read_inputs(const say_fields *fields, say_inputs *inputs, parley_error *error);
void say_free_inputs(say_inputs *inputs);

/* The library's options for this model. `row` (may be NULL) is the voice of one text among many and wins. The seed is the one given, or drawn at
 * random. Fails where codes do not fit the model. */
parley_status say_tts_options(const parley_model *model, const say_fields *fields, const say_inputs *inputs, const say_voice *row,
                              parley_tts_options *options, parley_error *error);

/* Long texts are spoken in pieces: sets them up for a text of `bytes`, SIZE_MAX when that is not known. Teacher codes and dumps are of one piece, and
 * so is the exact cut. */
void say_set_pieces(const say_fields *fields, size_t bytes, parley_tts_options *options);

parley_status say_draw_seed(uint64_t *seed, parley_error *error);

/* `parley say` with --jobs or --lines. */
parley_status say_many(const say_fields *fields, parley_error *error);

#endif
