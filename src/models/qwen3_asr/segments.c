#include "models/qwen3_asr/session.h"

#include "text/strings.h"

#include <string.h>

static const double reference_limit = 1200; /* seconds: there a segment may exceed the limit, as the reference's do */

/* ------------------------------------------------------------------ cutting */

void pl_asr_place(pl_segment cut, asr_segment *g)
{
    *g = (asr_segment){.first = cut.start, .samples = cut.length, .padded = cut.padded};
    g->result = (parley_asr_segment){
        .start = (double)cut.start / PARLEY_ASR_RATE, .end = (double)(cut.start + cut.length) / PARLEY_ASR_RATE, .text = "", .language = ""};
}

parley_status pl_asr_make_room(asr_session *s, int count, parley_error *error)
{
    const parley_allocator *a = &s->arena.allocator;
    if (count <= s->room)
        return PARLEY_OK;
    int room = count > s->room + s->room / 2 ? count : s->room + s->room / 2;
    asr_segment *segments = pl_alloc(a, (size_t)room, sizeof *segments);
    parley_asr_segment *results = pl_alloc(a, (size_t)room, sizeof *results);
    if (!segments || !results) {
        pl_release(a, segments, (size_t)room, sizeof *segments);
        pl_release(a, results, (size_t)room, sizeof *results);
        return pl_fail_memory(error, "the list of segments");
    }
    if (s->n_segments)
        memcpy(segments, s->segments, (size_t)s->n_segments * sizeof *segments);
    pl_release(a, s->segments, (size_t)s->room, sizeof *segments);
    pl_release(a, s->results, (size_t)s->room, sizeof *results);
    s->segments = segments;
    s->results = results;
    s->room = room;
    return PARLEY_OK;
}

static parley_status write_prompt(const asr_session *s, pl_span context, int64_t rows, asr_prompt *prompt, parley_error *error)
{
    const asr_model *m = s->model;
    prompt->ids.allocator = s->arena.allocator;
    return pl_asr_prompt(&m->config, m->tokenizer, (pl_tokenize_options){.splitter = m->env.splitter}, context,
                         s->language ? s->language->name : NULL, rows, prompt, error);
}

static parley_status count_prompt(asr_session *s, parley_error *error)
{
    asr_prompt prompt = {0};
    parley_status status = write_prompt(s, s->context, 0, &prompt, error);
    s->prompt_tokens = prompt.ids.count;
    pl_ids_free(&prompt.ids);
    return status;
}

parley_status pl_asr_cut(asr_session *s, parley_error *error)
{
    pl_segment_rule rule = pl_segment_reference((int64_t)(s->options.segment_seconds * PARLEY_ASR_RATE), PARLEY_ASR_RATE);
    const pl_segment *cuts;
    size_t count;
    rule.strict = s->options.segment_seconds < reference_limit;
    PL_TRY(pl_segments(&s->arena, s->pcm, (int64_t)s->samples, &rule, &cuts, &count, error));
    PL_TRY(count_prompt(s, error));
    PL_TRY(pl_asr_make_room(s, (int)count, error));
    for (size_t i = 0; i < count; i++)
        pl_asr_place(cuts[i], &s->segments[i]);
    s->n_segments = (int)count;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ beginning */

/* The segment's samples; a short piece of a longer sound with zeros behind it. */
static parley_status samples_of(const asr_session *s, pl_compute *compute, const asr_segment *g, const float **pcm, parley_error *error)
{
    *pcm = s->pcm + g->first;
    if (g->padded == g->samples)
        return PARLEY_OK;
    float *padded = pl_arena_alloc(&compute->step, (size_t)g->padded, sizeof *padded);
    if (!padded)
        return pl_fail_memory(error, "a short segment");
    memcpy(padded, *pcm, (size_t)g->samples * sizeof *padded);
    *pcm = padded;
    return PARLEY_OK;
}

static parley_status make_prompt(asr_session *s, asr_segment *g, int64_t rows, parley_error *error)
{
    const asr_model *m = s->model;
    PL_TRY(write_prompt(s, g->bare ? (pl_span){"", 0} : s->context, rows, &g->prompt, error));
    g->length = (int64_t)g->prompt.ids.count;
    int64_t room = m->config.context_length - g->length;
    int32_t budget = s->options.budget == PARLEY_TOKENS_GIVEN
                         ? s->options.max_tokens
                         : pl_answer_budget((double)g->samples / PARLEY_ASR_RATE, (int32_t)(room > 0 ? room : 0));
    if (budget < 1 || budget > room)
        return pl_fail(error, PARLEY_LIMIT, "a prompt of %lld positions and %d tokens, the model has %d", (long long)g->length, (int)budget,
                       (int)m->config.context_length);
    pl_tap_ids(&s->tap, "prompt_ids", g->prompt.ids.ids, g->length, 0);
    return pl_asr_allow_tokens(s, g, budget, error);
}

parley_status pl_asr_allow_tokens(asr_session *s, asr_segment *g, int32_t n, parley_error *error)
{
    const parley_allocator *a = &s->arena.allocator;
    g->budget = n;
    g->n_tokens = 0;
    g->guarded = false;
    g->tokens = pl_alloc(a, (size_t)n, sizeof *g->tokens);
    g->logprobs = s->stream ? NULL : pl_alloc(a, (size_t)n, sizeof *g->logprobs);
    if (!g->tokens || (!g->logprobs && !s->stream))
        return pl_fail_memory(error, "the tokens of an answer");
    if (s->options.budget == PARLEY_TOKENS_GIVEN)
        return PARLEY_OK;
    g->guard = pl_alloc(a, 1, sizeof *g->guard);
    if (!g->guard)
        return pl_fail_memory(error, "a loop guard");
    pl_loop_guard_init(g->guard);
    return PARLEY_OK;
}

static parley_status allocate(asr_session *s, asr_segment *g, parley_error *error)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    const asr_model *m = s->model;
    g->input = pl_alloc(&s->arena.allocator, g->prompt.ids.count, (size_t)m->config.text.width * sizeof *g->input);
    pl_transformer_kv(&m->network.text, &s->arena.allocator, types[s->options.kv], m->config.context_length, &g->kv);
    return g->input ? PARLEY_OK : pl_fail_memory(error, "a segment");
}

