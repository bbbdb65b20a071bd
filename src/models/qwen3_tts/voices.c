#include "models/qwen3_tts/session.h"

#include "audio/stretch.h"
#include "text/strings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ names */

/* Names from callers are checked here: what is no UTF-8 is no name. */
static bool is_text(const char *name)
{
    return pl_utf8_check(name, strlen(name)) == strlen(name);
}

/* In any case, as the reference lowers both. */
static bool same_name(const char *a, const char *b)
{
    return is_text(a) && is_text(b) && pl_same_lower((pl_span){a, strlen(a)}, (pl_span){b, strlen(b)});
}

int64_t pl_tts_speaker_find(const void *model, const char *name)
{
    const tts_config *config = &((const tts_model *)model)->config;
    for (int i = 0; i < config->n_speakers; i++)
        if (same_name(config->speakers[i].name, name))
            return i;
    return -1;
}

/* "a, b, c", as far as it fits. */
static void list_name(char *list, size_t size, const char *name)
{
    size_t at = strlen(list);
    if (at < size)
        snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
}

static const tts_language *language_named(const tts_config *config, const char *name)
{
    for (int i = 0; i < config->n_languages; i++)
        if (same_name(config->languages[i].name, name))
            return &config->languages[i];
    return NULL;
}

static parley_status unknown_language(const tts_config *config, const char *name, parley_error *error)
{
    char list[300] = "auto";
    for (int i = 0; i < config->n_languages; i++)
        if (!config->languages[i].dialect)
            list_name(list, sizeof list, config->languages[i].name);
    return pl_fail(error, PARLEY_ARGUMENT, "language \"%.60s\" is unknown; there is %s", name, list);
}

static parley_status unknown_speaker(const tts_config *config, const char *name, parley_error *error)
{
    char list[300] = "";
    for (int i = 0; i < config->n_speakers; i++)
        list_name(list, sizeof list, config->speakers[i].name);
    if (!config->n_speakers)
        return pl_fail(error, PARLEY_ARGUMENT, "voice \"%.60s\": this model (%s) has no speakers of its own", name, config->model_type);
    return pl_fail(error, PARLEY_ARGUMENT, "voice \"%.60s\" is unknown; there is %s", name, list);
}

/* ------------------------------------------------------------------ the parts of the options */

static parley_status resolve_speaker(tts_session *s, parley_error *error)
{
    const tts_config *config = &s->model->config;
    const char *name = s->options.speaker;
    if (!name || s->options.xvector)
        return PARLEY_OK;
    int64_t index = pl_tts_speaker_find(s->model, name);
    if (index >= 0)
        s->voice.speaker = &config->speakers[index];
    return s->voice.speaker ? PARLEY_OK : unknown_speaker(config, name, error);
}

/* A speaker of a dialect speaks it when the language is Chinese or automatic (spec 2.3). */
static parley_status resolve_language(tts_session *s, parley_error *error)
{
    const tts_config *config = &s->model->config;
    const char *name = s->options.language;
    const tts_speaker *speaker = s->voice.speaker;
    bool automatic = !name || same_name(name, "auto");
    s->language = -1;
    if (!automatic) {
        const tts_language *language = language_named(config, name);
        if (!language || language->dialect)
            return unknown_language(config, name, error);
        s->language = language->id;
    }
    if (speaker && speaker->dialect[0] && (automatic || same_name(name, "chinese"))) {
        const tts_language *dialect = language_named(config, speaker->dialect);
        if (!dialect)
            return pl_fail(error, PARLEY_FORMAT, "speaker \"%s\" has the dialect \"%s\", which is no language of this model", speaker->name,
                           speaker->dialect);
        s->language = dialect->id;
    }
    return PARLEY_OK;
}

static parley_status take_xvector(tts_session *s, parley_error *error)
{
    const parley_tts_options *o = &s->options;
    const tts_config *config = &s->model->config;
    if (!o->xvector)
        return PARLEY_OK;
    if (strcmp(config->model_type, "base") != 0)
        return pl_fail(error, PARLEY_ARGUMENT, "a voice vector needs a base model, this one is %s", config->model_type);
    if (o->xvector_length != (size_t)config->talker.width)
        return pl_fail(error, PARLEY_ARGUMENT, "the voice vector has %zu values, expected %d", o->xvector_length, config->talker.width);
    for (size_t i = 0; i < o->xvector_length; i++)
        if (!isfinite(o->xvector[i]))
            return pl_fail(error, PARLEY_ARGUMENT, "the voice vector is not finite at index %zu", i);
    float *copy = PL_NEW_ARRAY(&s->arena, float, o->xvector_length);
    if (!copy)
        return pl_fail_memory(error, "a voice vector");
    memcpy(copy, o->xvector, o->xvector_length * sizeof *copy);
    s->voice.xvector = copy;
    return PARLEY_OK;
}

