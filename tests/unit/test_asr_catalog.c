/* Files of Qwen3-ASR and the aligner: right values, no findings, equal weights whatever the dialect; faults made in memory give the right errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/kernels.h"
#include "limit_allocator.h"
#include "memory_files.h"
#include "models/qwen3_asr/tensors.h"

#include <math.h>

#define MODELS TEST_DATA "/models/"
#define GGUF   TEST_DATA "/gguf_asr_a/asr-q8_0.gguf"
#define LLAMA  TEST_DATA "/gguf_llama_asr_a"

typedef struct loaded {
    asr_files files;
    asr_config config;
    asr_tensors tensors;
    pl_tokenizer *tokenizer;
    parley_error error;
    size_t findings[PARLEY_FINDING_UNUSED + 1];
    char first[200]; /* the first finding: "name: text" */
} loaded;

static void count_finding(void *context, const parley_finding *finding)
{
    loaded *l = context;
    if (!*l->first)
        snprintf(l->first, sizeof l->first, "%s: %s", finding->tensor, finding->text);
    l->findings[finding->kind]++;
}

static parley_status load_open(const parley_allocator *allocator, const asr_open *what, loaded *l)
{
    const asr_resolve how = {.report = what->any ? count_finding : NULL, .context = l, .values = true};
    PL_TRY(pl_asr_config_read(&l->files, &l->config, &l->error));
    if (l->files.part[ASR_TOKENIZER])
        PL_TRY(pl_asr_tokenizer_open(allocator, &l->files, &l->config, &l->tokenizer, &l->error));
    return pl_asr_tensors_resolve(&l->files, &l->config, &how, &l->tensors, &l->error);
}

static void unload(loaded *l)
{
    pl_tokenizer_close(l->tokenizer);
    pl_asr_files_close(&l->files);
}

static parley_status load_with(const parley_allocator *allocator, const asr_open *what, loaded *l)
{
    *l = (loaded){0};
    PL_TRY(pl_asr_files_open(allocator, what, &l->files, &l->error));
    parley_status status = load_open(allocator, what, l);
    if (status != PARLEY_OK)
        unload(l);
    return status;
}

static parley_status load(const asr_open *what, loaded *l)
{
    parley_allocator allocator = pl_default_allocator();
    return load_with(&allocator, what, l);
}

/* ------------------------------------------------------------------ golden models */

enum { VALUES = 31 };

typedef struct golden {
    const char *path;
    asr_dialect dialect;
    int values[VALUES];
} golden;

/* In the order of values_of(). */
static const golden goldens[] = {
    {MODELS "asr_a", ASR_HF, {0,   1,   64,  2,   2,   160, 96, 32, 96,  2,   4,  2, 32,  224, 451, 451,
                              416, 412, 413, 407, 408, 419, -1, 2,  406, 408, 30, 0, 420, 1,   0}},
    {MODELS "asr_b", ASR_HF, {0,   0,   96,  2,   3,   160, 128, 24, 128, 2,   4,  1, 32,  160, 347, 347,
                              321, 322, 324, 319, 316, 318, -1,  2,  317, 316, 30, 0, 326, 1,   1}},
    {MODELS "align_a", ASR_HF, {1,   0,   64,  2,   2,   160, 96,  32, 96,  2,   4,  2,  32,  192, 461, 163,
                                414, 410, 411, 407, 408, 416, 417, 2,  406, 408, 11, 80, 418, 1,   1}},
    {GGUF, ASR_TRANSCRIBE, {0,   1,   64,  2,   2,   160, 96, 32, 96,  2,   4,  2, 32,  224, 451, 451,
                            416, 412, 413, 407, 408, 419, -1, 2,  408, 406, 30, 0, 451, 1,   0}},
    {LLAMA, ASR_LLAMA, {0,   0,   64,  2,   2,   160, 96, 32, 96,  2,   4,  2, 32,  224, 451, 451,
                        416, 412, 413, 407, 408, 419, -1, 2,  408, 406, 30, 0, 451, 2,   0}},
};

static void values_of(const loaded *l, int out[VALUES])
{
    const asr_config *c = &l->config;
    const int values[VALUES] = {
        c->aligner,
        c->tied,
        c->tower.width,
        c->tower.layers,
        c->tower.heads,
        c->tower.ffn,
        c->tower.out,
        c->tower.channels,
        c->text.width,
        c->text.layers,
        c->text.heads,
        c->text.kv_heads,
        c->text.head,
        c->text.ffn,
        c->vocabulary,
        c->head_rows,
        c->audio_token,
        c->audio_start,
        c->audio_end,
        c->im_start,
        c->im_end,
        c->asr_text,
        c->timestamp,
        c->n_end_ids,
        c->end_ids[0],
        c->end_ids[1],
        c->n_languages,
        c->timestamp_ms,
        pl_tokenizer_size(l->tokenizer),
        l->files.n_containers,
        l->tensors.head.data != NULL,
    };
    memcpy(out, values, sizeof values);
}

