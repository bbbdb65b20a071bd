/* The configuration as tables: field, kind, where it must be, range, path in JSON, keys in GGUF files (spec/qwen3_tts.md 1.2 to 1.7,
 * spec/gguf_dialects.md A.1, A.4, C, D.1, D.4). Included by config.c alone. */
#ifndef PL_MODELS_QWEN3_TTS_CONFIG_TABLES_H
#define PL_MODELS_QWEN3_TTS_CONFIG_TABLES_H

#include "models/qwen3_tts/internal.h"

#define Q "qwen3-tts."
#define C "qwen3-tts-tokenizer."
#define L "qwen3tts."       /* llama: the text model, */
#define G "clip.gen.audio." /* the mmproj file */

#define FIELD(name) offsetof(tts_config, name)
/* Needed wherever the dialect writes it; the qts layouts leave most values to defaults. */
#define ALWAYS (TTS_NEED_HF | TTS_NEED_QWENTTS | TTS_NEED_QTS | TTS_NEED_PARLEY)
#define NAMED  (TTS_NEED_HF | TTS_NEED_QWENTTS | TTS_NEED_PARLEY)
#define STATED (NAMED | TTS_NEED_LLAMA)

/* Limits far above any model of this family and far below what arithmetic on sizes could not take. */
#define WIDTH  1, 1 << 16
#define ROWS   1, 1 << 24
#define LAYERS 1, 512
#define HEADS  1, 1024
#define HEAD   2, 1024
#define EPS    0, 1
#define THETA  1e-3, 1e15
#define ID     0, 1 << 24
#define GROUPS 2, 64

/* Rows stay as they are typed: one a line where it fits. */
/* clang-format off */

static const pl_value_row talker_rows[] = {
    {FIELD(model_type), PL_TEXT, NAMED, 0, 0, "tts_model_type", {Q "model_type"}},
    {FIELD(model_size), PL_TEXT, NAMED, 0, 0, "tts_model_size", {Q "model_size"}},
    {FIELD(text_vocabulary), PL_INT, NAMED, ROWS, "talker_config.text_vocab_size",
     {Q "text.vocab_size", Q "text_vocab_size", Q "talker.text_vocab_size"}},
    {FIELD(text_width), PL_INT, NAMED, WIDTH, "talker_config.text_hidden_size",
     {Q "text.embedding_dim", Q "text_hidden_size", Q "talker.text_hidden_size"}},
    {FIELD(talker.width), PL_INT, STATED, WIDTH, "talker_config.hidden_size",
     {Q "talker.embedding_length", Q "talker.hidden_size", Q "embedding_length", L "embedding_length"}},
    {FIELD(talker.layers), PL_INT, STATED, LAYERS, "talker_config.num_hidden_layers", {Q "talker.block_count", Q "block_count", L "block_count"}},
    {FIELD(talker.heads), PL_INT, STATED, HEADS, "talker_config.num_attention_heads",
     {Q "talker.attention.head_count", Q "attention.head_count", L "attention.head_count"}},
    {FIELD(talker.kv_heads), PL_INT, STATED, HEADS, "talker_config.num_key_value_heads",
     {Q "talker.attention.head_count_kv", Q "attention.head_count_kv", L "attention.head_count_kv"}},
    {FIELD(talker.head), PL_INT, STATED, HEAD, "talker_config.head_dim",
     {Q "talker.attention.key_length", Q "attention.key_length", L "attention.key_length"}},
    {FIELD(talker.ffn), PL_INT, STATED, WIDTH, "talker_config.intermediate_size",
     {Q "talker.feed_forward_length", Q "feed_forward_length", L "feed_forward_length"}},
    {FIELD(talker.eps), PL_FLOAT, STATED, EPS, "talker_config.rms_norm_eps",
     {Q "talker.attention.layer_norm_rms_epsilon", Q "attention.layer_norm_rms_epsilon", L "attention.layer_norm_rms_epsilon"}},
    {FIELD(talker.theta), PL_DOUBLE, STATED, THETA, "talker_config.rope_theta", {Q "talker.rope.freq_base", Q "rope.freq_base", L "rope.freq_base"}},
    {FIELD(context_length), PL_INT, STATED, 1, 1 << 30, "talker_config.max_position_embeddings",
     {Q "talker.context_length", Q "context_length", L "context_length"}},
    {FIELD(codec_vocabulary), PL_INT, NAMED, ROWS, "talker_config.vocab_size",
     {Q "talker.codec_vocab_size", Q "talker.vocab_size", Q "vocab_size"}},
    {FIELD(groups), PL_INT, NAMED, GROUPS, "talker_config.num_code_groups", {Q "talker.num_codebooks", Q "num_code_groups"}},
};

