/* The configuration as tables: field, kind, where it must be, range, path in JSON, keys in GGUF files (spec/qwen3_asr.md 1.2;
 * spec/gguf_dialects.md B.3, B.4, D.7, D.8). Included by config.c alone. */
#ifndef PL_MODELS_QWEN3_ASR_CONFIG_TABLES_H
#define PL_MODELS_QWEN3_ASR_CONFIG_TABLES_H

#include "models/qwen3_asr/internal.h"

#define FIELD(name) offsetof(asr_config, name)

enum { OPTIONAL = 0, OWN = 1 << ASR_HF | 1 << ASR_PARLEY, ALWAYS = OWN | 1 << ASR_TRANSCRIBE, STATED = ALWAYS | 1 << ASR_LLAMA };

/* Limits far above any model of this family and far below what arithmetic on sizes could not take. */
#define SIZE      1, 1 << 16
#define ROWS      1, 1 << 24
#define LAYERS_OF 1, 512
#define HEADS     1, 1024
#define HEAD_SIZE 2, 1024
#define EPS       0, 1
#define THETA     1e-3, 1e15
#define ID        0, 1 << 24

/* Rows stay as they are typed: one a line where it fits. */
/* clang-format off */

#define THINKER "thinker_config."
#define AUDIO(name) THINKER "audio_config." name
#define TEXT(name) THINKER "text_config." name
#define G "stt.qwen3_asr."
#define L "qwen3vl."    /* llama: the text model, */
#define A "clip.audio." /* the mmproj file */
#define ALIGNER_CLASSES G "aligner.classes" /* in files of aligners alone */

static const pl_value_row tower_rows[] = {
    {FIELD(tower.mels), PL_INT, STATED, SIZE, AUDIO("num_mel_bins"), {G "encoder.num_mel_bins", A "num_mel_bins"}},
    {FIELD(tower.width), PL_INT, STATED, 4, 1 << 16, AUDIO("d_model"), {G "encoder.d_model", A "embedding_length"}},
    {FIELD(tower.layers), PL_INT, STATED, LAYERS_OF, AUDIO("encoder_layers"), {G "encoder.n_layers", A "block_count"}},
    {FIELD(tower.heads), PL_INT, STATED, HEADS, AUDIO("encoder_attention_heads"), {G "encoder.n_heads", A "attention.head_count"}},
    {FIELD(tower.ffn), PL_INT, STATED, SIZE, AUDIO("encoder_ffn_dim"), {G "encoder.ffn_dim", A "feed_forward_length"}},
    {FIELD(tower.out), PL_INT, STATED, SIZE, AUDIO("output_dim"), {G "encoder.output_dim", A "projection_dim"}},
    {FIELD(tower.channels), PL_INT, ALWAYS, 1, 1 << 13, AUDIO("downsample_hidden_size"), {G "encoder.downsample_hidden"}},
    {FIELD(tower.window), PL_INT, ALWAYS, 1, 1 << 12, AUDIO("n_window"), {G "encoder.n_window"}},
    {FIELD(tower.window_infer), PL_INT, ALWAYS, 1, 1 << 20, AUDIO("n_window_infer"), {G "encoder.n_window_infer"}},
};

