/* Which files a model's path stands for. */
#ifndef CLI_MODEL_FILES_H
#define CLI_MODEL_FILES_H

#include <sys/stat.h>

#include "common.h"

/* Visits the regular files of a directory and of its codec's, or a GGUF file and those beside it, of which the loader may take some; in a folder in
 * the order of their names. None where there are none. MEMORY. */
parley_status cli_each_model_file(const char *path, void (*visit)(void *context, const char *path, const char *name, const struct stat *is),
                                  void *context, parley_error *error);

#endif
