/* parley/asr.h - recognition and alignment: PCM to text, words with times.
 *
 * A session hears one recording: mono float32 at 16 kHz, pushed in pieces. It is cut at quiet places into segments; each is transcribed on its own.
 * Several sessions of one model are advanced together as a batch; each gives what it gives alone. */
#ifndef PARLEY_ASR_H
#define PARLEY_ASR_H

#include <parley/tts.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct parley_asr parley_asr;

enum { PARLEY_ASR_RATE = 16000 }; /* Hz of all PCM here */

/* Which positions of the sound see each other in the encoder: windows of the configuration (8 s), as trained, or all. */
typedef enum parley_attention { PARLEY_ATTENTION_WINDOWED, PARLEY_ATTENTION_FULL } parley_attention;

/* How the texts of segments are joined: one space unless either side is written without (CJK, Thai, Lao, Khmer), or nothing, as the reference does.
 */
typedef enum parley_join { PARLEY_JOIN_SPACE, PARLEY_JOIN_NONE } parley_join;

/* What bounds the tokens of a segment: a budget from its length, or max_tokens. */
typedef enum parley_token_budget { PARLEY_TOKENS_FROM_LENGTH, PARLEY_TOKENS_GIVEN } parley_token_budget;

typedef struct parley_asr_options {
    size_t size;                /* sizeof(parley_asr_options) */
    const char *language;       /* English name or ISO code of any case, or "auto" (default) */
    const char *context;        /* names, topic, earlier text; "" (default): none. Read as plain text, whatever it holds */
    parley_token_budget budget; /* default PARLEY_TOKENS_FROM_LENGTH */
    int32_t max_tokens;         /* with PARLEY_TOKENS_GIVEN, >= 1; switches the loop guard off */
    bool speech_gate; /* default true: a segment in which nothing changes as speech does (silence, hum, steady noise) has no text, the model is not
                         asked. Never with max_tokens or a tap */
    double segment_seconds;         /* longest segment, 1 to 1,200; default 120 */
    parley_attention attention;     /* default PARLEY_ATTENTION_WINDOWED */
    parley_join join;               /* default PARLEY_JOIN_SPACE */
    parley_kv kv;                   /* default PARLEY_KV_F16 */
    parley_activations activations; /* default as for synthesis */
    int32_t batch;                  /* most segments of this session at once, 1 to 64; default 4. Fewer where their caches could exceed 280 MB */
    const int32_t *teacher;         /* [n_teacher] ids taken in place of the chosen ones, in the first segment; NULL: none. Not of streams */
    size_t n_teacher;
    parley_tap_fn tap; /* of every segment, one after the other: `mel` comes first of each */
    void *tap_context;
    bool stream;                   /* the sound is heard while it comes: parley_asr_poll() instead of step and run; windowed attention, no tap */
    double stream_chunk_seconds;   /* sound between two answers, 0.25 to 30; default 2 */
    double stream_segment_seconds; /* longest segment, 2 chunks to 1,200 s; default 30. It bounds memory and the work of an answer */
    int32_t stream_unfixed_chunks; /* first answers of a segment that fix nothing, 0 to 1,000; default 2 */
    int32_t stream_rollback;       /* last tokens of an answer that the next one may change, 1 to 1,000; default 5 */
} parley_asr_options;

/* Defaults of this model. */
PARLEY_API void parley_asr_options_init(const parley_model *model, parley_asr_options *options);

/* Makes a session. Options and all they point to are copied. Errors: ARGUMENT (an unknown language lists the known ones), FAMILY (the model does not
 * hear, or is an aligner), MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_asr_open(const parley_model *model, const parley_asr_options *options, parley_asr **session,
                                                         parley_error *error);
PARLEY_API void parley_asr_close(parley_asr *session);

/* Adds samples; they are copied. Errors: STATE (finished), VALUE (a sample is not finite: its index), LIMIT, MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_asr_push(parley_asr *session, const float *pcm, size_t samples, parley_error *error);

/* Ends the sound and cuts it. No samples at all: ARGUMENT. */
PARLEY_API PARLEY_MUST_USE parley_status parley_asr_finish(parley_asr *session, parley_error *error);

/* Advances all unfinished sessions of one model: segments that wait are encoded and their prompts computed, the others get a token each. As
 * parley_tts_step(). */
PARLEY_API PARLEY_MUST_USE parley_status parley_asr_step(parley_asr *const *sessions, size_t count, size_t *running, parley_error *errors);

/* Steps one session to its end. */
PARLEY_API PARLEY_MUST_USE parley_status parley_asr_run(parley_asr *session, parley_error *error);

/* Makes the session end within a step. */
PARLEY_API void parley_asr_cancel(parley_asr *session);

typedef struct parley_asr_word {
    const char *text;
    double start, end; /* seconds from the start of the sound */
} parley_asr_word;

typedef struct parley_asr_segment {
    double start, end;        /* seconds */
    const char *text;         /* cleaned; "" when there is no speech */
    const char *language;     /* English name; "" when unknown */
    parley_finish finish;     /* STOP, LENGTH (the text is what there is) or CANCELLED */
    bool no_speech;           /* the model said so, the gate did, or the segment is too short to hold any */
    bool looped;              /* the answer had fallen into a loop. The segment was heard again in two halves, both marked; where one looped again,
                                 its text holds one copy */
    bool echoed;              /* the answer was a piece of the context. It was dropped if the model heard nothing without the context, else kept */
    bool spaced;              /* a space belongs between the texts before and this one: the rule of PARLEY_JOIN_SPACE, whatever `join` is */
    const int32_t *token_ids; /* all that were chosen, header and end included */
    const float *logprobs;    /* one each */
    size_t n_tokens;
} parley_asr_segment;

