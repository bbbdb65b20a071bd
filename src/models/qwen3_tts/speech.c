#include "base/clock.h"
#include "models/qwen3_tts/session.h"

#include <string.h>

static size_t samples_per_frame(const tts_session *s)
{
    return (size_t)pl_codec_samples_per_frame(&s->model->config.codec);
}

parley_status pl_tts_speech_open(tts_session *s, parley_error *error)
{
    const tts_overlap *overlap = &s->model->overlap;
    s->speech = (tts_speech){.chunk = 1};
    if (overlap->thread)
        PL_TRY(pl_compute_open(&s->arena.allocator, s->model->env.kernels, overlap->codec, false, &s->speech.compute, error));
    return pl_codec_state_open(&s->arena.allocator, s->model->network.codec, &s->speech.state, error);
}

void pl_tts_speech_close(tts_session *s)
{
    if (s->speech.in_flight)
        pl_background_wait(s->model->overlap.thread, &s->speech.job);
    pl_compute_close(&s->speech.compute);
    pl_codec_state_close(s->speech.state);
    pl_release(&s->arena.allocator, s->speech.pcm, s->speech.capacity, sizeof *s->speech.pcm);
    s->speech = (tts_speech){0};
}

/* Room for `count` samples behind the tail: first by moving what waits to the front, then by growing. */
static parley_status make_room(tts_session *s, size_t count, parley_error *error)
{
    tts_speech *p = &s->speech;
    if (p->tail + count <= p->capacity)
        return PARLEY_OK;
    size_t waiting = p->tail - p->head;
    float *to = p->pcm;
    size_t capacity = p->capacity;
    if (waiting + count > capacity) {
        capacity = (waiting + count) * 2;
        to = pl_alloc(&s->arena.allocator, capacity, sizeof *to);
        if (!to)
            return pl_fail_memory(error, "PCM");
    }
    if (waiting)
        memmove(to, p->pcm + p->head, waiting * sizeof *to);
    if (to != p->pcm)
        pl_release(&s->arena.allocator, p->pcm, p->capacity, sizeof *p->pcm);
    p->pcm = to;
    p->capacity = capacity;
    p->head = 0;
    p->tail = waiting;
    return PARLEY_OK;
}

/* Reference frames are context of the codec: decoded first, their PCM dropped but for its last sample. */
static parley_status prime(tts_session *s, parley_error *error)
{
    enum { AT_ONCE = 8 };
    size_t frame = samples_per_frame(s);
    pl_tap quiet = {0};
    const tts_reference *ready = (const tts_reference *)s->options.reference;
    if (ready) {
        s->speech.lead = ready->lead;
        return pl_codec_state_copy(s->speech.state, ready->state, error);
    }
    for (int64_t f = 0; f < s->voice.ref_frames && !atomic_load(&s->cancelled); f += AT_ONCE) {
        int64_t count = s->voice.ref_frames - f < AT_ONCE ? s->voice.ref_frames - f : AT_ONCE;
        PL_TRY(make_room(s, (size_t)count * frame, error));
        float *pcm = s->speech.pcm + s->speech.tail;
        PL_TRY(pl_codec_decode(&s->compute, s->model->network.codec, s->speech.state, s->voice.ref_codes + f * s->model->config.groups, count, pcm,
                               &quiet, error));
        s->speech.lead = pcm[(size_t)count * frame - 1];
    }
    return PARLEY_OK;
}

parley_status pl_tts_speech_begin(tts_session *s, parley_error *error)
{
    tts_speech *p = &s->speech;
    if (!p->state)
        return PARLEY_OK;
    p->decoded = 0;
    p->chunk = 1; /* sound soon, also behind a pause */
    if (s->text.pieces > 1) {
        size_t silence = (size_t)(s->options.pause_seconds * s->model->config.codec.sample_rate + 0.5);
        PL_TRY(make_room(s, silence, error));
        if (silence)
            memset(p->pcm + p->tail, 0, silence * sizeof *p->pcm);
        p->tail += silence;
        p->samples += silence;
        pl_codec_state_reset(p->state);
    }
    return prime(s, error);
}

/* ------------------------------------------------------------------ chunks */

static parley_status decode_chunk(tts_session *s, pl_compute *compute, int32_t first, int32_t count, parley_error *error)
{
    pl_tap quiet = {0};
    float *pcm = s->speech.pcm + s->speech.tail;
    return pl_codec_decode(compute, s->model->network.codec, s->speech.state, pl_tts_frame(s, first), count, pcm, &quiet, error);
}

static void hand_out(tts_session *s, int32_t count)
{
    size_t samples = (size_t)count * samples_per_frame(s);
    const float *pcm = s->speech.pcm + s->speech.tail;
    s->speech.tail += samples;
    s->speech.samples += samples;
    if (!s->options.exact_cut)
        pl_tap_floats(&s->tap, "pcm", pcm, (int64_t)samples, 0);
}

