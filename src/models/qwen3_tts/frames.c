/* The frame loop (spec/qwen3_tts.md 4) for any number of sessions at once: prompts and single steps go through the talker as one ragged batch, then
 * the predictor makes the other codes of all frames together. Each session gets exactly what it gets alone. */
#include "base/clock.h"
#include "models/qwen3_tts/session.h"
#include "sample/sampler.h"

#include <stdio.h>
#include <string.h>

enum { MINIMUM_TOKENS = 2, SUPPRESSED = 1024 }; /* of the reference: no end before two choices; the last 1024 rows but the end are no codes */

/* The sessions of one step; those that end or fail leave it. */
typedef struct batch {
    tts_session **s;
    int count;
    const tts_model *model;
    pl_compute *compute;
    pl_tap tap;        /* of the only session, or off */
    pl_tokens *tokens; /* [count] */
    int *rows;         /* [count] */
    int group;         /* of the predictor: the code being made */
} batch;

/* ------------------------------------------------------------------ ends */

static void fail(tts_session *s, parley_status status, const parley_error *error)
{
    s->state = TTS_STATE_FAILED;
    s->waiting = false;
    s->failure = *error;
    s->failure.status = status;
}

void pl_tts_conclude(tts_session *s, parley_finish finish)
{
    parley_error error;
    if (finish > s->finish)
        s->finish = finish;
    s->state = TTS_STATE_DONE;
    s->waiting = false;
    parley_status status = pl_tts_speech_finish(s, &error);
    s->times.total = s->began > 0 ? pl_seconds() - s->began : 0;
    if (status != PARLEY_OK)
        fail(s, status, &error);
}

static void end(tts_session *s, parley_finish finish)
{
    parley_error error;
    parley_status status = PARLEY_OK;
    if (finish != PARLEY_FINISH_CANCELLED)
        status = pl_tts_speech_decode(s, true, &error);
    else if (s->speech.state) { /* frames that nobody will hear do not count */
        status = pl_tts_speech_settle(s, &error);
        s->frames = s->speech.decoded;
    }
    if (status != PARLEY_OK) {
        fail(s, status, &error);
        return;
    }
    s->text.spoken = finish != PARLEY_FINISH_CANCELLED && pl_tts_text_goes_on(s);
    if (!s->text.spoken) {
        pl_tts_conclude(s, finish);
        return;
    }
    s->finish = finish > s->finish ? finish : s->finish;
    s->state = TTS_STATE_TEXT;
}

/* Drops sessions that are over from the batch. */
static void keep_running(batch *b)
{
    int kept = 0;
    for (int i = 0; i < b->count; i++)
        if (b->s[i]->state == TTS_STATE_PROMPT || b->s[i]->state == TTS_STATE_FRAMES)
            b->s[kept++] = b->s[i];
    b->count = kept;
}

static void fail_all(batch *b, parley_status status, const parley_error *error)
{
    for (int i = 0; i < b->count; i++)
        if (status == PARLEY_CANCELLED)
            end(b->s[i], PARLEY_FINISH_CANCELLED);
        else
            fail(b->s[i], status, error);
    b->count = 0;
}

/* ------------------------------------------------------------------ talker */

static int input_length(const tts_session *s)
{
    return s->state == TTS_STATE_PROMPT ? s->rows : 1;
}

/* Whether the step brings the session to a choice: a prompt that is computed in parts comes to it with its last row. */
static bool chooses(const tts_session *s)
{
    return s->state != TTS_STATE_PROMPT || s->computed + s->rows == s->prompt.length;
}

/* Cache rows are reserved one session after the other, so that one that finds none does not stop the others. */
static void reserve(batch *b)
{
    for (int i = 0; i < b->count; i++) {
        parley_error error;
        parley_status status = pl_kv_reserve(&b->s[i]->talker_kv, input_length(b->s[i]), &error);
        if (status != PARLEY_OK)
            fail(b->s[i], status, &error);
    }
    keep_running(b);
}

