/* Opens the audio tower of a stored Qwen3-ASR checkpoint straight from its safetensors. Faults end the test program with a message. */
#ifndef TESTS_SUPPORT_TOWER_FIXTURE_H
#define TESTS_SUPPORT_TOWER_FIXTURE_H

#include "encoder/tower.h"
#include "weights/container.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOWER_FIXTURE_LAYERS = 2 };

typedef struct tower_fixture {
    pl_arena arena;
    pl_source *source;
    pl_container container;
    pl_tower_shape shape;
    pl_tower_tensors tensors;
    struct pl_tower_block_tensors blocks[TOWER_FIXTURE_LAYERS];
    pl_pool *pool;
    pl_compute compute;
    pl_tower *tower;
} tower_fixture;

static inline void tower_fixture_need(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK) {
        fprintf(stderr, "%s: %s\n", parley_status_name(status), error->text);
        exit(2);
    }
}

static inline pl_tensor tower_fixture_tensor(const tower_fixture *f, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "thinker.audio_tower.%s", name);
    const pl_entry *entry = pl_container_find(&f->container, full);
    if (!entry) {
        fprintf(stderr, "no tensor %s\n", full);
        exit(2);
    }
    return entry->tensor;
}

static inline pl_conv_tensors tower_fixture_pair(const tower_fixture *f, const char *format, ...)
{
    char name[96], whole[112];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    pl_conv_tensors pair;
    snprintf(whole, sizeof whole, "%s.weight", name);
    pair.weight = tower_fixture_tensor(f, whole);
    snprintf(whole, sizeof whole, "%s.bias", name);
    pair.bias = tower_fixture_tensor(f, whole);
    return pair;
}

static inline void tower_fixture_find(tower_fixture *f)
{
    pl_tower_tensors *t = &f->tensors;
    for (int i = 0; i < PL_TOWER_CONVS; i++)
        t->convs[i] = tower_fixture_pair(f, "conv2d%d", i + 1);
    t->conv_out = tower_fixture_tensor(f, "conv_out.weight");
    t->blocks = f->blocks;
    for (int i = 0; i < f->shape.layers; i++) {
        struct pl_tower_block_tensors *b = &f->blocks[i];
        b->norm1 = tower_fixture_pair(f, "layers.%d.self_attn_layer_norm", i);
        b->norm2 = tower_fixture_pair(f, "layers.%d.final_layer_norm", i);
        b->q = tower_fixture_pair(f, "layers.%d.self_attn.q_proj", i);
        b->k = tower_fixture_pair(f, "layers.%d.self_attn.k_proj", i);
        b->v = tower_fixture_pair(f, "layers.%d.self_attn.v_proj", i);
        b->o = tower_fixture_pair(f, "layers.%d.self_attn.out_proj", i);
        b->fc1 = tower_fixture_pair(f, "layers.%d.fc1", i);
        b->fc2 = tower_fixture_pair(f, "layers.%d.fc2", i);
    }
    t->ln_post = tower_fixture_pair(f, "ln_post");
    t->proj1 = tower_fixture_pair(f, "proj1");
    t->proj2 = tower_fixture_pair(f, "proj2");
}

/* Shapes of the two checkpoints, as their config.json has them. */
static inline pl_tower_shape tower_fixture_shape(const char *model)
{
    pl_tower_shape a = {.mels = 128, .width = 64, .layers = 2, .heads = 2, .ffn = 160, .out = 96, .channels = 32, .window = 50, .window_infer = 800};
    pl_tower_shape b = {.mels = 128, .width = 96, .layers = 2, .heads = 3, .ffn = 160, .out = 128, .channels = 24, .window = 50, .window_infer = 800};
    return model[4] == 'a' ? a : b;
}

/* `model`: "asr_a" or "asr_b". Opened, not loaded: tensors may be exchanged before tower_fixture_load. */
static inline tower_fixture *tower_fixture_find_model(const char *model, parley_cpu level, int threads, bool int8)
{
    char path[1024];
    parley_error error;
    tower_fixture *f = calloc(1, sizeof *f);
    if (!f)
        exit(2);
    f->shape = tower_fixture_shape(model);
    snprintf(path, sizeof path, "%s/models/%s", TEST_DATA, model);
    pl_arena_init(&f->arena, NULL, 1 << 20);
    tower_fixture_need(pl_pool_open(&f->arena.allocator, threads, &f->pool, &error), &error);
    tower_fixture_need(pl_compute_open(&f->arena.allocator, pl_kernels_for(level), f->pool, int8, &f->compute, &error), &error);
    tower_fixture_need(pl_source_open(&f->arena.allocator, path, &f->source, &error), &error);
    tower_fixture_need(pl_safetensors_open(&f->arena.allocator, f->source, "", &f->container, &error), &error);
    tower_fixture_find(f);
    return f;
}

static inline void tower_fixture_load(tower_fixture *f)
{
    parley_error error;
    pl_loader loader = {.arena = &f->arena, .pool = f->pool};
    tower_fixture_need(pl_tower_load(&loader, &f->shape, &f->tensors, &f->tower, &error), &error);
}

static inline tower_fixture *tower_fixture_open(const char *model, parley_cpu level, int threads)
{
    tower_fixture *f = tower_fixture_find_model(model, level, threads, true);
    tower_fixture_load(f);
    return f;
}

static inline void tower_fixture_close(tower_fixture *f)
{
    pl_compute_close(&f->compute);
    pl_pool_close(f->pool);
    pl_container_close(&f->container);
    pl_source_close(f->source);
    pl_arena_free(&f->arena);
    free(f);
}

#endif