static void check_constants(const loaded *l, asr_dialect dialect)
{
    const asr_config *c = &l->config;
    for (int p = 0; p < ASR_PARTS; p++)
        assert_int_equal(l->files.part[p]->dialect, dialect);
    assert_true(c->text.kind == PL_BLOCK_GATED && c->text.window == 0 && c->text.block == 0);
    assert_true(fabs(c->text.theta - 1e6) < 1.0 && c->text.eps > 0.9e-6F && c->text.eps < 1.1e-6F);
    assert_int_equal(c->context_length, 65536);
    assert_true(c->tower.window == 50 && c->tower.window_infer == 800 && c->tower.mels == 128);
    assert_true(c->front.sample_rate == 16000 && c->front.fft == 400 && c->front.hop == 160 && c->front.mels == 128);
    assert_string_equal(c->languages[2].name, "Cantonese");
    assert_string_equal(c->languages[2].code, "yue");
    assert_true(l->files.file_bytes > 500000);
}

static void test_goldens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const golden *g = &goldens[i];
        loaded l;
        int found[VALUES];
        if (load(&(asr_open){.path = g->path}, &l) != PARLEY_OK)
            fail_msg("%s: %s", g->path, l.error.text);
        values_of(&l, found);
        for (int k = 0; k < VALUES; k++)
            if (found[k] != g->values[k])
                fail_msg("%s: value %d is %d, not %d", g->path, k, found[k], g->values[k]);
        check_constants(&l, g->dialect);
        unload(&l);
        assert_int_equal(load(&(asr_open){.path = g->path, .any = true}, &l), PARLEY_OK);
        if (*l.first)
            fail_msg("%s: %s", g->path, l.first);
        unload(&l);
    }
}

static void test_languages(void **state)
{
    int count;
    loaded l;
    const asr_language *all = pl_asr_languages(&count);
    (void)state;
    assert_int_equal(count, 30);
    assert_string_equal(all[29].name, "Macedonian");
    assert_string_equal(all[24].code, "fil");
    for (int k = 0; k < 2; k++) {
        assert_int_equal(load(&(asr_open){.path = k ? GGUF : MODELS "asr_a"}, &l), PARLEY_OK);
        for (int i = 0; i < count; i++) {
            assert_string_equal(l.config.languages[i].name, all[i].name);
            assert_string_equal(l.config.languages[i].code, all[i].code);
        }
        unload(&l);
    }
}

/* ------------------------------------------------------------------ tensors */

/* Largest difference and largest value of two tensors of one shape. */
static double largest_difference(const pl_tensor *a, const pl_tensor *b, double *most)
{
    int64_t n = pl_tensor_values(a);
    double worst = *most = 0.0;
    assert_true(a->data && b->data);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
    float *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    assert_true(x && y);
    pl_dequantize(a->type, a->data, n, x);
    pl_dequantize(b->type, b->data, n, y);
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
        *most = fmax(*most, fabs((double)x[i]));
    }
    free(x);
    free(y);
    return worst;
}

/* Rounding to Q8_0 moves a value by half a step of its block, and its scale is half precision; bfloat16 values may be below what F16 holds. */
static void close_to(const pl_tensor *a, const pl_tensor *b)
{
    double most, worst = largest_difference(a, b, &most);
    assert_true(worst <= (b->type == PL_Q8_0 ? most * (0.51 / 127.0 + 1e-3) : b->type == PL_F16 ? 6e-8 : 0.0));
}

static void all_close(const void *a, const void *b, size_t size)
{
    const pl_tensor *x = a, *y = b;
    assert_int_equal(size % sizeof *x, 0);
    for (size_t i = 0; i < size / sizeof *x; i++)
        close_to(&x[i], &y[i]);
}

static void equals_hf(const char *path)
{
    loaded a, b;
    assert_int_equal(load(&(asr_open){.path = MODELS "asr_a"}, &a), PARLEY_OK);
    assert_int_equal(load(&(asr_open){.path = path}, &b), PARLEY_OK);
    const asr_tensors *x = &a.tensors, *y = &b.tensors;
    close_to(&x->token_embedding, &y->token_embedding);
    close_to(&x->norm, &y->norm);
    close_to(&x->tower.conv_out, &y->tower.conv_out);
    all_close(x->tower.convs, y->tower.convs, sizeof x->tower.convs);
    all_close(&x->tower.ln_post, &y->tower.ln_post, 3 * sizeof(pl_conv_tensors));
    all_close(x->blocks, y->blocks, 2 * sizeof *x->blocks);
    all_close(x->tower.blocks, y->tower.blocks, 2 * sizeof *x->tower.blocks);
    assert_int_equal(y->tower.convs[0].weight.rank, 4);
    assert_int_equal(y->tower.convs[0].weight.shape[1], 1);
    pl_asr_tensor_drop(&a.files, &x->token_embedding);
    unload(&a);
    unload(&b);
}

