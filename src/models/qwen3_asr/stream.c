#include "models/qwen3_asr/stream.h"

#include "audio/segment.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

enum { TEXT_CHUNK = 1 << 14, QUIET = PARLEY_ASR_RATE / 10, MOST_COUNT = 1000 };
static const double least_chunk = 0.25, longest_chunk = 30, longest_segment = 1200; /* seconds */

/* ------------------------------------------------------------------ lifetime */

static parley_status check_options(const parley_asr_options *o, parley_error *error)
{
    if (!(o->stream_chunk_seconds >= least_chunk && o->stream_chunk_seconds <= longest_chunk))
        return pl_fail(error, PARLEY_ARGUMENT, "chunks of a stream: %g s, expected %g to %g", o->stream_chunk_seconds, least_chunk, longest_chunk);
    if (!(o->stream_segment_seconds >= 2 * o->stream_chunk_seconds && o->stream_segment_seconds <= longest_segment))
        return pl_fail(error, PARLEY_ARGUMENT, "segments of a stream: %g s, expected two chunks (%g s) to %g s", o->stream_segment_seconds,
                       2 * o->stream_chunk_seconds, longest_segment);
    if (o->stream_unfixed_chunks < 0 || o->stream_unfixed_chunks > MOST_COUNT || o->stream_rollback < 1 || o->stream_rollback > MOST_COUNT)
        return pl_fail(error, PARLEY_ARGUMENT, "a stream with %d unfixed chunks and a rollback of %d tokens, expected 0 to %d and 1 to %d",
                       (int)o->stream_unfixed_chunks, (int)o->stream_rollback, MOST_COUNT, MOST_COUNT);
    if (o->attention != PARLEY_ATTENTION_WINDOWED)
        return pl_fail(error, PARLEY_ARGUMENT, "a stream needs windowed attention");
    return o->tap ? pl_fail(error, PARLEY_ARGUMENT, "a stream has no taps") : PARLEY_OK;
}

static void begin_segment(asr_stream *t)
{
    t->answered = 0;
    t->windows = 0;
    t->most = -INFINITY;
    t->step = 0;
    t->open = t->spoken = t->echoed = t->looped = false;
    t->text = (asr_stream_text){.raw = {"", 0}, .prefix = {"", 0}, .text = {"", 0}, .language = {"", 0}};
    t->finish = PARLEY_FINISH_STOP;
}

parley_status pl_asr_stream_open(asr_session *s, parley_error *error)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    const asr_model *m = s->model;
    const parley_allocator *a = &s->arena.allocator;
    PL_TRY(check_options(&s->options, error));
    asr_stream *t = s->stream = PL_NEW(&s->arena, asr_stream);
    if (!t)
        return pl_fail_memory(error, "a stream");
    for (int i = 0; i < 2; i++)
        pl_arena_init(&t->arenas[i], a, TEXT_CHUNK);
    t->chunk = llround(s->options.stream_chunk_seconds * PARLEY_ASR_RATE);
    t->limit = llround(s->options.stream_segment_seconds * PARLEY_ASR_RATE);
    t->window = (int64_t)m->config.tower.window_infer * m->config.front.hop;
    t->window_rows = pl_tower_tokens(&m->config.tower, m->config.tower.window_infer);
    t->worst = PARLEY_FINISH_STOP;
    t->prompt.ids.allocator = t->bare.ids.allocator = *a;
    begin_segment(t);
    pl_transformer_kv(&m->network.text, a, types[s->options.kv], m->config.context_length, &t->answer.kv);
    pl_tokenize_options tokenizing = {.splitter = m->env.splitter};
    return pl_asr_prompt(&m->config, m->tokenizer, tokenizing, s->context, s->language ? s->language->name : NULL, 0, &t->prompt, error);
}

void pl_asr_stream_close(asr_session *s)
{
    asr_stream *t = s->stream;
    if (!t)
        return;
    pl_asr_release(s, &t->answer);
    pl_asr_release_tokens(s, &t->answer);
    pl_ids_free(&t->prompt.ids);
    pl_ids_free(&t->bare.ids);
    for (int i = 0; i < 2; i++)
        pl_arena_free(&t->arenas[i]);
}

/* ------------------------------------------------------------------ sound */