static void fill_input(const batch *b, tts_session *s, float *x)
{
    const tts_config *config = &b->model->config;
    int width = config->talker.width;
    if (s->state != TTS_STATE_PROMPT) {
        memcpy(x, s->next, (size_t)width * sizeof *x);
        return;
    }
    tts_prompt_rows rows = {&b->model->network, config, &s->prompt, &s->voice, s->projected.data};
    pl_tts_prompt_embed(b->compute->k, &rows, s->computed, s->rows, x);
    pl_tap_floats(&b->tap, "prompt_embeds", x, s->rows, width);
}

static void tap_prefill(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const batch *b = context;
    char name[48];
    snprintf(name, sizeof name, "prefill_layer%d_%s", layer, what);
    pl_tap_floats(&b->tap, name, data, rows, width);
}

/* Puts those that come to a choice in front; returns how many. */
static int choosing_first(batch *b)
{
    int front = 0;
    for (int i = 0; i < b->count; i++)
        if (chooses(b->s[i])) {
            tts_session *s = b->s[i];
            memmove(&b->s[front + 1], &b->s[front], (size_t)(i - front) * sizeof *b->s);
            b->s[front++] = s;
        }
    return front;
}

/* hidden [wanted][width] and scores [wanted][vocabulary] of the first sessions' last positions. With a tap all rows of a prompt are computed. */
static parley_status run_talker(batch *b, int wanted, float *hidden, float *scores, parley_error *error)
{
    const tts_network *n = &b->model->network;
    int width = n->talker.shape.width, all = 0;
    for (int i = 0; i < b->count; i++) {
        int length = input_length(b->s[i]);
        b->tokens[i] = (pl_tokens){&b->s[i]->talker_kv, length};
        all += length;
        b->rows[i] = all - 1;
    }
    float *x = pl_step_floats(b->compute, (int64_t)all * width);
    bool tap_prompt = b->tap.call && all > 1;
    float *every = tap_prompt ? pl_step_floats(b->compute, (int64_t)all * width) : NULL;
    if (!x || (tap_prompt && !every))
        return pl_fail_memory(error, "the talker's input");
    for (int i = 0, row = 0; i < b->count; row += b->tokens[i++].count)
        fill_input(b, b->s[i], x + (int64_t)row * width);
    pl_forward f = {.x = x,
                    .sequences = b->tokens,
                    .n_sequences = b->count,
                    .rows = b->rows,
                    .n_rows = wanted ? wanted : 1, /* none is not for the network */
                    .out = hidden,
                    .cancel = b->count == 1 ? &b->s[0]->cancelled : NULL};
    if (!tap_prompt)
        return pl_decoder_forward(b->compute, &n->talker, &f, wanted ? &n->codec_head : NULL, scores, error);
    f.rows = NULL;
    f.out = every;
    f.tap = tap_prefill;
    f.tap_context = b;
    PL_TRY(pl_decoder_forward(b->compute, &n->talker, &f, NULL, NULL, error));
    pl_tap_floats(&b->tap, "prefill_norm", every, all, width);
    memcpy(hidden, every + (int64_t)(all - 1) * width, (size_t)width * sizeof *hidden);
    pl_linear_job head = {.layer = &n->codec_head, .y = scores, .y_stride = n->codec_head.w.rows};
    return pl_linear_run(b->compute, &head, 1, hidden, width, 1, error);
}

/* ------------------------------------------------------------------ choosing */

static void count_agreement(tts_session *s, int level, bool same)
{
    s->teacher_choices[level]++;
    s->teacher_agreed[level] += same;
}

/* The code of `group` for the frame being made: chosen, or the teacher's. */
static parley_status choose_code(tts_session *s, float *scores, int n, int group, const parley_sampling *sampling, int32_t *code, parley_error *error)
{
    PL_TRY(pl_choose(scores, n, sampling, pl_draw(s->options.seed + (uint64_t)s->text.pieces - 1, (uint32_t)s->frames, (uint32_t)group), s->work,
                     code, error));
    if (s->options.teacher && (size_t)s->frames < s->options.teacher_frames) {
        int32_t forced = s->options.teacher[(int64_t)s->frames * s->model->config.groups + group];
        count_agreement(s, group > 0, forced == *code);
        *code = forced;
    }
    return PARLEY_OK;
}

