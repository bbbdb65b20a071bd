/* Intermediate results of two runs, compared stage by stage. */
#ifndef CLI_STAGES_H
#define CLI_STAGES_H

#include "json_out.h"

enum { CLI_MOST_STAGES = 8 };

/* Values of the named taps of one run, as they came. */
typedef struct cli_stages {
    const char *const *names; /* NULL at the end; at most CLI_MOST_STAGES */
    cli_buffer values[CLI_MOST_STAGES];
} cli_stages;

/* Sums over runs. */
typedef struct cli_stage_sums {
    double squares[CLI_MOST_STAGES], difference[CLI_MOST_STAGES];
    bool other_size[CLI_MOST_STAGES]; /* the runs gave another number of values: no error can be told */
} cli_stage_sums;

/* A parley_tap_fn whose context is a cli_stages. */
void cli_stages_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank);
void cli_stages_add(cli_stage_sums *sums, const cli_stages *source, const cli_stages *made);
void cli_stages_free(cli_stages *stages);

/* The member "stages": an array of names with relative errors (root of summed squares). */
void cli_stages_json(cli_json *json, const char *const *names, const cli_stage_sums *sums);

#endif
