/* The text of a session: collected, cut into pieces, read into prompts and rows as far as it is there. */
#include "models/qwen3_tts/budget.h"
#include "models/qwen3_tts/session.h"
#include "text/sentences.h"
#include "text/strings.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_TEXT = 16 << 20, LONGEST_CHARACTER = 4 };

/* ------------------------------------------------------------------ collecting */

void pl_tts_text_close(tts_session *s)
{
    pl_tts_prompt_free(&s->prompt);
    pl_buffer_free(&s->projected);
    pl_buffer_free(&s->codes);
    pl_buffer_free(&s->first_codes);
    pl_arena_free(&s->piece);
    pl_release(&s->arena.allocator, s->text.bytes, s->text.capacity, 1);
}

parley_status pl_tts_text_push(tts_session *s, const char *text, size_t length, parley_error *error)
{
    tts_text *t = &s->text;
    if (length > MOST_TEXT - t->length)
        return pl_fail(error, PARLEY_LIMIT, "the text has more than %d bytes", MOST_TEXT);
    size_t wanted = t->length + length;
    if (wanted > t->capacity) {
        size_t capacity = wanted * 2;
        char *grown = pl_alloc(&s->arena.allocator, capacity, 1);
        if (!grown)
            return pl_fail_memory(error, "a text");
        if (t->length)
            memcpy(grown, t->bytes, t->length);
        pl_release(&s->arena.allocator, t->bytes, t->capacity, 1);
        t->bytes = grown;
        t->capacity = capacity;
    }
    if (length)
        memcpy(t->bytes + t->length, text, length);
    t->length = wanted;
    s->waiting = false;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ pieces */

static const char *bytes_at(const tts_text *t, size_t at)
{
    return t->bytes ? t->bytes + at : "";
}

/* What of the piece is there: all of it once its end is known. A character whose last bytes are still to come is left out. */
static parley_status find_piece(tts_session *s, pl_span *piece, parley_error *error)
{
    tts_text *t = &s->text;
    t->valid += pl_utf8_check(bytes_at(t, t->valid), t->length - t->valid);
    if (t->valid < t->length && (t->ended || t->length - t->valid >= LONGEST_CHARACTER))
        return pl_fail_at(error, PARLEY_FORMAT, t->valid, "the text is not valid UTF-8 at byte %zu", t->valid);
    pl_span rest = {bytes_at(t, t->at), t->valid - t->at};
    pl_piece cut;
    if (!t->closed && s->options.piece_length && pl_piece_find(rest, s->options.piece_length, &cut)) {
        t->closed = true;
        t->end = t->at + cut.end;
        t->next = t->at + cut.next;
    } else if (!t->closed && t->ended) {
        t->closed = true;
        t->end = t->next = t->length;
    }
    *piece = t->closed ? (pl_span){rest.text, t->end - t->at} : rest;
    return PARLEY_OK;
}

bool pl_tts_text_goes_on(const tts_session *s)
{
    const tts_text *t = &s->text;
    return s->options.piece_length && !(t->closed && t->next == t->length && t->ended);
}

/* Leaves a piece that was spoken. `*begun` false: where it ends is not known yet, or it was the last. */
static parley_status next_piece(tts_session *s, bool *begun, parley_error *error)
{
    tts_text *t = &s->text;
    pl_span piece;
    *begun = false;
    PL_TRY(find_piece(s, &piece, error));
    if (!t->closed) {
        s->waiting = true;
        return PARLEY_OK;
    }
    if (t->next == t->length) {
        pl_tts_conclude(s, PARLEY_FINISH_STOP);
        return PARLEY_OK;
    }
    t->at = t->next;
    t->closed = t->spoken = false;
    s->before += s->frames;
    s->frames = 0;
    *begun = true;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ limits */

/* A teacher says how many frames there are; otherwise the caller's number or the budget from the text. */
static int32_t frame_budget(const tts_session *s)
{
    const parley_tts_options *o = &s->options;
    int32_t budget =
        o->budget == PARLEY_BUDGET_FRAMES ? o->max_frames : pl_tts_frame_budget(s->prompt.text_length, s->model->config.generation.max_new_tokens);
    if (o->teacher && (o->budget == PARLEY_BUDGET_TEXT || o->teacher_frames < (size_t)budget))
        budget = (int32_t)o->teacher_frames;
    return budget;
}

/* The last frame's position is prompt + budget - 1; one more step decides between stop and length. */
static parley_status set_budget(tts_session *s, parley_error *error)
{
    s->budget = frame_budget(s);
    int64_t wanted = (int64_t)s->prompt.length + s->budget;
    if (wanted > s->model->config.context_length)
        return pl_fail(error, PARLEY_LIMIT, "the prompt of %" PRId32 " positions and %" PRId32 " frames make %" PRId64 ", the model has %" PRId32,
                       s->prompt.length, s->budget, wanted, s->model->config.context_length);
    return PARLEY_OK;
}

static parley_status make_room(tts_session *s, parley_error *error)
{
    size_t row = (size_t)s->model->config.groups * sizeof(int32_t);
    PL_TRY(pl_tts_speech_settle(s, error)); /* what is being decoded is read from the list of codes, which may move */
    PL_TRY(pl_buffer_reserve(&s->codes, (size_t)s->before + (size_t)s->budget + 1, row, ((size_t)s->before + (size_t)s->frames) * row, error));
    return pl_buffer_reserve(&s->first_codes, (size_t)s->budget + 1, sizeof(int32_t), (size_t)s->frames * sizeof(int32_t), error);
}

/* Rows of the ids that have none yet. */
static parley_status project(tts_session *s, parley_error *error)
{
    const tts_model *m = s->model;
    size_t width = (size_t)m->config.talker.width, done = s->projected_count, count = s->prompt.projected.count;
    PL_TRY(pl_buffer_reserve(&s->projected, count, width * sizeof(float), done * width * sizeof(float), error));
    PL_TRY(pl_tts_project_text(&s->compute, &m->network, &m->config, s->prompt.projected.ids + done, (int64_t)(count - done),
                               (float *)s->projected.data + done * width, error));
    s->projected_count = count;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ prompts */

static tts_prompt_input input_of(const tts_session *s, pl_span piece)
{
    const tts_model *m = s->model;
    return (tts_prompt_input){.config = &m->config,
                              .tokenizer = m->tokenizer,
                              .tokenizing = {.added_tokens = s->options.special_tokens, .splitter = m->env.splitter},
                              .text = piece,
                              .open = !s->text.closed,
                              .instruct = s->options.instruct,
                              .language = s->language,
                              .layout = s->options.layout,
                              .voice = s->voice};
}

static parley_status begin(tts_session *s, parley_error *error)
{
    tts_text *t = &s->text;
    pl_span piece;
    PL_TRY(find_piece(s, &piece, error));
    bool blank = pl_trim(piece).length == 0;
    if (t->closed && blank && !s->options.allow_empty)
        return pl_fail(error, PARLEY_ARGUMENT, "the text is empty%s", t->length ? " (white space only)" : "");
    tts_prompt_input in = input_of(s, piece);
    pl_tts_prompt_free(&s->prompt);
    pl_arena_reset(&s->piece);
    s->projected_count = 0;
    if (t->closed || !blank)
        PL_TRY(pl_tts_prompt_build(&s->piece, &in, &s->prompt, error));
    s->waiting = s->prompt.length == 0;
    if (s->waiting)
        return PARLEY_OK;
    PL_TRY(set_budget(s, error));
    t->read = t->length;
    t->pieces++;
    s->computed = 0;
    s->prepared = false;
    s->state = TTS_STATE_PROMPT;
    return PARLEY_OK;
}

parley_status pl_tts_text_begin(tts_session *s, parley_error *error)
{
    bool begun = true;
    if (s->text.spoken)
        PL_TRY(next_piece(s, &begun, error));
    return begun ? begin(s, error) : PARLEY_OK;
}

static void tap_ids(const tts_session *s, const char *name, const pl_ids *ids)
{
    if (ids->count)
        pl_tap_ids(&s->tap, name, ids->ids, (int64_t)ids->count, 0);
}

static parley_status tap_prompt(tts_session *s, parley_error *error)
{
    if (!s->tap.call)
        return PARLEY_OK;
    const pl_ids *trailing = &s->prompt.trailing;
    int width = s->model->config.talker.width;
    const float *projected = s->projected.data;
    float *rows = PL_NEW_ARRAY(&s->piece, float, (int64_t)trailing->count *width);
    if (!rows)
        return pl_fail_memory(error, "a debug tap");
    for (size_t i = 0; i < trailing->count; i++)
        memcpy(rows + (int64_t)i * width, projected + (int64_t)trailing->ids[i] * width, (size_t)width * sizeof *rows);
    tap_ids(s, "text_ids", &s->prompt.text_ids);
    tap_ids(s, "instruct_ids", &s->prompt.instruct_ids);
    tap_ids(s, "ref_ids", &s->prompt.ref_ids);
    pl_tap_floats(&s->tap, "trailing", rows, (int64_t)trailing->count, width);
    if (s->voice.xvector)
        pl_tap_floats(&s->tap, "x_vector", s->voice.xvector, width, 0);
    if (s->voice.ref_codes)
        pl_tap_ids(&s->tap, "ref_codes", s->voice.ref_codes, s->voice.ref_frames, s->model->config.groups);
    return PARLEY_OK;
}

parley_status pl_tts_text_prepare(tts_session *s, parley_error *error)
{
    PL_TRY(pl_tts_allocate(s, error));
    pl_kv_truncate(&s->talker_kv, 0);
    PL_TRY(make_room(s, error));
    PL_TRY(project(s, error));
    PL_TRY(tap_prompt(s, error));
    PL_TRY(pl_tts_speech_begin(s, error));
    s->prepared = true;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ rows along with the frames */

/* Takes what has come since the last time. */
static parley_status extend(tts_session *s, parley_error *error)
{
    tts_text *t = &s->text;
    pl_span piece;
    PL_TRY(find_piece(s, &piece, error));
    if (!t->closed && t->read == t->length)
        return PARLEY_OK;
    tts_prompt_input in = input_of(s, piece);
    PL_TRY(pl_tts_prompt_extend(&s->piece, &in, &s->prompt, error));
    t->read = t->length;
    PL_TRY(set_budget(s, error));
    PL_TRY(make_room(s, error));
    return project(s, error);
}

static bool is_complete(const tts_session *s)
{
    const pl_ids *trailing = &s->prompt.trailing;
    return trailing->count > 0 && (trailing->ids[trailing->count - 1] == TTS_EOS || trailing->ids[trailing->count - 1] == TTS_PAD);
}

parley_status pl_tts_text_row(tts_session *s, parley_error *error)
{
    const tts_prompt *p = &s->prompt;
    size_t at = (size_t)s->frames - 1; /* of the frame that was made last */
    int width = s->model->config.talker.width;
    if (at >= p->trailing.count && !is_complete(s))
        PL_TRY(extend(s, error));
    s->waiting = at >= p->trailing.count && !is_complete(s);
    if (s->waiting)
        return PARLEY_OK;
    int32_t row = at < p->trailing.count ? p->trailing.ids[at] : TTS_PAD;
    s->compute.k->add(s->next, (const float *)s->projected.data + (int64_t)row * width, width);
    pl_tap_floats(&s->tap, "step_embeds", s->next, 1, width);
    s->lacks_row = false;
    return PARLEY_OK;
}
