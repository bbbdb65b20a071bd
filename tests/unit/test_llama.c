/* Qwen3-TTS as two files of llama.cpp: equal weights, ids and names whatever the dialect; the joined vocabulary; shapes in place of keys; pairs that
 * are found, named, mixed up or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalog_files.h"
#include "kernels/kernels.h"
#include "support/speak.h"

#include <math.h>
#include <unistd.h>

#define MODELS TEST_DATA "/models/"
#define A_BASE TEST_DATA "/gguf_llama_tts_a_base"
#define L_BASE TEST_DATA "/gguf_llama_tts_l"
#define ASR    TEST_DATA "/gguf_llama_asr_a"
#define CODEC  MODELS "tts_a_base/speech_tokenizer"

/* ------------------------------------------------------------------ one checkpoint, two dialects */

static const tts_open directory = {.path = MODELS "tts_a_base", .needed = PARLEY_PARTS_CLONE};
static const tts_open pair = {.path = A_BASE, .codec_path = CODEC, .needed = PARLEY_PARTS_CLONE};

static float *values_of(const pl_tensor *t)
{
    float *x = malloc((size_t)pl_tensor_values(t) * sizeof *x);
    assert_non_null(x);
    assert_non_null(t->data);
    pl_dequantize(t->type, t->data, pl_tensor_values(t), x);
    return x;
}

/* bfloat16 kernels in F16 lose what F16 does not hold: values below its subnormals. */
static void equal(const pl_tensor *a, const pl_tensor *b)
{
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
    float *x = values_of(a), *y = values_of(b);
    for (int64_t i = 0; i < pl_tensor_values(a); i++)
        assert_true(fabsf(x[i] - y[i]) <= (b->type == PL_F16 ? 6e-8F : 0.0F));
    free(x);
    free(y);
}

static void equal_all(const void *a, const void *b, size_t size)
{
    const pl_tensor *x = a, *y = b;
    assert_int_equal(size % sizeof *x, 0);
    for (size_t i = 0; i < size / sizeof *x; i++)
        equal(&x[i], &y[i]);
}

/* y [rows] = w x + bias. */
static void multiply(const float *w, const float *bias, const double *x, int rows, int width, double *y)
{
    for (int r = 0; r < rows; r++) {
        y[r] = bias[r];
        for (int i = 0; i < width; i++)
            y[r] += (double)w[(int64_t)r * width + i] * x[i];
    }
}