static void test_gguf_equals_hf(void **state)
{
    (void)state;
    equals_hf(GGUF);
    equals_hf(LLAMA);
}

static void test_heads(void **state)
{
    loaded l;
    (void)state;
    assert_int_equal(load(&(asr_open){.path = MODELS "asr_b"}, &l), PARLEY_OK);
    assert_int_equal(l.tensors.head.shape[0], 347);
    assert_int_equal(l.tensors.head.shape[1], 128);
    assert_true(l.tensors.head.data != l.tensors.token_embedding.data);
    unload(&l);
    assert_int_equal(load(&(asr_open){.path = MODELS "align_a"}, &l), PARLEY_OK);
    assert_int_equal(l.tensors.head.shape[0], 163);
    unload(&l);
}

/* ------------------------------------------------------------------ tokenizer */

static void check_ids(const loaded *l, const char *text, const int32_t *ids, size_t count)
{
    pl_ids found = {.allocator = pl_default_allocator()};
    parley_error error;
    const pl_tokenize_options options = {.added_tokens = true, .splitter = PARLEY_SPLITTER_QWEN2};
    assert_int_equal(pl_tokenize(l->tokenizer, (pl_span){text, strlen(text)}, options, &found, &error), PARLEY_OK);
    assert_int_equal(found.count, count);
    assert_memory_equal(found.ids, ids, count * sizeof *ids);
    pl_ids_free(&found);
}

/* Files of the transcribe dialect mark added tokens that are not special as ordinary ones. */
static void test_spellings(void **state)
{
    static const int32_t ids[] = {407, 412, 416, 416, 413, 408, 419, 410, 415};
    static const char *const paths[] = {MODELS "asr_a", GGUF, LLAMA "/mmproj-bf16.gguf"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        loaded l;
        assert_int_equal(load(&(asr_open){.path = paths[i]}, &l), PARLEY_OK);
        check_ids(&l, "<|im_start|><|audio_start|><|audio_pad|><|audio_pad|><|audio_end|><|im_end|><asr_text><tool_call><non_speech>", ids, 9);
        assert_int_equal(pl_tokenizer_find(l.tokenizer, (pl_span){"<|unused_420|>", 14}), -1);
        assert_int_equal(pl_token_bytes(l.tokenizer, 419).length, 10);
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            assert_int_equal(pl_token_is_special(l.tokenizer, ids[k]), k < 6);
        unload(&l);
    }
}

static void test_tokenizer_alone(void **state)
{
    static const char *const paths[] = {MODELS "asr_b", MODELS "align_a", GGUF, LLAMA, LLAMA "/mmproj-bf16.gguf"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        loaded l;
        if (load(&(asr_open){.path = paths[i], .needed = PARLEY_PARTS_TEXT}, &l) != PARLEY_OK)
            fail_msg("%s: %s", paths[i], l.error.text);
        assert_true(!l.files.part[ASR_TEXT] && !l.files.part[ASR_TOWER] && l.tokenizer);
        assert_int_equal(l.config.audio_token, -1);
        assert_null(l.tensors.token_embedding.data);
        unload(&l);
    }
}

/* ------------------------------------------------------------------ faults */

typedef struct fault {
    const char *file, *from, *to; /* from NULL: the file is removed */
    parley_status status;
    const char *text; /* part of the message */
} fault;

static bool add_model(memory_model *m, const char *folder)
{
    static const char *const names[] = {"config.json", "generation_config.json", "preprocessor_config.json", "vocab.json",
                                        "merges.txt",  "tokenizer_config.json",  "model.safetensors"};
    return add_files(m, folder, names, sizeof names / sizeof *names);
}

static void check(memory_model *m, const fault *f)
{
    loaded l;
    if (!f->from)
        remove_file(m, f->file);
    else if (!replace(m, f->file, f->from, f->to))
        fail_msg("'%s' is not in %s", f->from, f->file);
    parley_status status = load(&(asr_open){.memory = m->files, .n_memory = m->count}, &l);
    if (status != f->status || (status != PARLEY_OK && !strstr(l.error.text, f->text)))
        fail_msg("'%s' -> '%s': %s: %s", f->from ? f->from : f->file, f->to ? f->to : "", parley_status_name(status), l.error.text);
    if (status == PARLEY_OK)
        unload(&l);
}

static void check_all(const char *folder, const fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memory_model m = {0};
        assert_true(add_model(&m, folder));
        check(&m, &faults[i]);
        free_model(&m);
    }
}

#define MAIN    "config.json"
#define FRONT   "preprocessor_config.json"
#define END     "generation_config.json"
#define ADDED   "tokenizer_config.json"
#define WEIGHTS "model.safetensors"

