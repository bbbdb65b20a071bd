/* parley/engine.h - many requests at once over one model: the library's part of a server.
 *
 * An engine has a thread that advances all active requests of its model together, a frame (synthesis) or a token (recognition) a turn, and a second
 * one for long pieces of work (encoding sound, preparing prompts), which runs in slices between turns. Requests join and leave at any turn, streams
 * of recognition and whole sounds alike, and each gives exactly what a session with the same options gives alone.
 *
 *     request = parley_engine_speak / hear / align / encode_voice
 *     text or sound is pushed in pieces and finished
 *     parley_request_next() hands out events until PARLEY_EVENT_END, which comes exactly once and last
 *     parley_request_release(), at any time
 *
 * Threads: all functions may be called from any thread at any time, but for one request parley_request_next() and what its events point to belong to
 * one thread at a time, and the functions that push and finish to one thread at a time. parley_request_cancel() is always allowed.
 *
 * Failures: what can be told from the options and the text is told by the call that brings it (parley_engine_speak, parley_request_finish_text, ..),
 * so that a server can still answer with an error; what happens later ends that request alone, with the status and text in its last event. */
#ifndef PARLEY_ENGINE_H
#define PARLEY_ENGINE_H

#include <parley/asr.h>
#include <parley/voice.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct parley_engine parley_engine;
typedef struct parley_request parley_request;

typedef struct parley_engine_options {
    size_t size;           /* sizeof(parley_engine_options) */
    int32_t max_active;    /* requests advanced together, 1 to 64; default 8 */
    int32_t max_queued;    /* requests that wait for their turn, 0 to 100,000; default 64. One more is refused: BUSY */
    uint64_t max_kv_bytes; /* caches of all active requests together, alignments included, as reserved beforehand; 0 (default): no limit. A request
                              that needs more than this alone is refused: LIMIT */
    int32_t prompt_rows;   /* rows of new prompts computed in one turn beside running requests, 1 to 4,096; default 32. Without running requests
                              prompts are computed whole */
    double slice_seconds;  /* of long work between two turns while requests run, 0.001 to 1; default 0.02 */
    double pcm_seconds;    /* PCM that waits for the reader of a request, 0.16 to 3,600; default 10. A request whose reader lags more pauses */
    double sound_seconds;  /* sound of one request of recognition, 1 to 86,400; default 7,200. More is refused by the push: LIMIT */
    size_t text_bytes;     /* text of one request, 1 to 16 MiB; default 1 MiB. More is refused by the push: LIMIT */
} parley_engine_options;

/* Fills in the defaults. */
PARLEY_API void parley_engine_options_init(parley_engine_options *options);

/* Starts an engine over a model of any kind. The model must stay open until the engine is closed; sessions of the same model beside the engine are
 * allowed and wait for the engine's turns. One engine a model. Errors: ARGUMENT, MEMORY, IO (a thread cannot be started). */
PARLEY_API PARLEY_MUST_USE parley_status parley_engine_open(const parley_model *model, const parley_engine_options *options, parley_engine **engine,
                                                            parley_error *error);

/* Refuses new requests from now on (STATE) and waits up to `seconds` for the others to end. True: all have ended. False: those that have not go on;
 * parley_engine_close() cancels them. */
PARLEY_API bool parley_engine_drain(parley_engine *engine, double seconds);

/* Cancels what runs, waits for the threads and frees the engine. Its requests must have been released before. NULL is allowed. */
PARLEY_API void parley_engine_close(parley_engine *engine);

/* ------------------------------------------------------------------ requests */

typedef struct parley_request_options {
    size_t size;                   /* sizeof(parley_request_options) */
    double deadline_seconds;       /* from now until the end; 0 (default): none. A request that is late ends with PARLEY_LATE */
    void (*notify)(void *context); /* called when there is something new for parley_request_next(), on a thread of the engine, for event loops: it
                                      must return soon and must not call the engine. Not called any more once parley_request_release() has
                                      returned. NULL (default): none */
    void *notify_context;
} parley_request_options;

/* No deadline, no notice. */
PARLEY_API void parley_request_options_init(parley_request_options *options);

/* Speaks a text that is pushed and finished. `options` as for parley_tts_open(), copied with all they point to but the parley_reference, which must
 * stay open until the request is released. Taps are called on threads of the engine. With options->live_text the request is queued by its first text
 * and speaks while text comes; else it is queued by parley_request_finish_text(). `request_options` NULL: the defaults. Errors: those of
 * parley_tts_open(), STATE (draining). */
