/* The model that comes with the program. */
#ifndef CLI_DEFAULT_MODEL_H
#define CLI_DEFAULT_MODEL_H

#include "buffer.h"

/* Looks beside the program, where it was installed and where it was built. MISSING: the error names -m and the places. */
parley_status cli_default_model(cli_buffer *path, parley_error *error);

#endif
