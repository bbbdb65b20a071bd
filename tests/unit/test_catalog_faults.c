/* Faults of configuration and tensors, each made in memory from a good model: status and text of the error; the qts layouts in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalog_files.h"
#include "weights_files.h"

#define MODELS  TEST_DATA "/models/"
#define QWENTTS TEST_DATA "/gguf_qwentts_a_custom/"
#define QTS     TEST_DATA "/gguf_qts_a_base/model-bf16.gguf"

typedef struct fault {
    const char *file, *from, *to; /* file NULL: nothing is changed; from NULL: the file is removed */
    parley_status status;
    const char *text; /* part of the message */
} fault;

static void check(memory_model *m, const fault *f, size_t at_least)
{
    loaded l;
    if (!f->from)
        remove_file(m, f->file);
    else if (replace(m, f->file, f->from, f->to) < at_least)
        fail_msg("'%s' is not in %s", f->from, f->file);
    parley_status status = load(&(tts_open){.memory = m->files, .n_memory = m->count}, &l);
    if (status != f->status || (status != PARLEY_OK && !strstr(l.error.text, f->text)))
        fail_msg("'%s' -> '%s': %s: %s", f->from ? f->from : f->file, f->to ? f->to : "", parley_status_name(status), l.error.text);
    if (status == PARLEY_OK)
        unload(&l);
}

#define MAIN     "config.json"
#define CODEC    "speech_tokenizer/config.json"
#define SAMPLING "generation_config.json"

