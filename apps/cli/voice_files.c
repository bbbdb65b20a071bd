/* parley voice: voices that are there already. */
#include "clone.h"
#include "json_out.h"
#include "npy.h"
#include "voice.h"
#include "voice_store.h"

#include "notice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 28 };

/* ------------------------------------------------------------------ list, show, remove */

typedef struct file_fields {
    cli_text voices;
    cli_flag json;
} file_fields;

static const cli_option file_rows[] = {
    CLI_ROW_VOICES(file_fields, voices),
    {.name = "--json", .kind = CLI_FLAG, .offset = offsetof(file_fields, json), .help = "as JSON"},
};

static const cli_command list_command = {
    .name = "voice list",
    .usage = "[options]",
    .about = "Lists the voices of the directory of voices, and what is wrong with those that cannot be read.",
    .options = file_rows,
    .n_options = CLI_COUNT(file_rows),
};

static const cli_command show_command = {
    .name = "voice show",
    .usage = "[options] VOICE",
    .about = "Shows what a voice holds. VOICE is a file (it ends in .voice or holds a slash) or a name.",
    .options = file_rows,
    .n_options = CLI_COUNT(file_rows),
    .max_arguments = 1,
};

static const cli_command remove_command = {
    .name = "voice remove",
    .usage = "[options] NAME",
    .about = "Removes a voice from the directory of voices.",
    .options = file_rows,
    .n_options = 1,
    .max_arguments = 1,
};

static void voice_members(cli_json *json, const parley_voice *v)
{
    cli_json_string(json, "name", v->name);
    cli_json_string(json, "model", v->model);
    cli_json_unsigned(json, "vector_length", v->vector_length);
    cli_json_unsigned(json, "frames", v->frames);
    cli_json_whole(json, "groups", v->groups);
    cli_json_whole(json, "codebook_size", v->codebook_size);
    cli_json_string(json, "codec", v->codec);
    cli_json_string(json, "text", v->text);
}

static void list_one(const char *folder, const char *name, cli_json *json, bool as_json)
{
    parley_voice *voice = NULL;
    parley_error error = {0};
    cli_buffer path = {0};
    parley_status status = cli_voice_path(folder, name, &path, &error);
    if (status == PARLEY_OK)
        status = cli_voice_load(path.data, &voice, &error);
    if (as_json) {
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "voice", name);
        if (voice)
            voice_members(json, voice);
        else
            cli_json_string(json, "error", error.text);
        cli_json_close(json, '}');
    } else if (voice) {
        cli_appendf(json->out, "%-24s %s%s\n", name, voice->model, voice->codes ? ", in-context" : ", vector alone");
    } else {
        cli_notice("voice \"%s\": %s", name, error.text);
    }
    parley_voice_free(voice);
    cli_buffer_free(&path);
}

parley_status cli_voice_list(int argc, char **argv, parley_error *error)
{
    file_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&list_command, argc, argv, &fields, &arguments, 0, "", &done, error));
    if (done)
        return PARLEY_OK;
    cli_names names;
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    CLI_TRY(cli_voice_names(fields.voices.value, &names, error));
    if (fields.json.given)
        cli_json_open(&json, NULL, '[');
    for (size_t i = 0; i < names.count; i++)
        list_one(fields.voices.value, names.names[i], &json, fields.json.given);
    if (fields.json.given)
        cli_json_close(&json, ']');
    if (fields.json.given)
        cli_append_text(&text, "\n");
    parley_status status = text.failed || text.size ? cli_output_whole("-", &text, error) : PARLEY_OK;
    cli_names_free(&names);
    cli_buffer_free(&text);
    return status;
}

/* Control characters of a transcript that others wrote could steer the terminal. */
static void append_plain(cli_buffer *text, const char *what, const char *value)
{
    cli_appendf(text, "%-10s ", what);
    size_t from = text->size;
    cli_append_text(text, value);
    for (size_t i = from; !text->failed && i < text->size; i++) {
        if ((unsigned char)text->data[i] < 0x20 || text->data[i] == 0x7F)
            text->data[i] = ' ';
    }
    cli_append_text(text, "\n");
}

static void show(const parley_voice *v, bool as_json, cli_buffer *text)
{
    cli_json json = {.out = text};
    if (as_json) {
        cli_json_open(&json, NULL, '{');
        voice_members(&json, v);
        cli_json_close(&json, '}');
        cli_append_text(text, "\n");
        return;
    }
    append_plain(text, "name", v->name);
    append_plain(text, "model", v->model);
    cli_appendf(text, "%-10s %zu values\n", "vector", v->vector_length);
    if (v->codes)
        cli_appendf(text, "%-10s %zu frames of %d, 0 to %d\n", "codes", v->frames, (int)v->groups, (int)v->codebook_size - 1);
    if (v->codec[0])
        append_plain(text, "codec", v->codec);
    append_plain(text, "text", v->text);
}

