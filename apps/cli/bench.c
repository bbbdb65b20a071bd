/* parley bench: times the stages of a model. */
#include "bench_earlier.h"
#include "commands.h"
#include "json_out.h"
#include "model_options.h"
#include "notice.h"
#include "output.h"

typedef struct bench_fields {
    cli_model_fields model;
    cli_int runs, prompt, frames, activations;
    cli_text json, compare;
} bench_fields;

#define WHOLE(option, member, least, most, about)                                                                                          \
    {                                                                                                                                      \
        .name = option, .kind = CLI_INT, .offset = offsetof(bench_fields, member), .value = "N", .help = about, .low = least, .high = most \
    }

static const cli_option rows[] = {
    CLI_ROW_MODEL(bench_fields, model),
    CLI_ROW_MODEL2(bench_fields, model),
    CLI_ROW_CODEC(bench_fields, model),
    CLI_ROW_CODEC_TYPE(bench_fields, model),
    WHOLE("--runs", runs, 1, 1000, "measurements of each stage, the median is shown; default 5"),
    WHOLE("--prompt", prompt, 1, 1000000, "positions of the prefill; default 107"),
    WHOLE("--frames", frames, 1, 1000000, "frames (80 ms each) of the whole run; default 125"),
    CLI_ROW_THREADS(bench_fields, model),
    CLI_ROW_CPU(bench_fields, model),
    {.name = "--activations",
     .kind = CLI_CHOICE,
     .offset = offsetof(bench_fields, activations),
     .help = "arithmetic of quantised matrices; default int8",
     .choices = cli_activations_choices},
    {.name = "--json",
     .kind = CLI_TEXT,
     .offset = offsetof(bench_fields, json),
     .value = "FILE",
     .help = "the rows as a JSON array; - is standard output, then without the table"},
    {.name = "--compare",
     .kind = CLI_TEXT,
     .offset = offsetof(bench_fields, compare),
     .value = "FILE",
     .help = "a --json of before: its times, and how many times as long a stage takes now"},
};

static const cli_command command = {
    .name = "bench",
    .usage = "[options]",
    .about = "Times the stages of a model on made-up input: milliseconds, GB/s of weights read, GOP/s, share of what the machine can do.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
};

typedef struct bench_run {
    cli_output *table; /* NULL: JSON alone */
    cli_buffer text;
    cli_json json;
    parley_error failure; /* of writing the table; a report cannot return one */
    bool compared;
    cli_bench_earlier earlier;
} bench_run;

static double rate(double amount, double seconds)
{
    return seconds > 0.0 ? amount / seconds : 0.0;
}

static void write_line(bench_run *run, const cli_buffer *line)
{
    if (run->failure.status == PARLEY_OK && line->failed)
        cli_fail_memory(&run->failure);
    if (run->failure.status == PARLEY_OK && run->table)
        cli_output_write(run->table, line->data, line->size, &run->failure);
}

static void write_heading(bench_run *run)
{
    cli_buffer line = {0};
    cli_appendf(&line, "%-18s %-38s %-6s %-11s %7s %10s %10s %10s %8s %8s %10s", "stage", "shape", "type", "level", "threads", "ms", "least", "most",
                "GB/s", "GOP/s", "of limit");
    cli_appendf(&line, run->compared ? " %10s %6s\n" : "\n", "ms before", "ratio");
    write_line(run, &line);
    cli_buffer_free(&line);
}

/* `before`: seconds of the row in the figures that are compared with; 0: not there. */
static void add_json(cli_json *json, const parley_bench_row *row, double before)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "stage", row->stage);
    cli_json_string(json, "shape", row->shape);
    cli_json_string(json, "type", row->type);
    cli_json_string(json, "level", row->level);
    cli_json_whole(json, "threads", row->threads);
    cli_json_real(json, "seconds", row->seconds);
    cli_json_real(json, "seconds_low", row->seconds_low);
    cli_json_real(json, "seconds_high", row->seconds_high);
    cli_json_real(json, "gigabytes_per_second", rate(row->gigabytes, row->seconds));
    cli_json_real(json, "giga_operations_per_second", rate(row->giga_operations, row->seconds));
    if (*row->limit) {
        cli_json_real(json, "share_of_limit", row->share);
        cli_json_string(json, "limit", row->limit);
    }
    if (before > 0.0) {
        cli_json_real(json, "seconds_before", before);
        cli_json_real(json, "ratio", row->seconds / before);
    }
    cli_json_close(json, '}');
}