/* Of files of the dialect parley alone: in what form they hold what dialects hold in different forms. */
static const pl_value_row talker_form_rows[] = {
    {FIELD(text_is_projected), PL_BOOL, TTS_NEED_PARLEY, 0, 1, NULL, {Q "text.is_projected"}},
};

static const pl_value_row codec_form_rows[] = {
    {FIELD(snake_is_final), PL_BOOL, TTS_NEED_PARLEY, 0, 1, NULL, {C "decoder.snake_is_final"}},
};

/* Of llama files the names of the tokens tell (joined.c). */
static const pl_value_row id_rows[] = {
    {FIELD(codec_pad), PL_INT, NAMED, ID, "talker_config.codec_pad_id", {Q "codec.pad_id"}},
    {FIELD(codec_bos), PL_INT, NAMED, ID, "talker_config.codec_bos_id", {Q "codec.bos_id"}},
    {FIELD(codec_eos), PL_INT, NAMED, ID, "talker_config.codec_eos_token_id", {Q "codec.eos_id", Q "codec.eos_token_id"}},
    {FIELD(think), PL_INT, NAMED, ID, "talker_config.codec_think_id", {Q "codec.think_id", Q "codec.codec_think_id", Q "codec_think_id"}},
    {FIELD(nothink), PL_INT, NAMED, ID, "talker_config.codec_nothink_id",
     {Q "codec.nothink_id", Q "codec.codec_nothink_id", Q "codec_nothink_id"}},
    {FIELD(think_bos), PL_INT, NAMED, ID, "talker_config.codec_think_bos_id",
     {Q "codec.think_bos_id", Q "codec.codec_think_bos_id", Q "codec_think_bos_id"}},
    {FIELD(think_eos), PL_INT, NAMED, ID, "talker_config.codec_think_eos_id",
     {Q "codec.think_eos_id", Q "codec.codec_think_eos_id", Q "codec_think_eos_id"}},
    /* In qts files the tokenizer's bos and eos are the turn's start and end; qwentts files, where they are something else, have the first keys. */
    {FIELD(im_start), PL_INT, NAMED, ID, "im_start_token_id", {Q "text.im_start_id", "tokenizer.ggml.bos_token_id"}},
    {FIELD(im_end), PL_INT, NAMED, ID, "im_end_token_id", {Q "text.im_end_id", "tokenizer.ggml.eos_token_id"}},
    {FIELD(tts_pad), PL_INT, NAMED, ID, "tts_pad_token_id",
     {Q "text.tts_pad_id", Q "tts_pad_token_id", Q "tts.pad_token_id", Q "tts.pad_id"}},
    {FIELD(tts_bos), PL_INT, NAMED, ID, "tts_bos_token_id",
     {Q "text.tts_bos_id", Q "tts_bos_token_id", Q "tts.bos_token_id", Q "tts.bos_id"}},
    {FIELD(tts_eos), PL_INT, NAMED, ID, "tts_eos_token_id",
     {Q "text.tts_eos_id", Q "tts_eos_token_id", Q "tts.eos_token_id", Q "tts.eos_id"}},
};

#define PREDICTOR(name) "talker_config.code_predictor_config." name