/* Rows of the table are those of the directory behind its projection. */
static void check_projected(const loaded *hf, const loaded *llama)
{
    enum { MOST = 256 };
    const int width = hf->config.text_width, out = hf->config.talker.width;
    const tts_tensors *t = &hf->tensors;
    float *table = values_of(&t->text_embedding), *w1 = values_of(&t->fc1.weight), *b1 = values_of(&t->fc1.bias), *w2 = values_of(&t->fc2.weight);
    float *b2 = values_of(&t->fc2.bias), *made = values_of(&llama->tensors.text_embedding);
    double x[MOST], h[MOST], y[MOST];
    assert_true(width <= MOST && out <= MOST && llama->config.text_width == out);
    for (int64_t row = 0; row < t->text_embedding.shape[0]; row += 7) {
        for (int i = 0; i < width; i++)
            x[i] = table[row * width + i];
        multiply(w1, b1, x, width, width, h);
        for (int i = 0; i < width; i++)
            h[i] = h[i] / (1.0 + exp(-h[i]));
        multiply(w2, b2, h, out, width, y);
        for (int i = 0; i < out; i++)
            assert_true(fabs(y[i] - (double)made[row * out + i]) < 1e-5);
    }
    float *const all[] = {table, w1, b1, w2, b2, made};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_equal_weights(void **state)
{
    loaded a, b;
    (void)state;
    assert_int_equal(load(&directory, &a), PARLEY_OK);
    assert_int_equal(load(&pair, &b), PARLEY_OK);
    const tts_tensors *x = &a.tensors, *y = &b.tensors;
    const size_t rest = (size_t)a.config.groups - 1;
    check_projected(&a, &b);
    assert_int_equal(y->text_embedding.shape[0], 540);
    assert_true(!y->fc1.weight.data && !y->fc2.bias.data && !y->projection.weight.data);
    equal(&x->codec_embedding, &y->codec_embedding);
    equal(&x->codec_head, &y->codec_head);
    equal(&x->norm, &y->norm);
    equal(&x->predictor_norm, &y->predictor_norm);
    equal_all(x->blocks, y->blocks, (size_t)a.config.talker.layers * sizeof *x->blocks);
    equal_all(x->predictor_blocks, y->predictor_blocks, (size_t)a.config.predictor.layers * sizeof *x->predictor_blocks);
    equal_all(x->predictor_embeddings, y->predictor_embeddings, rest * sizeof(pl_tensor));
    equal_all(x->predictor_heads, y->predictor_heads, rest * sizeof(pl_tensor));
    equal_all(&x->speaker.mfa, &y->speaker.mfa, 4 * sizeof(pl_conv_tensors));
    for (int i = 0; i < PL_SPEAKER_BLOCKS; i++)
        for (int k = 0; k < a.config.speaker.scale - 1; k++)
            equal_all(&x->speaker.blocks[i].res[k], &y->speaker.blocks[i].res[k], sizeof(pl_conv_tensors));
    unload(&a);
    unload(&b);
}

/* Pages are views into the file: nothing is copied. */
static void test_views(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    assert_true(add_file(&m, L_BASE "/mmproj-bf16.gguf", "b") && add_file(&m, L_BASE "/model-bf16.gguf", "a"));
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 2}, &l), PARLEY_OK);
    const pl_tensor *const views[] = {&l.tensors.text_embedding,     &l.tensors.codec_embedding,    &l.tensors.predictor_embeddings[14],
                                      &l.tensors.predictor_heads[0], &l.tensors.codec.codebooks[0], &l.tensors.codec.codebooks[15]};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        const parley_memory_file *file = &m.files[i == 0 ? 1 : 0];
        const char *data = views[i]->data, *begin = file->data;
        assert_true(data >= begin && data + views[i]->bytes <= begin + file->size);
    }
    assert_true((const char *)l.tensors.predictor_heads[1].data
                == (const char *)l.tensors.predictor_heads[0].data + l.tensors.predictor_heads[0].bytes);
    assert_true(l.tensors.codec.snake_is_final && !l.tensors.codec.usages[0].data);
    unload(&l);
    free_model(&m);
}

static int32_t language(const tts_config *c, const char *name)
{
    for (int i = 0; i < c->n_languages; i++)
        if (strcmp(c->languages[i].name, name) == 0)
            return c->languages[i].id;
    return -1;
}

