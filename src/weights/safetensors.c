/* Safetensors: eight bytes of header length, a JSON header {"name": {"dtype", "shape", "data_offsets"}, ..}, the data. Large models are split into
 * shards, which "model.safetensors.index.json" lists: {"weight_map": {"name": "shard", ..}}. */
#include "base/checked.h"
#include "weights/parts.h"
#include "weights/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    pl_type type;
    unsigned bits;
} dtypes[] = {
    {"F32", PL_F32, 32},      {"F16", PL_F16, 16},      {"BF16", PL_BF16, 16},    {"I32", PL_I32, 32},      {"F64", PL_OTHER, 64},
    {"I64", PL_OTHER, 64},    {"I16", PL_OTHER, 16},    {"I8", PL_OTHER, 8},      {"U64", PL_OTHER, 64},    {"U32", PL_OTHER, 32},
    {"U16", PL_OTHER, 16},    {"U8", PL_OTHER, 8},      {"BOOL", PL_OTHER, 8},    {"F8_E4M3", PL_OTHER, 8}, {"F8_E5M2", PL_OTHER, 8},
    {"F8_E8M0", PL_OTHER, 8}, {"F6_E2M3", PL_OTHER, 6}, {"F6_E3M2", PL_OTHER, 6}, {"F4", PL_OTHER, 4},      {"C64", PL_OTHER, 64},
};

enum { N_DTYPES = sizeof dtypes / sizeof *dtypes, LENGTH_BYTES = 8, MAX_SHARDS = 1024 };

typedef struct shard {
    const char *name;  /* inside the source, folder included */
    const char *where; /* for messages */
    pl_bytes bytes;
    size_t header; /* bytes of the JSON text */
    size_t n_entries;
} shard;

typedef struct reader {
    pl_source *source;
    const char *folder;
    pl_container *container;
    shard *shards;
    size_t n_shards;
    const char *index; /* name of the index inside the source, NULL without one */
    const char *index_where;
    pl_bytes index_bytes;
    char *scratch;  /* two texts of the index */
    size_t n_pairs; /* of the weight_map */
    parley_error *error;
} reader;

/* ------------------------------------------------------------------ one tensor */

/* An element of the header as it is being read. */
typedef struct description {
    bool has_dtype, has_shape, has_offsets;
    unsigned dtype;
    int rank;
    uint64_t shape[PL_MAX_RANK], begin, end;
} description;

static parley_status fail_tensor(const pl_scan *scan, parley_status status, const char *name, const char *what)
{
    return pl_fail_at(scan->error, status, scan->base + scan->at, "%s: tensor '%.*s': %s", scan->where, pl_excerpt(name), name, what);
}

static parley_status read_dtype(pl_scan *scan, const char *name, char *text, description *d)
{
    PL_TRY(pl_scan_string(scan, text, NULL));
    for (d->dtype = 0; d->dtype < N_DTYPES; d->dtype++)
        if (strcmp(text, dtypes[d->dtype].name) == 0)
            return PARLEY_OK;
    return pl_fail_at(scan->error, PARLEY_UNSUPPORTED, scan->base + scan->at, "%s: tensor '%.*s' has the unknown dtype '%.*s'", scan->where,
                      pl_excerpt(name), name, pl_excerpt(text), text);
}

static parley_status read_shape(pl_scan *scan, const char *name, description *d)
{
    bool first = true, more;
    PL_TRY(pl_scan_expect(scan, '['));
    for (;;) {
        uint64_t size;
        PL_TRY(pl_scan_more(scan, ']', &first, &more));
        if (!more)
            return PARLEY_OK;
        PL_TRY(pl_scan_uint(scan, &size));
        if (d->rank == PL_MAX_RANK)
            return fail_tensor(scan, PARLEY_UNSUPPORTED, name, "more than 4 axes");
        if (size > INT64_MAX)
            return fail_tensor(scan, PARLEY_FORMAT, name, "a size above 2^63 - 1");
        d->shape[d->rank++] = size;
    }
}

static parley_status read_offsets(pl_scan *scan, description *d)
{
    PL_TRY(pl_scan_expect(scan, '['));
    PL_TRY(pl_scan_uint(scan, &d->begin));
    PL_TRY(pl_scan_expect(scan, ','));
    PL_TRY(pl_scan_uint(scan, &d->end));
    return pl_scan_expect(scan, ']');
}