static const pl_value_row predictor_rows[] = {
    {FIELD(predictor.width), PL_INT, STATED, WIDTH, PREDICTOR("hidden_size"),
     {Q "code_pred.embedding_length", Q "code_pred.hidden_size", Q "code_predictor.embedding_length", Q "code_predictor.hidden_size",
      G "embedding_length"}},
    {FIELD(predictor.layers), PL_INT, STATED, LAYERS, PREDICTOR("num_hidden_layers"),
     {Q "code_pred.layer_count", Q "code_predictor.layer_count", Q "code_pred.block_count", Q "code_predictor.block_count", G "block_count"}},
    {FIELD(predictor.heads), PL_INT, STATED, HEADS, PREDICTOR("num_attention_heads"),
     {Q "code_pred.attention.head_count", Q "code_predictor.attention.head_count", G "attention.head_count"}},
    {FIELD(predictor.kv_heads), PL_INT, STATED, HEADS, PREDICTOR("num_key_value_heads"),
     {Q "code_pred.attention.head_count_kv", Q "code_predictor.attention.head_count_kv", G "attention.head_count_kv"}},
    {FIELD(predictor.head), PL_INT, NAMED, HEAD, PREDICTOR("head_dim"),
     {Q "code_pred.attention.key_length", Q "code_predictor.attention.key_length"}},
    {FIELD(predictor.ffn), PL_INT, STATED, WIDTH, PREDICTOR("intermediate_size"),
     {Q "code_pred.feed_forward_length", Q "code_predictor.feed_forward_length", G "feed_forward_length"}},
    {FIELD(predictor.eps), PL_FLOAT, STATED, EPS, PREDICTOR("rms_norm_eps"),
     {Q "code_pred.attention.layer_norm_rms_epsilon", Q "code_predictor.attention.layer_norm_rms_epsilon", G "attention.layer_norm_epsilon"}},
    {FIELD(predictor.theta), PL_DOUBLE, NAMED, THETA, PREDICTOR("rope_theta"),
     {Q "code_pred.rope.freq_base", Q "code_predictor.rope.freq_base"}},
    {FIELD(codebook_size), PL_INT, NAMED, ROWS, PREDICTOR("vocab_size"), {Q "code_pred.vocab_size", Q "code_predictor.vocab_size"}},
};

/* What a predictor's tensors need of the talker's configuration, when the file of the predictor is there alone. */
static const pl_value_row lone_predictor_rows[] = {
    {FIELD(talker.width), PL_INT, TTS_OPTIONAL, WIDTH, "talker_config.hidden_size",
     {Q "talker.embedding_length", Q "talker.hidden_size", Q "embedding_length"}},
    {FIELD(groups), PL_INT, TTS_OPTIONAL, GROUPS, "talker_config.num_code_groups", {Q "talker.num_codebooks", Q "num_code_groups"}},
};

static const pl_value_row generation_rows[] = {
    {FIELD(generation.do_sample), PL_BOOL, TTS_OPTIONAL, 0, 1, "do_sample", {"generation.do_sample"}},
    {FIELD(generation.sub_do_sample), PL_BOOL, TTS_OPTIONAL, 0, 1, "subtalker_dosample", {"generation.subtalker_do_sample"}},
    {FIELD(generation.temperature), PL_FLOAT, TTS_OPTIONAL, 0, 10, "temperature", {"generation.temperature", "general.sampling.temp"}},
    {FIELD(generation.top_p), PL_FLOAT, TTS_OPTIONAL, 1e-9, 1, "top_p", {"generation.top_p", "general.sampling.top_p"}},
    {FIELD(generation.top_k), PL_INT, TTS_OPTIONAL, 0, 1 << 24, "top_k", {"generation.top_k", "general.sampling.top_k"}},
    {FIELD(generation.repetition_penalty), PL_FLOAT, TTS_OPTIONAL, 1e-6, 10, "repetition_penalty",
     {"generation.repetition_penalty", "general.sampling.penalty_repeat"}},
    {FIELD(generation.sub_temperature), PL_FLOAT, TTS_OPTIONAL, 0, 10, "subtalker_temperature", {"generation.subtalker_temperature"}},
    {FIELD(generation.sub_top_p), PL_FLOAT, TTS_OPTIONAL, 1e-9, 1, "subtalker_top_p", {"generation.subtalker_top_p"}},
    {FIELD(generation.sub_top_k), PL_INT, TTS_OPTIONAL, 0, 1 << 24, "subtalker_top_k", {"generation.subtalker_top_k"}},
    {FIELD(generation.max_new_tokens), PL_INT, TTS_OPTIONAL, 1, 1 << 30, "max_new_tokens", {"generation.max_new_tokens"}},
};

