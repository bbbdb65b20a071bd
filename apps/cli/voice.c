/* parley voice: the parts, and those that take recordings. */
#include "voice.h"

#include "clone.h"
#include "commands.h"
#include "notice.h"
#include "npy.h"
#include "output.h"
#include "signals.h"
#include "voice_store.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *about;
    parley_status (*run)(int argc, char **argv, parley_error *error);
} parts[] = {
    {"make", "a voice file from a recording", cli_voice_make},
    {"list", "voices of the directory of voices", cli_voice_list},
    {"show", "what a voice holds", cli_voice_show},
    {"remove", "takes a voice out of the directory", cli_voice_remove},
    {"import", "a voice from the .spk and .rvq files of qwentts.cpp", cli_voice_import},
    {"export", "such files from a voice", cli_voice_export},
    {"vector", "the speaker vector of a recording alone", cli_voice_vector},
};

static parley_status print_parts(parley_error *error)
{
    cli_buffer text = {0};
    cli_append_text(&text, "usage: parley voice PART [options]\n\n");
    for (size_t i = 0; i < CLI_COUNT(parts); i++)
        cli_appendf(&text, "  %-10s %s\n", parts[i].name, parts[i].about);
    cli_append_text(&text, "\n  parley voice PART --help   its options\n");
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

parley_status cli_voice(int argc, char **argv, parley_error *error)
{
    const char *name = argc > 0 ? argv[0] : "";
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return print_parts(error);
    for (size_t i = 0; i < CLI_COUNT(parts); i++) {
        if (!strcmp(parts[i].name, name))
            return parts[i].run(argc - 1, argv + 1, error);
    }
    cli_buffer names = {0};
    for (size_t i = 0; i < CLI_COUNT(parts); i++)
        cli_appendf(&names, "%s%s", i ? ", " : "", parts[i].name);
    cli_fail(error, PARLEY_ARGUMENT, "\"parley voice\" is followed by one of %s%s%.100s%s", names.failed ? "" : names.data,
             argc > 0 ? ", not \"" : "", name, argc > 0 ? "\"" : "");
    cli_buffer_free(&names);
    return PARLEY_ARGUMENT;
}

parley_status cli_voice_parse(const cli_command *command, int argc, char **argv, void *fields, cli_arguments *arguments, size_t least,
                              const char *what, bool *done, parley_error *error)
{
    *done = false;
    CLI_TRY(cli_parse(command, argc, argv, fields, arguments, error));
    *done = arguments->help;
    if (*done)
        return cli_print_help(command, error);
    return arguments->count >= least ? PARLEY_OK : cli_fail(error, PARLEY_ARGUMENT, "\"parley %s\" needs %s", command->name, what);
}

/* ------------------------------------------------------------------ vector */

typedef struct vector_fields {
    cli_model_fields model;
    cli_sound_fields sound;
    cli_text output, dump;
    cli_flag quiet;
} vector_fields;

static const cli_option vector_rows[] = {
    CLI_ROW_MODEL(vector_fields, model),
    CLI_ROW_MODEL2(vector_fields, model),
    CLI_ROWS_SOUND(vector_fields, sound),
    CLI_ROW_THREADS(vector_fields, model),
    CLI_ROW_CPU(vector_fields, model),
    {.name = "--output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .offset = offsetof(vector_fields, output),
     .value = "FILE.npy",
     .help = "where the vector goes, - is standard output"},
    {.name = "--dump",
     .kind = CLI_TEXT,
     .offset = offsetof(vector_fields, dump),
     .value = "DIR",
     .help = "writes every intermediate result as DIR/NAME.npy"},
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, .offset = offsetof(vector_fields, quiet), .help = "no summary"},
};

static const cli_command vector_command = {
    .name = "voice vector",
    .usage = "[options] -o FILE.npy SOUND",
    .about = "Writes the speaker vector of a recording. Of the model only the speaker encoder is needed.",
    .options = vector_rows,
    .n_options = CLI_COUNT(vector_rows),
    .max_arguments = 1,
};

typedef struct vectoring {
    const vector_fields *fields;
    parley_audio audio;
    cli_output file;
    cli_dump dump;
    parley_model *model;
    float *vector;
    size_t length;
} vectoring;

