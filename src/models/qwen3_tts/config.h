/* What the configuration of a Qwen3-TTS checkpoint says, whatever the dialect (spec/qwen3_tts.md 1; spec/gguf_dialects.md A, C). */
#ifndef PL_MODELS_QWEN3_TTS_CONFIG_H
#define PL_MODELS_QWEN3_TTS_CONFIG_H

#include "codec/decoder.h"
#include "nn/transformer.h"

typedef struct tts_language {
    const char *name; /* lower case */
    int32_t id;       /* row of the codec embedding */
    bool dialect;     /* name holds "dialect": not offered to callers */
} tts_language;

typedef struct tts_speaker {
    const char *name; /* lower case */
    int32_t id;
    const char *dialect; /* language name, "" = none */
} tts_speaker;

typedef struct tts_generation {
    bool do_sample, sub_do_sample;
    float temperature, top_p, repetition_penalty, sub_temperature, sub_top_p;
    int32_t top_k, sub_top_k, max_new_tokens;
} tts_generation;

/* The codec's encoder (spec 1.7): codes from reference audio. */
typedef struct tts_encoder_shape {
    int groups, codebook_size, codebook_width; /* groups: those that are used, the semantic one included */
    int filters, width;                        /* channels behind the first convolution; of the transformer */
    pl_transformer_shape transformer;
    int n_ratios, ratios[PL_CODEC_MAX_RATES]; /* strides as they are applied: 4 5 6 8 */
} tts_encoder_shape;

typedef struct tts_speaker_shape {
    int channels, mfa_channels, attention_channels, se_channels, scale, mels; /* 0 when absent */
} tts_speaker_shape;

typedef struct tts_config {
    const char *model_type; /* "base", "custom_voice", "voice_design"; "" where no part tells */
    const char *model_size; /* "0b6", "1b7", "" */
    /* talker */
    pl_transformer_shape talker;
    int32_t text_vocabulary, text_width, codec_vocabulary, context_length;
    int32_t im_start, im_end, tts_pad, tts_bos, tts_eos;                           /* text ids */
    int32_t codec_pad, codec_bos, codec_eos, think, nothink, think_bos, think_eos; /* rows of the codec embedding */
    const tts_language *languages;
    int n_languages;
    const tts_speaker *speakers;
    int n_speakers;
    tts_generation generation;
    /* code predictor */
    pl_transformer_shape predictor;
    int32_t groups, codebook_size;
    bool has_projection; /* talker width -> predictor width; else the widths are equal */
    /* speaker encoder: of use from the cloning issue on; its vector's length is needed for voices given as vectors */
    bool has_speaker_encoder;
    int32_t xvector_length; /* = talker width for Base; 0 where the model takes none */
    tts_speaker_shape speaker;
    /* codec */
    bool has_codec;
    pl_codec_shape codec;
    bool has_encoder;
    tts_encoder_shape encoder;
} tts_config;

#endif