static parley_status choose_first(tts_session *s, const float *scores, parley_error *error)
{
    const tts_config *c = &s->model->config;
    int32_t n = c->codec_vocabulary, end_of_codes = n - SUPPRESSED < c->codebook_size ? n - SUPPRESSED : c->codebook_size;
    int32_t *first_codes = s->first_codes.data;
    pl_score_rules rules = {.history = first_codes,
                            .n_history = s->frames,
                            .penalty = s->options.talker.repetition_penalty,
                            .end_id = c->codec_eos,
                            .ban_end = s->frames < MINIMUM_TOKENS,
                            .suppress_from = end_of_codes,
                            .suppress_to = n};
    memcpy(s->scores, scores, (size_t)n * sizeof *scores);
    pl_apply_rules(s->scores, n, &rules, s->seen);
    int32_t code;
    PL_TRY(choose_code(s, s->scores, n, 0, &s->options.talker, &code, error));
    if (code == c->codec_eos)
        end(s, PARLEY_FINISH_STOP);
    else if (s->frames >= s->budget) /* one choice more than frames is taken, as the reference does, to tell a stop from the limit */
        end(s, PARLEY_FINISH_LENGTH);
    else
        *pl_tts_frame(s, s->frames) = first_codes[s->frames] = code;
    return PARLEY_OK;
}

static void choose_first_codes(batch *b, const float *hidden, const float *scores)
{
    int width = b->model->config.talker.width, vocabulary = b->model->config.codec_vocabulary;
    pl_tap_floats(&b->tap, "hidden", hidden, b->count, width);
    pl_tap_floats(&b->tap, "c0_logits", scores, b->count, vocabulary);
    for (int i = 0; i < b->count; i++) {
        tts_session *s = b->s[i];
        parley_error error;
        s->state = TTS_STATE_FRAMES;
        memcpy(s->hidden, hidden + (int64_t)i * width, (size_t)width * sizeof *hidden);
        parley_status status = choose_first(s, scores + (int64_t)i * vocabulary, &error);
        if (status != PARLEY_OK)
            fail(s, status, &error);
    }
    keep_running(b);
}

/* ------------------------------------------------------------------ code predictor */

/* What the predictor works on; the tap collects whole frames. */
typedef struct predicting {
    float *wide;                          /* [rows][talker width] inputs before the projection */
    float *x;                             /* [rows][predictor width] */
    float *hidden;                        /* [rows][predictor width] */
    float *scores;                        /* [count][codebook_size] */
    float *embeds, *hiddens, *all_scores; /* with a tap: [groups][width] twice, [groups - 1][codebook_size] */
    int position;
    bool ready; /* x holds the inputs already */
} predicting;

static parley_status allocate_predicting(const batch *b, predicting *p, parley_error *error)
{
    const tts_config *c = &b->model->config;
    int64_t rows = 2 * (int64_t)b->count, pw = c->predictor.width;
    *p = (predicting){.wide = pl_step_floats(b->compute, rows * c->talker.width),
                      .x = pl_step_floats(b->compute, rows * pw),
                      .hidden = pl_step_floats(b->compute, rows * pw),
                      .scores = pl_step_floats(b->compute, (int64_t)b->count * c->codebook_size)};
    bool ok = p->wide && p->x && p->hidden && p->scores;
    if (b->tap.call) {
        p->embeds = pl_step_floats(b->compute, c->groups * pw);
        p->hiddens = pl_step_floats(b->compute, c->groups * pw);
        p->all_scores = pl_step_floats(b->compute, (int64_t)(c->groups - 1) * c->codebook_size);
        ok = ok && p->embeds && p->hiddens && p->all_scores;
    }
    return ok ? PARLEY_OK : pl_fail_memory(error, "the code predictor's work space");
}

/* The code of a session that the inputs of this pass come from, of all passes but the first. */
static int32_t code_before(const batch *b, int i)
{
    return pl_tts_frame(b->s[i], b->s[i]->frames)[b->group - 1];
}

/* Inputs of a pass that are all known from earlier ones. */
static bool recall_inputs(const batch *b, predicting *p)
{
    const pl_projected *known = &b->model->network.projected;
    if (known->int8 != b->compute->int8)
        return false;
    for (int i = 0; i < b->count; i++) {
        const float *row = pl_projected_find(known, b->group - 2, code_before(b, i));
        if (!row)
            return false;
        memcpy(p->x + (int64_t)i * known->width, row, (size_t)known->width * sizeof *row);
    }
    return true;
}

