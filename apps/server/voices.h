/* Which voice a request means, and the directory of voices. */
#ifndef SERVER_VOICES_H
#define SERVER_VOICES_H

#include "call.h"

#include <cjson/cJSON.h>

/* Sets the voice of the options: "default", a speaker of the model, a voice of the directory, an alias of one, "none". `*voice` (may become NULL)
 * must stay until the options have been used, then parley_voice_free(). `value` is a string or {"id": string}; NULL: the default. Fails with the list
 * of voices. */
parley_status srv_voice_find(srv_call *call, const srv_model *model, const cJSON *value, parley_tts_options *options, parley_voice **voice);

#endif
