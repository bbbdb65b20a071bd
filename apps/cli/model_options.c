#include "model_options.h"

#include "default_model.h"
#include "inputs.h"
#include "notice.h"

const char *const cli_cpu_choices[] = {"scalar", "avx2", "avx512", "avx512vnni", "amx", "neon", "dotprod", "i8mm", "best", NULL};
const char *const cli_splitter_choices[] = {"qwen2", "mistral", NULL};
const char *const cli_activations_choices[] = {"f32", "int8", NULL};
const char *const cli_kv_choices[] = {"f32", "f16", "bf16", "q8_0", NULL};
const char *const cli_codec_type_choices[] = {"f32", "int8", NULL};

parley_status cli_open_options(const cli_model_fields *fields, parley_parts parts, parley_open_options *options, parley_error *error)
{
    parley_open_options_init(options);
    options->codec_path = fields->codec.value;
    options->second_path = fields->model2.value;
    options->parts = parts;
    options->logger = &cli_logger;
    if (fields->threads.given)
        options->threads = fields->threads.value;
    if (fields->codec_type.given)
        options->codec_type = fields->codec_type.value ? PARLEY_CODEC_INT8 : PARLEY_CODEC_F32;
    if (fields->splitter.given)
        options->splitter = (parley_splitter)fields->splitter.value;
    if (fields->cpu.given && !parley_cpu_from_name(cli_cpu_choices[fields->cpu.value], &options->cpu))
        return cli_fail(error, PARLEY_ARGUMENT, "the library does not know the processor level \"%s\"", cli_cpu_choices[fields->cpu.value]);
    return PARLEY_OK;
}

parley_status cli_model_path(const cli_model_fields *fields, cli_buffer *buffer, parley_error *error)
{
    if (!fields->model.value && fields->model2.given)
        return cli_fail(error, PARLEY_ARGUMENT, "-m2 \"%.300s\" needs -m: they are the two files of one model", fields->model2.value);
    if (!fields->model.value)
        return cli_default_model(buffer, error);
    cli_append_text(buffer, fields->model.value);
    return buffer->failed ? cli_fail_memory(error) : PARLEY_OK;
}

parley_status cli_open_model(const cli_model_fields *fields, parley_parts parts, parley_model **model, double *seconds, parley_error *error)
{
    parley_open_options options;
    CLI_TRY(cli_open_options(fields, parts, &options, error));
    cli_buffer path = {0};
    double start = cli_seconds();
    parley_status status = cli_model_path(fields, &path, error);
    if (status == PARLEY_OK)
        status = cli_input_model(path.data, error);
    if (status == PARLEY_OK && fields->model2.given)
        status = cli_input_model(fields->model2.value, error);
    if (status == PARLEY_OK && options.codec_path)
        status = cli_input_model(options.codec_path, error);
    if (status == PARLEY_OK)
        status = parley_model_open(path.data, &options, model, error);
    if (seconds)
        *seconds = cli_seconds() - start;
    cli_buffer_free(&path);
    return status;
}
