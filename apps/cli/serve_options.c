#include "serve_options.h"

#include "default_model.h"
#include "ffmpeg.h"
#include "voice_store.h"

#include <string.h>

enum { KEY_MAX = 4096, PEM_MAX = 1 << 20, KEY_LEAST = 8 };

#define FIELD(member) .offset = offsetof(serve_fields, member)
#define TEXT(option, member, placeholder, about)                                             \
    {                                                                                        \
        .name = option, .kind = CLI_TEXT, FIELD(member), .value = placeholder, .help = about \
    }
#define TEXTS(option, short_name, member, placeholder, about)                                                       \
    {                                                                                                               \
        .name = option, .letter = short_name, .kind = CLI_TEXTS, FIELD(member), .value = placeholder, .help = about \
    }
#define CHOICE(option, member, list, about)                                                                \
    {                                                                                                      \
        .name = option, .kind = CLI_CHOICE, FIELD(member), .value = "NAME", .help = about, .choices = list \
    }
#define WHOLE(option, member, least, most, about)                                                               \
    {                                                                                                           \
        .name = option, .kind = CLI_INT, FIELD(member), .value = "N", .help = about, .low = least, .high = most \
    }
#define REAL(option, member, least, most, about)                                                                 \
    {                                                                                                            \
        .name = option, .kind = CLI_REAL, FIELD(member), .value = "S", .help = about, .low = least, .high = most \
    }

static const cli_option rows[] = {
    TEXTS("--model", 'm', models, "[NAME=]MODEL",
          "directory, GGUF file or folder of GGUF files, and its name in the API; any number; default: parley-tts, which comes with parley"),
    TEXTS("--codec", 0, codecs, "[NAME=]PATH", "codec to use in place of the one that lies with the model (of that name)"),
    TEXT("--aligner", aligner, "MODEL", "a forced aligner, for times of words"),
    CLI_ROW_VOICES(serve_fields, voices),
    TEXTS("--alias", 0, aliases, "NAME=TARGET", "a further name of a voice or a model"),
    TEXT("--host", host, "ADDRESS", "address to listen on; default 127.0.0.1, this machine alone"),
    WHOLE("--port", port, 0, 65535, "port to listen on, 0: one that is free; default 8080"),
    TEXT("--api-key-file", api_key_file, "FILE", "its first line is the key that requests must carry"),
    TEXT("--tls-cert", tls_cert, "FILE", "certificate (PEM) for HTTPS; with --tls-key"),
    TEXT("--tls-key", tls_key, "FILE", "its private key (PEM)"),
    CLI_ROW_THREADS(serve_fields, model),
    CLI_ROW_CPU(serve_fields, model),
    CLI_ROW_CODEC_TYPE(serve_fields, model),
    CHOICE("--kv", kv, cli_kv_choices, "element type of the caches; default f16"),
    CHOICE("--activations", activations, cli_activations_choices, "arithmetic of quantised matrices; default int8 where the processor has it"),
    WHOLE("--piece-length", piece_length, 0, 100000, "longer texts are spoken in pieces of about so many characters; 0: never; default 600"),
    WHOLE("--max-active", max_active, 1, 64, "requests of a model that run at once; default 8"),
    WHOLE("--max-queued", max_queued, 0, 100000, "requests of a model that wait; default 64"),
    WHOLE("--max-kv", max_kv, 1, 1048576, "MiB for the caches of a model's running requests; default: no limit"),
    WHOLE("--max-connections", max_connections, 1, 10000, "connections at once; default 256"),
    WHOLE("--max-body", max_body, 1, 1024, "MiB of a request; default 64"),
    WHOLE("--max-text", max_text, 1, 16777216, "bytes of a text; default 65536"),
    REAL("--max-audio", max_audio, 1, 86400, "seconds of a recording; default 7200"),
    WHOLE("--rate", rate, 1, 1000000, "requests a minute from one address; default: no limit"),
    REAL("--stall", stall, 1, 3600, "seconds that a client may take to send its request or to take any of the answer; default 30"),
    REAL("--deadline", deadline, 1, 86400, "seconds until a request ends, done or not; default 3600"),
    {.name = "--allow-ffmpeg",
     .kind = CLI_FLAG,
     FIELD(allow_ffmpeg),
     .help = "uploaded sounds that the library does not know go through the ffmpeg program"},
    REAL("--drain", drain, 0, 3600, "seconds that requests may still take after SIGTERM; default 30"),
};

