#include "models.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct srv_models {
    const srv_options *options;
    pthread_mutex_t lock;
    pthread_cond_t checked;
    pthread_t loader;
    bool started;
    srv_state state;
    parley_error failure;
    srv_model *items; /* [capacity] */
    srv_model **list; /* [count] of those */
    size_t count;     /* open; grows while they load, shown when all are */
};

enum { CHECK_SECONDS = 10, STALL_SECONDS = 60, CHECK_DEADLINE = 30 };

const char *srv_kind_name(srv_kind kind)
{
    static const char *const names[SRV_KINDS] = {"tts", "asr", "aligner"};
    return names[kind];
}

static srv_kind kind_of(const parley_info *info)
{
    return info->has_talker ? SRV_TTS : !strcmp(info->model_type, "aligner") ? SRV_ALIGNER : SRV_ASR;
}

static void engine_options(const srv_options *o, parley_engine_options *engine)
{
    const srv_limits *l = &o->limits;
    parley_engine_options_init(engine);
    engine->max_active = l->active;
    engine->max_queued = l->queued;
    engine->max_kv_bytes = l->kv_bytes;
    engine->sound_seconds = l->audio_seconds;
    engine->text_bytes = l->text_bytes;
}

static parley_status open_model(srv_models *m, const srv_source *source, bool as_aligner, parley_error *error)
{
    parley_open_options open = m->options->open;
    parley_engine_options options;
    parley_info *looked = NULL;
    srv_model *model = &m->items[m->count];
    open.codec_path = source->codec;
    CLI_TRY(parley_inspect(source->path, &open, &looked, error));
    open.parts = looked->has_talker ? PARLEY_PARTS_CLONE : PARLEY_PARTS_ALL;
    parley_info_free(looked);
    CLI_TRY(parley_model_open(source->path, &open, &model->model, error));
    model->name = source->name;
    model->info = parley_model_info(model->model);
    model->kind = kind_of(model->info);
    if (as_aligner && model->kind != SRV_ALIGNER)
        return cli_fail(error, PARLEY_FAMILY, "--aligner \"%.200s\" is no aligner but a model of the family %s, type \"%s\"", source->path,
                        model->info->family, model->info->model_type);
    engine_options(m->options, &options);
    return parley_engine_open(model->model, &options, &model->engine, error);
}

static parley_status load(srv_models *m, const srv_source *source, bool as_aligner, parley_error *error)
{
    parley_status status = open_model(m, source, as_aligner, error);
    if (status != PARLEY_OK) {
        parley_error inner = *error;
        parley_model_close(m->items[m->count].model);
        m->items[m->count] = (srv_model){0};
        return cli_fail(error, status, "model \"%.60s\": %.400s", source->name, inner.text);
    }
    m->list[m->count] = &m->items[m->count];
    m->count++;
    return PARLEY_OK;
}

