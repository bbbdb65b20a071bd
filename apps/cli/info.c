/* parley info: what a model is, and whether its files are in order. */
#include "commands.h"
#include "json_out.h"
#include "model_options.h"
#include "output.h"

typedef struct info_fields {
    cli_model_fields model;
    cli_flag json, check;
} info_fields;

static const cli_option rows[] = {
    CLI_ROW_MODEL(info_fields, model),
    CLI_ROW_MODEL2(info_fields, model),
    CLI_ROW_CODEC(info_fields, model),
    {.name = "--json", .kind = CLI_FLAG, .offset = offsetof(info_fields, json), .help = "JSON in place of the table"},
    {.name = "--check",
     .kind = CLI_FLAG,
     .offset = offsetof(info_fields, check),
     .help = "reads every tensor and lists the missing, misshapen, unused and not finite ones"},
    CLI_ROW_THREADS(info_fields, model),
    CLI_ROW_CPU(info_fields, model),
};

static const cli_command command = {
    .name = "info",
    .usage = "[options] [MODEL]",
    .about = "Says what a model is: family, sizes, types, languages, speakers, limits, memory needed. One part alone (a codec, a\n"
             "tokenizer) is no error. --check ends with 0 when nothing worse than unused tensors is found.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = 1,
};

/* ------------------------------------------------------------------ the model as a list of facts */

typedef enum fact_kind { FACT_TEXT, FACT_BOOL, FACT_INT, FACT_COUNT, FACT_BYTES } fact_kind;

typedef struct fact {
    const char *key;   /* in JSON */
    const char *label; /* in the table */
    fact_kind kind;
    size_t offset; /* in parley_info */
} fact;

#define FACT(kind, field, label)                          \
    {                                                     \
#field, label, kind, offsetof(parley_info, field) \
    }

static const fact facts[] = {
    FACT(FACT_TEXT, family, "family"),
    FACT(FACT_TEXT, dialect, "dialect of the files"),
    FACT(FACT_TEXT, model_type, "kind"),
    FACT(FACT_TEXT, model_size, "size"),
    FACT(FACT_TEXT, identity, "identity, of voices"),
    FACT(FACT_TEXT, codec_identity, "codec, of their codes"),
    FACT(FACT_BOOL, has_talker, "talker"),
    FACT(FACT_BOOL, has_predictor, "code predictor"),
    FACT(FACT_BOOL, has_speaker_encoder, "speaker encoder"),
    FACT(FACT_BOOL, has_codec, "codec"),
    FACT(FACT_BOOL, has_codec_encoder, "codec encoder"),
    FACT(FACT_BOOL, has_audio_encoder, "audio encoder"),
    FACT(FACT_BOOL, has_text_decoder, "text decoder"),
    FACT(FACT_BOOL, has_tokenizer, "tokenizer"),
    FACT(FACT_COUNT, parameters, "parameters"),
    FACT(FACT_INT, talker_width, "talker width"),
    FACT(FACT_INT, talker_layers, "talker layers"),
    FACT(FACT_INT, predictor_width, "predictor width"),
    FACT(FACT_INT, predictor_layers, "predictor layers"),
    FACT(FACT_INT, groups, "codes a frame"),
    FACT(FACT_INT, codebook_size, "codebook size"),
    FACT(FACT_INT, text_vocabulary, "text vocabulary"),
    FACT(FACT_INT, xvector_length, "length of a voice vector"),
    FACT(FACT_INT, context_length, "positions"),
    FACT(FACT_INT, max_new_tokens, "most frames + 1"),
    FACT(FACT_INT, sample_rate, "sample rate, Hz"),
    FACT(FACT_INT, samples_per_frame, "samples a frame"),
    FACT(FACT_BYTES, file_bytes, "files"),
    FACT(FACT_BYTES, packed_bytes, "packed weights"),
    FACT(FACT_BYTES, kv_bytes_per_frame, "cache a position"),
    FACT(FACT_BYTES, memory_bytes, "memory needed, 60 s"),
};

static const void *fact_value(const parley_info *info, const fact *f)
{
    return (const char *)info + f->offset;
}

static const char *text_value(const parley_info *info, const fact *f)
{
    const char *text = *(const char *const *)fact_value(info, f);
    return text ? text : "";
}

