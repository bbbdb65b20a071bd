/* Good files of all dialects: right parts, right values, no findings, equal weights whatever the dialect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalog_files.h"
#include "kernels/kernels.h"
#include "limit_allocator.h"

#include <math.h>
#include <unistd.h>

#define MODELS  TEST_DATA "/models/"
#define QWENTTS TEST_DATA "/gguf_qwentts_a_custom/"
#define QTS     TEST_DATA "/gguf_qts_a_base/model-bf16.gguf"
#define LLAMA   TEST_DATA "/gguf_llama_tts_a_base"

/* ------------------------------------------------------------------ golden models */

typedef struct golden {
    const char *path, *codec;
    const char *parts; /* dialect of each part, '-' where there is none: h, w, t, l */
    const char *type, *size;
    int width, layers, heads, kv, ffn, predictor, predictor_layers, projection, groups, book, languages, speakers, xvector, tokens, row;
} golden;

static const golden goldens[] = {
    {MODELS "tts_a_base", NULL, "hhhhh", "base", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 10, 0, 32, 533, 8},
    {MODELS "tts_a_custom", NULL, "hh-hh", "custom_voice", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 12, 5, 0, 533, 8},
    {MODELS "tts_b_base", NULL, "hhhhh", "base", "1b7", 64, 2, 4, 1, 96, 32, 2, 1, 16, 64, 10, 0, 64, 513, 8},
    {MODELS "tts_b_custom", NULL, "hh-hh", "custom_voice", "1b7", 64, 2, 4, 1, 96, 32, 2, 1, 16, 64, 12, 5, 0, 513, 8},
    {MODELS "tts_b_design", NULL, "hh-hh", "voice_design", "1b7", 64, 2, 4, 1, 96, 32, 2, 1, 16, 64, 10, 0, 0, 513, 8},
    {MODELS "tts_c_custom", NULL, "hh-hh", "custom_voice", "1b7", 32, 4, 4, 2, 96, 64, 2, 1, 8, 32, 12, 5, 0, 493, 12},
    {QWENTTS "talker-bf16.gguf", QWENTTS "codec-f32.gguf", "ww-ww", "custom_voice", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 12, 5, 0, 533, 8},
    {QWENTTS "talker-q8_0.gguf", QWENTTS "codec-q8_0.gguf", "ww-ww", "custom_voice", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 12, 5, 0, 533, 8},
    {QWENTTS "talker-q8_0.gguf", MODELS "tts_a_custom", "ww-hw", "custom_voice", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 12, 5, 0, 533, 8},
    {QTS, MODELS "tts_a_base/speech_tokenizer", "tttht", "base", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 10, 0, 32, 540, 8},
    {QTS, QWENTTS "codec-q8_0.gguf", "tttwt", "base", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 10, 0, 32, 540, 8},
    {LLAMA, MODELS "tts_a_base", "lllhl", "base", "0b6", 32, 3, 6, 3, 160, 32, 2, 0, 16, 64, 10, 0, 32, 540, 8},
};

static void check_parts(const loaded *l, const char *parts)
{
    static const char letters[] = "hwtl";
    for (int p = 0; p < TTS_PARTS; p++)
        assert_int_equal(l->files.part[p] ? letters[l->files.part[p]->dialect] : '-', parts[p]);
}

