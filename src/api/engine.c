#include "engine/engine.h"

#include <inttypes.h>
#include <string.h>

static parley_status missing(const char *name, parley_error *error)
{
    return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", name);
}

static parley_status wrong_size(const char *what, size_t got, size_t expected, parley_error *error)
{
    return pl_fail(error, PARLEY_ARGUMENT, "%s options of %zu bytes, expected %zu: their init function was not called", what, got, expected);
}

/* ------------------------------------------------------------------ engines */

enum { MOST_QUEUED = 100000, MOST_ROWS = 4096, MOST_TEXT = 16 << 20 };
static const double least_slice = 0.001, most_slice = 1, least_pcm = 0.16, most_pcm = 3600, least_sound = 1, most_sound = 86400; /* seconds */

void parley_engine_options_init(parley_engine_options *options)
{
    *options = (parley_engine_options){.size = sizeof *options,
                                       .max_active = 8,
                                       .max_queued = 64,
                                       .prompt_rows = 32,
                                       .slice_seconds = 0.02,
                                       .pcm_seconds = 10,
                                       .sound_seconds = 7200,
                                       .text_bytes = 1 << 20};
}

static parley_status check_seconds(const char *what, double got, double least, double most, parley_error *error)
{
    return got >= least && got <= most ? PARLEY_OK : pl_fail(error, PARLEY_ARGUMENT, "%s: %g s, expected %g to %g", what, got, least, most);
}

static parley_status check_count(const char *what, int64_t got, int64_t least, int64_t most, parley_error *error)
{
    return got >= least && got <= most ? PARLEY_OK
                                       : pl_fail(error, PARLEY_ARGUMENT, "%s: %" PRId64 ", expected %" PRId64 " to %" PRId64, what, got, least, most);
}

static parley_status check_options(const parley_engine_options *o, parley_error *error)
{
    if (o->size != sizeof *o)
        return wrong_size("engine", o->size, sizeof *o, error);
    PL_TRY(check_count("active requests", o->max_active, 1, PL_MOST_ACTIVE, error));
    PL_TRY(check_count("queued requests", o->max_queued, 0, MOST_QUEUED, error));
    PL_TRY(check_count("rows of prompts", o->prompt_rows, 1, MOST_ROWS, error));
    PL_TRY(check_count("bytes of text", o->text_bytes > MOST_TEXT ? MOST_TEXT + 1 : (int64_t)o->text_bytes, 1, MOST_TEXT, error));
    PL_TRY(check_seconds("slices", o->slice_seconds, least_slice, most_slice, error));
    PL_TRY(check_seconds("PCM that waits", o->pcm_seconds, least_pcm, most_pcm, error));
    return check_seconds("sound", o->sound_seconds, least_sound, most_sound, error);
}

parley_status parley_engine_open(const parley_model *model, const parley_engine_options *options, parley_engine **engine, parley_error *error)
{
    parley_engine_options o;
    if (!model || !engine)
        return missing(model ? "engine" : "model", error);
    parley_engine_options_init(&o);
    if (options)
        o = *options;
    PL_TRY(check_options(&o, error));
    return pl_engine_open(model, &o, engine, error);
}

bool parley_engine_drain(parley_engine *engine, double seconds)
{
    return pl_engine_drain(engine, seconds);
}

void parley_engine_close(parley_engine *engine)
{
    pl_engine_close(engine);
}

void parley_engine_figures_get(parley_engine *engine, parley_engine_figures *figures)
{
    pl_engine_figures(engine, figures);
}

/* ------------------------------------------------------------------ requests */

void parley_request_options_init(parley_request_options *options)
{
    *options = (parley_request_options){.size = sizeof *options};
}

static parley_status take_request_options(const parley_request_options *given, parley_request_options *o, parley_error *error)
{
    parley_request_options_init(o);
    if (given && given->size != sizeof *o)
        return wrong_size("request", given->size, sizeof *o, error);
    if (given)
        *o = *given;
    if (!(o->deadline_seconds >= 0))
        return pl_fail(error, PARLEY_ARGUMENT, "deadline: %g s, expected 0 (none) or more", o->deadline_seconds);
    return PARLEY_OK;
}