static const pl_value_row text_rows[] = {
    {FIELD(vocabulary), PL_INT, ALWAYS, ROWS, TEXT("vocab_size"), {G "decoder.vocab_size"}},
    {FIELD(text.width), PL_INT, STATED, SIZE, TEXT("hidden_size"), {G "decoder.hidden_size", L "embedding_length"}},
    {FIELD(text.ffn), PL_INT, STATED, SIZE, TEXT("intermediate_size"), {G "decoder.intermediate_size", L "feed_forward_length"}},
    {FIELD(text.layers), PL_INT, STATED, LAYERS_OF, TEXT("num_hidden_layers"), {G "decoder.n_layers", L "block_count"}},
    {FIELD(text.heads), PL_INT, STATED, HEADS, TEXT("num_attention_heads"), {G "decoder.n_heads", L "attention.head_count"}},
    {FIELD(text.kv_heads), PL_INT, STATED, HEADS, TEXT("num_key_value_heads"), {G "decoder.n_kv_heads", L "attention.head_count_kv"}},
    {FIELD(text.head), PL_INT, STATED, HEAD_SIZE, TEXT("head_dim"), {G "decoder.head_dim", L "attention.key_length"}},
    {FIELD(text.eps), PL_FLOAT, STATED, EPS, TEXT("rms_norm_eps"), {G "decoder.rms_norm_eps", L "attention.layer_norm_rms_epsilon"}},
    {FIELD(text.theta), PL_DOUBLE, STATED, THETA, TEXT("rope_theta"), {G "decoder.rope_theta", L "rope.freq_base"}},
    {FIELD(context_length), PL_INT, STATED, 1, 1 << 30, TEXT("max_position_embeddings"), {G "decoder.max_position_embeddings", L "context_length"}},
    {FIELD(tied), PL_BOOL, OWN, 0, 1, TEXT("tie_word_embeddings"), {G "decoder.tie_word_embeddings"}},

    {FIELD(audio_token), PL_INT, ALWAYS, ID, THINKER "audio_token_id", {G "audio_token_id"}},
    {FIELD(audio_start), PL_INT, ALWAYS, ID, THINKER "audio_start_token_id", {G "audio_start_token_id"}},
    {FIELD(audio_end), PL_INT, ALWAYS, ID, THINKER "audio_end_token_id", {G "audio_end_token_id"}},
};

static const pl_value_row aligner_rows[] = {
    {FIELD(head_rows), PL_INT, OWN, ROWS, THINKER "classify_num", {ALIGNER_CLASSES}},
    {FIELD(timestamp), PL_INT, OWN, ID, "timestamp_token_id", {G "aligner.timestamp_token_id"}},
    {FIELD(timestamp_ms), PL_INT, OWN, 1, 1 << 20, "timestamp_segment_time", {G "aligner.timestamp_ms"}},
};

/* What cannot be otherwise here. The sections of the rotation have no effect: the three positions of each token are equal. */
static const pl_value_only tower_only[] = {
    {AUDIO("num_mel_bins"), G "encoder.num_mel_bins", "128"},
    {NULL, A "num_mel_bins", "128"},
    {AUDIO("activation_function"), G "encoder.activation", "gelu"},
    {AUDIO("scale_embedding"), NULL, "false"},
};

static const pl_value_only text_only[] = {
    {THINKER "model_type", NULL, "qwen3_asr|qwen3_forced_aligner"},
    {TEXT("hidden_act"), G "decoder.hidden_act", "silu"},
    {TEXT("attention_bias"), NULL, "false"},
    {TEXT("use_sliding_window"), NULL, "false"},
    {TEXT("rope_scaling.rope_type"), NULL, "default"},
    {TEXT("rope_scaling.type"), NULL, "default"},
};

/* ------------------------------------------------------------------ front end: preprocessor_config.json */

#define F "stt.frontend."

static const pl_value_row front_rows[] = {
    {FIELD(front.sample_rate), PL_INT, ALWAYS, ROWS, "sampling_rate", {F "sample_rate"}},
    {FIELD(front.fft), PL_INT, ALWAYS, ROWS, "n_fft", {F "n_fft"}},
    {FIELD(front.hop), PL_INT, ALWAYS, ROWS, "hop_length", {F "hop_length"}},
    {FIELD(front.mels), PL_INT, ALWAYS, ROWS, "feature_size", {F "num_mels"}},
};

static const pl_value_only front_only[] = {
    {"sampling_rate", F "sample_rate", "16000"},
    {"n_fft", F "n_fft", "400"},
    {NULL, F "win_length", "400"},
    {"hop_length", F "hop_length", "160"},
    {"feature_size", F "num_mels", "128"},
    {"dither", F "dither", "0"},
    {"feature_extractor_type", NULL, "WhisperFeatureExtractor"},
    {NULL, F "type", "mel"},
    {NULL, F "window", "hann_periodic"},
    {NULL, F "normalize", "per_utterance"},
    {NULL, F "pre_emphasis", "0"},
    {NULL, F "f_min", "0"},
    {NULL, F "f_max", "8000"},
    {NULL, F "pad_mode", "reflect"},
    {NULL, F "center", "true"},
    {NULL, F "mel_norm", "slaney"},
};

/* clang-format on */

#endif