static void keep_inputs(const batch *b, const predicting *p)
{
    const pl_projected *known = &b->model->network.projected;
    for (int i = 0; i < b->count && known->int8 == b->compute->int8; i++)
        pl_projected_keep(known, b->group - 2, code_before(b, i), p->x + (int64_t)i * known->width);
}

static parley_status project_inputs(batch *b, predicting *p, int rows, parley_error *error)
{
    const tts_network *n = &b->model->network;
    int wide = n->talker.shape.width, width = n->predictor.shape.width;
    if (!n->projection.w.data) {
        memcpy(p->x, p->wide, (size_t)rows * (size_t)width * sizeof *p->x);
        return PARLEY_OK;
    }
    pl_linear_job job = {.layer = &n->projection, .y = p->x, .y_stride = width};
    PL_TRY(pl_linear_run(b->compute, &job, 1, p->wide, wide, rows, error));
    if (b->group > 1)
        keep_inputs(b, p);
    return PARLEY_OK;
}

static void tap_first_frame(void *context, int layer, const char *what, const float *data, int rows, int width)
{
    const batch *b = context;
    char name[48];
    snprintf(name, sizeof name, "frame0_layer%d_%s", layer, what);
    pl_tap_floats(&b->tap, name, data, rows, width);
}

static void collect(const batch *b, predicting *p, int rows)
{
    if (!b->tap.call)
        return;
    size_t width = (size_t)b->model->config.predictor.width, cells = (size_t)b->model->config.codebook_size;
    memcpy(p->hiddens + (size_t)p->position * width, p->hidden, (size_t)rows * width * sizeof *p->hidden);
    memcpy(p->all_scores + (size_t)(b->group - 1) * cells, p->scores, cells * sizeof *p->scores);
    p->position += rows;
}

/* One pass: `each` new rows of every session, scores of the last of them. With a tap the other rows are computed as well. */
static parley_status predict(batch *b, predicting *p, int each, parley_error *error)
{
    const tts_network *n = &b->model->network;
    int rows = each * b->count, width = n->predictor.shape.width;
    if (!p->ready)
        PL_TRY(project_inputs(b, p, rows, error));
    if (b->tap.call)
        memcpy(p->embeds + (int64_t)p->position * width, p->x, (size_t)rows * (size_t)width * sizeof *p->x);
    for (int i = 0; i < b->count; i++) {
        b->tokens[i] = (pl_tokens){&b->s[i]->predictor_kv, each};
        b->rows[i] = (i + 1) * each - 1;
    }
    const pl_linear *head = &n->predictor_heads[b->group - 1];
    pl_forward f = {.x = p->x, .sequences = b->tokens, .n_sequences = b->count, .rows = b->rows, .n_rows = b->count, .out = p->hidden};
    if (!b->tap.call)
        return pl_decoder_forward(b->compute, &n->predictor, &f, head, p->scores, error);
    f.rows = NULL;
    if (b->s[0]->frames == 0) {
        f.tap = tap_first_frame;
        f.tap_context = b;
    }
    PL_TRY(pl_decoder_forward(b->compute, &n->predictor, &f, NULL, NULL, error));
    pl_linear_job job = {.layer = head, .y = p->scores, .y_stride = head->w.rows};
    PL_TRY(pl_linear_run(b->compute, &job, 1, p->hidden + (int64_t)(rows - 1) * width, width, 1, error));
    collect(b, p, rows);
    return PARLEY_OK;
}

/* Takes the codes of b->group; a session whose scores are not finite fails but stays in the batch until the frame is over. */
static void choose_codes(batch *b, const predicting *p)
{
    const tts_config *c = &b->model->config;
    for (int i = 0; i < b->count; i++) {
        tts_session *s = b->s[i];
        parley_error error;
        int32_t *code = pl_tts_frame(s, s->frames) + b->group;
        parley_status status =
            choose_code(s, p->scores + (int64_t)i * c->codebook_size, c->codebook_size, b->group, &s->options.predictor, code, &error);
        if (status != PARLEY_OK) {
            fail(s, status, &error);
            *code = 0;
        }
    }
}