static void check_config(const loaded *l, const golden *g)
{
    const tts_config *c = &l->config;
    assert_string_equal(c->model_type, g->type);
    assert_string_equal(c->model_size, g->size);
    const int found[] = {c->talker.width,
                         c->talker.layers,
                         c->talker.heads,
                         c->talker.kv_heads,
                         c->talker.ffn,
                         c->predictor.width,
                         c->predictor.layers,
                         c->has_projection,
                         c->groups,
                         c->codebook_size,
                         c->n_languages,
                         c->n_speakers,
                         c->xvector_length,
                         pl_tokenizer_size(l->tokenizer),
                         c->codec.codebook_width};
    const int expected[] = {g->width, g->layers,    g->heads,    g->kv,      g->ffn,    g->predictor, g->predictor_layers, g->projection, g->groups,
                            g->book,  g->languages, g->speakers, g->xvector, g->tokens, g->row};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (found[i] != expected[i])
            fail_msg("%s: value %zu is %d, not %d", g->path, i, found[i], expected[i]);
    assert_int_equal(c->talker.head, 32);
    assert_int_equal(c->context_length, 32768);
    assert_true(fabs(c->talker.theta - 1e6) < 1.0 && c->talker.eps > 0.9e-6F && c->talker.eps < 1.1e-6F);
    assert_int_equal(c->codec_vocabulary, c->codebook_size + 1024);
    assert_int_equal(c->codec_eos, c->codebook_size + 102);
    assert_int_equal(c->think_eos, c->codebook_size + 109);
    assert_int_equal(c->generation.max_new_tokens, 8192);
    assert_int_equal(c->generation.sub_top_k, 50);
    int samples = 1;
    for (int i = 0; i < 4; i++)
        samples *= c->codec.rates[i] * (i < 2 ? c->codec.ratios[i] : 1);
    assert_int_equal(samples, 1920);
    assert_true(c->codec.n_rates == 4 && c->codec.n_ratios == 2);
    assert_int_equal(c->codec.transformer.window, 12);
    assert_true(c->has_codec && c->has_encoder && c->encoder.ratios[0] == 4 && c->encoder.ratios[3] == 8);
    assert_int_equal(c->im_end, c->im_start + 1);
    assert_int_equal(c->tts_pad, c->im_start + 27);
}

static void test_goldens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        loaded l;
        const golden *g = &goldens[i];
        if (load(&(tts_open){.path = g->path, .codec_path = g->codec}, &l) != PARLEY_OK)
            fail_msg("%s: %s", g->path, l.error.text);
        check_parts(&l, g->parts);
        check_config(&l, g);
        unload(&l);
        assert_int_equal(load(&(tts_open){.path = g->path, .codec_path = g->codec, .any = true}, &l), PARLEY_OK);
        for (size_t k = 0; k <= PARLEY_FINDING_UNUSED; k++)
            if (l.findings[k])
                fail_msg("%s: %s", g->path, l.first);
        unload(&l);
    }
}

static const tts_speaker *speaker_named(const tts_config *config, const char *name)
{
    for (int i = 0; i < config->n_speakers; i++)
        if (strcmp(config->speakers[i].name, name) == 0)
            return &config->speakers[i];
    fail_msg("no speaker %s", name);
    return NULL;
}

static void test_names(void **state)
{
    static const char *const paths[] = {MODELS "tts_a_custom", QWENTTS "talker-bf16.gguf"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        loaded l;
        assert_int_equal(load(&(tts_open){.path = paths[i], .any = true}, &l), PARLEY_OK);
        const tts_speaker *eric = speaker_named(&l.config, "eric");
        assert_string_equal(eric->dialect, "sichuan_dialect");
        assert_int_equal(eric->id, 891);
        assert_string_equal(speaker_named(&l.config, "ryan")->dialect, "");
        int dialects = 0;
        for (int k = 0; k < l.config.n_languages; k++)
            dialects += l.config.languages[k].dialect;
        assert_int_equal(dialects, 2);
        unload(&l);
    }
}

/* ------------------------------------------------------------------ equal weights */

static double largest_difference(const pl_tensor *a, const pl_tensor *b)
{
    int64_t n = pl_tensor_values(a);
    double worst = 0.0;
    assert_non_null(a->data);
    assert_non_null(b->data);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
    float *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    assert_true(x && y);
    pl_dequantize(a->type, a->data, n, x);
    pl_dequantize(b->type, b->data, n, y);
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    free(x);
    free(y);
    return worst;
}

static void equal(const pl_tensor *a, const pl_tensor *b)
{
    assert_true(largest_difference(a, b) == 0.0);
}

static void equal_pairs(const pl_conv_tensors *a, const pl_conv_tensors *b)
{
    equal(&a->weight, &b->weight);
    equal(&a->bias, &b->bias);
}

/* All members of a structure that consists of tensors alone. */
static void equal_all(const void *a, const void *b, size_t size)
{
    const pl_tensor *x = a, *y = b;
    assert_int_equal(size % sizeof *x, 0);
    for (size_t i = 0; i < size / sizeof *x; i++)
        equal(&x[i], &y[i]);
}

