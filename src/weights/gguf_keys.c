/* Values of GGUF keys, read where they lie in the mapped file. */
#include "weights/parts.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t size;
    bool integer, negative; /* `negative`: of a signed type */
} kinds[PL_GGUF_TYPES] = {
    [PL_GGUF_U8] = {"u8", 1, true, false},        [PL_GGUF_I8] = {"i8", 1, true, true},       [PL_GGUF_U16] = {"u16", 2, true, false},
    [PL_GGUF_I16] = {"i16", 2, true, true},       [PL_GGUF_U32] = {"u32", 4, true, false},    [PL_GGUF_I32] = {"i32", 4, true, true},
    [PL_GGUF_F32] = {"f32", 4, false, false},     [PL_GGUF_BOOL] = {"bool", 1, false, false}, [PL_GGUF_STRING] = {"string", 0, false, false},
    [PL_GGUF_ARRAY] = {"array", 0, false, false}, [PL_GGUF_U64] = {"u64", 8, true, false},    [PL_GGUF_I64] = {"i64", 8, true, true},
    [PL_GGUF_F64] = {"f64", 8, false, false},
};

unsigned pl_gguf_size(uint32_t type)
{
    return type < PL_GGUF_TYPES ? kinds[type].size : 0;
}

const char *pl_gguf_type_name(uint32_t type)
{
    return type < PL_GGUF_TYPES ? kinds[type].name : "unknown";
}

/* ------------------------------------------------------------------ finding */

static const pl_gguf_value *find(const pl_container *c, const char *key)
{
    size_t low = 0, high = c->n_values;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const pl_gguf_value *value = &c->values[c->keys_by_name[middle]];
        int order = strcmp(key, value->key);
        if (order == 0)
            return value;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool pl_gguf_has(const pl_container *container, const char *key)
{
    return find(container, key) != NULL;
}

void pl_gguf_each(const pl_container *container, const char *prefix, void (*visit)(void *context, pl_gguf_text rest, const char *key), void *context)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < container->n_values; i++) {
        const char *key = container->values[i].key;
        if (strncmp(key, prefix, n) == 0)
            visit(context, (pl_gguf_text){key + n, strlen(key + n)}, key);
    }
}

/* ------------------------------------------------------------------ single values */

static bool wrong_kind(const pl_container *c, const pl_gguf_value *v, const char *expected, parley_status *status, parley_error *error)
{
    bool array = v->type == PL_GGUF_ARRAY;
    *status = pl_fail_at(error, PARLEY_FORMAT, v->position, "%s: key '%.*s' is %s%s, %s is expected", c->file, pl_excerpt(v->key), v->key,
                         array ? "an array of " : "of type ", pl_gguf_type_name(array ? v->item : v->type), expected);
    return false;
}

/* An integer of any width; false when it is none or above 2^63 - 1. */
static bool read_integer(uint32_t type, const uint8_t *p, int64_t *value)
{
    if (!kinds[type].integer)
        return false;
    uint64_t bits = 0;
    unsigned size = kinds[type].size;
    for (unsigned i = 0; i < size; i++)
        bits |= (uint64_t)p[i] << (8 * i);
    if (!kinds[type].negative) {
        *value = (int64_t)bits;
        return bits <= INT64_MAX;
    }
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    *value = (int64_t)((bits ^ sign) - sign);
    return true;
}

bool pl_gguf_int(const pl_container *container, const char *key, int64_t *value, parley_status *status, parley_error *error)
{
    *status = PARLEY_OK;
    const pl_gguf_value *v = find(container, key);
    int64_t number;
    if (!v)
        return false;
    if (!read_integer(v->type, v->data, &number))
        return wrong_kind(container, v, "an integer below 2^63", status, error);
    *value = number;
    return true;
}

