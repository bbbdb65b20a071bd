/* A transcript as text: plain, subtitles (SubRip, WebVTT), a table, lyrics. JSON is written elsewhere. */
#ifndef CLI_SUBTITLES_H
#define CLI_SUBTITLES_H

#include "buffer.h"
#include "transcript.h"

typedef enum cli_text_format {
    CLI_FORMAT_TXT, /* the text and a line end */
    CLI_FORMAT_SRT, /* cues, HH:MM:SS,mmm */
    CLI_FORMAT_VTT, /* cues, HH:MM:SS.mmm; & < > as entities */
    CLI_FORMAT_TSV, /* start and end in ms and the text: a row for each word, of a segment without words one for the segment */
    CLI_FORMAT_LRC  /* [mm:ss.xx] and one line for each cue */
} cli_text_format;

/* "txt", "srt", "vtt", "tsv", "lrc"; false when it is none of them. */
bool cli_text_format_find(const char *name, cli_text_format *format);

/* Appends the whole file. Errors: MEMORY. */
parley_status cli_write_text(cli_buffer *out, cli_text_format format, const cli_transcript *transcript, parley_error *error);

#endif