size_t pl_asr_stream_make_room(asr_session *s)
{
    asr_stream *t = s->stream;
    int64_t done = t->at > PL_ACTIVITY_LEAST ? t->at - PL_ACTIVITY_LEAST : 0; /* the rest is what a short segment is judged with */
    if (done > t->filled - done) {                                            /* moving costs less than what came since the last move */
        memmove(s->pcm, s->pcm + done, (size_t)(t->filled - done) * sizeof *s->pcm);
        t->filled -= done;
        t->at -= done;
    }
    return (size_t)t->filled;
}

/* There is no whole to level: what exceeds full scale is clipped. */
void pl_asr_stream_pushed(asr_session *s, size_t samples)
{
    asr_stream *t = s->stream;
    for (float *x = s->pcm + t->filled, *end = x + samples; x < end; x++)
        *x = *x > 1 ? 1 : *x < -1 ? -1 : *x;
    t->filled += (int64_t)samples;
    if (s->began == 0)
        s->began = pl_seconds();
}

/* ------------------------------------------------------------------ updates */

static void tell(asr_session *s, int64_t samples, bool final)
{
    asr_stream *t = s->stream;
    t->has_update = true;
    t->update = (parley_asr_update){.size = sizeof t->update,
                                    .final = final,
                                    .start = (double)t->base / PARLEY_ASR_RATE,
                                    .end = (double)(t->base + samples) / PARLEY_ASR_RATE,
                                    .text = t->text.text.text,
                                    .length = t->text.text.length,
                                    .stable = final ? t->text.text.length : t->text.stable,
                                    .language = t->text.language.text,
                                    .finish = final ? t->finish : PARLEY_FINISH_NONE,
                                    .no_speech = t->text.no_speech,
                                    .looped = t->looped,
                                    .echoed = t->echoed,
                                    .spaced = t->spaced && pl_text_spaced_before(t->text.text)};
}

/* Ends the segment with its first `samples`; the rest begins the next one. */
static void end_segment(asr_session *s, int64_t samples)
{
    asr_stream *t = s->stream;
    tell(s, samples, true);
    t->spaced = t->text.text.length ? pl_text_spaced_behind(t->text.text) : t->spaced;
    if (t->finish > t->worst)
        t->worst = t->finish;
    t->base += samples;
    t->at += samples;
    t->heard -= samples;
    begin_segment(t);
}

static parley_status end_sound(asr_session *s, parley_finish finish)
{
    s->state = ASR_STATE_DONE;
    if (finish > s->stream->worst)
        s->stream->worst = finish;
    s->times.total = pl_seconds() - s->began;
    return PARLEY_OK;
}

static parley_status cancelled(asr_session *s)
{
    asr_stream *t = s->stream;
    t->finish = PARLEY_FINISH_CANCELLED;
    if (t->answered > 0)
        tell(s, t->answered, true);
    return end_sound(s, PARLEY_FINISH_CANCELLED);
}

/* ------------------------------------------------------------------ answers */

static void hear_nothing(asr_stream *t)
{
    t->text.text = t->text.language = (pl_span){"", 0};
    t->text.no_speech = true;
    t->finish = PARLEY_FINISH_STOP;
    t->looped = false;
}

/* What was being heard says this behind the prefix, or nothing at all. */
static parley_status conclude(asr_session *s, bool nothing, pl_span said, parley_error *error)
{
    asr_stream *t = s->stream;
    t->stage = ASR_STREAM_IDLE;
    t->answered = t->now.samples;
    if (nothing) {
        hear_nothing(t);
    } else {
        t->step++;
        PL_TRY(pl_asr_stream_take(s, said, t->now.final, error));
    }
    if (t->now.final)
        end_segment(s, t->now.samples);
    else
        tell(s, t->now.samples, false);
    return PARLEY_OK;
}

static parley_status hear(asr_session *s, int64_t samples, bool final, parley_error *error)
{
    asr_stream *t = s->stream;
    bool is_rest = final && t->base > 0 && samples < ASR_STREAM_LEAST, nothing = !is_rest && samples < ASR_MIN_SAMPLES;
    t->now = (asr_stream_chunk){.samples = samples, .final = final, .is_rest = is_rest};
    if (!nothing)
        PL_TRY(pl_asr_stream_is_silent(s, &nothing, error));
    return nothing ? conclude(s, true, (pl_span){"", 0}, error) : pl_asr_stream_ask(s, error);
}