static const fault json_faults[] = {
    {MAIN, NULL, NULL, PARLEY_MISSING, "config.json"},
    {SAMPLING, NULL, NULL, PARLEY_MISSING, "generation_config.json"},
    {"merges.txt", NULL, NULL, PARLEY_MISSING, "merges.txt"},
    {"tokenizer_config.json", NULL, NULL, PARLEY_MISSING, "tokenizer_config.json"},
    {CODEC, NULL, NULL, PARLEY_MISSING, "speech_tokenizer/config.json"},
    {"speech_tokenizer/model.safetensors", NULL, NULL, PARLEY_MISSING, "speech_tokenizer/model.safetensors"},
    {MAIN, "\"qwen3_tts\"", "\"qwen2\"", PARLEY_FAMILY, "qwen2"},
    {MAIN, "qwen3_tts_tokenizer_12hz", "qwen3_tts_tokenizer_25hz", PARLEY_UNSUPPORTED, "qwen3_tts_tokenizer_25hz"},
    {MAIN, "\"custom_voice\"", "\"singing\"", PARLEY_UNSUPPORTED, "singing"},
    {MAIN, "\"im_end_token_id\": 502", "\"im_end_token_id\": 540", PARLEY_FORMAT, "im_end is 540, 0 to 539"},
    {MAIN, "\"im_end_token_id\"", "\"other\"", PARLEY_MISSING, "'im_end_token_id' is not there"},
    {MAIN, "\"talker_config\"", "\"other\"", PARLEY_MISSING, "talker"},
    {MAIN, "\"codec_eos_token_id\": 166", "\"codec_eos_token_id\": \"166\"", PARLEY_FORMAT,
     "'talker_config.codec_eos_token_id' is to be a whole number"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 32, \"head_dim\": 32", PARLEY_FORMAT, "'head_dim' is there twice"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 31", PARLEY_FORMAT, "even"},
    {MAIN, "\"num_attention_heads\": 6", "\"num_attention_heads\": 5", PARLEY_FORMAT, "no multiple"},
    {MAIN, "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 1e300", PARLEY_FORMAT, "num_hidden_layers"},
    {MAIN, "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4", PARLEY_MISSING, "talker.model.layers.3.input_layernorm.weight"},
    {MAIN, "\"hidden_size\": 32,\n  \"intermediate_size\": 160", "\"hidden_size\": 64,\n  \"intermediate_size\": 160", PARLEY_SHAPE,
     "[64, 64] is expected"},
    {MAIN, "\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", PARLEY_UNSUPPORTED, "only silu"},
    {MAIN, "\"attention_bias\": false", "\"attention_bias\": true", PARLEY_UNSUPPORTED, "attention_bias"},
    {MAIN, "\"sliding_window\": null", "\"sliding_window\": 4096", PARLEY_UNSUPPORTED, "sliding_window"},
    {MAIN, "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", PARLEY_UNSUPPORTED, "yarn"},
    {MAIN, "\"full_attention\",\n    \"full_attention\"", "\"full_attention\",\n    \"sliding_attention\"", PARLEY_UNSUPPORTED, "layer_types"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 32, \"min_p\": 0.1", PARLEY_UNSUPPORTED, "min_p"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 32, \"no_repeat_ngram_size\": 3", PARLEY_UNSUPPORTED, "no_repeat_ngram_size"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 32, \"repetition_penalty\": 1.1", PARLEY_UNSUPPORTED, "code_predictor_config.repetition_penalty"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 32, \"repetition_penalty\": 1.0, \"min_p\": null, \"bad_words_ids\": []", PARLEY_OK, ""},
    {MAIN, "\"vocab_size\": 64", "\"vocab_size\": 2000", PARLEY_FORMAT, "codec vocabulary"},
    {MAIN, "\"num_code_groups\": 16,\n   \"model_type\"", "\"num_code_groups\": 15,\n   \"model_type\"", PARLEY_FORMAT, "number of code groups"},
    {MAIN, "\"codec_language_id\"", "\"other\"", PARLEY_MISSING, "codec_language_id"},
    {MAIN, "\"english\": 66", "\"english\": 1088", PARLEY_FORMAT, "'english' has id 1088, 0 to 1087"},
    {MAIN, "\"english\": 66", "\"English\": 66, \"english\": 66", PARLEY_FORMAT, "'english' is there twice"},
    {MAIN, "\"eric\": \"sichuan_dialect\"", "\"eric\": \"klingon\"", PARLEY_FORMAT, "'klingon'"},
    {MAIN, "\"eric\": \"sichuan_dialect\"", "\"eric\": true", PARLEY_FORMAT, "'eric'"},
    {MAIN, "\"text_vocab_size\": 540", "\"text_vocab_size\": 532", PARLEY_FORMAT, "533 ids"},
    {SAMPLING, "\"temperature\": 0.9", "\"temperature\": 11", PARLEY_FORMAT, "'temperature' is 11"},
    {SAMPLING, "\"top_p\": 1.0", "\"top_p\": 0", PARLEY_FORMAT, "'top_p' is 0"},
    {SAMPLING, "\"do_sample\": true", "\"do_sample\": 1", PARLEY_FORMAT, "'do_sample' is to be true or false"},
    {SAMPLING, "\"max_new_tokens\": 8192", "\"max_new_tokens\": 8192}}", PARLEY_FORMAT, "more text"},
    {CODEC, "qwen3_tts_tokenizer_12hz", "mimi", PARLEY_FAMILY, "mimi"},
    {CODEC, "\"num_semantic_quantizers\": 1", "\"num_semantic_quantizers\": 2", PARLEY_UNSUPPORTED, "num_semantic_quantizers"},
    {CODEC, "\"decode_upsample_rate\": 1920", "\"decode_upsample_rate\": 960", PARLEY_FORMAT, "upsampling rates"},
    {CODEC, "\"latent_dim\": 32", "\"latent_dim\": 33", PARLEY_SHAPE, "[33, 16, 3] is expected"},
    {CODEC, "\"decoder_dim\": 16", "\"decoder_dim\": 17", PARLEY_FORMAT, "halved"},
    {CODEC, "\"codebook_size\": 64", "\"codebook_size\": 32", PARLEY_FORMAT, "this codec takes 16 codes of 32"},
    {CODEC, "\"sliding_window\": 12", "\"other\": 12", PARLEY_MISSING, "decoder_config.sliding_window"},
    {CODEC, "\"upsample_rates\": [", "\"upsample_rates\": [8,5,4,3,1,1,1,1,", PARLEY_FORMAT, "upsample_rates"},
    {"vocab.json", "{", "[", PARLEY_FORMAT, "vocab.json"},
};

static void test_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof json_faults / sizeof *json_faults; i++) {
        memory_model m = {0};
        assert_true(add_model(&m, MODELS "tts_a_custom"));
        check(&m, &json_faults[i], 1);
        free_model(&m);
    }
}

#define WEIGHTS "model.safetensors"

