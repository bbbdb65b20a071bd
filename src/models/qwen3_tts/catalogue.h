/* The catalogue of tensors: group, kind, field, names by dialect, shape in configuration symbols (spec/qwen3_tts.md 1.6, 1.8, 1.9;
 * spec/gguf_dialects.md A.3, A.5, C, D.3, D.5). Included by tensors.c alone.
 *
 * In names {i} and {j} are the indices of the group, {r} the number of the vocoder's blocks and {e} that of the encoder's stages, all with a factor
 * before and an addition behind: {3i+1}. '|' separates names that mean the same. A name of llama without the index of its list is that of one tensor
 * which holds the list as pages: [count, shape..]. */
#ifndef PL_MODELS_QWEN3_TTS_CATALOGUE_H
#define PL_MODELS_QWEN3_TTS_CATALOGUE_H

#include "models/qwen3_tts/internal.h"

/* clang-format off */

/* Sizes by name; numbers below 1000 in a shape are meant as they stand. */
enum {
    FIRST_SYMBOL = 1000,
    TEXT_ROWS = FIRST_SYMBOL, /* of the table: llama puts the codec's rows behind */
    TEXT_WIDTH,
    CODEC_VOCABULARY,
    T_WIDTH, /* talker */
    T_Q,
    T_KV,
    T_HEAD,
    T_FFN,
    T_LAYERS,
    P_WIDTH, /* code predictor */
    P_Q,
    P_KV,
    P_HEAD,
    P_FFN,
    P_LAYERS,
    REST, /* groups but the first */
    BOOK, /* rows of a codebook */
    S_CHANNELS, /* speaker encoder */
    S_MELS,
    S_GROUP,
    S_GROUPS,
    S_SE,
    S_MFA,
    S_MFA2,
    S_MFA3,
    S_BLOCKS3,
    S_ATTENTION,
    S_VECTOR,
    C_GROUPS_REST, /* codec */
    C_BOOK,
    C_ROW,
    C_RVQ,
    C_LATENT,
    C_LATENT4,
    C_WIDTH,
    C_Q,
    C_KV,
    C_FFN,
    C_LAYERS,
    C_UPS,
    C_RATIO, /* of stage i */
    C_STAGES,
    C_FIRST,
    C_IN, /* channels into and out of stage i, its kernel */
    C_OUT,
    C_TAPS,
    C_LAST,
    E_GROUPS_REST, /* the codec's encoder */
    E_BOOK,
    E_ROW,
    E_FILTERS,
    E_WIDTH,
    E_Q,
    E_KV,
    E_FFN,
    E_LAYERS,
    E_STAGES,
    E_IN, /* of stage i */
    E_HALF,
    E_OUT,
    E_TAPS,
    E_LAST,
    SYMBOLS
};

/* Where a row's tensors go: a structure inside tts_tensors, or `list`: an array that a pointer there points to; `i` and `j` count them. */
enum {
    TALKER,
    TALKER_BLOCK,
    PREDICTOR_EMBEDDINGS,
    PREDICTOR_HEADS,
    PREDICTOR_REST,
    PREDICTOR_BLOCK,
    SPEAKER_REST,
    SPEAKER_BLOCK,
    SPEAKER_RES,
    CODEC,
    CODEC_BOOK,
    CODEC_BOOKS,
    CODEC_USAGE,
    CODEC_USAGES,
    CODEC_BLOCK,
    CODEC_UP,
    CODEC_STAGE,
    CODEC_UNIT,
    ENCODER,
    ENCODER_BOOK,
    ENCODER_BOOKS,
    ENCODER_USAGE,
    ENCODER_USAGES,
    ENCODER_BLOCK,
    ENCODER_STAGE,
    GROUP_COUNT
};

typedef struct group {
    tts_part part;
    bool encoder; /* of the codec's encoder: needed by nobody yet */
    size_t base;
    bool list;
    int count_i, count_j; /* sizes or numbers; 0: one */
    size_t stride_i, stride_j;
} group;

#define AT(member) offsetof(tts_tensors, member)

