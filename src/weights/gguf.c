/* GGUF, versions 2 and 3, little endian: magic, version, counts, keys with typed values, tensor descriptions, padding, data. */
#include "base/checked.h"
#include "weights/parts.h"

#include <inttypes.h>
#include <string.h>

enum { DEFAULT_ALIGNMENT = 32, MAX_NESTING = 4, LEAST_KEY = 8 + 4 + 1, LEAST_TENSOR = 8 + 4 + 8 + 4 + 8 };

/* Element types by their number in the file; `known`: read by this engine. Numbers without a name were never used or are gone. */
static const struct {
    const char *name;
    bool known;
    pl_type type;
} types[] = {
    [0] = {"F32", true, PL_F32},    [1] = {"F16", true, PL_F16},    [2] = {"Q4_0", true, PL_Q4_0},  [3] = {"Q4_1", true, PL_Q4_1},
    [6] = {"Q5_0", true, PL_Q5_0},  [7] = {"Q5_1", true, PL_Q5_1},  [8] = {"Q8_0", true, PL_Q8_0},  [9] = {"Q8_1", false, PL_OTHER},
    [10] = {"Q2_K", true, PL_Q2_K}, [11] = {"Q3_K", true, PL_Q3_K}, [12] = {"Q4_K", true, PL_Q4_K}, [13] = {"Q5_K", true, PL_Q5_K},
    [14] = {"Q6_K", true, PL_Q6_K}, [30] = {"BF16", true, PL_BF16}, [15] = {.name = "Q8_K"},        [16] = {.name = "IQ2_XXS"},
    [17] = {.name = "IQ2_XS"},      [18] = {.name = "IQ3_XXS"},     [19] = {.name = "IQ1_S"},       [20] = {.name = "IQ4_NL"},
    [21] = {.name = "IQ3_S"},       [22] = {.name = "IQ2_S"},       [23] = {.name = "IQ4_XS"},      [24] = {"I8", true, PL_OTHER},
    [25] = {.name = "I16"},         [26] = {.name = "I32"},         [27] = {.name = "I64"},         [28] = {.name = "F64"},
    [29] = {.name = "IQ1_M"},       [34] = {.name = "TQ1_0"},       [35] = {.name = "TQ2_0"},       [39] = {.name = "MXFP4"},
};

enum { N_TYPES = sizeof types / sizeof *types };

bool pl_gguf_type(int64_t number, pl_type *type)
{
    if (number < 0 || number >= N_TYPES || !types[number].known)
        return false;
    *type = types[number].type;
    return true;
}

uint32_t pl_gguf_number(pl_type type)
{
    uint32_t number = 0;
    while (number + 1 < N_TYPES && (!types[number].known || types[number].type != type))
        number++;
    return number;
}

/* A place in the file that only moves forward, and never past the end. */
typedef struct cursor {
    const uint8_t *data;
    size_t size, at;
    const char *where;
    parley_error *error;
} cursor;

typedef struct reader {
    cursor in;
    pl_container *container;
    uint64_t n_tensors, n_keys;
    pl_gguf_value *values;
    uint64_t alignment;
    uint64_t *offsets; /* of the tensors, from the start of the data */
} reader;

/* ------------------------------------------------------------------ fields */

static parley_status take(cursor *in, uint64_t n, const char *what, const uint8_t **bytes)
{
    if (n > in->size - in->at)
        return pl_fail_at(in->error, PARLEY_FORMAT, in->at, "%s: the file ends inside %s: %" PRIu64 " bytes expected at byte %zu, %zu are there",
                          in->where, what, n, in->at, in->size - in->at);
    *bytes = in->data + in->at;
    in->at += (size_t)n;
    return PARLEY_OK;
}

static parley_status take_u32(cursor *in, const char *what, uint32_t *value)
{
    const uint8_t *bytes = NULL;
    PL_TRY(take(in, 4, what, &bytes));
    *value = pl_load_u32(bytes);
    return PARLEY_OK;
}

static parley_status take_u64(cursor *in, const char *what, uint64_t *value)
{
    const uint8_t *bytes = NULL;
    PL_TRY(take(in, 8, what, &bytes));
    *value = pl_load_u64(bytes);
    return PARLEY_OK;
}

static parley_status take_string(cursor *in, const char *what, const uint8_t **text, uint64_t *length)
{
    PL_TRY(take_u64(in, what, length));
    return take(in, *length, what, text);
}