#define SPEAKER(name) "speaker_encoder_config." name

static const pl_value_row speaker_rows[] = {
    {FIELD(xvector_length), PL_INT, TTS_OPTIONAL, WIDTH, SPEAKER("enc_dim"), {Q "spk_enc.embedding_length", Q "speaker_encoder.embedding_length"}},
    {FIELD(speaker.mels), PL_INT, TTS_OPTIONAL, WIDTH, SPEAKER("mel_dim"), {NULL}},
    {FIELD(speaker.scale), PL_INT, TTS_OPTIONAL, 2, PL_SPEAKER_MAX_SCALE, SPEAKER("enc_res2net_scale"), {NULL}},
    {FIELD(speaker.se_channels), PL_INT, TTS_OPTIONAL, WIDTH, SPEAKER("enc_se_channels"), {NULL}},
    {FIELD(speaker.attention_channels), PL_INT, TTS_OPTIONAL, WIDTH, SPEAKER("enc_attention_channels"), {NULL}},
};

#define DECODER(json, name) "decoder_config." json, {C "decoder." name}
#define SAME_DECODER(name)  DECODER(name, name)

static const pl_value_row codec_rows[] = {
    {FIELD(codec.sample_rate), PL_INT, ALWAYS, 1000, 192000, "output_sample_rate", {C "output_sample_rate"}},
    {FIELD(codec_type), PL_TEXT, TTS_OPTIONAL, 0, 0, NULL, {"parley.codec.type"}},
    {FIELD(codec.groups), PL_INT, ALWAYS, GROUPS, SAME_DECODER("num_quantizers")},
    {FIELD(codec.codebook_size), PL_INT, ALWAYS, ROWS, SAME_DECODER("codebook_size")},
    {FIELD(codec.rvq_width), PL_INT, ALWAYS, WIDTH, SAME_DECODER("codebook_dim")},
    {FIELD(codec.latent), PL_INT, ALWAYS, WIDTH, SAME_DECODER("latent_dim")},
    {FIELD(codec.decoder_dim), PL_INT, ALWAYS, WIDTH, SAME_DECODER("decoder_dim")},
    {FIELD(codec.n_ratios), PL_INTS, ALWAYS, 1, 64, SAME_DECODER("upsampling_ratios")},
    {FIELD(codec.n_rates), PL_INTS, ALWAYS, 1, 64, SAME_DECODER("upsample_rates")},
    {FIELD(codec.transformer.width), PL_INT, ALWAYS, WIDTH, SAME_DECODER("hidden_size")},
    {FIELD(codec.transformer.ffn), PL_INT, ALWAYS, WIDTH, SAME_DECODER("intermediate_size")},
    {FIELD(codec.transformer.layers), PL_INT, ALWAYS, LAYERS, SAME_DECODER("num_hidden_layers")},
    {FIELD(codec.transformer.heads), PL_INT, ALWAYS, HEADS, SAME_DECODER("num_attention_heads")},
    {FIELD(codec.transformer.kv_heads), PL_INT, ALWAYS, HEADS, SAME_DECODER("num_key_value_heads")},
    {FIELD(codec.transformer.head), PL_INT, ALWAYS, HEAD, SAME_DECODER("head_dim")},
    {FIELD(codec.transformer.eps), PL_FLOAT, ALWAYS, EPS, SAME_DECODER("rms_norm_eps")},
    {FIELD(codec.transformer.theta), PL_DOUBLE, ALWAYS, THETA, SAME_DECODER("rope_theta")},
    {FIELD(codec.transformer.window), PL_INT64, ALWAYS, 1, 1 << 24, SAME_DECODER("sliding_window")},
};

