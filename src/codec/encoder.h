/* PCM -> codes: Mimi-style encoder, causal transformer, downsampling, residual quantiser (spec/qwen3_tts.md 6.1, 6.2). float32 throughout. */
#ifndef PL_CODEC_ENCODER_H
#define PL_CODEC_ENCODER_H

#include "base/stop.h"
#include "base/tap.h"
#include "codec/decoder.h"
#include "nn/transformer.h"

typedef struct pl_encoder_shape {
    int groups, codebook_size, codebook_width; /* groups: those that are used, the semantic one (the first) included */
    int filters, width;                        /* channels behind the first convolution; of the transformer */
    pl_transformer_shape transformer;          /* plain blocks, LayerScale, no window, no final norm */
    int n_ratios, ratios[PL_CODEC_MAX_RATES];  /* strides as they are applied: 4 5 6 8 */
} pl_encoder_shape;

/* Views in upstream's shapes. Stage i takes c = filters << i channels to 2 c. */
typedef struct pl_encoder_tensors {
    pl_conv_tensors conv0; /* [filters, 1, 7] */
    struct pl_encoder_stage_tensors {
        pl_conv_tensors res1, res2; /* [c / 2, c, 3], [c, c / 2, 1] */
        pl_conv_tensors down;       /* [2 c, c, 2 ratio] */
    } stages[PL_CODEC_MAX_RATES];
    pl_conv_tensors conv1; /* [width, filters << n_ratios, 3] */
    struct pl_encoder_block_tensors {
        pl_conv_tensors norm1, norm2; /* [width], [width] */
        pl_tensor q, k, v, o, attention_scale, ffn_scale, up, down;
    } * blocks;                         /* [transformer.layers] */
    pl_tensor downsample;               /* [width, width, 4], stride 2, no bias, replicate padding */
    pl_tensor semantic_in, acoustic_in; /* [codebook_width, width, 1] */
    pl_tensor *codebooks;               /* [groups] of [codebook_size, codebook_width]; as in pl_codec_tensors */
    pl_tensor *usages;                  /* [groups] of [codebook_size]; data NULL: rows are final */
} pl_encoder_tensors;

typedef struct pl_codec_encoder pl_codec_encoder;

parley_status pl_codec_encoder_load(pl_loader *loader, const pl_encoder_shape *shape, const pl_encoder_tensors *tensors, pl_codec_encoder **encoder,
                                    parley_error *error);

/* ceil(samples / samples per frame). */
int64_t pl_codec_encoder_frames(const pl_codec_encoder *encoder, int64_t samples);

/* pcm [samples], samples >= 1 -> codes [frames][groups]. Memory grows with length only where the transformer's rows and cache do: the convolutions
 * work in pieces. `stop` NULL or asked between pieces and layers. Errors: VALUE (naming the sample that is not finite), CANCELLED, MEMORY. */
parley_status pl_codec_encode(pl_compute *compute, const pl_codec_encoder *encoder, const float *pcm, int64_t samples, int32_t *codes,
                              const pl_stop *stop, const pl_tap *tap, parley_error *error);

#endif