/* A copy of codes, each checked against its codebook. */
static parley_status take_codes(tts_session *s, const char *what, const int32_t *codes, size_t frames, const int32_t **copy, parley_error *error)
{
    const tts_config *config = &s->model->config;
    size_t groups = (size_t)config->groups;
    if (frames == 0 || frames > (size_t)config->context_length)
        return pl_fail(error, PARLEY_ARGUMENT, "%s: %zu frames, expected 1 to %" PRId32, what, frames, config->context_length);
    int32_t *c = PL_NEW_ARRAY(&s->arena, int32_t, frames * groups);
    if (!c)
        return pl_fail_memory(error, what);
    for (size_t i = 0; i < frames * groups; i++) {
        if (codes[i] < 0 || codes[i] >= config->codebook_size)
            return pl_fail(error, PARLEY_ARGUMENT, "%s: frame %zu, group %zu is %" PRId32 ", expected 0 to %" PRId32, what, i / groups, i % groups,
                           codes[i], config->codebook_size - 1);
        c[i] = codes[i];
    }
    *copy = c;
    return PARLEY_OK;
}

static parley_status take_text(tts_session *s, const char **text, parley_error *error)
{
    if (*text && !(*text = pl_arena_text(&s->arena, *text, strlen(*text))))
        return pl_fail_memory(error, "options");
    return PARLEY_OK;
}

/* A reference that has gone through the codec must be of these very codes. */
static parley_status check_reference(const tts_session *s, parley_error *error)
{
    const tts_reference *r = (const tts_reference *)s->options.reference;
    if (!r)
        return PARLEY_OK;
    size_t bytes = (size_t)s->voice.ref_frames * (size_t)s->model->config.groups * sizeof *r->codes;
    if (r->model != s->model || r->frames != s->voice.ref_frames || memcmp(r->codes, s->voice.ref_codes, bytes) != 0)
        return pl_fail(error, PARLEY_ARGUMENT, "the reference that was opened is of other codes, or of another model");
    return PARLEY_OK;
}

static parley_status take_reference(tts_session *s, parley_error *error)
{
    const parley_tts_options *o = &s->options;
    if (!o->ref_codes && !o->ref_text) {
        s->options.reference = NULL;
        return PARLEY_OK;
    }
    if (!o->ref_codes || !o->ref_text || !o->xvector)
        return pl_fail(error, PARLEY_ARGUMENT, "reference codes, their text and a voice vector belong together: %s missing",
                       !o->ref_codes  ? "the codes are"
                       : !o->ref_text ? "the text is"
                                      : "the vector is");
    PL_TRY(take_codes(s, "reference codes", o->ref_codes, o->ref_frames, &s->voice.ref_codes, error));
    s->voice.ref_frames = (int64_t)o->ref_frames;
    PL_TRY(take_text(s, &s->options.ref_text, error));
    s->voice.ref_text = s->options.ref_text;
    return check_reference(s, error);
}

/* Which models listen to instructions: voice design, and custom voice but the small one, whose size the reference tests as a substring of "0b6". */
static bool takes_instructions(const tts_config *config)
{
    if (strcmp(config->model_type, "voice_design") == 0)
        return true;
    return strcmp(config->model_type, "custom_voice") == 0 && !strstr("0b6", config->model_size);
}

static parley_status take_instruct(tts_session *s, parley_error *error)
{
    const char **instruct = &s->options.instruct;
    if (*instruct && !**instruct)
        *instruct = NULL;
    if (*instruct && !takes_instructions(&s->model->config)) {
        pl_log(&s->model->env.logger, PARLEY_LOG_WARNING, "the instruction has no effect: this model (%s %s) takes none", s->model->config.model_type,
               s->model->config.model_size);
        *instruct = NULL;
    }
    return take_text(s, instruct, error);
}

/* ------------------------------------------------------------------ numbers */