parley_status parley_engine_speak(parley_engine *engine, const parley_tts_options *options, const parley_request_options *request_options,
                                  parley_request **request, parley_error *error)
{
    parley_request_options ro;
    parley_tts_options o;
    if (!engine || !request)
        return missing(engine ? "request" : "engine", error);
    if (!engine->model->family->tts)
        return pl_fail(error, PARLEY_FAMILY, "a model of the family %s does not speak", engine->model->family->name);
    parley_tts_options_init(engine->model, &o);
    if (options && options->size != sizeof o)
        return wrong_size("speech", options->size, sizeof o, error);
    if (options)
        o = *options;
    PL_TRY(take_request_options(request_options, &ro, error));
    return pl_engine_speak(engine, &o, &ro, request, error);
}

parley_status parley_request_push_text(parley_request *request, const char *text, size_t length, parley_error *error)
{
    if (!request || (!text && length))
        return missing(request ? "text" : "request", error);
    return pl_request_push_text(request, text, length, error);
}

parley_status parley_request_finish_text(parley_request *request, parley_error *error)
{
    return request ? pl_request_finish_text(request, error) : missing("request", error);
}

parley_status parley_engine_hear(parley_engine *engine, const parley_asr_options *options, const parley_request_options *request_options,
                                 parley_request **request, parley_error *error)
{
    parley_request_options ro;
    parley_asr_options o;
    if (!engine || !request)
        return missing(engine ? "request" : "engine", error);
    if (!engine->model->family->asr)
        return pl_fail(error, PARLEY_FAMILY, "a model of the family %s does not hear", engine->model->family->name);
    parley_asr_options_init(engine->model, &o);
    if (options && options->size != sizeof o)
        return wrong_size("recognition", options->size, sizeof o, error);
    if (options)
        o = *options;
    PL_TRY(take_request_options(request_options, &ro, error));
    return pl_engine_hear(engine, &o, &ro, request, error);
}

parley_status parley_request_push_sound(parley_request *request, const float *pcm, size_t samples, parley_error *error)
{
    if (!request || (!pcm && samples))
        return missing(request ? "pcm" : "request", error);
    return pl_request_push_sound(request, pcm, samples, error);
}

parley_status parley_request_finish_sound(parley_request *request, parley_error *error)
{
    return request ? pl_request_finish_sound(request, error) : missing("request", error);
}

/* What both kinds of work refuse. */
static parley_status check_work(const parley_engine *engine, const float *pcm, size_t samples, void *request, parley_error *error)
{
    if (!engine || !request || (!pcm && samples))
        return missing(!engine ? "engine" : !request ? "request" : "pcm", error);
    return samples ? PARLEY_OK : pl_fail(error, PARLEY_ARGUMENT, "the sound has no samples");
}

static parley_status check_length(const parley_engine *engine, size_t samples, int32_t rate, parley_error *error)
{
    double most = engine->options.sound_seconds;
    return (double)samples <= most * rate ? PARLEY_OK : pl_fail(error, PARLEY_LIMIT, "the sound is longer than %g s", most);
}