/* A name is used as a C string and in messages: no zero bytes, UTF-8. */
static parley_status take_name(reader *r, const char *what, const char **name)
{
    cursor *in = &r->in;
    const uint8_t *text = NULL;
    uint64_t length = 0;
    size_t begin = in->at;
    PL_TRY(take_string(in, what, &text, &length));
    if ((length && memchr(text, 0, (size_t)length)) || !pl_is_utf8(text, (size_t)length))
        return pl_fail_at(in->error, PARLEY_FORMAT, begin, "%s: %s at byte %zu is not UTF-8 text without zero bytes", in->where, what, begin);
    *name = pl_arena_text(&r->container->arena, (const char *)text, (size_t)length);
    return *name ? PARLEY_OK : pl_fail_memory(in->error, "names of keys and tensors");
}

/* ------------------------------------------------------------------ keys */

static parley_status skip_items(cursor *in, uint32_t type, uint64_t count, int depth);

static parley_status skip_array(cursor *in, int depth, uint32_t *item, uint64_t *count, const uint8_t **first)
{
    if (depth == MAX_NESTING)
        return pl_fail_at(in->error, PARLEY_UNSUPPORTED, in->at, "%s: arrays nested more than %d deep at byte %zu", in->where, MAX_NESTING, in->at);
    PL_TRY(take_u32(in, "an array", item));
    PL_TRY(take_u64(in, "an array", count));
    *first = in->data + in->at;
    return skip_items(in, *item, *count, depth + 1);
}

static parley_status skip_item(cursor *in, uint32_t type, int depth)
{
    const uint8_t *bytes = NULL;
    uint64_t n;
    uint32_t item;
    if (type == PL_GGUF_STRING)
        return take_string(in, "a string", &bytes, &n);
    return skip_array(in, depth, &item, &n, &bytes);
}

/* Strings and arrays take at least eight bytes each, so a large count comes to the end of the file soon. */
static parley_status skip_items(cursor *in, uint32_t type, uint64_t count, int depth)
{
    const uint8_t *bytes = NULL;
    uint64_t size = pl_gguf_size(type);
    if (type >= PL_GGUF_TYPES)
        return pl_fail_at(in->error, PARLEY_FORMAT, in->at, "%s: unknown value type %" PRIu32 " at byte %zu", in->where, type, in->at);
    if (size > 0) {
        if (!pl_mul_u64(size, count, &size))
            size = UINT64_MAX;
        return take(in, size, "a value", &bytes);
    }
    for (uint64_t i = 0; i < count; i++)
        PL_TRY(skip_item(in, type, depth));
    return PARLEY_OK;
}

static parley_status read_key(reader *r, pl_gguf_value *value)
{
    cursor *in = &r->in;
    value->position = in->at;
    PL_TRY(take_name(r, "the name of a key", &value->key));
    PL_TRY(take_u32(in, "the type of a key", &value->type));
    value->data = in->data + in->at;
    if (value->type == PL_GGUF_ARRAY)
        PL_TRY(skip_array(in, 0, &value->item, &value->count, &value->data));
    else
        PL_TRY(skip_items(in, value->type, 1, 0));
    value->end = in->data + in->at;
    return PARLEY_OK;
}

static parley_status read_keys(reader *r)
{
    pl_container *c = r->container;
    r->values = PL_NEW_ARRAY(&c->arena, pl_gguf_value, r->n_keys);
    if (!r->values)
        return pl_fail_memory(r->in.error, "a list of keys");
    for (size_t i = 0; i < r->n_keys; i++)
        PL_TRY(read_key(r, &r->values[i]));
    c->values = r->values;
    c->n_values = (size_t)r->n_keys;
    return pl_container_index_keys(c, r->in.where, r->in.error);
}