PARLEY_API PARLEY_MUST_USE parley_status parley_engine_speak(parley_engine *engine, const parley_tts_options *options,
                                                             const parley_request_options *request_options, parley_request **request,
                                                             parley_error *error);

/* Adds text; pieces may split a character. Errors: STATE (finished, or the request has ended), LIMIT (text_bytes), BUSY (queue
 * full, with live text, which is kept: a push of no bytes tries again). */
PARLEY_API PARLEY_MUST_USE parley_status parley_request_push_text(parley_request *request, const char *text, size_t length, parley_error *error);

/* Ends the text and queues the request. Errors: those of parley_tts_finish_text() (FORMAT, ARGUMENT, LIMIT: with live text they end the request
 * instead), LIMIT (cache too large), BUSY (queue full). After an error the request has not been queued, has no events and can only be released. */
PARLEY_API PARLEY_MUST_USE parley_status parley_request_finish_text(parley_request *request, parley_error *error);

/* Hears a sound that is pushed and finished. Without options->stream the request is queued by parley_request_finish_sound(), and each segment's text
 * comes as a final update; with it the request is queued at once and updates come while the sound does. Errors: those of parley_asr_open(), STATE
 * (draining), BUSY (queue full, with a stream). */
PARLEY_API PARLEY_MUST_USE parley_status parley_engine_hear(parley_engine *engine, const parley_asr_options *options,
                                                            const parley_request_options *request_options, parley_request **request,
                                                            parley_error *error);

/* Adds samples, mono at PARLEY_ASR_RATE. Errors: STATE (finished), VALUE (not finite), LIMIT (sound_seconds), MEMORY. */
PARLEY_API PARLEY_MUST_USE parley_status parley_request_push_sound(parley_request *request, const float *pcm, size_t samples, parley_error *error);

/* Ends the sound. Errors: ARGUMENT (no samples), BUSY (queue full), LIMIT (cache too large), STATE. */
PARLEY_API PARLEY_MUST_USE parley_status parley_request_finish_sound(parley_request *request, parley_error *error);

/* parley_align() as a request; sound, text and options are copied and the request is queued at once. Errors: ARGUMENT, FAMILY (no aligner), STATE
 * (draining), LIMIT (cache too large), BUSY (queue full), MEMORY; others in the last event. Taps are not allowed. */
PARLEY_API PARLEY_MUST_USE parley_status parley_engine_align(parley_engine *engine, const float *pcm, size_t samples, const char *text, size_t length,
                                                             const parley_align_options *options, const parley_request_options *request_options,
                                                             parley_request **request, parley_error *error);

/* What of a voice is wanted. */
typedef struct parley_encode_options {
    size_t size;
    bool vector;            /* parley_voice_vector(); default: whether the model has a speaker encoder */
    bool codes;             /* parley_codec_encode(); default: whether it has the codec's encoder */
    double silence_seconds; /* behind the recording in its codes, so that a reference does not run into the speech; 0 (default) to 10 */
} parley_encode_options;

/* Defaults of this engine's model. */
PARLEY_API void parley_encode_options_init(const parley_engine *engine, parley_encode_options *options);

/* Makes a voice of a recording (mono at parley_info.sample_rate): both functions of voice.h as one request, queued at once; the samples are copied.
 * Errors: ARGUMENT (nothing wanted, no samples, silence out of range), FAMILY, STATE (draining), BUSY (queue full), MEMORY; others in the last event.
 */
PARLEY_API PARLEY_MUST_USE parley_status parley_engine_encode_voice(parley_engine *engine, const float *pcm, size_t samples,
                                                                    const parley_encode_options *options,
                                                                    const parley_request_options *request_options, parley_request **request,
                                                                    parley_error *error);

/* Makes the request end with PARLEY_FINISH_CANCELLED and PARLEY_CANCELLED: at once where it has not begun, queued or not; else within a turn, and
 * inside of long work within a piece of that (the tower's layers, a voice's: see parley_voice_options.cancelled). PCM and updates that were not
 * fetched are dropped. Functions that push and finish say STATE afterwards. One that was not queued is not counted in the figures. */
PARLEY_API void parley_request_cancel(parley_request *request);

/* Cancels the request if it has not ended and gives it back; what its events pointed to is gone. Never waits for work, only for a notify() that is
 * running, so that it must not be called from one. NULL is allowed. */
PARLEY_API void parley_request_release(parley_request *request);

/* ------------------------------------------------------------------ events */

typedef enum parley_event_kind {
    PARLEY_EVENT_NONE,   /* nothing new in the time given */
    PARLEY_EVENT_PCM,    /* sound to hand on */
    PARLEY_EVENT_UPDATE, /* text of a recognition */
    PARLEY_EVENT_END     /* the last one; results are there */
} parley_event_kind;