/* Positions 0 and 1 of every session: the talker's hidden state, the first code. */
static void first_inputs(const batch *b, predicting *p)
{
    int width = b->model->config.talker.width;
    const pl_tensor *table = &b->model->network.codec_embedding;
    for (int i = 0; i < b->count; i++) {
        float *row = p->wide + (int64_t)i * 2 * width;
        memcpy(row, b->s[i]->hidden, (size_t)width * sizeof *row);
        pl_embed_sum(b->compute->k, &table, pl_tts_frame(b->s[i], b->s[i]->frames), 1, width, row + width);
    }
}

static void next_inputs(const batch *b, predicting *p)
{
    const tts_config *c = &b->model->config;
    const pl_tensor *table = &b->model->network.predictor_embeddings[b->group - 2];
    p->ready = recall_inputs(b, p);
    for (int i = 0; i < b->count && !p->ready; i++) {
        int32_t code = code_before(b, i);
        pl_embed_sum(b->compute->k, &table, &code, 1, c->talker.width, p->wide + (int64_t)i * c->talker.width);
    }
}

static void tap_predicted(const batch *b, const predicting *p)
{
    if (!b->tap.call)
        return;
    const tts_config *c = &b->model->config;
    int64_t rows[3] = {1, c->groups, c->predictor.width}, cells[3] = {1, c->groups - 1, c->codebook_size};
    b->tap.call(b->tap.context, "pred_embeds", 'f', p->embeds, rows, 3);
    b->tap.call(b->tap.context, "pred_hidden", 'f', p->hiddens, rows, 3);
    b->tap.call(b->tap.context, "pred_logits", 'f', p->all_scores, cells, 3);
}

