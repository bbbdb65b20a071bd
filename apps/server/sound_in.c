/* Uploaded recordings to samples. */
#include "call.h"

parley_status srv_read_sound(srv_call *call, const srv_field *file, const parley_audio_options *options, parley_audio *audio)
{
    static const char name[] = "the uploaded file";
    parley_status status = parley_audio_read_memory(name, file->value.data ? file->value.data : "", file->value.size, options, audio, &call->error);
    if (status == PARLEY_OK && audio->count == 0)
        status = srv_fail(call, 400, "empty_audio", call->param, "%s holds no samples", name);
    if (status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED)
        call->http = 400;
    return status;
}