/* Of llama files, which have no keys for it: what the tensors' shapes tell. */
typedef struct shape_row {
    size_t field; /* of an int */
    const char *name;
    int rank, axis;
    int64_t most;
} shape_row;

#define WAV "a.gen.wav."

static const shape_row codec_shape_rows[] = {
    {FIELD(codec.groups), WAV "quant.rest.codebook.weight", 3, 0, 63}, /* but the first */
    {FIELD(codec.codebook_size), WAV "quant.first.codebook.weight", 2, 0, 1 << 24},
    {FIELD(codec.rvq_width), WAV "quant.first.out_proj.weight", 2, 0, 1 << 16},
    {FIELD(codec.latent), WAV "pre_conv.weight", 3, 0, 1 << 16},
    {FIELD(codec.decoder_dim), WAV "dac.entry.weight", 3, 0, 1 << 16},
    {FIELD(codec.transformer.width), WAV "tfm.in_proj.weight", 2, 0, 1 << 16},
    {FIELD(codec.transformer.ffn), WAV "tfm.blk.0.ffn_gate.weight", 2, 0, 1 << 16},
    {FIELD(codec.transformer.head), WAV "tfm.blk.0.attn_q.weight", 2, 0, 1 << 14}, /* of all heads, to be divided */
};

#define ENCODER(name) "encoder_config." name, {C "encoder." name}

static const pl_value_row encoder_rows[] = {
    {FIELD(encoder.groups), PL_INT, ALWAYS, GROUPS, "encoder_valid_num_quantizers", {C "encoder_valid_num_quantizers"}},
    {FIELD(encoder.codebook_size), PL_INT, ALWAYS, ROWS, ENCODER("codebook_size")},
    {FIELD(encoder.codebook_width), PL_INT, ALWAYS, WIDTH, ENCODER("codebook_dim")},
    {FIELD(encoder.filters), PL_INT, ALWAYS, WIDTH, ENCODER("num_filters")},
    {FIELD(encoder.width), PL_INT, ALWAYS, WIDTH, ENCODER("hidden_size")},
    {FIELD(encoder.n_ratios), PL_INTS, ALWAYS, 1, 64, ENCODER("upsampling_ratios")},
    {FIELD(encoder.transformer.ffn), PL_INT, ALWAYS, WIDTH, ENCODER("intermediate_size")},
    {FIELD(encoder.transformer.layers), PL_INT, ALWAYS, LAYERS, ENCODER("num_hidden_layers")},
    {FIELD(encoder.transformer.heads), PL_INT, ALWAYS, HEADS, ENCODER("num_attention_heads")},
    {FIELD(encoder.transformer.kv_heads), PL_INT, ALWAYS, HEADS, ENCODER("num_key_value_heads")},
    {FIELD(encoder.transformer.head), PL_INT, ALWAYS, HEAD, ENCODER("head_dim")},
    {FIELD(encoder.transformer.eps), PL_FLOAT, ALWAYS, EPS, ENCODER("norm_eps")},
    {FIELD(encoder.transformer.theta), PL_DOUBLE, ALWAYS, THETA, ENCODER("rope_theta")},
};

/* ------------------------------------------------------------------ values that nothing here can do otherwise */

