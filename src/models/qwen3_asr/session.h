/* A recognition session: sound -> segments -> prompts -> tokens -> texts. session.c its lifetime and the public calls, segments.c one segment's way,
 * recognise.c the greedy loop of many segments. */
#ifndef PL_MODELS_QWEN3_ASR_SESSION_H
#define PL_MODELS_QWEN3_ASR_SESSION_H

#include "models/qwen3_asr/answer.h"
#include "models/qwen3_asr/family.h"
#include "models/qwen3_asr/prompt.h"

typedef enum asr_stage {
    ASR_WAITING, /* not begun */
    ASR_PROMPT,  /* encoded; the prompt has not been computed yet */
    ASR_TOKENS,
    ASR_DONE
} asr_stage;

/* One segment. */
typedef struct asr_segment {
    int64_t first, samples; /* of the session's sound */
    int64_t padded;         /* samples with the zeros that belong behind them */
    asr_stage stage;
    asr_prompt prompt;
    float *input; /* [prompt length][width]; released behind the prefill */
    pl_kv kv;
    int32_t budget, n_tokens;
    int32_t *tokens; /* [budget] */
    float *logprobs;
    pl_loop_guard *guard; /* NULL: off */
    int64_t keep;         /* tokens that count when the guard ended it */
    parley_asr_segment result;
} asr_segment;

typedef enum asr_state { ASR_STATE_SOUND, ASR_STATE_RUNNING, ASR_STATE_DONE, ASR_STATE_FAILED } asr_state;

typedef struct asr_stream asr_stream;

typedef struct asr_session {
    parley_asr base;
    const asr_model *model;
    parley_asr_options options;
    const pl_language *language; /* forced; NULL: none */
    pl_span context;
    const int32_t *teacher; /* [options.n_teacher] or NULL */
    uint64_t teacher_choices, teacher_agreed;
    pl_arena arena;
    pl_compute compute;
    pl_tap tap;
    asr_state state;
    parley_error failure;
    atomic_bool cancelled;

    float *pcm; /* [capacity] */
    size_t samples, capacity;
    asr_segment *segments;
    parley_asr_segment *results; /* the same as the caller sees them */
    int n_segments, begun, done;

    double began;
    parley_asr_times times;
    uint64_t kv_bytes;                  /* at their largest, of all segments at once */
    const char *text, *joined_language; /* of the finished segments, in `joining`; made when asked for */
    pl_arena joining;
    int joined;         /* segments that they cover */
    asr_stream *stream; /* NULL: the sound is heard when it has ended */
} asr_session;

/* segments.c: cuts the sound; begins a segment (encodes, makes its prompt); ends one (text, language, memory). */
parley_status pl_asr_cut(asr_session *s, parley_error *error);
parley_status pl_asr_begin(asr_session *s, asr_segment *segment, parley_error *error);
parley_status pl_asr_end(asr_session *s, asr_segment *segment, parley_finish finish, parley_error *error);
void pl_asr_release(asr_session *s, asr_segment *segment);

/* The model says "language None" where there is nothing to hear; `raw` has a NUL behind it. */
bool pl_asr_says_nothing(pl_span raw, const pl_answer *answer);

/* recognise.c: whether the id ends an answer; one step of each session; failures are kept in the sessions. */
bool pl_asr_ends(const asr_config *config, int32_t id);
void pl_asr_advance(asr_session *const *sessions, size_t count);

#endif