static parley_status run_predictor(batch *b, parley_error *error)
{
    predicting p;
    PL_TRY(allocate_predicting(b, &p, error));
    for (int i = 0; i < b->count; i++)
        pl_kv_truncate(&b->s[i]->predictor_kv, 0);
    first_inputs(b, &p);
    for (b->group = 1; b->group < b->model->config.groups; b->group++) {
        if (b->group > 1)
            next_inputs(b, &p);
        PL_TRY(predict(b, &p, b->group == 1 ? 2 : 1, error));
        choose_codes(b, &p);
    }
    tap_predicted(b, &p);
    keep_running(b);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ one frame */

/* Input of the next step: the frame's codes, and the next text row, if it has come. */
static parley_status make_next(const batch *b, tts_session *s, parley_error *error)
{
    pl_tts_embed_frame(b->compute->k, &b->model->network, &b->model->config, pl_tts_frame(s, s->frames), s->next);
    s->lacks_row = true;
    s->frames++;
    return pl_tts_text_row(s, error);
}

static void finish_frames(batch *b)
{
    for (int i = 0; i < b->count; i++) {
        tts_session *s = b->s[i];
        parley_error error;
        parley_status status = make_next(b, s, &error);
        if (status == PARLEY_OK)
            status = pl_tts_speech_decode(s, false, &error);
        if (status != PARLEY_OK)
            fail(s, status, &error);
    }
}

/* Adds a share of the time since `since` to one of the sessions' times; returns the clock. */
static double account(const batch *b, int count, size_t offset, double since)
{
    double now = pl_seconds();
    for (int i = 0; i < count; i++)
        *(double *)((char *)&b->s[i]->times + offset) += (now - since) / count;
    return now;
}

static parley_status run_frame(batch *b, parley_error *error)
{
    const tts_config *c = &b->model->config;
    int count = b->count;
    b->tokens = PL_NEW_ARRAY(&b->compute->step, pl_tokens, count);
    b->rows = PL_NEW_ARRAY(&b->compute->step, int, count);
    float *hidden = pl_step_floats(b->compute, (int64_t)count * c->talker.width);
    float *scores = pl_step_floats(b->compute, (int64_t)count * c->codec_vocabulary);
    if (!b->tokens || !b->rows || !hidden || !scores)
        return pl_fail_memory(error, "the work space of a step");
    int wanted = choosing_first(b);
    bool prompt = b->s[0]->state == TTS_STATE_PROMPT;
    double clock = pl_seconds();
    PL_TRY(run_talker(b, wanted, hidden, scores, error));
    for (int i = 0; i < count; i++)
        if (b->s[i]->state == TTS_STATE_PROMPT)
            b->s[i]->computed += b->s[i]->rows;
    clock = account(b, count, prompt ? offsetof(parley_tts_times, prefill) : offsetof(parley_tts_times, talker), clock);
    b->count = wanted;
    choose_first_codes(b, hidden, scores);
    if (b->count == 0)
        return PARLEY_OK;
    clock = pl_seconds();
    PL_TRY(run_predictor(b, error));
    account(b, b->count, offsetof(parley_tts_times, predictor), clock);
    finish_frames(b);
    return PARLEY_OK;
}

/* A step of sessions that compute alike. */
static void step_alike(tts_session **sessions, int count)
{
    batch b = {.s = sessions, .count = count, .model = sessions[0]->model, .compute = &sessions[0]->compute};
    if (count == 1)
        b.tap = sessions[0]->tap;
    reserve(&b);
    if (b.count == 0)
        return;
    b.compute = &b.s[0]->compute;
    pl_compute *compute = b.compute;
    pl_arena_mark mark = pl_arena_save(&compute->step);
    parley_error error;
    compute->pool = pl_tts_overlap_pool(&b.model->overlap, b.model->env.pool);
    parley_status status = run_frame(&b, &error);
    compute->pool = b.model->env.pool;
    pl_arena_restore(&compute->step, mark);
    if (status != PARLEY_OK)
        fail_all(&b, status, &error);
}

/* What has to come before the step of a session: its prompt, its text row. */
static parley_status ready_up(tts_session *s, parley_error *error)
{
    if (s->began == 0)
        s->began = pl_seconds();
    double clock = pl_seconds();
    if (s->state == TTS_STATE_TEXT)
        PL_TRY(pl_tts_text_begin(s, error));
    if (s->state == TTS_STATE_PROMPT && !s->prepared)
        PL_TRY(pl_tts_text_prepare(s, error));
    if (s->state == TTS_STATE_PROMPT)
        s->times.prefill += pl_seconds() - clock;
    return s->state == TTS_STATE_FRAMES && s->lacks_row ? pl_tts_text_row(s, error) : PARLEY_OK;
}

void pl_tts_ready_up(tts_session *s)
{
    parley_error error;
    parley_status status = ready_up(s, &error);
    if (status != PARLEY_OK)
        fail(s, status, &error);
}

/* Whether the session takes part in this step; shares out the rows of prompts, first come, first served. */
static bool takes_part(tts_session *s, int32_t *prompt_rows)
{
    if (atomic_load(&s->cancelled)) {
        end(s, PARLEY_FINISH_CANCELLED);
        return false;
    }
    pl_tts_ready_up(s);
    if (s->waiting || s->state == TTS_STATE_DONE || s->state == TTS_STATE_FAILED)
        return false;
    if (s->state != TTS_STATE_PROMPT)
        return true;
    int32_t left = s->prompt.length - s->computed;
    s->rows = s->tap.call || left < *prompt_rows ? left : *prompt_rows;
    *prompt_rows -= s->rows < *prompt_rows ? s->rows : *prompt_rows;
    return s->rows > 0;
}

void pl_tts_advance(tts_session *const *sessions, size_t count, int32_t prompt_rows)
{
    enum { MOST_AT_ONCE = 64 };
    tts_session *alike[2][MOST_AT_ONCE]; /* by arithmetic; a session with a tap runs alone */
    int n[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        tts_session *s = sessions[i];
        if (!takes_part(s, &prompt_rows))
            continue;
        if (s->tap.call) {
            step_alike(&s, 1);
            continue;
        }
        int kind = s->compute.int8;
        alike[kind][n[kind]++] = s;
        if (n[kind] == MOST_AT_ONCE) {
            step_alike(alike[kind], n[kind]);
            n[kind] = 0;
        }
    }
    for (int kind = 0; kind < 2; kind++)
        if (n[kind])
            step_alike(alike[kind], n[kind]);
}
