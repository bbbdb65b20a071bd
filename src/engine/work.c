/* Requests that are one piece of long work: alignment, encoding of a voice. */
#include "engine/engine.h"

#include <string.h>

enum { INPUT_CHUNK = 1 << 12 };

/* ------------------------------------------------------------------ input */

static parley_status copy_units(pl_work *w, const parley_align_options *given, parley_error *error)
{
    const char **units = PL_NEW_ARRAY(&w->arena, const char *, given->n_units);
    if (!units)
        return pl_fail_memory(error, "units");
    for (size_t i = 0; i < given->n_units; i++) {
        units[i] = pl_arena_text(&w->arena, given->units[i], strlen(given->units[i]));
        if (!units[i])
            return pl_fail_memory(error, "units");
    }
    w->align.units = units;
    return PARLEY_OK;
}

static parley_status copy_align(pl_work *w, const pl_work_input *in, parley_error *error)
{
    const char *language = in->align->language ? in->align->language : "", *text;
    w->align = *in->align;
    w->align.language = pl_arena_text(&w->arena, language, strlen(language));
    text = pl_arena_text(&w->arena, (const char *)in->text.data, in->text.size);
    w->text = (pl_bytes){(const uint8_t *)text, in->text.size};
    if (!w->align.language || !text)
        return pl_fail_memory(error, "a text");
    return in->align->units ? copy_units(w, in->align, error) : PARLEY_OK;
}

/* What is wrong with the text is told by the work. */
static uint64_t cache_of(const parley_engine *e, const pl_work *w)
{
    uint64_t bytes = 0;
    return e->model->family->asr->align_kv_bytes(e->model->state, w->samples, w->text, &w->align, &bytes, NULL) == PARLEY_OK ? bytes : 0;
}

static parley_status copy_input(parley_request *r, const pl_work_input *in, parley_error *error)
{
    pl_work *w = &r->work;
    const parley_model *m = r->engine->model;
    if (in->encode)
        w->silence = (size_t)(in->encode->silence_seconds * m->family->info(m->state)->sample_rate + 0.5);
    w->samples = in->samples;
    w->pcm = pl_alloc(&r->engine->allocator, w->samples + w->silence, sizeof *w->pcm);
    if (!w->pcm)
        return pl_fail_memory(error, "a sound");
    memcpy(w->pcm, in->pcm, w->samples * sizeof *w->pcm);
    memset(w->pcm + w->samples, 0, w->silence * sizeof *w->pcm);
    if (in->align) {
        PL_TRY(copy_align(w, in, error));
        w->kv_bytes = cache_of(r->engine, w);
        return PARLEY_OK;
    }
    w->encode = *in->encode;
    return PARLEY_OK;
}

parley_status pl_engine_work_on(parley_engine *e, const pl_work_input *in, const parley_request_options *request_options, parley_request **request,
                                parley_error *error)
{
    parley_request *r;
    PL_TRY(pl_request_new(e, in->align ? &pl_align_ops : &pl_voice_ops, request_options, &r, error));
    pl_arena_init(&r->work.arena, &e->allocator, INPUT_CHUNK);
    parley_status status = copy_input(r, in, error);
    if (status == PARLEY_OK)
        status = pl_request_queue(r, error);
    if (status != PARLEY_OK) {
        pl_request_release(r);
        return status;
    }
    *request = r;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ work */

static parley_status align(parley_request *r, parley_error *error)
{
    pl_work *w = &r->work;
    const parley_model *m = r->engine->model;
    return m->family->asr->align(m->state, w->pcm, w->samples, w->text, &w->align, &r->cancelled, &w->alignment, error);
}

static bool is_cancelled(void *request)
{
    const parley_request *r = request;
    return atomic_load(&r->cancelled);
}

static parley_status encode(parley_request *r, parley_error *error)
{
    pl_work *w = &r->work;
    const parley_model *m = r->engine->model;
    const parley_info *info = m->family->info(m->state);
    parley_voice_options options = {.size = sizeof options, .cancelled = is_cancelled, .cancel_context = r};
    if (w->encode.vector) {
        w->vector = pl_alloc(&r->engine->allocator, (size_t)info->xvector_length, sizeof *w->vector);
        if (!w->vector)
            return pl_fail_memory(error, "a voice");
        PL_TRY(m->family->tts->voice_vector(m->state, w->pcm, w->samples, &options, w->vector, error));
    }
    if (w->encode.codes)
        return m->family->tts->codec_encode(m->state, w->pcm, w->samples + w->silence, &options, &w->codes, &w->frames, error);
    return PARLEY_OK;
}

static void finish_job(parley_request *r, parley_status status, const parley_error *error)
{
    pl_lock_take(&r->engine->lock);
    r->work.done = true;
    if (status != PARLEY_OK) {
        r->failure = *error;
        r->failure.status = status;
    }
    pl_lock_give(&r->engine->lock);
}

static void align_job(parley_request *r)
{
    parley_error error;
    parley_status status = align(r, &error);
    finish_job(r, status, &error);
}

static void voice_job(parley_request *r)
{
    parley_error error;
    parley_status status = encode(r, &error);
    finish_job(r, status, &error);
}

/* ------------------------------------------------------------------ the engine's side */

static void settle(parley_request *r)
{
    if (r->failure.status != PARLEY_OK)
        pl_request_end(r, r->failure.status, &r->failure, PARLEY_FINISH_NONE);
    else if (r->work.done)
        pl_request_end(r, PARLEY_OK, NULL, PARLEY_FINISH_NONE);
    if (r->state == PARLEY_REQUEST_ENDED && r->ops == &pl_align_ops && r->status == PARLEY_OK)
        r->engine->figures.heard_seconds += (double)r->work.samples / PARLEY_ASR_RATE;
}

static bool wants_job(parley_request *r)
{
    return !r->work.done;
}

static bool can_step(parley_request *r)
{
    (void)r;
    return false;
}

static uint64_t kv_bytes(parley_request *r)
{
    return r->work.kv_bytes;
}

/* The work looks at r->cancelled. */
static void cancel(parley_request *r)
{
    atomic_store(&r->cancelled, true);
}

static void keep(parley_request *r)
{
    pl_work *w = &r->work;
    pl_release(&r->engine->allocator, w->pcm, w->samples + w->silence, sizeof *w->pcm);
    w->pcm = NULL;
    pl_arena_free(&w->arena);
}

static void close_work(parley_request *r)
{
    pl_work *w = &r->work;
    const parley_model *m = r->engine->model;
    const parley_info *info = m->family->info(m->state);
    keep(r);
    parley_alignment_free(w->alignment);
    pl_release(&r->engine->allocator, w->vector, (size_t)info->xvector_length, sizeof *w->vector);
    pl_release(&r->engine->allocator, w->codes, w->frames * (size_t)info->groups, sizeof *w->codes);
}

const pl_request_ops pl_align_ops = {
    .lane = PL_LANE_LONG,
    .settle = settle,
    .wants_job = wants_job,
    .job = align_job,
    .can_step = can_step,
    .kv_bytes = kv_bytes,
    .cancel = cancel,
    .keep = keep,
    .close = close_work,
};

const pl_request_ops pl_voice_ops = {
    .lane = PL_LANE_LONG,
    .settle = settle,
    .wants_job = wants_job,
    .job = voice_job,
    .can_step = can_step,
    .kv_bytes = kv_bytes,
    .cancel = cancel,
    .keep = keep,
    .close = close_work,
};
