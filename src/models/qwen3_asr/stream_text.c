#include "models/qwen3_asr/stream.h"

#include <string.h>

static parley_status copy(asr_stream *t, pl_span *span, parley_error *error)
{
    span->text = pl_arena_text(pl_asr_stream_arena(t), span->text, span->length);
    return span->text ? PARLEY_OK : pl_fail_memory(error, "the text of a stream");
}

parley_status pl_asr_stream_carry(asr_session *s, parley_error *error)
{
    asr_stream_text *x = &s->stream->text;
    pl_span *const spans[] = {&x->raw, &x->prefix, &x->text, &x->language};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        PL_TRY(copy(s->stream, spans[i], error));
    return PARLEY_OK;
}

static bool begins_with(pl_span text, pl_span start)
{
    return text.length >= start.length && (start.length == 0 || memcmp(text.text, start.text, start.length) == 0);
}

static pl_span forced(const asr_session *s)
{
    return (pl_span){s->language ? s->language->name : "", s->language ? strlen(s->language->name) : 0};
}

static bool has_tag(pl_span text)
{
    static const char tag[] = "<asr_text>";
    for (size_t at = 0; at + sizeof tag - 1 <= text.length; at++)
        if (memcmp(text.text + at, tag, sizeof tag - 1) == 0)
            return true;
    return false;
}

static parley_status join(asr_session *s, pl_span a, pl_span b, pl_span *out, parley_error *error)
{
    const pl_span parts[] = {a, b};
    PL_TRY(pl_texts_join(pl_asr_stream_arena(s->stream), parts, 2, PL_JOIN_NONE, out, error));
    return copy(s->stream, out, error);
}

/* The text of an answer. Where the clean-up of repetitions would take back what stands, it works on the rest alone. */
static parley_status read_text(asr_session *s, pl_span raw, pl_answer *answer, parley_error *error)
{
    pl_arena *arena = pl_asr_stream_arena(s->stream);
    const asr_stream_text *x = &s->stream->text;
    pl_span stable = {x->text.text, x->stable}, rest = {raw.text + x->stable_raw, raw.length - x->stable_raw};
    PL_TRY(pl_answer_parse(arena, raw, forced(s), answer, error));
    if (begins_with(answer->text, stable))
        return PARLEY_OK;
    PL_TRY(pl_answer_clean(arena, rest, &rest, error));
    return join(s, stable, rest, &answer->text, error);
}

/* The next answer begins with this one up to its last tokens. A prefix never gets shorter, and one that is not all of the header is none: the model
 * would go on with half a word that belongs to no text. */
static parley_status next_prefix(asr_session *s, parley_error *error)
{
    asr_stream *t = s->stream;
    const parley_asr_options *o = &s->options;
    pl_prefix_rule rule = {(size_t)o->stream_rollback, (size_t)o->stream_unfixed_chunks, false, s->model->env.splitter};
    pl_span prefix;
    PL_TRY(pl_stream_prefix(pl_asr_stream_arena(t), s->model->tokenizer, t->text.raw, t->step + 1, &rule, &prefix, error));
    if (prefix.length > t->text.prefix.length && begins_with(t->text.raw, prefix) && begins_with(prefix, t->text.prefix)
        && (s->language || has_tag(prefix)))
        t->text.prefix = prefix;
    return PARLEY_OK;
}

/* What the prefix alone reads as will not change. */
static parley_status fix(asr_session *s, parley_error *error)
{
    asr_stream_text *x = &s->stream->text;
    pl_answer fixed;
    if (x->prefix.length <= x->stable_raw)
        return PARLEY_OK;
    PL_TRY(read_text(s, x->prefix, &fixed, error));
    if (fixed.text.length >= x->stable && begins_with(x->text, fixed.text)) {
        x->stable = fixed.text.length;
        x->stable_raw = x->prefix.length;
    }
    return PARLEY_OK;
}

parley_status pl_asr_stream_read(asr_session *s, pl_span said, pl_answer *answer, parley_error *error)
{
    pl_span raw;
    PL_TRY(join(s, s->stream->text.prefix, said, &raw, error));
    return read_text(s, raw, answer, error);
}

parley_status pl_asr_stream_take(asr_session *s, pl_span said, bool final, parley_error *error)
{
    asr_stream_text *x = &s->stream->text;
    pl_answer answer;
    PL_TRY(join(s, x->prefix, said, &x->raw, error));
    PL_TRY(read_text(s, x->raw, &answer, error));
    PL_TRY(copy(s->stream, &answer.text, error));
    PL_TRY(copy(s->stream, &answer.language, error));
    x->text = answer.text;
    x->language = answer.language;
    x->no_speech = pl_asr_says_nothing(x->raw, &answer) || (s->language && x->raw.length == 0);
    if (final)
        return PARLEY_OK;
    PL_TRY(next_prefix(s, error));
    return fix(s, error);
}
