/* Opens Qwen3-TTS files as the engine does, from paths or from golden files that were changed in memory. */
#ifndef CATALOG_FILES_H
#define CATALOG_FILES_H

#include "models/qwen3_tts/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ------------------------------------------------------------------ files in memory */

enum { MEMORY_FILES = 16 };

typedef struct memory_model {
    parley_memory_file files[MEMORY_FILES];
    size_t count;
} memory_model;

/* The file `path` under `name`; false when there is none. */
static inline bool add_file(memory_model *m, const char *path, const char *name)
{
    FILE *file = fopen(path, "rb");
    if (!file || m->count == MEMORY_FILES)
        return false;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *data = malloc(size > 0 ? (size_t)size : 1);
    bool read = data && fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    m->files[m->count++] = (parley_memory_file){name, data, (size_t)size};
    return read;
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
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (!add_file(m, path, names[i]))
            return false;
    }
    return true;
}

static inline void free_model(memory_model *m)
{
    for (size_t i = 0; i < m->count; i++) {
        void *data;
        memcpy(&data, &m->files[i].data, sizeof data);
        free(data);
    }
    m->count = 0;
}

static inline size_t find_file(const memory_model *m, const char *name)
{
    size_t i = 0;
    while (i < m->count && strcmp(m->files[i].name, name) != 0)
        i++;
    return i;
}

static inline void remove_file(memory_model *m, const char *name)
{
    size_t i = find_file(m, name);
    void *data;
    memcpy(&data, &m->files[i].data, sizeof data);
    free(data);
    m->files[i] = m->files[--m->count];
}

/* Replaces every `from` in the file by `to`; returns how often. In containers both must have one length. */
static inline size_t replace(memory_model *m, const char *name, const char *from, const char *to)
{
    parley_memory_file *file = &m->files[find_file(m, name)];
    const char *old = file->data;
    size_t n = strlen(from), n_to = strlen(to), count = 0, at = 0;
    char *text = malloc(file->size * (n_to / n + 1) + 1);
    for (size_t i = 0; i < file->size;) {
        bool match = i + n <= file->size && memcmp(old + i, from, n) == 0;
        memcpy(text + at, match ? to : old + i, match ? n_to : 1);
        at += match ? n_to : 1;
        i += match ? n : 1;
        count += match;
    }
    void *data;
    memcpy(&data, &file->data, sizeof data);
    free(data);
    file->data = text;
    file->size = at;
    return count;
}

#endif
