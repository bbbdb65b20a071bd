#include "models/qwen3_tts/family.h"

#include "models/common.h"

#include <string.h>

enum { MODEL_CHUNK = 1 << 16 };

static void model_close(void *model)
{
    tts_model *m = model;
    parley_allocator allocator = m->env.allocator;
    pl_tts_overlap_close(&m->overlap);
    pl_mel_close(m->mel);
    pl_tokenizer_close(m->tokenizer);
    pl_tts_files_close(&m->files);
    pl_arena_free(&m->arena);
    pl_release(&allocator, m, 1, sizeof *m);
}

static bool needs_text(parley_parts parts)
{
    return parts == PARLEY_PARTS_ALL || parts == PARLEY_PARTS_CLONE || parts == PARLEY_PARTS_TEXT;
}

/* Nothing in the two files of llama says that they are of one model but their width: the log names both, and doubts a talker with speakers of its own
 * beside the speaker encoder of a Base model. */
static void tell_pair(const tts_model *m)
{
    char text[PL_MODEL_WHERE], rest[PL_MODEL_WHERE];
    const tts_container *talker = m->files.part[TTS_TALKER], *predictor = m->files.part[TTS_PREDICTOR];
    if (!talker || !predictor || talker->dialect != TTS_LLAMA || predictor->dialect != TTS_LLAMA)
        return;
    pl_part_file_describe(talker, text, sizeof text);
    pl_part_file_describe(predictor, rest, sizeof rest);
    pl_log(&m->env.logger, PARLEY_LOG_INFO, "the text model is %s, the mmproj file %s", text, rest);
    if (m->config.n_speakers > 0 && m->config.has_speaker_encoder)
        pl_log(&m->env.logger, PARLEY_LOG_WARNING, "%s has speakers, but %s a speaker encoder, as a Base model does: are they of one model?", text,
               rest);
}

static parley_status check_encoder(const tts_model *m, parley_parts parts, parley_error *error)
{
    char where[PL_MODEL_WHERE];
    if (parts != PARLEY_PARTS_CODEC_ENCODER || m->config.has_encoder)
        return PARLEY_OK;
    pl_part_file_describe(m->files.part[TTS_CODEC], where, sizeof where);
    return pl_fail(
        error, PARLEY_MISSING,
        "%s: there is no codec encoder, so that no recording can become codes; speech_tokenizer directories and codec files of qwentts.cpp "
        "have one",
        where);
}

static bool is_int8(const tts_config *config, parley_codec_type type)
{
    return type == PARLEY_CODEC_STORED ? strcmp(config->codec_type, "int8") == 0 : type == PARLEY_CODEC_INT8;
}

static parley_status load_opened(tts_model *m, const pl_location *location, parley_error *error)
{
    tts_resolve how = {.needed = location->parts};
    PL_TRY(pl_tts_config_read(&m->files, &m->config, error));
    PL_TRY(check_encoder(m, location->parts, error));
    tell_pair(m);
    if (needs_text(location->parts))
        PL_TRY(pl_tts_tokenizer_open(&m->env.allocator, &m->files, &m->config, &m->tokenizer, error));
    if (location->parts != PARLEY_PARTS_TEXT)
        PL_TRY(pl_tts_tensors_resolve(&m->files, &m->config, &how, &m->tensors, error));
    tts_load parts = {location->parts, is_int8(&m->config, location->codec_type), pl_int8_pays(m->env.kernels->level)};
    PL_TRY(pl_tts_network_load(&m->arena, m->env.pool, &m->files, &m->config, &m->tensors, &parts, &m->network, error));
    if (m->network.codec && needs_text(location->parts)) /* it speaks */
        PL_TRY(pl_tts_overlap_open(&m->env.allocator, pl_pool_threads(m->env.pool), parts.codec_int8, &m->overlap, error));
    if (m->network.speaker)
        PL_TRY(pl_tts_mel_open(&m->env.allocator, &m->config, &m->mel, error));
    return pl_tts_info(&m->arena, &m->files, &m->config, &m->tensors, &m->network, &m->info, error);
}

static parley_status load(tts_model *m, const pl_location *location, parley_error *error)
{
    tts_open what = pl_files_of(location, false);
    PL_TRY(pl_tts_files_open(&m->env.allocator, &what, &m->files, error));
    return pl_model_files_blame(&m->files, TTS_LLAMA, load_opened(m, location, error), error);
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
    tts_tensors tensors = {0};
    tts_open what = pl_files_of(location, true);
    const tts_resolve nothing = {.needed = PARLEY_PARTS_TEXT}; /* whatever is there may be wrong */
    parley_status status = pl_tts_files_open(&environment->allocator, &what, &files, error);
    if (status == PARLEY_OK)
        status = pl_model_files_blame(&files, TTS_LLAMA, pl_tts_config_read(&files, &config, error), error);
    if (status == PARLEY_OK)
        status = pl_tts_tensors_resolve(&files, &config, &nothing, &tensors, error);
    if (status == PARLEY_OK)
        status = pl_tts_info(arena, &files, &config, &tensors, NULL, info, error);
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
    tts_open what = pl_files_of(location, true);
    PL_TRY(pl_tts_files_open(&environment->allocator, &what, files, error));
    PL_TRY(pl_model_files_blame(files, TTS_LLAMA, pl_tts_config_read(files, &config, error), error));
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