static parley_status compute_vector(vectoring *v, const char *path, parley_error *error)
{
    parley_voice_options options;
    cli_encoder_options(&v->dump, &options);
    cli_signals_graceful(true);
    cli_dump_add(&v->dump, "audio_24k", 'f', v->audio.samples, (int64_t[]){(int64_t)v->audio.count}, 1);
    CLI_TRY(cli_open_model(&v->fields->model, PARLEY_PARTS_SPEAKER, &v->model, NULL, error));
    v->length = (size_t)parley_model_info(v->model)->xvector_length;
    v->vector = calloc(v->length + 1, sizeof *v->vector);
    if (!v->vector)
        return cli_fail_memory(error);
    return cli_in_file(parley_voice_vector(v->model, v->audio.samples, v->audio.count, &options, v->vector, error), path, error);
}

static parley_status write_vector(vectoring *v, parley_error *error)
{
    cli_buffer bytes = {0};
    cli_npy_header(&bytes, 'f', (int64_t[]){(int64_t)v->length}, 1);
    cli_npy_elements(&bytes, 'f', v->vector, v->length);
    parley_status status = bytes.failed ? cli_fail_memory(error) : cli_output_write(&v->file, bytes.data, bytes.size, error);
    cli_buffer_free(&bytes);
    if (status == PARLEY_OK)
        status = cli_dump_write(&v->dump, error);
    return status == PARLEY_OK ? cli_output_commit(&v->file, error) : status;
}

static parley_status make_vector(vectoring *v, const char *path, parley_error *error)
{
    const vector_fields *f = v->fields;
    CLI_TRY(cli_output_open(&v->file, f->output.value, false, "-o", error));
    CLI_TRY(cli_dump_open(&v->dump, f->dump.value, NULL, error));
    CLI_TRY(cli_read_sound(path, &f->sound, &v->audio, error));
    double start = cli_seconds();
    CLI_TRY(compute_vector(v, path, error));
    CLI_TRY(write_vector(v, error));
    if (!f->quiet.given)
        cli_notice("%.300s: %zu values from %.2f s of sound in %.2f s", f->output.value, v->length, (double)v->audio.count / CLI_SOUND_RATE,
                   cli_seconds() - start);
    return PARLEY_OK;
}

parley_status cli_voice_vector(int argc, char **argv, parley_error *error)
{
    vector_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&vector_command, argc, argv, &fields, &arguments, 1, "a recording", &done, error));
    if (done)
        return PARLEY_OK;
    if (!fields.output.given)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley voice vector\" needs -o FILE.npy");
    vectoring v = {.fields = &fields, .file = CLI_OUTPUT_NONE};
    parley_status status = make_vector(&v, arguments.values[0], error);
    parley_model_close(v.model);
    cli_output_discard(&v.file);
    cli_dump_close(&v.dump);
    parley_audio_free(&v.audio);
    free(v.vector);
    return status;
}

/* ------------------------------------------------------------------ make */

typedef struct make_fields {
    cli_model_fields model;
    cli_sound_fields sound;
    cli_text text, text_file, name, output, voices;
    cli_real silence;
    cli_flag quiet;
} make_fields;

static const cli_option make_rows[] = {
    CLI_ROW_MODEL(make_fields, model),
    CLI_ROW_MODEL2(make_fields, model),
    CLI_ROW_CODEC(make_fields, model),
    {.name = "--text",
     .kind = CLI_TEXT,
     .offset = offsetof(make_fields, text),
     .value = "TEXT",
     .help = "what the recording says; with it, the voice holds codes for in-context cloning"},
    {.name = "--text-file", .kind = CLI_TEXT, .offset = offsetof(make_fields, text_file), .value = "FILE", .help = "the same from a file"},
    CLI_ROW_CLONE_SILENCE(make_fields, silence),
    {.name = "--name", .kind = CLI_TEXT, .offset = offsetof(make_fields, name), .value = "NAME", .help = "name of the voice; default: from -o"},
    CLI_ROWS_SOUND(make_fields, sound),
    CLI_ROW_THREADS(make_fields, model),
    CLI_ROW_CPU(make_fields, model),
    {.name = "--output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .offset = offsetof(make_fields, output),
     .value = "FILE.voice",
     .help = "what to write; default: NAME in the directory of voices, unless it is there"},
    CLI_ROW_VOICES(make_fields, voices),
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, .offset = offsetof(make_fields, quiet), .help = "no summary"},
};