/* Pointers are valid until the next parley_request_next() of this request or its release. */
typedef struct parley_event {
    size_t size;
    parley_event_kind kind;
    /* PCM */
    const float *pcm; /* [samples], mono at parley_info.sample_rate; all that was waiting, at most pcm_seconds */
    size_t samples;
    uint64_t first_sample; /* samples of this request before these */
    uint64_t frames;       /* that the request had generated when the first of these samples came */
    /* UPDATE: of a stream as parley_asr_poll() gives it. A reader that lags misses updates that are not final, never a final one */
    parley_asr_update update;
    /* END */
    parley_status status;      /* OK, CANCELLED, LATE, or what failed */
    const parley_error *error; /* with a status that is not OK */
    parley_finish finish;      /* of speak and hear with status OK or CANCELLED; else NONE */
} parley_event;

/* The next event, in order: waits up to `seconds` for it (0: does not wait). PCM that was not fetched is handed out before the end. After the end:
 * PARLEY_EVENT_END again. Returns event->kind. */
PARLEY_API parley_event_kind parley_request_next(parley_request *request, double seconds, parley_event *event);

typedef enum parley_request_state { PARLEY_REQUEST_OPEN, PARLEY_REQUEST_QUEUED, PARLEY_REQUEST_ACTIVE, PARLEY_REQUEST_ENDED } parley_request_state;

typedef struct parley_request_progress {
    size_t size;
    parley_request_state state;                                /* OPEN: collects its input, not queued yet */
    int32_t ahead;                                             /* requests queued before this one */
    uint64_t frames;                                           /* of speech made so far */
    double audio_seconds;                                      /* of speech made, at its speed, or of sound heard, so far */
    uint64_t kv_bytes;                                         /* reserved for it */
    bool waits_for_text;                                       /* live text: the speech has caught up with the text */
    bool waits_for_reader;                                     /* PCM is full */
    double queued_seconds, first_audio_seconds, total_seconds; /* from queuing to the first turn, the first PCM, the end (or now); 0: not yet */
} parley_request_progress;

/* Where the request stands. */
PARLEY_API void parley_request_progress_get(parley_request *request, parley_request_progress *progress);

/* Results, once the request has ended; until the release. False: not ended, or a request of another kind. After a failure they hold what was made.
 * parley_request_speech: codes, frames, samples, times of all pieces; text_ids NULL. parley_request_voice: `vector` NULL or `codes` NULL where they
 * were not wanted; name, model and text are NULL. */
PARLEY_API bool parley_request_speech(parley_request *request, parley_tts_result *result);
PARLEY_API bool parley_request_recognition(parley_request *request, parley_asr_result *result);
PARLEY_API bool parley_request_alignment(parley_request *request, const parley_alignment **alignment);
PARLEY_API bool parley_request_voice(parley_request *request, parley_voice *voice);

/* ------------------------------------------------------------------ figures */

enum { PARLEY_LATENCY_BUCKETS = 12 };

/* Upper bounds in seconds of the buckets of parley_engine_figures.first_audio; the last is infinite. */
PARLEY_API const double *parley_latency_bounds(void);

/* Counted since the engine was opened; `active`, `queued`, `kv_bytes` are of now. */
typedef struct parley_engine_figures {
    size_t size;
    uint64_t accepted;                              /* requests that were queued */
    uint64_t refused;                               /* queue full, cache too large, draining */
    uint64_t stopped, cut, cancelled, late, failed; /* ended: OK; OK with finish LENGTH; cancelled; past their deadline; else */
    int32_t active, queued, jobs;                   /* jobs: long pieces of work that wait or run */
    uint64_t turns, turn_rows;                      /* turns taken; sequences in them: turn_rows / turns is the mean width of the batch */
    double turn_seconds;                            /* spent in turns */
    uint64_t frames;                                /* of speech */
    double speech_seconds, heard_seconds;           /* made, at its speed; recognised or aligned */
    double busy_seconds;                            /* with at least one active request: speech_seconds / busy_seconds is the speed */
    uint64_t kv_bytes, kv_bytes_most;               /* reserved by active requests */
    uint64_t first_audio[PARLEY_LATENCY_BUCKETS];   /* requests by the time from queuing to the first PCM, not cumulated */
    double first_audio_seconds;                     /* their sum */
    uint64_t first_audio_count;
} parley_engine_figures;

/* Where the engine stands. */
PARLEY_API void parley_engine_figures_get(parley_engine *engine, parley_engine_figures *figures);

#ifdef __cplusplus
}
#endif
#endif
