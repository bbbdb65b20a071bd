/* Many requests over one model (parley/engine.h). engine.c the engine's life, turn.c its thread, lanes.c threads for long work, request.c a request's
 * life and events; speak.c, hear.c and work.c what kinds of requests do.
 *
 * One lock guards all fields of the engine and of its requests but where another owner is named. A session belongs to the caller until the request is
 * queued, then to the engine's thread, and while `busy` to a lane. */
#ifndef PL_ENGINE_ENGINE_H
#define PL_ENGINE_ENGINE_H

#include "base/sync.h"
#include "engine/model.h"
#include "text/buffer.h"

#include <parley/engine.h>

/* Long work of different length does not queue up behind each other: prompts and chunks of streams; whole segments, alignments, voices. */
typedef enum pl_lane_kind { PL_LANE_SHORT, PL_LANE_LONG, PL_LANES } pl_lane_kind;

enum { PL_MOST_ACTIVE = 64 };

typedef struct pl_request_ops {
    pl_lane_kind lane;
    bool overlaps; /* settle, can_step and steps go on while a job runs; the request does not end before it */
    /* The engine's thread, the request not busy or overlapping: hands on what was made and ends the request when it is over. */
    void (*settle)(parley_request *r);
    bool (*wants_job)(parley_request *r); /* whether there is long work; takes new input first */
    void (*job)(parley_request *r);       /* does it, on a lane, without the lock */
    bool (*can_step)(parley_request *r);  /* whether it takes part in a turn */
    uint64_t (*kv_bytes)(parley_request *r);
    void (*cancel)(parley_request *r); /* makes what runs stop soon */
    void (*keep)(parley_request *r);   /* at the end: keeps the result, gives memory back */
    void (*close)(parley_request *r);  /* at the last reference */
} pl_request_ops;

/* An update that waits for its reader; its texts stand behind it. */
typedef struct pl_update {
    struct pl_update *next;
    size_t bytes; /* of the block */
    parley_asr_update update;
} pl_update;

/* Speech. */
typedef struct pl_speak {
    parley_tts *session;
    bool live, lacks_text;
    pl_buffer text;         /* live text that the session has not got */
    size_t waiting, pushed; /* bytes: in `text`; in all */
    bool told_end;          /* the session knows that the text has ended */
    parley_tts_result result;
    int32_t *codes; /* of the result */
} pl_speak;

/* Recognition. */
typedef struct pl_hear {
    parley_asr *session;
    bool stream;
    pl_buffer sound, taking; /* float: what a stream has not got; what a job takes (the lane's) */
    size_t waiting, pushed;  /* samples: in `sound`; in all */
    bool told_end;           /* the lane's while busy */
    size_t told;             /* segments handed on */
    parley_asr_result result;
} pl_hear;

/* Alignment and voices: one piece of work. */
typedef struct pl_work {
    parley_status (*run)(parley_request *r, parley_error *error);
    float *pcm; /* [samples + silence] */
    size_t samples, silence;
    pl_arena arena; /* copies of what is aligned */
    pl_bytes text;
    parley_align_options align;
    parley_alignment *alignment;
    parley_encode_options encode;
    float *vector;
    int32_t *codes;
    size_t frames;
    uint64_t kv_bytes; /* most that the cache of an alignment comes to */
    bool done;
} pl_work;

typedef struct pl_pcm {
    pl_buffer samples; /* float */
    size_t count;
    uint64_t frames; /* made when the first of them came */
} pl_pcm;

struct parley_request {
    parley_engine *engine;
    const pl_request_ops *ops;
    parley_request *next; /* in the queue or a lane */
    int references;       /* the caller's; the engine's while it is queued or active */
    parley_request_state state;
    parley_request_options options;
    pl_condition changed;                                           /* readers wait for it */
    double deadline, queued_at, begun_at, first_audio_at, ended_at; /* clock; 0: not yet, none */
    atomic_bool cancelled;
    int calls;          /* of the caller that use the session without the lock; the request is open meanwhile */
    parley_status doom; /* that it ends with as soon as it is not busy; OK: none */
    bool input_ended;
    bool busy;      /* on a lane */
    bool ran;       /* has taken part in a turn */
    bool starved;   /* finds no room for a larger cache */
    bool news;      /* for the reader */
    bool notifying; /* its notify() runs */
    uint64_t kv_bytes;
    parley_error failure; /* of the last turn or job; status OK: none. While busy the lane's */

