/* How the server stands: /health, /metrics, /v1/models. */
#include "call.h"

#include "json_out.h"

#include <string.h>

/* The states are answered with 200 and 503, so that balancers need not read the body. */
parley_status srv_health(srv_call *call)
{
    static const char *const names[] = {"loading", "ready", "failing"};
    parley_error failure = {.status = PARLEY_OK};
    srv_state state = srv_models_check(call->server->models, &failure);
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "status", names[state]);
    cli_json_string(&json, "version", parley_version());
    if (state == SRV_FAILING)
        cli_json_string(&json, "error", failure.text);
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    return srv_reply(call, state == SRV_READY ? 200 : 503, "application/json", &text);
}

/* ------------------------------------------------------------------ metrics */

typedef struct figure_row {
    const char *name, *type, *help;
    size_t offset; /* in parley_engine_figures */
    char kind;     /* 'u' uint64_t, 'i' int32_t, 'd' double */
} figure_row;

#define FIGURE(name, type, kind, member, help)                                    \
    {                                                                             \
        "parley_" name, type, help, offsetof(parley_engine_figures, member), kind \
    }

static const figure_row figure_rows[] = {
    FIGURE("requests_accepted_total", "counter", 'u', accepted, "Requests that were queued, self-checks included."),
    FIGURE("requests_refused_total", "counter", 'u', refused, "Requests refused: queue full, cache too large, stopping."),
    FIGURE("requests_done_total", "counter", 'u', stopped, "Requests that ended by themselves."),
    FIGURE("requests_cut_total", "counter", 'u', cut, "Requests that reached their budget."),
    FIGURE("requests_cancelled_total", "counter", 'u', cancelled, "Requests that were cancelled."),
    FIGURE("requests_late_total", "counter", 'u', late, "Requests past their deadline."),
    FIGURE("requests_failed_total", "counter", 'u', failed, "Requests that failed."),
    FIGURE("active", "gauge", 'i', active, "Requests that run."),
    FIGURE("queued", "gauge", 'i', queued, "Requests that wait."),
    FIGURE("jobs", "gauge", 'i', jobs, "Long pieces of work that wait or run."),
    FIGURE("turns_total", "counter", 'u', turns, "Turns of the batch."),
    FIGURE("turn_rows_total", "counter", 'u', turn_rows, "Sequences in them; over turns_total: the mean width of the batch."),
    FIGURE("turn_seconds_total", "counter", 'd', turn_seconds, "Seconds spent in turns."),
    FIGURE("frames_total", "counter", 'u', frames, "Frames of speech, 80 ms each."),
    FIGURE("speech_seconds_total", "counter", 'd', speech_seconds, "Speech made."),
    FIGURE("heard_seconds_total", "counter", 'd', heard_seconds, "Sound recognised or aligned."),
    FIGURE("busy_seconds_total", "counter", 'd', busy_seconds, "Seconds with a request that ran."),
    FIGURE("kv_bytes", "gauge", 'u', kv_bytes, "Caches of the requests that run."),
    FIGURE("kv_bytes_most", "gauge", 'u', kv_bytes_most, "The most so far."),
};

typedef struct measured {
    const char *name;
    parley_engine_figures figures;
} measured;

static void write_figure(const figure_row *row, const parley_engine_figures *figures, cli_buffer *out)
{
    const char *at = (const char *)figures + row->offset;
    if (row->kind == 'u')
        cli_appendf(out, "%llu\n", (unsigned long long)*(const uint64_t *)(const void *)at);
    else if (row->kind == 'i')
        cli_appendf(out, "%d\n", (int)*(const int32_t *)(const void *)at);
    else
        cli_appendf(out, "%.9g\n", *(const double *)(const void *)at);
}

static void write_ratio(const measured *models, size_t count, cli_buffer *out)
{
    cli_append_text(out,
                    "# HELP parley_real_time_factor Busy seconds for a second of sound, since the start.\n# TYPE parley_real_time_factor gauge\n");
    for (size_t i = 0; i < count; i++) {
        const parley_engine_figures *f = &models[i].figures;
        double sound = f->speech_seconds + f->heard_seconds;
        if (sound > 0)
            cli_appendf(out, "parley_real_time_factor{model=\"%s\"} %.9g\n", models[i].name, f->busy_seconds / sound);
    }
}

static void write_first_audio(const measured *models, size_t count, cli_buffer *out)
{
    const double *limits = parley_latency_bounds();
    cli_append_text(out, "# HELP parley_first_audio_seconds From queuing to the first PCM.\n# TYPE parley_first_audio_seconds histogram\n");
    for (size_t i = 0; i < count; i++) {
        const parley_engine_figures *f = &models[i].figures;
        uint64_t sum = 0;
        for (size_t k = 0; k < PARLEY_LATENCY_BUCKETS; k++) {
            sum += f->first_audio[k];
            if (k + 1 < PARLEY_LATENCY_BUCKETS)
                cli_appendf(out, "parley_first_audio_seconds_bucket{model=\"%s\",le=\"%g\"} %llu\n", models[i].name, limits[k],
                            (unsigned long long)sum);
        }
        cli_appendf(out, "parley_first_audio_seconds_bucket{model=\"%s\",le=\"+Inf\"} %llu\n", models[i].name, (unsigned long long)sum);
        cli_appendf(out, "parley_first_audio_seconds_sum{model=\"%s\"} %.9g\n", models[i].name, f->first_audio_seconds);
        cli_appendf(out, "parley_first_audio_seconds_count{model=\"%s\"} %llu\n", models[i].name, (unsigned long long)f->first_audio_count);
    }
}

