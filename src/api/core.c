#include "api/options.h"
#include "base/cpu.h"
#include "engine/model.h"

#include <inttypes.h>

enum { MOST_THREADS = 256, DEFAULT_MOST_THREADS = 8 };

#define VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define VERSION_TEXT(a, b, c)  VERSION_TEXT_(a, b, c)

const char *parley_version(void)
{
    return VERSION_TEXT(PARLEY_VERSION_MAJOR, PARLEY_VERSION_MINOR, PARLEY_VERSION_PATCH);
}

void parley_open_options_init(parley_open_options *options)
{
    int cores = pl_cpu_cores();
    *options = (parley_open_options){.size = sizeof *options, .threads = cores < DEFAULT_MOST_THREADS ? cores : DEFAULT_MOST_THREADS};
}

parley_status pl_open_options_complete(const parley_open_options *given, parley_open_options *options, parley_error *error)
{
    parley_open_options_init(options);
    if (!given)
        return PARLEY_OK;
    if (given->size != sizeof *options)
        return pl_fail(error, PARLEY_ARGUMENT, "open options of %zu bytes, expected %zu: parley_open_options_init() was not called", given->size,
                       sizeof *options);
    *options = *given;
    if (options->threads < 1 || options->threads > MOST_THREADS)
        return pl_fail(error, PARLEY_ARGUMENT, "threads: %" PRId32 ", expected 1 to %d", options->threads, MOST_THREADS);
    if (options->parts > PARLEY_PARTS_CLONE)
        return pl_fail(error, PARLEY_ARGUMENT, "parts: %d is no parley_parts", (int)options->parts);
    if (options->cpu > PARLEY_CPU_I8MM)
        return pl_fail(error, PARLEY_ARGUMENT, "cpu: %d is no parley_cpu", (int)options->cpu);
    if (options->splitter > PARLEY_SPLITTER_MISTRAL)
        return pl_fail(error, PARLEY_ARGUMENT, "splitter: %d is no parley_splitter", (int)options->splitter);
    if (options->codec_type > PARLEY_CODEC_INT8)
        return pl_fail(error, PARLEY_ARGUMENT, "codec_type: %d is no parley_codec_type", (int)options->codec_type);
    return PARLEY_OK;
}

static parley_status missing_argument(const char *name, parley_error *error)
{
    return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", name);
}

static pl_location located(const char *path, const parley_open_options *options)
{
    return (pl_location){.path = path,
                         .second_path = options->second_path,
                         .codec_path = options->codec_path,
                         .parts = options->parts,
                         .codec_type = options->codec_type};
}

parley_status parley_model_open(const char *path, const parley_open_options *options, parley_model **model, parley_error *error)
{
    parley_open_options o;
    if (!path || !model)
        return missing_argument(!path ? "path" : "model", error);
    PL_TRY(pl_open_options_complete(options, &o, error));
    pl_location location = located(path, &o);
    return pl_model_open(&location, &o, model, error);
}

parley_status parley_model_open_memory(const parley_memory_file *files, size_t count, const parley_open_options *options, parley_model **model,
                                       parley_error *error)
{
    parley_open_options o;
    if (!files || !count || !model)
        return missing_argument(!model ? "model" : "files", error);
    PL_TRY(pl_open_options_complete(options, &o, error));
    if (o.codec_path || o.second_path)
        return pl_fail(error, PARLEY_ARGUMENT, "%s_path is set, expected NULL: with files in memory it is one of them",
                       o.codec_path ? "codec" : "second");
    pl_location location = {.memory = files, .n_memory = count, .parts = o.parts, .codec_type = o.codec_type};
    return pl_model_open(&location, &o, model, error);
}

void parley_model_close(parley_model *model)
{
    pl_model_close(model);
}

const parley_info *parley_model_info(const parley_model *model)
{
    return model->family->info(model->state);
}

parley_status parley_inspect(const char *path, const parley_open_options *options, parley_info **info, parley_error *error)
{
    parley_open_options o;
    if (!path || !info)
        return missing_argument(!path ? "path" : "info", error);
    PL_TRY(pl_open_options_complete(options, &o, error));
    pl_location location = located(path, &o);
    return pl_model_inspect(&location, &o, info, error);
}

parley_status parley_check(const char *path, const parley_open_options *options, void (*report)(void *context, const parley_finding *finding),
                           void *context, size_t *faults, parley_error *error)
{
    parley_open_options o;
    if (!path || !report || !faults)
        return missing_argument(!path ? "path" : !report ? "report" : "faults", error);
    PL_TRY(pl_open_options_complete(options, &o, error));
    pl_location location = located(path, &o);
    return pl_model_check(&location, &o, report, context, faults, error);
}

parley_status parley_tokenize(const parley_model *model, const char *text, size_t length, bool special_tokens, int32_t **ids, size_t *count,
                              parley_error *error)
{
    if (!model || !ids || !count || (!text && length))
        return missing_argument(!model ? "model" : !text && length ? "text" : "ids or count", error);
    return model->family->tokenize(model->state, text, length, special_tokens, ids, count, error);
}

void parley_free_ids(const parley_model *model, int32_t *ids, size_t count)
{
    pl_release(&model->env.allocator, ids, count, sizeof *ids);
}

void parley_bench_options_init(parley_bench_options *options)
{
    *options = (parley_bench_options){.size = sizeof *options, .runs = 5, .prompt = 107, .frames = 125, .int8_activations = true};
}

parley_status parley_model_bench(const parley_model *model, const parley_bench_options *options,
                                 void (*report)(void *context, const parley_bench_row *row), void *context, parley_error *error)
{
    parley_bench_options o;
    if (!model || !report)
        return missing_argument(!model ? "model" : "report", error);
    parley_bench_options_init(&o);
    if (options && options->size != sizeof o)
        return pl_fail(error, PARLEY_ARGUMENT, "bench options of %zu bytes, expected %zu", options->size, sizeof o);
    if (options)
        o = *options;
    if (o.runs < 1 || o.prompt < 1 || o.frames < 1)
        return pl_fail(error, PARLEY_ARGUMENT, "runs, prompt and frames: %" PRId32 ", %" PRId32 ", %" PRId32 ", expected at least 1 each", o.runs,
                       o.prompt, o.frames);
    return model->family->bench(model->state, &o, report, context, error);
}