const cli_command serve_command = {
    .name = "serve",
    .usage = "[options]",
    .about = "Serves models over HTTP in the shapes of the OpenAI API, with a page for browsers. SIGTERM and Ctrl-C end it in good order.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
};

/* ------------------------------------------------------------------ NAME=VALUE */

/* `*name` is a copy of what stands before the '=', NULL without one; `*value` what stands behind. A path may hold '=' behind a '/'. */
static parley_status split(serve_setup *s, const char *option, const char *text, const char **name, const char **value, parley_error *error)
{
    size_t length = strcspn(text, "=/");
    *name = NULL;
    *value = text;
    if (text[length] != '=')
        return PARLEY_OK;
    cli_buffer *copy = &s->names[s->n_names++];
    cli_append(copy, text, length);
    if (copy->failed)
        return cli_fail_memory(error);
    *name = copy->data;
    *value = text + length + 1;
    if (**value && strlen(copy->data) <= CLI_VOICE_NAME_MAX
        && strspn(copy->data, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == length && length)
        return PARLEY_OK;
    return cli_fail(error, PARLEY_ARGUMENT,
                    "%s %.200s: the name is 1 to %d of the letters A-Z a-z 0-9 _ - . and something stands behind the =", option, text,
                    (int)CLI_VOICE_NAME_MAX);
}

/* A model without a name is called as its file or directory is. */
static parley_status name_of_path(serve_setup *s, const char *path, const char **name, parley_error *error)
{
    size_t end = strlen(path), start;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/';)
        start--;
    if (end - start > 5 && !strncmp(path + end - 5, ".gguf", 5))
        end -= 5;
    cli_buffer *copy = &s->names[s->n_names++];
    cli_append(copy, path + start, end - start);
    *name = copy->data;
    return copy->failed ? cli_fail_memory(error) : PARLEY_OK;
}

static parley_status add_models(const serve_fields *f, serve_setup *s, parley_error *error)
{
    for (size_t i = 0; i < f->models.count; i++) {
        srv_source *source = &s->models[s->options.n_models++];
        CLI_TRY(split(s, "--model", f->models.values[i], &source->name, &source->path, error));
        if (!source->name)
            CLI_TRY(name_of_path(s, source->path, &source->name, error));
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(s->models[k].name, source->name))
                return cli_fail(error, PARLEY_ARGUMENT, "two models are called \"%.100s\"; name them: -m NAME=MODEL", source->name);
        }
    }
    if (f->models.count)
        return PARLEY_OK;
    CLI_TRY(cli_default_model(&s->default_model, error));
    s->models[s->options.n_models++] = (srv_source){.name = "parley-tts", .path = s->default_model.data};
    return PARLEY_OK;
}

static parley_status add_codecs(const serve_fields *f, serve_setup *s, parley_error *error)
{
    for (size_t i = 0; i < f->codecs.count; i++) {
        const char *name, *path;
        bool used = false;
        CLI_TRY(split(s, "--codec", f->codecs.values[i], &name, &path, error));
        for (size_t k = 0; k < s->options.n_models; k++) {
            if (name && strcmp(name, s->models[k].name) != 0)
                continue;
            s->models[k].codec = path;
            used = true;
        }
        if (!used)
            return cli_fail(error, PARLEY_ARGUMENT, "--codec %.200s: no model is called \"%.100s\"", f->codecs.values[i], name);
    }
    return PARLEY_OK;
}

