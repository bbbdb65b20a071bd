/* Parts of `parley voice`, each a subcommand of its own; see commands.h. */
#ifndef CLI_VOICE_H
#define CLI_VOICE_H

#include "options.h"

/* Recordings (voice.c), and voices that are there already (voice_files.c). */
parley_status cli_voice_vector(int argc, char **argv, parley_error *error);
parley_status cli_voice_make(int argc, char **argv, parley_error *error);
parley_status cli_voice_list(int argc, char **argv, parley_error *error);
parley_status cli_voice_show(int argc, char **argv, parley_error *error);
parley_status cli_voice_remove(int argc, char **argv, parley_error *error);
parley_status cli_voice_import(int argc, char **argv, parley_error *error);
parley_status cli_voice_export(int argc, char **argv, parley_error *error);

/* Parses; `*done`: the help was asked for and printed. ARGUMENT where there are fewer than `least` arguments, whose name is `what`. */
parley_status cli_voice_parse(const cli_command *command, int argc, char **argv, void *fields, cli_arguments *arguments, size_t least,
                              const char *what, bool *done, parley_error *error);

#endif
