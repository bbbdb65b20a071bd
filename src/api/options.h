/* What the entry points share. */
#ifndef PL_API_OPTIONS_H
#define PL_API_OPTIONS_H

#include <parley/core.h>

/* The caller's options or the defaults, checked. ARGUMENT. */
parley_status pl_open_options_complete(const parley_open_options *given, parley_open_options *options, parley_error *error);

#endif