static void write_engines(const measured *models, size_t count, cli_buffer *out)
{
    for (size_t r = 0; r < CLI_COUNT(figure_rows); r++) {
        const figure_row *row = &figure_rows[r];
        cli_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name, row->type);
        for (size_t i = 0; i < count; i++) {
            cli_appendf(out, "%s{model=\"%s\"} ", row->name, models[i].name);
            write_figure(row, &models[i].figures, out);
        }
    }
    write_ratio(models, count, out);
    write_first_audio(models, count, out);
}

parley_status srv_metrics_page(srv_call *call)
{
    enum { MOST = 65 }; /* models of a command line and the aligner */
    static const char type[] = "text/plain; version=0.0.4; charset=utf-8";
    measured models[MOST];
    srv_model *const *list;
    cli_buffer text = {0};
    size_t count = srv_models_list(call->server->models, &list);
    if (count > MOST)
        count = MOST;
    for (size_t i = 0; i < count; i++) {
        models[i] = (measured){.name = list[i]->name, .figures.size = sizeof models[i].figures};
        parley_engine_figures_get(list[i]->engine, &models[i].figures);
    }
    srv_metrics_write(call->server->metrics, &text);
    cli_appendf(&text, "# HELP parley_connections Connections that are open.\n# TYPE parley_connections gauge\nparley_connections %zu\n",
                srv_watch_count(call->server->watch));
    write_engines(models, count, &text);
    return srv_reply(call, 200, type, &text);
}

/* ------------------------------------------------------------------ models */

static void model_json(cli_json *json, const srv_model *model)
{
    const parley_info *info = model->info;
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "id", model->name);
    cli_json_string(json, "object", "model");
    cli_json_whole(json, "created", 0);
    cli_json_string(json, "owned_by", "parley");
    cli_json_string(json, "kind", srv_kind_name(model->kind));
    cli_json_string(json, "type", info->model_type);
    cli_json_bool(json, "clones", info->has_speaker_encoder);
    cli_json_whole(json, "sample_rate", model->kind == SRV_TTS ? info->sample_rate : PARLEY_ASR_RATE);
    cli_json_open(json, "languages", '[');
    for (size_t i = 0; i < info->n_languages; i++)
        cli_json_string(json, NULL, info->languages[i]);
    cli_json_close(json, ']');
    cli_json_open(json, "voices", '[');
    for (size_t i = 0; i < info->n_speakers; i++)
        cli_json_string(json, NULL, info->speakers[i].name);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static parley_status check_loaded(srv_call *call)
{
    srv_state state = srv_models_state(call->server->models, &call->error);
    if (state == SRV_READY)
        return PARLEY_OK;
    if (state == SRV_LOADING)
        return srv_fail(call, 503, "loading", NULL, "the models are being loaded");
    parley_error failure = call->error;
    return srv_fail(call, 503, "failing", NULL, "%s", failure.text);
}

parley_status srv_list_models(srv_call *call)
{
    srv_model *const *list;
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    CLI_TRY(check_loaded(call));
    size_t count = srv_models_list(call->server->models, &list);
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "object", "list");
    cli_json_open(&json, "data", '[');
    for (size_t i = 0; i < count; i++)
        model_json(&json, list[i]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    return srv_reply(call, 200, "application/json", &text);
}

static parley_status fail_model(srv_call *call, const srv_kind *kind, const char *name)
{
    srv_model *const *list;
    cli_buffer names = {0};
    size_t count = srv_models_list(call->server->models, &list);
    for (size_t i = 0; i < count; i++) {
        if (!kind || list[i]->kind == *kind)
            cli_appendf(&names, "%s%s", names.size ? ", " : "", list[i]->name);
    }
    srv_fail(call, 404, "model_not_found", "model", "there is no model \"%.100s\"%s%s; there is %.200s", name ? name : "",
             kind ? " of the kind " : "", kind ? srv_kind_name(*kind) : "", names.size && !names.failed ? names.data : "none");
    cli_buffer_free(&names);
    return PARLEY_ARGUMENT;
}

parley_status srv_show_model(srv_call *call)
{
    srv_model *const *list;
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    CLI_TRY(check_loaded(call));
    size_t count = srv_models_list(call->server->models, &list), i = 0;
    const char *name = srv_unalias(call->server->options, call->rest);
    while (i < count && strcmp(list[i]->name, name) != 0)
        i++;
    if (i == count)
        return fail_model(call, NULL, call->rest);
    model_json(&json, list[i]);
    cli_append_text(&text, "\n");
    return srv_reply(call, 200, "application/json", &text);
}

srv_model *srv_call_model(srv_call *call, srv_kind kind, const char *name)
{
    srv_model *model = NULL;
    if (check_loaded(call) == PARLEY_OK) {
        model = srv_models_find(call->server->models, kind, name);
        if (!model)
            fail_model(call, &kind, name);
    }
    return model;
}
