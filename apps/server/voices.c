#include "voices.h"

#include "json_out.h"
#include "notice.h"
#include "voice_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SECONDS = 600 };                /* of a recording of a voice, as in the command line */
static const double silence_seconds = 0.5; /* behind the recording in its codes, as in the command line */

static const char *folder(const srv_call *call)
{
    return call->server->options->voices;
}

/* ------------------------------------------------------------------ finding */

/* Aliases are of voices or of models. */
static bool is_model(const srv_options *o, const char *name)
{
    size_t i = 0;
    while (i < o->n_models && strcmp(o->models[i].name, name) != 0)
        i++;
    return i < o->n_models;
}

static void list_names(const srv_call *call, const srv_model *model, cli_buffer *list)
{
    const srv_options *o = call->server->options;
    cli_names names = {0};
    parley_error ignored;
    cli_append_text(list, "default");
    for (size_t i = 0; i < model->info->n_speakers; i++)
        cli_appendf(list, ", %s", model->info->speakers[i].name);
    if (cli_voice_names(o->voices, &names, &ignored) == PARLEY_OK)
        for (size_t i = 0; i < names.count; i++)
            cli_appendf(list, ", %s", names.names[i]);
    for (size_t i = 0; i < o->n_aliases; i++)
        if (!is_model(o, o->aliases[i].target))
            cli_appendf(list, ", %s", o->aliases[i].name);
    cli_names_free(&names);
}

static parley_status fail_unknown(srv_call *call, const srv_model *model, const char *name)
{
    cli_buffer *message = &call->message;
    cli_buffer_free(message);
    cli_appendf(message, "voice \"%.60s\" is unknown; there are ", name);
    list_names(call, model, message);
    return srv_fail(call, 400, "unknown_voice", "voice", "%s", message->failed ? "the voice is unknown" : message->data);
}

/* The client is told no path; what else is in the directory (a folder, a pipe that would never end) is no voice. */
static parley_status load(srv_call *call, const char *name, parley_voice **voice)
{
    cli_buffer path = {0};
    struct stat is;
    CLI_TRY(cli_voice_path(folder(call), name, &path, &call->error));
    parley_status status = stat(path.data, &is) == 0 && S_ISREG(is.st_mode) ? cli_voice_load(path.data, voice, &call->error) : PARLEY_MISSING;
    cli_buffer_free(&path);
    if (status == PARLEY_OK || status == PARLEY_MISSING || status == PARLEY_MEMORY)
        return status;
    cli_notice("%s", call->error.text);
    return srv_fail(call, 500, "broken_voice", "voice", "the file of the stored voice \"%.100s\" cannot be read", name);
}

static void set_voice(parley_tts_options *options, const char *speaker, const parley_voice *voice)
{
    options->speaker = speaker;
    options->xvector = voice ? voice->vector : NULL;
    options->xvector_length = voice ? voice->vector_length : 0;
    options->ref_codes = voice ? voice->codes : NULL;
    options->ref_frames = voice ? voice->frames : 0;
    options->ref_text = voice && voice->codes ? voice->text : NULL;
}

static parley_status find_stored(srv_call *call, const srv_model *model, const char *name, parley_tts_options *options, parley_voice **voice)
{
    parley_error ignored;
    parley_status status = cli_voice_check_name(name, &ignored) == PARLEY_OK ? load(call, name, voice) : PARLEY_MISSING;
    if (status == PARLEY_MISSING)
        return fail_unknown(call, model, name);
    CLI_TRY(status);
    call->param = "voice";
    CLI_TRY(cli_in_file(parley_voice_check(*voice, model->info, &call->error), name, &call->error));
    call->param = NULL;
    set_voice(options, NULL, *voice);
    return PARLEY_OK;
}

