#include "base/clock.h"
#include "models/qwen3_asr/stream.h"

#include <string.h>

/* A question: what the decoder gets for the next answer. */
typedef struct question {
    asr_session *s;
    asr_stream *t;
    const asr_prompt *prompt;
    const float *pcm; /* [samples] of the segment */
    int64_t samples;
    int64_t first, last;        /* windows: not in the cache; finished */
    int64_t rows, start, count; /* of the sound; of the prompt: positions kept in the cache, computed */
    pl_ids prefix;
} question;

/* ------------------------------------------------------------------ sound -> rows */

/* A window is finished when its last frame's samples are all there. */
static int64_t finished_windows(const question *q)
{
    const asr_front *f = &q->s->model->config.front;
    int64_t margin = f->fft / 2 - f->hop;
    return q->samples > margin ? (q->samples - margin) / q->t->window : 0;
}

/* Each window gets the floor of the loudest frame so far, and keeps it: a louder one later does not change what was heard. */
static parley_status run_mel(question *q, int64_t frames, float *mel, parley_error *error)
{
    const asr_model *m = q->s->model;
    int64_t span = m->config.tower.window_infer, bands = m->config.tower.mels;
    float most = q->t->most;
    for (int64_t w = q->first; w * span < frames; w++) {
        int64_t count = frames - w * span < span ? frames - w * span : span;
        PL_TRY(pl_mel_run_part(m->mel, m->env.pool, &q->s->compute.step, q->pcm, q->samples, w * span, count, &most,
                               mel + (w - q->first) * span * bands, error));
        if (w < q->last)
            q->t->most = most;
    }
    return PARLEY_OK;
}

static parley_status run_tower(question *q, float *rows, parley_error *error)
{
    const asr_model *m = q->s->model;
    pl_compute *compute = &q->s->compute;
    int64_t frames = pl_mel_frames(m->mel, q->samples), skipped = q->first * m->config.tower.window_infer;
    pl_tower_options options = {.continues = q->first > 0, .cancel = &q->s->cancelled};
    pl_arena_mark mark = pl_arena_save(&compute->step);
    float *mel = pl_step_floats(compute, (frames - skipped) * m->config.tower.mels);
    parley_status status = mel ? run_mel(q, frames, mel, error) : pl_fail_memory(error, "a mel spectrum");
    if (status == PARLEY_OK)
        status = pl_tower_run(compute, m->network.tower, mel, frames - skipped, &options, rows, error);
    pl_arena_restore(&compute->step, mark);
    q->t->work.frames = frames - skipped;
    return status;
}

/* ------------------------------------------------------------------ prompt */

static void embed(const question *q, const int32_t *ids, size_t count, float **x)
{
    const asr_model *m = q->s->model;
    for (size_t i = 0; i < count; i++, *x += m->config.text.width)
        pl_asr_embed(q->s->compute.k, &m->network, ids[i], *x);
}

/* Positions: the prompt up to the sound, the sound, the prompt behind it, the prefix. The cache keeps the first and the finished windows. */
static void measure(question *q)
{
    const asr_prompt *p = q->prompt;
    int64_t frames = pl_mel_frames(q->s->model->mel, q->samples);
    q->last = finished_windows(q);
    q->first = q->t->windows < q->last ? q->t->windows : q->last;
    q->rows = pl_tower_tokens(&q->s->model->config.tower, frames) - q->first * q->t->window_rows;
    q->start = q->t->answer.kv.length ? (int64_t)p->audio_at + q->first * q->t->window_rows : 0;
    q->count = (int64_t)(p->ids.count + q->prefix.count) + q->rows - (q->start ? (int64_t)p->audio_at : 0);
}

