/* The greedy loop of any number of segments of any number of sessions: prompts and single tokens go through the decoder as one ragged batch. */
#include "base/clock.h"
#include "models/qwen3_asr/stream.h"
#include "sample/greedy.h"

#include <stdio.h>
#include <string.h>

/* Segments of one step; positions of prompts that one step computes: as many keep the work space small, and the products of matrices busy. */
enum { MOST_ROWS = 256, MOST_POSITIONS = 512 };

typedef struct row {
    asr_session *session;
    asr_segment *segment;
    int count;    /* positions of this step */
    bool answers; /* they are the prompt's last, or a token */
} row;

typedef struct batch {
    row rows[MOST_ROWS];
    int count;
    const asr_model *model;
    pl_compute *compute;
    pl_tap tap; /* of the only segment, or off */
} batch;

void pl_asr_fail(asr_session *s, parley_status status, const parley_error *error)
{
    if (s->state == ASR_STATE_FAILED)
        return;
    s->state = ASR_STATE_FAILED;
    s->failure = *error;
    s->failure.status = status;
    s->times.total = pl_seconds() - s->began;
}

static void end(asr_session *s, asr_segment *g, parley_finish finish)
{
    parley_error error;
    if (s->stream) {
        pl_asr_stream_answered(s, finish);
        return;
    }
    parley_status status = pl_asr_end(s, g, finish, &error);
    if (status != PARLEY_OK)
        pl_asr_fail(s, status, &error);
}

/* One that is being encoded is cancelled when it is taken over. */
void pl_asr_cancel_segments(asr_session *s)
{
    if (s->stream && s->stream->stage == ASR_STREAM_ASKED)
        pl_asr_stream_answered(s, PARLEY_FINISH_CANCELLED);
    for (int i = 0; i < s->n_segments && s->state == ASR_STATE_RUNNING; i++)
        if (s->segments[i].stage != ASR_DONE && s->segments[i].stage != ASR_ENCODING)
            end(s, &s->segments[i], PARLEY_FINISH_CANCELLED);
}

/* ------------------------------------------------------------------ which segments take part */

/* A token, or what one step takes of a prompt: `*room` positions are left for these. */
static row row_of(asr_session *s, asr_segment *g, int *room)
{
    if (g->stage == ASR_TOKENS)
        return (row){s, g, 1, true};
    int left = (int)(g->length - g->kv.length), count = left < *room || s->tap.call ? left : *room;
    *room -= count;
    return (row){s, g, count, count == left};
}

/* Cache rows are reserved one by one, so that a segment that finds none does not stop the others. */
static void take_row(batch *b, asr_session *s, asr_segment *g, int *room)
{
    parley_error error;
    if (!pl_asr_is_running(g) || (g->stage == ASR_PROMPT && *room <= 0) || b->count == MOST_ROWS)
        return;
    row r = row_of(s, g, room);
    parley_status status = pl_kv_reserve(&g->kv, r.count, &error);
    if (status != PARLEY_OK)
        pl_asr_fail(s, status, &error);
    else
        b->rows[b->count++] = r;
}

static void take_rows(batch *b, asr_session *s, int *room)
{
    if (s->stream)
        take_row(b, s, &s->stream->answer, room);
    for (int i = s->oldest; i < s->begun && s->state == ASR_STATE_RUNNING; i++)
        take_row(b, s, &s->segments[i], room);
}

static void drop_failed(batch *b)
{
    int kept = 0;
    for (int i = 0; i < b->count; i++)
        if (pl_asr_runs(b->rows[i].session))
            b->rows[kept++] = b->rows[i];
    b->count = kept;
}

/* ------------------------------------------------------------------ the decoder */

static void fill_input(const batch *b, const row *r, float *x)
{
    const asr_segment *g = r->segment;
    int width = b->model->config.text.width;
    if (g->stage == ASR_PROMPT)
        memcpy(x, g->input + (g->kv.length - g->input_at) * width, (size_t)r->count * (size_t)width * sizeof *x);
    else
        pl_asr_embed(b->compute->k, &b->model->network, g->tokens[g->n_tokens - 1], x);
}

static void tap_layer(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const batch *b = context;
    char name[32];
    if (strcmp(what, "out") != 0)
        return;
    snprintf(name, sizeof name, "text_layer_%d", layer);
    pl_tap_floats(&b->tap, name, data, rows, width);
}