static void test_equal_ids(void **state)
{
    loaded a, b;
    (void)state;
    assert_int_equal(load(&directory, &a), PARLEY_OK);
    assert_int_equal(load(&pair, &b), PARLEY_OK);
    const tts_config *x = &a.config, *y = &b.config;
    const int32_t ids[][2] = {{x->im_start, y->im_start},      {x->im_end, y->im_end},       {x->tts_pad, y->tts_pad},
                              {x->tts_bos, y->tts_bos},        {x->tts_eos, y->tts_eos},     {x->codec_pad, y->codec_pad},
                              {x->codec_bos, y->codec_bos},    {x->codec_eos, y->codec_eos}, {x->think, y->think},
                              {x->nothink, y->nothink},        {x->think_bos, y->think_bos}, {x->think_eos, y->think_eos},
                              {x->n_languages, y->n_languages}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(ids[i][0], ids[i][1]);
    for (int i = 0; i < x->n_languages; i++)
        assert_int_equal(language(y, x->languages[i].name), x->languages[i].id);
    assert_true(y->generation.top_k == x->generation.top_k && y->generation.temperature == x->generation.temperature);
    for (int32_t id = 0; id < pl_tokenizer_size(a.tokenizer); id++) {
        pl_span s = pl_token_bytes(a.tokenizer, id), t = pl_token_bytes(b.tokenizer, id);
        assert_int_equal(s.length, t.length);
        assert_memory_equal(s.text, t.text, s.length);
    }
    assert_int_equal(pl_tokenizer_find(b.tokenizer, (pl_span){"<|codec_5|>", 11}), -1);
    assert_true(pl_tokenizer_find(b.tokenizer, (pl_span){"<|im_start|>", 12}) == y->im_start);
    unload(&a);
    unload(&b);
}

/* Greedy codes of the two, with merges that begin with '#' in the text. */
static void test_equal_codes(void **state)
{
    static const char text[] = "One checkpoint, ## two dialects: 3,5 \xe2\x82\xac. ";
    static const char *const paths[] = {MODELS "tts_a_base", A_BASE "/mmproj-bf16.gguf"};
    speech spoken[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        parley_model *model = open_model(paths[i], CODEC, 2, NULL);
        parley_tts_options options = plain_options(model, 24);
        spoken[i] = speak(model, &options, text);
        parley_model_close(model);
    }
    assert_true(spoken[0].frames > 4);
    assert_int_equal(spoken[0].frames, spoken[1].frames);
    assert_memory_equal(spoken[0].codes, spoken[1].codes, spoken[0].frames * spoken[0].groups * sizeof(int32_t));
    for (int i = 0; i < 2; i++)
        free_speech(&spoken[i]);
}

/* ------------------------------------------------------------------ names of the codec's rows */

/* a: the text model, b: the mmproj file. */
static void add_pair(memory_model *m, const char *folder)
{
    static const char *const names[] = {"model-bf16.gguf", "mmproj-bf16.gguf"};
    assert_true(add_files(m, folder, names, 2));
    m->files[0].name = "a";
    m->files[1].name = "b";
}

static void test_names(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    add_pair(&m, L_BASE);
    const tts_open what = {.memory = m.files, .n_memory = 2};
    assert_true(replace(&m, "a", "<|codec_30|>", "<|spk_Eric|>") == 1 && replace(&m, "a", "<|codec_1|>", "<|spk_Li|>>") == 1);
    assert_true(replace(&m, "a", "<|codec_language_german|>", "<|codec_language_Klinon|>") == 1);
    assert_int_equal(load(&what, &l), PARLEY_OK);
    assert_string_equal(l.config.model_type, "custom_voice");
    assert_int_equal(l.config.xvector_length, 0);
    assert_int_equal(l.config.n_speakers, 1); /* "<|spk_Li|>>" does not end as a name does */
    assert_string_equal(l.config.speakers[0].name, "eric");
    assert_string_equal(l.config.speakers[0].dialect, ""); /* no such language is there */
    assert_int_equal(l.config.speakers[0].id, 30);
    assert_true(language(&l.config, "klinon") >= 0 && language(&l.config, "german") < 0);
    unload(&l);
    remove_file(&m, "b");
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 1, .any = true}, &l), PARLEY_OK);
    assert_string_equal(l.config.model_type, "custom_voice");
    unload(&l);
    free_model(&m);
    assert_int_equal(load(&(tts_open){.path = L_BASE "/model-bf16.gguf"}, &l), PARLEY_OK);
    assert_string_equal(l.config.model_type, "base");
    assert_string_equal(l.config.model_size, "1b7");
    unload(&l);
}

/* Without an audio encoder it is no Base model; of a text model alone nothing tells. */
static void test_kinds(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    add_pair(&m, L_BASE);
    assert_true(put_behind(&m, "b", "clip.has_audio_encoder", 4, 0, 1) && replace(&m, "b", "a.conv1d.0.", "x.conv1d.0.") == 2);
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 2, .needed = PARLEY_PARTS_CLONE}, &l), PARLEY_OK);
    assert_string_equal(l.config.model_type, "voice_design");
    assert_null(l.files.part[TTS_SPEAKER]);
    unload(&l);
    remove_file(&m, "b");
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 1, .any = true}, &l), PARLEY_OK);
    assert_string_equal(l.config.model_type, "");
    unload(&l);
    free_model(&m);
}

/* ------------------------------------------------------------------ shapes in place of keys */

static void test_codec(void **state)
{
    loaded l;
    (void)state;
    assert_int_equal(load(&(tts_open){.path = L_BASE "/mmproj-bf16.gguf", .needed = PARLEY_PARTS_CODEC}, &l), PARLEY_OK);
    const pl_codec_shape *s = &l.config.codec;
    assert_true(!l.files.part[TTS_TALKER] && l.files.part[TTS_CODEC] && !l.config.has_encoder);
    assert_true(s->groups == 16 && s->codebook_size == 32 && s->codebook_width == 8 && s->latent == 32 && s->decoder_dim == 16);
    assert_true(s->transformer.layers == 8 && s->transformer.heads == 16 && s->transformer.kv_heads == 16 && s->transformer.head == 4);
    assert_true(s->transformer.width == 16 && s->transformer.ffn == 32 && s->transformer.window == 72 && s->sample_rate == 24000);
    assert_true(s->n_ratios == 2 && s->ratios[0] == 2 && s->ratios[1] == 2);
    assert_true(s->n_rates == 4 && s->rates[0] == 8 && s->rates[1] == 5 && s->rates[2] == 4 && s->rates[3] == 3);
    unload(&l);
}