bool pl_gguf_float(const pl_container *container, const char *key, double *value, parley_status *status, parley_error *error)
{
    *status = PARLEY_OK;
    const pl_gguf_value *v = find(container, key);
    if (!v)
        return false;
    if (v->type == PL_GGUF_F64) {
        uint64_t bits = pl_load_u64(v->data);
        memcpy(value, &bits, sizeof bits);
        return true;
    }
    if (v->type != PL_GGUF_F32)
        return wrong_kind(container, v, "a float", status, error);
    uint32_t bits = pl_load_u32(v->data);
    float single;
    memcpy(&single, &bits, sizeof bits);
    *value = (double)single;
    return true;
}

bool pl_gguf_bool(const pl_container *container, const char *key, bool *value, parley_status *status, parley_error *error)
{
    *status = PARLEY_OK;
    const pl_gguf_value *v = find(container, key);
    int64_t number;
    if (!v)
        return false;
    uint32_t type = v->type == PL_GGUF_BOOL ? PL_GGUF_U8 : v->type;
    if (!read_integer(type, v->data, &number) || number < 0 || number > 1)
        return wrong_kind(container, v, "a bool (0 or 1)", status, error);
    *value = number != 0;
    return true;
}

/* The string at `p`, and where the next one begins. The reader has checked the lengths; a file that changed since must not lead outside of it. */
static bool read_string(const uint8_t **p, const uint8_t *end, pl_gguf_text *text)
{
    if (end - *p < 8)
        return false;
    uint64_t length = pl_load_u64(*p);
    if (length > (uint64_t)(end - *p) - 8)
        return false;
    *text = (pl_gguf_text){(const char *)*p + 8, (size_t)length};
    *p += 8 + length;
    return true;
}

bool pl_gguf_string(const pl_container *container, const char *key, pl_gguf_text *value, parley_status *status, parley_error *error)
{
    *status = PARLEY_OK;
    const pl_gguf_value *v = find(container, key);
    if (!v)
        return false;
    const uint8_t *p = v->data;
    if (v->type != PL_GGUF_STRING || !read_string(&p, v->end, value))
        return wrong_kind(container, v, "a string", status, error);
    return true;
}

/* ------------------------------------------------------------------ arrays */

bool pl_gguf_ints(const pl_container *container, const char *key, size_t most, int64_t **values, size_t *count, pl_arena *arena,
                  parley_status *status, parley_error *error)
{
    *status = PARLEY_OK;
    const pl_gguf_value *v = find(container, key);
    if (!v)
        return false;
    if (v->type != PL_GGUF_ARRAY || v->item >= PL_GGUF_TYPES || !kinds[v->item].integer)
        return wrong_kind(container, v, "an array of integers", status, error);
    if (v->count > most) {
        *status = pl_fail_at(error, PARLEY_FORMAT, v->position, "%s: key '%.*s' has %" PRIu64 " items, at most %zu are expected", container->file,
                             pl_excerpt(v->key), v->key, v->count, most);
        return false;
    }
    size_t n = (size_t)v->count;
    int64_t *numbers = PL_NEW_ARRAY(arena, int64_t, n);
    if (!numbers) {
        *status = pl_fail_memory(error, "the integers of a key");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!read_integer(v->item, v->data + i * kinds[v->item].size, &numbers[i]))
            return wrong_kind(container, v, "integers below 2^63", status, error);
    *values = numbers;
    *count = n;
    return true;
}

bool pl_gguf_strings(const pl_container *container, const char *key, pl_gguf_text **values, size_t *count, pl_arena *arena, parley_status *status,
                     parley_error *error)
{
    *status = PARLEY_OK;
    const pl_gguf_value *v = find(container, key);
    if (!v)
        return false;
    if (v->type != PL_GGUF_ARRAY || v->item != PL_GGUF_STRING)
        return wrong_kind(container, v, "an array of strings", status, error);
    size_t n = (size_t)v->count;
    pl_gguf_text *texts = PL_NEW_ARRAY(arena, pl_gguf_text, n);
    if (!texts) {
        *status = pl_fail_memory(error, "the strings of a key");
        return false;
    }
    const uint8_t *p = v->data;
    for (size_t i = 0; i < n; i++)
        if (!read_string(&p, v->end, &texts[i]))
            return wrong_kind(container, v, "an array of whole strings", status, error);
    *values = texts;
    *count = n;
    return true;
}