static void equal_models(const tts_tensors *a, const tts_tensors *b, const tts_config *c)
{
    equal(&a->text_embedding, &b->text_embedding);
    equal_pairs(&a->fc1, &b->fc1);
    equal_pairs(&a->fc2, &b->fc2);
    equal(&a->codec_embedding, &b->codec_embedding);
    equal(&a->codec_head, &b->codec_head);
    equal(&a->norm, &b->norm);
    equal(&a->predictor_norm, &b->predictor_norm);
    equal_all(a->blocks, b->blocks, (size_t)c->talker.layers * sizeof *a->blocks);
    equal_all(a->predictor_blocks, b->predictor_blocks, (size_t)c->predictor.layers * sizeof *a->predictor_blocks);
    equal_all(a->predictor_embeddings, b->predictor_embeddings, (size_t)(c->groups - 1) * sizeof(pl_tensor));
    equal_all(a->predictor_heads, b->predictor_heads, (size_t)(c->groups - 1) * sizeof(pl_tensor));
}

static void equal_codecs(const pl_codec_tensors *a, const pl_codec_tensors *b, const pl_codec_shape *s)
{
    equal(&a->first_out, &b->first_out);
    equal(&a->rest_out, &b->rest_out);
    equal_pairs(&a->pre_conv, &b->pre_conv);
    equal_pairs(&a->in_proj, &b->in_proj);
    equal_pairs(&a->out_proj, &b->out_proj);
    equal(&a->norm, &b->norm);
    equal_all(a->blocks, b->blocks, (size_t)s->transformer.layers * sizeof *a->blocks);
    equal_all(a->up, b->up, (size_t)s->n_ratios * sizeof *a->up);
    equal_all(a->stages, b->stages, (size_t)s->n_rates * sizeof *a->stages);
    equal_pairs(&a->voc0, &b->voc0);
    equal(&a->last_snake.alpha, &b->last_snake.alpha);
    equal(&a->last_snake.beta, &b->last_snake.beta);
    equal_pairs(&a->last_conv, &b->last_conv);
}

static float value_at(const pl_tensor *tensor, int64_t index)
{
    float values[64];
    int64_t row = tensor->shape[tensor->rank - 1], first = index / row * row;
    assert_true(row <= 64);
    pl_dequantize(tensor->type, (const char *)tensor->data + pl_row_bytes(tensor->type, first), row, values);
    return values[index - first];
}

/* GGUF files hold the division's result. */
static void check_codebook(const pl_tensor *sums, const pl_tensor *usage, const pl_tensor *rows)
{
    int64_t width = sums->shape[1];
    for (int64_t i = 0; i < sums->shape[0]; i++)
        for (int64_t k = 0; k < width; k++) {
            float divisor = fmaxf(value_at(usage, i), 1e-5F);
            assert_true(fabsf(value_at(sums, i * width + k) / divisor - value_at(rows, i * width + k))
                        <= 1e-6F * fabsf(value_at(rows, i * width + k)));
        }
}

static void equal_encoders(const pl_encoder_tensors *a, const pl_encoder_tensors *b, const pl_encoder_shape *s)
{
    equal_pairs(&a->conv0, &b->conv0);
    equal_pairs(&a->conv1, &b->conv1);
    equal_all(a->stages, b->stages, (size_t)s->n_ratios * sizeof *a->stages);
    equal_all(a->blocks, b->blocks, (size_t)s->transformer.layers * sizeof *a->blocks);
    equal(&a->downsample, &b->downsample);
    equal(&a->semantic_in, &b->semantic_in);
    equal(&a->acoustic_in, &b->acoustic_in);
}

