#include "models/qwen3_asr/stream.h"

#include <math.h>
#include <string.h>

/* What was judged before is looked at again only as far as the rule reaches. */
parley_status pl_asr_stream_is_silent(asr_session *s, int64_t samples, bool *silent, parley_error *error)
{
    asr_stream *t = s->stream;
    int64_t judged = t->answered < samples ? t->answered : samples, first = judged > PL_ACTIVITY_LEAST ? judged - PL_ACTIVITY_LEAST : 0;
    *silent = false;
    if (t->open)
        return PARLEY_OK;
    PL_TRY(pl_asr_is_silent(s, t->at + first, samples - first, t->at + samples, silent, error));
    t->open = !*silent;
    return PARLEY_OK;
}

/* The cache holds the context: it is of no use for a prompt without, nor the other way. */
static void forget(asr_stream *t)
{
    pl_kv_truncate(&t->kv, 0);
    t->windows = 0;
    t->most = -INFINITY;
}

static parley_status hear_bare(asr_session *s, int64_t samples, bool is_rest, pl_span *said, parley_error *error)
{
    asr_stream *t = s->stream;
    const asr_model *m = s->model;
    const char *language = s->language ? s->language->name : NULL;
    asr_prompt whole = t->prompt, bare = {.ids.allocator = s->arena.allocator};
    pl_span prefix = t->text.prefix;
    parley_finish finish = t->finish;
    bool looped = t->looped;
    PL_TRY(pl_asr_prompt(&m->config, m->tokenizer, (pl_tokenize_options){.splitter = m->env.splitter}, (pl_span){"", 0}, language, 0, &bare, error));
    forget(t);
    t->prompt = bare;
    t->text.prefix = (pl_span){"", 0};
    parley_status status = pl_asr_stream_answer(s, samples, is_rest, said, error);
    forget(t);
    t->prompt = whole;
    t->text.prefix = prefix;
    t->finish = finish;
    t->looped = looped;
    pl_ids_free(&bare.ids);
    return status;
}

static parley_status is_context(asr_session *s, pl_span said, bool *echoes, parley_error *error)
{
    pl_answer answer;
    pl_arena_mark mark = pl_arena_save(&s->compute.step);
    PL_TRY(pl_asr_stream_read(s, said, &answer, error));
    parley_status status = pl_answer_echoes(&s->compute.step, answer.text, s->context, echoes, error);
    pl_arena_restore(&s->compute.step, mark);
    return status;
}

parley_status pl_asr_stream_is_echo(asr_session *s, int64_t samples, bool is_rest, pl_span said, bool *echo, parley_error *error)
{
    asr_stream *t = s->stream;
    pl_span again, forced = {s->language ? s->language->name : "", s->language ? strlen(s->language->name) : 0};
    pl_answer answer;
    *echo = t->echoed = false;
    if (!pl_asr_doubts(s) || !s->context.length || t->spoken || t->text.stable)
        return PARLEY_OK;
    PL_TRY(is_context(s, said, &t->echoed, error));
    if (!t->echoed)
        return PARLEY_OK;
    PL_TRY(hear_bare(s, samples, is_rest, &again, error));
    PL_TRY(pl_answer_parse(pl_asr_stream_arena(t), again, forced, &answer, error));
    *echo = answer.text.length == 0;
    t->spoken = !*echo;
    return PARLEY_OK;
}
