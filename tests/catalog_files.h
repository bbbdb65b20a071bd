/* Opens Qwen3-TTS files as the engine does, from paths or from golden files that were changed in memory. */
#ifndef CATALOG_FILES_H
#define CATALOG_FILES_H

#include "memory_files.h"
#include "models/qwen3_tts/tensors.h"

typedef struct loaded {
    tts_files files;
    tts_config config;
    tts_tensors tensors;
    pl_tokenizer *tokenizer;
    parley_error error;
    size_t findings[PARLEY_FINDING_UNUSED + 1];
    char first[200]; /* the first finding: "name: text" */
} loaded;

static inline void count_finding(void *context, const parley_finding *finding)
{
    loaded *l = context;
    if (!*l->first)
        snprintf(l->first, sizeof l->first, "%s: %s", finding->tensor, finding->text);
    l->findings[finding->kind]++;
}

static inline parley_status load_open(const parley_allocator *allocator, const tts_open *what, loaded *l)
{
    PL_TRY(pl_tts_config_read(&l->files, &l->config, &l->error));
    if (l->files.part[TTS_TOKENIZER])
        PL_TRY(pl_tts_tokenizer_open(allocator, &l->files, &l->config, &l->tokenizer, &l->error));
    const tts_resolve how = {.needed = what->needed, .report = what->any ? count_finding : NULL, .context = l, .values = true};
    return pl_tts_tensors_resolve(&l->files, &l->config, &how, &l->tensors, &l->error);
}

static inline void unload(loaded *l)
{
    pl_tokenizer_close(l->tokenizer);
    pl_tts_files_close(&l->files);
}

/* With `any` findings are counted. After an error nothing is open. */
static inline parley_status load_with(const parley_allocator *allocator, const tts_open *what, loaded *l)
{
    *l = (loaded){0};
    PL_TRY(pl_tts_files_open(allocator, what, &l->files, &l->error));
    parley_status status = load_open(allocator, what, l);
    if (status != PARLEY_OK)
        unload(l);
    return status;
}

static inline parley_status load(const tts_open *what, loaded *l)
{
    parley_allocator allocator = pl_default_allocator();
    return load_with(&allocator, what, l);
}

static inline bool add_model(memory_model *m, const char *folder)
{
    static const char *const names[] = {"config.json",
                                        "generation_config.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "tokenizer_config.json",
                                        "model.safetensors",
                                        "speech_tokenizer/config.json",
                                        "speech_tokenizer/model.safetensors"};
    return add_files(m, folder, names, sizeof names / sizeof *names);
}

#endif