parley_status cli_voice_show(int argc, char **argv, parley_error *error)
{
    file_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&show_command, argc, argv, &fields, &arguments, 1, "a voice", &done, error));
    if (done)
        return PARLEY_OK;
    parley_voice *voice = NULL;
    CLI_TRY(cli_voice_find(fields.voices.value, arguments.values[0], &voice, error));
    cli_buffer text = {0};
    show(voice, fields.json.given, &text);
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    parley_voice_free(voice);
    return status;
}

parley_status cli_voice_remove(int argc, char **argv, parley_error *error)
{
    file_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&remove_command, argc, argv, &fields, &arguments, 1, "the name of a voice", &done, error));
    if (done)
        return PARLEY_OK;
    cli_buffer path = {0};
    parley_status status = cli_voice_path(fields.voices.value, arguments.values[0], &path, error);
    if (status == PARLEY_OK && unlink(path.data) != 0)
        status = cli_fail(error, errno == ENOENT ? PARLEY_MISSING : PARLEY_IO, "cannot remove \"%.300s\": %s", path.data, strerror(errno));
    cli_buffer_free(&path);
    return status;
}

/* ------------------------------------------------------------------ import */

typedef struct import_fields {
    cli_model_fields model;
    cli_text text, text_file, name, output, voices;
} import_fields;

static const cli_option import_rows[] = {
    CLI_ROW_MODEL(import_fields, model),
    CLI_ROW_MODEL2(import_fields, model),
    CLI_ROW_CODEC(import_fields, model),
    {.name = "--text", .kind = CLI_TEXT, .offset = offsetof(import_fields, text), .value = "TEXT", .help = "what the recording says; with codes"},
    {.name = "--text-file", .kind = CLI_TEXT, .offset = offsetof(import_fields, text_file), .value = "FILE", .help = "the same from a file"},
    {.name = "--name", .kind = CLI_TEXT, .offset = offsetof(import_fields, name), .value = "NAME", .help = "name of the voice; default: none"},
    {.name = "--output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .offset = offsetof(import_fields, output),
     .value = "FILE.voice",
     .help = "what to write; default: NAME in the directory of voices, unless it is there"},
    CLI_ROW_VOICES(import_fields, voices),
};

static const cli_command import_command = {
    .name = "voice import",
    .usage = "[options] (-o FILE.voice | --name NAME) FILE.spk [FILE.rvq]",
    .about = "Makes a voice of the files of qwentts.cpp. They name neither their model nor their sizes: these are those of the\n"
             "model given.",
    .options = import_rows,
    .n_options = CLI_COUNT(import_rows),
    .max_arguments = 2,
};

/* A voice in the making: what its pointers point to. */
typedef struct importing {
    parley_model *model;
    parley_voice voice;
    cli_buffer spk, rvq, text;
    cli_output output;
    float *vector;
    int32_t *codes;
} importing;

static parley_status import_files(importing *in, const cli_arguments *files, parley_error *error)
{
    const parley_info *info = parley_model_info(in->model);
    parley_voice *v = &in->voice;
    v->vector_length = (size_t)info->xvector_length;
    v->vector = in->vector = calloc(v->vector_length + 1, sizeof *in->vector);
    if (!in->vector)
        return cli_fail_memory(error);
    CLI_TRY(cli_read_file(files->values[0], "speaker vector", MAX_FILE, &in->spk, error));
    CLI_TRY(cli_in_file(parley_voice_read_spk(in->model, in->spk.data, in->spk.size, in->vector, error), files->values[0], error));
    if (files->count < 2)
        return PARLEY_OK;
    CLI_TRY(cli_read_file(files->values[1], "codes", MAX_FILE, &in->rvq, error));
    CLI_TRY(cli_in_file(parley_voice_read_rvq(in->model, in->rvq.data, in->rvq.size, &in->codes, &v->frames, error), files->values[1], error));
    v->codes = in->codes;
    v->codec = info->codec_identity;
    v->groups = info->groups;
    v->codebook_size = info->codebook_size;
    return PARLEY_OK;
}

