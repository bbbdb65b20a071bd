/* A session that hears while the sound comes (spec/qwen3_asr.md 6). Every chunk is answered from the whole segment so far, but rows of finished
 * attention windows stay in the decoder's cache, and the answer begins with what the last ones agreed on. stream.c sound and updates, stream_answer.c
 * the two networks, stream_text.c which text stands, stream_doubts.c silence and echoes. */
#ifndef PL_MODELS_QWEN3_ASR_STREAM_H
#define PL_MODELS_QWEN3_ASR_STREAM_H

#include "models/qwen3_asr/prefix.h"
#include "models/qwen3_asr/session.h"

/* What one answer cost. */
typedef struct asr_stream_work {
    int64_t frames; /* through the tower */
    int64_t prompt; /* positions of the prompt that were computed */
    int64_t tokens; /* chosen */
} asr_stream_work;

/* The texts of the segment. */
typedef struct asr_stream_text {
    pl_span raw;       /* the last answer, header included */
    pl_span prefix;    /* what of it the next answer begins with; only ever grows */
    pl_span text;      /* as shown; a NUL behind it */
    pl_span language;  /* a NUL behind it */
    size_t stable;     /* bytes of the text that stand */
    size_t stable_raw; /* bytes of the raw answer that they come from */
    bool no_speech;
} asr_stream_text;

/* An answer's way: a chunk's sound is encoded, the decoder answers in steps that are shared with other sessions, the answer is read. */
typedef enum asr_stream_stage {
    ASR_STREAM_IDLE,  /* waits for sound */
    ASR_STREAM_ASKED, /* `answer` takes part in steps */
    ASR_STREAM_SAID   /* they are over */
} asr_stream_stage;

/* What is being heard. */
typedef struct asr_stream_chunk {
    int64_t samples; /* of the segment, from its beginning */
    bool final;      /* all of it: its text stands */
    bool is_rest;    /* a short piece behind a cut */
    bool bare;       /* heard again, without the context */
    pl_span said;    /* then: the answer with the context */
} asr_stream_chunk;

struct asr_stream {
    pl_arena arenas[2]; /* texts of this update and of the one before */
    int turn;
    asr_stream_stage stage;
    asr_stream_chunk now;
    asr_segment answer;      /* its cache stays from one to the next */
    asr_prompt prompt, bare; /* without rows: they go in at audio_at; without the context, made when it is needed */
    parley_asr_update update;
    bool has_update;             /* that waits to be taken */
    int64_t chunk, limit;        /* samples; of a segment */
    int64_t window, window_rows; /* samples and rows of an attention window */
    int64_t base;                /* samples of the sound before the segment */
    int64_t at, filled;          /* of the session's buffer: the segment's first sample; end of the sound */
    int64_t heard, answered;     /* samples of the segment: taken; that the last answer saw */
    int64_t windows;             /* of the segment whose rows the cache holds, when the answer is there */
    float most;                  /* largest log-mel value of these */
    size_t step;                 /* answers of the segment */
    bool open;                   /* something in the segment could be speech */
    bool spaced;                 /* as the text of the segments before ends */
    bool looped;                 /* the guard ended the last answer */
    bool spoken, echoed;         /* a text that is a piece of the context was heard without it, too; was not */
    asr_stream_text text;
    parley_finish finish, worst; /* of the last answer; of the final ones */
    asr_stream_work work;        /* of the last poll */
};

parley_status pl_asr_stream_open(asr_session *s, parley_error *error);
void pl_asr_stream_close(asr_session *s);

/* Moves the sound to the buffer's start where that is cheap; returns how many samples the buffer holds. */
size_t pl_asr_stream_make_room(asr_session *s);
void pl_asr_stream_pushed(asr_session *s, size_t samples);

/* Whether there is something to do that is no step: sound to encode, an answer to read; does it. At most one update comes of it, which waits to be
 * taken. A failure is kept in the session and leaves the stream unusable. */
bool pl_asr_stream_wants(const asr_session *s);
void pl_asr_stream_prepare(asr_session *s);
bool pl_asr_stream_take_update(asr_session *s, parley_asr_update *update);
parley_finish pl_asr_stream_finish(const asr_session *s);
double pl_asr_stream_heard(const asr_session *s); /* seconds */

enum {
    ASR_STREAM_LEAST = PARLEY_ASR_RATE / 2
}; /* samples: a shorter rest behind a cut is heard with silence behind it, as the pieces of a file are */

/* stream_answer.c: asks for the answer to what is being heard, 201 samples or more or a rest, behind the prefix; encodes its sound. Errors:
 * CANCELLED too. Ends the steps of the answer; its text then, in the arena of the turn. */
parley_status pl_asr_stream_ask(asr_session *s, parley_error *error);
void pl_asr_stream_answered(asr_session *s, parley_finish finish);
parley_status pl_asr_stream_said(asr_session *s, pl_span *said, parley_error *error);

/* stream_doubts.c: whether nothing in what is being heard could be speech; asked for growing numbers of samples. */
parley_status pl_asr_stream_is_silent(asr_session *s, bool *silent, parley_error *error);
/* Whether what was said behind the prefix may be the context given back. Then the same is heard without it: asks for that; and whether it was. */
parley_status pl_asr_stream_is_doubtful(asr_session *s, pl_span said, bool *doubtful, parley_error *error);
parley_status pl_asr_stream_ask_bare(asr_session *s, pl_span said, parley_error *error);
parley_status pl_asr_stream_is_echo(asr_session *s, pl_span bare, bool *echo, parley_error *error);

/* stream_text.c: the text that the segment would have with this behind the prefix; takes what was said behind the prefix; `final`: all of it stands.
 */
parley_status pl_asr_stream_read(asr_session *s, pl_span said, pl_answer *answer, parley_error *error);
parley_status pl_asr_stream_take(asr_session *s, pl_span said, bool final, parley_error *error);
/* Copies the texts into the arena of the turn. */
parley_status pl_asr_stream_carry(asr_session *s, parley_error *error);

static inline pl_arena *pl_asr_stream_arena(asr_stream *stream)
{
    return &stream->arenas[stream->turn];
}

#endif
