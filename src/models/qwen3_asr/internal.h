/* What the files of the loader share; of no use outside this folder. */
#ifndef PL_MODELS_QWEN3_ASR_INTERNAL_H
#define PL_MODELS_QWEN3_ASR_INTERNAL_H

#include "models/qwen3_asr/tensors.h"
#include "models/values.h"

/* languages.c: the list of the files into the configuration, which is upstream's own where a GGUF file has none. */
parley_status pl_asr_languages_read(const pl_values *from, asr_config *config);
void pl_asr_languages_write(const asr_config *config, pl_gguf_head *head);

#endif
