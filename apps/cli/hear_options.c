#include "hear_options.h"

#include "output.h"
#include "text_input.h"

#include <string.h>

/* In the order of the library's enumerations. */
const char *const hear_attentions[] = {"windowed", "full", NULL};
static const char *const gates[] = {"off", "on", NULL};
static const char *const joins[] = {"space", "none", NULL};
static const char *const levels[] = {"word", NULL};
const char *const hear_formats[] = {"txt", "srt", "vtt", "tsv", "lrc", "json", NULL};

static const double longest_with_words = 180; /* seconds that an aligner is asked for */

#define FIELD(member) .offset = offsetof(hear_fields, member)
#define TEXT(option, member, placeholder, about)                                             \
    {                                                                                        \
        .name = option, .kind = CLI_TEXT, FIELD(member), .value = placeholder, .help = about \
    }
#define CHOICE(option, member, list, about)                                                                \
    {                                                                                                      \
        .name = option, .kind = CLI_CHOICE, FIELD(member), .value = "NAME", .help = about, .choices = list \
    }

static const cli_option rows[] = {
    {.name = "--model",
     .letter = 'm',
     .kind = CLI_TEXT,
     FIELD(model.model),
     .value = "MODEL",
     .help = "a model that hears: directory, GGUF file or folder of GGUF files; needed"},
    CLI_ROW_MODEL2(hear_fields, model),
    TEXT("--language", language, "NAME", "language of the sound, English name or ISO code; default auto"),
    TEXT("--context", context, "TEXT", "names, topic or earlier text that help to hear"),
    TEXT("--context-file", context_file, "FILE", "the same from a file"),
    {.name = "--max-tokens",
     .kind = CLI_INT,
     FIELD(max_tokens),
     .value = "N",
     .help = "most tokens of a segment; default: a budget from its length",
     .low = 1,
     .high = INT32_MAX},
    {.name = "--segment",
     .kind = CLI_REAL,
     FIELD(segment),
     .value = "SECONDS",
     .help = "longest piece that is heard at once; default 120, with --timestamps at most 180",
     .low = 1,
     .high = 1200},
    CHOICE("--attention", attention, hear_attentions, "windows of 8 s in the encoder, as trained, or all of a segment; default windowed"),
    CHOICE("--join", join, joins, "what stands between the texts of segments; default space (none where the script has none)"),
    CHOICE("--gate", gate, gates,
           "on: silence, hum and steady noise have no text, the model is not asked; default on, always off with --max-tokens or --dump"),
    CHOICE("--timestamps", timestamps, levels, "times of every word, from --aligner"),
    TEXT("--aligner", aligner, "MODEL", "a forced aligner, for --timestamps"),
    CLI_ROW_UNITS_BY(hear_fields, cutting),
    CLI_ROW_LEXICON(hear_fields, cutting),
    CHOICE("--format", format, hear_formats, "what to write; default: by the ending of -o, else txt"),
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, FIELD(output), .value = "FILE", .help = "what to write; default -, standard output"},
    TEXT("--output-dir", output_dir, "DIR", "a file for each sound: DIR/NAME.FORMAT"),
    TEXT("--dump", dump, "DIR", "writes every intermediate result as DIR/NAME.npy; of many segments DIR/1/NAME.npy and so on"),
    CLI_ROW_RAW(hear_fields, audio),
    CLI_ROW_RATE(hear_fields, audio),
    CLI_ROW_CHANNELS(hear_fields, audio),
    CLI_ROW_SPLITTER(hear_fields, model),
    CLI_ROW_THREADS(hear_fields, model),
    CLI_ROW_CPU(hear_fields, model),
    CHOICE("--kv", kv, cli_kv_choices, "element type of the cache; default f16"),
    CHOICE("--activations", activations, cli_activations_choices, "arithmetic of quantised matrices; default int8 where the processor has it"),
    {.name = "--stream",
     .kind = CLI_FLAG,
     FIELD(stream),
     .help = "hears one sound while it comes: a line of JSON for every 2 s, text on a terminal; --segment then 4 to 1200, default 30"},
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, FIELD(quiet), .help = "no progress and no summary"},
};

const cli_command hear_command = {
    .name = "hear",
    .usage = "-m MODEL [options] SOUND...",
    .about = "Writes down what is said in sound files (- is standard input). Ctrl-C keeps the text so far.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = SIZE_MAX,
};

/* ------------------------------------------------------------------ checks */

int32_t hear_format(const cli_int *format, const cli_text *output, int32_t otherwise)
{
    if (format->given)
        return format->value;
    const char *dot = output->given ? strrchr(output->value, '.') : NULL;
    for (int32_t i = 0; dot && hear_formats[i]; i++) {
        if (!strcmp(dot + 1, hear_formats[i]))
            return i;
    }
    return otherwise;
}

static parley_status check_pairs(const hear_fields *f, parley_error *error)
{
    const struct {
        bool a, b, together;
        const char *name_a, *name_b;
    } pairs[] = {
        {f->context.given, f->context_file.given, false, "--context", "--context-file"},
        {f->output.given, f->output_dir.given, false, "-o", "--output-dir"},
        {f->timestamps.given, f->aligner.given, true, "--timestamps", "--aligner MODEL"},
        {f->aligner.given, f->timestamps.given, true, "--aligner", "--timestamps word"},
        {f->cutting.units_by.given, f->timestamps.given, true, "--units-by", "--timestamps word"},
        {f->cutting.lexicon.given, f->timestamps.given, true, "--lexicon", "--timestamps word"},
    };
    for (size_t i = 0; i < CLI_COUNT(pairs); i++) {
        if (pairs[i].a && pairs[i].b != pairs[i].together)
            return cli_fail(error, PARLEY_ARGUMENT, pairs[i].together ? "%s needs %s" : "%s and %s exclude each other", pairs[i].name_a,
                            pairs[i].name_b);
    }
    if (f->timestamps.given && f->segment.given && f->segment.value > longest_with_words)
        return cli_fail(error, PARLEY_ARGUMENT, "--segment %g: with --timestamps at most %g s", f->segment.value, longest_with_words);
    return PARLEY_OK;
}

