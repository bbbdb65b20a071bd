#include "base/clock.h"
#include "models/qwen3_asr/stream.h"
#include "sample/greedy.h"

#include <string.h>

/* One answer. */
typedef struct answer {
    asr_session *s;
    asr_stream *t;
    int64_t samples;
    int64_t first, last;        /* windows: not in the cache; finished */
    int64_t rows, start, count; /* of the sound; of the prompt: positions kept in the cache, computed */
    pl_ids prefix;
    float *x, *scores, *out; /* [count][width]; [vocabulary]; [width] */
    int32_t *tokens, budget, n;
    int64_t said; /* tokens that count */
    pl_loop_guard guard;
} answer;

/* ------------------------------------------------------------------ sound -> rows */

/* A window is finished when its last frame's samples are all there. */
static int64_t finished_windows(const answer *a)
{
    const asr_front *f = &a->s->model->config.front;
    int64_t margin = f->fft / 2 - f->hop;
    return a->samples > margin ? (a->samples - margin) / a->t->window : 0;
}

/* Each window gets the floor of the loudest frame so far, and keeps it: a louder one later does not change what was heard. */
static parley_status run_mel(answer *a, int64_t frames, float *mel, parley_error *error)
{
    const asr_model *m = a->s->model;
    int64_t span = m->config.tower.window_infer, bands = m->config.tower.mels;
    float most = a->t->most;
    for (int64_t w = a->first; w * span < frames; w++) {
        int64_t count = frames - w * span < span ? frames - w * span : span;
        PL_TRY(pl_mel_run_part(m->mel, m->env.pool, &a->s->compute.step, a->s->pcm + a->t->at, a->samples, w * span, count, &most,
                               mel + (w - a->first) * span * bands, error));
        if (w < a->last)
            a->t->most = most;
    }
    return PARLEY_OK;
}

static parley_status run_tower(answer *a, float *rows, parley_error *error)
{
    const asr_model *m = a->s->model;
    pl_compute *compute = &a->s->compute;
    int64_t frames = pl_mel_frames(m->mel, a->samples), skipped = a->first * m->config.tower.window_infer;
    pl_tower_options options = {.continues = a->first > 0, .cancel = &a->s->cancelled};
    pl_arena_mark mark = pl_arena_save(&compute->step);
    float *mel = pl_step_floats(compute, (frames - skipped) * m->config.tower.mels);
    parley_status status = mel ? run_mel(a, frames, mel, error) : pl_fail_memory(error, "a mel spectrum");
    if (status == PARLEY_OK)
        status = pl_tower_run(compute, m->network.tower, mel, frames - skipped, &options, rows, error);
    pl_arena_restore(&compute->step, mark);
    a->t->work.frames = frames - skipped;
    return status;
}

/* ------------------------------------------------------------------ prompt */

static void embed(const answer *a, const int32_t *ids, size_t count, float **x)
{
    const asr_model *m = a->s->model;
    for (size_t i = 0; i < count; i++, *x += m->config.text.width)
        pl_asr_embed(a->s->compute.k, &m->network, ids[i], *x);
}

/* Positions: the prompt up to the sound, the sound, the prompt behind it, the prefix. The cache keeps the first and the finished windows. */
static void measure(answer *a)
{
    const asr_prompt *p = &a->t->prompt;
    int64_t frames = pl_mel_frames(a->s->model->mel, a->samples);
    a->last = finished_windows(a);
    a->first = a->t->windows < a->last ? a->t->windows : a->last;
    a->rows = pl_tower_tokens(&a->s->model->config.tower, frames) - a->first * a->t->window_rows;
    a->start = a->t->kv.length ? (int64_t)p->audio_at + a->first * a->t->window_rows : 0;
    a->count = (int64_t)(p->ids.count + a->prefix.count) + a->rows - (a->start ? (int64_t)p->audio_at : 0);
}

static parley_status set_budget(answer *a, parley_error *error)
{
    const parley_asr_options *o = &a->s->options;
    int64_t length = a->start + a->count, most = a->s->model->config.context_length, room = most - length;
    a->budget =
        o->budget == PARLEY_TOKENS_GIVEN ? o->max_tokens : pl_answer_budget((double)a->samples / PARLEY_ASR_RATE, (int32_t)(room > 0 ? room : 0));
    if (a->budget < 1 || a->budget > room)
        return pl_fail(error, PARLEY_LIMIT, "a prompt of %lld positions and %d tokens, the model has %d", (long long)length, (int)a->budget,
                       (int)most);
    return PARLEY_OK;
}

static parley_status allocate(answer *a, parley_error *error)
{
    pl_compute *compute = &a->s->compute;
    const asr_config *c = &a->s->model->config;
    a->x = pl_step_floats(compute, a->count * c->text.width);
    a->out = pl_step_floats(compute, c->text.width);
    a->scores = pl_step_floats(compute, c->head_rows);
    a->tokens = pl_arena_alloc_raw(&compute->step, (size_t)a->budget, sizeof *a->tokens);
    return a->x && a->out && a->scores && a->tokens ? PARLEY_OK : pl_fail_memory(error, "an answer of a stream");
}