#define DECODER_ONLY(at)                                                                                                                             \
    {at "hidden_act", NULL, "silu"}, {at "attention_bias", NULL, "false"}, {at "sliding_window", NULL, "null"},                                      \
        {at "layer_types", NULL, "full_attention|[]"}, {at "rope_scaling.rope_type", NULL, "default"}, {at "rope_scaling.type", NULL, "default"},    \
        {at "no_repeat_ngram_size", NULL, "0"}, {at "encoder_no_repeat_ngram_size", NULL, "0"}, {at "min_p", NULL, "0"},                             \
        {at "typical_p", NULL, "1"}, {at "epsilon_cutoff", NULL, "0"}, {at "eta_cutoff", NULL, "0"}, {at "num_beams", NULL, "1"},                    \
        {at "num_beam_groups", NULL, "1"}, {at "num_return_sequences", NULL, "1"}, {at "penalty_alpha", NULL, "0"},                                  \
        {at "diversity_penalty", NULL, "0"}, {at "encoder_repetition_penalty", NULL, "1"}, {at "bad_words_ids", NULL, "[]"},                         \
        {at "force_words_ids", NULL, "[]"}, {at "sequence_bias", NULL, "[]"}, {at "forced_bos_token_id", NULL, "null"},                              \
        {at "forced_eos_token_id", NULL, "null"}, {at "begin_suppress_tokens", NULL, "[]"}, {at "exponential_decay_length_penalty", NULL, "null"},   \
        {at "guidance_scale", NULL, "1"}, {at "min_length", NULL, "0"}, {at "watermarking_config", NULL, "null"}, {at "top_h", NULL, "null"}

/* Generation settings in the sub-configurations are defaults of the two networks (spec 1.4). Those that every call of the reference sets have no
 * effect; the others must be neutral. */
static const pl_value_only talker_only[] = {
    {"tokenizer_type", Q "tokenizer_type", "qwen3_tts_tokenizer_12hz"},
    {"tts_model_type", Q "model_type", "base|custom_voice|voice_design"},
    DECODER_ONLY("talker_config."),
};

static const pl_value_only predictor_only[] = {
    DECODER_ONLY(PREDICTOR("")),
    {PREDICTOR("repetition_penalty"), NULL, "1"},
    {PREDICTOR("suppress_tokens"), NULL, "[]"},
    {PREDICTOR("eos_token_id"), NULL, "null"},
    {PREDICTOR("min_new_tokens"), NULL, "0"},
};

static const pl_value_only speaker_only[] = {
    {SPEAKER("sample_rate"), Q "spk_enc.sample_rate", "24000"},
    {NULL, Q "speaker_encoder.sample_rate", "24000"},
    {SPEAKER("enc_kernel_sizes"), NULL, "5,3,3,3,1"},
    {SPEAKER("enc_dilations"), NULL, "1,2,3,4,1"},
};

static const pl_value_only codec_only[] = {
    {"decoder_config.num_semantic_quantizers", C "decoder.num_semantic_quantizers", "1"},
    {"decoder_config.hidden_act", NULL, "silu"},
    {"decoder_config.attention_bias", NULL, "false"},
    {"decoder_config.rope_scaling.rope_type", NULL, "default"},
    {NULL, "parley.codec.type", "f32|int8"},
};

static const pl_value_only encoder_only[] = {
    {"encoder_config.num_semantic_quantizers", C "encoder.num_semantic_quantizers", "1"},
    {"encoder_config.kernel_size", C "encoder.kernel_size", "7"},
    {"encoder_config.last_kernel_size", C "encoder.last_kernel_size", "3"},
    {"encoder_config.residual_kernel_size", C "encoder.residual_kernel_size", "3"},
    {"encoder_config.num_residual_layers", C "encoder.num_residual_layers", "1"},
    {"encoder_config.compress", C "encoder.compress", "2"},
    {"encoder_config.hidden_act", NULL, "gelu"},
    {"encoder_config.attention_bias", NULL, "false"},
    {"encoder_config.audio_channels", NULL, "1"},
    {"encoder_config.use_causal_conv", NULL, "true"},
    {"encoder_config.use_conv_shortcut", NULL, "false"},
    {"encoder_config.pad_mode", NULL, "constant"},
};

/* clang-format on */

#endif