static const group groups[GROUP_COUNT] = {
    [TALKER] = {TTS_TALKER, .base = 0},
    [TALKER_BLOCK] = {TTS_TALKER, false, AT(blocks), true, T_LAYERS, 0, sizeof(pl_lm_block_tensors), 0},
    [PREDICTOR_EMBEDDINGS] = {TTS_PREDICTOR, false, AT(predictor_embeddings), true, REST, 0, sizeof(pl_tensor), 0},
    [PREDICTOR_HEADS] = {TTS_PREDICTOR, false, AT(predictor_heads), true, REST, 0, sizeof(pl_tensor), 0},
    [PREDICTOR_REST] = {TTS_PREDICTOR, .base = 0},
    [PREDICTOR_BLOCK] = {TTS_PREDICTOR, false, AT(predictor_blocks), true, P_LAYERS, 0, sizeof(pl_lm_block_tensors), 0},
    [SPEAKER_REST] = {TTS_SPEAKER, .base = AT(speaker)},
    [SPEAKER_BLOCK] = {TTS_SPEAKER, false, AT(speaker.blocks), false, PL_SPEAKER_BLOCKS, 0, sizeof(struct pl_speaker_block_tensors), 0},
    [SPEAKER_RES] = {TTS_SPEAKER, false, AT(speaker.blocks), false, PL_SPEAKER_BLOCKS, S_GROUPS, sizeof(struct pl_speaker_block_tensors),
                     sizeof(pl_conv_tensors)},
    [CODEC] = {TTS_CODEC, .base = AT(codec)},
    [CODEC_BOOK] = {TTS_CODEC, false, AT(codec.codebooks), true, 0, 0, 0, 0},
    [CODEC_BOOKS] = {TTS_CODEC, false, AT(codec.codebooks), true, C_GROUPS_REST, 0, sizeof(pl_tensor), 0},
    [CODEC_USAGE] = {TTS_CODEC, false, AT(codec.usages), true, 0, 0, 0, 0},
    [CODEC_USAGES] = {TTS_CODEC, false, AT(codec.usages), true, C_GROUPS_REST, 0, sizeof(pl_tensor), 0},
    [CODEC_BLOCK] = {TTS_CODEC, false, AT(codec.blocks), true, C_LAYERS, 0, sizeof(struct pl_codec_block_tensors), 0},
    [CODEC_UP] = {TTS_CODEC, false, AT(codec.up), false, C_UPS, 0, sizeof(struct pl_codec_up_tensors), 0},
    [CODEC_STAGE] = {TTS_CODEC, false, AT(codec.stages), false, C_STAGES, 0, sizeof(struct pl_codec_stage_tensors), 0},
    [CODEC_UNIT] = {TTS_CODEC, false, AT(codec.stages[0].units), false, C_STAGES, PL_CODEC_UNITS, sizeof(struct pl_codec_stage_tensors),
                    sizeof(((struct pl_codec_stage_tensors *)0)->units[0])},
    [ENCODER] = {TTS_CODEC, true, AT(encoder), false, 0, 0, 0, 0},
    [ENCODER_BOOK] = {TTS_CODEC, true, AT(encoder.codebooks), true, 0, 0, 0, 0},
    [ENCODER_BOOKS] = {TTS_CODEC, true, AT(encoder.codebooks), true, E_GROUPS_REST, 0, sizeof(pl_tensor), 0},
    [ENCODER_USAGE] = {TTS_CODEC, true, AT(encoder.usages), true, 0, 0, 0, 0},
    [ENCODER_USAGES] = {TTS_CODEC, true, AT(encoder.usages), true, E_GROUPS_REST, 0, sizeof(pl_tensor), 0},
    [ENCODER_BLOCK] = {TTS_CODEC, true, AT(encoder.blocks), true, E_LAYERS, 0, sizeof(struct pl_encoder_block_tensors), 0},
    [ENCODER_STAGE] = {TTS_CODEC, true, AT(encoder.stages), false, E_STAGES, 0, sizeof(struct pl_encoder_stage_tensors), 0},
};

/* Members of a pair have the shape's first size (of a transposed convolution its second) as bias, or alpha and beta of one shape. Tables are read row
 * by row, books and kernels of single channels (depthwise ones, the last) as float32, books' projections are matrices that files keep as they are, heads
 * decide between scores: all else of two or more axes is the matrix of a layer. */