static const fault tensor_faults[] = {
    {WEIGHTS, "talker.model.layers.1.self_attn.q_proj", "talker.model.layers.1.self_attn.x_proj", PARLEY_MISSING,
     "talker.model.layers.1.self_attn.q_proj.weight"},
    {WEIGHTS, "lm_head.14", "lm_head.77", PARLEY_MISSING,
     "1 tensor is missing or wrong: talker.code_predictor.lm_head.14.weight (missing, [64, 32] is expected)"},
    {WEIGHTS, "\"shape\":[1088,32]", "\"shape\":[32,1088]", PARLEY_SHAPE,
     "2 tensors are missing or wrong: talker.model.codec_embedding.weight ([1088, 32] is expected, [32, 1088] found)"},
    {WEIGHTS, "talker.model.layers.", "walker.model.layers.", PARLEY_MISSING, "33 tensors are missing or wrong"},
    {"speech_tokenizer/model.safetensors", "decoder.decoder.6.conv", "decoder.decoder.7.conv", PARLEY_MISSING, "decoder.decoder.6.conv.weight"},
    /* The codec's encoder is not needed to speak. */
    {"speech_tokenizer/model.safetensors", "encoder.downsample.conv", "encoder.xownsample.conv", PARLEY_OK, ""},
};

static void test_tensors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tensor_faults / sizeof *tensor_faults; i++) {
        memory_model m = {0};
        assert_true(add_model(&m, MODELS "tts_a_custom"));
        check(&m, &tensor_faults[i], 1);
        free_model(&m);
    }
}

/* A check reports all of it and counts what is wrong. */
static void test_findings(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    assert_true(add_model(&m, MODELS "tts_a_base"));
    assert_int_equal(replace(&m, WEIGHTS, "talker.model.layers.1.self_attn.q_proj", "talker.model.layers.1.self_attn.x_proj"), 1);
    assert_int_equal(replace(&m, WEIGHTS, "speaker_encoder.mfa.conv.bias", "speaker_encoder.mfa.conv.bios"), 1);
    assert_int_equal(replace(&m, "speech_tokenizer/" WEIGHTS, "encoder.downsample.conv", "encoder.xownsample.conv"), 1);
    assert_true(replace(&m, WEIGHTS, "\"shape\":[1088,32]", "\"shape\":[32,1088]") == 2);
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = m.count, .any = true}, &l), PARLEY_OK);
    assert_int_equal(l.findings[PARLEY_FINDING_MISSING], 3);
    assert_int_equal(l.findings[PARLEY_FINDING_SHAPE], 2);
    assert_int_equal(l.findings[PARLEY_FINDING_UNUSED], 3);
    assert_int_equal(l.findings[PARLEY_FINDING_VALUE], 0);
    unload(&l);
    free_model(&m);
}

/* ------------------------------------------------------------------ GGUF keys */

static const fault key_faults[] = {
    {"a", "qwen3-tts.talker.block_count", "qwen3-tts.talker.xlock_count", PARLEY_MISSING, "'qwen3-tts.talker.block_count' is not there"},
    {"a", "qwen3-tts.codec.speaker_dialects", "qwen3-tts.codec.speaker_dialectx", PARLEY_OK, ""},
    {"a", "qwen3-tts.codec.language_ids", "qwen3-tts.codec.language_idx", PARLEY_FORMAT, "language_ids"},
    {"a", "tokenizer.ggml.merges", "tokenizer.ggml.merchs", PARLEY_MISSING, "tokenizer.ggml.merges"},
    {"a", "talker.blk.2.attn_q_norm.weight", "talker.blk.2.attn_x_norm.weight", PARLEY_MISSING, "talker.blk.2.attn_q_norm.weight"},
    {"a", "code_pred.codec_embd.7.weight", "code_pred.codec_embd.q.weight", PARLEY_MISSING, "code_pred.codec_embd.7.weight"},
    {"a", "gpt2", "bert", PARLEY_UNSUPPORTED, "bert"},
    {"a", "custom_voice", "custom_noise", PARLEY_UNSUPPORTED, "custom_noise"},
    {"b", "tok_dec.dec.3.res.1.conv2.bias", "tok_dec.dec.3.res.1.conv3.bias", PARLEY_MISSING, "tok_dec.dec.3.res.1.conv2.bias"},
    {"b", "decoder.sliding_window", "decoder.sliding_widow_", PARLEY_MISSING, "decoder.sliding_window"},
    {"b", "qwen3-tts-tokenizer", "qwen9-tts-tokenizer", PARLEY_MISSING, "codec"},
};

static void test_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof key_faults / sizeof *key_faults; i++) {
        memory_model m = {0};
        assert_true(add_file(&m, QWENTTS "talker-q8_0.gguf", "a") && add_file(&m, QWENTTS "codec-q8_0.gguf", "b"));
        check(&m, &key_faults[i], 1);
        free_model(&m);
    }
}

/* ------------------------------------------------------------------ qts in pieces */