typedef struct parley_asr_times {
    double encode, prefill, decode, total; /* seconds */
} parley_asr_times;

typedef struct parley_asr_result {
    size_t size;
    const char *text, *language; /* of all finished segments, joined */
    parley_finish finish;        /* CANCELLED before LENGTH before STOP; NONE while running */
    double audio_seconds;
    double heard_seconds;               /* how far the work is; of segments in work an estimate */
    const parley_asr_segment *segments; /* in order; valid until the session is advanced or closed */
    size_t n_segments;
    uint64_t kv_bytes;
    parley_asr_times times;
    uint64_t teacher_choices, teacher_agreed; /* with a teacher */
} parley_asr_result;

/* What there is so far. */
PARLEY_API void parley_asr_result_get(parley_asr *session, parley_asr_result *result);

/* The finished sound as it is heard, scaled down where its peak exceeded 1; valid until the session is closed. NULL and 0 before, and of a stream. */
PARLEY_API const float *parley_asr_sound(const parley_asr *session, size_t *samples);

/* ------------------------------------------------------------------ streams */

/* What a stream knows of its current segment. Pointers are valid until the next poll or the close. */
typedef struct parley_asr_update {
    size_t size;
    bool final;           /* the segment has ended, all of its text stands; the next update is of another one */
    double start, end;    /* seconds from the start of the sound; end: of what was heard of the segment */
    const char *text;     /* of the segment so far */
    size_t length;        /* of the text, bytes */
    size_t stable;        /* bytes of the text that later updates of this segment repeat */
    const char *language; /* "" when unknown */
    parley_finish finish; /* of a final update: STOP, LENGTH or CANCELLED; else NONE */
    bool no_speech;
    bool looped; /* the loop guard ended the answer; the text holds one copy */
    bool echoed; /* the answer was a piece of the context; see parley_asr_segment */
    bool spaced; /* a space belongs between the texts of the segments before and this one */
} parley_asr_update;

/* Hears one more chunk of a stream. `*got` false: there is no whole chunk, more must be pushed, or the stream has ended. After parley_asr_finish()
 * poll until then. Any sizes of pushes give the same updates. A segment is cut at the quietest place of its last chunk. Errors: STATE (no stream),
 * MEMORY, LIMIT, VALUE; then the stream has failed. */
PARLEY_API PARLEY_MUST_USE parley_status parley_asr_poll(parley_asr *session, parley_asr_update *update, bool *got, parley_error *error);

/* ------------------------------------------------------------------ alignment */

/* Marks the words of `text`, UTF-8 of a language that is written without blanks: begins[i] becomes 1 where a word begins at byte i; [length], zeros
 * before. Called once by parley_align(), on its thread. An error is filled in and ends the alignment with its status. */
typedef parley_status (*parley_split_fn)(void *context, const char *text, size_t length, unsigned char *begins, parley_error *error);

/* Told before each window how much of the sound is done; false ends the alignment (CANCELLED). */
typedef bool (*parley_align_progress_fn)(void *context, double seconds);

typedef struct parley_align_options {
    size_t size;
    const char *language;     /* decides how the text is cut into units; NULL or "": by white space and ideographs */
    const char *const *units; /* ready units instead of a text; NULL: none */
    size_t n_units;
    parley_split_fn split_japanese; /* NULL: Japanese is cut where the script changes */
    void *split_context;
    const char *lexicon; /* Korean: a word is cut behind its longest beginning that is listed here, one a line, what follows a blank is ignored;
                            NULL: words stay whole */
    size_t lexicon_length;
    double offset; /* seconds, added to all times, which are rounded to whole ms then; finite */
    parley_attention attention;
    parley_kv kv;
    parley_activations activations;
    parley_tap_fn tap; /* of the first window */
    void *tap_context;
    parley_align_progress_fn progress; /* NULL: none */
    void *progress_context;
} parley_align_options;

/* Defaults of this model. */
PARLEY_API void parley_align_options_init(const parley_model *model, parley_align_options *options);

/* How a text was cut into units. */
typedef enum parley_unit_rule {
    PARLEY_UNITS_GIVEN,    /* by the caller */
    PARLEY_UNITS_BLANKS,   /* at white space and, but in Korean, around ideographs */
    PARLEY_UNITS_SCRIPTS,  /* Japanese, where the script changes */
    PARLEY_UNITS_SPLITTER, /* Japanese, by the caller's function */
    PARLEY_UNITS_LEXICON   /* Korean, by the lexicon */
} parley_unit_rule;

typedef struct parley_alignment {
    const parley_asr_word *words; /* one a unit, in order */
    size_t n_words;
    parley_unit_rule rule;
    size_t n_windows; /* pieces of the sound that the model was given; 1 when it fits */
    bool reliable;    /* false: the stamps contradict each other or the length of the sound too often to be times */
    parley_asr_times times;
} parley_alignment;

/* Times of the units of `text` (or options->units) in `pcm`, 16 kHz. What is longer than the model takes at once (300 s) is aligned in windows that
 * begin at pauses between words; so is what lies behind a place where the stamps of a window stand still. Times never go back. `*alignment` is freed
 * with parley_alignment_free(). Errors: FAMILY (no aligner), ARGUMENT (no samples, no units), FORMAT (UTF-8), LIMIT, VALUE, MEMORY, CANCELLED,
 * those of split_japanese. */
PARLEY_API PARLEY_MUST_USE parley_status parley_align(const parley_model *model, const float *pcm, size_t samples, const char *text, size_t length,
                                                      const parley_align_options *options, parley_alignment **alignment, parley_error *error);
PARLEY_API void parley_alignment_free(parley_alignment *alignment);

#ifdef __cplusplus
}
#endif
#endif
