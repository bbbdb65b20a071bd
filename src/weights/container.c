#include "weights/parts.h"

#include "base/sort.h"

#include <string.h>

void pl_container_close(pl_container *container)
{
    if (!container)
        return;
    pl_arena_free(&container->arena);
    *container = (pl_container){0};
}

/* ------------------------------------------------------------------ text */

/* Bytes of the character that begins with this byte, 0 when none does. */
static size_t sequence_length(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first < 0xE0)
        return 2;
    if ((first & 0xF0) == 0xE0)
        return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/* The second byte's range excludes overlong spellings, surrogates and numbers above U+10FFFF. */
static bool second_byte_fits(uint8_t first, uint8_t second)
{
    uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return second >= low && second <= high;
}

bool pl_is_utf8(const uint8_t *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t n = sequence_length(text[at]);
        if (n == 0 || n > length - at || (n > 1 && !second_byte_fits(text[at], text[at + 1])))
            return false;
        for (size_t k = 2; k < n; k++)
            if ((text[at + k] & 0xC0) != 0x80)
                return false;
        at += n;
    }
    return true;
}

int pl_excerpt(const char *name)
{
    size_t n = strnlen(name, PL_EXCERPT + 1);
    if (n <= PL_EXCERPT)
        return (int)n;
    for (n = PL_EXCERPT; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80;)
        n--;
    return (int)n;
}

/* ------------------------------------------------------------------ order */

static int by_name(const void *context, uint32_t a, uint32_t b)
{
    const pl_container *c = context;
    return strcmp(c->entries[a].name, c->entries[b].name);
}

static int by_key(const void *context, uint32_t a, uint32_t b)
{
    const pl_container *c = context;
    return strcmp(c->values[a].key, c->values[b].key);
}

static int by_place(const void *context, uint32_t a, uint32_t b)
{
    const pl_entry *left = &((const pl_container *)context)->entries[a], *right = &((const pl_container *)context)->entries[b];
    int files = left->file == right->file ? 0 : strcmp(left->file, right->file);
    return files ? files : (left->position > right->position) - (left->position < right->position);
}

parley_status pl_container_index_keys(pl_container *container, const char *where, parley_error *error)
{
    uint32_t *order = PL_NEW_ARRAY(&container->arena, uint32_t, container->n_values);
    if (!order)
        return pl_fail_memory(error, "an index of keys");
    pl_sort(order, container->n_values, by_key, container);
    for (size_t i = 1; i < container->n_values; i++) {
        const pl_gguf_value *value = &container->values[order[i]];
        if (by_key(container, order[i - 1], order[i]) == 0)
            return pl_fail_at(error, PARLEY_FORMAT, value->position, "%s: key '%.*s' is there twice", where, pl_excerpt(value->key), value->key);
    }
    container->keys_by_name = order;
    return PARLEY_OK;
}

static parley_status check_overlap(const pl_container *c, const uint32_t *order, const char *where, parley_error *error)
{
    const pl_entry *before = NULL;
    for (size_t i = 0; i < c->n_entries; i++) {
        const pl_entry *entry = &c->entries[order[i]];
        if (entry->tensor.bytes == 0)
            continue;
        if (before && strcmp(before->file, entry->file) == 0 && entry->position - before->position < before->tensor.bytes)
            return pl_fail_at(error, PARLEY_FORMAT, entry->position, "%s: tensors '%.*s' and '%.*s' share bytes", where, pl_excerpt(before->name),
                              before->name, pl_excerpt(entry->name), entry->name);
        before = entry;
    }
    return PARLEY_OK;
}

parley_status pl_container_index(pl_container *container, const char *where, parley_error *error)
{
    uint32_t *names = PL_NEW_ARRAY(&container->arena, uint32_t, container->n_entries);
    uint32_t *places = PL_NEW_ARRAY(&container->arena, uint32_t, container->n_entries);
    if (!names || !places)
        return pl_fail_memory(error, "an index of tensors");
    pl_sort(names, container->n_entries, by_name, container);
    for (size_t i = 1; i < container->n_entries; i++) {
        const pl_entry *entry = &container->entries[names[i]];
        if (by_name(container, names[i - 1], names[i]) == 0)
            return pl_fail_at(error, PARLEY_FORMAT, entry->position, "%s: tensor '%.*s' is there twice", where, pl_excerpt(entry->name), entry->name);
    }
    container->by_name = names;
    pl_sort(places, container->n_entries, by_place, container);
    return check_overlap(container, places, where, error);
}

pl_entry *pl_container_find(const pl_container *container, const char *name)
{
    size_t low = 0, high = container->n_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        pl_entry *entry = &container->entries[container->by_name[middle]];
        int order = strcmp(name, entry->name);
        if (order == 0)
            return entry;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