static parley_status check_sampling(const parley_sampling *p, const char *level, parley_error *error)
{
    if (!(p->temperature >= 0 && p->temperature <= 10))
        return pl_fail(error, PARLEY_ARGUMENT, "%s temperature: %g, expected 0 to 10", level, (double)p->temperature);
    if (!(p->top_p > 0 && p->top_p <= 1))
        return pl_fail(error, PARLEY_ARGUMENT, "%s top-p: %g, expected more than 0, at most 1", level, (double)p->top_p);
    if (p->top_k < 0)
        return pl_fail(error, PARLEY_ARGUMENT, "%s top-k: %" PRId32 ", expected 0 (off) or more", level, p->top_k);
    if (!(p->repetition_penalty > 0 && p->repetition_penalty <= 10))
        return pl_fail(error, PARLEY_ARGUMENT, "%s repetition penalty: %g, expected more than 0, at most 10", level, (double)p->repetition_penalty);
    return PARLEY_OK;
}

static parley_status check_choices(const tts_session *s, parley_error *error)
{
    enum { MOST_CHUNK = 64 };
    const parley_tts_options *o = &s->options;
    if (o->layout > PARLEY_LAYOUT_FULL || o->kv > PARLEY_KV_Q8_0 || o->activations > PARLEY_ACTIVATIONS_INT8 || o->budget > PARLEY_BUDGET_FRAMES)
        return pl_fail(error, PARLEY_ARGUMENT, "layout, kv, activations or budget: %d, %d, %d, %d: one is not in its list", (int)o->layout,
                       (int)o->kv, (int)o->activations, (int)o->budget);
    if (o->budget == PARLEY_BUDGET_FRAMES && o->max_frames < 1)
        return pl_fail(error, PARLEY_ARGUMENT, "max frames: %" PRId32 ", expected at least 1", o->max_frames);
    if (o->chunk_frames < 1 || o->chunk_frames > MOST_CHUNK)
        return pl_fail(error, PARLEY_ARGUMENT, "chunk frames: %" PRId32 ", expected 1 to %d", o->chunk_frames, MOST_CHUNK);
    if (o->kv == PARLEY_KV_Q8_0 && s->model->config.talker.head % 32 != 0)
        return pl_fail(error, PARLEY_ARGUMENT, "a q8_0 cache needs a head dimension that 32 divides, this model has %d",
                       s->model->config.talker.head);
    return PARLEY_OK;
}

/* Numbers of codes and intermediate results are those of one prompt. */
static parley_status check_text_options(const parley_tts_options *o, parley_error *error)
{
    enum { LEAST_PIECE = 20, MOST_PIECE = 100000, MOST_PAUSE = 10 };
    if (o->live_text && o->special_tokens)
        return pl_fail(error, PARLEY_ARGUMENT, "a live text has no special tokens: their spellings could come in parts");
    if (o->piece_length && (o->piece_length < LEAST_PIECE || o->piece_length > MOST_PIECE))
        return pl_fail(error, PARLEY_ARGUMENT, "length of pieces: %" PRId32 ", expected 0 (one piece) or %d to %d", o->piece_length, LEAST_PIECE,
                       MOST_PIECE);
    if (!(o->pause_seconds >= 0 && o->pause_seconds <= MOST_PAUSE))
        return pl_fail(error, PARLEY_ARGUMENT, "pause: %g s, expected 0 to %d", o->pause_seconds, MOST_PAUSE);
    if ((o->piece_length || o->live_text) && (o->tap || o->teacher || o->exact_cut))
        return pl_fail(error, PARLEY_ARGUMENT, "%s text takes no %s", o->live_text ? "a live" : "a cut",
                       o->tap       ? "taps"
                       : o->teacher ? "teacher codes"
                                    : "exact cut of the reference");
    return PARLEY_OK;
}

parley_status pl_tts_take_options(tts_session *s, const parley_tts_options *options, parley_error *error)
{
    s->options = *options;
    PL_TRY(check_choices(s, error));
    PL_TRY(check_text_options(&s->options, error));
    PL_TRY(pl_stretch_check(s->options.speed, error));
    PL_TRY(check_sampling(&s->options.talker, "talker", error));
    PL_TRY(check_sampling(&s->options.predictor, "predictor", error));
    PL_TRY(take_xvector(s, error));
    PL_TRY(resolve_speaker(s, error));
    PL_TRY(resolve_language(s, error));
    PL_TRY(take_reference(s, error));
    PL_TRY(take_instruct(s, error));
    if (s->options.teacher)
        PL_TRY(take_codes(s, "teacher codes", s->options.teacher, s->options.teacher_frames, &s->options.teacher, error));
    s->tap = (pl_tap){s->options.tap, s->options.tap_context};
    return PARLEY_OK;
}
