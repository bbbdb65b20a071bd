/* A recognition session: sound -> segments -> prompts -> tokens -> texts. session.c its lifetime and the public calls, segments.c one segment's way,
 * ahead.c which segment is encoded next, doubts.c answers that are not believed at once, recognise.c the greedy loop of many segments. */
#ifndef PL_MODELS_QWEN3_ASR_SESSION_H
#define PL_MODELS_QWEN3_ASR_SESSION_H

#include "audio/segment.h"
#include "models/qwen3_asr/answer.h"
#include "models/qwen3_asr/family.h"
#include "models/qwen3_asr/prompt.h"

typedef enum asr_stage {
    ASR_WAITING,  /* not begun, or to be heard again */
    ASR_ENCODING, /* ahead.segment has it */
    ASR_READY,    /* encoded, and there is no room for its cache yet */
    ASR_PROMPT,   /* the prompt has not been computed yet, or not all of it: kv.length positions */
    ASR_TOKENS,
    ASR_LOOPED, /* ended in a loop, to be heard again in two halves */
    ASR_DONE
} asr_stage;

/* An answer that is kept while the segment is heard again. */
typedef struct asr_answer {
    int32_t budget, n_tokens;
    int32_t *tokens; /* [budget] */
    float *logprobs;
    const char *text, *language;
    bool looped;
} asr_answer;

/* One segment, or the answer that a stream waits for. */
typedef struct asr_segment {
    int64_t first, samples; /* of the session's sound */
    int64_t padded;         /* samples with the zeros that belong behind them */
    asr_stage stage;
    asr_prompt prompt;
    int64_t length, input_at; /* positions of the prompt; of these the first that `input` has */
    float *input;             /* [length - input_at][width]; released behind the prefill */
    pl_kv kv;
    int32_t budget, n_tokens;
    int32_t *tokens;      /* [budget] */
    float *logprobs;      /* NULL: not wanted */
    pl_loop_guard *guard; /* NULL: off */
    bool guarded;         /* the guard ended it */
    int64_t keep;         /* tokens that count then */
    bool halved;          /* part of one that looped */
    bool bare;            /* heard again, without the context */
    asr_answer heard;     /* what it was with the context */
    parley_asr_segment result;
} asr_segment;

typedef enum asr_state { ASR_STATE_SOUND, ASR_STATE_RUNNING, ASR_STATE_DONE, ASR_STATE_FAILED } asr_state;

typedef struct asr_stream asr_stream;

/* A segment that is encoded while others are stepped, maybe by another thread: a copy of the one in the list, whose stage is ASR_ENCODING. */
typedef struct asr_ahead {
    bool picked; /* there is one. The other fields belong to who encodes it */
    asr_segment segment;
    pl_compute own; /* where it runs beside the steps; else the session's */
    bool encoded, silent;
    double seconds;
    parley_status status;
    parley_error error;
} asr_ahead;

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
    bool stepped; /* takes part in the step that runs */

    float *pcm; /* [capacity] */
    size_t samples, capacity;
    asr_segment *segments;
    parley_asr_segment *results; /* the same as the caller sees them */
    int n_segments, room;        /* of both lists: used, allocated */
    int oldest, begun;           /* all before the first are done; none from the second on has begun */
    int done;
    asr_ahead ahead;
    size_t prompt_tokens; /* of a prompt without sound */
    uint64_t most_cached; /* bytes that the caches of all segments in work may come to hold, where there are several */

    double began;
    parley_asr_times times;
    uint64_t kv_bytes;                  /* at their largest, of all segments at once */
    const char *text, *joined_language; /* of the finished segments, in `joining`; made when asked for */
    pl_arena joining;
    int joined;         /* segments that they cover */
    asr_stream *stream; /* NULL: the sound is heard when it has ended */
} asr_session;

/* Whether answers are doubted: silence is not given to the model, loops and echoes are heard again. Not where the caller looks into the model. */
static inline bool pl_asr_doubts(const asr_session *s)
{
    return s->options.budget == PARLEY_TOKENS_FROM_LENGTH && !s->tap.call;
}