static parley_status read_field(pl_scan *scan, const char *name, char *text, description *d)
{
    static const char *const fields[] = {"dtype", "shape", "data_offsets"};
    bool *const seen[] = {&d->has_dtype, &d->has_shape, &d->has_offsets};
    PL_TRY(pl_scan_key(scan, text, NULL));
    int field = 0;
    while (field < 3 && strcmp(text, fields[field]) != 0)
        field++;
    if (field == 3)
        return pl_scan_skip(scan);
    if (*seen[field])
        return fail_tensor(scan, PARLEY_FORMAT, name, "one of dtype, shape and data_offsets is there twice");
    *seen[field] = true;
    if (field == 0)
        return read_dtype(scan, name, text, d);
    return field == 1 ? read_shape(scan, name, d) : read_offsets(scan, d);
}

/* Bytes of the tensor by its shape; false when they, or its values, are more than a file can have. */
static bool bytes_of(const description *d, uint64_t *bytes, bool *whole)
{
    uint64_t values = 1, bits;
    for (int i = 0; i < d->rank; i++)
        if (d->shape[i] == 0)
            values = 0;
    for (int i = 0; values > 0 && i < d->rank; i++)
        if (!pl_mul_u64(values, d->shape[i], &values))
            return false;
    if (!pl_mul_u64(values, dtypes[d->dtype].bits, &bits))
        return false;
    *bytes = bits / 8;
    *whole = bits % 8 == 0;
    return true;
}

static parley_status check_place(const pl_scan *scan, const char *name, const description *d, uint64_t data_size)
{
    uint64_t bytes;
    bool whole;
    if (!d->has_dtype || !d->has_shape || !d->has_offsets)
        return fail_tensor(scan, PARLEY_FORMAT, name, "dtype, shape and data_offsets are expected");
    if (d->begin > d->end || d->end > data_size)
        return pl_fail_at(scan->error, PARLEY_FORMAT, scan->base + scan->at,
                          "%s: tensor '%.*s': data_offsets [%" PRIu64 ", %" PRIu64 "], but there are %" PRIu64 " bytes of data", scan->where,
                          pl_excerpt(name), name, d->begin, d->end, data_size);
    if (!bytes_of(d, &bytes, &whole) || !whole)
        return fail_tensor(scan, PARLEY_FORMAT, name, "the sizes give no possible number of bytes");
    if (bytes != d->end - d->begin)
        return pl_fail_at(scan->error, PARLEY_FORMAT, scan->base + scan->at,
                          "%s: tensor '%.*s': dtype and shape take %" PRIu64 " bytes, data_offsets %" PRIu64, scan->where, pl_excerpt(name), name,
                          bytes, d->end - d->begin);
    return PARLEY_OK;
}