/* Three files from one: names that belong elsewhere are made unknown. */
static void split(memory_model *m, bool talker, bool predictor, bool tokenizer)
{
    if (talker) {
        assert_true(add_file(m, QTS, "talker"));
        assert_true(replace(m, "talker", "code_pred.", "xode_pred.") > 0);
        assert_int_equal(replace(m, "talker", "tokenizer.ggml.tokens", "xokenizer.ggml.tokens"), 1);
    }
    if (predictor) {
        assert_true(add_file(m, QTS, "predictor"));
        assert_true(replace(m, "predictor", "talker.", "xalker.") > 0 && replace(m, "predictor", "spk_enc.", "xpk_enc.") > 0);
        assert_int_equal(replace(m, "predictor", "tokenizer.ggml.tokens", "xokenizer.ggml.tokens"), 1);
    }
    if (tokenizer) {
        assert_true(add_file(m, QTS, "tokenizer"));
        assert_true(replace(m, "tokenizer", "talker.", "xalker.") > 0 && replace(m, "tokenizer", "spk_enc.", "xpk_enc.") > 0);
        assert_true(replace(m, "tokenizer", "code_pred.", "xode_pred.") > 0);
    }
}

static void test_split(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    split(&m, true, true, true);
    assert_true(add_file(&m, QWENTTS "codec-q8_0.gguf", "codec"));
    if (load(&(tts_open){.memory = m.files, .n_memory = m.count}, &l) != PARLEY_OK)
        fail_msg("%s", l.error.text);
    assert_int_equal(l.files.n_containers, 4);
    assert_int_equal(l.config.predictor.ffn, 96);
    assert_int_equal(l.config.im_start, 501);
    assert_string_equal(l.config.model_type, "base");
    assert_false(l.config.has_projection);
    unload(&l);
    remove_file(&m, "predictor");
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_MISSING);
    assert_non_null(strstr(l.error.text, "code predictor"));
    split(&m, false, true, false);
    assert_true(add_file(&m, QTS, "again"));
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_ARGUMENT);
    assert_non_null(strstr(l.error.text, "again"));
    free_model(&m);
}

static void test_lone_pieces(void **state)
{
    (void)state;
    for (int piece = 0; piece < 3; piece++) {
        memory_model m = {0};
        loaded l;
        split(&m, piece == 0, piece == 1, piece == 2);
        if (load(&(tts_open){.memory = m.files, .n_memory = 1, .any = true}, &l) != PARLEY_OK)
            fail_msg("piece %d: %s", piece, l.error.text);
        assert_int_equal(l.findings[PARLEY_FINDING_MISSING] + l.findings[PARLEY_FINDING_SHAPE] + l.findings[PARLEY_FINDING_TYPE], 0);
        assert_int_equal(l.files.part[TTS_TALKER] != NULL, piece == 0);
        assert_int_equal(l.files.part[TTS_PREDICTOR] != NULL, piece == 1);
        assert_int_equal(l.files.part[TTS_TOKENIZER] != NULL, piece == 2);
        unload(&l);
        free_model(&m);
    }
}

/* Keys that are not there take the family's defaults, which do not fit this small model: ids above its vocabularies, and sizes. */
static void test_qts_defaults(void **state)
{
    static const fault rows[] = {
        {"a", "qwen3-tts.block_count", "qwen3-tts.xlock_count", PARLEY_MISSING, "225 tensors"},
        {"a", "qwen3-tts.codec.eos_id", "qwen3-tts.codec.xos_id", PARLEY_FORMAT, "eos is 2150"},
        {"a", "qwen3-tts.tts_bos_token_id", "qwen3-tts.xts_bos_token_id", PARLEY_FORMAT, "tts_bos is 151672"},
        {"a", "qwen3-tts.codec.eos_id", "qwen3-tts.codec.eos_id", PARLEY_OK, ""},
        {"a", "qwen3-tts.tts_bos_token_id", "qwen3-tts.tts.bos_token_id", PARLEY_OK, ""},                   /* the other name */
        {"a", "qwen3-tts.embedding_length", "qwen3-tts.xmbedding_length", PARLEY_OK, ""},                   /* from the output norm */
        {"a", "code_predictor.attention.head_count", "xode_predictor.attention.head_count", PARLEY_OK, ""}, /* from shapes */
        {"a", "blk.2.attn_q_norm.weight", "blk.2.attn_x_norm.weight", PARLEY_OK, ""},                       /* optional */
        {"a", "qwen3-tts.attention.layer_norm_rms_epsilon", "qwen3-tts.xttention.layer_norm_rms_epsilon", PARLEY_OK, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memory_model m = {0};
        assert_true(add_file(&m, QTS, "a") && add_file(&m, QWENTTS "codec-q8_0.gguf", "b"));
        check(&m, &rows[i], 1);
        free_model(&m);
    }
}

/* ------------------------------------------------------------------ the projection's names */

typedef struct shape_row {
    const char *name;
    uint64_t ne[2];
} shape_row;

static void put_rows(made_file *f, const shape_row *rows, size_t count)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        put_tensor(f, rows[i].name, rows[i].ne[1] ? 2 : 1, rows[i].ne, 0, offset);
        offset += (rows[i].ne[0] * (rows[i].ne[1] ? rows[i].ne[1] : 1) * 4 + 31) / 32 * 32;
    }
    put_padding(f, 32);
    while (offset-- > 0)
        put_number(f, 0, 1);
}

