/* A synthesis session: text -> prompt -> frames -> PCM. session.c its lifetime and the public calls, voices.c the options, text.c the text and what
 * of it is spoken next, frames.c the frame loop of one or many sessions, speech.c the way from codes to PCM. */
#ifndef PL_MODELS_QWEN3_TTS_SESSION_H
#define PL_MODELS_QWEN3_TTS_SESSION_H

#include "audio/stretch.h"
#include "models/qwen3_tts/family.h"
#include "models/qwen3_tts/prompt.h"
#include "text/buffer.h"

typedef enum tts_state {
    TTS_STATE_TEXT,   /* there is no prompt: it lacks text, or the next piece has not begun */
    TTS_STATE_PROMPT, /* the prompt has not been computed, or not all of it */
    TTS_STATE_FRAMES,
    TTS_STATE_DONE,  /* finish is set, PCM may be left to pull */
    TTS_STATE_FAILED /* failure is set */
} tts_state;

/* Reference codes and the codec's state behind them; immutable. */
typedef struct tts_reference {
    parley_reference base;
    const tts_model *model;
    pl_codec_state *state;
    int32_t *codes; /* [frames][groups] */
    int64_t frames;
    float lead; /* last sample */
} tts_reference;

/* The text as it was pushed. A text that is not cut is one piece. */
typedef struct tts_text {
    char *bytes; /* [capacity] */
    size_t length, capacity;
    size_t valid;     /* bytes known to be whole characters */
    bool ended;       /* parley_tts_finish_text() */
    size_t at;        /* where the piece begins */
    bool closed;      /* its end is known: */
    size_t end, next; /* behind it; where the next one begins */
    size_t read;      /* length of the text when ids were last taken from it */
    int32_t pieces;   /* begun */
    bool spoken;      /* the piece is over */
} tts_text;

/* PCM: samples head .. tail - 1 wait. */
typedef struct tts_queue {
    float *pcm; /* [capacity] */
    size_t capacity, head, tail;
} tts_queue;

/* PCM that waits to be pulled, and what the codec has still to decode. */
typedef struct tts_speech {
    pl_codec_state *state; /* NULL: codes only */
    pl_stretch *stretch;   /* NULL: speed 1 */
    tts_queue sound;       /* of the codec */
    tts_queue stretched;   /* what `stretch` made of it */
    tts_queue *out;        /* the one that is pulled; NULL: codes only */
    int32_t decoded;       /* frames of the piece decoded */
    int32_t chunk;         /* frames to decode at once next */
    float lead;            /* last sample of the reference, which the official cut sometimes keeps */
    uint64_t samples;      /* pulled or waiting to be, in all */

    /* A chunk that is decoded beside the frames that follow; only with an overlap. `decoded` counts it already, `sound.tail` does not yet. */
    pl_job job;
    bool in_flight;
    pl_compute compute;
    int32_t job_frames;
    double job_seconds;
    parley_status job_status;
    parley_error job_error;
} tts_speech;

typedef struct tts_session {
    parley_tts base;
    const tts_model *model;
    parley_tts_options options; /* with copies of all that they point to */
    pl_arena arena;
    pl_compute compute;
    tts_voice voice;
    int32_t language; /* codec row; -1: automatic */
    pl_tap tap;
    tts_state state;
    parley_error failure;
    parley_finish finish;
    atomic_bool cancelled;
    bool waiting; /* for text */

    tts_text text;
    pl_arena piece; /* what lives as long as one */
    tts_prompt prompt;
    pl_buffer projected;    /* float [projected_count][width] */
    size_t projected_count; /* of prompt.projected */
    bool allocated;         /* caches and work space are there */
    bool prepared;          /* the piece's prompt can be computed */
    int32_t computed, rows; /* positions of the prompt in the cache; to compute in this step */

    pl_kv talker_kv, predictor_kv;
    float *hidden;          /* [width] of the last position */
    float *next;            /* [width] input of the next step */
    bool lacks_row;         /* the text row has still to be added to it */
    float *scores, *work;   /* [codec_vocabulary] */
    uint8_t *seen;          /* bitmap over the codec vocabulary */
    pl_buffer codes;        /* int32_t [before + budget + 1][groups]: the frame being made included */
    pl_buffer first_codes;  /* int32_t [budget + 1], of the piece */
    int32_t before;         /* frames of earlier pieces */
    int32_t frames, budget; /* of the piece */
    tts_speech speech;

    double began; /* clock when the text ended */
    parley_tts_times times;
    uint64_t teacher_choices[2], teacher_agreed[2];
} tts_session;

/* voices.c: resolves and copies the options. ARGUMENT, VALUE, MEMORY. */
parley_status pl_tts_take_options(tts_session *s, const parley_tts_options *options, parley_error *error);

int64_t pl_tts_speaker_find(const void *model, const char *name);

/* text.c */
void pl_tts_text_close(tts_session *s);
parley_status pl_tts_text_push(tts_session *s, const char *text, size_t length, parley_error *error);
/* Makes the prompt of the next piece (state PROMPT), or finds that there is none (DONE), or that text is lacking (waiting). */
parley_status pl_tts_text_begin(tts_session *s, parley_error *error);
/* Work of a prompt that needs no other session: memory, text rows, the codec behind the reference. */
parley_status pl_tts_text_prepare(tts_session *s, parley_error *error);
/* Adds the text row to the next input; `waiting` when it has not come. */
parley_status pl_tts_text_row(tts_session *s, parley_error *error);
/* Whether text is left behind the piece, or may still come. */
bool pl_tts_text_goes_on(const tts_session *s);

/* session.c */
parley_status pl_tts_allocate(tts_session *s, parley_error *error);

/* Codes of a frame of the piece, [groups]. */
static inline int32_t *pl_tts_frame(const tts_session *s, int32_t frame)
{
    return (int32_t *)s->codes.data + ((int64_t)s->before + frame) * s->model->config.groups;
}

/* frames.c: one frame of each session, none in state DONE or FAILED; of prompts at most `prompt_rows` rows. Failures are kept in the sessions. */
void pl_tts_advance(tts_session *const *sessions, size_t count, int32_t prompt_rows);
/* Does what can be done of a step without other sessions; a failure is kept. */
void pl_tts_ready_up(tts_session *s);
/* The speech is over: settles times and the cut of the reference. */
void pl_tts_conclude(tts_session *s, parley_finish finish);

/* speech.c */
parley_status pl_tts_speech_open(tts_session *s, parley_error *error);
void pl_tts_speech_close(tts_session *s);
parley_status pl_tts_speech_begin(tts_session *s, parley_error *error);            /* of a piece: silence in front, the reference through the codec */
parley_status pl_tts_speech_decode(tts_session *s, bool all, parley_error *error); /* full chunks, or all frames that are left */
parley_status pl_tts_speech_settle(tts_session *s, parley_error *error);           /* waits for what is being decoded */
parley_status pl_tts_speech_finish(tts_session *s, parley_error *error);           /* behind the last decode: the cut of the reference, the end */
size_t pl_tts_speech_ready(const tts_session *s);
size_t pl_tts_speech_take(tts_session *s, float *pcm, size_t capacity);

#endif
