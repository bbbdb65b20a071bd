#include "say_voice.h"

#include "notice.h"
#include "voice_store.h"

#include <string.h>
#include <unistd.h>

enum { CLONE_XVECTOR, CLONE_ICL };
const char *const say_clone_modes[] = {"xvector", "icl", NULL};

const char *say_speaker(const char *name)
{
    return !name || !*name || !strcmp(name, "none") ? NULL : name;
}

static void list_speakers(const parley_info *info, cli_buffer *list)
{
    if (info->n_speakers == 0)
        cli_appendf(list, "this model (%s) has no speakers of its own", info->model_type);
    for (size_t i = 0; i < info->n_speakers; i++)
        cli_appendf(list, "%s%s", i ? ", " : "there is ", info->speakers[i].name);
}

static parley_status fail_unknown(const parley_info *info, const say_fields *f, const char *value, parley_error *error)
{
    cli_buffer list = {0}, folder = {0};
    cli_names names = {0};
    parley_error ignored;
    list_speakers(info, &list);
    bool have = cli_voice_folder(f->voices.value, &folder, &ignored) == PARLEY_OK && cli_voice_names(f->voices.value, &names, &ignored) == PARLEY_OK;
    for (size_t i = 0; i < names.count; i++)
        cli_appendf(&list, "%s%s", i ? ", " : "; voices: ", names.names[i]);
    if (have && names.count == 0)
        cli_appendf(&list, "; no voices in \"%.150s\"", folder.data);
    cli_fail(error, PARLEY_ARGUMENT, "voice \"%.60s\" is unknown; %s", value, list.failed ? "" : list.data);
    cli_names_free(&names);
    cli_buffer_free(&list);
    cli_buffer_free(&folder);
    return PARLEY_ARGUMENT;
}

/* A voice of the directory; false: none of this name, or the name is none. */
static bool is_stored(const say_fields *f, const char *value)
{
    cli_buffer path = {0};
    parley_error ignored;
    bool found = cli_voice_path(f->voices.value, value, &path, &ignored) == PARLEY_OK && access(path.data, F_OK) == 0;
    cli_buffer_free(&path);
    return found;
}

parley_status say_voice_find(const parley_model *model, const say_fields *fields, const char *value, say_voice *voice, parley_error *error)
{
    const parley_info *info = parley_model_info(model);
    *voice = (say_voice){.file = NULL};
    if (!say_speaker(value))
        return PARLEY_OK;
    if (!cli_voice_is_file(value)) {
        int64_t index = parley_speaker_find(model, value);
        if (index >= 0) {
            voice->speaker = info->speakers[index].name;
            return PARLEY_OK;
        }
        if (!is_stored(fields, value))
            return fail_unknown(info, fields, value, error);
    }
    CLI_TRY(cli_voice_find(fields->voices.value, value, &voice->file, error));
    parley_status status = cli_voice_fits(voice->file, value, info, error);
    if (status != PARLEY_OK)
        say_voice_free(voice);
    return status;
}

void say_voice_free(say_voice *voice)
{
    parley_voice_free(voice->file);
    *voice = (say_voice){.file = NULL};
}

parley_status say_clone(const say_fields *f, say_inputs *inputs, cli_dump *dump, parley_error *error)
{
    CLI_TRY(cli_reference_text("--ref-text", f->ref_text.value, f->ref_text_file.value, &inputs->ref_text, error));
    if (!f->clone.given)
        return PARLEY_OK;
    const char *text = inputs->ref_text.data;
    bool codes = f->clone_mode.given ? f->clone_mode.value == CLONE_ICL : text != NULL;
    if (codes && !text)
        return cli_fail(error, PARLEY_ARGUMENT, "--clone-mode icl needs --ref-text, what the recording says");
    cli_clone_request request = {.model = &f->model,
                                 .reference = f->clone.value,
                                 .sound = &f->sound,
                                 .text = codes ? text : NULL,
                                 .codes = codes,
                                 .silence = f->clone_silence,
                                 .cache = !f->no_cache.given,
                                 .dump = dump};
    CLI_TRY(cli_clone_run(&request, &inputs->clone, error));
    if (!f->quiet.given)
        cli_notice("%.300s: voice %s in %.2f s", f->clone.value, inputs->clone.cached ? "taken from the cache" : "encoded", inputs->clone.seconds);
    return PARLEY_OK;
}

parley_status say_bind_voice(const parley_model *model, const say_fields *fields, say_inputs *inputs, parley_error *error)
{
    if (inputs->clone.voice)
        CLI_TRY(cli_voice_fits(inputs->clone.voice, fields->clone.value, parley_model_info(model), error));
    return fields->voice.given ? say_voice_find(model, fields, fields->voice.value, &inputs->voice, error) : PARLEY_OK;
}

/* Codes are of use with their transcript alone; a voice that has the vector only has none of both. */
static void set_file(const parley_voice *voice, const char *text, parley_tts_options *options)
{
    options->speaker = NULL;
    options->xvector = voice ? voice->vector : NULL;
    options->xvector_length = voice ? voice->vector_length : 0;
    options->ref_codes = voice ? voice->codes : NULL;
    options->ref_frames = voice ? voice->frames : 0;
    options->ref_text = options->ref_codes ? text : NULL;
}

static void set_found(const say_voice *found, parley_tts_options *options)
{
    set_file(found->file, found->file ? found->file->text : NULL, options);
    options->speaker = found->speaker;
}

void say_set_voice(const say_fields *f, const say_inputs *inputs, const say_voice *row, parley_tts_options *options)
{
    if (row) {
        set_found(row, options);
        return;
    }
    if (f->voice.given)
        set_found(&inputs->voice, options);
    if (inputs->clone.voice)
        set_file(inputs->clone.voice, inputs->ref_text.data, options);
    if (f->xvector.given) {
        options->xvector = inputs->xvector.floats;
        options->xvector_length = inputs->xvector.count;
        options->ref_codes = inputs->ref_codes.values;
        options->ref_frames = inputs->ref_codes.frames;
        options->ref_text = inputs->ref_text.data;
    }
}