static parley_status fill(answer *a, parley_error *error)
{
    const asr_prompt *p = &a->t->prompt;
    float *x = a->x;
    if (!a->start)
        embed(a, p->ids.ids, p->audio_at, &x);
    double clock = pl_seconds();
    PL_TRY(run_tower(a, x, error));
    a->s->times.encode += pl_seconds() - clock;
    x += a->rows * a->s->model->config.text.width;
    embed(a, p->ids.ids + p->audio_at, p->ids.count - p->audio_at, &x);
    embed(a, a->prefix.ids, a->prefix.count, &x);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ tokens */

static parley_status forward(answer *a, int count, parley_error *error)
{
    const asr_network *network = &a->s->model->network;
    int last = count - 1;
    pl_tokens tokens = {&a->t->kv, count};
    pl_forward f = {.x = a->x, .sequences = &tokens, .n_sequences = 1, .rows = &last, .n_rows = 1, .out = a->out, .cancel = &a->s->cancelled};
    return pl_decoder_forward(&a->s->compute, &network->text, &f, &network->head, a->scores, error);
}

/* Takes the best token; `*more` false: it was the last. */
static parley_status choose(answer *a, bool *more, parley_error *error)
{
    const asr_config *c = &a->s->model->config;
    int64_t keep;
    PL_TRY(pl_greedy(a->scores, c->head_rows, &a->tokens[a->n], NULL, error));
    int32_t id = a->tokens[a->n++];
    bool ends = pl_asr_ends(c, id), loops = !ends && a->s->options.budget != PARLEY_TOKENS_GIVEN && pl_loop_guard_push(&a->guard, id, &keep);
    a->t->looped = loops;
    a->said = loops ? keep : ends ? a->n - 1 : a->n;
    a->t->finish = ends || loops ? PARLEY_FINISH_STOP : PARLEY_FINISH_LENGTH;
    *more = !ends && !loops && a->n < a->budget;
    return PARLEY_OK;
}

static parley_status run_decoder(answer *a, parley_error *error)
{
    double clock = pl_seconds();
    bool more;
    pl_kv_truncate(&a->t->kv, a->start);
    PL_TRY(forward(a, (int)a->count, error));
    a->t->windows = a->last;
    a->s->times.prefill += pl_seconds() - clock;
    clock = pl_seconds();
    pl_loop_guard_init(&a->guard);
    PL_TRY(choose(a, &more, error));
    while (more) {
        pl_asr_embed(a->s->compute.k, &a->s->model->network, a->tokens[a->n - 1], a->x);
        PL_TRY(forward(a, 1, error));
        PL_TRY(choose(a, &more, error));
    }
    a->s->times.decode += pl_seconds() - clock;
    return PARLEY_OK;
}

static parley_status take_text(answer *a, pl_span *said, parley_error *error)
{
    return pl_detokenize(pl_asr_stream_arena(a->t), a->s->model->tokenizer, a->tokens, (size_t)a->said, said, error);
}

static parley_status run(answer *a, pl_span *said, parley_error *error)
{
    const asr_model *m = a->s->model;
    PL_TRY(pl_tokenize(m->tokenizer, a->t->text.prefix, (pl_tokenize_options){true, m->env.splitter}, &a->prefix, error));
    measure(a);
    PL_TRY(set_budget(a, error));
    PL_TRY(allocate(a, error));
    PL_TRY(fill(a, error));
    PL_TRY(run_decoder(a, error));
    a->t->work.prompt = a->count;
    a->t->work.tokens = a->n;
    if (a->t->kv.bytes > a->s->kv_bytes)
        a->s->kv_bytes = a->t->kv.bytes;
    return take_text(a, said, error);
}

static parley_status run_with_arena(asr_session *s, int64_t samples, pl_span *said, parley_error *error)
{
    answer a = {.s = s, .t = s->stream, .samples = samples, .prefix.allocator = s->arena.allocator};
    pl_arena_mark mark = pl_arena_save(&s->compute.step);
    parley_status status = run(&a, said, error);
    pl_arena_restore(&s->compute.step, mark);
    pl_ids_free(&a.prefix);
    return status;
}

parley_status pl_asr_stream_answer(asr_session *s, int64_t samples, bool is_rest, pl_span *said, parley_error *error)
{
    asr_stream *t = s->stream;
    if (!is_rest)
        return run_with_arena(s, samples, said, error);
    int64_t at = t->at;
    float *own = s->pcm, *padded = pl_arena_alloc(pl_asr_stream_arena(t), ASR_STREAM_LEAST, sizeof *padded);
    if (!padded)
        return pl_fail_memory(error, "a short segment");
    memcpy(padded, s->pcm + at, (size_t)samples * sizeof *padded);
    s->pcm = padded;
    t->at = 0;
    parley_status status = run_with_arena(s, ASR_STREAM_LEAST, said, error);
    s->pcm = own;
    t->at = at;
    return status;
}
