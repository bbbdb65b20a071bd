#include "models/qwen3_tts/budget.h"

enum { BASE_FRAMES = 75, FRAMES_PER_ID = 16 };

int32_t pl_tts_frame_budget(int64_t text_ids, int32_t max_new_tokens)
{
    /* The frame of the last of M tokens would be completed in the step after it, so M tokens give M - 1 frames. */
    int32_t most = max_new_tokens > 1 ? max_new_tokens - 1 : 1;
    int64_t ids = text_ids > 0 ? text_ids : 0;
    if (ids > (INT32_MAX - BASE_FRAMES) / FRAMES_PER_ID)
        return most;
    int32_t budget = BASE_FRAMES + FRAMES_PER_ID * (int32_t)ids;
    return budget < most ? budget : most;
}