static void test_qwentts_equals_hf(void **state)
{
    loaded a, b;
    (void)state;
    assert_int_equal(load(&(tts_open){.path = MODELS "tts_a_custom"}, &a), PARLEY_OK);
    assert_int_equal(load(&(tts_open){.path = QWENTTS "talker-bf16.gguf", .codec_path = QWENTTS "codec-f32.gguf"}, &b), PARLEY_OK);
    equal_models(&a.tensors, &b.tensors, &a.config);
    equal_codecs(&a.tensors.codec, &b.tensors.codec, &a.config.codec);
    equal_encoders(&a.tensors.encoder, &b.tensors.encoder, &a.config.encoder);
    assert_null(a.tensors.projection.weight.data);
    assert_null(b.tensors.codec.usages[3].data);
    for (int i = 0; i < a.config.groups; i += 5) {
        check_codebook(&a.tensors.codec.codebooks[i], &a.tensors.codec.usages[i], &b.tensors.codec.codebooks[i]);
        check_codebook(&a.tensors.encoder.codebooks[i], &a.tensors.encoder.usages[i], &b.tensors.encoder.codebooks[i]);
    }
    unload(&a);
    unload(&b);
}

static void test_qts_equals_hf(void **state)
{
    loaded a, b;
    (void)state;
    assert_int_equal(load(&(tts_open){.path = MODELS "tts_a_base"}, &a), PARLEY_OK);
    assert_int_equal(load(&(tts_open){.path = QTS, .codec_path = MODELS "tts_a_base"}, &b), PARLEY_OK);
    equal_models(&a.tensors, &b.tensors, &a.config);
    const pl_speaker_tensors *x = &a.tensors.speaker, *y = &b.tensors.speaker;
    equal_pairs(&x->conv0, &y->conv0);
    for (int i = 0; i < PL_SPEAKER_BLOCKS; i++) {
        equal_pairs(&x->blocks[i].tdnn1, &y->blocks[i].tdnn1);
        equal_pairs(&x->blocks[i].tdnn2, &y->blocks[i].tdnn2);
        equal_pairs(&x->blocks[i].se1, &y->blocks[i].se1);
        equal_pairs(&x->blocks[i].se2, &y->blocks[i].se2);
        for (int k = 0; k < a.config.speaker.scale - 1; k++)
            equal_pairs(&x->blocks[i].res[k], &y->blocks[i].res[k]);
    }
    equal_pairs(&x->mfa, &y->mfa);
    equal_pairs(&x->asp_tdnn, &y->asp_tdnn);
    equal_pairs(&x->asp_conv, &y->asp_conv);
    equal_pairs(&x->fc, &y->fc);
    unload(&a);
    unload(&b);
}

/* ------------------------------------------------------------------ one part alone, parts that are needed */

