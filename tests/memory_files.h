/* Golden files in memory, to be changed there. */
#ifndef MEMORY_FILES_H
#define MEMORY_FILES_H

#include <parley/core.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Files of a folder under their own names. */
static inline bool add_files(memory_model *m, const char *folder, const char *const *names, size_t count)
{
    char path[512];
    for (size_t i = 0; i < count; i++) {
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

/* Where the bytes begin in the file; its size when they are not there. */
static inline size_t find_bytes(const memory_model *m, const char *name, const void *bytes, size_t n)
{
    const parley_memory_file *file = &m->files[find_file(m, name)];
    for (size_t at = 0; at + n <= file->size; at++)
        if (memcmp((const char *)file->data + at, bytes, n) == 0)
            return at;
    return file->size;
}

/* Writes `count` little-endian bytes of a number `behind` the end of a name in a GGUF file: 4 behind a key is its value, 12 behind a tensor's name
 * its second size. False when the name is not there. */
static inline bool put_behind(memory_model *m, const char *file, const char *name, size_t behind, unsigned long long number, int count)
{
    char text[128], *data;
    size_t n = strlen(name);
    if (n + 8 > sizeof text)
        return false;
    memset(text, 0, 8);
    text[0] = (char)n;
    memcpy(text + 8, name, n);
    const parley_memory_file *f = &m->files[find_file(m, file)];
    size_t at = find_bytes(m, file, text, n + 8) + n + 8 + behind;
    if (at + (size_t)count > f->size)
        return false;
    memcpy(&data, &f->data, sizeof data);
    for (int i = 0; i < count; i++)
        data[at + (size_t)i] = (char)(number >> (8 * i));
    return true;
}

#endif