static parley_status check_standard_input(const hear_fields *f, const cli_arguments *arguments, parley_error *error)
{
    size_t readers = f->context_file.given && !strcmp(f->context_file.value, "-");
    readers += f->cutting.lexicon.given && !strcmp(f->cutting.lexicon.value, "-");
    for (size_t i = 0; i < arguments->count; i++)
        readers += !strcmp(arguments->values[i], "-");
    return readers > 1 ? cli_fail(error, PARLEY_ARGUMENT, "standard input (-) can be read once, it is named %zu times", readers) : PARLEY_OK;
}

/* Two sounds of one name would overwrite each other's text. */
static parley_status check_names(const hear_fields *f, const cli_arguments *arguments, parley_error *error)
{
    cli_buffer a = {0}, b = {0};
    parley_status status = PARLEY_OK;
    for (size_t i = 1; i < arguments->count && status == PARLEY_OK; i++) {
        hear_output_path(f, arguments->values[i], &a);
        for (size_t k = 0; k < i && status == PARLEY_OK; k++) {
            hear_output_path(f, arguments->values[k], &b);
            if (a.failed || b.failed)
                status = cli_fail_memory(error);
            else if (!strcmp(a.data, b.data))
                status = cli_fail(error, PARLEY_ARGUMENT, "\"%.100s\" and \"%.100s\" would both be written to \"%.100s\"", arguments->values[k],
                                  arguments->values[i], a.data);
        }
    }
    cli_buffer_free(&a);
    cli_buffer_free(&b);
    return status;
}

parley_status hear_check(const hear_fields *f, const cli_arguments *arguments, parley_error *error)
{
    int32_t format = hear_format(&f->format, &f->output, CLI_FORMAT_TXT);
    if (arguments->count == 0)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley hear\" needs a sound file, or - for standard input");
    if (!f->model.model.given)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley hear\" needs -m MODEL: no model that hears comes with parley");
    CLI_TRY(check_pairs(f, error));
    CLI_TRY(check_standard_input(f, arguments, error));
    if (f->output_dir.given)
        return check_names(f, arguments, error);
    if (arguments->count > 1 && format != HEAR_JSON && format != CLI_FORMAT_TXT)
        return cli_fail(error, PARLEY_ARGUMENT, "several sounds as %s need --output-dir, a file for each", hear_formats[format]);
    return PARLEY_OK;
}

void hear_output_path(const hear_fields *f, const char *sound, cli_buffer *path)
{
    const char *slash = strrchr(sound, '/'), *name = !strcmp(sound, "-") ? "stdin" : slash ? slash + 1 : sound, *dot = strrchr(name, '.');
    path->size = 0;
    cli_appendf(path, "%s/%.*s.%s", f->output_dir.value, dot && dot > name ? (int)(dot - name) : (int)strlen(name), name,
                hear_formats[hear_format(&f->format, &f->output, CLI_FORMAT_TXT)]);
}

/* ------------------------------------------------------------------ reading */

parley_status hear_read_text(const char *path, const char *what, cli_buffer *text, parley_error *error)
{
    CLI_TRY(cli_text_input(NULL, path, text, error));
    const char *nul = text->size ? memchr(text->data, 0, text->size) : NULL;
    if (nul)
        return cli_fail(error, PARLEY_FORMAT, "%s \"%.200s\" has a NUL at byte %zu: it is no text", what, path, (size_t)(nul - text->data));
    return PARLEY_OK;
}

void hear_asr_options(const parley_model *model, const hear_fields *f, const char *context, parley_asr_options *options)
{
    parley_asr_options_init(model, options);
    options->context = context;
    if (f->language.given)
        options->language = f->language.value;
    if (f->max_tokens.given) {
        options->budget = PARLEY_TOKENS_GIVEN;
        options->max_tokens = f->max_tokens.value;
    }
    if (f->segment.given)
        options->segment_seconds = f->segment.value;
    if (f->attention.given)
        options->attention = (parley_attention)f->attention.value;
    if (f->join.given)
        options->join = (parley_join)f->join.value;
    if (f->gate.given)
        options->speech_gate = f->gate.value;
    if (f->kv.given)
        options->kv = (parley_kv)f->kv.value;
    if (f->activations.given)
        options->activations = (parley_activations)f->activations.value;
}

parley_status hear_open_aligner(const cli_model_fields *fields, parley_model **model, double *seconds, parley_error *error)
{
    CLI_TRY(cli_open_model(fields, PARLEY_PARTS_ALL, model, seconds, error));
    const parley_info *info = parley_model_info(*model);
    if (strcmp(info->model_type, "aligner") != 0)
        return cli_fail(error, PARLEY_FAMILY, "\"%.300s\" is no aligner, it is a model of the family %s, type \"%s\"", fields->model.value,
                        info->family, info->model_type);
    return PARLEY_OK;
}