static void append_bytes(cli_buffer *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000.0 && unit + 1 < CLI_COUNT(units)) {
        value /= 1000.0;
        unit++;
    }
    cli_appendf(out, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* The value for the table; nothing where the part is not there. */
static void format_fact(const parley_info *info, const fact *f, cli_buffer *out)
{
    const void *value = fact_value(info, f);
    switch (f->kind) {
    case FACT_TEXT: cli_append_text(out, text_value(info, f)); break;
    case FACT_BOOL: cli_append_text(out, *(const bool *)value ? "yes" : ""); break;
    case FACT_INT:
        if (*(const int32_t *)value)
            cli_appendf(out, "%d", (int)*(const int32_t *)value);
        break;
    case FACT_COUNT:
        if (*(const uint64_t *)value)
            cli_appendf(out, "%.3f million", 1e-6 * (double)*(const uint64_t *)value);
        break;
    case FACT_BYTES:
        if (*(const uint64_t *)value)
            append_bytes(out, *(const uint64_t *)value);
        break;
    }
}

static void add_fact(const parley_info *info, const fact *f, cli_json *json)
{
    const void *value = fact_value(info, f);
    switch (f->kind) {
    case FACT_TEXT: cli_json_string(json, f->key, text_value(info, f)); break;
    case FACT_BOOL: cli_json_bool(json, f->key, *(const bool *)value); break;
    case FACT_INT: cli_json_whole(json, f->key, *(const int32_t *)value); break;
    case FACT_COUNT:
    case FACT_BYTES: cli_json_unsigned(json, f->key, *(const uint64_t *)value); break;
    }
}

/* ------------------------------------------------------------------ table and JSON */

enum { COLUMN = 26 };

/* What a whole model of the kind may have and this one has not. */
static void append_lacking(const parley_info *info, cli_buffer *out)
{
    const bool speaks = info->has_talker || info->has_predictor, hears = info->has_audio_encoder || info->has_text_decoder;
    const struct {
        bool asked, there;
        const char *name;
    } parts[] = {
        {speaks, info->has_talker, "talker"},
        {speaks, info->has_predictor, "code predictor"},
        {speaks, info->has_speaker_encoder, "speaker encoder"},
        {speaks, info->n_speakers > 0, "preset speakers"},
        {speaks, info->has_codec, "codec"},
        {speaks || info->has_codec, info->has_codec_encoder, "codec encoder"},
        {hears, info->has_audio_encoder, "audio encoder"},
        {hears, info->has_text_decoder, "text decoder"},
        {speaks || hears, info->has_tokenizer, "tokenizer"},
    };
    const char *between = "";
    for (size_t i = 0; i < CLI_COUNT(parts); i++) {
        if (!parts[i].asked || parts[i].there)
            continue;
        cli_appendf(out, "%-*s%s%s", *between ? 0 : COLUMN, *between ? "" : "not there", between, parts[i].name);
        between = ", ";
    }
    if (*between)
        cli_append_text(out, "\n");
}

static void append_table(const parley_info *info, cli_buffer *out)
{
    for (size_t i = 0; i < CLI_COUNT(facts); i++) {
        cli_buffer value = {0};
        format_fact(info, &facts[i], &value);
        if (value.size)
            cli_appendf(out, "%-*s%s\n", COLUMN, facts[i].label, value.data);
        out->failed = out->failed || value.failed;
        cli_buffer_free(&value);
    }
    append_lacking(info, out);
    for (size_t i = 0; i < info->n_types; i++) {
        cli_appendf(out, "%-*s%s: %llu tensors, ", COLUMN, i ? "" : "weights", info->types[i].type, (unsigned long long)info->types[i].tensors);
        append_bytes(out, info->types[i].bytes);
        cli_append_text(out, "\n");
    }
    for (size_t i = 0; i < info->n_languages; i++)
        cli_appendf(out, "%-*s%s", i ? 0 : COLUMN, i ? ", " : "languages", info->languages[i]);
    if (info->n_languages)
        cli_append_text(out, ", auto\n");
    for (size_t i = 0; i < info->n_speakers; i++) {
        const char *dialect = info->speakers[i].dialect;
        bool plain = !dialect || !*dialect;
        cli_appendf(out, "%-*s%s%s%s%s\n", COLUMN, i ? "" : "speakers", info->speakers[i].name, plain ? "" : " (", plain ? "" : dialect,
                    plain ? "" : ")");
    }
}

static void append_json(const parley_info *info, cli_buffer *out)
{
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    for (size_t i = 0; i < CLI_COUNT(facts); i++)
        add_fact(info, &facts[i], &json);
    cli_json_open(&json, "types", '[');
    for (size_t i = 0; i < info->n_types; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_string(&json, "type", info->types[i].type);
        cli_json_unsigned(&json, "tensors", info->types[i].tensors);
        cli_json_unsigned(&json, "bytes", info->types[i].bytes);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_open(&json, "languages", '[');
    for (size_t i = 0; i < info->n_languages; i++)
        cli_json_string(&json, NULL, info->languages[i]);
    cli_json_close(&json, ']');
    cli_json_open(&json, "speakers", '[');
    for (size_t i = 0; i < info->n_speakers; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_string(&json, "name", info->speakers[i].name);
        cli_json_string(&json, "dialect", info->speakers[i].dialect ? info->speakers[i].dialect : "");
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    cli_append_text(out, "\n");
}

static parley_status show(const char *path, const parley_open_options *options, bool as_json, parley_error *error)
{
    parley_info *info = NULL;
    CLI_TRY(parley_inspect(path, options, &info, error));
    cli_buffer text = {0};
    if (as_json)
        append_json(info, &text);
    else
        append_table(info, &text);
    parley_info_free(info);
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

/* ------------------------------------------------------------------ --check */

/* What a finding is called, and the status that becomes the exit code when it is the first fault. */
static const struct {
    const char *name;
    parley_status status;
} kinds[] = {
    [PARLEY_FINDING_MISSING] = {"missing", PARLEY_MISSING}, [PARLEY_FINDING_SHAPE] = {"shape", PARLEY_SHAPE},
    [PARLEY_FINDING_TYPE] = {"type", PARLEY_UNSUPPORTED},   [PARLEY_FINDING_VALUE] = {"value", PARLEY_VALUE},
    [PARLEY_FINDING_UNUSED] = {"unused", PARLEY_OK},
};

typedef struct check_run {
    cli_buffer text;
    cli_json json;
    bool as_json;
    size_t counts[CLI_COUNT(kinds)];
    parley_status first; /* fault */
} check_run;

static void add_finding(void *context, const parley_finding *finding)
{
    check_run *run = context;
    const char *name = kinds[finding->kind].name;
    run->counts[finding->kind]++;
    if (run->first == PARLEY_OK)
        run->first = kinds[finding->kind].status;
    if (!run->as_json) {
        cli_appendf(&run->text, "%-8s%s: %s\n", name, finding->tensor, finding->text);
        return;
    }
    cli_json_open(&run->json, NULL, '{');
    cli_json_string(&run->json, "kind", name);
    cli_json_string(&run->json, "tensor", finding->tensor);
    cli_json_string(&run->json, "text", finding->text);
    cli_json_close(&run->json, '}');
}

static void append_summary(check_run *run, size_t faults)
{
    cli_appendf(&run->text, "%zu fault%s", faults, faults == 1 ? "" : "s");
    for (size_t i = 0; i < CLI_COUNT(kinds); i++)
        cli_appendf(&run->text, "%s%zu %s", i ? ", " : " (", run->counts[i], kinds[i].name);
    cli_append_text(&run->text, ")\n");
}

static parley_status check(const char *path, const parley_open_options *options, bool as_json, parley_error *error)
{
    check_run run = {.as_json = as_json};
    size_t faults = 0;
    run.json.out = &run.text;
    if (as_json) {
        cli_json_open(&run.json, NULL, '{');
        cli_json_open(&run.json, "findings", '[');
    }
    parley_status status = parley_check(path, options, add_finding, &run, &faults, error);
    if (status == PARLEY_OK && as_json) {
        cli_json_close(&run.json, ']');
        cli_json_unsigned(&run.json, "faults", faults);
        cli_json_close(&run.json, '}');
        cli_append_text(&run.text, "\n");
    } else if (status == PARLEY_OK) {
        append_summary(&run, faults);
    }
    if (status == PARLEY_OK)
        status = cli_output_whole("-", &run.text, error);
    cli_buffer_free(&run.text);
    if (status == PARLEY_OK && run.first != PARLEY_OK)
        return cli_fail(error, run.first, "\"%.300s\": %zu fault%s found", path, faults, faults == 1 ? "" : "s");
    return status;
}

parley_status cli_info(int argc, char **argv, parley_error *error)
{
    info_fields fields = {0};
    cli_arguments arguments;
    parley_open_options options;
    CLI_TRY(cli_parse(&command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&command, error);
    if (arguments.count && fields.model.model.given)
        return cli_fail(error, PARLEY_ARGUMENT, "MODEL and -m exclude each other");
    if (arguments.count)
        fields.model.model = (cli_text){true, arguments.values[0]};
    CLI_TRY(cli_open_options(&fields.model, PARLEY_PARTS_ALL, &options, error));
    cli_buffer path = {0};
    parley_status status = cli_model_path(&fields.model, &path, error);
    if (status == PARLEY_OK && fields.check.given)
        status = check(path.data, &options, fields.json.given, error);
    else if (status == PARLEY_OK)
        status = show(path.data, &options, fields.json.given, error);
    cli_buffer_free(&path);
    return status;
}