parley_status srv_voice_find(srv_call *call, const srv_model *model, const cJSON *value, parley_tts_options *options, parley_voice **voice)
{
    const cJSON *id = cJSON_IsObject(value) ? cJSON_GetObjectItemCaseSensitive(value, "id") : value;
    *voice = NULL;
    if (!value)
        return PARLEY_OK;
    if (!cJSON_IsString(id) || (id != value && (value->child != id || id->next)))
        return srv_fail(call, 400, "invalid_voice", "voice", "\"voice\" must be a name or an object of the form {\"id\": name}");
    const char *name = srv_unalias(call->server->options, id->valuestring);
    int64_t index = parley_speaker_find(model->model, name);
    if (index >= 0)
        set_voice(options, model->info->speakers[index].name, NULL);
    else if (!strcmp(name, "none"))
        set_voice(options, NULL, NULL);
    else if (strcmp(name, "default") != 0)
        return find_stored(call, model, name, options, voice);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ list, delete */

static void voice_json(cli_json *json, const char *name, const char *kind, const char *model)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "id", name);
    cli_json_string(json, "object", "audio.voice");
    cli_json_string(json, "name", name);
    cli_json_string(json, "kind", kind);
    if (model)
        cli_json_string(json, "model", model);
    cli_json_close(json, '}');
}

parley_status srv_list_voices(srv_call *call)
{
    srv_model *const *list;
    cli_names names = {0};
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    size_t count = srv_models_list(call->server->models, &list);
    CLI_TRY(cli_voice_names(folder(call), &names, &call->error));
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "object", "list");
    cli_json_open(&json, "data", '[');
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < list[i]->info->n_speakers; k++)
            voice_json(&json, list[i]->info->speakers[k].name, "speaker", list[i]->name);
    for (size_t i = 0; i < names.count; i++)
        voice_json(&json, names.names[i], "stored", NULL);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    cli_names_free(&names);
    return srv_reply(call, 200, "application/json", &text);
}

static parley_status remove_voice(srv_call *call, const char *path, const char *name)
{
    if (unlink(path) == 0)
        return PARLEY_OK;
    if (errno == ENOENT || errno == EISDIR || errno == EPERM) /* no file of that name, or no file */
        return srv_fail(call, 404, "voice_not_found", NULL, "there is no stored voice \"%.100s\"", name);
    return cli_fail(&call->error, PARLEY_IO, "cannot delete the voice \"%.100s\": %s", name, strerror(errno));
}

parley_status srv_delete_voice(srv_call *call)
{
    cli_buffer path = {0}, text = {0};
    cli_json json = {.out = &text};
    CLI_TRY(cli_voice_check_name(call->rest, &call->error));
    parley_status status = cli_voice_path(folder(call), call->rest, &path, &call->error);
    pthread_mutex_lock(&call->server->store);
    if (status == PARLEY_OK)
        status = remove_voice(call, path.data, call->rest);
    pthread_mutex_unlock(&call->server->store);
    cli_buffer_free(&path);
    CLI_TRY(status);
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "id", call->rest);
    cli_json_string(&json, "object", "audio.voice");
    cli_json_bool(&json, "deleted", true);
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    return srv_reply(call, 200, "application/json", &text);
}

/* ------------------------------------------------------------------ add */

typedef struct adding {
    srv_call *call;
    const char *name, *text; /* text NULL: no transcript, so no codes */
    const srv_model *model;
    parley_audio audio;
    parley_request *request;
} adding;

/* The codes are those of the recording with silence behind it, so that the reference does not run into the speech. */
static parley_status encode(adding *a)
{
    parley_encode_options options;
    parley_request_options request_options;
    parley_encode_options_init(a->model->engine, &options);
    options.vector = true;
    options.codes = a->text != NULL;
    options.silence_seconds = silence_seconds;
    srv_request_options(a->call->server, &request_options);
    CLI_TRY(parley_engine_encode_voice(a->model->engine, a->audio.samples, a->audio.count, &options, &request_options, &a->request, &a->call->error));
    return srv_wait_end(a->call->watched, a->request, &a->call->error);
}

