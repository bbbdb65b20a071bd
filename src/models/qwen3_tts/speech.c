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
    s->speech.out = s->options.speed == 1 ? &s->speech.sound : &s->speech.stretched;
    if (s->options.speed != 1)
        PL_TRY(pl_stretch_open(&s->arena, s->model->config.codec.sample_rate, s->options.speed, &s->speech.stretch, error));
    if (overlap->thread)
        PL_TRY(pl_compute_open(&s->arena.allocator, s->model->env.kernels, overlap->codec, false, &s->speech.compute, error));
    return pl_codec_state_open(&s->arena.allocator, s->model->network.codec, &s->speech.state, error);
}

static void free_queue(const tts_session *s, const tts_queue *q)
{
    pl_release(&s->arena.allocator, q->pcm, q->capacity, sizeof *q->pcm);
}

void pl_tts_speech_close(tts_session *s)
{
    if (s->speech.in_flight)
        pl_background_wait(s->model->overlap.thread, &s->speech.job);
    pl_compute_close(&s->speech.compute);
    pl_codec_state_close(s->speech.state);
    free_queue(s, &s->speech.sound);
    free_queue(s, &s->speech.stretched);
    s->speech = (tts_speech){0};
}

/* Room for `count` samples behind the tail: first by moving what waits to the front, then by growing. */
static parley_status make_room(tts_session *s, tts_queue *q, size_t count, parley_error *error)
{
    if (q->tail + count <= q->capacity)
        return PARLEY_OK;
    size_t waiting = q->tail - q->head;
    float *to = q->pcm;
    size_t capacity = q->capacity;
    if (waiting + count > capacity) {
        capacity = (waiting + count) * 2;
        to = pl_alloc(&s->arena.allocator, capacity, sizeof *to);
        if (!to)
            return pl_fail_memory(error, "PCM");
    }
    if (waiting)
        memmove(to, q->pcm + q->head, waiting * sizeof *to);
    if (to != q->pcm)
        pl_release(&s->arena.allocator, q->pcm, q->capacity, sizeof *q->pcm);
    *q = (tts_queue){.pcm = to, .capacity = capacity, .tail = waiting};
    return PARLEY_OK;
}

/* Brings what waits of the codec's sound, and with `last` the end of all sound, to its speed. */
static parley_status stretch(tts_session *s, bool last, size_t *samples, parley_error *error)
{
    tts_speech *p = &s->speech;
    size_t count = p->sound.tail - p->sound.head;
    *samples = pl_stretch_gives(p->stretch, count, last);
    PL_TRY(make_room(s, &p->stretched, *samples, error));
    const float *from = count ? p->sound.pcm + p->sound.head : NULL;
    pl_stretch_push(p->stretch, from, count, last, *samples ? p->stretched.pcm + p->stretched.tail : NULL);
    p->sound.head = p->sound.tail;
    p->stretched.tail += *samples;
    return PARLEY_OK;
}

/* The last `samples` of the codec's sound are to be heard. */
static parley_status deliver(tts_session *s, size_t samples, bool last, parley_error *error)
{
    if (s->speech.stretch)
        PL_TRY(stretch(s, last, &samples, error));
    const tts_queue *q = s->speech.out;
    s->speech.samples += samples;
    if (samples)
        pl_tap_floats(&s->tap, "pcm", q->pcm + q->tail - samples, (int64_t)samples, 0);
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
        PL_TRY(make_room(s, &s->speech.sound, (size_t)count * frame, error));
        float *pcm = s->speech.sound.pcm + s->speech.sound.tail;
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
        PL_TRY(make_room(s, &p->sound, silence, error));
        if (silence)
            memset(p->sound.pcm + p->sound.tail, 0, silence * sizeof *p->sound.pcm);
        p->sound.tail += silence;
        PL_TRY(deliver(s, silence, false, error));
        pl_codec_state_reset(p->state);
    }
    return prime(s, error);
}

/* ------------------------------------------------------------------ chunks */

