/* What the configuration of a Qwen3-TTS checkpoint says, whatever the dialect (spec/qwen3_tts.md 1; spec/gguf_dialects.md A, C). */
#ifndef PL_MODELS_QWEN3_TTS_CONFIG_H
#define PL_MODELS_QWEN3_TTS_CONFIG_H

#include "codec/encoder.h"
#include "nn/transformer.h"
#include "voice/speaker.h"

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
    bool text_is_projected; /* the text table is as wide as the talker: there is no text projection */
    /* code predictor */
    pl_transformer_shape predictor;
    int32_t groups, codebook_size;
    bool has_projection; /* talker width -> predictor width; else the widths are equal */
    /* speaker encoder: of use from the cloning issue on; its vector's length is needed for voices given as vectors */
    bool has_speaker_encoder;
    int32_t xvector_length; /* = talker width for Base; 0 where the model takes none */
    pl_speaker_shape speaker;
    /* codec */
    bool has_codec;
    pl_codec_shape codec;
    const char *codec_type; /* "int8": stored to be run so; "f32" */
    bool snake_is_final;    /* alpha and 1 / beta are stored as used, not as logarithms */
    bool has_encoder;
    pl_encoder_shape encoder;
} tts_config;

#endif