static parley_status read_answer(asr_session *s, parley_error *error)
{
    asr_stream *t = s->stream;
    pl_span said;
    bool doubtful;
    PL_TRY(pl_asr_stream_said(s, &said, error));
    parley_finish finish = t->answer.result.finish;
    pl_asr_release_tokens(s, &t->answer);
    if (t->now.bare) {
        PL_TRY(pl_asr_stream_is_echo(s, said, &doubtful, error));
        return conclude(s, doubtful, t->now.said, error);
    }
    t->finish = finish;
    t->looped = t->answer.guarded;
    PL_TRY(pl_asr_stream_is_doubtful(s, said, &doubtful, error));
    return doubtful ? pl_asr_stream_ask_bare(s, said, error) : conclude(s, false, said, error);
}

/* ------------------------------------------------------------------ chunks */

/* Within the last chunk: all text that stands is of the sound before it, so that none of it is heard again behind the cut. */
static int64_t quiet_place(const asr_session *s)
{
    const asr_stream *t = s->stream;
    pl_segment_rule rule = {.limit = t->heard - 1, .expand = t->chunk - 1, .window = QUIET, .strict = true};
    return pl_segment_end(s->pcm + t->at, t->heard, 0, &rule);
}

static bool has_chunk(const asr_stream *t)
{
    return t->filled - t->at - t->heard >= t->chunk;
}

static parley_status hear_chunk(asr_session *s, parley_error *error)
{
    asr_stream *t = s->stream;
    t->heard += t->chunk;
    bool full = t->heard + t->chunk > t->limit;
    return hear(s, full ? quiet_place(s) : t->heard, full, error);
}

/* What is left when the sound has ended. */
static parley_status hear_rest(asr_session *s, parley_error *error)
{
    asr_stream *t = s->stream;
    t->heard = t->filled - t->at;
    if (t->heard == 0)
        return end_sound(s, PARLEY_FINISH_STOP);
    if (t->answered < t->heard)
        return hear(s, t->heard, true, error);
    end_segment(s, t->heard);
    return PARLEY_OK;
}

static parley_status begin_chunk(asr_session *s, parley_error *error)
{
    asr_stream *t = s->stream;
    t->turn ^= 1;
    t->work = (asr_stream_work){0};
    pl_arena_reset(pl_asr_stream_arena(t));
    PL_TRY(pl_asr_stream_carry(s, error));
    if (atomic_load(&s->cancelled))
        return cancelled(s);
    return has_chunk(t) ? hear_chunk(s, error) : hear_rest(s, error);
}

bool pl_asr_stream_wants(const asr_session *s)
{
    const asr_stream *t = s->stream;
    if (!pl_asr_runs(s) || t->has_update || t->stage == ASR_STREAM_ASKED)
        return false;
    return t->stage == ASR_STREAM_SAID || has_chunk(t) || s->state == ASR_STATE_RUNNING || atomic_load(&s->cancelled);
}

void pl_asr_stream_prepare(asr_session *s)
{
    asr_stream *t = s->stream;
    parley_error error;
    parley_status status;
    if (t->stage == ASR_STREAM_IDLE)
        status = begin_chunk(s, &error);
    else if (t->answer.result.finish == PARLEY_FINISH_CANCELLED)
        status = PARLEY_CANCELLED;
    else
        status = read_answer(s, &error);
    if (status == PARLEY_CANCELLED)
        status = cancelled(s);
    if (status != PARLEY_OK)
        pl_asr_fail(s, status, &error);
}

bool pl_asr_stream_take_update(asr_session *s, parley_asr_update *update)
{
    asr_stream *t = s->stream;
    bool got = t->has_update;
    if (got)
        *update = t->update;
    t->has_update = false;
    return got;
}

double pl_asr_stream_heard(const asr_session *s)
{
    return (double)(s->stream->base + s->stream->answered) / PARLEY_ASR_RATE;
}

parley_finish pl_asr_stream_finish(const asr_session *s)
{
    return s->stream->worst;
}
