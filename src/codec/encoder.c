#include "codec/encoder.h"

parley_status pl_codec_encoder_load(pl_loader *loader, const pl_encoder_shape *shape, const pl_encoder_tensors *tensors, pl_codec_encoder **encoder,
                                    parley_error *error)
{
    (void)loader, (void)shape, (void)tensors, (void)encoder;
    return pl_fail(error, PARLEY_UNSUPPORTED, "codec encoders are not in this version");
}
