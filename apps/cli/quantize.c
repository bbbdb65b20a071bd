/* parley quantize: one file out of a model, with weights in the types that one asks for. */
#include "commands.h"
#include "json_out.h"
#include "model_options.h"
#include "notice.h"
#include "output.h"
#include "quality.h"
#include "quantize_paths.h"

#include <parley/quantize.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct quantize_fields {
    cli_model_fields model; /* of which `codec` is --with-codec */
    cli_int talker, predictor, codec, encoder;
    cli_flag force, json, quiet;
    cli_text report, texts, clips;
} quantize_fields;

/* In the order of parley_weight. */
static const char *const weights[] = {"keep", "f32", "f16", "bf16", "q8_0", "q6_k", "q4_k", "q4_0", NULL};

#define FIELD(member) .offset = offsetof(quantize_fields, member)

static const cli_option rows[] = {
    {.name = "--talker",
     .kind = CLI_CHOICE,
     FIELD(talker),
     .help = "type of the talker's layers, or of the text decoder's of a model that hears; default keep: as they are",
     .choices = weights},
    {.name = "--predictor",
     .kind = CLI_CHOICE,
     FIELD(predictor),
     .help = "of the code predictor's, q8_0 or better; default keep",
     .choices = weights},
    {.name = "--codec", .kind = CLI_CHOICE, FIELD(codec), .help = "of the codec's decoder; default keep", .choices = weights},
    {.name = "--encoder",
     .kind = CLI_CHOICE,
     FIELD(encoder),
     .help = "of the codec's encoder, or the audio tower, q8_0 or better; default keep",
     .choices = weights},
    {.name = "--force", .kind = CLI_FLAG, FIELD(force), .help = "take types below those floors, and quantize again what is quantized already"},
    {.name = "--with-codec",
     .kind = CLI_TEXT,
     FIELD(model.codec),
     .value = "PATH",
     .help = "codec to take in place of the one that lies with the model"},
    {.name = "--report",
     .kind = CLI_TEXT,
     FIELD(report),
     .value = "FILE",
     .help = "then compares OUT with IN on --texts or --clips and writes what it finds as JSON; - is standard output"},
    {.name = "--texts",
     .kind = CLI_TEXT,
     FIELD(texts),
     .value = "FILE",
     .help = "of --report: texts to speak, one a line; default: three of its own"},
    {.name = "--clips", .kind = CLI_TEXT, FIELD(clips), .value = "FILE", .help = "of --report: sound files to hear, one a line"},
    CLI_ROW_MODEL2(quantize_fields, model),
    CLI_ROW_THREADS(quantize_fields, model),
    CLI_ROW_CPU(quantize_fields, model),
    {.name = "--json", .kind = CLI_FLAG, FIELD(json), .help = "prints what was written, tensor by tensor, as JSON"},
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, FIELD(quiet), .help = "no summary"},
};

static const cli_command command = {
    .name = "quantize",
    .usage = "[options] IN OUT",
    .about = "Writes one GGUF file that holds all of the model IN (any that parley opens), its layers in the given types and in\n"
             "the layout that the kernels read, so that it opens at once. What stays above the types is in docs/GGUF.md.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = 2,
};

/* ------------------------------------------------------------------ what was written */

enum { PARTS = 5 };

typedef struct part_sum {
    const char *name;
    uint64_t tensors, bytes;
    double squares, difference;
} part_sum;

typedef struct quantize_run {
    const quantize_fields *fields;
    cli_output file;
    uint64_t written;
    part_sum parts[PARTS];
    cli_buffer tensors; /* elements of a JSON array */
    cli_json json;
} quantize_run;

static parley_status write_bytes(void *context, const void *bytes, size_t size, parley_error *error)
{
    quantize_run *run = context;
    run->written += size;
    return cli_output_write(&run->file, bytes, size, error);
}

static void add_part(quantize_run *run, const parley_quantized *tensor)
{
    for (int i = 0; i < PARTS; i++) {
        part_sum *p = &run->parts[i];
        if (p->name && strcmp(p->name, tensor->part) != 0)
            continue;
        p->name = tensor->part;
        p->tensors++;
        p->bytes += tensor->bytes;
        p->squares += tensor->squares;
        p->difference += tensor->difference;
        return;
    }
}

static void add_tensor(void *context, const parley_quantized *tensor)
{
    quantize_run *run = context;
    add_part(run, tensor);
    if (!run->fields->json.given)
        return;
    cli_json_open(&run->json, NULL, '{');
    cli_json_string(&run->json, "name", tensor->name);
    cli_json_string(&run->json, "part", tensor->part);
    cli_json_string(&run->json, "from", tensor->from);
    cli_json_string(&run->json, "to", tensor->to);
    cli_json_bool(&run->json, "packed", tensor->packed);
    cli_json_unsigned(&run->json, "values", tensor->values);
    cli_json_unsigned(&run->json, "bytes", tensor->bytes);
    cli_json_real(&run->json, "relative_error", tensor->relative_error);
    cli_json_close(&run->json, '}');
}