static const fault faults[] = {
    {MAIN, NULL, NULL, PARLEY_MISSING, "config.json"},
    {FRONT, NULL, NULL, PARLEY_MISSING, "preprocessor_config.json"},
    {END, NULL, NULL, PARLEY_MISSING, "generation_config.json"},
    {WEIGHTS, NULL, NULL, PARLEY_MISSING, "model.safetensors"},
    {"merges.txt", NULL, NULL, PARLEY_MISSING, "merges.txt"},
    {ADDED, NULL, NULL, PARLEY_MISSING, "tokenizer_config.json"},
    {MAIN, "\"model_type\": \"qwen3_asr\",\n \"support", "\"model_type\": \"qwen2\",\n \"support", PARLEY_FAMILY, "qwen2"},
    {MAIN, "\"model_type\": \"qwen3_asr\",\n \"support", "\"model_type\": 3,\n \"support", PARLEY_FORMAT, "'model_type' is to be a text"},
    {MAIN, "\"model_type\": \"qwen3_asr\",\n  \"audio", "\"model_type\": \"qwen3_omni\",\n  \"audio", PARLEY_UNSUPPORTED, "qwen3_omni"},
    {MAIN, "\"thinker_config\"", "\"other\"", PARLEY_MISSING, "'thinker_config.audio_config.num_mel_bins' is not there"},
    {MAIN, "\"n_window\"", "\"other\"", PARLEY_MISSING, "'thinker_config.audio_config.n_window' is not there"},
    {MAIN, "\"n_window_infer\"", "\"other\"", PARLEY_MISSING, "'thinker_config.audio_config.n_window_infer'"},
    {MAIN, "\"n_window\": 50", "\"n_window\": 5000", PARLEY_FORMAT, "n_window' is 5000, 1 to 4096"},
    {MAIN, "\"n_window_infer\": 800", "\"n_window_infer\": 80", PARLEY_FORMAT, "attention window"},
    {MAIN, "\"audio_token_id\"", "\"other\"", PARLEY_MISSING, "'thinker_config.audio_token_id' is not there"},
    {MAIN, "\"tie_word_embeddings\"", "\"other\"", PARLEY_MISSING, "tie_word_embeddings"},
    {MAIN, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": 1", PARLEY_FORMAT, "is to be true or false"},
    {MAIN, "\"rope_theta\"", "\"other\"", PARLEY_MISSING, "rope_theta"},
    {MAIN, "\"support_languages\"", "\"other\"", PARLEY_MISSING, "support_languages"},
    {MAIN, "\"Chinese\"", "7", PARLEY_FORMAT, "'support_languages' is to be a list of names"},
    {MAIN, "\"Chinese\"", "\"Klingon\"", PARLEY_OK, ""},
    {MAIN, "\"d_model\": 64", "\"d_model\": \"64\"", PARLEY_FORMAT, "'thinker_config.audio_config.d_model' is to be a whole number"},
    {MAIN, "\"d_model\": 64", "\"d_model\": 1e300", PARLEY_FORMAT, "d_model"},
    {MAIN, "\"d_model\": 64", "\"d_model\": 64, \"d_model\": 64", PARLEY_FORMAT, "'d_model' is there twice"},
    {MAIN, "\"d_model\": 64", "\"d_model\": 68", PARLEY_SHAPE, "conv_out.weight ([68, 512] is expected, [64, 512] found)"},
    {MAIN, "\"encoder_attention_heads\": 2", "\"encoder_attention_heads\": 3", PARLEY_FORMAT, "no multiple of its heads"},
    {MAIN, "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", PARLEY_FORMAT, "no multiple of its KV heads"},
    {MAIN, "\"head_dim\": 32", "\"head_dim\": 31", PARLEY_FORMAT, "odd"},
    {MAIN, "\"output_dim\": 96", "\"output_dim\": 64", PARLEY_FORMAT, "not as wide as the text model"},
    {MAIN, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", PARLEY_MISSING, "11 tensors are missing or wrong: thinker.model.layers.2."},
    {MAIN, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", PARLEY_OK, ""},
    {MAIN, "\"num_mel_bins\": 128", "\"num_mel_bins\": 80", PARLEY_UNSUPPORTED, "num_mel_bins' is 80, only 128"},
    {MAIN, "\"gelu\"", "\"relu\"", PARLEY_UNSUPPORTED, "activation_function' is relu"},
    {MAIN, "\"scale_embedding\": false", "\"scale_embedding\": true", PARLEY_UNSUPPORTED, "scale_embedding"},
    {MAIN, "\"attention_bias\": false", "\"attention_bias\": true", PARLEY_UNSUPPORTED, "attention_bias"},
    {MAIN, "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", PARLEY_UNSUPPORTED, "yarn"},
    {MAIN, "\"vocab_size\": 451", "\"vocab_size\": 419", PARLEY_FORMAT, "the tokenizer has 420 ids, but the model only 419"},
    {MAIN, "\"vocab_size\": 451", "\"vocab_size\": 416", PARLEY_FORMAT, "the id audio_token is 416, 0 to 415"},
    {MAIN, "\"audio_token_id\": 416", "\"audio_token_id\": 417", PARLEY_FORMAT, "'<|audio_pad|>' is token 416 of the tokenizer, but 417"},
    {FRONT, "\"sampling_rate\": 16000", "\"sampling_rate\": 8000", PARLEY_UNSUPPORTED, "'sampling_rate' is 8000, only 16000"},
    {FRONT, "\"hop_length\": 160", "\"hop_length\": 320", PARLEY_UNSUPPORTED, "'hop_length' is 320"},
    {FRONT, "\"n_fft\": 400", "\"n_fft\": 512", PARLEY_UNSUPPORTED, "'n_fft' is 512"},
    {FRONT, "\"feature_size\": 128", "\"feature_size\": 80", PARLEY_UNSUPPORTED, "'feature_size' is 80"},
    {FRONT, "\"n_fft\"", "\"other\"", PARLEY_MISSING, "'n_fft' is not there"},
    {END, "\"eos_token_id\"", "\"other\"", PARLEY_MISSING, "'eos_token_id' is not there"},
    {END, "406,", "", PARLEY_OK, ""},
    {END, "406,", "451,", PARLEY_FORMAT, "'eos_token_id' is 451, 0 to 450"},
    {END, "406,", "\"406\",", PARLEY_FORMAT, "an id or a list of ids"},
    {END, "406,", "1.5,", PARLEY_FORMAT, "'eos_token_id' is 1.5"},
    {END, "406,", "1,2,3,4,5,6,7,8,", PARLEY_FORMAT, "more than 8 ids"},
    {ADDED, "<asr_text>", "<xsr_text>", PARLEY_MISSING, "no token '<asr_text>'"},
    {ADDED, "<|im_start|>", "<|xm_start|>", PARLEY_MISSING, "no token '<|im_start|>'"},
    {ADDED, "<|im_start|>", "<timestamp>", PARLEY_MISSING, "no token '<|im_start|>'"},
    {"vocab.json", "{", "[", PARLEY_FORMAT, "vocab.json"},
    {WEIGHTS, "thinker.model.norm.weight", "thinker.model.form.weight", PARLEY_MISSING,
     "1 tensor is missing or wrong: thinker.model.norm.weight (missing, [96] is expected)"},
    {WEIGHTS, "audio_tower.conv2d2.bias", "audio_tower.conv2d9.bias", PARLEY_MISSING, "thinker.audio_tower.conv2d2.bias (missing, [32] is expected)"},
    {WEIGHTS, "\"shape\":[451,96]", "\"shape\":[96,451]", PARLEY_SHAPE, "embed_tokens.weight ([451, 96] is expected, [96, 451] found)"},
    {WEIGHTS, "thinker.audio_tower.", "thinker.video_tower.", PARLEY_MISSING, "45 tensors are missing or wrong"},
    {WEIGHTS, "thinker.lm_head.weight", "thinker.xm_head.weight", PARLEY_OK, ""},
};

static const fault aligner_faults[] = {
    {MAIN, "\"qwen3_forced_aligner\"", "\"qwen3_asr\"", PARLEY_OK, ""}, /* its classes still tell */
    {MAIN, "\"classify_num\"", "\"other\"", PARLEY_MISSING, "'thinker_config.classify_num' is not there"},
    {MAIN, "\"classify_num\": 163", "\"classify_num\": 164", PARLEY_SHAPE, "thinker.lm_head.weight ([164, 96] is expected, [163, 96] found)"},
    {MAIN, "\"timestamp_token_id\"", "\"other\"", PARLEY_MISSING, "timestamp_token_id"},
    {MAIN, "\"timestamp_token_id\": 417", "\"timestamp_token_id\": 416", PARLEY_FORMAT, "'<timestamp>' is token 417"},
    {MAIN, "\"timestamp_segment_time\"", "\"other\"", PARLEY_MISSING, "timestamp_segment_time"},
    {MAIN, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true", PARLEY_FORMAT, "cannot be tied"},
    {END, NULL, NULL, PARLEY_OK, ""},
    {ADDED, "<timestamp>", "<timestimp>", PARLEY_MISSING, "no token '<timestamp>'"},
    {ADDED, "<asr_text>", "<xsr_text>", PARLEY_OK, ""},
    {WEIGHTS, "thinker.lm_head.weight", "thinker.xm_head.weight", PARLEY_MISSING, "thinker.lm_head.weight (missing, [163, 96] is expected)"},
};

static void test_faults(void **state)
{
    (void)state;
    check_all(MODELS "asr_a", faults, sizeof faults / sizeof *faults);
    check_all(MODELS "align_a", aligner_faults, sizeof aligner_faults / sizeof *aligner_faults);
}

#define E "stt.qwen3_asr.encoder."
#define D "stt.qwen3_asr.decoder."
#define T "tokenizer.ggml."

/* Names change, lengths do not. */
static const fault gguf_faults[] = {
    {"a", "qwen3_asr\x0c", "qwen4_asr\x0c", PARLEY_FAMILY, "the architecture is 'qwen4_asr'"},
    {"a", E "n_window_infer", E "x_window_infer", PARLEY_MISSING, "'stt.qwen3_asr.encoder.n_window_infer' is not there"},
    {"a", E "downsample_hidden", E "xownsample_hidden", PARLEY_MISSING, "downsample_hidden"},
    {"a", D "rope_theta", D "xope_theta", PARLEY_MISSING, "rope_theta"},
    {"a", D "tie_word_embeddings", D "xie_word_embeddings", PARLEY_OK, ""},
    {"a", D "rope_mrope_section_t", D "xope_mrope_section_t", PARLEY_OK, ""},
    {"a", "stt.qwen3_asr.audio_token_id", "stt.qwen3_asr.xudio_token_id", PARLEY_MISSING, "audio_token_id"},
    {"a", "gelu", "relu", PARLEY_UNSUPPORTED, "activation' is relu"},
    {"a", "silu", "relu", PARLEY_UNSUPPORTED, "hidden_act' is relu"},
    {"a", "hann_periodic", "hann_symmetri", PARLEY_UNSUPPORTED, "window' is hann_symmetri"},
    {"a", "per_utterance", "per_utterancd", PARLEY_UNSUPPORTED, "normalize"},
    {"a", "slaney", "slanex", PARLEY_UNSUPPORTED, "mel_norm"},
    {"a", "reflect", "reflecc", PARLEY_UNSUPPORTED, "pad_mode"},
    {"a", "stt.frontend.mel_norm", "stt.frontend.xel_norm", PARLEY_OK, ""},
    {"a", "stt.frontend.sample_rate", "stt.frontend.xample_rate", PARLEY_MISSING, "sample_rate"},
    {"a", "general.languages", "xeneral.languages", PARLEY_OK, ""},
    {"a", T "eos_token_id", T "xos_token_id", PARLEY_OK, ""}, /* padding is left */
    {"a", T "merges", T "xerges", PARLEY_MISSING, "'tokenizer.ggml.merges' is not there"},
    {"a", T "token_type", T "xoken_type", PARLEY_OK, ""},
    {"a", "<asr_text>", "<xsr_text>", PARLEY_MISSING, "no token '<asr_text>'"},
    {"a", "dec.blocks.1.attn.q_norm", "dec.blocks.1.attn.x_norm", PARLEY_MISSING, "dec.blocks.1.attn.q_norm.weight (missing, [32] is expected)"},
    {"a", "enc.conv.2.weight", "enc.conv.9.weight", PARLEY_MISSING, "enc.conv.2.weight (missing, [32, 32, 3, 3] is expected)"},
    {"a", "frontend.window", "xrontend.window", PARLEY_OK, ""},
};

static void test_gguf_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof gguf_faults / sizeof *gguf_faults; i++) {
        memory_model m = {0};
        assert_true(add_file(&m, GGUF, "a"));
        check(&m, &gguf_faults[i]);
        free_model(&m);
    }
}

#define V "qwen3vl."
#define A "clip.audio."

/* a: the text model, b: the mmproj file. */
static const fault llama_faults[] = {
    {"a", "qwen3vl", "qwen3vx", PARLEY_MISSING, "b: its text model is not there (a is 'qwen3vx')"},
    {"a", "<asr_text>", "<xsr_text>", PARLEY_MISSING, "b: its text model is not there (a is 'qwen3vl')"},
    {"b", "qwen3a", "qwen2a", PARLEY_MISSING, "a: its mmproj file is not there (b is 'clip' with the projector 'qwen2a')"},
    {"b", A "projector_type", A "xrojector_type", PARLEY_MISSING, "(b is 'clip')"},
    {"a", V "embedding_length", V "xmbedding_length", PARLEY_MISSING, "'qwen3vl.embedding_length' is not there (was to go with b)"},
    {"b", A "projection_dim", A "xrojection_dim", PARLEY_MISSING, "'clip.audio.projection_dim' is not there (was to go with a)"},
    {"a", V "block_count", V "xlock_count", PARLEY_MISSING, "block_count"},
    {"a", V "rope.freq_base", V "rope.freq_xase", PARLEY_MISSING, "freq_base"},
    {"a", V "n_deepstack_layers", V "n_xeepstack_layers", PARLEY_OK, ""},
    {"b", A "embedding_length", A "xmbedding_length", PARLEY_MISSING, "'clip.audio.embedding_length' is not there"},
    {"b", A "attention.head_count", A "attention.xead_count", PARLEY_MISSING, "head_count"},
    {"b", A "num_mel_bins", A "num_xel_bins", PARLEY_MISSING, "num_mel_bins"},
    {"b", "a.conv2d.1.weight", "a.conv2d.9.weight", PARLEY_MISSING, "a.conv2d.1.weight"},
    {"b", "a.conv2d.2.bias", "a.conv2d.9.bias", PARLEY_MISSING, "a.conv2d.2.bias (missing, [32] is expected)"},
    {"b", "a.position_embd", "a.xosition_embd", PARLEY_OK, ""},
    {"b", "a.blk.1.ffn_up.weight", "a.blk.1.ffn_ux.weight", PARLEY_MISSING, "a.blk.1.ffn_up.weight (missing, [160, 64] is expected)"},
    {"a", "token_embd.weight", "xoken_embd.weight", PARLEY_MISSING, "token_embd.weight"},
    {"a", "blk.1.attn_output.weight", "blk.1.attn_xutput.weight", PARLEY_MISSING, "blk.1.attn_output.weight"},
    {"a", T "eos_token_id", T "xos_token_id", PARLEY_MISSING, "'tokenizer.ggml.eos_token_id' is not there"},
    {"a", "<|endoftext|>", "<|xndoftext|>", PARLEY_MISSING, "no token '<|endoftext|>'"},
    {"a", "<|audio_pad|>", "<|xudio_pad|>", PARLEY_MISSING, "no token '<|audio_pad|>'"},
    {"a", T "merges", T "xerges", PARLEY_MISSING, "'tokenizer.ggml.merges' is not there"},
};

static void add_llama(memory_model *m)
{
    assert_true(add_file(m, LLAMA "/model-bf16.gguf", "a") && add_file(m, LLAMA "/mmproj-bf16.gguf", "b"));
}

static void test_llama_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof llama_faults / sizeof *llama_faults; i++) {
        memory_model m = {0};
        add_llama(&m);
        check(&m, &llama_faults[i]);
        free_model(&m);
    }
}