/* ------------------------------------------------------------------ faults */

typedef struct fault {
    const char *file, *from, *to;
    parley_parts needed;
    parley_status status;
    const char *text; /* part of the message */
} fault;

#define T   "qwen3tts."
#define G   "clip.gen.audio."
#define W   "a.gen.wav."
#define ALL PARLEY_PARTS_ALL

static const fault faults[] = {
    {"b", "qwen3tts_gen", "qwen3tts_xxx", ALL, PARLEY_MISSING, "a: its mmproj file is not there (b is 'clip' with the projector 'qwen3tts_xxx')"},
    {"a", T "embedding_length", T "xmbedding_length", ALL, PARLEY_MISSING, "'qwen3tts.embedding_length' is not there (was to go with b)"},
    {"b", G "projection_dim", G "xrojection_dim", ALL, PARLEY_OK, ""}, /* the other one is left */
    {"b", "projection_dim", "xrojection_dim", ALL, PARLEY_MISSING, "'clip.gen.audio.projection_dim' is not there (was to go with a)"},
    {"a", T "block_count", T "xlock_count", ALL, PARLEY_MISSING, "'qwen3tts.block_count' is not there"},
    {"a", T "rope.freq_base", T "rope.freq_xase", ALL, PARLEY_MISSING, "freq_base"},
    {"a", T "attention.key_length", T "attention.xey_length", ALL, PARLEY_MISSING, "key_length"},
    {"a", "general.sampling.temp", "general.sampling.xemp", ALL, PARLEY_OK, ""},
    {"a", "tokenizer.ggml.suppress_tokens", "tokenizer.ggml.xuppress_tokens", ALL, PARLEY_OK, ""},
    {"a", "tokenizer.ggml.tokens", "tokenizer.ggml.xokens", ALL, PARLEY_MISSING, "'tokenizer.ggml.tokens' is not there"},
    {"a", "tokenizer.ggml.merges", "tokenizer.ggml.xerges", ALL, PARLEY_MISSING, "'tokenizer.ggml.merges' is not there"},
    {"a", "<tts_pad>", "<xts_pad>", ALL, PARLEY_MISSING, "no token '<tts_pad>'"},
    {"a", "<tts_text_bos>", "<xts_text_bos>", ALL, PARLEY_MISSING, "no token '<tts_text_bos>'"},
    {"a", "<|im_end|>", "<|xm_end|>", ALL, PARLEY_MISSING, "no token '<|im_end|>'"},
    {"a", "<|codec_nothink|>", "<|xodec_nothink|>", ALL, PARLEY_MISSING, "no token '<|codec_nothink|>'"},
    {"a", "<|codec_language_german|>", "<|codec_language_french|>", ALL, PARLEY_FORMAT, "language 'french' is there twice"},
    {"a", "token_embd.weight", "xoken_embd.weight", ALL, PARLEY_MISSING, "a: the tensor token_embd.weight is not there"},
    {"a", "output_norm.weight", "output_xorm.weight", ALL, PARLEY_MISSING, "output_norm.weight (missing, [32] is expected)"},
    {"a", "blk.2.attn_q_norm.weight", "blk.2.attn_x_norm.weight", ALL, PARLEY_MISSING, "blk.2.attn_q_norm.weight"},
    {"b", G "attention.head_count", G "attention.xead_count", ALL, PARLEY_MISSING, "'clip.gen.audio.attention.head_count' is not there"},
    {"b", G "block_count", G "xlock_count", ALL, PARLEY_MISSING, "'clip.gen.audio.block_count' is not there"},
    {"b", "a.gen.code.head.weight", "a.gen.code.xead.weight", ALL, PARLEY_MISSING, "the tensor a.gen.code.head.weight is not there"},
    {"b", "a.gen.code.embd.weight", "a.gen.code.xmbd.weight", ALL, PARLEY_MISSING, "a.gen.code.embd.weight (missing, [15, 32, 32] is expected)"},
    {"b", "a.gen.code.out_embd", "a.gen.code.xut_embd", ALL, PARLEY_MISSING, "a.gen.code.out_embd.weight (missing, [1056, 32] is expected)"},
    {"b", "a.gen.code.blk.1.attn_out", "a.gen.code.blk.1.attn_xut", ALL, PARLEY_MISSING, "a.gen.code.blk.1.attn_out.weight"},
    {"b", "a.gen.code.proj_in.bias", "a.gen.code.xroj_in.bias", ALL, PARLEY_MISSING, "a.gen.code.proj_in.bias (missing, [64] is expected)"},
    {"b", "a.asp_attn.weight", "a.xsp_attn.weight", ALL, PARLEY_OK, ""}, /* not needed to speak */
    {"b", "a.asp_attn.weight", "a.xsp_attn.weight", PARLEY_PARTS_CLONE, PARLEY_MISSING, "a.asp_attn.weight"},
    {"b", W "quant.rest.in_proj", W "quant.rest.xn_proj", ALL, PARLEY_OK, ""},
    {"b", W "quant.rest.codebook", W "quant.rest.xodebook", ALL, PARLEY_MISSING, "a.gen.wav.quant.rest.codebook.weight is not there"},
    {"b", W "tfm.blk.0.attn_q", W "tfm.blk.0.attn_x", ALL, PARLEY_MISSING, "a.gen.wav.tfm.blk.0.attn_q.weight is not there"},
    {"b", W "tfm.blk.3.ls1", W "tfm.blk.3.lx1", ALL, PARLEY_MISSING, "a.gen.wav.tfm.blk.3.ls1.weight (missing, [16] is expected)"},
    {"b", W "tfm.blk.7.", W "tfm.blk.9.", ALL, PARLEY_MISSING, "a.gen.wav.tfm.blk.7.ln1.weight"},
    {"b", W "dac.blk.3.", W "dac.blk.9.", ALL, PARLEY_FORMAT, "10 blocks a.gen.wav.dac.blk.N, 1 to 8 are expected"},
    {"b", W "up.blk.", W "xp.blk.", ALL, PARLEY_MISSING, "0 blocks a.gen.wav.up.blk.N"},
    {"b", W "up.blk.1.conv.weight", W "up.blk.1.xonv.weight", ALL, PARLEY_MISSING, "a.gen.wav.up.blk.1.conv.weight is not there"},
    {"b", W "up.blk.1.gamma", W "up.blk.1.xamma", ALL, PARLEY_MISSING, "a.gen.wav.up.blk.1.gamma"},
    {"b", W "dac.blk.2.res.1.act2.alpha", W "dac.blk.2.res.1.act2.xlpha", ALL, PARLEY_MISSING, "dac.blk.2.res.1.act2.alpha"},
    {"b", W "dac.post_conv.bias", W "dac.xost_conv.bias", ALL, PARLEY_MISSING, "a.gen.wav.dac.post_conv.bias"},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const fault *f = &faults[i];
        memory_model m = {0};
        loaded l;
        add_pair(&m, L_BASE);
        if (!replace(&m, f->file, f->from, f->to))
            fail_msg("'%s' is not in %s", f->from, f->file);
        parley_status status = load(&(tts_open){.memory = m.files, .n_memory = 2, .needed = f->needed}, &l);
        if (status != f->status || (status != PARLEY_OK && !strstr(l.error.text, f->text)))
            fail_msg("'%s' -> '%s': %s: %s", f->from, f->to, parley_status_name(status), l.error.text);
        if (status == PARLEY_OK)
            unload(&l);
        free_model(&m);
    }
}

