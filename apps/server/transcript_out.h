/* What was heard, in the formats of /v1/audio/transcriptions. */
#ifndef SERVER_TRANSCRIPT_OUT_H
#define SERVER_TRANSCRIPT_OUT_H

#include <parley/asr.h>

#include "buffer.h"

typedef enum srv_text_format { SRV_TEXT_JSON, SRV_TEXT_PLAIN, SRV_TEXT_SRT, SRV_TEXT_VERBOSE, SRV_TEXT_VTT, SRV_TEXT_FORMATS } srv_text_format;

bool srv_text_format_find(const char *name, srv_text_format *format);
const char *srv_text_format_type(srv_text_format format); /* of media */

/* Words of the segments: alignments[i] (NULL where segment i has none) with times from the segment's start. NULL: no words were found. */
typedef struct srv_heard {
    const parley_asr_result *result;
    const parley_alignment *const *alignments;
    bool words, segments; /* verbose: which lists are wanted */
} srv_heard;

parley_status srv_write_heard(cli_buffer *out, srv_text_format format, const srv_heard *heard, parley_error *error);

/* Member `usage`-like figures of a done event: {"type": "duration", "seconds": n}. */
void srv_write_usage(cli_buffer *out, double seconds);

#endif