/* A head of other rows than the table makes an aligner; one that differs is the head; none ties. */
static void test_llama_heads(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    add_llama(&m);
    const asr_open what = {.memory = m.files, .n_memory = 2};
    assert_true(put_behind(&m, "a", "output.weight", 12, 163, 8));
    assert_int_equal(load(&what, &l), PARLEY_MISSING);
    assert_non_null(strstr(l.error.text, "no token '<timestamp>'"));
    assert_true(replace(&m, "a", "<tool_call>", "<timestamp>") == 1);
    assert_int_equal(load(&what, &l), PARLEY_OK);
    assert_true(l.config.aligner && l.config.timestamp == 410 && l.config.timestamp_ms == 80 && l.config.n_end_ids == 2);
    assert_int_equal(l.tensors.head.shape[0], 163);
    unload(&l);
    assert_true(put_behind(&m, "a", "output.weight", 12, 451, 8));
    assert_int_equal(load(&what, &l), PARLEY_OK);
    assert_true(!l.config.aligner && !l.config.tied && !l.tensors.head.data);
    size_t at = (size_t)((const char *)l.tensors.token_embedding.data - (const char *)m.files[0].data);
    unload(&l);
    char *bytes;
    memcpy(&bytes, &m.files[0].data, sizeof bytes);
    bytes[at + 5] ^= 1;
    assert_int_equal(load(&what, &l), PARLEY_OK);
    assert_true(!l.config.tied && l.tensors.head.data);
    unload(&l);
    assert_true(put_behind(&m, "a", "output.weight", SIZE_MAX, 'x', 1)); /* the name's last letter */
    assert_int_equal(load(&what, &l), PARLEY_OK);
    assert_true(l.config.tied && !l.tensors.head.data);
    unload(&l);
    free_model(&m);
}