/* With a tap every row of a prompt is computed; the last one's scores are the same. */
static parley_status run_tapped(batch *b, pl_forward *f, int all, float *scores, parley_error *error)
{
    const asr_network *n = &b->model->network;
    int width = n->text.shape.width;
    float *every = pl_step_floats(b->compute, (int64_t)all * width);
    if (!every)
        return pl_fail_memory(error, "a debug tap");
    pl_tap_floats(&b->tap, "text_embed", f->x, all, width);
    f->rows = NULL;
    f->out = every;
    f->tap = tap_layer;
    f->tap_context = b;
    PL_TRY(pl_decoder_forward(b->compute, &n->text, f, NULL, NULL, error));
    pl_tap_floats(&b->tap, "text_final", every, all, width);
    pl_linear_job head = {.layer = &n->head, .y = scores, .y_stride = n->head.w.rows};
    return pl_linear_run(b->compute, &head, 1, every + (int64_t)(all - 1) * width, width, 1, error);
}

/* One cancels the step where it is the only one. */
static const atomic_bool *cancel_of(const batch *b)
{
    for (int i = 1; i < b->count; i++)
        if (b->rows[i].session != b->rows[0].session)
            return NULL;
    return &b->rows[0].session->cancelled;
}

/* scores [rows that answer][vocabulary] */
static parley_status run_decoder(batch *b, float *scores, parley_error *error)
{
    const asr_network *n = &b->model->network;
    pl_tokens *tokens = PL_NEW_ARRAY(&b->compute->step, pl_tokens, b->count);
    int *last = PL_NEW_ARRAY(&b->compute->step, int, b->count), all = 0, answers = 0;
    if (!tokens || !last)
        return pl_fail_memory(error, "the work space of a step");
    for (int i = 0; i < b->count; i++) {
        tokens[i] = (pl_tokens){&b->rows[i].segment->kv, b->rows[i].count};
        all += tokens[i].count;
        last[answers] = all - 1; /* without any answer the last row is computed in vain */
        answers += b->rows[i].answers;
    }
    int width = n->text.shape.width;
    float *x = pl_step_floats(b->compute, (int64_t)all * width), *out = pl_step_floats(b->compute, (int64_t)b->count * width);
    if (!x || !out)
        return pl_fail_memory(error, "the decoder's input");
    for (int i = 0, at = 0; i < b->count; at += tokens[i++].count)
        fill_input(b, &b->rows[i], x + (int64_t)at * width);
    pl_forward f = {.x = x, .sequences = tokens, .n_sequences = b->count, .rows = last, .n_rows = answers ? answers : 1, .out = out};
    f.cancel = cancel_of(b);
    if (b->tap.call && all > 1)
        return run_tapped(b, &f, all, scores, error);
    return pl_decoder_forward(b->compute, &n->text, &f, answers ? &n->head : NULL, scores, error);
}

/* ------------------------------------------------------------------ choosing */

bool pl_asr_ends(const asr_config *c, int32_t id)
{
    for (int i = 0; i < c->n_end_ids; i++)
        if (c->end_ids[i] == id)
            return true;
    return false;
}

/* The newest token of the session's first segment becomes the teacher's, as far as that reaches. */
static void follow_teacher(asr_session *s, asr_segment *g)
{
    int32_t at = g->n_tokens - 1;
    if (!s->teacher || g != s->segments || (size_t)at >= s->options.n_teacher)
        return;
    s->teacher_choices++;
    s->teacher_agreed += g->tokens[at] == s->teacher[at];
    g->tokens[at] = s->teacher[at];
}

static void choose(row *r, const float *scores)
{
    asr_segment *g = r->segment;
    const asr_config *c = &r->session->model->config;
    parley_error error;
    parley_status status = pl_greedy(scores, c->head_rows, &g->tokens[g->n_tokens], g->logprobs ? &g->logprobs[g->n_tokens] : NULL, &error);
    if (status != PARLEY_OK) {
        pl_asr_fail(r->session, status, &error);
        return;
    }
    g->n_tokens++;
    follow_teacher(r->session, g);
    int32_t id = g->tokens[g->n_tokens - 1];
    if (g->stage == ASR_PROMPT) {
        pl_asr_release_input(r->session, g);
        g->stage = ASR_TOKENS;
    }
    if (pl_asr_ends(c, id)) {
        end(r->session, g, PARLEY_FINISH_STOP);
    } else if (g->guard && pl_loop_guard_push(g->guard, id, &g->keep)) {
        g->guarded = g->result.looped = true;
        end(r->session, g, PARLEY_FINISH_STOP);
    } else if (g->n_tokens == g->budget) {
        end(r->session, g, PARLEY_FINISH_LENGTH);
    }
}

