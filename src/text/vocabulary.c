#include "text/vocabulary.h"

#include "base/checked.h"
#include "text/bytemap.h"

#include <string.h>

enum { MOST_TOKENS = 1 << 22, MOST_ADDED = 1 << 16, SHOWN = 60 };

typedef struct builder {
    pl_tokenizer *t;
    const pl_vocabulary *v;
    pl_text_file tokens_file, merges_file;
    pl_arena temporary;
    const pl_span **added; /* [size] contents by id, NULL = not an added token */
    parley_error *error;
} builder;

/* Offset of a span that lies in the file, else 0. */
static uint64_t position_in(pl_text_file file, pl_span span)
{
    uintptr_t begin = (uintptr_t)file.bytes.text, at = (uintptr_t)span.text;
    return file.bytes.length && at >= begin && at - begin <= file.bytes.length ? at - begin : 0;
}

int pl_shown(pl_span spelling)
{
    if (spelling.length <= SHOWN)
        return (int)spelling.length;
    int length = SHOWN;
    while (length > 0 && ((unsigned char)spelling.text[length] & 0xC0) == 0x80)
        length--;
    return length;
}

static parley_status no_memory(const builder *b)
{
    return pl_fail_memory(b->error, "the tokenizer's vocabulary");
}

/* ------------------------------------------------------------------ tokens by their bytes */

