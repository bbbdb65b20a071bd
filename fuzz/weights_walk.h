/* Touches everything that an opened container hands out, so that a sanitizer sees any view that leaves the file. */
#ifndef WEIGHTS_WALK_H
#define WEIGHTS_WALK_H

#include "weights/container.h"

#include <string.h>

/* False when something contradicts the contract. */
static bool walk_entry(const pl_container *c, const pl_entry *entry, uint64_t *sum)
{
    const pl_tensor *t = &entry->tensor;
    const uint8_t *data = t->data;
    int64_t values = 1;
    for (size_t i = 0; i < t->bytes; i++)
        *sum += data[i];
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0)
            return false;
        values = t->shape[i] == 0 ? 0 : values;
    }
    int64_t bad = pl_first_not_finite(t);
    if (values != 0 && t->type != PL_OTHER)
        values = pl_tensor_values(t);
    bool consistent = t->type == PL_OTHER || pl_row_bytes(t->type, values) == t->bytes;
    return consistent && bad < (values ? values : 1) && pl_container_find(c, entry->name) == entry && strlen(entry->stored) > 0
           && strlen(entry->file) > 0;
}

typedef struct walk_keys {
    const pl_container *container;
    pl_arena arena;
    uint64_t sum;
    bool right;
} walk_keys;

static void walk_text(walk_keys *w, pl_gguf_text text)
{
    for (size_t i = 0; i < text.length; i++)
        w->sum += (unsigned char)text.text[i];
}

/* Each accessor either takes the key or says FORMAT. */
static void walk_key(void *context, pl_gguf_text rest, const char *key)
{
    walk_keys *w = context;
    const pl_container *c = w->container;
    parley_error error = {0};
    parley_status s[6];
    int64_t whole = 0, *numbers = NULL;
    double real = 0;
    bool flag = false;
    pl_gguf_text text = {0}, *texts = NULL;
    size_t n = 0;
    walk_text(w, rest);
    bool took[6] = {pl_gguf_int(c, key, &whole, &s[0], &error), pl_gguf_float(c, key, &real, &s[1], &error),
                    pl_gguf_bool(c, key, &flag, &s[2], &error), pl_gguf_string(c, key, &text, &s[3], &error)};
    walk_text(w, text);
    took[4] = pl_gguf_ints(c, key, 1 << 20, &numbers, &n, &w->arena, &s[4], &error);
    for (size_t i = 0; took[4] && i < n; i++)
        w->sum += (uint64_t)numbers[i];
    took[5] = pl_gguf_strings(c, key, &texts, &n, &w->arena, &s[5], &error);
    for (size_t i = 0; took[5] && i < n; i++)
        walk_text(w, texts[i]);
    for (int i = 0; i < 6; i++)
        w->right = w->right && took[i] == (s[i] == PARLEY_OK) && (took[i] || s[i] == PARLEY_FORMAT || s[i] == PARLEY_MEMORY);
    w->right = w->right && pl_gguf_has(c, key);
    pl_arena_reset(&w->arena);
}

/* `sum`: keeps the reads from being optimised away. */
static bool walk_container(const parley_allocator *allocator, const pl_container *container, uint64_t *sum)
{
    walk_keys w = {.container = container, .right = true};
    for (size_t i = 0; i < container->n_entries; i++)
        if (!walk_entry(container, &container->entries[i], sum))
            return false;
    pl_arena_init(&w.arena, allocator, 4096);
    pl_gguf_each(container, "", walk_key, &w);
    pl_arena_free(&w.arena);
    *sum += w.sum;
    return w.right;
}

#endif
