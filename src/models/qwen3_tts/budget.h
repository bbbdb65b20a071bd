#ifndef PL_MODELS_QWEN3_TTS_BUDGET_H
#define PL_MODELS_QWEN3_TTS_BUDGET_H

#include <stdint.h>

/* Most frames that a text of `text_ids` ids may take when the caller set no number: min(75 + 16 * text_ids, max_new_tokens - 1), at least 1.
 *
 * Why there is a budget: about one request in 300 of the Base models never comes to the end of its speech; the score of the end token then ranks
 * far outside any top-k, so no setting of the sampler helps, and the run goes on in near silence up to max_new_tokens (minutes of it). Why it is
 * this wide: 75 frames (6 s) alone, or 6 frames a text id, have cut slow speech ("sad, low, slow"). 6 s and 16 frames (1.28 s) an id together
 * leave room for pauses, and numbers, of which one id may be several words. */
int32_t pl_tts_frame_budget(int64_t text_ids, int32_t max_new_tokens);

#endif