static void add_row(void *context, const parley_bench_row *row)
{
    bench_run *run = context;
    cli_buffer line = {0};
    double before = cli_bench_earlier_seconds(&run->earlier, row);
    cli_appendf(&line, "%-18s %-38s %-6s %-11s %7d %10.3f %10.3f %10.3f %8.2f %8.1f", row->stage, row->shape, row->type, row->level,
                (int)row->threads, 1e3 * row->seconds, 1e3 * row->seconds_low, 1e3 * row->seconds_high, rate(row->gigabytes, row->seconds),
                rate(row->giga_operations, row->seconds));
    if (*row->limit)
        cli_appendf(&line, " %3.0f %% %-5s", 1e2 * row->share, row->limit);
    else
        cli_appendf(&line, " %10s", "");
    if (before > 0.0)
        cli_appendf(&line, " %10.3f %6.3f", 1e3 * before, row->seconds / before);
    cli_append_text(&line, "\n");
    write_line(run, &line);
    cli_buffer_free(&line);
    add_json(&run->json, row, before);
}

static void set_options(const bench_fields *fields, parley_bench_options *options)
{
    parley_bench_options_init(options);
    if (fields->runs.given)
        options->runs = fields->runs.value;
    if (fields->prompt.given)
        options->prompt = fields->prompt.value;
    if (fields->frames.given)
        options->frames = fields->frames.value;
    if (fields->activations.given)
        options->int8_activations = fields->activations.value == 1;
}

static parley_status measure(const bench_fields *fields, const parley_model *model, bench_run *run, cli_output *json_file, parley_error *error)
{
    parley_bench_options options;
    set_options(fields, &options);
    run->json.out = &run->text;
    cli_json_open(&run->json, NULL, '[');
    write_heading(run);
    CLI_TRY(parley_model_bench(model, &options, add_row, run, error));
    if (run->failure.status != PARLEY_OK) {
        *error = run->failure;
        return error->status;
    }
    cli_json_close(&run->json, ']');
    cli_append_text(&run->text, "\n");
    if (!fields->json.given)
        return PARLEY_OK;
    if (run->text.failed)
        return cli_fail_memory(error);
    CLI_TRY(cli_output_write(json_file, run->text.data, run->text.size, error));
    return cli_output_commit(json_file, error);
}

static parley_status bench(const bench_fields *fields, parley_error *error)
{
    cli_output table = CLI_OUTPUT_NONE, json_file = CLI_OUTPUT_NONE;
    bool with_table = !fields->json.given || !cli_is_stdout(fields->json.value);
    bench_run run = {.table = with_table ? &table : NULL, .compared = fields->compare.given};
    parley_model *model = NULL;
    parley_status status = PARLEY_OK;
    if (fields->compare.given)
        status = cli_bench_earlier_read(fields->compare.value, &run.earlier, error);
    if (status == PARLEY_OK && fields->json.given)
        status = cli_output_open(&json_file, fields->json.value, false, "", error);
    if (status == PARLEY_OK && with_table)
        status = cli_output_open(&table, "-", false, "", error);
    if (status == PARLEY_OK)
        status = cli_open_model(&fields->model, PARLEY_PARTS_CLONE, &model, NULL, error);
    if (status == PARLEY_OK)
        status = measure(fields, model, &run, &json_file, error);
    parley_model_close(model);
    cli_output_discard(&table);
    cli_output_discard(&json_file);
    cli_buffer_free(&run.text);
    cli_bench_earlier_free(&run.earlier);
    return status;
}

parley_status cli_bench(int argc, char **argv, parley_error *error)
{
    bench_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&command, error);
    return bench(&fields, error);
}