static void note_memory(asr_session *s)
{
    uint64_t bytes = s->stream ? s->stream->answer.kv.bytes : 0;
    for (int i = s->oldest; i < s->begun; i++)
        bytes += s->segments[i].kv.bytes;
    if (bytes > s->kv_bytes)
        s->kv_bytes = bytes;
}

/* The time of a step is shared by positions. */
static void note_time(batch *b, double seconds)
{
    int all = 0;
    for (int i = 0; i < b->count; i++)
        all += b->rows[i].count;
    for (int i = 0; i < b->count; i++) {
        parley_asr_times *times = &b->rows[i].session->times;
        *(b->rows[i].segment->stage == ASR_PROMPT ? &times->prefill : &times->decode) += seconds * b->rows[i].count / all;
    }
}

static parley_status run_step(batch *b, parley_error *error)
{
    int64_t vocabulary = b->model->config.head_rows;
    float *scores = pl_step_floats(b->compute, b->count * vocabulary);
    if (!scores)
        return pl_fail_memory(error, "the scores of a step");
    double clock = pl_seconds();
    PL_TRY(run_decoder(b, scores, error));
    note_time(b, pl_seconds() - clock);
    if (b->tap.call)
        pl_tap_floats(&b->tap, "logits", scores, b->count, vocabulary);
    for (int i = 0; i < b->count; i++) {
        note_memory(b->rows[i].session);
        if (!b->rows[i].answers)
            continue;
        if (pl_asr_runs(b->rows[i].session))
            choose(&b->rows[i], scores);
        scores += vocabulary;
    }
    return PARLEY_OK;
}

static void fail_all(batch *b, parley_status status, const parley_error *error)
{
    for (int i = 0; i < b->count; i++)
        if (status == PARLEY_CANCELLED)
            pl_asr_cancel_segments(b->rows[i].session);
        else
            pl_asr_fail(b->rows[i].session, status, error);
}

static void step_alike(asr_session *const *sessions, int count, int *room)
{
    batch b = {.model = sessions[0]->model};
    for (int i = 0; i < count; i++)
        take_rows(&b, sessions[i], room);
    drop_failed(&b);
    if (b.count == 0)
        return;
    b.compute = &b.rows[0].session->compute;
    if (b.count == 1)
        b.tap = b.rows[0].session->tap;
    pl_arena_mark mark = pl_arena_save(&b.compute->step);
    parley_error error;
    parley_status status = run_step(&b, &error);
    pl_arena_restore(&b.compute->step, mark);
    if (status != PARLEY_OK)
        fail_all(&b, status, &error);
}

void pl_asr_settle(asr_session *s)
{
    parley_error error;
    parley_status status = s->state == ASR_STATE_RUNNING ? pl_asr_split_looped(s, &error) : PARLEY_OK;
    if (status != PARLEY_OK)
        pl_asr_fail(s, status, &error);
    while (s->oldest < s->n_segments && s->segments[s->oldest].stage == ASR_DONE)
        s->oldest++;
    if (s->stream || s->state != ASR_STATE_RUNNING || s->done < s->n_segments)
        return;
    s->state = ASR_STATE_DONE;
    s->times.total = pl_seconds() - s->began;
}

void pl_asr_advance(asr_session *const *sessions, size_t count, int32_t prompt_rows)
{
    enum { MOST_AT_ONCE = 64 };
    asr_session *alike[2][MOST_AT_ONCE]; /* by arithmetic; a session with a tap runs alone */
    int n[2] = {0, 0}, room = prompt_rows < MOST_POSITIONS ? prompt_rows : MOST_POSITIONS;
    uint64_t cached = 0;
    for (size_t i = 0; i < count && i < MOST_AT_ONCE; i++) {
        if (atomic_load(&sessions[i]->cancelled))
            pl_asr_cancel_segments(sessions[i]);
        cached += pl_asr_cached(sessions[i]);
    }
    for (size_t i = 0; i < count && i < MOST_AT_ONCE; i++) {
        asr_session *s = sessions[i];
        pl_asr_begin_segments(s, &cached);
        if (!pl_asr_runs(s))
            continue;
        if (s->tap.call)
            step_alike(&s, 1, &room);
        else
            alike[s->compute.int8][n[s->compute.int8]++] = s;
    }
    for (int kind = 0; kind < 2; kind++)
        if (n[kind])
            step_alike(alike[kind], n[kind], &room);
    for (size_t i = 0; i < count && i < MOST_AT_ONCE; i++)
        pl_asr_settle(sessions[i]);
}
