/* The voice that `parley say` speaks with: a speaker of the model, a voice file, or one that --clone makes. */
#ifndef CLI_SAY_VOICE_H
#define CLI_SAY_VOICE_H

#include "say_options.h"

/* A name as --voice and jobs take it: "none" and "" are no speaker. */
const char *say_speaker(const char *name);

/* What `value` of --voice or a row means for this model: a file; else a speaker; else a name of the directory of voices. Errors: ARGUMENT (unknown:
 * names the speakers and voices; a voice of other sizes), and those of reading files. Free with say_voice_free(). */
parley_status say_voice_find(const parley_model *model, const say_fields *fields, const char *value, say_voice *voice, parley_error *error);
void say_voice_free(say_voice *voice);

/* Runs --clone, when it is given, into the inputs. `dump` (may be NULL) takes the encoders' stages. */
parley_status say_clone(const say_fields *fields, say_inputs *inputs, cli_dump *dump, parley_error *error);

/* What only the open model can answer: the voice of --voice, and whether the clone fits. */
parley_status say_bind_voice(const parley_model *model, const say_fields *fields, say_inputs *inputs, parley_error *error);

/* Voice, vector, reference of the options; `row` (may be NULL) wins over what the command line says. */
void say_set_voice(const say_fields *fields, const say_inputs *inputs, const say_voice *row, parley_tts_options *options);

#endif
