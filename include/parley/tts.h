/* parley/tts.h - speech synthesis: options, voices, sessions that take text and give PCM; codes to PCM.
 *
 * A session speaks one text. PCM is mono float32 at parley_info.sample_rate, within -1..1. A frame is one row of codes (parley_info.groups of
 * them) and samples_per_frame samples, 80 ms. */
#ifndef PARLEY_TTS_H
#define PARLEY_TTS_H

#include <parley/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct parley_tts parley_tts;

/* Range of parley_tts_options.speed: that of OpenAI's API. */
#define PARLEY_SPEED_LEAST 0.25
#define PARLEY_SPEED_MOST  4.0

/* How the text is laid out in the prompt: fed along with the frames, or all of it in front. Says nothing about the output, which always streams. */
typedef enum parley_layout { PARLEY_LAYOUT_STREAMING, PARLEY_LAYOUT_FULL } parley_layout;

/* Element type of the talker's key and value cache. q8_0 needs a head dimension that 32 divides. */
typedef enum parley_kv { PARLEY_KV_F32, PARLEY_KV_F16, PARLEY_KV_BF16, PARLEY_KV_Q8_0 } parley_kv;

/* Arithmetic of q8_0 matrices: float32, or activations rounded to 8 bits. All other matrices are computed in float32. */
typedef enum parley_activations { PARLEY_ACTIVATIONS_F32, PARLEY_ACTIVATIONS_INT8 } parley_activations;

/* What bounds the number of frames: a budget from the length of the text (at least 75 + 16 a text id, at most max_new_tokens - 1), or max_frames. */
typedef enum parley_budget { PARLEY_BUDGET_TEXT, PARLEY_BUDGET_FRAMES } parley_budget;

typedef enum parley_finish {
    PARLEY_FINISH_NONE,     /* not finished */
    PARLEY_FINISH_STOP,     /* the model ended its speech */
    PARLEY_FINISH_LENGTH,   /* the budget was reached */
    PARLEY_FINISH_CANCELLED /* parley_tts_cancel() */
} parley_finish;

/* "stop", "length", "cancelled", "" */
PARLEY_API const char *parley_finish_name(parley_finish finish);

/* Choice of one code out of a row of scores. Temperature 0 takes the best score (lowest index among equals). */
typedef struct parley_sampling {
    float temperature;        /* 0..10 */
    float top_p;              /* (0, 1]; 1 = off */
    int32_t top_k;            /* >= 0; 0 = off */
    float repetition_penalty; /* (0, 10]; 1 = off; of the first code only, ignored for the others; also when greedy */
} parley_sampling;

/* Called with every intermediate result, under the names and shapes of docs/TAPS.md. `type` is 'f' (float) or 'i' (int32_t); row-major.
 * The data is valid during the call only. Taps do not change results. */
typedef void (*parley_tap_fn)(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank);

/* A reference that has gone through the codec: the state in which the codec begins after it. Sessions with the same reference share one and save the
 * decoding of its frames. Immutable, shared by threads. */
typedef struct parley_reference parley_reference;