static parley_status store(adding *a)
{
    parley_voice voice = {.name = a->name, .model = a->model->info->identity, .text = a->text ? a->text : "", .codec = ""}, made = {.name = NULL};
    cli_output output = CLI_OUTPUT_NONE;
    if (parley_request_voice(a->request, &made)) {
        voice.vector = made.vector;
        voice.vector_length = made.vector_length;
    }
    if (made.codes) {
        voice.codes = made.codes;
        voice.frames = made.frames;
        voice.groups = made.groups;
        voice.codebook_size = made.codebook_size;
        voice.codec = a->model->info->codec_identity;
    }
    parley_status status = cli_voice_open(&output, NULL, folder(a->call), a->name, &a->call->error);
    if (status == PARLEY_OK)
        status = cli_voice_save(&voice, &output, &a->call->error);
    cli_output_discard(&output);
    return status;
}

static bool exists(const adding *a)
{
    cli_buffer path = {0};
    parley_error ignored;
    bool found = cli_voice_path(folder(a->call), a->name, &path, &ignored) == PARLEY_OK && access(path.data, F_OK) == 0;
    cli_buffer_free(&path);
    return found;
}

/* An alias would hide it. */
static bool is_alias(const srv_options *o, const char *name)
{
    return srv_unalias(o, name) != name;
}

static parley_status check_new(adding *a)
{
    if (exists(a) || is_alias(a->call->server->options, a->name) || parley_speaker_find(a->model->model, a->name) >= 0 || !strcmp(a->name, "default")
        || !strcmp(a->name, "none"))
        return srv_fail(a->call, 409, "voice_exists", "name", "there is a voice \"%.100s\" already", a->name);
    return PARLEY_OK;
}

static parley_status read_sound(adding *a)
{
    static const char *const files[] = {"file", "audio_sample"};
    const srv_field *file = NULL;
    parley_audio_options options;
    size_t at = 0;
    for (size_t i = 0; i < CLI_COUNT(files) && !file; i++, at = 0)
        file = srv_upload_next(a->call->upload, files[i], &at);
    if (!file || !file->is_file)
        return srv_fail(a->call, 400, "missing_field", "file", "the form needs the file \"file\" (or \"audio_sample\"), a recording");
    parley_audio_options_init(&options);
    options.rate = a->model->info->sample_rate;
    options.max_seconds = MAX_SECONDS;
    a->call->param = "file";
    CLI_TRY(srv_read_sound(a->call, file, &options, &a->audio));
    a->call->param = NULL;
    return PARLEY_OK;
}

static parley_status add(adding *a)
{
    static const char *const known[] = {"name", "file", "audio_sample", "text", "model", NULL};
    srv_call *call = a->call;
    const char *model = srv_upload_text(call->upload, "model");
    CLI_TRY(srv_upload_check(call->upload, known, &call->error));
    a->name = srv_upload_text(call->upload, "name");
    a->text = srv_upload_text(call->upload, "text");
    if (!a->name)
        return srv_fail(call, 400, "missing_field", "name", "the form needs \"name\", what the voice shall be called");
    if (cli_voice_check_name(a->name, &call->error) != PARLEY_OK) {
        call->param = "name";
        return PARLEY_ARGUMENT;
    }
    if (a->text && !a->text[strspn(a->text, " \t\r\n")])
        return srv_fail(call, 400, "empty_text", "text", "the transcript \"text\" is empty; leave it out for a voice without one");
    a->model = srv_call_model(call, SRV_TTS, model);
    if (!a->model)
        return PARLEY_ARGUMENT;
    if (!a->model->info->has_speaker_encoder)
        return srv_fail(call, 400, "no_cloning", "model", "model \"%.60s\" has no speaker encoder; cloning needs a Base model", a->model->name);
    CLI_TRY(check_new(a));
    CLI_TRY(read_sound(a));
    CLI_TRY(encode(a));
    pthread_mutex_lock(&call->server->store);
    parley_status status = check_new(a);
    if (status == PARLEY_OK)
        status = store(a);
    pthread_mutex_unlock(&call->server->store);
    return status;
}

parley_status srv_add_voice(srv_call *call)
{
    adding a = {.call = call};
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    parley_status status = add(&a);
    parley_request_release(a.request);
    parley_audio_free(&a.audio);
    CLI_TRY(status);
    voice_json(&json, a.name, "stored", a.model->name);
    cli_append_text(&text, "\n");
    return srv_reply(call, 200, "application/json", &text);
}