static const struct {
    const char *file, *name;
    size_t behind;
    unsigned long long number;
    int bytes;
    parley_status status;
    const char *text;
} numbers[] = {
    {"a", T "embedding_length", 4, 64, 4, PARLEY_FORMAT, "a and b are of two models: the text model is of width 64, the mmproj file of 32"},
    {"b", G "projection_dim", 4, 64, 4, PARLEY_FORMAT, "'clip.gen.audio.projection_dim' is 64, but 'clip.audio.projection_dim' 32"},
    {"a", "general.architecture", 19, 'x', 1, PARLEY_MISSING, "b: its text model is not there (a is 'qwen3ttx')"},
    {"a", "output.weight", 12, 1055, 8, PARLEY_SHAPE, "a.gen.code.out_embd.weight ([1055, 32] is expected, [1056, 32] found)"},
    {"a", "token_embd.weight", 12, 1535, 8, PARLEY_FORMAT, "'tokenizer.ggml.tokens' has 1536 items, but token_embd.weight 1535 rows"},
    {"a", "output.weight", 12, 1537, 8, PARLEY_FORMAT, "share bytes (was to go with b)"},
    {"a", "token_embd.weight", 12, 1056, 8, PARLEY_FORMAT, "token_embd.weight has 1056 rows and output.weight 1056"},
    {"a", T "attention.head_count", 4, 3, 4, PARLEY_FORMAT, "no multiple"},
    {"b", G "attention.head_count", 4, 6, 4, PARLEY_SHAPE, "a.gen.code.blk.0.attn_q.weight"},
    {"b", G "block_count", 4, 3, 4, PARLEY_MISSING, "a.gen.code.blk.2.ln1.weight"},
    {"b", "a.gen.code.head.weight", 20, 14, 8, PARLEY_FORMAT, "this codec takes 16 codes of 32 a frame, but the model makes 15 of 32"},
    {"b", W "dac.blk.0.conv.weight", 4, 15, 8, PARLEY_FORMAT, "15 values, a multiple of 2 is expected"},
    {"b", W "tfm.blk.0.attn_q.weight", 12, 60, 8, PARLEY_FORMAT, "no multiple of 16 heads"},
};

