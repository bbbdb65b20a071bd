/* Writes what gguf.c reads: version 3, little endian. */
#include "weights/gguf_write.h"

#include "base/checked.h"
#include "weights/parts.h"

#include <string.h>

enum { VERSION = 3, LEAST_CAPACITY = 4096 };

/* ------------------------------------------------------------------ bytes */

static bool reserve(pl_gguf_bytes *b, size_t more)
{
    size_t needed, capacity = b->capacity ? b->capacity : LEAST_CAPACITY;
    if (b->failed || !pl_add_size(b->size, more, &needed) || needed > SIZE_MAX / 4) {
        b->failed = true;
        return false;
    }
    if (needed <= b->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    uint8_t *data = pl_alloc(b->allocator, capacity, 1);
    if (!data) {
        b->failed = true;
        return false;
    }
    if (b->size)
        memcpy(data, b->data, b->size);
    pl_release(b->allocator, b->data, b->capacity, 1);
    b->data = data;
    b->capacity = capacity;
    return true;
}

static void put(pl_gguf_bytes *b, const void *bytes, size_t size)
{
    if (!reserve(b, size))
        return;
    if (size)
        memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

static void put_whole(pl_gguf_bytes *b, uint64_t value, int size)
{
    uint8_t bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put(b, bytes, (size_t)size);
}

static void put_string(pl_gguf_bytes *b, const char *text)
{
    size_t length = strlen(text);
    put_whole(b, length, 8);
    put(b, text, length);
}

/* ------------------------------------------------------------------ keys */

void pl_gguf_head_init(pl_gguf_head *head, const parley_allocator *allocator)
{
    *head = (pl_gguf_head){.keys.allocator = allocator, .tensors.allocator = allocator};
}

void pl_gguf_head_free(pl_gguf_head *head)
{
    pl_release(head->keys.allocator, head->keys.data, head->keys.capacity, 1);
    pl_release(head->tensors.allocator, head->tensors.data, head->tensors.capacity, 1);
}

static void begin(pl_gguf_head *head, const char *key, uint32_t type)
{
    put_string(&head->keys, key);
    put_whole(&head->keys, type, 4);
    head->n_keys++;
}

void pl_gguf_put_int(pl_gguf_head *head, const char *key, int64_t value)
{
    bool small = value >= INT32_MIN && value <= INT32_MAX;
    begin(head, key, small ? PL_GGUF_I32 : PL_GGUF_I64);
    put_whole(&head->keys, (uint64_t)value, small ? 4 : 8);
}

void pl_gguf_put_float(pl_gguf_head *head, const char *key, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    begin(head, key, PL_GGUF_F32);
    put_whole(&head->keys, bits, 4);
}

void pl_gguf_put_double(pl_gguf_head *head, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    begin(head, key, PL_GGUF_F64);
    put_whole(&head->keys, bits, 8);
}

void pl_gguf_put_bool(pl_gguf_head *head, const char *key, bool value)
{
    begin(head, key, PL_GGUF_BOOL);
    put_whole(&head->keys, value, 1);
}

void pl_gguf_put_text(pl_gguf_head *head, const char *key, const char *text)
{
    begin(head, key, PL_GGUF_STRING);
    put_string(&head->keys, text);
}

static void begin_array(pl_gguf_head *head, const char *key, uint32_t item, size_t count)
{
    begin(head, key, PL_GGUF_ARRAY);
    put_whole(&head->keys, item, 4);
    put_whole(&head->keys, count, 8);
}

void pl_gguf_put_ints(pl_gguf_head *head, const char *key, const int32_t *values, size_t count)
{
    begin_array(head, key, PL_GGUF_I32, count);
    for (size_t i = 0; i < count; i++)
        put_whole(&head->keys, (uint32_t)values[i], 4);
}

void pl_gguf_put_texts(pl_gguf_head *head, const char *key, size_t count)
{
    begin_array(head, key, PL_GGUF_STRING, count);
}

void pl_gguf_put_item(pl_gguf_head *head, const char *text)
{
    put_string(&head->keys, text);
}

/* ------------------------------------------------------------------ tensors and the whole */

static uint64_t aligned(uint64_t size)
{
    return (size + PL_GGUF_ALIGNMENT - 1) / PL_GGUF_ALIGNMENT * PL_GGUF_ALIGNMENT;
}

void pl_gguf_put_tensor(pl_gguf_head *head, const char *name, pl_type type, const int64_t *shape, int rank, uint64_t bytes)
{
    put_string(&head->tensors, name);
    put_whole(&head->tensors, (uint32_t)rank, 4);
    for (int i = rank - 1; i >= 0; i--)
        put_whole(&head->tensors, (uint64_t)shape[i], 8);
    put_whole(&head->tensors, pl_gguf_number(type), 4);
    put_whole(&head->tensors, head->data_bytes, 8);
    head->n_tensors++;
    head->data_bytes = aligned(head->data_bytes + bytes);
}

parley_status pl_gguf_head_finish(pl_gguf_head *head, uint8_t **bytes, size_t *size, parley_error *error)
{
    pl_gguf_bytes whole = {.allocator = head->keys.allocator};
    pl_gguf_put_int(head, "general.alignment", PL_GGUF_ALIGNMENT);
    put(&whole, "GGUF", 4);
    put_whole(&whole, VERSION, 4);
    put_whole(&whole, head->n_tensors, 8);
    put_whole(&whole, head->n_keys, 8);
    put(&whole, head->keys.data, head->keys.size);
    put(&whole, head->tensors.data, head->tensors.size);
    while (!whole.failed && whole.size % PL_GGUF_ALIGNMENT)
        put_whole(&whole, 0, 1);
    uint8_t *exact = whole.failed || head->keys.failed || head->tensors.failed ? NULL : pl_alloc(whole.allocator, whole.size, 1);
    if (exact)
        memcpy(exact, whole.data, whole.size);
    pl_release(whole.allocator, whole.data, whole.capacity, 1);
    *bytes = exact;
    *size = exact ? whole.size : 0;
    return exact ? PARLEY_OK : pl_fail_memory(error, "the head of a file");
}
