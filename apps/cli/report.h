/* The --json object of a spoken text. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <parley/tts.h>

#include "clone.h"
#include "json_out.h"

typedef struct cli_report {
    parley_tts_result result;
    int32_t sample_rate; /* Hz */
    double load;         /* seconds of opening the model */
    bool teacher;
    const cli_clone *clone; /* of --clone; NULL: none */
} cli_report;

double cli_report_audio_seconds(const cli_report *report);
/* Members of an object that is open. */
void cli_report_members(cli_json *json, const cli_report *report);

/* Largest resident memory of this process so far, in bytes; 0 when the system does not tell. */
uint64_t cli_peak_memory(void);

#endif