    pl_pcm filling, handed; /* for the next event; of the last one */
    uint64_t samples_handed, samples, frames;
    pl_update *first_update, *last_update, *handed_update;
    parley_status status;
    parley_error error;
    parley_finish finish;
    union {
        pl_speak speak;
        pl_hear hear;
        pl_work work;
    };
};

typedef struct pl_lane {
    pl_thread thread;
    pl_condition wake;
    parley_request *first, *last;
    parley_engine *engine;
    bool started;
} pl_lane;

struct parley_engine {
    const parley_model *model;
    parley_allocator allocator;
    parley_engine_options options;
    size_t pcm_samples; /* options.pcm_seconds */
    pl_lock lock;
    pl_condition wake;    /* the engine's thread */
    pl_condition drained; /* a request has ended */
    uint64_t version;     /* counts what its thread may have missed while it worked */
    pl_thread thread;
    pl_lane lanes[PL_LANES];
    bool started, draining, stopping, lanes_stop;
    parley_request *first, *last; /* the queue */
    int queued, n_active, jobs;
    parley_request *active[PL_MOST_ACTIVE];
    double busy_since; /* with an active request; 0: none */
    parley_engine_figures figures;
    parley_error errors[PL_MOST_ACTIVE]; /* of a turn */
};

/* engine.c */
parley_status pl_engine_open(const parley_model *model, const parley_engine_options *options, parley_engine **engine, parley_error *error);
bool pl_engine_drain(parley_engine *e, double seconds);
void pl_engine_close(parley_engine *e);
void pl_engine_figures(parley_engine *e, parley_engine_figures *figures);

/* turn.c: the engine's thread; and what wakes it, the lock held. */
void *pl_engine_work(void *engine);
void pl_engine_wake(parley_engine *e);

/* lanes.c, the lock held but for the first two */
parley_status pl_lanes_start(parley_engine *e, parley_error *error);
void pl_lanes_stop(parley_engine *e);
void pl_lanes_submit(parley_request *r);
void pl_lanes_withdraw(parley_request *r); /* unless it has begun */

/* request.c */
parley_status pl_request_new(parley_engine *e, const pl_request_ops *ops, const parley_request_options *options, parley_request **request,
                             parley_error *error);
parley_status pl_request_queue(parley_request *r, parley_error *error); /* the caller does not hold the lock. STATE, BUSY, LIMIT */
void pl_request_enter(parley_request *r);                               /* the lock held: such a call begins */
void pl_request_leave(parley_request *r);                               /* it is over; takes the lock */
void pl_request_release(parley_request *r);
void pl_request_cancel(parley_request *r);
parley_event_kind pl_request_next(parley_request *r, double seconds, parley_event *event);
void pl_request_progress(parley_request *r, parley_request_progress *progress);
bool pl_request_is_over(parley_request *r, const pl_request_ops *ops); /* ended, and of this kind; takes the lock */
/* The lock held: */
void pl_request_end(parley_request *r, parley_status status, const parley_error *error, parley_finish finish);
void pl_request_announce(parley_request *r); /* tells the reader of news; gives the lock for a notify() */
void pl_request_unref(parley_request *r);
parley_status pl_request_add_update(parley_request *r, const parley_asr_update *update, parley_error *error);

/* speak.c, hear.c, work.c */
extern const pl_request_ops pl_speak_ops, pl_hear_ops, pl_stream_ops, pl_align_ops, pl_voice_ops;
parley_status pl_engine_speak(parley_engine *e, const parley_tts_options *options, const parley_request_options *request_options,
                              parley_request **request, parley_error *error);
parley_status pl_request_push_text(parley_request *r, const char *text, size_t length, parley_error *error);
parley_status pl_request_finish_text(parley_request *r, parley_error *error);
parley_status pl_engine_hear(parley_engine *e, const parley_asr_options *options, const parley_request_options *request_options,
                             parley_request **request, parley_error *error);
parley_status pl_request_push_sound(parley_request *r, const float *pcm, size_t samples, parley_error *error);
parley_status pl_request_finish_sound(parley_request *r, parley_error *error);

/* Sound, text and options of a piece of work; copied. */
typedef struct pl_work_input {
    const float *pcm;
    size_t samples;
    pl_bytes text;
    const parley_align_options *align; /* or */
    const parley_encode_options *encode;
} pl_work_input;

parley_status pl_engine_work_on(parley_engine *e, const pl_work_input *input, const parley_request_options *request_options, parley_request **request,
                                parley_error *error);

#endif
