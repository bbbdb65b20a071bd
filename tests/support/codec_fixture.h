/* Opens the decoder of a bare speech_tokenizer directory of the stored test data. Faults end the test program with a message. */
#ifndef TESTS_SUPPORT_CODEC_FIXTURE_H
#define TESTS_SUPPORT_CODEC_FIXTURE_H

#include "codec/decoder.h"
#include "weights/container.h"
#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct codec_fixture {
    pl_arena arena;
    pl_source *source;
    pl_container container;
    pl_pool *pool;
    pl_compute compute;
    pl_codec_decoder *decoder;
    int groups, samples_per_frame;
} codec_fixture;

static inline void codec_fixture_need(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK) {
        fprintf(stderr, "%s\n", error->text);
        exit(2);
    }
}

static inline pl_tensor fx(codec_fixture *f, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "decoder.%s", name);
    pl_entry *e = pl_container_find(&f->container, full);
    if (!e) {
        fprintf(stderr, "%s missing\n", full);
        exit(2);
    }
    return e->tensor;
}
#define FX(...) (snprintf(nm, sizeof nm, __VA_ARGS__), fx(f, nm))

static inline void fx_cv(codec_fixture *f, pl_conv_tensors *c, const char *p)
{
    char nm[240];
    c->weight = FX("%s.weight", p);
    c->bias = FX("%s.bias", p);
}
static inline void fx_sn(codec_fixture *f, pl_snake_tensors *c, const char *p)
{
    char nm[240];
    c->alpha = FX("%s.alpha", p);
    c->beta = FX("%s.beta", p);
}
#define FC(c, ...) (snprintf(nm, sizeof nm, __VA_ARGS__), fx_cv(f, c, nm))
#define FS(c, ...) (snprintf(nm, sizeof nm, __VA_ARGS__), fx_sn(f, c, nm))

