/* Makes small weight files in memory, byte by byte. */
#ifndef WEIGHTS_FILES_H
#define WEIGHTS_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct made_file {
    uint8_t bytes[8192];
    size_t size;
    size_t header; /* bytes before the data */
} made_file;

static inline void put(made_file *f, const void *bytes, size_t n)
{
    if (n > sizeof f->bytes - f->size)
        n = 0;
    memcpy(f->bytes + f->size, bytes, n);
    f->size += n;
}

static inline void put_number(made_file *f, uint64_t value, size_t n)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put(f, bytes, n);
}

static inline void put_text(made_file *f, const char *text)
{
    put_number(f, strlen(text), 8);
    put(f, text, strlen(text));
}

/* A key's name and type number. */
static inline void put_key(made_file *f, const char *name, uint32_t type)
{
    put_text(f, name);
    put_number(f, type, 4);
}

static inline void put_head(made_file *f, uint32_t version, uint64_t tensors, uint64_t keys)
{
    f->size = 0;
    put(f, "GGUF", 4);
    put_number(f, version, 4);
    put_number(f, tensors, 8);
    put_number(f, keys, 8);
}

static inline void put_tensor(made_file *f, const char *name, uint32_t rank, const uint64_t *ne, uint32_t type, uint64_t offset)
{
    put_text(f, name);
    put_number(f, rank, 4);
    for (uint32_t i = 0; i < rank; i++)
        put_number(f, ne[i], 8);
    put_number(f, type, 4);
    put_number(f, offset, 8);
}

static inline void put_padding(made_file *f, size_t alignment)
{
    while (f->size % alignment)
        put(f, "", 1);
    f->header = f->size;
}

/* All value types, arrays of numbers, strings and arrays, two tensors: a [4, 3] F32 of 0, 1, .., and two blocks of Q8_0. */
static inline void make_gguf(made_file *f)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    put_head(f, 3, 2, 13 + 5);
    for (uint32_t type = 0; type < 13; type++) {
        char name[] = {'k', '.', (char)('a' + type), '\0'};
        put_key(f, name, type);
        if (type == 8)
            put_text(f, "a text");
        else if (type == 9)
            put_number(f, 4, 4), put_number(f, 0, 8);
        else if (type == 6)
            put_number(f, 0x3FC00000, 4);
        else if (type == 12)
            put_number(f, UINT64_C(0xC004000000000000), 8);
        else
            put_number(f, type == 7 ? 1 : type % 2 && type != 11 ? UINT64_MAX : 40 + type, sizes[type]);
    }
    put_key(f, "general.alignment", 4), put_number(f, 64, 4);
    put_key(f, "list.ints", 9), put_number(f, 5, 4), put_number(f, 3, 8), put_number(f, 7, 4), put_number(f, UINT64_MAX, 4), put_number(f, 9, 4);
    put_key(f, "list.texts", 9), put_number(f, 8, 4), put_number(f, 3, 8), put_text(f, "one"), put_text(f, ""), put_text(f, "three");
    put_key(f, "list.lists", 9), put_number(f, 9, 4), put_number(f, 2, 8), put_number(f, 0, 4), put_number(f, 2, 8), put_number(f, 5, 2);
    put_number(f, 8, 4), put_number(f, 1, 8), put_text(f, "x");
    put_key(f, "list.flags", 9), put_number(f, 7, 4), put_number(f, 2, 8), put_number(f, 1, 2);
    put_tensor(f, "first.weight", 2, (const uint64_t[]){4, 3}, 0, 0);
    put_tensor(f, "second.weight", 1, (const uint64_t[]){64}, 8, 64);
    put_padding(f, 64);
    for (int i = 0; i < 12; i++) {
        float value = (float)i;
        put(f, &value, sizeof value);
    }
    put_number(f, 0, 8), put_number(f, 0, 8);
    for (int block = 0; block < 2; block++) {
        put_number(f, 0x3C00, 2);
        for (int i = 0; i < 32; i++)
            put_number(f, (uint64_t)i, 1);
    }
}

/* `json` framed, then `n` bytes of data 0, 1, 2, .. */
static inline void make_safetensors(made_file *f, const char *json, size_t n)
{
    f->size = 0;
    put_number(f, strlen(json), 8);
    put(f, json, strlen(json));
    f->header = f->size;
    for (size_t i = 0; i < n; i++)
        put_number(f, i & 0x3F, 1);
}

#endif
