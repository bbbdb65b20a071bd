/* How far a model that was made from another one is from it: stages, choices under the same teacher, durations. */
#ifndef CLI_QUALITY_H
#define CLI_QUALITY_H

#include "model_options.h"

typedef struct cli_quality {
    const cli_model_fields *fields; /* threads and level; a codec of the source */
    const char *source, *made;      /* paths of the two models */
    const char *report;             /* where the JSON goes */
    const char *texts, *clips;      /* files of lines; NULL: texts of its own, no clips */
} cli_quality;

/* Whether there is something to compare, before a model is made for it: the kind of the source, and the file of texts or clips. ARGUMENT, IO, or why
 * the source cannot be read. */
parley_status cli_quality_check(const cli_quality *quality, parley_error *error);

/* Speaks the texts, or hears the clips, with both models, and writes what differs. */
parley_status cli_quality_report(const cli_quality *quality, parley_error *error);

#endif