/* segments.c: cuts the sound; encodes a segment and makes its prompt, or finds that there is nothing to hear in it; ends one (text, language,
 * memory). */
parley_status pl_asr_cut(asr_session *s, parley_error *error);
void pl_asr_place(pl_segment cut, asr_segment *segment);
parley_status pl_asr_make_room(asr_session *s, int count, parley_error *error); /* for so many segments in the lists */
parley_status pl_asr_encode_segment(asr_session *s, pl_compute *compute, asr_segment *segment, bool *silent, parley_error *error);
parley_status pl_asr_end(asr_session *s, asr_segment *segment, parley_finish finish, parley_error *error);
/* What the steps need; of it the input and the guard alone; the tokens. */
void pl_asr_release(asr_session *s, asr_segment *segment);
void pl_asr_release_input(asr_session *s, asr_segment *segment);
void pl_asr_release_guard(asr_session *s, asr_segment *segment);
void pl_asr_release_tokens(asr_session *s, asr_segment *segment);
/* Memory for `n` new tokens of an answer, and its guard. */
parley_status pl_asr_allow_tokens(asr_session *s, asr_segment *segment, int32_t n, parley_error *error);
/* What counts of the tokens: not the end id, and one copy where the guard ended a loop. */
size_t pl_asr_spoken(const asr_segment *segment, parley_finish finish);
/* Most positions that the caches of the segments that run at once come to hold, in bytes. */
parley_status pl_asr_kv_bytes(const asr_session *s, uint64_t *bytes, parley_error *error);

/* What the cache may come to hold for a segment, bytes: its sound, the context, and an answer of usual length. */
uint64_t pl_asr_appetite(const asr_session *s, const asr_segment *segment);

/* The model says "language None" where there is nothing to hear; `raw` has a NUL behind it. */
bool pl_asr_says_nothing(pl_span raw, const pl_answer *answer);

/* doubts.c: whether nothing in a part of the session's buffer, of which `filled` samples are there, could be speech; what becomes of an answer, and
 * whether the segment is heard again; cuts those that looped in two. */
parley_status pl_asr_is_silent(asr_session *s, pl_compute *compute, int64_t first, int64_t samples, int64_t filled, bool *silent,
                               parley_error *error);
parley_status pl_asr_doubt(asr_session *s, asr_segment *segment, parley_finish *finish, bool *again, parley_error *error);
parley_status pl_asr_split_looped(asr_session *s, parley_error *error);

/* Whether it has not ended: a stream runs from the start, others once their sound has ended. */
static inline bool pl_asr_runs(const asr_session *s)
{
    return s->state == ASR_STATE_RUNNING || (s->stream && s->state == ASR_STATE_SOUND);
}

/* ahead.c: encodes the next segments that there is room for, `*cached` being the bytes of all sessions' caches; the same in three parts, for a
 * second thread: takes over what has been encoded and picks the next one, also when it has to wait for room then; encodes it; gives up what was
 * picked. */
void pl_asr_begin_segments(asr_session *s, uint64_t *cached);
bool pl_asr_pick(asr_session *s);
void pl_asr_run_ahead(asr_session *s, pl_compute *compute);
void pl_asr_drop_ahead(asr_session *s);
uint64_t pl_asr_cached(const asr_session *s); /* bytes that the caches of what runs may come to hold */
int pl_asr_running(const asr_session *s);     /* segments that take part in steps */

static inline bool pl_asr_is_running(const asr_segment *g)
{
    return g->stage == ASR_PROMPT || g->stage == ASR_TOKENS;
}

/* recognise.c: whether the id ends an answer; one step of each session; failures are kept in the sessions. */
bool pl_asr_ends(const asr_config *config, int32_t id);
/* At most `prompt_rows` rows of prompts. */
void pl_asr_advance(asr_session *const *sessions, size_t count, int32_t prompt_rows);
void pl_asr_fail(asr_session *s, parley_status status, const parley_error *error);
void pl_asr_cancel_segments(asr_session *s);
void pl_asr_settle(asr_session *s); /* behind steps and encoding: whether all is done */

#endif
