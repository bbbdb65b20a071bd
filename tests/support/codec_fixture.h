/* Opens the decoder or the encoder of a bare speech_tokenizer directory of the stored test data. Faults end the test program with a message. */
#ifndef TESTS_SUPPORT_CODEC_FIXTURE_H
#define TESTS_SUPPORT_CODEC_FIXTURE_H

#include "models/qwen3_tts/tensors.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct codec_fixture {
    pl_arena arena;
    tts_files files;
    tts_config config;
    tts_tensors tensors;
    pl_pool *pool;
    pl_compute compute;
    pl_codec_decoder *decoder;
    pl_codec_encoder *encoder;
    int groups, samples_per_frame;
} codec_fixture;

static inline void codec_fixture_need(parley_status status, const parley_error *error)
{
    if (status != PARLEY_OK) {
        fprintf(stderr, "%s: %s\n", parley_status_name(status), error->text);
        exit(2);
    }
}

static inline void codec_fixture_load(codec_fixture *f, const char *path, parley_parts parts, bool int8)
{
    parley_error error;
    pl_loader loader = {.arena = &f->arena, .pool = f->pool, .int8 = int8};
    codec_fixture_need(pl_tts_files_open(&f->arena.allocator, &(tts_open){.path = path, .needed = parts}, &f->files, &error), &error);
    codec_fixture_need(pl_tts_config_read(&f->files, &f->config, &error), &error);
    codec_fixture_need(pl_tts_tensors_resolve(&f->files, &f->config, &(tts_resolve){.needed = parts}, &f->tensors, &error), &error);
    if (parts == PARLEY_PARTS_CODEC_ENCODER)
        codec_fixture_need(pl_codec_encoder_load(&loader, &f->config.encoder, &f->tensors.encoder, &f->encoder, &error), &error);
    else
        codec_fixture_need(pl_codec_decoder_load(&loader, &f->config.codec, &f->tensors.codec, &f->decoder, &error), &error);
}

/* `model`: folder of the test data that holds speech_tokenizer/. `int8`: the decoder's weights and activations in 8 bits. */
static inline codec_fixture *codec_fixture_open_parts(const char *model, parley_cpu level, int threads, parley_parts parts, bool int8)
{
    char path[1024];
    parley_error error;
    codec_fixture *f = calloc(1, sizeof *f);
    if (!f)
        exit(2);
    snprintf(path, sizeof path, "%s/%s/speech_tokenizer", TEST_DATA, model);
    pl_arena_init(&f->arena, NULL, 1 << 20);
    codec_fixture_need(pl_pool_open(&f->arena.allocator, threads, &f->pool, &error), &error);
    codec_fixture_need(pl_compute_open(&f->arena.allocator, pl_kernels_for(level), f->pool, true, &f->compute, &error), &error);
    codec_fixture_load(f, path, parts, int8);
    f->groups = f->config.codec.groups;
    f->samples_per_frame = pl_codec_samples_per_frame(&f->config.codec);
    return f;
}

/* With the decoder. */
static inline codec_fixture *codec_fixture_open(const char *model, parley_cpu level, int threads)
{
    return codec_fixture_open_parts(model, level, threads, PARLEY_PARTS_CODEC, false);
}

/* With the encoder. */
static inline codec_fixture *encoder_fixture_open(const char *model, parley_cpu level, int threads)
{
    return codec_fixture_open_parts(model, level, threads, PARLEY_PARTS_CODEC_ENCODER, false);
}

static inline void codec_fixture_close(codec_fixture *f)
{
    pl_compute_close(&f->compute);
    pl_pool_close(f->pool);
    pl_tts_files_close(&f->files);
    pl_arena_free(&f->arena);
    free(f);
}

#endif