/* A stored head that differs is still the embedding when the configuration ties them; a copy is one whatever it says. */
static void test_ties(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    assert_true(add_model(&m, MODELS "asr_a"));
    assert_true(replace(&m, MAIN, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false") == 1);
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_OK);
    assert_false(l.config.tied);
    assert_null(l.tensors.head.data);
    size_t at = (size_t)((const char *)l.tensors.token_embedding.data - (const char *)m.files[find_file(&m, WEIGHTS)].data);
    unload(&l);
    char *bytes;
    memcpy(&bytes, &m.files[find_file(&m, WEIGHTS)].data, sizeof bytes);
    bytes[at + 5] ^= 1;
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_OK);
    assert_non_null(l.tensors.head.data);
    unload(&l);
    replace(&m, MAIN, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true");
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_OK);
    assert_null(l.tensors.head.data);
    unload(&l);
    free_model(&m);
}

/* ------------------------------------------------------------------ findings */

static void test_findings(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    assert_true(add_model(&m, MODELS "asr_a"));
    assert_true(replace(&m, WEIGHTS, "audio_tower.layers.1.fc1.weight", "audio_tower.layers.1.fc9.weight") == 1);
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count, .any = true}, &l), PARLEY_OK);
    assert_int_equal(l.findings[PARLEY_FINDING_MISSING], 1);
    assert_int_equal(l.findings[PARLEY_FINDING_UNUSED], 1);
    assert_non_null(strstr(l.first, "thinker.audio_tower.layers.1.fc1.weight: missing, [160, 64] is expected"));
    size_t at = (size_t)((const char *)l.tensors.norm.data - (const char *)m.files[find_file(&m, WEIGHTS)].data);
    unload(&l);
    char *bytes;
    memcpy(&bytes, &m.files[find_file(&m, WEIGHTS)].data, sizeof bytes);
    bytes[at + 6] = (char)0x80, bytes[at + 7] = 0x7f; /* infinity */
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count, .any = true}, &l), PARLEY_OK);
    assert_int_equal(l.findings[PARLEY_FINDING_VALUE], 1);
    unload(&l);
    remove_file(&m, WEIGHTS);
    remove_file(&m, "vocab.json");
    remove_file(&m, "merges.txt");
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count, .any = true}, &l), PARLEY_OK);
    assert_int_equal(l.findings[PARLEY_FINDING_MISSING], 69);
    assert_true(!l.files.part[ASR_TOKENIZER] && l.config.audio_token == 416);
    unload(&l);
    free_model(&m);
}