/* Embeddings of the ids; the tower's rows where the sound stands. */
static void fill(asr_session *s, asr_segment *g, const float *rows)
{
    size_t width = (size_t)s->model->config.text.width;
    for (size_t i = 0; i < g->prompt.ids.count; i++) {
        if (i == g->prompt.audio_at) {
            memcpy(g->input + i * width, rows, (size_t)g->prompt.audio_rows * width * sizeof *rows);
            i += (size_t)g->prompt.audio_rows;
        }
        pl_asr_embed(s->compute.k, &s->model->network, g->prompt.ids.ids[i], g->input + i * width);
    }
}

static parley_status encode(asr_session *s, pl_compute *compute, asr_segment *g, parley_error *error)
{
    const float *pcm;
    PL_TRY(samples_of(s, compute, g, &pcm, error));
    int64_t n = pl_asr_audio_rows(s->model, g->padded);
    float *rows = pl_step_floats(compute, n * s->model->config.text.width);
    if (!rows)
        return pl_fail_memory(error, "the rows of a sound");
    PL_TRY(pl_asr_encode(compute, s->model, pcm, g->padded, s->options.attention == PARLEY_ATTENTION_FULL, &s->cancelled, &s->tap, rows, error));
    PL_TRY(make_prompt(s, g, n, error));
    PL_TRY(allocate(s, g, error));
    fill(s, g, rows);
    return PARLEY_OK;
}

parley_status pl_asr_encode_segment(asr_session *s, pl_compute *compute, asr_segment *g, bool *silent, parley_error *error)
{
    *silent = g->padded < ASR_MIN_SAMPLES; /* too short for the front end, and for speech */
    if (!*silent && !g->bare)
        PL_TRY(pl_asr_is_silent(s, compute, g->first, g->samples, (int64_t)s->samples, silent, error));
    if (*silent)
        return PARLEY_OK;
    pl_arena_mark mark = pl_arena_save(&compute->step);
    parley_status status = encode(s, compute, g, error);
    pl_arena_restore(&compute->step, mark);
    return status;
}

/* ------------------------------------------------------------------ caches */

uint64_t pl_asr_appetite(const asr_session *s, const asr_segment *g)
{
    /* A second of sound has 13 rows and 3 to 5 tokens of text (spec/qwen3_asr.md 4.5); 6.5 leave room for fast speech. No token is less than a byte.
     */
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    const pl_transformer_shape *shape = &s->model->network.text.shape;
    uint64_t rows = (uint64_t)pl_asr_audio_rows(s->model, g->padded), positions = rows + rows / 2 + s->prompt_tokens;
    return positions * 2 * (uint64_t)shape->layers * (uint64_t)shape->kv_heads * pl_row_bytes(types[s->options.kv], shape->head);
}

/* Positions that a segment of `samples` may take beside its prompt without sound. */
static int64_t most_positions(const asr_session *s, int64_t samples, int64_t ids)
{
    const asr_config *c = &s->model->config;
    int64_t length = ids + (samples < ASR_MIN_SAMPLES ? 0 : pl_asr_audio_rows(s->model, samples)), room = c->context_length - length;
    int64_t budget = s->options.budget == PARLEY_TOKENS_GIVEN ? s->options.max_tokens
                                                              : pl_answer_budget((double)samples / PARLEY_ASR_RATE, (int32_t)(room > 0 ? room : 0));
    return length + budget < c->context_length ? length + budget : c->context_length;
}