static parley_status add_aliases(const serve_fields *f, serve_setup *s, parley_error *error)
{
    for (size_t i = 0; i < f->aliases.count; i++) {
        srv_alias *alias = &s->aliases[s->options.n_aliases++];
        CLI_TRY(split(s, "--alias", f->aliases.values[i], &alias->name, &alias->target, error));
        if (!alias->name)
            return cli_fail(error, PARLEY_ARGUMENT, "--alias %.200s: it takes the form NAME=TARGET", f->aliases.values[i]);
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ files */

static parley_status read_key(const char *path, serve_setup *s, parley_error *error)
{
    CLI_TRY(cli_read_file(path, "API key", KEY_MAX, &s->key, error));
    size_t length = s->key.data ? strcspn(s->key.data, "\r\n") : 0;
    if (length < KEY_LEAST)
        return cli_fail(error, PARLEY_ARGUMENT, "--api-key-file \"%.200s\": the first line, the key, has %zu characters, fewer than %d", path, length,
                        (int)KEY_LEAST);
    s->key.data[length] = 0;
    s->options.api_key = s->key.data;
    return PARLEY_OK;
}

static parley_status read_tls(const serve_fields *f, serve_setup *s, parley_error *error)
{
    if (f->tls_cert.given != f->tls_key.given)
        return cli_fail(error, PARLEY_ARGUMENT, "--tls-cert and --tls-key belong together");
    if (!f->tls_cert.given)
        return PARLEY_OK;
    CLI_TRY(cli_read_file(f->tls_cert.value, "certificate", PEM_MAX, &s->certificate, error));
    CLI_TRY(cli_read_file(f->tls_key.value, "private key", PEM_MAX, &s->private_key, error));
    if (!s->certificate.size || !s->private_key.size)
        return cli_fail(error, PARLEY_ARGUMENT, "--tls-cert, --tls-key: one of the files is empty");
    s->options.certificate = s->certificate.data;
    s->options.private_key = s->private_key.data;
    return PARLEY_OK;
}

static void set_limits(const serve_fields *f, srv_limits *l)
{
    srv_limits_init(l);
    const struct {
        const cli_int *from;
        int32_t *to;
    } wholes[] = {{&f->max_active, &l->active}, {&f->max_queued, &l->queued}, {&f->max_connections, &l->connections}, {&f->rate, &l->rate}};
    const struct {
        const cli_real *from;
        double *to;
    } reals[] = {{&f->max_audio, &l->audio_seconds}, {&f->stall, &l->stall_seconds}, {&f->deadline, &l->request_seconds}};
    for (size_t i = 0; i < CLI_COUNT(wholes); i++)
        if (wholes[i].from->given)
            *wholes[i].to = wholes[i].from->value;
    for (size_t i = 0; i < CLI_COUNT(reals); i++)
        if (reals[i].from->given)
            *reals[i].to = reals[i].from->value;
    if (f->max_body.given)
        l->body_bytes = (size_t)f->max_body.value << 20;
    if (f->max_text.given)
        l->text_bytes = (size_t)f->max_text.value;
    if (f->max_kv.given)
        l->kv_bytes = (uint64_t)f->max_kv.value << 20;
}

parley_status serve_prepare(const serve_fields *f, serve_setup *s, parley_error *error)
{
    enum { PORT = 8080, PIECE = 600 };
    srv_options *o = &s->options;
    *s = (serve_setup){.kv = (parley_kv)f->kv.value, .activations = (parley_activations)f->activations.value};
    *o = (srv_options){.models = s->models,
                       .aligner = f->aligner.value,
                       .voices = f->voices.value,
                       .aliases = s->aliases,
                       .kv = f->kv.given ? &s->kv : NULL,
                       .activations = f->activations.given ? &s->activations : NULL,
                       .piece_length = f->piece_length.given ? f->piece_length.value : PIECE,
                       .host = f->host.given ? f->host.value : "127.0.0.1",
                       .port = f->port.given ? (uint16_t)f->port.value : PORT,
                       .decode = f->allow_ffmpeg.given ? cli_ffmpeg_read : NULL};
    if (o->piece_length > 0 && o->piece_length < 20)
        return cli_fail(error, PARLEY_ARGUMENT, "--piece-length %d: 0, or 20 and more", (int)o->piece_length);
    set_limits(f, &o->limits);
    CLI_TRY(cli_open_options(&f->model, PARLEY_PARTS_ALL, &o->open, error));
    CLI_TRY(add_models(f, s, error));
    CLI_TRY(add_codecs(f, s, error));
    CLI_TRY(add_aliases(f, s, error));
    if (f->api_key_file.given)
        CLI_TRY(read_key(f->api_key_file.value, s, error));
    return read_tls(f, s, error);
}

void serve_release(serve_setup *s)
{
    for (size_t i = 0; i < s->n_names; i++)
        cli_buffer_free(&s->names[i]);
    cli_buffer_free(&s->default_model);
    cli_buffer_free(&s->key);
    cli_buffer_free(&s->certificate);
    cli_buffer_free(&s->private_key);
}
