/* The JSON of `hear` and `align`. */
#ifndef CLI_TRANSCRIPT_JSON_H
#define CLI_TRANSCRIPT_JSON_H

#include <parley/asr.h>

#include "json_out.h"
#include "transcript.h"

/* Where the time went, in seconds. */
typedef struct cli_hear_costs {
    double load, align; /* opening models; aligning, over all */
    parley_asr_times times;
    uint64_t kv_bytes;
} cli_hear_costs;

/* About the words of a segment. */
typedef struct cli_words_note {
    bool reliable;
    const char *units_by; /* NULL: nothing was aligned */
} cli_words_note;

/* Members of an object that is open. `notes` [n_segments]; NULL: no words were asked for. */
void cli_transcript_members(cli_json *json, const cli_transcript *transcript, const cli_words_note *notes, const cli_hear_costs *costs);

/* The member `words`. */
void cli_words_member(cli_json *json, const cli_word *words, size_t count);

/* The members `times`, `real_time_factor` and `peak_memory_bytes`. */
void cli_cost_members(cli_json *json, const cli_hear_costs *costs, double audio_seconds);

#endif
