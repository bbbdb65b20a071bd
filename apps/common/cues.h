/* A transcript cut into subtitles: cues of at most two lines of 42 columns (40, which is 20 wide characters, where the text has wide ones), at most
 * 7 s long, in order and without overlap, that end at punctuation and pauses where they can. */
#ifndef CLI_CUES_H
#define CLI_CUES_H

#include "buffer.h"
#include "transcript.h"

enum { CLI_LINES = 2, CLI_COLUMNS = 42, CLI_WIDE_COLUMNS = 40, CLI_CUE_MS = 7000 };

typedef struct cli_cue {
    int64_t start, end;      /* ms; start < end <= start of the next */
    size_t lines[CLI_LINES]; /* offsets of the lines in the text, each ends with a NUL */
    int n_lines;
} cli_cue;

typedef struct cli_cues {
    cli_buffer text;
    cli_cue *items;
    size_t count, room;
} cli_cues;

/* Columns on a terminal: 2 for wide characters, 0 for combining ones. */
int cli_columns(const char *text);

/* Times come from the words; of a segment without words they are spread evenly over its characters. Words must be those of the segment's text in
 * order; if they are not, or there is no text, the words alone are shown. `most_lines` is 1 or 2. Free with cli_cues_free(), also after an error.
 * Errors: MEMORY. */
parley_status cli_cues_make(const cli_transcript *transcript, int most_lines, cli_cues *cues, parley_error *error);
void cli_cues_free(cli_cues *cues);

#endif