static parley_status read_alignment(reader *r)
{
    int64_t value = DEFAULT_ALIGNMENT;
    parley_status status;
    pl_gguf_int(r->container, "general.alignment", &value, &status, r->in.error);
    if (status != PARLEY_OK)
        return status;
    if (value < 8 || value > 1 << 20 || (value & (value - 1)) != 0)
        return pl_fail(r->in.error, PARLEY_FORMAT, "%s: general.alignment is %" PRId64 ", a power of two from 8 to 2^20 is expected", r->in.where,
                       value);
    r->alignment = (uint64_t)value;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ tensors */

static parley_status check_type(const cursor *in, const char *name, uint32_t number)
{
    if (number < N_TYPES && types[number].known)
        return PARLEY_OK;
    if (number < N_TYPES && types[number].name)
        return pl_fail_at(in->error, PARLEY_UNSUPPORTED, in->at, "%s: tensor '%.*s' is of type %s (number %" PRIu32 "), which is not supported",
                          in->where, pl_excerpt(name), name, types[number].name, number);
    return pl_fail_at(in->error, PARLEY_UNSUPPORTED, in->at, "%s: tensor '%.*s' is of the unknown type number %" PRIu32, in->where, pl_excerpt(name),
                      name, number);
}

/* `ne`: sizes, fastest first. */
static parley_status set_tensor(const cursor *in, const char *name, uint32_t number, int rank, const uint64_t *ne, pl_tensor *tensor)
{
    PL_TRY(check_type(in, name, number));
    const pl_type_facts *facts = pl_type_info(types[number].type);
    uint64_t values = 1, bytes;
    bool fits = true;
    for (int i = 0; i < rank; i++)
        fits = fits && ne[i] > 0 && pl_mul_u64(values, ne[i], &values) && values <= INT64_MAX;
    if (!fits || ne[0] % (uint64_t)facts->values != 0)
        return pl_fail_at(in->error, PARLEY_FORMAT, in->at, "%s: tensor '%.*s': sizes %" PRIu64 ", %" PRIu64 ", .. are not possible with type %s",
                          in->where, pl_excerpt(name), name, ne[0], ne[1], types[number].name);
    if (!pl_mul_u64(values / (uint64_t)facts->values, (uint64_t)facts->bytes, &bytes) || bytes > in->size)
        return pl_fail_at(in->error, PARLEY_FORMAT, in->at, "%s: tensor '%.*s' of %" PRIu64 " values is larger than the file", in->where,
                          pl_excerpt(name), name, values);
    *tensor = (pl_tensor){.type = types[number].type, .rank = rank, .bytes = (size_t)bytes};
    for (int i = 0; i < rank; i++)
        tensor->shape[i] = (int64_t)ne[rank - 1 - i];
    return PARLEY_OK;
}

static parley_status read_tensor(reader *r, pl_entry *entry, uint64_t *offset)
{
    cursor *in = &r->in;
    uint64_t ne[PL_MAX_RANK] = {1, 1, 1, 1};
    uint32_t rank, number;
    PL_TRY(take_name(r, "the name of a tensor", &entry->name));
    PL_TRY(take_u32(in, "the axes of a tensor", &rank));
    if (rank == 0 || rank > PL_MAX_RANK)
        return pl_fail_at(in->error, PARLEY_FORMAT, in->at, "%s: tensor '%.*s' has %" PRIu32 " axes, 1 to 4 are expected", in->where,
                          pl_excerpt(entry->name), entry->name, rank);
    for (uint32_t i = 0; i < rank; i++)
        PL_TRY(take_u64(in, "the sizes of a tensor", &ne[i]));
    PL_TRY(take_u32(in, "the type of a tensor", &number));
    PL_TRY(take_u64(in, "the offset of a tensor", offset));
    PL_TRY(set_tensor(in, entry->name, number, (int)rank, ne, &entry->tensor));
    entry->file = r->container->file;
    entry->stored = types[number].name;
    return PARLEY_OK;
}

/* The data begins at the next multiple of the alignment; a file without tensors may end before. */
static parley_status place_tensor(reader *r, uint64_t start, pl_entry *entry, uint64_t offset)
{
    const cursor *in = &r->in;
    uint64_t end;
    if (offset % r->alignment != 0)
        return pl_fail(in->error, PARLEY_FORMAT, "%s: tensor '%.*s': offset %" PRIu64 " is no multiple of %" PRIu64, in->where,
                       pl_excerpt(entry->name), entry->name, offset, r->alignment);
    if (!pl_add_u64(start, offset, &entry->position) || !pl_add_u64(entry->position, entry->tensor.bytes, &end) || end > in->size)
        return pl_fail(in->error, PARLEY_FORMAT, "%s: tensor '%.*s': %zu bytes at offset %" PRIu64 " of the data end after the file (%zu bytes)",
                       in->where, pl_excerpt(entry->name), entry->name, entry->tensor.bytes, offset, in->size);
    entry->tensor.data = in->data + entry->position;
    return PARLEY_OK;
}

static parley_status read_tensors(reader *r)
{
    pl_container *c = r->container;
    c->entries = PL_NEW_ARRAY(&c->arena, pl_entry, r->n_tensors);
    r->offsets = PL_NEW_ARRAY(&c->arena, uint64_t, r->n_tensors);
    if (!c->entries || !r->offsets)
        return pl_fail_memory(r->in.error, "a list of tensors");
    for (size_t i = 0; i < r->n_tensors; i++)
        PL_TRY(read_tensor(r, &c->entries[i], &r->offsets[i]));
    c->n_entries = (size_t)r->n_tensors;
    uint64_t start = (r->in.at + r->alignment - 1) / r->alignment * r->alignment;
    for (size_t i = 0; i < c->n_entries; i++)
        PL_TRY(place_tensor(r, start, &c->entries[i], r->offsets[i]));
    return pl_container_index(c, r->in.where, r->in.error);
}

/* ------------------------------------------------------------------ the whole file */

bool pl_is_gguf(pl_bytes bytes)
{
    return bytes.size >= 4 && memcmp(bytes.data, "GGUF", 4) == 0;
}

static parley_status check_version(const cursor *in, uint32_t version)
{
    if (version == 2 || version == 3)
        return PARLEY_OK;
    if (version != 0 && (version & 0xFFFF) == 0)
        return pl_fail_at(in->error, PARLEY_UNSUPPORTED, 4, "%s: a big-endian GGUF file", in->where);
    return pl_fail_at(in->error, PARLEY_UNSUPPORTED, 4, "%s: GGUF version %" PRIu32 ", 2 and 3 are supported", in->where, version);
}

/* Against the bytes that are left, before anything is allocated by it. */
static parley_status check_count(const cursor *in, const char *what, uint64_t count, size_t least)
{
    if (count > (in->size - in->at) / least)
        return pl_fail_at(in->error, PARLEY_FORMAT, in->at, "%s: %" PRIu64 " %s do not fit into the %zu bytes of the file", in->where, count, what,
                          in->size);
    if (count > PL_MAX_ENTRIES)
        return pl_fail_at(in->error, PARLEY_UNSUPPORTED, in->at, "%s: %" PRIu64 " %s, at most %d are supported", in->where, count, what,
                          PL_MAX_ENTRIES);
    return PARLEY_OK;
}

static parley_status read_file(reader *r)
{
    cursor *in = &r->in;
    const uint8_t *magic = NULL;
    uint32_t version;
    PL_TRY(take(in, 4, "the magic", &magic));
    if (!pl_is_gguf((pl_bytes){magic, 4}))
        return pl_fail(in->error, PARLEY_FORMAT, "%s: not a GGUF file: it does not begin with \"GGUF\"", in->where);
    PL_TRY(take_u32(in, "the version", &version));
    PL_TRY(check_version(in, version));
    PL_TRY(take_u64(in, "the number of tensors", &r->n_tensors));
    PL_TRY(take_u64(in, "the number of keys", &r->n_keys));
    PL_TRY(check_count(in, "tensors", r->n_tensors, LEAST_TENSOR));
    PL_TRY(check_count(in, "keys", r->n_keys, LEAST_KEY));
    PL_TRY(read_keys(r));
    PL_TRY(read_alignment(r));
    return read_tensors(r);
}

static parley_status open_file(pl_source *source, const char *name, pl_container *container, parley_error *error)
{
    char where[PL_WHERE];
    pl_bytes bytes;
    pl_source_describe(source, name, where, sizeof where);
    container->file = pl_arena_text(&container->arena, name, strlen(name));
    if (!container->file)
        return pl_fail_memory(error, "a GGUF container");
    PL_TRY(pl_source_map(source, name, &bytes, error));
    container->file_bytes = bytes.size;
    reader r = {.in = {.data = bytes.data, .size = bytes.size, .where = where, .error = error}, .container = container};
    return read_file(&r);
}

parley_status pl_gguf_open(const parley_allocator *allocator, pl_source *source, const char *name, pl_container *container, parley_error *error)
{
    *container = (pl_container){.format = "gguf"};
    pl_arena_init(&container->arena, allocator, 16384);
    parley_status status = open_file(source, name, container, error);
    if (status != PARLEY_OK)
        pl_container_close(container);
    return status;
}