/* `text`: room for any string of the rest of the header. */
static parley_status read_tensor(pl_scan *scan, const shard *s, const char *name, char *text, pl_entry *entry)
{
    description d = {0};
    bool first = true, more;
    PL_TRY(pl_scan_expect(scan, '{'));
    for (;;) {
        PL_TRY(pl_scan_more(scan, '}', &first, &more));
        if (!more)
            break;
        PL_TRY(read_field(scan, name, text, &d));
    }
    size_t data = LENGTH_BYTES + s->header;
    PL_TRY(check_place(scan, name, &d, s->bytes.size - data));
    *entry = (pl_entry){.name = name, .file = s->name, .position = data + d.begin, .stored = dtypes[d.dtype].name};
    entry->tensor =
        (pl_tensor){.type = dtypes[d.dtype].type, .rank = d.rank, .data = s->bytes.data + entry->position, .bytes = (size_t)(d.end - d.begin)};
    for (int i = 0; i < d.rank; i++)
        entry->tensor.shape[i] = (int64_t)d.shape[i];
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ one shard */

static pl_scan scan_header(const shard *s, parley_error *error)
{
    return (pl_scan){.text = s->bytes.data + LENGTH_BYTES, .size = s->header, .base = LENGTH_BYTES, .where = s->where, .error = error};
}

static parley_status count_entries(shard *s, parley_error *error)
{
    pl_scan scan = scan_header(s, error);
    bool first = true, more;
    PL_TRY(pl_scan_expect(&scan, '{'));
    for (s->n_entries = 0;; s->n_entries++) {
        PL_TRY(pl_scan_more(&scan, '}', &first, &more));
        if (!more)
            return pl_scan_end(&scan);
        PL_TRY(pl_scan_key(&scan, NULL, NULL));
        PL_TRY(pl_scan_skip(&scan));
    }
}

static parley_status describe(reader *r, const char *name, const char **where)
{
    char text[PL_WHERE];
    pl_source_describe(r->source, name, text, sizeof text);
    *where = pl_arena_text(&r->container->arena, text, strlen(text));
    return *where ? PARLEY_OK : pl_fail_memory(r->error, "a list of weight files");
}

/* `folder` and `name` as one text. */
static parley_status join(reader *r, const char *name, const char **joined)
{
    size_t head = strlen(r->folder), tail = strlen(name);
    char *text = PL_NEW_ARRAY(&r->container->arena, char, head + tail + 1);
    if (!text)
        return pl_fail_memory(r->error, "a list of weight files");
    memcpy(text, r->folder, head);
    memcpy(text + head, name, tail);
    *joined = text;
    return PARLEY_OK;
}

static parley_status open_shard(reader *r, const char *name, shard *s)
{
    PL_TRY(join(r, name, &s->name));
    PL_TRY(describe(r, s->name, &s->where));
    PL_TRY(pl_source_map(r->source, s->name, &s->bytes, r->error));
    r->container->file_bytes += s->bytes.size;
    if (s->bytes.size < LENGTH_BYTES)
        return pl_fail(r->error, PARLEY_FORMAT, "%s: %zu bytes, a safetensors file has at least 8", s->where, s->bytes.size);
    uint64_t header = pl_load_u64(s->bytes.data);
    if (header > s->bytes.size - LENGTH_BYTES)
        return pl_fail(r->error, PARLEY_FORMAT, "%s: a header of %" PRIu64 " bytes is said to be in a file of %zu", s->where, header, s->bytes.size);
    s->header = (size_t)header;
    return count_entries(s, r->error);
}

/* The names go one behind the other into one block, which the header's own size bounds. */
static parley_status read_shard(reader *r, const shard *s)
{
    pl_container *c = r->container;
    pl_scan scan = scan_header(s, r->error);
    char *text = pl_arena_alloc_raw(&c->arena, s->header, 1);
    bool first = true, more;
    if (!text)
        return pl_fail_memory(r->error, "the names of tensors");
    PL_TRY(pl_scan_expect(&scan, '{'));
    for (;;) {
        size_t length;
        PL_TRY(pl_scan_more(&scan, '}', &first, &more));
        if (!more)
            return PARLEY_OK;
        PL_TRY(pl_scan_key(&scan, text, &length));
        if (strcmp(text, "__metadata__") == 0) {
            PL_TRY(pl_scan_skip(&scan));
            continue;
        }
        const char *name = text;
        text += length + 1;
        PL_TRY(read_tensor(&scan, s, name, text, &c->entries[c->n_entries]));
        c->n_entries++;
    }
}

/* ------------------------------------------------------------------ the index */

typedef parley_status (*visit_pair)(reader *r, const pl_scan *scan, const char *tensor, const char *shard_name);

static parley_status each_in_map(reader *r, pl_scan *scan, visit_pair visit)
{
    bool first = true, more;
    PL_TRY(pl_scan_expect(scan, '{'));
    for (;;) {
        size_t length;
        PL_TRY(pl_scan_more(scan, '}', &first, &more));
        if (!more)
            return PARLEY_OK;
        PL_TRY(pl_scan_key(scan, r->scratch, &length));
        char *shard_name = r->scratch + length + 1;
        PL_TRY(pl_scan_string(scan, shard_name, &length));
        PL_TRY(visit(r, scan, r->scratch, shard_name));
    }
}

/* Calls visit() with each tensor and shard of the weight_map. */
static parley_status each_pair(reader *r, visit_pair visit)
{
    pl_scan scan = {.text = r->index_bytes.data, .size = r->index_bytes.size, .where = r->index_where, .error = r->error};
    bool first = true, more, found = false;
    PL_TRY(pl_scan_expect(&scan, '{'));
    for (;;) {
        PL_TRY(pl_scan_more(&scan, '}', &first, &more));
        if (!more)
            break;
        PL_TRY(pl_scan_key(&scan, r->scratch, NULL));
        bool is_map = strcmp(r->scratch, "weight_map") == 0;
        if (is_map && found)
            return pl_fail_at(r->error, PARLEY_FORMAT, scan.at, "%s: weight_map is there twice", r->index_where);
        found = found || is_map;
        PL_TRY(is_map ? each_in_map(r, &scan, visit) : pl_scan_skip(&scan));
    }
    PL_TRY(pl_scan_end(&scan));
    return found ? PARLEY_OK : pl_fail(r->error, PARLEY_FORMAT, "%s: no weight_map", r->index_where);
}

/* Shards lie beside their index: a name with a folder in it could reach anything. */
static bool is_plain_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Lists the shard if its name is new; it is opened later. */
static parley_status note_shard(reader *r, const pl_scan *scan, const char *tensor, const char *shard_name)
{
    (void)tensor;
    if (++r->n_pairs > PL_MAX_ENTRIES)
        return pl_fail_at(r->error, PARLEY_UNSUPPORTED, scan->at, "%s: more than %d tensors", r->index_where, PL_MAX_ENTRIES);
    if (!is_plain_name(shard_name))
        return pl_fail_at(r->error, PARLEY_FORMAT, scan->at, "%s: '%.*s' is no name of a file beside the index", r->index_where,
                          pl_excerpt(shard_name), shard_name);
    for (size_t i = r->n_shards; i-- > 0;)
        if (strcmp(r->shards[i].name, shard_name) == 0)
            return PARLEY_OK;
    if (r->n_shards == MAX_SHARDS)
        return pl_fail_at(r->error, PARLEY_UNSUPPORTED, scan->at, "%s: more than %d shards", r->index_where, MAX_SHARDS);
    const char *name = pl_arena_text(&r->container->arena, shard_name, strlen(shard_name));
    if (!name)
        return pl_fail_memory(r->error, "a list of weight files");
    r->shards[r->n_shards++].name = name;
    return PARLEY_OK;
}

static parley_status check_promise(reader *r, const pl_scan *scan, const char *tensor, const char *shard_name)
{
    const pl_entry *entry = pl_container_find(r->container, tensor);
    if (!entry || strcmp(entry->file + strlen(r->folder), shard_name) != 0)
        return pl_fail_at(r->error, PARLEY_MISSING, scan->at, "%s: tensor '%.*s' is said to be in %.*s but is not", r->index_where,
                          pl_excerpt(tensor), tensor, pl_excerpt(shard_name), shard_name);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ opening */

static parley_status list_shards(reader *r)
{
    const char *plain = "model.safetensors", *index = NULL;
    PL_TRY(join(r, "model.safetensors.index.json", &index));
    bool sharded = pl_source_has(r->source, index);
    r->shards = PL_NEW_ARRAY(&r->container->arena, shard, sharded ? MAX_SHARDS : 1);
    if (!r->shards)
        return pl_fail_memory(r->error, "a list of weight files");
    if (!sharded) {
        r->shards[0].name = plain;
        r->n_shards = 1;
        return PARLEY_OK;
    }
    r->index = index;
    PL_TRY(describe(r, index, &r->index_where));
    PL_TRY(pl_source_map(r->source, index, &r->index_bytes, r->error));
    r->container->file_bytes += r->index_bytes.size;
    r->scratch = pl_arena_alloc_raw(&r->container->arena, r->index_bytes.size, 1);
    if (!r->scratch)
        return pl_fail_memory(r->error, "an index of weight files");
    PL_TRY(each_pair(r, note_shard));
    return r->n_shards ? PARLEY_OK : pl_fail(r->error, PARLEY_MISSING, "%s: no tensors in weight_map", r->index_where);
}

static parley_status read_all(reader *r)
{
    pl_container *c = r->container;
    size_t total = 0;
    PL_TRY(list_shards(r));
    for (size_t i = 0; i < r->n_shards; i++) {
        PL_TRY(open_shard(r, r->shards[i].name, &r->shards[i]));
        total += r->shards[i].n_entries;
        if (total > PL_MAX_ENTRIES)
            return pl_fail(r->error, PARLEY_UNSUPPORTED, "%s: more than %d tensors", r->shards[i].where, PL_MAX_ENTRIES);
    }
    c->file = r->shards[0].name;
    c->entries = PL_NEW_ARRAY(&c->arena, pl_entry, total);
    if (!c->entries)
        return pl_fail_memory(r->error, "a list of tensors");
    for (size_t i = 0; i < r->n_shards; i++)
        PL_TRY(read_shard(r, &r->shards[i]));
    PL_TRY(pl_container_index(c, r->index ? r->index_where : r->shards[0].where, r->error));
    return r->index ? each_pair(r, check_promise) : PARLEY_OK;
}

parley_status pl_safetensors_open(const parley_allocator *allocator, pl_source *source, const char *folder, pl_container *container,
                                  parley_error *error)
{
    *container = (pl_container){.format = "safetensors"};
    pl_arena_init(&container->arena, allocator, 16384);
    reader r = {.source = source, .folder = folder, .container = container, .error = error};
    parley_status status = read_all(&r);
    if (status != PARLEY_OK)
        pl_container_close(container);
    return status;
}