static void test_lone_parts(void **state)
{
    static const struct {
        const char *path, *parts;
    } rows[] = {
        {TEST_DATA "/voice_a", "--h--"},
        {MODELS "tts_a_base/speech_tokenizer", "---h-"},
        {QWENTTS "codec-q8_0.gguf", "---w-"},
        {QWENTTS "talker-q8_0.gguf", "ww--w"},
        {QTS, "ttt-t"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        loaded l;
        if (load(&(tts_open){.path = rows[i].path, .any = true}, &l) != PARLEY_OK)
            fail_msg("%s: %s", rows[i].path, l.error.text);
        check_parts(&l, rows[i].parts);
        if (*l.first)
            fail_msg("%s: %s", rows[i].path, l.first);
        unload(&l);
    }
    loaded voice;
    assert_int_equal(load(&(tts_open){.path = TEST_DATA "/voice_a", .any = true}, &voice), PARLEY_OK);
    assert_int_equal(voice.config.speaker.channels, 48);
    assert_int_equal(voice.config.speaker.attention_channels, 28);
    assert_int_equal(voice.config.xvector_length, 64);
    assert_int_equal(voice.tensors.speaker.blocks[2].res[6].weight.shape[2], 3);
    unload(&voice);
}

static void test_needed_parts(void **state)
{
    static const struct {
        const char *path, *codec;
        parley_parts needed;
        const char *parts;
    } rows[] = {
        {MODELS "tts_a_base", NULL, PARLEY_PARTS_TEXT, "----h"},
        {MODELS "tts_a_base", NULL, PARLEY_PARTS_CODEC, "---h-"},
        {MODELS "tts_a_base/speech_tokenizer", NULL, PARLEY_PARTS_CODEC, "---h-"},
        {QWENTTS "codec-q8_0.gguf", NULL, PARLEY_PARTS_CODEC, "---w-"},
        {QWENTTS "talker-q8_0.gguf", NULL, PARLEY_PARTS_TEXT, "----w"},
        {QWENTTS "talker-q8_0.gguf", QWENTTS "codec-f32.gguf", PARLEY_PARTS_CODEC, "---w-"},
        {MODELS "tts_a_base", QWENTTS "codec-f32.gguf", PARLEY_PARTS_ALL, "hhhwh"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        loaded l;
        if (load(&(tts_open){.path = rows[i].path, .codec_path = rows[i].codec, .needed = rows[i].needed}, &l) != PARLEY_OK)
            fail_msg("%s: %s", rows[i].path, l.error.text);
        check_parts(&l, rows[i].parts);
        unload(&l);
    }
}

/* ------------------------------------------------------------------ folders of GGUF files */

/* A folder of links to golden files, made anew. */
static void make_folder(const char *folder, const char *const *names, size_t count)
{
    char command[256], target[1200];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < count; i++) {
        const char *slash = strrchr(names[i], '/');
        snprintf(target, sizeof target, "%s%s", folder, slash);
        assert_int_equal(symlink(names[i], target), 0);
    }
}

static void test_folders(void **state)
{
    static const struct {
        const char *names[4];
        const char *path; /* inside the folder */
        const char *codec, *parts;
        parley_status status;
        const char *text[2];
    } rows[] = {
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "codec-f32.gguf"}, "", NULL, "ww-ww", PARLEY_OK, {NULL, NULL}},
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "codec-f32.gguf"}, "/talker-q8_0.gguf", NULL, "ww-ww", PARLEY_OK, {NULL, NULL}},
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "talker-bf16.gguf", QWENTTS "codec-f32.gguf"},
         "/talker-q8_0.gguf",
         NULL,
         "ww-ww",
         PARLEY_OK,
         {NULL, NULL}},
        {{QTS, MODELS "tts_a_base/speech_tokenizer"}, "", NULL, "ttt-t", PARLEY_OK, {NULL, NULL}},
        {{QTS, MODELS "tts_a_base/speech_tokenizer"}, "/model-bf16.gguf", NULL, "ttt-t", PARLEY_OK, {NULL, NULL}},
        {{QWENTTS "talker-q8_0.gguf"}, "/talker-q8_0.gguf", NULL, NULL, PARLEY_MISSING, {"--codec", "talker-q8_0.gguf"}},
        {{QWENTTS "talker-q8_0.gguf"}, "", NULL, NULL, PARLEY_MISSING, {"--codec", NULL}},
        {{QWENTTS "codec-f32.gguf"}, "", NULL, NULL, PARLEY_MISSING, {"talker", NULL}},
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "codec-f32.gguf", QWENTTS "codec-q8_0.gguf"},
         "/talker-q8_0.gguf",
         NULL,
         NULL,
         PARLEY_MISSING,
         {"codec-f32.gguf and codec-q8_0.gguf", "--codec"}},
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "codec-f32.gguf", QWENTTS "codec-q8_0.gguf"},
         "",
         NULL,
         NULL,
         PARLEY_ARGUMENT,
         {"codec-f32.gguf", "codec-q8_0.gguf"}},
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "codec-f32.gguf", QWENTTS "codec-q8_0.gguf"},
         "",
         QWENTTS "codec-q8_0.gguf",
         "ww-ww",
         PARLEY_OK,
         {NULL, NULL}},
        {{QWENTTS "talker-q8_0.gguf", QWENTTS "talker-bf16.gguf"},
         "",
         QWENTTS "codec-q8_0.gguf",
         NULL,
         PARLEY_ARGUMENT,
         {"talker-bf16.gguf", "talker-q8_0.gguf"}},
        {{QWENTTS "talker-q8_0.gguf"}, "", QWENTTS "talker-bf16.gguf", NULL, PARLEY_MISSING, {"no codec", "talker-bf16.gguf"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = 0;
        char path[128];
        loaded l;
        while (n < 4 && rows[i].names[n])
            n++;
        make_folder("test_catalog_folder", rows[i].names, n);
        snprintf(path, sizeof path, "test_catalog_folder%s", rows[i].path);
        parley_status status = load(&(tts_open){.path = path, .codec_path = rows[i].codec}, &l);
        if (status != rows[i].status)
            fail_msg("row %zu: %s %s", i, parley_status_name(status), l.error.text);
        for (int k = 0; k < 2; k++)
            if (rows[i].text[k] && !strstr(l.error.text, rows[i].text[k]))
                fail_msg("row %zu: %s", i, l.error.text);
        if (status != PARLEY_OK)
            continue;
        for (int p = 0; p < TTS_PARTS; p++)
            assert_true(p == TTS_CODEC || (l.files.part[p] != NULL) == (rows[i].parts[p] != '-'));
        assert_non_null(l.files.part[TTS_CODEC]);
        unload(&l);
    }
    make_folder("test_catalog_folder", NULL, 0);
}

