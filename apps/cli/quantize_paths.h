/* Where `parley quantize` may write. */
#ifndef CLI_QUANTIZE_PATHS_H
#define CLI_QUANTIZE_PATHS_H

#include "model_options.h"

/* Fails when `out` is the model, a part of it, or a file inside its folder: a model is not written over what it is made from, and a folder of GGUF
 * files would hold it twice. `more` has the model's second file and another codec, if any. This is finer than the rule for all files that are read
 * (inputs.h), by which no file beside a GGUF file could be made anew. Nor may `report` (NULL: none), which
 * must not be `out` either, and must be a place where a file can be made. ARGUMENT, IO. */
parley_status cli_quantize_paths(const char *in, const cli_model_fields *more, const char *out, const char *report, parley_error *error);

#endif
