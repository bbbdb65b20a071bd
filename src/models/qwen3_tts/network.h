/* The weights of a checkpoint as networks: talker, code predictor, text projection, codec. */
#ifndef PL_MODELS_QWEN3_TTS_NETWORK_H
#define PL_MODELS_QWEN3_TTS_NETWORK_H

#include "codec/encoder.h"
#include "lm/decoder.h"
#include "lm/load.h"
#include "models/qwen3_tts/projected.h"
#include "models/qwen3_tts/tensors.h"
#include "voice/speaker.h"

typedef struct tts_network {
    pl_tensor text_embedding;  /* [text_vocabulary, text_width], in the file */
    pl_linear fc1, fc2;        /* text projection: fc2(silu(fc1(x))); w.data NULL: the table is projected already */
    pl_tensor codec_embedding; /* [codec_vocabulary, width], in the file */
    pl_transformer talker;
    pl_linear codec_head;            /* [codec_vocabulary, width] */
    pl_tensor *predictor_embeddings; /* [groups - 1] of [codebook_size, talker width], in the file */
    pl_linear projection;            /* talker width -> predictor width; w.data NULL: identity */
    pl_projected projected;          /* rows of predictor_embeddings but the last behind it */
    pl_transformer predictor;
    pl_linear *predictor_heads; /* [groups - 1] of [codebook_size, predictor width] */
    pl_codec_decoder *codec;    /* NULL: not there */
    pl_speaker *speaker;        /* likewise */
    pl_codec_encoder *encoder;  /* likewise */
    uint64_t packed_bytes;
} tts_network;

/* What is wanted of a network. */
typedef struct tts_load {
    parley_parts parts;
    bool codec_int8;
    bool int8_activations; /* what sessions take unless told otherwise */
} tts_load;

/* Packs that into `arena` (the model's). MEMORY. */
parley_status pl_tts_network_load(pl_arena *arena, pl_pool *pool, tts_files *files, const tts_config *config, const tts_tensors *tensors,
                                  const tts_load *what, tts_network *network, parley_error *error);

#endif