static void test_memory(void **state)
{
    memory_model m = {0};
    loaded l;
    (void)state;
    assert_true(add_file(&m, QWENTTS "talker-q8_0.gguf", "a") && add_file(&m, QWENTTS "codec-q8_0.gguf", "b"));
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 2}, &l), PARLEY_OK);
    check_parts(&l, "ww-ww");
    unload(&l);
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 1}, &l), PARLEY_MISSING);
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = 1, .needed = PARLEY_PARTS_TEXT}, &l), PARLEY_OK);
    unload(&l);
    free_model(&m);
    assert_true(add_model(&m, MODELS "tts_b_base"));
    assert_int_equal(load(&(tts_open){.memory = m.files, .n_memory = m.count}, &l), PARLEY_OK);
    check_parts(&l, "hhhhh");
    assert_int_equal(l.tensors.projection.weight.shape[1], 64);
    unload(&l);
    free_model(&m);
}

static void test_probe(void **state)
{
    static const struct {
        const char *path;
        bool ours;
    } rows[] = {{MODELS "tts_a_base", true},
                {MODELS "tts_a_base/speech_tokenizer", true},
                {QTS, true},
                {QWENTTS "codec-f32.gguf", true},
                {LLAMA, true},
                {LLAMA "/mmproj-bf16.gguf", true},
                {TEST_DATA "/gguf_llama_asr_a/model-bf16.gguf", false},
                {TEST_DATA "/gguf_llama_asr_a/mmproj-bf16.gguf", false},
                {TEST_DATA "/quants", false}};
    (void)state;
    parley_allocator allocator = pl_default_allocator();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_source *source;
        assert_int_equal(pl_source_open(&allocator, rows[i].path, &source, NULL), PARLEY_OK);
        assert_int_equal(pl_tts_probe(&allocator, source), rows[i].ours);
        pl_source_close(source);
    }
}

/* Every allocation fails once: a clean error, nothing lost. */
static void test_no_memory(void **state)
{
    static const tts_open rows[] = {{.path = MODELS "tts_a_base"},
                                    {.path = QTS, .codec_path = QWENTTS "codec-q8_0.gguf"},
                                    {.path = LLAMA "/model-bf16.gguf", .codec_path = QWENTTS "codec-q8_0.gguf"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parley_status status = PARLEY_MEMORY;
        for (size_t n = 0; status == PARLEY_MEMORY && n < 5000; n++) {
            loaded l;
            limit_allocator memory = {.limit = SIZE_MAX, .left = n};
            parley_allocator allocator = limit_interface(&memory);
            status = load_with(&allocator, &rows[i], &l);
            if (status == PARLEY_OK)
                unload(&l);
            else if (status != PARLEY_MEMORY)
                fail_msg("%zu: %s", n, l.error.text);
            assert_int_equal(memory.held, 0);
        }
        assert_int_equal(status, PARLEY_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),       cmocka_unit_test(test_names),      cmocka_unit_test(test_qwentts_equals_hf),
        cmocka_unit_test(test_qts_equals_hf), cmocka_unit_test(test_lone_parts), cmocka_unit_test(test_needed_parts),
        cmocka_unit_test(test_folders),       cmocka_unit_test(test_memory),     cmocka_unit_test(test_probe),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