static const cli_command make_command = {
    .name = "voice make",
    .usage = "[options] (-o FILE.voice | --name NAME) SOUND",
    .about = "Makes a voice of a recording, with the encoders of a Base model. Some 5 to 15 s of clean speech are best.",
    .options = make_rows,
    .n_options = CLI_COUNT(make_rows),
    .max_arguments = 1,
};

static parley_status check_make(const make_fields *f, const char *sound, parley_error *error)
{
    if (!f->output.given && !f->name.given)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley voice make\" needs -o FILE.voice, or --name NAME for the directory of voices");
    if (f->output.given && f->voices.given)
        return cli_fail(error, PARLEY_ARGUMENT, "-o and --voices exclude each other");
    if (f->silence.given && !f->text.given && !f->text_file.given)
        return cli_fail(error, PARLEY_ARGUMENT, "--clone-silence needs --text: without a transcript there are no codes");
    if (!strcmp(sound, "-") && f->text_file.given && !strcmp(f->text_file.value, "-"))
        return cli_fail(error, PARLEY_ARGUMENT, "the recording and --text-file cannot both be standard input");
    return f->name.given ? cli_voice_check_name(f->name.value, error) : PARLEY_OK;
}

/* Of a file without --name: its own, as far as it is one. */
static void name_of_file(const char *path, char name[CLI_VOICE_NAME_MAX + 1])
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = strlen(base) - (cli_ends_with(base, ".voice") ? strlen(".voice") : 0);
    parley_error ignored;
    if (length > CLI_VOICE_NAME_MAX)
        length = CLI_VOICE_NAME_MAX;
    memcpy(name, base, length);
    name[length] = 0;
    if (cli_voice_check_name(name, &ignored) != PARLEY_OK)
        name[0] = 0;
}

static parley_status save_made(const make_fields *f, const char *name, const cli_clone *clone, cli_output *output, parley_error *error)
{
    cli_buffer where = {0}; /* the output forgets it when it is committed */
    cli_append_text(&where, output->path);
    parley_status status = where.failed ? cli_fail_memory(error) : cli_voice_save(clone->voice, output, error);
    if (status == PARLEY_OK && !f->quiet.given)
        cli_notice("%.300s: voice \"%s\", %zu values, %zu frames of codes, in %.2f s", where.data, name, clone->voice->vector_length,
                   clone->voice->frames, clone->seconds);
    cli_buffer_free(&where);
    return status;
}

static parley_status make_voice(const make_fields *f, const char *sound, const char *text, parley_error *error)
{
    char name[CLI_VOICE_NAME_MAX + 1] = "";
    if (f->name.given)
        memcpy(name, f->name.value, strlen(f->name.value) + 1);
    else
        name_of_file(f->output.value, name);
    cli_clone_request request = {.model = &f->model,
                                 .reference = sound,
                                 .sound = &f->sound,
                                 .text = text,
                                 .codes = text != NULL,
                                 .silence = f->silence,
                                 .name = name,
                                 .refuse_silence = true};
    cli_clone clone = {.voice = NULL};
    cli_output output = CLI_OUTPUT_NONE;
    parley_status status = cli_voice_open(&output, f->output.value, f->voices.value, name, error);
    if (status == PARLEY_OK)
        status = cli_clone_run(&request, &clone, error);
    if (status == PARLEY_OK)
        status = save_made(f, name, &clone, &output, error);
    cli_output_discard(&output);
    parley_voice_free(clone.voice);
    return status;
}

parley_status cli_voice_make(int argc, char **argv, parley_error *error)
{
    make_fields fields = {0};
    cli_arguments arguments;
    bool done;
    CLI_TRY(cli_voice_parse(&make_command, argc, argv, &fields, &arguments, 1, "a recording", &done, error));
    if (done)
        return PARLEY_OK;
    CLI_TRY(check_make(&fields, arguments.values[0], error));
    cli_buffer text = {0};
    parley_status status = cli_reference_text("--text", fields.text.value, fields.text_file.value, &text, error);
    if (status == PARLEY_OK)
        status = make_voice(&fields, arguments.values[0], text.data, error);
    cli_buffer_free(&text);
    return status;
}