/* ------------------------------------------------------------------ families, folders */

static bool probe(const char *path)
{
    parley_allocator allocator = pl_default_allocator();
    parley_error error;
    pl_source *source;
    assert_int_equal(pl_source_open(&allocator, path, &source, &error), PARLEY_OK);
    bool found = pl_asr_probe(&allocator, source);
    pl_source_close(source);
    return found;
}

static void test_families(void **state)
{
    loaded l;
    (void)state;
    assert_true(probe(MODELS "asr_a") && probe(MODELS "align_a") && probe(GGUF) && probe(TEST_DATA "/gguf_asr_a"));
    assert_false(probe(MODELS "tts_a_base") || probe(TEST_DATA "/gguf_qts_a_base") || probe(TEST_DATA "/tts_text") || probe(MODELS));
    assert_int_equal(load(&(asr_open){.path = MODELS "tts_a_base"}, &l), PARLEY_FAMILY);
    assert_non_null(strstr(l.error.text, "'qwen3_tts', qwen3_asr is expected"));
    assert_int_equal(load(&(asr_open){.path = TEST_DATA "/gguf_qts_a_base/model-bf16.gguf"}, &l), PARLEY_FAMILY);
    assert_non_null(strstr(l.error.text, "'qwen3-tts', qwen3_asr"));
    assert_true(probe(LLAMA) && probe(LLAMA "/mmproj-bf16.gguf") && !probe(TEST_DATA "/gguf_llama_tts_l/model-bf16.gguf"));
    assert_int_equal(load(&(asr_open){.path = TEST_DATA "/tts_text"}, &l), PARLEY_MISSING);
    assert_int_equal(load(&(asr_open){.path = TEST_DATA "/nowhere"}, &l), PARLEY_MISSING);
    assert_int_equal(load(&(asr_open){.path = MODELS "asr_a/model.safetensors"}, &l), PARLEY_FORMAT);
}