static inline codec_fixture *codec_fixture_open(const char *folder, parley_cpu level, int threads)
{
    codec_fixture *f = calloc(1, sizeof *f);
    char path[1024], nm[200];
    parley_error error = {0};
    bool a = strstr(folder, "codec_a") != NULL;
    snprintf(path, sizeof path, "%s/%s/speech_tokenizer", TEST_DATA, folder);
    pl_arena_init(&f->arena, NULL, 1 << 20);
    codec_fixture_need(pl_source_open(&f->arena.allocator, path, &f->source, &error), &error);
    codec_fixture_need(pl_safetensors_open(&f->arena.allocator, f->source, "", &f->container, &error), &error);
    codec_fixture_need(pl_pool_open(&f->arena.allocator, threads, &f->pool, &error), &error);
    codec_fixture_need(pl_compute_open(&f->arena.allocator, pl_kernels_for(level), f->pool, true, &f->compute, &error), &error);
    pl_codec_shape s = {.groups = a ? 16 : 8,
                        .codebook_size = a ? 64 : 32,
                        .codebook_width = a ? 20 : 24,
                        .rvq_width = a ? 40 : 48,
                        .latent = 32,
                        .transformer = {.kind = PL_BLOCK_GATED,
                                        .layers = a ? 2 : 1,
                                        .width = 64,
                                        .heads = a ? 6 : 4,
                                        .kv_heads = a ? 6 : 4,
                                        .head = a ? 16 : 32,
                                        .ffn = a ? 128 : 96,
                                        .eps = a ? 1e-5f : 0.004f,
                                        .theta = a ? 10000 : 2500,
                                        .window = a ? 12 : 72},
                        .n_ratios = 2,
                        .ratios = {2, 2},
                        .decoder_dim = a ? 48 : 32,
                        .n_rates = 4,
                        .rates = {8, 5, 4, 3},
                        .sample_rate = 24000};
    pl_codec_tensors t = {0};
    t.codebooks = calloc(16, sizeof(pl_tensor));
    t.usages = calloc(16, sizeof(pl_tensor));
    for (int g = 0; g < s.groups; g++) {
        const char *h = g ? "rest" : "first";
        t.codebooks[g] = FX("quantizer.rvq_%s.vq.layers.%d._codebook.embedding_sum", h, g ? g - 1 : 0);
        t.usages[g] = FX("quantizer.rvq_%s.vq.layers.%d._codebook.cluster_usage", h, g ? g - 1 : 0);
    }
    t.first_out = FX("quantizer.rvq_first.output_proj.weight");
    t.rest_out = FX("quantizer.rvq_rest.output_proj.weight");
    FC(&t.pre_conv, "pre_conv.conv");
    FC(&t.in_proj, "pre_transformer.input_proj");
    FC(&t.out_proj, "pre_transformer.output_proj");
    t.norm = FX("pre_transformer.norm.weight");
    t.blocks = calloc(8, sizeof *t.blocks);
    for (int i = 0; i < s.transformer.layers; i++) {
        struct pl_codec_block_tensors *b = &t.blocks[i];
#define L "pre_transformer.layers.%d."
        b->norm1 = FX(L "input_layernorm.weight", i);
        b->norm2 = FX(L "post_attention_layernorm.weight", i);
        b->q = FX(L "self_attn.q_proj.weight", i);
        b->k = FX(L "self_attn.k_proj.weight", i);
        b->v = FX(L "self_attn.v_proj.weight", i);
        b->o = FX(L "self_attn.o_proj.weight", i);
        b->attention_scale = FX(L "self_attn_layer_scale.scale", i);
        b->ffn_scale = FX(L "mlp_layer_scale.scale", i);
        b->gate = FX(L "mlp.gate_proj.weight", i);
        b->up = FX(L "mlp.up_proj.weight", i);
        b->down = FX(L "mlp.down_proj.weight", i);
    }
    for (int i = 0; i < 2; i++) {
        struct pl_codec_up_tensors *u = &t.up[i];
        FC(&u->conv, "upsample.%d.0.conv", i);
        FC(&u->depthwise, "upsample.%d.1.dwconv.conv", i);
        u->norm_weight = FX("upsample.%d.1.norm.weight", i);
        u->norm_bias = FX("upsample.%d.1.norm.bias", i);
        u->gamma = FX("upsample.%d.1.gamma", i);
        FC(&u->pw1, "upsample.%d.1.pwconv1", i);
        FC(&u->pw2, "upsample.%d.1.pwconv2", i);
    }
    FC(&t.voc0, "decoder.0.conv");
    for (int i = 0; i < 4; i++) {
        struct pl_codec_stage_tensors *g = &t.stages[i];
        FS(&g->snake, "decoder.%d.block.0", i + 1);
        FC(&g->conv, "decoder.%d.block.1.conv", i + 1);
        for (int u = 0; u < 3; u++) {
            FS(&g->units[u].act1, "decoder.%d.block.%d.act1", i + 1, u + 2);
            FS(&g->units[u].act2, "decoder.%d.block.%d.act2", i + 1, u + 2);
            FC(&g->units[u].conv1, "decoder.%d.block.%d.conv1.conv", i + 1, u + 2);
            FC(&g->units[u].conv2, "decoder.%d.block.%d.conv2.conv", i + 1, u + 2);
        }
    }
    FS(&t.last_snake, "decoder.5");
    FC(&t.last_conv, "decoder.6.conv");
    pl_loader loader = {.arena = &f->arena, .pool = f->pool};
    codec_fixture_need(pl_codec_decoder_load(&loader, &s, &t, &f->decoder, &error), &error);
    free(t.codebooks);
    free(t.usages);
    free(t.blocks);
    f->groups = s.groups;
    f->samples_per_frame = pl_codec_samples_per_frame(&s);
    return f;
}

static inline void codec_fixture_close(codec_fixture *f)
{
    pl_compute_close(&f->compute);
    pl_pool_close(f->pool);
    pl_container_close(&f->container);
    pl_source_close(f->source);
    pl_arena_free(&f->arena);
    free(f);
}

#endif