static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        memory_model m = {0};
        loaded l;
        add_pair(&m, L_BASE);
        assert_true(put_behind(&m, numbers[i].file, numbers[i].name, numbers[i].behind, numbers[i].number, numbers[i].bytes));
        parley_status status = load(&(tts_open){.memory = m.files, .n_memory = 2}, &l);
        if (status != numbers[i].status || !strstr(l.error.text, numbers[i].text))
            fail_msg("%s = %llu: %s: %s", numbers[i].name, numbers[i].number, parley_status_name(status), l.error.text);
        free_model(&m);
    }
}

/* The codec of the mmproj file is neither read nor checked when another one is named. */
static void test_replaced_codec(void **state)
{
    loaded l;
    (void)state;
    assert_int_equal(load(&(tts_open){.path = A_BASE}, &l), PARLEY_FORMAT); /* heads that llama.cpp has not */
    assert_int_equal(load(&pair, &l), PARLEY_OK);
    assert_true(l.config.has_encoder && !l.tensors.codec.snake_is_final && l.files.part[TTS_CODEC]->dialect == TTS_HF);
    unload(&l);
    assert_int_equal(load(&(tts_open){.path = A_BASE, .codec_path = CODEC, .any = true}, &l), PARLEY_OK);
    assert_string_equal(l.first, "");
    unload(&l);
    assert_int_equal(load(&(tts_open){.path = MODELS "tts_a_base", .codec_path = L_BASE}, &l), PARLEY_FORMAT); /* other codes */
    assert_non_null(strstr(l.error.text, "this codec takes 16 codes of 32 a frame, but the model makes 16 of 64"));
    assert_int_equal(load(&(tts_open){.path = L_BASE, .codec_path = L_BASE "/mmproj-bf16.gguf"}, &l), PARLEY_OK);
    assert_int_equal(l.files.n_containers, 3);
    unload(&l);
    assert_int_equal(load(&(tts_open){.path = L_BASE, .codec_path = L_BASE "/model-bf16.gguf"}, &l), PARLEY_MISSING);
    assert_non_null(strstr(l.error.text, "no codec is there"));
}

/* ------------------------------------------------------------------ pairs on disk */

typedef struct link_row {
    const char *target, *name;
} link_row;

static const link_row text_l = {L_BASE "/model-bf16.gguf", "l.gguf"}, rest_l = {L_BASE "/mmproj-bf16.gguf", "mmproj-l.gguf"};
static const link_row text_a = {A_BASE "/model-bf16.gguf", "a.gguf"}, text_h = {ASR "/model-bf16.gguf", "h.gguf"};
static const link_row rest_h = {ASR "/mmproj-bf16.gguf", "mmproj-h.gguf"}, rest_2 = {L_BASE "/mmproj-bf16.gguf", "second.gguf"};
static const link_row no_gguf = {MODELS "tts_a_base/config.json", "other.gguf"};

static void make_folder(const char *folder, const link_row *const *rows, size_t count)
{
    char command[256], path[1200];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, rows[i]->name);
        assert_int_equal(symlink(rows[i]->target, path), 0);
    }
}

#define F "test_llama_folder"