static double relative(const part_sum *p)
{
    return p->squares > 0.0 ? sqrt(p->difference / p->squares) : 0.0;
}

static void add_parts(cli_json *json, const quantize_run *run)
{
    cli_json_open(json, "parts", '[');
    for (int i = 0; i < PARTS && run->parts[i].name; i++) {
        const part_sum *p = &run->parts[i];
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "part", p->name);
        cli_json_unsigned(json, "tensors", p->tensors);
        cli_json_unsigned(json, "bytes", p->bytes);
        cli_json_real(json, "relative_error", relative(p));
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static parley_status print_json(const quantize_run *run, const char *out, double seconds, parley_error *error)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "path", out);
    cli_json_unsigned(&json, "bytes", run->written);
    cli_json_real(&json, "seconds", seconds);
    add_parts(&json, run);
    cli_json_raw(&json, "tensors", &run->tensors);
    cli_json_close(&json, '}');
    cli_append_text(&text, "\n");
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

static void print_summary(const quantize_run *run, const char *out, double seconds)
{
    for (int i = 0; i < PARTS && run->parts[i].name; i++) {
        const part_sum *p = &run->parts[i];
        cli_notice("%-9s %5llu tensors %10.1f MB, relative error %.2g", p->name, (unsigned long long)p->tensors, (double)p->bytes * 1e-6,
                   relative(p));
    }
    cli_notice("%.300s: %.1f MB in %.1f s", out, (double)run->written * 1e-6, seconds);
}

/* ------------------------------------------------------------------ the run */

static parley_quantize_options types_of(const quantize_fields *fields)
{
    parley_quantize_options types;
    parley_quantize_options_init(&types);
    types.talker = (parley_weight)fields->talker.value;
    types.predictor = (parley_weight)fields->predictor.value;
    types.codec = (parley_weight)fields->codec.value;
    types.encoder = (parley_weight)fields->encoder.value;
    types.force = fields->force.given;
    return types;
}

static parley_status convert(quantize_run *run, const char *in, parley_error *error)
{
    const parley_quantize_options types = types_of(run->fields);
    parley_open_options options;
    CLI_TRY(cli_open_options(&run->fields->model, PARLEY_PARTS_CLONE, &options, error));
    cli_json_open(&run->json, NULL, '[');
    CLI_TRY(parley_quantize(in, &options, &types, write_bytes, run, add_tensor, run, error));
    cli_json_close(&run->json, ']');
    return cli_output_sync(&run->file, error);
}

static parley_status write_file(quantize_run *run, const char *in, const char *out, parley_error *error)
{
    double start = cli_seconds();
    CLI_TRY(cli_quantize_paths(in, &run->fields->model, out, run->fields->report.value, error));
    if (cli_is_stdout(out) && (isatty(1) || run->fields->json.given))
        return cli_fail(error, PARLEY_ARGUMENT, "OUT is standard output, which %s", isatty(1) ? "is a terminal" : "--json needs");
    CLI_TRY(cli_output_open(&run->file, out, false, "", error));
    CLI_TRY(convert(run, in, error));
    CLI_TRY(cli_output_commit(&run->file, error));
    double seconds = cli_seconds() - start;
    if (run->fields->json.given)
        return print_json(run, out, seconds, error);
    if (!run->fields->quiet.given)
        print_summary(run, out, seconds);
    return PARLEY_OK;
}

static parley_status check_arguments(const quantize_fields *fields, const cli_arguments *arguments, parley_error *error)
{
    if (arguments->count != 2)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley quantize\" needs a model and the file to write");
    if (fields->report.given && cli_is_stdout(arguments->values[1]))
        return cli_fail(error, PARLEY_ARGUMENT, "--report opens the new file, which standard output is not");
    if (!fields->report.given && (fields->texts.given || fields->clips.given))
        return cli_fail(error, PARLEY_ARGUMENT, "%s is of use with --report alone", fields->texts.given ? "--texts" : "--clips");
    return PARLEY_OK;
}

parley_status cli_quantize(int argc, char **argv, parley_error *error)
{
    quantize_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&command, error);
    CLI_TRY(check_arguments(&fields, &arguments, error));
    quantize_run run = {.fields = &fields, .file = CLI_OUTPUT_NONE};
    run.json.out = &run.tensors;
    const char *in = arguments.values[0], *out = arguments.values[1];
    cli_quality quality = {&fields.model, in, out, fields.report.value, fields.texts.value, fields.clips.value};
    if (fields.report.given)
        CLI_TRY(cli_quality_check(&quality, error));
    parley_status status = write_file(&run, in, out, error);
    cli_output_discard(&run.file);
    cli_buffer_free(&run.tensors);
    if (status != PARLEY_OK || !fields.report.given)
        return status;
    return cli_quality_report(&quality, error);
}