static void run_job(void *context)
{
    tts_session *s = context;
    double began = pl_seconds();
    s->speech.job_status = decode_chunk(s, &s->speech.compute, s->speech.decoded - s->speech.job_frames, s->speech.job_frames, &s->speech.job_error);
    s->speech.job_seconds = pl_seconds() - began;
}

/* Nothing but the job touches the state, `pcm` behind the tail and the counts until it is settled. */
static void start_job(tts_session *s, int32_t count)
{
    s->speech.job = (pl_job){.run = run_job, .context = s};
    s->speech.job_frames = count;
    s->speech.decoded += count;
    s->speech.in_flight = true;
    pl_background_submit(s->model->overlap.thread, &s->speech.job);
}

parley_status pl_tts_speech_settle(tts_session *s, parley_error *error)
{
    if (!s->speech.in_flight)
        return PARLEY_OK;
    pl_background_wait(s->model->overlap.thread, &s->speech.job);
    s->speech.in_flight = false;
    s->times.codec += s->speech.job_seconds;
    if (s->speech.job_status == PARLEY_OK)
        hand_out(s, s->speech.job_frames);
    else
        *error = s->speech.job_error;
    return s->speech.job_status;
}

/* In turn: the first chunk, for an early first sound, and what is left behind the last frame; every thread is free then. */
static parley_status decode_some(tts_session *s, int32_t count, bool in_turn, parley_error *error)
{
    double began = pl_seconds();
    PL_TRY(make_room(s, (size_t)count * samples_per_frame(s), error));
    if (!in_turn) {
        start_job(s, count);
        return PARLEY_OK;
    }
    PL_TRY(decode_chunk(s, &s->compute, s->speech.decoded, count, error));
    s->speech.decoded += count;
    hand_out(s, count);
    s->times.codec += pl_seconds() - began;
    return PARLEY_OK;
}

static bool is_due(const tts_session *s, bool all)
{
    int32_t left = s->frames - s->speech.decoded;
    return left > 0 && (all || left >= s->speech.chunk);
}

parley_status pl_tts_speech_decode(tts_session *s, bool all, parley_error *error)
{
    const tts_overlap *overlap = &s->model->overlap;
    if (!s->speech.state)
        return PARLEY_OK;
    if (all || is_due(s, all) || (s->speech.in_flight && pl_background_done(overlap->thread, &s->speech.job)))
        PL_TRY(pl_tts_speech_settle(s, error));
    while (is_due(s, all)) {
        int32_t left = s->frames - s->speech.decoded, count = left < s->speech.chunk ? left : s->speech.chunk;
        bool in_turn = all || !overlap->thread || s->speech.decoded == 0;
        PL_TRY(pl_tts_speech_settle(s, error));
        PL_TRY(decode_some(s, count, in_turn, error));
        s->speech.chunk = s->speech.chunk * 2 < s->options.chunk_frames ? s->speech.chunk * 2 : s->options.chunk_frames;
    }
    if (s->times.first_frame == 0 && s->speech.samples > 0)
        s->times.first_frame = pl_seconds() - s->began;
    return PARLEY_OK;
}

/* The official cut depends on the number of all frames; for some it leaves one sample of the reference. */
parley_status pl_tts_speech_finish(tts_session *s, parley_error *error)
{
    tts_speech *p = &s->speech;
    if (!p->state || !s->options.exact_cut)
        return PARLEY_OK;
    uint64_t frame = samples_per_frame(s), ref = (uint64_t)s->voice.ref_frames, total = ref + (uint64_t)s->frames;
    if (ref > 0 && s->frames > 0 && pl_codec_cut(ref, total, total * frame) < ref * frame) {
        PL_TRY(make_room(s, 1, error));
        memmove(p->pcm + p->head + 1, p->pcm + p->head, (p->tail - p->head) * sizeof *p->pcm);
        p->pcm[p->head] = p->lead;
        p->tail++;
        p->samples++;
    }
    pl_tap_floats(&s->tap, "pcm", p->pcm + p->head, (int64_t)(p->tail - p->head), 0);
    return PARLEY_OK;
}

size_t pl_tts_speech_ready(const tts_session *s)
{
    if (s->options.exact_cut && s->state != TTS_STATE_DONE)
        return 0;
    return s->speech.tail - s->speech.head;
}

size_t pl_tts_speech_take(tts_session *s, float *pcm, size_t capacity)
{
    size_t count = pl_tts_speech_ready(s);
    if (count > capacity)
        count = capacity;
    if (count)
        memcpy(pcm, s->speech.pcm + s->speech.head, count * sizeof *pcm);
    s->speech.head += count;
    return count;
}
