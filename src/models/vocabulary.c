/* The tokenizer of a checkpoint: upstream's files, or the arrays of a GGUF file. */
#include "models/vocabulary.h"

#include "models/json.h"

#include <stdio.h>
#include <string.h>

/* Token types of GGUF files. */
enum { TYPE_CONTROL = 3, TYPE_ADDED = 4, TYPE_UNUSED = 5 };

static parley_status map_text(pl_source *source, const char *folder, const char *name, pl_span *text, parley_error *error)
{
    char path[64];
    pl_bytes bytes;
    *text = (pl_span){"", 0};
    snprintf(path, sizeof path, "%s%s", folder, name);
    PL_TRY(pl_source_map(source, path, &bytes, error));
    *text = (pl_span){(const char *)bytes.data, bytes.size};
    return PARLEY_OK;
}

/* The text layer knows no paths: they go before its messages. `file` NULL: it names the file itself. */
static parley_status located(pl_source *source, const char *file, parley_status status, parley_error *error)
{
    char text[sizeof error->text], where[PL_MODEL_WHERE];
    if (status == PARLEY_OK || status == PARLEY_MEMORY || !error)
        return status;
    memcpy(text, error->text, sizeof text);
    pl_source_describe(source, file ? file : "", where, sizeof where);
    return pl_fail_at(error, status, error->position, "%s%s%s", where, file ? ": " : "", text);
}

parley_status pl_model_tokenizer_files(const parley_allocator *allocator, pl_source *source, const char *folder, pl_tokenizer **tokenizer,
                                       parley_error *error)
{
    pl_span vocabulary, merges, added;
    PL_TRY(map_text(source, folder, "vocab.json", &vocabulary, error));
    PL_TRY(map_text(source, folder, "merges.txt", &merges, error));
    PL_TRY(map_text(source, folder, "tokenizer_config.json", &added, error));
    return located(source, NULL, pl_tokenizer_parse(allocator, vocabulary, merges, added, tokenizer, error), error);
}

/* ------------------------------------------------------------------ GGUF arrays */

typedef struct arrays {
    const pl_container *container;
    const char *where;
    pl_arena *arena;
    parley_error *error;
    pl_gguf_vocabulary written;
    size_t most;          /* tokens to take, 0: all */
    int64_t *types;       /* NULL: none are given */
    size_t first_control; /* of a control token; the number of tokens when there is none */
    pl_vocabulary vocabulary;
} arrays;

_Static_assert(sizeof(pl_span) == sizeof(pl_gguf_text), "texts become spans in place: large vocabularies are not copied");

static parley_status spans(arrays *a, const char *key, pl_span **list, size_t *count)
{
    parley_status status;
    pl_gguf_text *texts;
    if (!pl_gguf_strings(a->container, key, &texts, count, a->arena, &status, a->error))
        return status != PARLEY_OK ? status : pl_fail(a->error, PARLEY_MISSING, "%s: '%s' is not there", a->where, key);
    pl_span *converted = (pl_span *)(void *)texts;
    for (size_t i = 0; i < *count; i++) {
        pl_gguf_text text = texts[i];
        converted[i] = (pl_span){text.text, text.length};
    }
    *list = converted;
    return PARLEY_OK;
}

static parley_status check_model(const arrays *a)
{
    parley_status status;
    pl_gguf_text model;
    if (!pl_gguf_string(a->container, "tokenizer.ggml.model", &model, &status, a->error) || (model.length == 4 && !memcmp(model.text, "gpt2", 4)))
        return status;
    return pl_fail(a->error, PARLEY_UNSUPPORTED, "%s: 'tokenizer.ggml.model' is '%.*s', only gpt2 is supported", a->where,
                   model.length < 60 ? (int)model.length : 60, model.text);
}

static parley_status read_types(arrays *a)
{
    static const char key[] = "tokenizer.ggml.token_type";
    parley_status status;
    size_t count;
    if (!pl_gguf_ints(a->container, key, a->vocabulary.n_tokens, &a->types, &count, a->arena, &status, a->error))
        return status;
    if (count != a->vocabulary.n_tokens)
        return pl_fail(a->error, PARLEY_FORMAT, "%s: '%s' has %zu items, but there are %zu tokens", a->where, key, count, a->vocabulary.n_tokens);
    return PARLEY_OK;
}