typedef struct parley_tts_options {
    size_t size; /* sizeof(parley_tts_options) */
    /* voice: a speaker of the model, or a vector, or nothing */
    const char *speaker;  /* name; NULL: none. The init function names the model's first one. */
    const float *xvector; /* [xvector_length] (Base models); NULL: none. Wins over `speaker`. */
    size_t xvector_length;
    const int32_t *ref_codes; /* [ref_frames][groups] of the reference (with ref_text and xvector); NULL: none */
    size_t ref_frames;
    const char *ref_text;              /* transcript of the reference */
    const parley_reference *reference; /* of the same codes, to save time; NULL: none */
    /* text */
    const char *language; /* name of any case, or "auto" (default) */
    const char *instruct; /* how to speak; NULL: none. Without effect where the model takes none (logged as a warning). */
    parley_layout layout; /* default: full, with a vector or without any voice of a Base model: streaming */
    bool special_tokens;  /* read spellings such as "<|im_end|>" in the text as tokens; default false */
    bool allow_empty;     /* speak an empty text rather than refuse it; default false */
    bool live_text;       /* speak while text is pushed, see parley_tts_push_text(); not with special_tokens; default false */
    int32_t piece_length; /* cut longer texts into pieces, see parley_tts_push_text(): 20 to 100,000; 0 (default): never */
    double pause_seconds; /* silence between two pieces, 0 to 10; default 0.3 */
    /* sound */
    double speed; /* of speech and pauses, at the same pitch: 2 is half as long. PARLEY_SPEED_LEAST to PARLEY_SPEED_MOST; default 1: the codec's
                     PCM as it is. Codes do not depend on it. N samples of the codec become floor(N / speed + 0.5); at other speeds than 1 they
                     are pulled when the codec is 25 + 10 * max(1, speed) ms further, less than a frame */
    /* choice */
    parley_sampling talker;    /* first code of a frame; defaults of the checkpoint */
    parley_sampling predictor; /* the other codes */
    uint64_t seed;             /* of the draws; same seed, same speech. Default 0: callers that want variety draw one. */
    parley_budget budget;      /* default PARLEY_BUDGET_TEXT */
    int32_t max_frames;        /* with PARLEY_BUDGET_FRAMES, >= 1 */
    const int32_t *teacher;    /* [teacher_frames][groups]: these codes are taken instead of the chosen ones; NULL: none */
    size_t teacher_frames;
    /* computing */
    parley_kv kv;                   /* default PARLEY_KV_F16 */
    parley_activations activations; /* default: INT8 where the level has integer dot products (avx512vnni, dotprod, i8mm), else F32 */
    int32_t chunk_frames;           /* most frames that the codec takes at once (it starts with one, then doubles), 1..64; default 8 */
    bool pcm;                       /* default true; false: codes only, the codec is not run */
    bool exact_cut;                 /* with reference codes: hold the PCM until the number of frames is known, since the reference's rule for
                                       cutting the reference off may then keep one sample more; default false */
    parley_tap_fn tap;              /* NULL: none */
    void *tap_context;
} parley_tts_options;

/* Defaults of this model. */
PARLEY_API void parley_tts_options_init(const parley_model *model, parley_tts_options *options);

/* Decodes reference codes [frames][groups] once and keeps the codec's state (about 40 MB at the published size). Close it after the sessions that use
 * it and before the model. Errors: STATE (no codec), ARGUMENT (codes), MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_reference_open(const parley_model *model, const int32_t *codes, size_t frames,
                                                               parley_reference **reference, parley_error *error);
PARLEY_API void parley_reference_close(parley_reference *reference);

/* The speaker of this name, in any case of any script: its index in parley_info.speakers, or -1. */
PARLEY_API int64_t parley_speaker_find(const parley_model *model, const char *name);

/* Makes a session. The options and all they point to are copied. Errors: ARGUMENT (naming what there is to choose from), LIMIT, FAMILY (the model
 * does not speak), STATE (it was opened without its talker), MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_tts_open(const parley_model *model, const parley_tts_options *options, parley_tts **session,
                                                         parley_error *error);
PARLEY_API void parley_tts_close(parley_tts *session);

/* Adds to the text. Pieces may split a character; the whole must be valid UTF-8.
 *
 * Synthesis starts when the text is finished, but for options.live_text: then it starts as soon as the prompt is known, and text may be pushed
 * between pulls and steps. A word is read once what follows shows that the tokenizer cannot change it. Where the speech catches up with the text the
 * session waits (parley_tts_waiting()): nothing is spoken in the place of a text that has not come, so that the speech is that of the whole text,
 * however it came. With PARLEY_LAYOUT_FULL the prompt needs the end of the text, or of its first piece.
 *
 * With options.piece_length a text is spoken in pieces, one after the other, each with a prompt of its own: the same voice, language and
 * instruction, and the seed of the session plus the piece's number from 0. A piece ends with the first sentence that reaches the length; where none
 * ends within 1.5 times the length, with the next clause; within twice of it, with the next word; within three times, anywhere between two
 * characters. The length is in characters; those of scripts without spaces count as three. Silence of options.pause_seconds stands between pieces.
 * The frame budget is that of each piece. No taps, teacher or exact_cut with pieces. */
PARLEY_API PARLEY_MUST_USE parley_status parley_tts_push_text(parley_tts *session, const char *text, size_t length, parley_error *error);