static uint64_t hash_of(pl_span bytes)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ bytes.length, word;
    size_t i = 0;
    for (; i + sizeof word <= bytes.length; i += sizeof word) {
        memcpy(&word, bytes.text + i, sizeof word);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    word = 0;
    if (i < bytes.length)
        memcpy(&word, bytes.text + i, bytes.length - i);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

static pl_span bytes_of(const pl_tokenizer *t, uint32_t id)
{
    return (pl_span){t->bytes + t->offsets[id], t->offsets[id + 1] - t->offsets[id]};
}

/* The slot that holds the token of these bytes, or the empty one where it belongs. */
static size_t slot_of(const pl_tokenizer *t, pl_span bytes)
{
    size_t i = (size_t)hash_of(bytes) & t->by_bytes_mask;
    for (; t->by_bytes[i] != PL_NO_TOKEN; i = (i + 1) & t->by_bytes_mask) {
        pl_span other = bytes_of(t, t->by_bytes[i]);
        if (other.length == bytes.length && memcmp(other.text, bytes.text, bytes.length) == 0)
            break;
    }
    return i;
}

uint32_t pl_token_of_bytes(const pl_tokenizer *tokenizer, pl_span bytes)
{
    return tokenizer->by_bytes[slot_of(tokenizer, bytes)];
}

/* The token, not an added one, of this spelling; PL_NO_TOKEN when there is none. */
static uint32_t token_of_spelling(const pl_tokenizer *t, pl_span spelling)
{
    enum { USUAL = 256 };
    char bytes[USUAL];
    size_t length;
    if (spelling.length <= sizeof bytes)
        return pl_spelling_bytes(spelling, bytes, &length) && length ? pl_token_of_bytes(t, (pl_span){bytes, length}) : PL_NO_TOKEN;
    for (uint32_t id = 0; id < t->size; id++) /* no token of a sane vocabulary is that long */
        if (pl_spelling_is(spelling, bytes_of(t, id)) && pl_token_of_bytes(t, bytes_of(t, id)) == id)
            return id;
    return PL_NO_TOKEN;
}

int32_t pl_tokenizer_find(const pl_tokenizer *tokenizer, pl_span spelling)
{
    int32_t added = pl_added_find(&tokenizer->added, spelling);
    uint32_t plain = added < 0 ? token_of_spelling(tokenizer, spelling) : PL_NO_TOKEN;
    return plain == PL_NO_TOKEN ? added : (int32_t)plain;
}

/* ------------------------------------------------------------------ sizes and added tokens */

static parley_status take_size(builder *b)
{
    size_t size = b->v->n_tokens;
    if (size > MOST_TOKENS)
        return pl_fail(b->error, PARLEY_FORMAT, "a vocabulary of %zu tokens, more than %d", size, MOST_TOKENS);
    for (size_t i = 0; i < b->v->n_added; i++) {
        int32_t id = b->v->added[i].id;
        if (id < 0 || (size_t)id >= b->v->n_tokens + MOST_ADDED)
            return pl_fail(b->error, PARLEY_FORMAT, "added token %zu has id %d, expected 0 to %zu", i, (int)id, b->v->n_tokens + MOST_ADDED - 1);
        if ((size_t)id >= size)
            size = (size_t)id + 1;
    }
    if (size == 0)
        return pl_fail(b->error, PARLEY_FORMAT, "a vocabulary of 0 tokens, expected 256 or more");
    b->t->size = (uint32_t)size;
    return PARLEY_OK;
}

static parley_status check_added(const builder *b, const pl_added_token *token)
{
    pl_span content = token->content;
    if (content.length == 0 || pl_utf8_check(content.text, content.length) != content.length)
        return pl_fail(b->error, PARLEY_FORMAT, "added token %d is %s", (int)token->id, content.length ? "no valid UTF-8" : "empty");
    if (b->added[token->id])
        return pl_fail(b->error, PARLEY_FORMAT, "two added tokens have id %d: '%.*s' and '%.*s'", (int)token->id, pl_shown(*b->added[token->id]),
                       b->added[token->id]->text, pl_shown(content), content.text);
    if ((size_t)token->id >= b->v->n_tokens)
        return PARLEY_OK;
    pl_span plain = b->v->tokens[token->id];
    if (plain.length && (plain.length != content.length || memcmp(plain.text, content.text, plain.length) != 0))
        return pl_fail(b->error, PARLEY_FORMAT, "id %d is both added token '%.*s' and another token of the vocabulary", (int)token->id,
                       pl_shown(content), content.text);
    return PARLEY_OK;
}

static parley_status take_added(builder *b)
{
    size_t bytes = 0;
    for (size_t i = 0; i < b->v->n_added; i++)
        if (!pl_add_size(bytes, b->v->added[i].content.length, &bytes))
            return no_memory(b);
    b->added = PL_NEW_ARRAY(&b->temporary, const pl_span *, b->t->size);
    b->t->special = PL_NEW_ARRAY(&b->t->arena, uint8_t, b->t->size / 8 + 1);
    if (!b->added || !b->t->special || !pl_added_init(&b->t->added, &b->t->arena, bytes))
        return no_memory(b);
    for (size_t i = 0; i < b->v->n_added; i++) {
        const pl_added_token *token = &b->v->added[i];
        PL_TRY(check_added(b, token));
        b->added[token->id] = &token->content;
        if (token->special)
            b->t->special[token->id / 8] |= (uint8_t)(1 << token->id % 8);
        if (!pl_added_put(&b->t->added, token->content, token->id))
            return pl_fail(b->error, PARLEY_FORMAT, "two added tokens are spelled '%.*s': ids %d and %d", pl_shown(token->content),
                           token->content.text, (int)pl_added_find(&b->t->added, token->content), (int)token->id);
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ tokens */

static pl_span spelling_of(const builder *b, uint32_t id)
{
    if (b->added[id])
        return *b->added[id];
    return id < b->v->n_tokens ? b->v->tokens[id] : (pl_span){"", 0};
}

static parley_status reserve_tokens(builder *b)
{
    size_t bytes = 0, slots = 1024;
    for (uint32_t id = 0; id < b->t->size; id++)
        if (!pl_add_size(bytes, spelling_of(b, id).length, &bytes) || bytes > UINT32_MAX)
            return pl_fail(b->error, PARLEY_FORMAT, "the spellings of the tokens have more than 2^32 bytes");
    while (slots / 3 * 2 < b->t->size)
        slots *= 2;
    b->t->bytes = pl_arena_alloc_raw(&b->t->arena, bytes, 1);
    b->t->offsets = pl_arena_alloc_raw(&b->t->arena, (size_t)b->t->size + 1, sizeof(uint32_t));
    b->t->by_bytes = pl_arena_alloc_raw(&b->t->arena, slots, sizeof(uint32_t));
    if (!b->t->bytes || !b->t->offsets || !b->t->by_bytes)
        return no_memory(b);
    memset(b->t->by_bytes, 0xFF, slots * sizeof(uint32_t));
    b->t->by_bytes_mask = slots - 1;
    b->t->offsets[0] = 0;
    return PARLEY_OK;
}

/* Token `id` from its spelling, behind the bytes of those before it. */
static parley_status take_token(builder *b, uint32_t id)
{
    pl_tokenizer *t = b->t;
    pl_span spelling = spelling_of(b, id);
    size_t length = spelling.length;
    char *bytes = t->bytes + t->offsets[id];
    if (b->added[id])
        memcpy(bytes, spelling.text, length);
    else if (!pl_spelling_bytes(spelling, bytes, &length))
        return pl_fail_at(b->error, PARLEY_FORMAT, position_in(b->tokens_file, spelling), "%s: token %u is not spelled in byte-level characters",
                          b->tokens_file.name, (unsigned)id);
    t->offsets[id + 1] = t->offsets[id] + (uint32_t)length;
    if (b->added[id] || length == 0)
        return PARLEY_OK;
    size_t slot = slot_of(t, (pl_span){bytes, length});
    if (t->by_bytes[slot] != PL_NO_TOKEN)
        return pl_fail_at(b->error, PARLEY_FORMAT, position_in(b->tokens_file, spelling), "%s: tokens %u and %u are both spelled '%.*s'",
                          b->tokens_file.name, (unsigned)t->by_bytes[slot], (unsigned)id, pl_shown(spelling), spelling.text);
    t->by_bytes[slot] = id;
    return PARLEY_OK;
}

/* An added token that is in the vocabulary too, under another id, would be two things at once. */
static parley_status check_one_id(const builder *b)
{
    for (size_t i = 0; i < b->v->n_added; i++) {
        const pl_added_token *token = &b->v->added[i];
        uint32_t other = token_of_spelling(b->t, token->content);
        if (other != PL_NO_TOKEN)
            return pl_fail(b->error, PARLEY_FORMAT, "'%.*s' is both token %u and added token %d", pl_shown(token->content), token->content.text,
                           (unsigned)other, (int)token->id);
    }
    return PARLEY_OK;
}

static parley_status take_tokens(builder *b)
{
    PL_TRY(reserve_tokens(b));
    for (uint32_t id = 0; id < b->t->size; id++)
        PL_TRY(take_token(b, id));
    PL_TRY(check_one_id(b));
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)(unsigned char)byte;
        b->t->byte_tokens[byte] = pl_token_of_bytes(b->t, (pl_span){&c, 1});
        if (b->t->byte_tokens[byte] == PL_NO_TOKEN)
            return pl_fail(b->error, PARLEY_FORMAT, "%s: no token for byte 0x%02X", b->tokens_file.name, (unsigned)byte);
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ merges */

static parley_status bad_merge(const builder *b, size_t index, const char *reason)
{
    pl_span merge = b->v->merges[index];
    bool text = pl_utf8_check(merge.text, merge.length) == merge.length;
    return pl_fail_at(b->error, PARLEY_FORMAT, position_in(b->merges_file, merge), "%s: merge %zu '%.*s': %s", b->merges_file.name, index,
                      text ? pl_shown(merge) : 0, merge.text, reason);
}

/* `scratch` holds as many bytes as the longest merge. */
static parley_status take_merge(const builder *b, size_t index, char *scratch, pl_merge *merge)
{
    pl_span text = b->v->merges[index];
    const char *space = text.length ? memchr(text.text, ' ', text.length) : NULL;
    if (!space)
        return bad_merge(b, index, "expected two tokens with a space between them");
    size_t left_length = (size_t)(space - text.text), left_bytes, right_bytes;
    pl_span left = {text.text, left_length}, right = {space + 1, text.length - left_length - 1};
    if (!pl_spelling_bytes(left, scratch, &left_bytes) || !pl_spelling_bytes(right, scratch + left_bytes, &right_bytes) || left_bytes == 0
        || right_bytes == 0)
        return bad_merge(b, index, "expected two tokens in byte-level characters");
    merge->left = pl_token_of_bytes(b->t, (pl_span){scratch, left_bytes});
    merge->right = pl_token_of_bytes(b->t, (pl_span){scratch + left_bytes, right_bytes});
    merge->product = pl_token_of_bytes(b->t, (pl_span){scratch, left_bytes + right_bytes});
    if (merge->left == PL_NO_TOKEN || merge->right == PL_NO_TOKEN)
        return bad_merge(b, index, merge->left == PL_NO_TOKEN ? "the left one is no token" : "the right one is no token");
    return merge->product == PL_NO_TOKEN ? bad_merge(b, index, "together they are no token") : PARLEY_OK;
}

static parley_status take_merges(builder *b)
{
    size_t longest = 0, count = b->v->n_merges;
    for (size_t i = 0; i < count; i++)
        longest = b->v->merges[i].length > longest ? b->v->merges[i].length : longest;
    if (count > UINT32_MAX / 2)
        return pl_fail(b->error, PARLEY_FORMAT, "%s: %zu merges, more than 2^31", b->merges_file.name, count);
    char *scratch = pl_arena_alloc_raw(&b->temporary, longest, 1);
    pl_merge *list = pl_arena_alloc_raw(&b->temporary, count, sizeof(pl_merge));
    if (!scratch || !list)
        return no_memory(b);
    for (size_t i = 0; i < count; i++)
        PL_TRY(take_merge(b, i, scratch, &list[i]));
    return pl_rank_merges(b->t, list, count, b->v->repair_merges, &b->temporary, b->error);
}

/* ------------------------------------------------------------------ all of it */

static parley_status build(builder *b)
{
    PL_TRY(take_size(b));
    PL_TRY(take_added(b));
    PL_TRY(take_tokens(b));
    return take_merges(b);
}

parley_status pl_vocabulary_build(const parley_allocator *allocator, const pl_vocabulary *vocabulary, pl_text_file tokens_file,
                                  pl_text_file merges_file, pl_tokenizer **tokenizer, parley_error *error)
{
    enum { CHUNK = 4096 };
    pl_arena arena;
    pl_arena_init(&arena, allocator, CHUNK);
    builder b = {.t = PL_NEW(&arena, pl_tokenizer), .v = vocabulary, .tokens_file = tokens_file, .merges_file = merges_file, .error = error};
    if (!b.t) {
        pl_arena_free(&arena);
        return no_memory(&b);
    }
    b.t->arena = arena;
    pl_arena_init(&b.temporary, allocator, CHUNK);
    parley_status status = build(&b);
    pl_arena_free(&b.temporary);
    if (status == PARLEY_OK)
        *tokenizer = b.t;
    else
        pl_tokenizer_close(b.t);
    return status;
}

parley_status pl_tokenizer_build(const parley_allocator *allocator, const pl_vocabulary *vocabulary, pl_tokenizer **tokenizer, parley_error *error)
{
    return pl_vocabulary_build(allocator, vocabulary, (pl_text_file){.name = "vocabulary"}, (pl_text_file){.name = "vocabulary"}, tokenizer, error);
}

void pl_tokenizer_close(pl_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    pl_arena arena = tokenizer->arena; /* the tokenizer lies in it */
    pl_arena_free(&arena);
}

int32_t pl_tokenizer_size(const pl_tokenizer *tokenizer)
{
    return (int32_t)tokenizer->size;
}

pl_span pl_token_bytes(const pl_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (uint32_t)id < tokenizer->size ? bytes_of(tokenizer, (uint32_t)id) : (pl_span){"", 0};
}

bool pl_token_is_special(const pl_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (uint32_t)id < tokenizer->size && (tokenizer->special[id / 8] >> id % 8 & 1);
}
