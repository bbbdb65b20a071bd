/* A checkpoint as one file of the dialect `parley`. */
#include "models/qwen3_asr/family.h"

#include "models/quantize.h"

/* All that is open while the file is written. */
typedef struct writing {
    asr_files files;
    asr_config config;
    asr_tensors tensors;
    pl_tokenizer *tokenizer;
    pl_quantization plan;
} writing;

static parley_status open_source(writing *w, const pl_environment *env, const pl_location *location, parley_error *error)
{
    asr_open what = pl_files_of(location, false);
    what.needed = PARLEY_PARTS_ALL;
    return pl_asr_files_open(&env->allocator, &what, &w->files, error);
}

static parley_status read_source(writing *w, const pl_environment *env, parley_error *error)
{
    asr_resolve how = {0};
    PL_TRY(pl_asr_config_read(&w->files, &w->config, error));
    PL_TRY(pl_asr_tokenizer_open(&env->allocator, &w->files, &w->config, &w->tokenizer, error));
    return pl_asr_tensors_resolve(&w->files, &w->config, &how, &w->tensors, error);
}

/* A head that is a copy of the table is not stored, so that the file is tied. */
static parley_status write_file(writing *w, const pl_sink *sink, parley_error *error)
{
    w->config.tied = !w->tensors.head.data;
    PL_TRY(pl_asr_tensors_list(&w->files, &w->config, &w->tensors, &w->plan, error));
    PL_TRY(pl_quantization_plan(&w->plan, error));
    pl_asr_config_write(&w->config, &w->plan.head);
    return pl_quantization_write(&w->plan, w->tokenizer, sink, error);
}

parley_status pl_asr_quantize(const pl_environment *environment, const pl_location *location, const parley_quantize_options *options,
                              const pl_sink *sink, parley_error *error)
{
    writing w = {0};
    if (location->codec_path)
        return pl_fail(error, PARLEY_ARGUMENT, "a codec was given, a model that hears has none");
    pl_quantization_init(&w.plan, environment, options, pl_family_qwen3_asr.name, location->path);
    parley_status status = open_source(&w, environment, location, error);
    if (status == PARLEY_OK)
        status = pl_model_files_blame(&w.files, ASR_LLAMA, read_source(&w, environment, error), error);
    if (status == PARLEY_OK)
        status = write_file(&w, sink, error);
    pl_quantization_free(&w.plan);
    pl_tokenizer_close(w.tokenizer);
    pl_asr_files_close(&w.files);
    return status;
}
