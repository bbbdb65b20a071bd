/* parley hear --stream: one sound, written down while it comes. */
#ifndef CLI_HEAR_STREAM_H
#define CLI_HEAR_STREAM_H

#include "hear_options.h"

/* Behind hear_check(): what a stream cannot do. */
parley_status hear_stream_check(const hear_fields *fields, const cli_arguments *arguments, parley_error *error);
parley_status hear_stream(const hear_fields *fields, const char *sound, parley_error *error);

#endif
