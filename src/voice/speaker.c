#include "voice/speaker.h"

parley_status pl_speaker_load(pl_loader *loader, const pl_speaker_shape *shape, const pl_speaker_tensors *tensors, pl_speaker **speaker,
                              parley_error *error)
{
    (void)loader, (void)shape, (void)tensors, (void)speaker;
    return pl_fail(error, PARLEY_UNSUPPORTED, "speaker encoders are not in this version");
}