static parley_status import_voice(importing *in, const import_fields *f, const cli_arguments *files, parley_error *error)
{
    CLI_TRY(cli_reference_text("--text", f->text.value, f->text_file.value, &in->text, error));
    CLI_TRY(cli_voice_open(&in->output, f->output.value, f->voices.value, f->name.value, error));
    CLI_TRY(cli_open_model(&f->model, PARLEY_PARTS_ALL, &in->model, NULL, error));
    in->voice = (parley_voice){
        .name = f->name.given ? f->name.value : "", .model = parley_model_info(in->model)->identity, .text = in->text.data ? in->text.data : ""};
    CLI_TRY(import_files(in, files, error));
    return cli_voice_save(&in->voice, &in->output, error);
}

static parley_status check_import(const import_fields *f, const cli_arguments *files, parley_error *error)
{
    bool text = f->text.given || f->text_file.given;
    if (!f->output.given && !f->name.given)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley voice import\" needs -o FILE.voice, or --name NAME for the directory of voices");
    if (f->output.given && f->voices.given)
        return cli_fail(error, PARLEY_ARGUMENT, "-o and --voices exclude each other");
    if (text != (files->count == 2))
        return cli_fail(error, PARLEY_ARGUMENT, "%s",
                        text ? "--text needs a .rvq file: codes and transcript belong together"
                             : "a .rvq file needs --text: codes and transcript belong together");
    return f->name.given ? cli_voice_check_name(f->name.value, error) : PARLEY_OK;
}

parley_status cli_voice_import(int argc, char **argv, parley_error *error)
{
    import_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&import_command, argc, argv, &fields, &arguments, 1, "a .spk file", &done, error));
    if (done)
        return PARLEY_OK;
    CLI_TRY(check_import(&fields, &arguments, error));
    importing in = {.output = CLI_OUTPUT_NONE};
    parley_status status = import_voice(&in, &fields, &arguments, error);
    if (in.model)
        parley_free_ids(in.model, in.codes, in.voice.frames * (size_t)in.voice.groups);
    parley_model_close(in.model);
    cli_output_discard(&in.output);
    cli_buffer_free(&in.spk);
    cli_buffer_free(&in.rvq);
    cli_buffer_free(&in.text);
    free(in.vector);
    return status;
}

/* ------------------------------------------------------------------ export */

typedef struct export_fields {
    cli_text output, voices;
} export_fields;

static const cli_option export_rows[] = {
    {.name = "--output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .offset = offsetof(export_fields, output),
     .value = "FILE.spk",
     .help = "where the vector goes; codes go to FILE.rvq and the transcript to FILE.txt, where there are any"},
    CLI_ROW_VOICES(export_fields, voices),
};

static const cli_command export_command = {
    .name = "voice export",
    .usage = "[options] -o FILE.spk VOICE",
    .about = "Writes a voice as the files of qwentts.cpp: FILE.spk, and FILE.rvq with FILE.txt where it holds codes.",
    .options = export_rows,
    .n_options = CLI_COUNT(export_rows),
    .max_arguments = 1,
};

static parley_status write_beside(const char *spk, const char *end, const void *bytes, size_t size, parley_error *error)
{
    cli_buffer path = {0}, data = {0};
    cli_append(&path, spk, strlen(spk) - strlen(".spk"));
    cli_append_text(&path, end);
    cli_append(&data, bytes, size);
    parley_status status = path.failed ? cli_fail_memory(error) : cli_output_whole(path.data, &data, error);
    cli_buffer_free(&path);
    cli_buffer_free(&data);
    return status;
}

static parley_status export_voice(const parley_voice *v, const char *path, parley_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    cli_buffer vector = {0};
    cli_npy_elements(&vector, 'f', v->vector, v->vector_length);
    parley_status status = cli_output_whole(path, &vector, error);
    cli_buffer_free(&vector);
    if (status != PARLEY_OK || !v->codes)
        return status;
    CLI_TRY(parley_voice_write_rvq(v->codes, v->frames, v->groups, v->codebook_size, &bytes, &size, error));
    status = write_beside(path, ".rvq", bytes, size, error);
    parley_voice_bytes_free(bytes, size);
    return status == PARLEY_OK ? write_beside(path, ".txt", v->text, strlen(v->text), error) : status;
}

parley_status cli_voice_export(int argc, char **argv, parley_error *error)
{
    export_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&export_command, argc, argv, &fields, &arguments, 1, "a voice", &done, error));
    if (done)
        return PARLEY_OK;
    if (!fields.output.given || !cli_ends_with(fields.output.value, ".spk"))
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley voice export\" needs -o with a name that ends in .spk");
    parley_voice *voice = NULL;
    CLI_TRY(cli_voice_find(fields.voices.value, arguments.values[0], &voice, error));
    parley_status status = export_voice(voice, fields.output.value, error);
    parley_voice_free(voice);
    return status;
}
