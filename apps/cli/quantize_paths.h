/* Where `parley quantize` may write. */
#ifndef CLI_QUANTIZE_PATHS_H
#define CLI_QUANTIZE_PATHS_H

#include "common.h"

/* Fails when `out` is the model, a part of it, or a file inside its folder: a model is not written over what it is made from, and a folder of GGUF
 * files would hold it twice. `codec` NULL: none. ARGUMENT. */
parley_status cli_quantize_paths(const char *in, const char *codec, const char *out, parley_error *error);

#endif