static const struct {
    const link_row *rows[4];
    const char *path, *second;
    parley_status status;
    const char *text[2];
} pairs[] = {
    {{&text_l, &rest_l}, F, NULL, PARLEY_OK, {NULL, NULL}},
    {{&text_l, &rest_l}, F "/l.gguf", NULL, PARLEY_OK, {NULL, NULL}},
    {{&text_l, &rest_l}, F "/mmproj-l.gguf", NULL, PARLEY_OK, {NULL, NULL}},
    {{&text_l, &rest_l, &text_h, &rest_h}, F "/l.gguf", NULL, PARLEY_OK, {NULL, NULL}},
    {{&text_l, &rest_l, &text_h, &rest_h}, F, NULL, PARLEY_OK, {NULL, NULL}},
    {{NULL}, L_BASE "/model-bf16.gguf", L_BASE "/mmproj-bf16.gguf", PARLEY_OK, {NULL, NULL}},
    {{NULL}, L_BASE "/mmproj-bf16.gguf", L_BASE "/model-bf16.gguf", PARLEY_OK, {NULL, NULL}},
    {{&text_l, &text_a, &rest_l}, F "/l.gguf", NULL, PARLEY_OK, {NULL, NULL}},
    {{&text_l}, F, NULL, PARLEY_MISSING, {"l.gguf", "mmproj file is not there"}},
    {{&text_l}, F "/l.gguf", NULL, PARLEY_MISSING, {"l.gguf", "mmproj file is not there"}},
    {{&rest_l}, F "/mmproj-l.gguf", NULL, PARLEY_MISSING, {"mmproj-l.gguf", "text model is not there"}},
    {{&text_l, &rest_h}, F, NULL, PARLEY_MISSING, {F "/l.gguf", F "/mmproj-h.gguf"}},
    {{&text_l, &rest_h}, F "/l.gguf", NULL, PARLEY_MISSING, {F "/l.gguf", F "/mmproj-h.gguf"}},
    {{&text_l, &no_gguf}, F, NULL, PARLEY_MISSING, {F "/l.gguf", F "/other.gguf is no GGUF file"}},
    {{&text_l, &text_a, &rest_l}, F, NULL, PARLEY_ARGUMENT, {F "/a.gguf", F "/l.gguf"}},
    {{&text_l, &text_a, &rest_l}, F "/mmproj-l.gguf", NULL, PARLEY_ARGUMENT, {F "/a.gguf", F "/l.gguf"}},
    {{&text_l, &rest_2, &rest_l}, F, NULL, PARLEY_ARGUMENT, {F "/mmproj-l.gguf", F "/second.gguf"}},
    {{&text_l, &rest_2, &rest_l}, F "/l.gguf", NULL, PARLEY_ARGUMENT, {F "/mmproj-l.gguf", F "/second.gguf"}},
    {{&text_l, &text_a}, F, NULL, PARLEY_ARGUMENT, {F "/a.gguf", F "/l.gguf"}},
    {{&text_l, &text_a}, F "/l.gguf", F "/a.gguf", PARLEY_ARGUMENT, {F "/a.gguf", F "/l.gguf"}},
    {{&rest_2, &rest_l}, F "/second.gguf", F "/mmproj-l.gguf", PARLEY_ARGUMENT, {F "/second.gguf", F "/mmproj-l.gguf"}},
    {{&text_l, &rest_h}, F "/l.gguf", F "/mmproj-h.gguf", PARLEY_FAMILY, {F "/l.gguf", F "/mmproj-h.gguf"}},
    {{&text_h, &rest_l}, F "/mmproj-l.gguf", F "/h.gguf", PARLEY_FAMILY, {F "/h.gguf", F "/mmproj-l.gguf"}},
    {{&text_l, &no_gguf}, F "/other.gguf", F "/l.gguf", PARLEY_FORMAT, {F "/l.gguf", F "/other.gguf"}},
    {{&text_l}, F "/l.gguf", F "/nothing.gguf", PARLEY_MISSING, {F "/l.gguf", F "/nothing.gguf"}},
    {{&text_a, &rest_l}, F, NULL, PARLEY_SHAPE, {F "/a.gguf", F "/mmproj-l.gguf"}}, /* equal widths, another vocabulary */
};

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t n = 0;
        parley_open_options options;
        parley_model *model = NULL;
        parley_error error = {0};
        while (n < 4 && pairs[i].rows[n])
            n++;
        make_folder(F, pairs[i].rows, n);
        parley_open_options_init(&options);
        options.second_path = pairs[i].second;
        options.threads = 1;
        parley_status status = parley_model_open(pairs[i].path, &options, &model, &error);
        if (status != pairs[i].status)
            fail_msg("row %zu: %s %s", i, parley_status_name(status), error.text);
        for (int k = 0; k < 2; k++)
            if (pairs[i].text[k] && !strstr(error.text, pairs[i].text[k]))
                fail_msg("row %zu: %s", i, error.text);
        if (status == PARLEY_OK)
            assert_int_equal(parley_model_info(model)->groups, 16);
        parley_model_close(model);
    }
    make_folder(F, NULL, 0);
}