typedef enum member_kind { ONE, TABLE, BOOK_ROWS, BOOK_PROJECTION, HEAD, LINEAR, HEAD_PAIR, TRANSPOSED, DEPTHWISE, SNAKE } member_kind;

static const struct {
    int count;
    const char *suffix[2];
} members[] = {
    [ONE] = {1, {"", ""}},
    [TABLE] = {1, {"", ""}},
    [BOOK_ROWS] = {1, {"", ""}},
    [BOOK_PROJECTION] = {1, {"", ""}},
    [HEAD] = {1, {"", ""}},
    [LINEAR] = {2, {".weight", ".bias"}},
    [HEAD_PAIR] = {2, {".weight", ".bias"}},
    [TRANSPOSED] = {2, {".weight", ".bias"}},
    [DEPTHWISE] = {2, {".weight", ".bias"}},
    [SNAKE] = {2, {".alpha", ".beta"}},
};

/* When a tensor must be there. What a file of the qts dialect lacks, one made from it lacks too. */
typedef enum condition {
    NEEDED,
    NOT_IN_QTS,
    WITH_PROJECTION,
    WITH_TEXT_PROJECTION, /* unless the table is projected already */
    WITH_REST             /* of llama, in the mmproj file */
} condition;

typedef struct tensor_row {
    int group;
    member_kind kind;
    condition when;
    size_t field; /* in the group's structure */
    const char *hf, *ggml, *llama; /* ggml: qwentts and qts; NULL: the dialect has none */
    int shape[PL_MAX_RANK]; /* ends at 0 */
} tensor_row;

#define HF_PROJECTION "talker.code_predictor.small_to_mtp_projection"
#define GGML_PROJECTION                                                                                                                              \
    "code_pred.mtp_proj|code_pred.small_to_mtp_projection|talker.code_predictor.small_to_mtp_projection|"                                            \
    "small_to_mtp_projection|code_pred.small_to_mtp"

#define LLAMA_PROJECTION "a.gen.code.proj_in"

#define F(type, member) offsetof(type, member)
#define B(member)       F(pl_lm_block_tensors, member)
#define CB(member)      F(struct pl_codec_block_tensors, member)
#define CU(member)      F(struct pl_codec_up_tensors, member)
#define CS(member)      F(struct pl_codec_stage_tensors, member)
#define CN(member)      (CS(units[0].member) - CS(units))
#define CT(member)      F(pl_codec_tensors, member)
#define SB(member)      F(struct pl_speaker_block_tensors, member)
#define SR(member)      F(pl_speaker_tensors, member)
#define EB(member)      F(struct pl_encoder_block_tensors, member)
#define ES(member)      F(struct pl_encoder_stage_tensors, member)
#define ER(member)      F(pl_encoder_tensors, member)

/* The two decoders of llama name norms and output projection each in their own way. */
#define CAUSAL_BLOCK(group, hf, ggml, llama, ln1, ln2, out, width, q_rows, kv_rows, head, ffn)                                                       \
    {group, ONE, NEEDED, B(norm1), hf "input_layernorm.weight", ggml "attn_norm.weight", llama ln1 ".weight", {width}},                              \
        {group, ONE, NEEDED, B(norm2), hf "post_attention_layernorm.weight", ggml "ffn_norm.weight", llama ln2 ".weight", {width}},                  \
        {group, ONE, NEEDED, B(q), hf "self_attn.q_proj.weight", ggml "attn_q.weight", llama "attn_q.weight", {q_rows, width}},                      \
        {group, ONE, NEEDED, B(k), hf "self_attn.k_proj.weight", ggml "attn_k.weight", llama "attn_k.weight", {kv_rows, width}},                     \
        {group, ONE, NEEDED, B(v), hf "self_attn.v_proj.weight", ggml "attn_v.weight", llama "attn_v.weight", {kv_rows, width}},                     \
        {group, ONE, NEEDED, B(o), hf "self_attn.o_proj.weight", ggml "attn_output.weight", llama out ".weight", {width, q_rows}},                   \
        {group, ONE, NOT_IN_QTS, B(q_norm), hf "self_attn.q_norm.weight", ggml "attn_q_norm.weight", llama "attn_q_norm.weight", {head}},            \
        {group, ONE, NOT_IN_QTS, B(k_norm), hf "self_attn.k_norm.weight", ggml "attn_k_norm.weight", llama "attn_k_norm.weight", {head}},            \
        {group, ONE, NEEDED, B(gate), hf "mlp.gate_proj.weight", ggml "ffn_gate.weight", llama "ffn_gate.weight", {ffn, width}},                     \
        {group, ONE, NEEDED, B(up), hf "mlp.up_proj.weight", ggml "ffn_up.weight", llama "ffn_up.weight", {ffn, width}},                             \
        {group, ONE, NEEDED, B(down), hf "mlp.down_proj.weight", ggml "ffn_down.weight", llama "ffn_down.weight", {width, ffn}}

