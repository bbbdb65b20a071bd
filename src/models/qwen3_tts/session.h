/* A synthesis session: text -> prompt -> frames -> PCM. session.c its lifetime and the public calls, voices.c the options, frames.c the frame loop of
 * one or many sessions, speech.c the way from codes to PCM. */
#ifndef PL_MODELS_QWEN3_TTS_SESSION_H
#define PL_MODELS_QWEN3_TTS_SESSION_H

#include "models/qwen3_tts/family.h"
#include "models/qwen3_tts/prompt.h"

typedef enum tts_state {
    TTS_STATE_TEXT,   /* collects text */
    TTS_STATE_PROMPT, /* the prompt has not been computed yet */
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

/* PCM that waits to be pulled, and what the codec has still to decode. */
typedef struct tts_speech {
    pl_codec_state *state; /* NULL: codes only */
    float *pcm;            /* [capacity]; samples head .. tail - 1 wait */
    size_t capacity, head, tail;
    int32_t decoded;  /* frames decoded */
    int32_t chunk;    /* frames to decode at once next */
    bool primed;      /* the reference has gone through the codec */
    float lead;       /* last sample of the reference, which the official cut sometimes keeps */
    uint64_t samples; /* handed over or waiting, in all */

    /* A chunk that is decoded beside the frames that follow; only with an overlap. `decoded` counts it already, `tail` does not yet. */
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

    char *text; /* pushed so far */
    size_t text_length, text_capacity;
    tts_prompt prompt;
    float *projected; /* [prompt.projected.count][width] */

    pl_kv talker_kv, predictor_kv;
    float *hidden;        /* [width] of the last position */
    float *next;          /* [width] input of the next step */
    float *scores, *work; /* [codec_vocabulary] */
    uint8_t *seen;        /* bitmap over the codec vocabulary */
    int32_t *codes;       /* [budget + 1][groups]: the frame being made included */
    int32_t *first_codes; /* [budget + 1] */
    int32_t frames, budget;
    tts_speech speech;

    double began; /* clock when the text ended */
    parley_tts_times times;
    uint64_t teacher_choices[2], teacher_agreed[2];
} tts_session;

/* voices.c: resolves and copies the options. ARGUMENT, VALUE, MEMORY. */
parley_status pl_tts_take_options(tts_session *s, const parley_tts_options *options, parley_error *error);

int64_t pl_tts_speaker_find(const void *model, const char *name);

/* frames.c: one frame of each session (all in state PROMPT or FRAMES); failures are kept in the sessions. */
void pl_tts_advance(tts_session *const *sessions, size_t count);

/* speech.c */
parley_status pl_tts_speech_open(tts_session *s, parley_error *error);
void pl_tts_speech_close(tts_session *s);
parley_status pl_tts_speech_decode(tts_session *s, bool all, parley_error *error); /* full chunks, or all frames that are left */
parley_status pl_tts_speech_settle(tts_session *s, parley_error *error);           /* waits for what is being decoded */
parley_status pl_tts_speech_finish(tts_session *s, parley_error *error);           /* behind the last decode: settles the cut of the reference */
size_t pl_tts_speech_ready(const tts_session *s);
size_t pl_tts_speech_take(tts_session *s, float *pcm, size_t capacity);

#endif