static parley_status decode_chunk(tts_session *s, pl_compute *compute, int32_t first, int32_t count, parley_error *error)
{
    pl_tap quiet = {0};
    float *pcm = s->speech.sound.pcm + s->speech.sound.tail;
    return pl_codec_decode(compute, s->model->network.codec, s->speech.state, pl_tts_frame(s, first), count, pcm, &quiet, error);
}

static parley_status hand_out(tts_session *s, int32_t count, parley_error *error)
{
    size_t samples = (size_t)count * samples_per_frame(s);
    s->speech.sound.tail += samples;
    return s->options.exact_cut ? PARLEY_OK : deliver(s, samples, false, error);
}

static void run_job(void *context)
{
    tts_session *s = context;
    double began = pl_seconds();
    s->speech.job_status = decode_chunk(s, &s->speech.compute, s->speech.decoded - s->speech.job_frames, s->speech.job_frames, &s->speech.job_error);
    s->speech.job_seconds = pl_seconds() - began;
}

/* Nothing but the job touches the state, `sound` behind the tail and the counts until it is settled. */
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
        return hand_out(s, s->speech.job_frames, error);
    *error = s->speech.job_error;
    return s->speech.job_status;
}

/* In turn: the first chunk, for an early first sound, and what is left behind the last frame; every thread is free then. */
static parley_status decode_some(tts_session *s, int32_t count, bool in_turn, parley_error *error)
{
    double began = pl_seconds();
    PL_TRY(make_room(s, &s->speech.sound, (size_t)count * samples_per_frame(s), error));
    if (!in_turn) {
        start_job(s, count);
        return PARLEY_OK;
    }
    PL_TRY(decode_chunk(s, &s->compute, s->speech.decoded, count, error));
    s->speech.decoded += count;
    parley_status status = hand_out(s, count, error);
    s->times.codec += pl_seconds() - began;
    return status;
}

/* With an exact cut the sound is held and the first of it counts. */
static void note_first(tts_session *s)
{
    if (s->times.first_frame == 0 && (s->options.exact_cut ? s->speech.decoded > 0 : s->speech.samples > 0))
        s->times.first_frame = pl_seconds() - s->began;
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
    note_first(s);
    return PARLEY_OK;
}

/* The official cut depends on the number of all frames; for some it leaves one sample of the reference. */
static parley_status cut_exactly(tts_session *s, parley_error *error)
{
    tts_queue *q = &s->speech.sound;
    uint64_t frame = samples_per_frame(s), ref = (uint64_t)s->voice.ref_frames, total = ref + (uint64_t)s->frames;
    if (ref == 0 || s->frames == 0 || pl_codec_cut(ref, total, total * frame) >= ref * frame)
        return PARLEY_OK;
    PL_TRY(make_room(s, q, 1, error));
    memmove(q->pcm + q->head + 1, q->pcm + q->head, (q->tail - q->head) * sizeof *q->pcm);
    q->pcm[q->head] = s->speech.lead;
    q->tail++;
    return PARLEY_OK;
}

parley_status pl_tts_speech_finish(tts_session *s, parley_error *error)
{
    const tts_queue *q = &s->speech.sound;
    if (!s->speech.state)
        return PARLEY_OK;
    if (s->options.exact_cut)
        PL_TRY(cut_exactly(s, error));
    PL_TRY(deliver(s, s->options.exact_cut ? q->tail - q->head : 0, true, error));
    note_first(s);
    return PARLEY_OK;
}

size_t pl_tts_speech_ready(const tts_session *s)
{
    const tts_queue *q = s->speech.out;
    if (!q || (s->options.exact_cut && s->state != TTS_STATE_DONE))
        return 0;
    return q->tail - q->head;
}

size_t pl_tts_speech_take(tts_session *s, float *pcm, size_t capacity)
{
    tts_queue *q = s->speech.out;
    size_t count = pl_tts_speech_ready(s);
    if (count > capacity)
        count = capacity;
    if (count == 0)
        return 0;
    memcpy(pcm, q->pcm + q->head, count * sizeof *pcm);
    q->head += count;
    return count;
}
