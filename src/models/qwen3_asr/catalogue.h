/* The catalogue of tensors: group, kind, field, names by dialect, shape in configuration symbols (spec/qwen3_asr.md 1.4; spec/gguf_dialects.md B.4,
 * D.7, D.8). Included by tensors.c alone. In names {i} is the index of the layer. */
#ifndef PL_MODELS_QWEN3_ASR_CATALOGUE_H
#define PL_MODELS_QWEN3_ASR_CATALOGUE_H

#include "models/qwen3_asr/tensors.h"

/* clang-format off */

/* Sizes by name; numbers below 1000 in a shape are meant as they stand. */
enum {
    FIRST_SYMBOL = 1000,
    VOCABULARY = FIRST_SYMBOL,
    HEAD_ROWS,
    WIDTH, /* text model */
    Q,
    KV,
    HEAD,
    FFN,
    LAYERS,
    CHANNELS, /* audio tower */
    STEM, /* values of a time step behind the convolutions */
    A_WIDTH,
    A_FFN,
    A_OUT,
    A_LAYERS,
    SYMBOLS
};

/* Where a row's tensors go: in asr_tensors, or in an array that a pointer there points to. */
enum { TEXT, TEXT_BLOCK, TOWER, TOWER_BLOCK, GROUP_COUNT };

typedef struct group {
    asr_part part;
    size_t base;
    int count; /* symbol; 0: one, and no list */
    size_t stride;
} group;

#define AT(member) offsetof(asr_tensors, member)

static const group groups[GROUP_COUNT] = {
    [TEXT] = {ASR_TEXT, 0, 0, 0},
    [TEXT_BLOCK] = {ASR_TEXT, AT(blocks), LAYERS, sizeof(pl_lm_block_tensors)},
    [TOWER] = {ASR_TOWER, AT(tower), 0, 0},
    [TOWER_BLOCK] = {ASR_TOWER, AT(tower.blocks), A_LAYERS, sizeof(struct pl_tower_block_tensors)},
};

/* A pair is name.weight and name.bias, which has the shape's first size. A table is read row by row (or is the head, when that is tied to it). */
typedef enum member_kind { ONE, PAIR, TABLE, SCORES, KERNEL } member_kind;

typedef enum condition { NEEDED, WITHOUT_TIE } condition;

typedef struct tensor_row {
    int group;
    member_kind kind;
    condition when;
    size_t field; /* in the group's structure */
    const char *names[3]; /* of upstream, of transcribe and parley, of llama */
    int shape[PL_MAX_RANK]; /* ends at 0 */
} tensor_row;

#define T(member)  offsetof(pl_tower_tensors, member)
#define TB(member) offsetof(struct pl_tower_block_tensors, member)
#define B(member)  offsetof(pl_lm_block_tensors, member)

#define MODEL "thinker.model."
#define LAYER MODEL "layers.{i}."
#define BLK   "dec.blocks.{i}."
#define AUDIO "thinker.audio_tower."
#define A_LAYER AUDIO "layers.{i}."
#define A_BLK   "enc.blocks.{i}."
#define L_BLK   "blk.{i}."
#define L_A     "a.blk.{i}."

