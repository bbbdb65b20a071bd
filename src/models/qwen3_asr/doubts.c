/* Answers that are not believed at once. A model that was trained on speech writes something for silence, may give a piece of the context back where
 * it hears nothing clear, and may fall into a loop. None of this is decided from the text alone: silence by the sound, the other two by hearing
 * again. */
#include "models/qwen3_asr/session.h"

#include <string.h>

enum { LEAST_HALVED = 2 * PARLEY_ASR_RATE }; /* samples: halves of less than a second are no better heard */

/* ------------------------------------------------------------------ silence */

/* A short piece is judged with the sound before it, and behind it. */
parley_status pl_asr_is_silent(asr_session *s, pl_compute *compute, int64_t first, int64_t samples, int64_t filled, bool *silent, parley_error *error)
{
    int64_t missing = samples < PL_ACTIVITY_LEAST ? PL_ACTIVITY_LEAST - samples : 0, before = missing < first ? missing : first;
    int64_t behind = missing - before < filled - first - samples ? missing - before : filled - first - samples;
    bool found;
    *silent = false;
    if (!s->options.speech_gate || !pl_asr_doubts(s))
        return PARLEY_OK;
    PL_TRY(
        pl_activity_find(s->model->activity, s->model->env.pool, &compute->step, s->pcm + first - before, before + samples + behind, &found, error));
    *silent = !found;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ echoes */

/* A word of the context can be said alone. So an answer that is a piece of the context is kept aside, and the sound is heard without context: where
 * that gives no text, there was none to hear. */
static asr_answer answer_of(const asr_segment *g)
{
    return (asr_answer){g->budget, g->n_tokens, g->tokens, g->logprobs, g->result.text, g->result.language, g->result.looped};
}

static void hear_bare(asr_segment *g)
{
    g->heard = answer_of(g);
    g->tokens = NULL;
    g->logprobs = NULL;
    g->budget = g->n_tokens = 0;
    g->bare = g->result.echoed = true;
    g->result.text = g->result.language = "";
    g->stage = ASR_WAITING;
}

static void take_heard(asr_segment *g)
{
    asr_answer bare = answer_of(g);
    g->budget = g->heard.budget;
    g->n_tokens = g->heard.n_tokens;
    g->tokens = g->heard.tokens;
    g->logprobs = g->heard.logprobs;
    g->result.text = g->heard.text;
    g->result.language = g->heard.language;
    g->result.looped = g->heard.looped;
    g->result.no_speech = false;
    g->heard = bare;
}

static void compare(asr_segment *g, parley_finish *finish)
{
    if (!g->result.text[0] && *finish != PARLEY_FINISH_CANCELLED) {
        g->result.no_speech = true;
        return;
    }
    take_heard(g);
    if (*finish == PARLEY_FINISH_LENGTH)
        *finish = PARLEY_FINISH_STOP; /* only such are heard again */
}

static parley_status is_echo(asr_session *s, const asr_segment *g, bool *echoes, parley_error *error)
{
    pl_span text = {g->result.text, strlen(g->result.text)};
    pl_arena_mark mark = pl_arena_save(&s->compute.step);
    parley_status status = pl_answer_echoes(&s->compute.step, text, s->context, echoes, error);
    pl_arena_restore(&s->compute.step, mark);
    return status;
}

/* ------------------------------------------------------------------ what becomes of an answer */

parley_status pl_asr_doubt(asr_session *s, asr_segment *g, parley_finish *finish, bool *again, parley_error *error)
{
    *again = false;
    if (g->bare)
        compare(g, finish);
    if (g->bare || *finish != PARLEY_FINISH_STOP || !g->result.text[0])
        return PARLEY_OK;
    if (g->guarded && !g->halved && g->samples >= LEAST_HALVED) {
        g->stage = ASR_LOOPED;
        *again = true;
        return PARLEY_OK;
    }
    PL_TRY(is_echo(s, g, again, error));
    if (*again)
        hear_bare(g);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ loops */

/* The halves meet at the quietest place within a tenth of the middle, or within 5 s. */
static parley_status split(asr_session *s, int at, parley_error *error)
{
    PL_TRY(pl_asr_make_room(s, s->n_segments + 1, error));
    asr_segment *g = &s->segments[at], old = *g;
    pl_segment_rule rule = pl_segment_reference(old.samples / 2, PARLEY_ASR_RATE);
    rule.expand = rule.expand < old.samples / 10 ? rule.expand : old.samples / 10;
    int64_t middle = pl_segment_end(s->pcm + old.first, old.samples, 0, &rule), rest = old.samples - middle;
    memmove(g + 2, g + 1, (size_t)(s->n_segments - at - 1) * sizeof *g);
    pl_asr_place((pl_segment){old.first, middle, middle < rule.least ? rule.least : middle}, &g[0]);
    pl_asr_place((pl_segment){old.first + middle, rest, rest < rule.least ? rule.least : rest}, &g[1]);
    for (int i = 0; i < 2; i++)
        g[i].halved = g[i].result.looped = true;
    pl_asr_release_tokens(s, &old);
    s->n_segments++;
    s->begun++;
    return PARLEY_OK;
}

parley_status pl_asr_split_looped(asr_session *s, parley_error *error)
{
    for (int i = s->oldest; i < s->begun; i++)
        if (s->segments[i].stage == ASR_LOOPED)
            PL_TRY(split(s, i, error));
    return PARLEY_OK;
}