static parley_status allow_tokens(question *q, parley_error *error)
{
    const parley_asr_options *o = &q->s->options;
    int64_t length = q->start + q->count, most = q->s->model->config.context_length, room = most - length;
    int32_t budget =
        o->budget == PARLEY_TOKENS_GIVEN ? o->max_tokens : pl_answer_budget((double)q->samples / PARLEY_ASR_RATE, (int32_t)(room > 0 ? room : 0));
    if (budget < 1 || budget > room)
        return pl_fail(error, PARLEY_LIMIT, "a prompt of %lld positions and %d tokens, the model has %d", (long long)length, (int)budget, (int)most);
    return pl_asr_allow_tokens(q->s, &q->t->answer, budget, error);
}

static parley_status fill(question *q, parley_error *error)
{
    const asr_prompt *p = q->prompt;
    asr_segment *g = &q->t->answer;
    g->length = q->start + q->count;
    g->input_at = q->start;
    float *x = g->input = pl_alloc(&q->s->arena.allocator, (size_t)q->count, (size_t)q->s->model->config.text.width * sizeof *x);
    if (!x)
        return pl_fail_memory(error, "the prompt of a stream");
    if (!q->start)
        embed(q, p->ids.ids, p->audio_at, &x);
    double clock = pl_seconds();
    PL_TRY(run_tower(q, x, error));
    q->s->times.encode += pl_seconds() - clock;
    x += q->rows * q->s->model->config.text.width;
    embed(q, p->ids.ids + p->audio_at, p->ids.count - p->audio_at, &x);
    embed(q, q->prefix.ids, q->prefix.count, &x);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ asked, answered */

static parley_status ask(question *q, parley_error *error)
{
    asr_stream *t = q->t;
    const asr_model *m = q->s->model;
    pl_span prefix = t->now.bare ? (pl_span){"", 0} : t->text.prefix;
    PL_TRY(pl_tokenize(m->tokenizer, prefix, (pl_tokenize_options){true, m->env.splitter}, &q->prefix, error));
    measure(q);
    PL_TRY(allow_tokens(q, error));
    PL_TRY(fill(q, error));
    pl_kv_truncate(&t->answer.kv, q->start);
    t->windows = q->last;
    t->work.prompt = q->count;
    t->answer.stage = ASR_PROMPT;
    t->stage = ASR_STREAM_ASKED;
    return PARLEY_OK;
}

/* A rest is heard with silence behind it. */
static parley_status pad(question *q, parley_error *error)
{
    float *padded = pl_arena_alloc(&q->s->compute.step, ASR_STREAM_LEAST, sizeof *padded);
    if (!padded)
        return pl_fail_memory(error, "a short segment");
    memcpy(padded, q->pcm, (size_t)q->samples * sizeof *padded);
    q->pcm = padded;
    q->samples = ASR_STREAM_LEAST;
    return PARLEY_OK;
}

parley_status pl_asr_stream_ask(asr_session *s, parley_error *error)
{
    asr_stream *t = s->stream;
    question q = {.s = s,
                  .t = t,
                  .prompt = t->now.bare ? &t->bare : &t->prompt,
                  .pcm = s->pcm + t->at,
                  .samples = t->now.samples,
                  .prefix.allocator = s->arena.allocator};
    pl_arena_mark mark = pl_arena_save(&s->compute.step);
    parley_status status = t->now.is_rest ? pad(&q, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = ask(&q, error);
    pl_arena_restore(&s->compute.step, mark);
    pl_ids_free(&q.prefix);
    return status;
}

void pl_asr_stream_answered(asr_session *s, parley_finish finish)
{
    asr_stream *t = s->stream;
    pl_asr_release_guard(s, &t->answer);
    t->answer.result.finish = finish;
    t->answer.stage = ASR_DONE;
    t->stage = ASR_STREAM_SAID;
}

parley_status pl_asr_stream_said(asr_session *s, pl_span *said, parley_error *error)
{
    asr_stream *t = s->stream;
    const asr_segment *g = &t->answer;
    t->work.tokens = g->n_tokens;
    return pl_detokenize(pl_asr_stream_arena(t), s->model->tokenizer, g->tokens, pl_asr_spoken(g, g->result.finish), said, error);
}