/* Inspection shows the half that is there, and takes the other where exactly one fits. */
static void test_inspection(void **state)
{
    static const link_row *const lone[] = {&text_l}, *const both[] = {&text_l, &rest_l}, *const three[] = {&text_l, &rest_l, &rest_2};
    static const link_row *const *const folders[] = {lone, both, three};
    static const size_t counts[] = {1, 2, 3};
    (void)state;
    for (int i = 0; i < 3; i++) {
        parley_info *info = NULL;
        parley_error error = {0};
        make_folder(F, folders[i], counts[i]);
        check_ok(parley_inspect(F "/l.gguf", NULL, &info, &error), &error);
        assert_true(info->has_talker && info->has_tokenizer && !info->has_codec_encoder);
        assert_true(info->has_predictor == (i == 1) && info->has_codec == (i == 1) && info->has_speaker_encoder == (i == 1));
        assert_string_equal(info->dialect, "llama");
        assert_string_equal(info->model_type, i == 1 ? "base" : "");
        parley_info_free(info);
    }
    make_folder(F, NULL, 0);
}

static void count_remark(void *context, parley_log_level level, const char *text)
{
    int *count = context;
    if (strstr(text, "model-bf16.gguf") && strstr(text, "mmproj-bf16.gguf"))
        count[level]++;
}

/* The log names both files. */
static void test_log(void **state)
{
    int count[PARLEY_LOG_DEBUG + 1] = {0};
    const parley_logger logger = {count_remark, count};
    parley_open_options options;
    parley_model *model = NULL;
    parley_error error = {0};
    (void)state;
    parley_open_options_init(&options);
    options.logger = &logger;
    check_ok(parley_model_open(L_BASE, &options, &model, &error), &error);
    parley_model_close(model);
    assert_true(count[PARLEY_LOG_INFO] == 1 && count[PARLEY_LOG_WARNING] == 0);
}

/* In memory the other file is one of the files. */
static void test_memory(void **state)
{
    memory_model m = {0};
    parley_open_options options;
    parley_model *model = NULL;
    parley_error error = {0};
    (void)state;
    add_pair(&m, L_BASE);
    parley_open_options_init(&options);
    options.second_path = L_BASE "/mmproj-bf16.gguf";
    assert_int_equal(parley_model_open_memory(m.files, 1, &options, &model, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "second_path is set"));
    options.second_path = NULL;
    assert_int_equal(parley_model_open_memory(m.files, 1, &options, &model, &error), PARLEY_MISSING);
    assert_non_null(strstr(error.text, "a: this is the text model of a model in two files, its mmproj file is not there"));
    check_ok(parley_model_open_memory(m.files, 2, &options, &model, &error), &error);
    parley_model_close(model);
    free_model(&m);
}

/* No recording becomes codes: the error asks for an encoder by name. */
static void test_no_encoder(void **state)
{
    parley_open_options options;
    parley_model *model = NULL;
    parley_error error = {0};
    (void)state;
    parley_open_options_init(&options);
    options.parts = PARLEY_PARTS_CODEC_ENCODER;
    assert_int_equal(parley_model_open(L_BASE, &options, &model, &error), PARLEY_MISSING);
    assert_non_null(strstr(error.text, "no codec encoder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_weights), cmocka_unit_test(test_views),          cmocka_unit_test(test_equal_ids),
        cmocka_unit_test(test_equal_codes),   cmocka_unit_test(test_names),          cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_codec),         cmocka_unit_test(test_faults),         cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_pairs),         cmocka_unit_test(test_replaced_codec), cmocka_unit_test(test_inspection),
        cmocka_unit_test(test_log),           cmocka_unit_test(test_no_encoder),     cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
