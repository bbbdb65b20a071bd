/* Files that the program reads. None of them is replaced by what it writes, whatever the two are called: that is checked when either is opened. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include <sys/stat.h>

#include "common.h"

/* Remembers the file that `fd` reads, by identity; `name` is for messages. Pipes and devices are left out. ARGUMENT when an open output is the same
 * file, MEMORY. From the main thread alone. */
parley_status cli_input(const char *name, int fd, parley_error *error);

/* The same for the files of a model (model_files.h). A path that leads nowhere is left to whoever opens it. */
parley_status cli_input_model(const char *path, parley_error *error);

/* ARGUMENT when `output`, which is the file `is`, would replace one that is remembered. */
parley_status cli_inputs_spared(const char *output, const struct stat *is, parley_error *error);

#endif
