/* A checkpoint as one file of the dialect `parley`. */
#include "models/qwen3_tts/family.h"

#include "models/quantize.h"

/* All that is open while the file is written. */
typedef struct writing {
    tts_files files;
    tts_config config;
    tts_tensors tensors;
    pl_tokenizer *tokenizer;
    pl_quantization plan;
} writing;

static parley_status open_source(writing *w, const pl_environment *env, const pl_location *location, parley_error *error)
{
    tts_open what = pl_files_of(location, false);
    what.needed = PARLEY_PARTS_CLONE;
    return pl_tts_files_open(&env->allocator, &what, &w->files, error);
}

static parley_status read_source(writing *w, const pl_environment *env, parley_error *error)
{
    tts_resolve how = {.needed = PARLEY_PARTS_CLONE};
    PL_TRY(pl_tts_config_read(&w->files, &w->config, error));
    PL_TRY(pl_tts_tokenizer_open(&env->allocator, &w->files, &w->config, &w->tokenizer, error));
    return pl_tts_tensors_resolve(&w->files, &w->config, &how, &w->tensors, error);
}

/* A codec that is stored in 8 bits runs in 8 bits; one in another type does not. */
static void name_codec_type(writing *w)
{
    parley_weight codec = w->plan.options->codec;
    if (codec != PARLEY_WEIGHT_KEEP)
        w->config.codec_type = codec == PARLEY_WEIGHT_Q8_0 ? "int8" : "f32";
}

static parley_status write_file(writing *w, const pl_sink *sink, parley_error *error)
{
    name_codec_type(w);
    PL_TRY(pl_tts_tensors_list(&w->files, &w->config, &w->tensors, &w->plan, error));
    PL_TRY(pl_quantization_plan(&w->plan, error));
    PL_TRY(pl_tts_config_write(&w->files, &w->config, &w->plan.arena, &w->plan.head, error));
    return pl_quantization_write(&w->plan, w->tokenizer, sink, error);
}

parley_status pl_tts_quantize(const pl_environment *environment, const pl_location *location, const parley_quantize_options *options,
                              const pl_sink *sink, parley_error *error)
{
    writing w = {0};
    pl_quantization_init(&w.plan, environment, options, pl_family_qwen3_tts.name, location->path);
    parley_status status = open_source(&w, environment, location, error);
    if (status == PARLEY_OK)
        status = pl_model_files_blame(&w.files, TTS_LLAMA, read_source(&w, environment, error), error);
    if (status == PARLEY_OK)
        status = write_file(&w, sink, error);
    pl_quantization_free(&w.plan);
    pl_tokenizer_close(w.tokenizer);
    pl_tts_files_close(&w.files);
    return status;
}
