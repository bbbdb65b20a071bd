#include "models/qwen3_tts/family.h"

#include "models/common.h"

enum { MODEL_CHUNK = 1 << 16 };

static void model_close(void *model)
{
    tts_model *m = model;
    parley_allocator allocator = m->env.allocator;
    pl_mel_close(m->mel);
    pl_tokenizer_close(m->tokenizer);
    pl_tts_files_close(&m->files);
    pl_arena_free(&m->arena);
    pl_release(&allocator, m, 1, sizeof *m);
}

static tts_open files_of(const pl_location *location, bool any)
{
    return (tts_open){.path = location->path,
                      .memory = location->memory,
                      .n_memory = location->n_memory,
                      .codec_path = location->codec_path,
                      .needed = location->parts,
                      .any = any};
}

static bool needs_text(parley_parts parts)
{
    return parts == PARLEY_PARTS_ALL || parts == PARLEY_PARTS_CLONE || parts == PARLEY_PARTS_TEXT;
}

static parley_status load(tts_model *m, const pl_location *location, parley_error *error)
{
    tts_open what = files_of(location, false);
    tts_resolve how = {.needed = location->parts};
    PL_TRY(pl_tts_files_open(&m->env.allocator, &what, &m->files, error));
    PL_TRY(pl_tts_config_read(&m->files, &m->config, error));
    if (needs_text(location->parts))
        PL_TRY(pl_tts_tokenizer_open(&m->env.allocator, &m->files, &m->config, &m->tokenizer, error));
    if (location->parts != PARLEY_PARTS_TEXT)
        PL_TRY(pl_tts_tensors_resolve(&m->files, &m->config, &how, &m->tensors, error));
    PL_TRY(pl_tts_network_load(&m->arena, m->env.pool, &m->files, &m->config, &m->tensors, location->parts, &m->network, error));
    if (m->network.speaker)
        PL_TRY(pl_tts_mel_open(&m->env.allocator, &m->config, &m->mel, error));
    return pl_tts_info(&m->arena, &m->files, &m->config, &m->network, &m->info, error);
}

static parley_status model_open(const pl_environment *environment, const pl_location *location, void **model, parley_error *error)
{
    tts_model *m = pl_alloc(&environment->allocator, 1, sizeof *m);
    if (!m)
        return pl_fail_memory(error, "a model");
    *m = (tts_model){.env = *environment, .parts = location->parts};
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
    return &((const tts_model *)model)->info;
}

static parley_status inspect_files(const pl_environment *environment, const pl_location *location, pl_arena *arena, parley_info *info,
                                   parley_error *error)
{
    tts_files files = {0};
    tts_config config = {0};
    tts_open what = files_of(location, true);
    parley_status status = pl_tts_files_open(&environment->allocator, &what, &files, error);
    if (status == PARLEY_OK)
        status = pl_tts_config_read(&files, &config, error);
    if (status == PARLEY_OK)
        status = pl_tts_info(arena, &files, &config, NULL, info, error);
    pl_tts_files_close(&files);
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

static parley_status check_files(const pl_environment *environment, const pl_location *location, tts_files *files, const tts_resolve *how,
                                 parley_error *error)
{
    tts_config config = {0};
    tts_tensors tensors = {0};
    tts_open what = files_of(location, true);
    PL_TRY(pl_tts_files_open(&environment->allocator, &what, files, error));
    PL_TRY(pl_tts_config_read(files, &config, error));
    return pl_tts_tensors_resolve(files, &config, how, &tensors, error);
}

static parley_status model_check(const pl_environment *environment, const pl_location *location, pl_report_finding report, void *context,
                                 size_t *faults, parley_error *error)
{
    tts_files files = {0};
    tts_resolve how = {.needed = PARLEY_PARTS_ALL, .report = report, .context = context, .values = true, .faults = faults};
    *faults = 0;
    parley_status status = check_files(environment, location, &files, &how, error);
    pl_tts_files_close(&files);
    return status;
}

static parley_status model_tokenize(const void *model, const char *text, size_t length, bool special_tokens, int32_t **ids, size_t *count,
                                    parley_error *error)
{
    const tts_model *m = model;
    return pl_model_tokenize(&m->env, m->tokenizer, text, length, special_tokens, ids, count, error);
}

const pl_family pl_family_qwen3_tts = {
    .name = "qwen3_tts",
    .probe = pl_tts_probe,
    .open = model_open,
    .close = model_close,
    .info = model_info,
    .inspect = model_inspect,
    .check = model_check,
    .tokenize = model_tokenize,
    .bench = pl_tts_bench,
    .quantize = pl_tts_quantize,
    .tts = &pl_tts_ops_qwen3,
};
