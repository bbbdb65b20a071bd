#include "models/qwen3_asr/stream.h"

#include <math.h>
#include <string.h>

/* What was judged before is looked at again only as far as the rule reaches. */
parley_status pl_asr_stream_is_silent(asr_session *s, bool *silent, parley_error *error)
{
    asr_stream *t = s->stream;
    int64_t samples = t->now.samples, judged = t->answered < samples ? t->answered : samples;
    int64_t first = judged > PL_ACTIVITY_LEAST ? judged - PL_ACTIVITY_LEAST : 0;
    *silent = false;
    if (t->open)
        return PARLEY_OK;
    PL_TRY(pl_asr_is_silent(s, &s->compute, t->at + first, samples - first, t->at + samples, silent, error));
    t->open = !*silent;
    return PARLEY_OK;
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

parley_status pl_asr_stream_is_doubtful(asr_session *s, pl_span said, bool *doubtful, parley_error *error)
{
    asr_stream *t = s->stream;
    t->echoed = false;
    if (pl_asr_doubts(s) && s->context.length && !t->spoken && !t->text.stable)
        PL_TRY(is_context(s, said, &t->echoed, error));
    *doubtful = t->echoed;
    return PARLEY_OK;
}

/* The cache holds the context: it is of no use for a prompt without, nor the other way. */
static void forget(asr_stream *t)
{
    pl_kv_truncate(&t->answer.kv, 0);
    t->windows = 0;
    t->most = -INFINITY;
}

parley_status pl_asr_stream_ask_bare(asr_session *s, pl_span said, parley_error *error)
{
    asr_stream *t = s->stream;
    const asr_model *m = s->model;
    const char *language = s->language ? s->language->name : NULL;
    pl_tokenize_options tokenizing = {.splitter = m->env.splitter};
    if (!t->bare.ids.count)
        PL_TRY(pl_asr_prompt(&m->config, m->tokenizer, tokenizing, (pl_span){"", 0}, language, 0, &t->bare, error));
    forget(t);
    t->now.bare = true;
    t->now.said = said;
    return pl_asr_stream_ask(s, error);
}

parley_status pl_asr_stream_is_echo(asr_session *s, pl_span bare, bool *echo, parley_error *error)
{
    asr_stream *t = s->stream;
    pl_span forced = {s->language ? s->language->name : "", s->language ? strlen(s->language->name) : 0};
    pl_answer answer;
    forget(t);
    PL_TRY(pl_answer_parse(pl_asr_stream_arena(t), bare, forced, &answer, error));
    *echo = answer.text.length == 0;
    t->spoken = !*echo;
    return PARLEY_OK;
}
