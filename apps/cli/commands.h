/* The subcommands. Each takes the words behind its name and returns the status that becomes the exit code; where the error's text is empty, the
 * message is printed already. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "common.h"

parley_status cli_say(int argc, char **argv, parley_error *error);
parley_status cli_codec(int argc, char **argv, parley_error *error);
parley_status cli_codec_encode(int argc, char **argv, parley_error *error); /* behind "codec encode" */
parley_status cli_voice(int argc, char **argv, parley_error *error);
parley_status cli_hear(int argc, char **argv, parley_error *error);
parley_status cli_align(int argc, char **argv, parley_error *error);
parley_status cli_tokenize(int argc, char **argv, parley_error *error);
parley_status cli_info(int argc, char **argv, parley_error *error);
parley_status cli_serve(int argc, char **argv, parley_error *error);
parley_status cli_quantize(int argc, char **argv, parley_error *error);
parley_status cli_bench(int argc, char **argv, parley_error *error);

#endif
