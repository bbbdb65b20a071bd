/* What was heard of one file, written down: words are found, then the transcript goes into the format. */
#ifndef CLI_HEAR_RESULT_H
#define CLI_HEAR_RESULT_H

#include "hear_options.h"
#include "transcript_json.h"

/* A file whose session has ended. */
typedef struct hear_result {
    const hear_fields *fields;
    const parley_model *model, *aligner; /* aligner NULL: no words */
    const cli_unit_rules *cutting;
    const char *file;
    parley_asr *session;
    double load;       /* seconds of opening the models */
    bool warn;         /* about cut texts and doubtful times */
    double seconds;    /* out: of work */
    size_t n_segments; /* out */
    parley_finish finish;
} hear_result;

/* Appends JSON or text. */
parley_status hear_write_result(hear_result *result, int32_t format, cli_buffer *out, parley_error *error);

#endif
