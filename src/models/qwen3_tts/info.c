#include "models/qwen3_tts/family.h"

#include "models/common.h"
#include "models/qwen3_tts/fingerprint.h"

#include <stdio.h>
#include <string.h>

enum { SPEECH_SECONDS = 60, FRAMES_A_SECOND_2 = 25, PROMPT_GUESS = 256, WORK_SPACE = 64 << 20 };

static const char *const dialect_names[TTS_DIALECTS] = {"hf", "qwentts", "qts", "llama", "parley"};

/* "qts+qwentts": each dialect once, in the order of the parts. */
static parley_status name_dialects(pl_arena *arena, const tts_files *files, const char **name, parley_error *error)
{
    char text[64] = "";
    bool seen[TTS_DIALECTS] = {false};
    for (int p = 0; p < TTS_PARTS; p++) {
        const tts_container *c = files->part[p];
        if (!c || seen[c->dialect])
            continue;
        seen[c->dialect] = true;
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", at ? "+" : "", dialect_names[c->dialect]);
    }
    *name = pl_arena_text(arena, text, strlen(text));
    return *name ? PARLEY_OK : pl_fail_memory(error, "information");
}

/* Texts are copied: an inspected model's files are closed before its information is read. */
static parley_status list_languages(pl_arena *arena, const tts_config *config, parley_info *info, parley_error *error)
{
    const char **names = PL_NEW_ARRAY(arena, const char *, config->n_languages);
    if (!names)
        return pl_fail_memory(error, "information");
    for (int i = 0; i < config->n_languages; i++)
        if (!config->languages[i].dialect)
            PL_TRY(pl_copy_text(arena, config->languages[i].name, &names[info->n_languages++], error));
    info->languages = names;
    return PARLEY_OK;
}

static parley_status list_speakers(pl_arena *arena, const tts_config *config, parley_info *info, parley_error *error)
{
    parley_speaker *speakers = PL_NEW_ARRAY(arena, parley_speaker, config->n_speakers);
    if (!speakers)
        return pl_fail_memory(error, "information");
    for (int i = 0; i < config->n_speakers; i++) {
        PL_TRY(pl_copy_text(arena, config->speakers[i].name, &speakers[i].name, error));
        PL_TRY(pl_copy_text(arena, config->speakers[i].dialect, &speakers[i].dialect, error));
    }
    info->speakers = speakers;
    info->n_speakers = (size_t)config->n_speakers;
    return PARLEY_OK;
}

static parley_status list_types(pl_arena *arena, const tts_files *files, parley_info *info, parley_error *error)
{
    for (int i = 0; i < files->n_containers; i++)
        if (files->containers[i].has_weights)
            PL_TRY(pl_count_types(arena, &files->containers[i].container, info, error));
    return PARLEY_OK;
}

static void estimate_memory(const tts_config *config, const tts_network *network, parley_info *info)
{
    const pl_transformer_shape *t = &config->talker;
    info->kv_bytes_per_frame = (uint64_t)t->layers * 2 * (uint64_t)t->kv_heads * (uint64_t)t->head * sizeof(uint16_t);
    info->packed_bytes = network ? network->packed_bytes : 0;
    uint64_t weights = info->file_bytes > info->packed_bytes ? info->file_bytes : info->packed_bytes;
    uint64_t projected = config->has_projection ? pl_projected_bytes(config->groups - 2, config->codebook_size, config->predictor.width) : 0;
    info->memory_bytes = weights + projected + info->kv_bytes_per_frame * (SPEECH_SECONDS * FRAMES_A_SECOND_2 / 2 + PROMPT_GUESS) + WORK_SPACE;
}

static void copy_numbers(const tts_files *files, const tts_config *config, parley_info *info)
{
    info->has_talker = files->part[TTS_TALKER] != NULL;
    info->has_predictor = files->part[TTS_PREDICTOR] != NULL;
    info->has_speaker_encoder = files->part[TTS_SPEAKER] != NULL;
    info->has_codec = files->part[TTS_CODEC] != NULL;
    info->has_codec_encoder = config->has_encoder;
    info->has_tokenizer = files->part[TTS_TOKENIZER] != NULL;
    info->file_bytes = files->file_bytes;
    info->talker_width = config->talker.width;
    info->talker_layers = config->talker.layers;
    info->predictor_width = config->predictor.width;
    info->predictor_layers = config->predictor.layers;
    info->groups = config->groups ? config->groups : config->codec.groups;
    info->codebook_size = config->codebook_size ? config->codebook_size : config->codec.codebook_size;
    info->text_vocabulary = config->text_vocabulary;
    info->xvector_length = config->xvector_length;
    info->context_length = config->context_length;
    info->max_new_tokens = config->generation.max_new_tokens;
    if (config->has_codec) {
        info->sample_rate = config->codec.sample_rate;
        info->samples_per_frame = pl_codec_samples_per_frame(&config->codec);
    }
}

/* What a speaker vector of this model can be used with. */
static parley_status name_identity(pl_arena *arena, parley_info *info, parley_error *error)
{
    char text[160];
    snprintf(text, sizeof text, "qwen3_tts-%.32s-%.16s-v%d-g%d-c%d", info->model_type[0] ? info->model_type : "codec", info->model_size,
             (int)info->xvector_length, (int)info->groups, (int)info->codebook_size);
    return pl_copy_text(arena, text, &info->identity, error);
}

parley_status pl_tts_info(pl_arena *arena, const tts_files *files, const tts_config *config, const tts_tensors *tensors, const tts_network *network,
                          parley_info *info, parley_error *error)
{
    *info = (parley_info){.size = sizeof *info, .family = "qwen3_tts"};
    copy_numbers(files, config, info);
    PL_TRY(pl_copy_text(arena, config->model_type, &info->model_type, error));
    PL_TRY(pl_copy_text(arena, config->model_size, &info->model_size, error));
    PL_TRY(name_identity(arena, info, error));
    PL_TRY(pl_codec_fingerprint(arena, &config->codec, &tensors->codec, &info->codec_identity, error));
    PL_TRY(name_dialects(arena, files, &info->dialect, error));
    PL_TRY(list_languages(arena, config, info, error));
    PL_TRY(list_speakers(arena, config, info, error));
    PL_TRY(list_types(arena, files, info, error));
    estimate_memory(config, network, info);
    return PARLEY_OK;
}
