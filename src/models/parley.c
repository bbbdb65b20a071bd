#include "models/parley.h"

#include "kernels/kernels.h"
#include "models/files.h"
#include "text/image.h"

#include <inttypes.h>
#include <string.h>

bool pl_parley_is(const pl_container *container, const char *family)
{
    return pl_file_says(container, "general.architecture", PL_PARLEY_ARCHITECTURE) && pl_file_says(container, PL_PARLEY_FAMILY, family);
}

/* ------------------------------------------------------------------ packed tensors */

typedef struct packed_list {
    pl_container *container;
    const char *where;
    pl_gguf_text *names;
    int64_t *types, *shapes; /* [count], [count][PL_MAX_RANK] slowest first, zeros behind */
    size_t count;
    parley_error *error;
} packed_list;

static parley_status check_version(const packed_list *l, const char *key, int64_t known)
{
    int64_t version;
    parley_status status;
    if (!pl_gguf_int(l->container, key, &version, &status, l->error))
        return status != PARLEY_OK ? status : pl_fail(l->error, PARLEY_MISSING, "%s: '%s' is not there", l->where, key);
    if (version == known)
        return PARLEY_OK;
    return pl_fail(l->error, PARLEY_UNSUPPORTED, "%s: '%s' is %" PRId64 ", only %" PRId64 " is supported: quantize the model again", l->where, key,
                   version, known);
}

static parley_status read_lists(packed_list *l)
{
    pl_arena *arena = &l->container->arena;
    parley_status status;
    size_t n_types = 0, n_shapes = 0;
    if (!pl_gguf_strings(l->container, PL_PARLEY_NAMES, &l->names, &l->count, arena, &status, l->error))
        return status;
    if (!pl_gguf_ints(l->container, PL_PARLEY_TYPES, l->count, &l->types, &n_types, arena, &status, l->error))
        PL_TRY(status);
    if (!pl_gguf_ints(l->container, PL_PARLEY_SHAPES, l->count * PL_MAX_RANK, &l->shapes, &n_shapes, arena, &status, l->error))
        PL_TRY(status);
    if (n_types == l->count && n_shapes / PL_MAX_RANK == l->count && n_shapes % PL_MAX_RANK == 0)
        return PARLEY_OK;
    return pl_fail(l->error, PARLEY_FORMAT, "%s: '" PL_PARLEY_NAMES "' has %zu items, but there are %zu types and %zu sizes", l->where, l->count,
                   n_types, n_shapes);
}

static parley_status bad_item(const packed_list *l, size_t i, const char *text)
{
    return pl_fail(l->error, PARLEY_FORMAT, "%s: item %zu of '" PL_PARLEY_NAMES "': %s", l->where, i, text);
}

/* Rank of the shape, 0 when it is none: sizes above 0, then zeros, and no more values than a tensor may have. */
static int rank_of(const int64_t *shape)
{
    int rank = 0;
    int64_t values = 1;
    for (; rank < PL_MAX_RANK && shape[rank] > 0; rank++)
        if (shape[rank] > INT32_MAX || __builtin_mul_overflow(values, shape[rank], &values))
            return 0;
    for (int i = rank; i < PL_MAX_RANK; i++)
        if (shape[i] != 0)
            return 0;
    return rank;
}

/* Whether the panels have the right number of bytes is checked where the tensor is used, since that says which matrix it is. */
static parley_status set_packed(const packed_list *l, size_t i)
{
    const int64_t *shape = l->shapes + i * PL_MAX_RANK;
    pl_gguf_text name = l->names[i];
    char *text = pl_arena_text(&l->container->arena, name.text, name.length);
    pl_type type;
    if (!text)
        return pl_fail_memory(l->error, "names of tensors");
    pl_entry *entry = memchr(name.text, 0, name.length) ? NULL : pl_container_find(l->container, text);
    if (!entry || entry->tensor.type != PL_OTHER || entry->tensor.packed)
        return bad_item(l, i, !entry ? "no such tensor" : "the tensor is not of type I8, or is there twice");
    if (!pl_gguf_type(l->types[i], &type) || !pl_type_is_packed(type))
        return bad_item(l, i, "no type that is packed");
    int rank = rank_of(shape);
    if (rank < 2)
        return bad_item(l, i, "no shape of 2 to 4 axes");
    entry->tensor = (pl_tensor){.type = type, .rank = rank, .data = entry->tensor.data, .bytes = entry->tensor.bytes, .packed = true};
    memcpy(entry->tensor.shape, shape, (size_t)rank * sizeof *shape);
    return PARLEY_OK;
}

parley_status pl_parley_prepare(pl_container *container, const char *where, parley_error *error)
{
    packed_list l = {.container = container, .where = where, .error = error};
    PL_TRY(check_version(&l, PL_PARLEY_VERSION, PL_PARLEY_FORMAT));
    PL_TRY(check_version(&l, PL_PARLEY_LAYOUT, PL_PACK_VERSION));
    PL_TRY(read_lists(&l));
    for (size_t i = 0; i < l.count; i++)
        PL_TRY(set_packed(&l, i));
    pl_entry *tokenizer = pl_container_find(container, PL_PARLEY_TOKENIZER);
    if (tokenizer)
        tokenizer->used = true;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ tokenizer */

parley_status pl_parley_tokenizer(const parley_allocator *allocator, const pl_container *container, const char *where, pl_tokenizer **tokenizer,
                                  parley_error *error)
{
    char text[sizeof error->text];
    parley_error inner = {0};
    pl_entry *entry = pl_container_find(container, PL_PARLEY_TOKENIZER);
    if (!entry || entry->tensor.type != PL_OTHER)
        return pl_fail(error, PARLEY_MISSING, "%s: '" PL_PARLEY_TOKENIZER "' is not there", where);
    parley_status status = pl_tokenizer_from_image(allocator, entry->tensor.data, entry->tensor.bytes, tokenizer, &inner);
    if (status == PARLEY_OK)
        return status;
    memcpy(text, inner.text, sizeof text);
    return pl_fail_at(error, status, inner.position, "%s: %s", where, text);
}