/* A predictor of two groups, width 4 below a talker of width 6. */
static void make_predictor(made_file *f, const char *projection, bool bias)
{
    char weight[80], bias_name[80];
    snprintf(weight, sizeof weight, "%s.weight", projection);
    snprintf(bias_name, sizeof bias_name, "%s.bias", projection);
    const shape_row rows[] = {
        {"code_pred.codec_embd.0.weight", {6, 3}},
        {"code_pred.lm_head.0.weight", {4, 3}},
        {"code_pred.output_norm.weight", {4, 0}},
        {"code_pred.blk.0.attn_norm.weight", {4, 0}},
        {"code_pred.blk.0.ffn_norm.weight", {4, 0}},
        {"code_pred.blk.0.attn_q.weight", {4, 4}},
        {"code_pred.blk.0.attn_k.weight", {4, 2}},
        {"code_pred.blk.0.attn_v.weight", {4, 2}},
        {"code_pred.blk.0.attn_output.weight", {4, 4}},
        {"code_pred.blk.0.attn_q_norm.weight", {2, 0}},
        {"code_pred.blk.0.attn_k_norm.weight", {2, 0}},
        {"code_pred.blk.0.ffn_gate.weight", {4, 5}},
        {"code_pred.blk.0.ffn_up.weight", {4, 5}},
        {"code_pred.blk.0.ffn_down.weight", {5, 4}},
        {weight, {6, 4}},
        {bias_name, {4, 0}},
    };
    size_t count = sizeof rows / sizeof *rows - !bias;
    put_head(f, 3, count, 4);
    put_key(f, "general.architecture", 8), put_text(f, "qwen3-tts");
    put_key(f, "qwen3-tts.talker.num_codebooks", 4), put_number(f, 2, 4);
    put_key(f, "qwen3-tts.code_pred.block_count", 4), put_number(f, 1, 4);
    put_key(f, "qwen3-tts.code_pred.vocab_size", 4), put_number(f, 3, 4);
    put_rows(f, rows, count);
}

static void test_projection_names(void **state)
{
    static const char *const names[] = {"code_pred.mtp_proj", "code_pred.small_to_mtp_projection", "talker.code_predictor.small_to_mtp_projection",
                                        "small_to_mtp_projection", "code_pred.small_to_mtp"};
    static made_file f;
    loaded l;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make_predictor(&f, names[i], true);
        const parley_memory_file file = {"p", f.bytes, f.size};
        if (load(&(tts_open){.memory = &file, .n_memory = 1, .any = true}, &l) != PARLEY_OK)
            fail_msg("%s", l.error.text);
        if (*l.first)
            fail_msg("%s: %s", names[i], l.first);
        assert_true(l.config.has_projection);
        assert_int_equal(l.config.predictor.heads, 2);
        assert_int_equal(l.config.predictor.kv_heads, 1);
        assert_int_equal(l.tensors.projection.weight.shape[1], 6);
        assert_non_null(l.tensors.projection.bias.data);
        unload(&l);
    }
    make_predictor(&f, names[0], false);
    const parley_memory_file file = {"p", f.bytes, f.size};
    assert_int_equal(load(&(tts_open){.memory = &file, .n_memory = 1, .any = true}, &l), PARLEY_OK);
    assert_int_equal(l.findings[PARLEY_FINDING_MISSING], 1);
    assert_non_null(strstr(l.first, "code_pred.mtp_proj.bias"));
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),         cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_findings),     cmocka_unit_test(test_keys),
        cmocka_unit_test(test_split),        cmocka_unit_test(test_lone_pieces),
        cmocka_unit_test(test_qts_defaults), cmocka_unit_test(test_projection_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
