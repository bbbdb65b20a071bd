/* Directories of the user: where they are, and making them. The environment is read here and nowhere else. */
#ifndef CLI_FOLDERS_H
#define CLI_FOLDERS_H

#include "buffer.h"

/* "$VARIABLE/parley/voices", or "$HOME/below/parley/voices" where the variable is not set to an absolute path. False: no home either. */
bool cli_user_folder(const char *variable, const char *below, cli_buffer *path);

/* Makes a directory and those above it that are missing, with this mode. IO. */
parley_status cli_make_folders(const char *path, unsigned mode, parley_error *error);

#endif
