/* The tokenizer of a checkpoint: upstream's files, or the arrays of a GGUF file. */
#include "models/qwen3_tts/internal.h"

#include <stdio.h>
#include <string.h>

/* Token types of GGUF files. Files of the split qts layout mark added tokens as control tokens. */
enum { TYPE_CONTROL = 3, TYPE_ADDED = 4, TYPE_UNUSED = 5 };

static parley_status map_text(const tts_container *c, const char *name, bool needed, pl_span *text, parley_error *error)
{
    char path[64];
    pl_bytes bytes;
    *text = (pl_span){"", 0};
    snprintf(path, sizeof path, "%s%s", c->folder, name);
    if (!needed && !pl_source_has(c->source, path))
        return PARLEY_OK;
    PL_TRY(pl_source_map(c->source, path, &bytes, error));
    *text = (pl_span){(const char *)bytes.data, bytes.size};
    return PARLEY_OK;
}

/* The text layer knows no paths: they go before its messages. */
static parley_status located(const tts_container *c, parley_status status, parley_error *error)
{
    char text[sizeof error->text], where[TTS_WHERE];
    if (status == PARLEY_OK || status == PARLEY_MEMORY || !error)
        return status;
    memcpy(text, error->text, sizeof text);
    pl_source_describe(c->source, c->dialect == TTS_HF ? "" : c->container.file, where, sizeof where);
    return pl_fail_at(error, status, error->position, "%s%s%s", where, c->dialect == TTS_HF ? "" : ": ", text);
}

static parley_status open_hf(const parley_allocator *allocator, const tts_container *c, pl_tokenizer **tokenizer, parley_error *error)
{
    pl_span vocabulary, merges, added;
    PL_TRY(map_text(c, "vocab.json", true, &vocabulary, error));
    PL_TRY(map_text(c, "merges.txt", true, &merges, error));
    PL_TRY(map_text(c, "tokenizer_config.json", true, &added, error));
    return located(c, pl_tokenizer_parse(allocator, vocabulary, merges, added, tokenizer, error), error);
}

/* ------------------------------------------------------------------ GGUF arrays */

typedef struct arrays {
    const pl_container *container;
    const char *where;
    pl_arena *arena;
    parley_error *error;
    int64_t *types; /* NULL: none are given */
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
    if (!pl_gguf_ints(a->container, key, &a->types, &count, a->arena, &status, a->error))
        return status;
    if (count != a->vocabulary.n_tokens)
        return pl_fail(a->error, PARLEY_FORMAT, "%s: '%s' has %zu items, but there are %zu tokens", a->where, key, count, a->vocabulary.n_tokens);
    return PARLEY_OK;
}

static bool is_added(const arrays *a, size_t id)
{
    return a->types && (a->types[id] == TYPE_CONTROL || a->types[id] == TYPE_ADDED);
}

/* Added tokens are spelt as they are, all others in byte spelling; fillers of holes are no tokens. */
static parley_status part_tokens(arrays *a, pl_span *tokens)
{
    pl_vocabulary *v = &a->vocabulary;
    size_t n = 0;
    for (size_t i = 0; i < v->n_tokens; i++)
        n += is_added(a, i);
    pl_added_token *added = PL_NEW_ARRAY(a->arena, pl_added_token, n);
    if (!added)
        return pl_fail_memory(a->error, "the vocabulary");
    for (size_t i = 0; i < v->n_tokens; i++) {
        if (is_added(a, i))
            added[v->n_added++] = (pl_added_token){(int32_t)i, tokens[i], true};
        if (is_added(a, i) || (a->types && a->types[i] == TYPE_UNUSED))
            tokens[i] = (pl_span){"", 0};
    }
    v->added = added;
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
    v->tokens = tokens;
    v->merges = merges;
    v->repair_merges = true;
    return part_tokens(a, tokens);
}

static parley_status open_gguf(const parley_allocator *allocator, const tts_container *c, pl_tokenizer **tokenizer, parley_error *error)
{
    char where[TTS_WHERE];
    pl_arena arena;
    pl_source_describe(c->source, c->container.file, where, sizeof where);
    pl_arena_init(&arena, allocator, 65536);
    arrays a = {.container = &c->container, .where = where, .arena = &arena, .error = error};
    parley_status status = read_arrays(&a);
    if (status == PARLEY_OK)
        status = located(c, pl_tokenizer_build(allocator, &a.vocabulary, tokenizer, error), error);
    pl_arena_free(&arena);
    return status;
}

/* ------------------------------------------------------------------ either */

parley_status pl_tts_tokenizer_open(const parley_allocator *allocator, tts_files *files, const tts_config *config, pl_tokenizer **tokenizer,
                                    parley_error *error)
{
    const tts_container *c = files->part[TTS_TOKENIZER];
    *tokenizer = NULL;
    if (!c)
        return pl_fail(error, PARLEY_MISSING, "%s: no tokenizer is there", pl_source_name(files->source));
    PL_TRY(c->dialect == TTS_HF ? open_hf(allocator, c, tokenizer, error) : open_gguf(allocator, c, tokenizer, error));
    int32_t size = pl_tokenizer_size(*tokenizer);
    if (!files->part[TTS_TALKER] || size <= config->text_vocabulary)
        return PARLEY_OK;
    pl_tokenizer_close(*tokenizer);
    *tokenizer = NULL;
    return pl_fail(error, PARLEY_FORMAT, "%s: the tokenizer has %d ids, but the model only %d", pl_source_name(files->source), size,
                   config->text_vocabulary);
}
