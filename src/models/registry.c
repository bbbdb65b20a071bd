#include "models/qwen3_asr/family.h"
#include "models/qwen3_tts/family.h"

const pl_family *const *pl_families(void)
{
    static const pl_family *const families[] = {&pl_family_qwen3_tts, &pl_family_qwen3_asr, NULL};
    return families;
}