#define CODEC_LAYER "decoder.pre_transformer.layers.{i}."
#define CODEC_BLK   "tok_dec.pre_tfm.blk.{i}."
#define UNIT        "decoder.decoder.{i+1}.block.{j+2}."
#define RES         "tok_dec.dec.{i+1}.res.{j}."
#define WAV         "a.gen.wav."
#define WAV_BLK     WAV "tfm.blk.{i}."
#define WAV_UP      WAV "up.blk.{i}."
#define WAV_DAC     WAV "dac.blk.{i}."
#define WAV_RES     WAV_DAC "res.{j}."
#define ENC_LAYER   "encoder.encoder_transformer.layers.{i}."
#define ENC_BLK     "tok_enc.blk.{i}."
#define SEMANTIC    "encoder.quantizer.semantic_residual_vector_quantizer."
#define ACOUSTIC    "encoder.quantizer.acoustic_residual_vector_quantizer."

static const tensor_row tensor_rows[] = {
    {TALKER, TABLE, NEEDED, AT(text_embedding), "talker.model.text_embedding.weight", "talker.text_embd.weight", "token_embd.weight",
     {TEXT_ROWS, TEXT_WIDTH}},
    {TALKER, HEAD_PAIR, WITH_TEXT_PROJECTION, AT(fc1), "talker.text_projection.linear_fc1", "talker.text_proj.fc1", NULL, {TEXT_WIDTH, TEXT_WIDTH}},
    {TALKER, HEAD_PAIR, WITH_TEXT_PROJECTION, AT(fc2), "talker.text_projection.linear_fc2", "talker.text_proj.fc2", NULL, {T_WIDTH, TEXT_WIDTH}},
    {TALKER, TABLE, WITH_REST, AT(codec_embedding), "talker.model.codec_embedding.weight", "talker.codec_embd.weight", "a.gen.code.out_embd.weight",
     {CODEC_VOCABULARY, T_WIDTH}},
    {TALKER, HEAD, NEEDED, AT(codec_head), "talker.codec_head.weight", "talker.codec_head.weight", "output.weight", {CODEC_VOCABULARY, T_WIDTH}},
    {TALKER, ONE, NEEDED, AT(norm), "talker.model.norm.weight", "talker.output_norm.weight", "output_norm.weight", {T_WIDTH}},
    CAUSAL_BLOCK(TALKER_BLOCK, "talker.model.layers.{i}.", "talker.blk.{i}.", "blk.{i}.", "attn_norm", "ffn_norm", "attn_output", T_WIDTH, T_Q,
     T_KV, T_HEAD, T_FFN),

    {PREDICTOR_EMBEDDINGS, TABLE, NEEDED, 0, "talker.code_predictor.model.codec_embedding.{i}.weight", "code_pred.codec_embd.{i}.weight",
     "a.gen.code.embd.weight", {BOOK, T_WIDTH}},
    {PREDICTOR_HEADS, HEAD, NEEDED, 0, "talker.code_predictor.lm_head.{i}.weight", "code_pred.lm_head.{i}.weight", "a.gen.code.head.weight",
     {BOOK, P_WIDTH}},
    {PREDICTOR_REST, LINEAR, WITH_PROJECTION, AT(projection), HF_PROJECTION, GGML_PROJECTION, LLAMA_PROJECTION, {P_WIDTH, T_WIDTH}},
    {PREDICTOR_REST, ONE, NEEDED, AT(predictor_norm), "talker.code_predictor.model.norm.weight", "code_pred.output_norm.weight",
     "a.gen.code.output_norm.weight", {P_WIDTH}},
    CAUSAL_BLOCK(PREDICTOR_BLOCK, "talker.code_predictor.model.layers.{i}.", "code_pred.blk.{i}.", "a.gen.code.blk.{i}.", "ln1", "ln2", "attn_out",
     P_WIDTH, P_Q, P_KV, P_HEAD, P_FFN),

    {SPEAKER_REST, LINEAR, NEEDED, SR(conv0), "speaker_encoder.blocks.0.conv", "spk_enc.conv0", "a.conv1d.0", {S_CHANNELS, S_MELS, 5}},
    {SPEAKER_BLOCK, LINEAR, NEEDED, SB(tdnn1), "speaker_encoder.blocks.{i+1}.tdnn1.conv", "spk_enc.blk.{i+1}.tdnn1", "a.blk.{i+1}.conv_pw1",
     {S_CHANNELS, S_CHANNELS, 1}},
    {SPEAKER_BLOCK, LINEAR, NEEDED, SB(tdnn2), "speaker_encoder.blocks.{i+1}.tdnn2.conv", "spk_enc.blk.{i+1}.tdnn2", "a.blk.{i+1}.conv_pw2",
     {S_CHANNELS, S_CHANNELS, 1}},
    {SPEAKER_RES, LINEAR, NEEDED, SB(res), "speaker_encoder.blocks.{i+1}.res2net_block.blocks.{j}.conv", "spk_enc.blk.{i+1}.res2net.{j}",
     "a.blk.{i+1}.res2.{j}", {S_GROUP, S_GROUP, 3}},
    {SPEAKER_BLOCK, LINEAR, NEEDED, SB(se1), "speaker_encoder.blocks.{i+1}.se_block.conv1", "spk_enc.blk.{i+1}.se.conv1", "a.blk.{i+1}.se_conv1",
     {S_SE, S_CHANNELS, 1}},
    {SPEAKER_BLOCK, LINEAR, NEEDED, SB(se2), "speaker_encoder.blocks.{i+1}.se_block.conv2", "spk_enc.blk.{i+1}.se.conv2", "a.blk.{i+1}.se_conv2",
     {S_CHANNELS, S_SE, 1}},
    {SPEAKER_REST, LINEAR, NEEDED, SR(mfa), "speaker_encoder.mfa.conv", "spk_enc.mfa", "a.conv_out", {S_MFA, S_BLOCKS3, 1}},
    {SPEAKER_REST, LINEAR, NEEDED, SR(asp_tdnn), "speaker_encoder.asp.tdnn.conv", "spk_enc.asp.tdnn", "a.asp_tdnn", {S_ATTENTION, S_MFA3, 1}},
    {SPEAKER_REST, LINEAR, NEEDED, SR(asp_conv), "speaker_encoder.asp.conv", "spk_enc.asp.conv", "a.asp_attn", {S_MFA, S_ATTENTION, 1}},
    {SPEAKER_REST, LINEAR, NEEDED, SR(fc), "speaker_encoder.fc", "spk_enc.fc", "mm.a.fc", {S_VECTOR, S_MFA2, 1}},

    {CODEC_BOOK, BOOK_ROWS, NEEDED, 0, "decoder.quantizer.rvq_first.vq.layers.0._codebook.embedding_sum", "tok_dec.vq_first.0.codebook",
     WAV "quant.first.codebook.weight", {C_BOOK, C_ROW}},
    {CODEC_BOOKS, BOOK_ROWS, NEEDED, sizeof(pl_tensor), "decoder.quantizer.rvq_rest.vq.layers.{i}._codebook.embedding_sum",
     "tok_dec.vq_rest.{i}.codebook", WAV "quant.rest.codebook.weight", {C_BOOK, C_ROW}},
    {CODEC_USAGE, BOOK_ROWS, NEEDED, 0, "decoder.quantizer.rvq_first.vq.layers.0._codebook.cluster_usage", NULL, NULL, {C_BOOK}},
    {CODEC_USAGES, BOOK_ROWS, NEEDED, sizeof(pl_tensor), "decoder.quantizer.rvq_rest.vq.layers.{i}._codebook.cluster_usage", NULL, NULL, {C_BOOK}},
    {CODEC, BOOK_PROJECTION, NEEDED, CT(first_out), "decoder.quantizer.rvq_first.output_proj.weight", "tok_dec.vq_first.output_proj.weight",
     WAV "quant.first.out_proj.weight", {C_RVQ, C_ROW}},
    {CODEC, BOOK_PROJECTION, NEEDED, CT(rest_out), "decoder.quantizer.rvq_rest.output_proj.weight", "tok_dec.vq_rest.output_proj.weight",
     WAV "quant.rest.out_proj.weight", {C_RVQ, C_ROW}},
    {CODEC, LINEAR, NEEDED, CT(pre_conv), "decoder.pre_conv.conv", "tok_dec.pre_conv", WAV "pre_conv", {C_LATENT, C_RVQ, 3}},
    {CODEC, LINEAR, NEEDED, CT(in_proj), "decoder.pre_transformer.input_proj", "tok_dec.pre_tfm.input_proj", WAV "tfm.in_proj", {C_WIDTH, C_LATENT}},
    {CODEC, LINEAR, NEEDED, CT(out_proj), "decoder.pre_transformer.output_proj", "tok_dec.pre_tfm.output_proj", WAV "tfm.out_proj",
     {C_LATENT, C_WIDTH}},
    {CODEC, ONE, NEEDED, CT(norm), "decoder.pre_transformer.norm.weight", "tok_dec.pre_tfm.norm.weight", WAV "tfm.output_norm.weight", {C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(norm1), CODEC_LAYER "input_layernorm.weight", CODEC_BLK "attn_norm.weight", WAV_BLK "ln1.weight", {C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(norm2), CODEC_LAYER "post_attention_layernorm.weight", CODEC_BLK "ffn_norm.weight", WAV_BLK "ln2.weight",
     {C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(q), CODEC_LAYER "self_attn.q_proj.weight", CODEC_BLK "attn_q.weight", WAV_BLK "attn_q.weight", {C_Q, C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(k), CODEC_LAYER "self_attn.k_proj.weight", CODEC_BLK "attn_k.weight", WAV_BLK "attn_k.weight", {C_KV, C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(v), CODEC_LAYER "self_attn.v_proj.weight", CODEC_BLK "attn_v.weight", WAV_BLK "attn_v.weight", {C_KV, C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(o), CODEC_LAYER "self_attn.o_proj.weight", CODEC_BLK "attn_output.weight", WAV_BLK "attn_out.weight",
     {C_WIDTH, C_Q}},
    {CODEC_BLOCK, ONE, NEEDED, CB(attention_scale), CODEC_LAYER "self_attn_layer_scale.scale", CODEC_BLK "attn_scale", WAV_BLK "ls1.weight",
     {C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(ffn_scale), CODEC_LAYER "mlp_layer_scale.scale", CODEC_BLK "ffn_scale", WAV_BLK "ls2.weight", {C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(gate), CODEC_LAYER "mlp.gate_proj.weight", CODEC_BLK "ffn_gate.weight", WAV_BLK "ffn_gate.weight",
     {C_FFN, C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(up), CODEC_LAYER "mlp.up_proj.weight", CODEC_BLK "ffn_up.weight", WAV_BLK "ffn_up.weight", {C_FFN, C_WIDTH}},
    {CODEC_BLOCK, ONE, NEEDED, CB(down), CODEC_LAYER "mlp.down_proj.weight", CODEC_BLK "ffn_down.weight", WAV_BLK "ffn_down.weight",
     {C_WIDTH, C_FFN}},
    {CODEC_UP, TRANSPOSED, NEEDED, CU(conv), "decoder.upsample.{i}.0.conv", "tok_dec.upsample.{i}.conv", WAV_UP "conv",
     {C_LATENT, C_LATENT, C_RATIO}},
    {CODEC_UP, DEPTHWISE, NEEDED, CU(depthwise), "decoder.upsample.{i}.1.dwconv.conv", "tok_dec.upsample.{i}.dwconv", WAV_UP "dwconv", {C_LATENT, 1, 7}},
    {CODEC_UP, ONE, NEEDED, CU(norm_weight), "decoder.upsample.{i}.1.norm.weight", "tok_dec.upsample.{i}.norm.weight", WAV_UP "norm.weight",
     {C_LATENT}},
    {CODEC_UP, ONE, NEEDED, CU(norm_bias), "decoder.upsample.{i}.1.norm.bias", "tok_dec.upsample.{i}.norm.bias", WAV_UP "norm.bias", {C_LATENT}},
    {CODEC_UP, ONE, NEEDED, CU(gamma), "decoder.upsample.{i}.1.gamma", "tok_dec.upsample.{i}.gamma", WAV_UP "gamma", {C_LATENT}},
    {CODEC_UP, LINEAR, NEEDED, CU(pw1), "decoder.upsample.{i}.1.pwconv1", "tok_dec.upsample.{i}.pwconv1", WAV_UP "pw1", {C_LATENT4, C_LATENT}},
    {CODEC_UP, LINEAR, NEEDED, CU(pw2), "decoder.upsample.{i}.1.pwconv2", "tok_dec.upsample.{i}.pwconv2", WAV_UP "pw2", {C_LATENT, C_LATENT4}},
    {CODEC, LINEAR, NEEDED, CT(voc0), "decoder.decoder.0.conv", "tok_dec.dec.0.conv", WAV "dac.entry", {C_FIRST, C_LATENT, 7}},
    {CODEC_STAGE, SNAKE, NEEDED, CS(snake), "decoder.decoder.{i+1}.block.0", "tok_dec.dec.{i+1}.snake", WAV_DAC "snake", {C_IN}},
    {CODEC_STAGE, TRANSPOSED, NEEDED, CS(conv), "decoder.decoder.{i+1}.block.1.conv", "tok_dec.dec.{i+1}.conv_t", WAV_DAC "conv",
     {C_IN, C_OUT, C_TAPS}},
    {CODEC_UNIT, SNAKE, NEEDED, CN(act1), UNIT "act1", RES "act1", WAV_RES "act1", {C_OUT}},
    {CODEC_UNIT, LINEAR, NEEDED, CN(conv1), UNIT "conv1.conv", RES "conv1", WAV_RES "conv1", {C_OUT, C_OUT, 7}},
    {CODEC_UNIT, SNAKE, NEEDED, CN(act2), UNIT "act2", RES "act2", WAV_RES "act2", {C_OUT}},
    {CODEC_UNIT, LINEAR, NEEDED, CN(conv2), UNIT "conv2.conv", RES "conv2", WAV_RES "conv2", {C_OUT, C_OUT, 1}},
    {CODEC, SNAKE, NEEDED, CT(last_snake), "decoder.decoder.{r+1}", "tok_dec.dec.{r+1}.snake", WAV "dac.post_snake", {C_LAST}},
    {CODEC, DEPTHWISE, NEEDED, CT(last_conv), "decoder.decoder.{r+2}.conv", "tok_dec.dec.{r+2}.conv", WAV "dac.post_conv", {1, C_LAST, 7}},

    {ENCODER, LINEAR, NEEDED, ER(conv0), "encoder.encoder.layers.0.conv", "tok_enc.conv.0", NULL, {E_FILTERS, 1, 7}},
    {ENCODER_STAGE, LINEAR, NEEDED, ES(res1), "encoder.encoder.layers.{3i+1}.block.1.conv", "tok_enc.res.{3i+1}.blk.1", NULL, {E_HALF, E_IN, 3}},
    {ENCODER_STAGE, LINEAR, NEEDED, ES(res2), "encoder.encoder.layers.{3i+1}.block.3.conv", "tok_enc.res.{3i+1}.blk.3", NULL, {E_IN, E_HALF, 1}},
    {ENCODER_STAGE, LINEAR, NEEDED, ES(down), "encoder.encoder.layers.{3i+3}.conv", "tok_enc.conv.{3i+3}", NULL, {E_OUT, E_IN, E_TAPS}},
    {ENCODER, LINEAR, NEEDED, ER(conv1), "encoder.encoder.layers.{3e+2}.conv", "tok_enc.conv.{3e+2}", NULL, {E_WIDTH, E_LAST, 3}},
    {ENCODER_BLOCK, LINEAR, NEEDED, EB(norm1), ENC_LAYER "input_layernorm", ENC_BLK "attn_norm", NULL, {E_WIDTH}},
    {ENCODER_BLOCK, LINEAR, NEEDED, EB(norm2), ENC_LAYER "post_attention_layernorm", ENC_BLK "ffn_norm", NULL, {E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(q), ENC_LAYER "self_attn.q_proj.weight", ENC_BLK "attn_q.weight", NULL, {E_Q, E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(k), ENC_LAYER "self_attn.k_proj.weight", ENC_BLK "attn_k.weight", NULL, {E_KV, E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(v), ENC_LAYER "self_attn.v_proj.weight", ENC_BLK "attn_v.weight", NULL, {E_KV, E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(o), ENC_LAYER "self_attn.o_proj.weight", ENC_BLK "attn_output.weight", NULL, {E_WIDTH, E_Q}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(attention_scale), ENC_LAYER "self_attn_layer_scale.scale", ENC_BLK "attn_scale", NULL, {E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(ffn_scale), ENC_LAYER "mlp_layer_scale.scale", ENC_BLK "ffn_scale", NULL, {E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(up), ENC_LAYER "mlp.fc1.weight", ENC_BLK "ffn_up.weight", NULL, {E_FFN, E_WIDTH}},
    {ENCODER_BLOCK, ONE, NEEDED, EB(down), ENC_LAYER "mlp.fc2.weight", ENC_BLK "ffn_down.weight", NULL, {E_WIDTH, E_FFN}},
    {ENCODER, ONE, NEEDED, ER(downsample), "encoder.downsample.conv.weight", "tok_enc.downsample.weight", NULL, {E_WIDTH, E_WIDTH, 4}},
    {ENCODER, BOOK_PROJECTION, NEEDED, ER(semantic_in), SEMANTIC "input_proj.weight", "tok_enc.vq_semantic.input_proj.weight", NULL, {E_ROW, E_WIDTH, 1}},
    {ENCODER, BOOK_PROJECTION, NEEDED, ER(acoustic_in), ACOUSTIC "input_proj.weight", "tok_enc.vq_acoustic.input_proj.weight", NULL, {E_ROW, E_WIDTH, 1}},
    {ENCODER_BOOK, BOOK_ROWS, NEEDED, 0, SEMANTIC "layers.0.codebook.embed_sum", "tok_enc.vq_semantic.0.codebook", NULL, {E_BOOK, E_ROW}},
    {ENCODER_BOOKS, BOOK_ROWS, NEEDED, sizeof(pl_tensor), ACOUSTIC "layers.{i}.codebook.embed_sum", "tok_enc.vq_acoustic.{i}.codebook", NULL,
     {E_BOOK, E_ROW}},
    {ENCODER_USAGE, BOOK_ROWS, NEEDED, 0, SEMANTIC "layers.0.codebook.cluster_usage", NULL, NULL, {E_BOOK}},
    {ENCODER_USAGES, BOOK_ROWS, NEEDED, sizeof(pl_tensor), ACOUSTIC "layers.{i}.codebook.cluster_usage", NULL, NULL, {E_BOOK}},
};

/* Beginnings of names that belong to good files and have no effect in either direction (spec 1.8, 1.9, golden/codec.md). */
static const char *const without_effect[] = {
    "decoder.quantizer.rvq_first.input_proj.", "decoder.quantizer.rvq_rest.input_proj.", SEMANTIC, ACOUSTIC, "tok_enc.vq_semantic.",
    "tok_enc.vq_acoustic.", WAV "quant.first.in_proj.", WAV "quant.rest.in_proj.",
};

/* clang-format on */

#endif