static const tensor_row tensor_rows[] = {
    {TEXT, TABLE, NEEDED, AT(token_embedding), {MODEL "embed_tokens.weight", "dec.token_embd.weight", "token_embd.weight"}, {VOCABULARY, WIDTH}},
    {TEXT, SCORES, WITHOUT_TIE, AT(head), {"thinker.lm_head.weight", "dec.output.weight", "output.weight"}, {HEAD_ROWS, WIDTH}},
    {TEXT, ONE, NEEDED, AT(norm), {MODEL "norm.weight", "dec.output_norm.weight", "output_norm.weight"}, {WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(norm1), {LAYER "input_layernorm.weight", BLK "norm_attn.weight", L_BLK "attn_norm.weight"}, {WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(norm2), {LAYER "post_attention_layernorm.weight", BLK "norm_ffn.weight", L_BLK "ffn_norm.weight"}, {WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(q), {LAYER "self_attn.q_proj.weight", BLK "attn.q.weight", L_BLK "attn_q.weight"}, {Q, WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(k), {LAYER "self_attn.k_proj.weight", BLK "attn.k.weight", L_BLK "attn_k.weight"}, {KV, WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(v), {LAYER "self_attn.v_proj.weight", BLK "attn.v.weight", L_BLK "attn_v.weight"}, {KV, WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(o), {LAYER "self_attn.o_proj.weight", BLK "attn.o.weight", L_BLK "attn_output.weight"}, {WIDTH, Q}},
    {TEXT_BLOCK, ONE, NEEDED, B(q_norm), {LAYER "self_attn.q_norm.weight", BLK "attn.q_norm.weight", L_BLK "attn_q_norm.weight"}, {HEAD}},
    {TEXT_BLOCK, ONE, NEEDED, B(k_norm), {LAYER "self_attn.k_norm.weight", BLK "attn.k_norm.weight", L_BLK "attn_k_norm.weight"}, {HEAD}},
    {TEXT_BLOCK, ONE, NEEDED, B(gate), {LAYER "mlp.gate_proj.weight", BLK "ffn.gate.weight", L_BLK "ffn_gate.weight"}, {FFN, WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(up), {LAYER "mlp.up_proj.weight", BLK "ffn.up.weight", L_BLK "ffn_up.weight"}, {FFN, WIDTH}},
    {TEXT_BLOCK, ONE, NEEDED, B(down), {LAYER "mlp.down_proj.weight", BLK "ffn.down.weight", L_BLK "ffn_down.weight"}, {WIDTH, FFN}},

    {TOWER, KERNEL, NEEDED, T(convs[0]), {AUDIO "conv2d1", "enc.conv.0", "a.conv2d.1"}, {CHANNELS, 1, 3, 3}},
    {TOWER, KERNEL, NEEDED, T(convs[1]), {AUDIO "conv2d2", "enc.conv.1", "a.conv2d.2"}, {CHANNELS, CHANNELS, 3, 3}},
    {TOWER, KERNEL, NEEDED, T(convs[2]), {AUDIO "conv2d3", "enc.conv.2", "a.conv2d.3"}, {CHANNELS, CHANNELS, 3, 3}},
    {TOWER, ONE, NEEDED, T(conv_out), {AUDIO "conv_out.weight", "enc.conv_out.weight", "a.conv_out.weight"}, {A_WIDTH, STEM}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(norm1), {A_LAYER "self_attn_layer_norm", A_BLK "norm_attn", L_A "ln1"}, {A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(q), {A_LAYER "self_attn.q_proj", A_BLK "attn.q", L_A "attn_q"}, {A_WIDTH, A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(k), {A_LAYER "self_attn.k_proj", A_BLK "attn.k", L_A "attn_k"}, {A_WIDTH, A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(v), {A_LAYER "self_attn.v_proj", A_BLK "attn.v", L_A "attn_v"}, {A_WIDTH, A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(o), {A_LAYER "self_attn.out_proj", A_BLK "attn.out", L_A "attn_out"}, {A_WIDTH, A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(norm2), {A_LAYER "final_layer_norm", A_BLK "norm_ffn", L_A "ln2"}, {A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(fc1), {A_LAYER "fc1", A_BLK "ffn.fc1", L_A "ffn_up"}, {A_FFN, A_WIDTH}},
    {TOWER_BLOCK, PAIR, NEEDED, TB(fc2), {A_LAYER "fc2", A_BLK "ffn.fc2", L_A "ffn_down"}, {A_WIDTH, A_FFN}},
    {TOWER, PAIR, NEEDED, T(ln_post), {AUDIO "ln_post", "enc.ln_post", "a.post_ln"}, {A_WIDTH}},
    {TOWER, PAIR, NEEDED, T(proj1), {AUDIO "proj1", "enc.proj1", "mm.a.mlp.1"}, {A_WIDTH, A_WIDTH}},
    {TOWER, PAIR, NEEDED, T(proj2), {AUDIO "proj2", "enc.proj2", "mm.a.mlp.2"}, {A_OUT, A_WIDTH}},
};

/* Tables of the front end and sinusoids of the tower, which are computed here. */
static const char *const without_effect[] = {"frontend.mel_filterbank", "frontend.window", "a.position_embd."};

/* clang-format on */

#endif