parley_status parley_engine_align(parley_engine *engine, const float *pcm, size_t samples, const char *text, size_t length,
                                  const parley_align_options *options, const parley_request_options *request_options, parley_request **request,
                                  parley_error *error)
{
    parley_request_options ro;
    parley_align_options o;
    PL_TRY(check_work(engine, pcm, samples, request, error));
    if (!text && length)
        return missing("text", error);
    if (!engine->model->family->asr || strcmp(engine->model->family->info(engine->model->state)->model_type, "aligner") != 0)
        return pl_fail(error, PARLEY_FAMILY, "this model is no aligner");
    parley_align_options_init(engine->model, &o);
    if (options && options->size != sizeof o)
        return wrong_size("alignment", options->size, sizeof o, error);
    if (options)
        o = *options;
    if (o.tap)
        return pl_fail(error, PARLEY_ARGUMENT, "an alignment as a request takes no taps");
    PL_TRY(take_request_options(request_options, &ro, error));
    PL_TRY(check_length(engine, samples, PARLEY_ASR_RATE, error));
    pl_work_input in = {.pcm = pcm, .samples = samples, .text = {(const uint8_t *)(text ? text : ""), length}, .align = &o};
    return pl_engine_work_on(engine, &in, &ro, request, error);
}

void parley_encode_options_init(const parley_engine *engine, parley_encode_options *options)
{
    const parley_info *info = engine->model->family->info(engine->model->state);
    *options = (parley_encode_options){.size = sizeof *options, .vector = info->has_speaker_encoder, .codes = info->has_codec};
}

parley_status parley_engine_encode_voice(parley_engine *engine, const float *pcm, size_t samples, const parley_encode_options *options,
                                         const parley_request_options *request_options, parley_request **request, parley_error *error)
{
    parley_request_options ro;
    parley_encode_options o;
    PL_TRY(check_work(engine, pcm, samples, request, error));
    if (!engine->model->family->tts)
        return pl_fail(error, PARLEY_FAMILY, "a model of the family %s makes no voices", engine->model->family->name);
    parley_encode_options_init(engine, &o);
    if (options && options->size != sizeof o)
        return wrong_size("voice", options->size, sizeof o, error);
    if (options)
        o = *options;
    if (!o.vector && !o.codes)
        return pl_fail(error, PARLEY_ARGUMENT, "neither a vector nor codes are wanted, or the model makes none");
    PL_TRY(check_seconds("silence behind a voice", o.silence_seconds, 0, 10, error));
    PL_TRY(take_request_options(request_options, &ro, error));
    PL_TRY(check_length(engine, samples, parley_model_info(engine->model)->sample_rate, error));
    pl_work_input in = {.pcm = pcm, .samples = samples, .encode = &o};
    return pl_engine_work_on(engine, &in, &ro, request, error);
}

void parley_request_cancel(parley_request *request)
{
    pl_request_cancel(request);
}

void parley_request_release(parley_request *request)
{
    if (request)
        pl_request_release(request);
}

/* ------------------------------------------------------------------ events and results */

parley_event_kind parley_request_next(parley_request *request, double seconds, parley_event *event)
{
    return pl_request_next(request, seconds, event);
}

void parley_request_progress_get(parley_request *request, parley_request_progress *progress)
{
    pl_request_progress(request, progress);
}

bool parley_request_speech(parley_request *request, parley_tts_result *result)
{
    bool over = pl_request_is_over(request, &pl_speak_ops);
    if (over)
        *result = request->speak.result;
    return over;
}

bool parley_request_recognition(parley_request *request, parley_asr_result *result)
{
    bool over = pl_request_is_over(request, &pl_hear_ops) || pl_request_is_over(request, &pl_stream_ops);
    if (over)
        *result = request->hear.result;
    return over;
}

bool parley_request_alignment(parley_request *request, const parley_alignment **alignment)
{
    bool over = pl_request_is_over(request, &pl_align_ops) && request->work.alignment;
    if (over)
        *alignment = request->work.alignment;
    return over;
}

bool parley_request_voice(parley_request *request, parley_voice *voice)
{
    if (!pl_request_is_over(request, &pl_voice_ops))
        return false;
    const parley_info *info = parley_model_info(request->engine->model);
    const pl_work *w = &request->work;
    *voice = (parley_voice){.vector = w->vector,
                            .vector_length = w->vector ? (size_t)info->xvector_length : 0,
                            .codes = w->codes,
                            .frames = w->frames,
                            .groups = info->groups,
                            .codebook_size = info->codebook_size};
    return true;
}
