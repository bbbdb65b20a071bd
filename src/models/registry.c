#include "models/qwen3_tts/family.h"

const pl_family *const *pl_families(void)
{
    static const pl_family *const families[] = {&pl_family_qwen3_tts, NULL};
    return families;
}