/* Of an answer of a stream the prefix is counted with the budget: both are at most what the segment may say. */
parley_status pl_asr_kv_bytes(const asr_session *s, uint64_t *bytes, parley_error *error)
{
    static const pl_type types[] = {PL_F32, PL_F16, PL_BF16, PL_Q8_0};
    const asr_model *m = s->model;
    asr_prompt prompt = {0};
    pl_kv kv;
    int64_t longest = s->stream ? (int64_t)(s->options.stream_segment_seconds * PARLEY_ASR_RATE) : 0;
    for (int i = 0; i < s->n_segments; i++)
        longest = s->segments[i].padded > longest ? s->segments[i].padded : longest;
    pl_transformer_kv(&m->network.text, &s->arena.allocator, types[s->options.kv], m->config.context_length, &kv);
    parley_status status = write_prompt(s, s->context, 0, &prompt, error);
    int64_t at_once = s->stream ? 1 : s->n_segments < s->options.batch ? s->n_segments : s->options.batch;
    *bytes = pl_kv_bytes(&kv, most_positions(s, longest, (int64_t)prompt.ids.count)) * (uint64_t)at_once;
    pl_ids_free(&prompt.ids);
    return status;
}

/* ------------------------------------------------------------------ ending */

void pl_asr_release_input(asr_session *s, asr_segment *g)
{
    if (g->input)
        pl_release(&s->arena.allocator, g->input, (size_t)(g->length - g->input_at), (size_t)s->model->config.text.width * sizeof *g->input);
    g->input = NULL;
}

void pl_asr_release_tokens(asr_session *s, asr_segment *g)
{
    const parley_allocator *a = &s->arena.allocator;
    pl_release(a, g->tokens, (size_t)g->budget, sizeof *g->tokens);
    pl_release(a, g->logprobs, (size_t)g->budget, sizeof *g->logprobs);
    g->tokens = NULL;
    g->logprobs = NULL;
}

void pl_asr_release_guard(asr_session *s, asr_segment *g)
{
    pl_release(&s->arena.allocator, g->guard, 1, sizeof *g->guard);
    g->guard = NULL;
}

void pl_asr_release(asr_session *s, asr_segment *g)
{
    pl_asr_release_input(s, g);
    pl_asr_release_guard(s, g);
    if (g->kv.allocator.alloc)
        pl_kv_free(&g->kv);
    pl_ids_free(&g->prompt.ids);
    g->prompt = (asr_prompt){0};
}

size_t pl_asr_spoken(const asr_segment *g, parley_finish finish)
{
    if (g->guarded)
        return (size_t)g->keep;
    return (size_t)g->n_tokens - (finish == PARLEY_FINISH_STOP && g->n_tokens > 0 ? 1 : 0);
}

static parley_status copy_span(asr_session *s, pl_span span, const char **text, parley_error *error)
{
    *text = pl_arena_text(&s->arena, span.text, span.length);
    return *text ? PARLEY_OK : pl_fail_memory(error, "a text");
}

bool pl_asr_says_nothing(pl_span raw, const pl_answer *answer)
{
    return answer->text.length == 0 && pl_begins_with(raw, "language none");
}

static parley_status parse(asr_session *s, asr_segment *g, parley_finish finish, parley_error *error)
{
    pl_span raw;
    pl_answer answer;
    pl_span forced = {s->language ? s->language->name : "", s->language ? strlen(s->language->name) : 0};
    PL_TRY(pl_detokenize(&s->arena, s->model->tokenizer, g->tokens, pl_asr_spoken(g, finish), &raw, error));
    PL_TRY(pl_answer_parse(&s->arena, raw, forced, &answer, error));
    PL_TRY(copy_span(s, answer.text, &g->result.text, error));
    PL_TRY(copy_span(s, answer.language, &g->result.language, error));
    g->result.no_speech = pl_asr_says_nothing(raw, &answer) || (s->language && raw.length == 0);
    return PARLEY_OK;
}

parley_status pl_asr_end(asr_session *s, asr_segment *g, parley_finish finish, parley_error *error)
{
    bool again = false;
    parley_status status = g->n_tokens ? parse(s, g, finish, error) : PARLEY_OK;
    if (status == PARLEY_OK && pl_asr_doubts(s))
        status = pl_asr_doubt(s, g, &finish, &again, error);
    if (again) {
        pl_asr_release(s, g);
        return status;
    }
    g->stage = ASR_DONE;
    g->result.finish = finish;
    g->result.token_ids = g->tokens;
    g->result.logprobs = g->logprobs;
    g->result.n_tokens = (size_t)g->n_tokens;
    s->done++;
    pl_asr_release(s, g);
    return status;
}