static void test_folders(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    assert_true(add_file(&m, GGUF, "b") && add_file(&m, TEST_DATA "/gguf_qts_a_base/model-bf16.gguf", "a"));
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_OK);
    assert_int_equal(l.files.n_containers, 1);
    unload(&l);
    assert_true(add_file(&m, GGUF, "c"));
    assert_int_equal(load(&(asr_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_ARGUMENT);
    assert_non_null(strstr(l.error.text, "the text model is there twice, in b and in c"));
    free_model(&m);
}

/* ------------------------------------------------------------------ memory */

/* Each allocation fails once: an error, and nothing is lost. */
static void test_memory(void **state)
{
    static const char *const paths[] = {MODELS "align_a", GGUF, LLAMA "/model-bf16.gguf"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        parley_status status = PARLEY_MEMORY;
        for (size_t left = 0; status != PARLEY_OK; left++) {
            limit_allocator limit = {.limit = SIZE_MAX, .left = left};
            parley_allocator allocator = {limit_alloc, limit_release, &limit};
            loaded l;
            status = load_with(&allocator, &(asr_open){.path = paths[i]}, &l);
            if (status == PARLEY_OK)
                unload(&l);
            else
                assert_int_equal(status, PARLEY_MEMORY);
            assert_int_equal(limit.held, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),  cmocka_unit_test(test_languages),    cmocka_unit_test(test_gguf_equals_hf),
        cmocka_unit_test(test_heads),    cmocka_unit_test(test_spellings),    cmocka_unit_test(test_tokenizer_alone),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_gguf_faults),  cmocka_unit_test(test_ties),
        cmocka_unit_test(test_findings), cmocka_unit_test(test_families),     cmocka_unit_test(test_folders),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_llama_faults), cmocka_unit_test(test_llama_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