static bool is_filler(pl_span token)
{
    static const char prefix[] = "<|unused_";
    return token.length >= sizeof prefix && memcmp(token.text, prefix, sizeof prefix - 1) == 0;
}

static void find_control(arrays *a)
{
    a->first_control = 0;
    while (a->first_control < a->vocabulary.n_tokens && (!a->types || a->types[a->first_control] != TYPE_CONTROL))
        a->first_control++;
}

/* 0 for an ordinary token, else its type. */
static int kind_of(const arrays *a, size_t id, pl_span token)
{
    int64_t type = a->types ? a->types[id] : 0;
    if (type == TYPE_CONTROL || type == TYPE_ADDED || type == TYPE_UNUSED)
        return (int)type;
    if (a->written != PL_GGUF_ADDED_BEHIND || id < a->first_control)
        return 0;
    return is_filler(token) ? TYPE_UNUSED : TYPE_ADDED;
}

/* Added tokens are spelt as they are, all others in byte spelling; fillers of holes are no tokens. */
static parley_status part_tokens(arrays *a, pl_span *tokens)
{
    pl_vocabulary *v = &a->vocabulary;
    size_t n = 0;
    find_control(a);
    for (size_t i = 0; i < v->n_tokens; i++)
        n += kind_of(a, i, tokens[i]) != 0;
    pl_added_token *added = PL_NEW_ARRAY(a->arena, pl_added_token, n);
    if (!added)
        return pl_fail_memory(a->error, "the vocabulary");
    for (size_t i = 0; i < v->n_tokens; i++) {
        int kind = kind_of(a, i, tokens[i]);
        if (kind == TYPE_CONTROL || kind == TYPE_ADDED)
            added[v->n_added++] = (pl_added_token){(int32_t)i, tokens[i], kind == TYPE_CONTROL};
        if (kind)
            tokens[i] = (pl_span){"", 0};
    }
    v->added = added;
    return PARLEY_OK;
}

static parley_status cut(arrays *a)
{
    size_t *count = &a->vocabulary.n_tokens;
    if (a->most > *count)
        return pl_fail(a->error, PARLEY_FORMAT, "%s: there are %zu tokens, at least %zu are expected", a->where, *count, a->most);
    *count = a->most ? a->most : *count;
    return PARLEY_OK;
}

static parley_status read_arrays(arrays *a)
{
    pl_vocabulary *v = &a->vocabulary;
    pl_span *tokens = NULL, *merges = NULL;
    PL_TRY(check_model(a));
    PL_TRY(spans(a, "tokenizer.ggml.tokens", &tokens, &v->n_tokens));
    if (v->n_tokens > 1 << 24)
        return pl_fail(a->error, PARLEY_FORMAT, "%s: %zu tokens, at most %d are expected", a->where, v->n_tokens, 1 << 24);
    PL_TRY(spans(a, "tokenizer.ggml.merges", &merges, &v->n_merges));
    PL_TRY(read_types(a));
    PL_TRY(cut(a));
    v->tokens = tokens;
    v->merges = merges;
    v->repair_merges = a->written == PL_GGUF_LOST_MERGES;
    return part_tokens(a, tokens);
}

parley_status pl_model_tokenizer_gguf(const parley_allocator *allocator, pl_source *source, const pl_container *container, pl_gguf_vocabulary written,
                                      size_t most, pl_tokenizer **tokenizer, parley_error *error)
{
    char where[PL_MODEL_WHERE];
    pl_arena arena;
    pl_source_describe(source, container->file, where, sizeof where);
    pl_arena_init(&arena, allocator, 65536);
    arrays a = {.container = container, .where = where, .arena = &arena, .error = error, .written = written, .most = most};
    parley_status status = read_arrays(&a);
    if (status == PARLEY_OK)
        status = located(source, container->file, pl_tokenizer_build(allocator, &a.vocabulary, tokenizer, error), error);
    pl_arena_free(&arena);
    return status;
}