static parley_status load_all(srv_models *m, parley_error *error)
{
    const srv_options *o = m->options;
    for (size_t i = 0; i < o->n_models; i++)
        CLI_TRY(load(m, &o->models[i], false, error));
    srv_source aligner = {.name = "aligner", .path = o->aligner};
    return o->aligner ? load(m, &aligner, true, error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ self-check */

static parley_status wait_end(parley_request *request, parley_error *error)
{
    parley_event event = {.size = sizeof event};
    while (parley_request_next(request, CHECK_DEADLINE, &event) != PARLEY_EVENT_END) {
        if (event.kind == PARLEY_EVENT_NONE)
            return cli_fail(error, PARLEY_LATE, "no answer within %d s", (int)CHECK_DEADLINE);
    }
    if (event.status != PARLEY_OK)
        *error = *event.error;
    return event.status;
}

/* One frame of speech: prompt, talker, predictor and codec, whose PCM the library checks to be finite. */
static parley_status start_speech(srv_model *model, const parley_request_options *request_options, parley_request **request, parley_error *error)
{
    parley_tts_options options;
    parley_tts_options_init(model->model, &options);
    options.budget = PARLEY_BUDGET_FRAMES;
    options.max_frames = 1;
    CLI_TRY(parley_engine_speak(model->engine, &options, request_options, request, error));
    CLI_TRY(parley_request_push_text(*request, "a", 1, error));
    return parley_request_finish_text(*request, error);
}

/* One token of half a second of silence, or its alignment with one word. */
static parley_status start_hearing(srv_model *model, const parley_request_options *request_options, parley_request **request, parley_error *error)
{
    static const float silence[PARLEY_ASR_RATE / 2];
    if (model->kind == SRV_ALIGNER) {
        parley_align_options options;
        parley_align_options_init(model->model, &options);
        return parley_engine_align(model->engine, silence, CLI_COUNT(silence), "a", 1, &options, request_options, request, error);
    }
    parley_asr_options options;
    parley_asr_options_init(model->model, &options);
    options.budget = PARLEY_TOKENS_GIVEN;
    options.max_tokens = 1;
    CLI_TRY(parley_engine_hear(model->engine, &options, request_options, request, error));
    CLI_TRY(parley_request_push_sound(*request, silence, CLI_COUNT(silence), error));
    return parley_request_finish_sound(*request, error);
}

static parley_status check_model(srv_model *model, parley_error *error)
{
    parley_request *request = NULL;
    parley_request_options options;
    parley_request_options_init(&options);
    options.deadline_seconds = CHECK_DEADLINE;
    parley_status status = model->kind == SRV_TTS ? start_speech(model, &options, &request, error) : start_hearing(model, &options, &request, error);
    if (status == PARLEY_OK)
        status = wait_end(request, error);
    parley_request_release(request);
    return status;
}

/* With the lock, which is given up while the model works. A busy model shows that it lives by taking turns. */
static void check_if_due(srv_models *m, srv_model *model)
{
    parley_engine_figures figures = {.size = sizeof figures};
    double now = cli_seconds();
    while (model->checking)
        pthread_cond_wait(&m->checked, &m->lock);
    parley_engine_figures_get(model->engine, &figures);
    bool busy = figures.active > 0 || figures.queued > 0 || figures.jobs > 0;
    if (!busy || figures.turns != model->turns)
        model->moved_at = now;
    model->turns = figures.turns;
    if (busy && now - model->moved_at > STALL_SECONDS)
        cli_fail(&model->failure, PARLEY_INTERNAL, "no turn for %.0f s though there is work", now - model->moved_at);
    if (busy || (model->checked_at > 0 && now - model->checked_at < CHECK_SECONDS))
        return;
    parley_error failure = {.status = PARLEY_OK};
    model->checking = true;
    pthread_mutex_unlock(&m->lock);
    parley_status status = check_model(model, &failure);
    pthread_mutex_lock(&m->lock);
    model->checking = false;
    model->checked_at = cli_seconds();
    model->failure = status == PARLEY_OK || status == PARLEY_BUSY ? (parley_error){.status = PARLEY_OK} : failure;
    pthread_cond_broadcast(&m->checked);
}

srv_state srv_models_check(srv_models *m, parley_error *error)
{
    pthread_mutex_lock(&m->lock);
    srv_state state = m->state;
    *error = m->failure;
    for (size_t i = 0; state == SRV_READY && i < m->count; i++) { /* before that the loader counts, without the lock */
        srv_model *model = m->list[i];
        check_if_due(m, model);
        if (model->failure.status != PARLEY_OK) {
            state = SRV_FAILING;
            cli_fail(error, model->failure.status, "model \"%.60s\": %.400s", model->name, model->failure.text);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return state;
}

/* ------------------------------------------------------------------ life */

static void *run_loader(void *context)
{
    srv_models *m = context;
    parley_error error = {.status = PARLEY_OK};
    parley_status status = load_all(m, &error);
    for (size_t i = 0; i < m->count && status == PARLEY_OK; i++)
        status = check_model(m->list[i], &error);
    pthread_mutex_lock(&m->lock);
    m->state = status == PARLEY_OK ? SRV_READY : SRV_FAILING;
    m->failure = error;
    for (size_t i = 0; i < m->count; i++)
        m->list[i]->checked_at = m->list[i]->moved_at = cli_seconds();
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

parley_status srv_models_open(const srv_options *options, srv_models **models, parley_error *error)
{
    srv_models *m = calloc(1, sizeof *m);
    if (!m)
        return cli_fail_memory(error);
    m->options = options;
    m->items = calloc(options->n_models + 1, sizeof *m->items);
    m->list = calloc(options->n_models + 1, sizeof *m->list);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->checked, NULL);
    m->started = m->items && m->list && pthread_create(&m->loader, NULL, run_loader, m) == 0;
    *models = m;
    return m->started ? PARLEY_OK : cli_fail_memory(error);
}

void srv_models_close(srv_models *m)
{
    if (!m)
        return;
    if (m->started)
        pthread_join(m->loader, NULL);
    for (size_t i = 0; i < m->count; i++) {
        parley_engine_close(m->list[i]->engine);
        parley_model_close(m->list[i]->model);
    }
    pthread_cond_destroy(&m->checked);
    pthread_mutex_destroy(&m->lock);
    free(m->items);
    free(m->list);
    free(m);
}

srv_state srv_models_state(srv_models *m, parley_error *error)
{
    pthread_mutex_lock(&m->lock);
    srv_state state = m->state;
    *error = m->failure;
    pthread_mutex_unlock(&m->lock);
    return state;
}

size_t srv_models_list(srv_models *m, srv_model *const **list)
{
    parley_error ignored;
    *list = m->list;
    return srv_models_state(m, &ignored) == SRV_READY ? m->count : 0;
}

const char *srv_unalias(const srv_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_aliases; i++) {
        if (!strcmp(options->aliases[i].name, name))
            return options->aliases[i].target;
    }
    return name;
}

srv_model *srv_models_find(srv_models *m, srv_kind kind, const char *name)
{
    srv_model *const *list;
    size_t count = srv_models_list(m, &list);
    const char *wanted = name ? srv_unalias(m->options, name) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (list[i]->kind == kind && (!wanted || !strcmp(list[i]->name, wanted)))
            return list[i];
    }
    return NULL;
}

void srv_models_drain(srv_models *m, double seconds)
{
    srv_model *const *list;
    size_t count = srv_models_list(m, &list);
    double end = cli_seconds() + seconds;
    for (size_t i = 0; i < count; i++) {
        double left = end - cli_seconds();
        (void)parley_engine_drain(list[i]->engine, left > 0 ? left : 0);
    }
}
