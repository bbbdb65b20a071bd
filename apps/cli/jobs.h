/* Lists of texts to speak: lines of JSON objects, or plain lines. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "buffer.h"

typedef struct cli_job {
    cli_buffer text;
    cli_buffer voice, language, instruct; /* data NULL: not given */
    bool has_seed;
    uint64_t seed;
} cli_job;

typedef struct cli_jobs {
    cli_job *rows;
    size_t count;
} cli_jobs;

/* Each line that is not blank is an object with `text` and any of `voice`, `language`, `instruct`, `seed` (null: not given). Errors: FORMAT and
 * ARGUMENT (an unknown key, no text, no line at all), naming the line. */
parley_status cli_jobs_parse(const char *name, const char *data, size_t size, cli_jobs *jobs, parley_error *error);

/* Each line that is not empty is a text. */
parley_status cli_jobs_lines(const char *name, const char *data, size_t size, cli_jobs *jobs, parley_error *error);
void cli_jobs_free(cli_jobs *jobs);

#endif
