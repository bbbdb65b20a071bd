#include "models/qwen3_asr/family.h"

#include "models/common.h"

enum { SOUND_SECONDS = 60, ROWS_A_SECOND = 13, TOKENS_A_SECOND = 12, WORK_SPACE = 64 << 20 };

static const char *const dialect_names[ASR_DIALECTS] = {"hf", "transcribe", "llama", "parley"};

static parley_status list_languages(pl_arena *arena, const asr_config *config, parley_info *info, parley_error *error)
{
    const char **names = PL_NEW_ARRAY(arena, const char *, config->n_languages);
    if (!names)
        return pl_fail_memory(error, "information");
    for (int i = 0; i < config->n_languages; i++)
        PL_TRY(pl_copy_text(arena, config->languages[i].name, &names[i], error));
    info->languages = names;
    info->n_languages = (size_t)config->n_languages;
    return PARLEY_OK;
}

static void copy_numbers(const asr_files *files, const asr_config *config, const asr_network *network, parley_info *info)
{
    const pl_transformer_shape *t = &config->text;
    info->has_audio_encoder = files->part[ASR_TOWER] != NULL;
    info->has_text_decoder = files->part[ASR_TEXT] != NULL;
    info->has_tokenizer = files->part[ASR_TOKENIZER] != NULL;
    info->file_bytes = files->file_bytes;
    info->packed_bytes = network ? network->packed_bytes : 0;
    info->encoder_width = config->tower.width;
    info->encoder_layers = config->tower.layers;
    info->decoder_width = t->width;
    info->decoder_layers = t->layers;
    info->text_vocabulary = config->vocabulary;
    info->context_length = config->context_length;
    info->sample_rate = config->front.sample_rate;
    info->kv_bytes_per_frame = (uint64_t)t->layers * 2 * (uint64_t)t->kv_heads * (uint64_t)t->head * sizeof(uint16_t);
    uint64_t weights = info->file_bytes > info->packed_bytes ? info->file_bytes : info->packed_bytes;
    info->memory_bytes = weights + info->kv_bytes_per_frame * SOUND_SECONDS * (ROWS_A_SECOND + TOKENS_A_SECOND) + WORK_SPACE;
}

parley_status pl_asr_info(pl_arena *arena, const asr_files *files, const asr_config *config, const asr_network *network, parley_info *info,
                          parley_error *error)
{
    *info = (parley_info){.size = sizeof *info,
                          .family = "qwen3_asr",
                          .dialect = "",
                          .identity = "",
                          .codec_identity = "",
                          .model_size = "",
                          .model_type = config->aligner ? "aligner" : "recogniser"};
    copy_numbers(files, config, network, info);
    for (int p = ASR_PARTS - 1; p >= 0; p--)
        if (files->part[p])
            info->dialect = dialect_names[files->part[p]->dialect];
    PL_TRY(list_languages(arena, config, info, error));
    for (int i = 0; i < files->n_containers; i++)
        if (files->containers[i].has_weights)
            PL_TRY(pl_count_types(arena, &files->containers[i].container, info, error));
    return PARLEY_OK;
}