/* Ends the text. Checks it: FORMAT (invalid UTF-8), ARGUMENT (empty), LIMIT (prompt and budget exceed the model's positions; names both). */
PARLEY_API PARLEY_MUST_USE parley_status parley_tts_finish_text(parley_tts *session, parley_error *error);

/* Writes up to `capacity` samples as soon as there are any; `*count` 0: the end, see parley_tts_result(). An error ends the session, samples
 * pulled before stay good. */
PARLEY_API PARLEY_MUST_USE parley_status parley_tts_pull(parley_tts *session, float *pcm, size_t capacity, size_t *count, parley_error *error);

/* Advances all unfinished sessions of one model by a frame as one batch; each gives exactly what it gives alone. PCM is then pulled without
 * further work as long as parley_tts_ready() is not 0. errors[i] (may be NULL as a whole) is filled for sessions that failed; their status is
 * kept and repeated by parley_tts_pull(). `*running` counts the sessions that go on. */
PARLEY_API PARLEY_MUST_USE parley_status parley_tts_step(parley_tts *const *sessions, size_t count, size_t *running, parley_error *errors);

/* Samples that parley_tts_pull() gives without computing. */
PARLEY_API size_t parley_tts_ready(const parley_tts *session);

/* Whether a session with live text needs more text, or its end, to go on. parley_tts_pull() then gives no samples, and parley_tts_step() does not
 * count it as running. */
PARLEY_API bool parley_tts_waiting(const parley_tts *session);

/* Makes the session end at the next layer or frame, at the latest within a frame. */
PARLEY_API void parley_tts_cancel(parley_tts *session);

typedef struct parley_tts_times {
    double prefill, first_frame, talker, predictor, codec, total; /* seconds; first_frame: from the end of the text to the first PCM */
} parley_tts_times;

typedef struct parley_tts_result {
    size_t size;
    parley_finish finish;
    uint64_t seed;
    int32_t prompt_length;
    int32_t frame_budget;
    size_t frames;
    const int32_t *codes; /* [frames][groups], valid until the session is closed or advanced */
    int32_t groups;
    const int32_t *text_ids; /* of the whole templated text */
    size_t n_text_ids;
    int32_t pieces;    /* of the text, begun so far; prompt_length, frame_budget and text_ids are those of the last one */
    uint64_t samples;  /* of sound made so far, at its speed */
    uint64_t kv_bytes; /* caches of the talker and the predictor at their largest */
    parley_tts_times times;
    uint64_t teacher_choices[2], teacher_agreed[2]; /* with a teacher: [0] first codes, [1] the others */
} parley_tts_result;

/* What there is so far. */
PARLEY_API void parley_tts_result_get(const parley_tts *session, parley_tts_result *result);

/* ------------------------------------------------------------------ codes to PCM */

typedef struct parley_codec parley_codec;

typedef struct parley_codec_options {
    size_t size;
    bool reference_schedule; /* decode 300 frames at a time with 25 of context, each from scratch, as the reference does; default false: exact */
    parley_tap_fn tap;       /* see parley_tts_options */
    void *tap_context;
} parley_codec_options;

/* Fills in the defaults. */
PARLEY_API void parley_codec_options_init(parley_codec_options *options);

/* A decoder with state: PCM of pieces of any size is the PCM of the whole. Errors: STATE (the model has no codec), MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_codec_open(const parley_model *model, const parley_codec_options *options, parley_codec **codec,
                                                           parley_error *error);
PARLEY_API void parley_codec_close(parley_codec *codec);

/* codes [frames][groups] -> pcm [frames * samples_per_frame]. Errors: ARGUMENT (a code out of range, with its place), VALUE (PCM not finite). With
 * the reference's schedule one call takes all frames. */
PARLEY_API PARLEY_MUST_USE parley_status parley_codec_decode(parley_codec *codec, const int32_t *codes, size_t frames, float *pcm,
                                                             parley_error *error);

/* Samples to drop from the front of `samples` when `ref_frames` of `total_frames` are the reference: the official rule, which for some pairs gives
 * one sample less than whole frames. */
PARLEY_API uint64_t parley_codec_reference_cut(size_t ref_frames, size_t total_frames, uint64_t samples);

#ifdef __cplusplus
}
#endif
#endif
