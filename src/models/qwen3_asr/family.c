#include "models/qwen3_asr/family.h"

#include "models/common.h"

enum { MODEL_CHUNK = 1 << 16 };

static void model_close(void *model)
{
    asr_model *m = model;
    parley_allocator allocator = m->env.allocator;
    pl_activity_close(m->activity);
    pl_mel_close(m->mel);
    pl_tokenizer_close(m->tokenizer);
    pl_asr_files_close(&m->files);
    pl_arena_free(&m->arena);
    pl_release(&allocator, m, 1, sizeof *m);
}

/* spec/qwen3_asr.md 2.2, with the tail filled up to a whole hop. */
static parley_status open_mel(asr_model *m, parley_error *error)
{
    const asr_front *f = &m->config.front;
    pl_mel_shape shape = {.sample_rate = f->sample_rate,
                          .fft = f->fft,
                          .window = f->fft,
                          .hop = f->hop,
                          .bands = f->mels,
                          .padding = f->fft / 2,
                          .power = true,
                          .high = f->sample_rate / 2.0,
                          .floor = 1e-10f,
                          .log = PL_MEL_LOG_WHISPER,
                          .ceil_frames = true};
    return pl_mel_open(&m->env.allocator, &shape, &m->mel, error);
}

static parley_status load_opened(asr_model *m, const pl_location *location, parley_error *error)
{
    asr_resolve how = {0};
    PL_TRY(pl_asr_config_read(&m->files, &m->config, error));
    PL_TRY(pl_asr_tokenizer_open(&m->env.allocator, &m->files, &m->config, &m->tokenizer, error));
    if (location->parts != PARLEY_PARTS_TEXT) {
        PL_TRY(pl_asr_tensors_resolve(&m->files, &m->config, &how, &m->tensors, error));
        PL_TRY(pl_asr_network_load(&m->arena, m->env.pool, &m->files, &m->config, &m->tensors, &m->network, error));
        PL_TRY(open_mel(m, error));
        PL_TRY(pl_activity_open(&m->env.allocator, &m->activity, error));
    }
    return pl_asr_info(&m->arena, &m->files, &m->config, &m->network, &m->info, error);
}

static parley_status load(asr_model *m, const pl_location *location, parley_error *error)
{
    asr_open what = pl_files_of(location, false);
    PL_TRY(pl_asr_files_open(&m->env.allocator, &what, &m->files, error));
    return pl_model_files_blame(&m->files, ASR_LLAMA, load_opened(m, location, error), error);
}

static parley_status model_open(const pl_environment *environment, const pl_location *location, void **model, parley_error *error)
{
    if (location->codec_path)
        return pl_fail(error, PARLEY_ARGUMENT, "a codec was given, a model that hears has none");
    asr_model *m = pl_alloc(&environment->allocator, 1, sizeof *m);
    if (!m)
        return pl_fail_memory(error, "a model");
    *m = (asr_model){.env = *environment, .parts = location->parts};
    pl_arena_init(&m->arena, &environment->allocator, MODEL_CHUNK);
    parley_status status = load(m, location, error);
    if (status != PARLEY_OK) {
        model_close(m);
        return status;
    }
    *model = m;
    return PARLEY_OK;
}

static const parley_info *model_info(const void *model)
{
    return &((const asr_model *)model)->info;
}

static parley_status inspect_files(const pl_environment *environment, const pl_location *location, pl_arena *arena, parley_info *info,
                                   parley_error *error)
{
    asr_files files = {0};
    asr_config config = {0};
    asr_open what = pl_files_of(location, true);
    PL_TRY(pl_asr_files_open(&environment->allocator, &what, &files, error));
    parley_status status = pl_model_files_blame(&files, ASR_LLAMA, pl_asr_config_read(&files, &config, error), error);
    if (status == PARLEY_OK)
        status = pl_asr_info(arena, &files, &config, NULL, info, error);
    pl_asr_files_close(&files);
    return status;
}

static parley_status model_inspect(const pl_environment *environment, const pl_location *location, parley_info **info, parley_error *error)
{
    pl_arena *arena;
    PL_TRY(pl_owned_info_open(&environment->allocator, info, &arena, error));
    parley_status status = inspect_files(environment, location, arena, *info, error);
    if (status != PARLEY_OK) {
        parley_info_free(*info);
        *info = NULL;
    }
    return status;
}

static parley_status model_check(const pl_environment *environment, const pl_location *location, pl_report_finding report, void *context,
                                 size_t *faults, parley_error *error)
{
    asr_files files = {0};
    asr_config config = {0};
    asr_tensors tensors = {0};
    asr_open what = pl_files_of(location, true);
    asr_resolve how = {.report = report, .context = context, .values = true, .faults = faults};
    *faults = 0;
    PL_TRY(pl_asr_files_open(&environment->allocator, &what, &files, error));
    parley_status status = pl_model_files_blame(&files, ASR_LLAMA, pl_asr_config_read(&files, &config, error), error);
    if (status == PARLEY_OK)
        status = pl_asr_tensors_resolve(&files, &config, &how, &tensors, error);
    pl_asr_files_close(&files);
    return status;
}

static parley_status model_tokenize(const void *model, const char *text, size_t length, bool special_tokens, int32_t **ids, size_t *count,
                                    parley_error *error)
{
    const asr_model *m = model;
    return pl_model_tokenize(&m->env, m->tokenizer, text, length, special_tokens, ids, count, error);
}

const pl_family pl_family_qwen3_asr = {
    .name = "qwen3_asr",
    .probe = pl_asr_probe,
    .open = model_open,
    .close = model_close,
    .info = model_info,
    .inspect = model_inspect,
    .check = model_check,
    .tokenize = model_tokenize,
    .bench = pl_asr_bench,
    .quantize = pl_asr_quantize,
    .asr = &pl_asr_ops_qwen3,
};
