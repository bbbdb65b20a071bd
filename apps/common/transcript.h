/* What was heard, as the writers of the program see it: the members of the JSON of `hear` and `align`. Texts are UTF-8 and never NULL. */
#ifndef CLI_TRANSCRIPT_H
#define CLI_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times are seconds from the beginning of the sound. */
typedef struct cli_word {
    const char *text; /* no punctuation around it */
    double start, end;
} cli_word;

typedef struct cli_segment {
    double start, end;
    const char *text, *language, *finish_reason;
    const int32_t *token_ids; /* [n_tokens]: all generated ones */
    const float *logprobs;    /* [n_tokens] */
    size_t n_tokens;
    bool no_speech, looped, echoed;
    const cli_word *words; /* [n_words]; none without an aligner */
    size_t n_words;
} cli_segment;

typedef struct cli_transcript {
    const char *file, *language, *text, *finish_reason;
    double audio_seconds;
    const cli_segment *segments;
    size_t n_segments;
} cli_transcript;

#endif
