#include "text/vocabulary.h"

/* Converters that take every line of merges.txt that begins with '#' for a comment lose the merges whose left part does. A vocabulary made by
 * training has its tokens in the order of their merges, so the tokens that nothing makes show both the lost merges and their ranks. */

/* Tokens that begin with '#', have two bytes or more, and that no merge makes; ascending. */
static uint32_t *find_lost(const pl_tokenizer *t, const pl_merge *list, size_t count, pl_arena *temporary, size_t *lost)
{
    bool *made = PL_NEW_ARRAY(temporary, bool, t->size);
    if (!made)
        return NULL;
    for (size_t i = 0; i < count; i++)
        made[list[i].product] = true;
    uint32_t *ids = pl_arena_alloc_raw(temporary, t->size, sizeof(uint32_t));
    *lost = 0;
    for (uint32_t id = 0; ids && id < t->size; id++) {
        pl_span bytes = pl_token_bytes(t, (int32_t)id);
        if (bytes.length >= 2 && bytes.text[0] == '#' && !made[id] && pl_token_of_bytes(t, bytes) == id)
            ids[(*lost)++] = id;
    }
    return ids;
}

/* The lost merge of a token: what is left when its own text is merged by the lower ranks. */
static parley_status put_back(pl_tokenizer *t, uint32_t id, uint32_t rank, pl_arena *temporary, parley_error *error)
{
    pl_span bytes = pl_token_bytes(t, (int32_t)id);
    size_t count = bytes.length;
    uint32_t *symbols = pl_arena_alloc_raw(temporary, count, sizeof(uint32_t));
    if (!symbols)
        return pl_fail_memory(error, "repair of the merges");
    for (size_t i = 0; i < count; i++)
        symbols[i] = t->byte_tokens[(unsigned char)bytes.text[i]];
    pl_buffer scratch = {.allocator = temporary->allocator};
    parley_status status = pl_bpe(&t->merges, rank, symbols, &count, &scratch, error);
    pl_buffer_free(&scratch);
    PL_TRY(status);
    if (count != 2)
        return pl_fail(error, PARLEY_FORMAT, "token %u: the merge that makes it is missing and cannot be put back (%zu parts, expected 2)",
                       (unsigned)id, count);
    pl_merges_add(&t->merges, (pl_merge){symbols[0], symbols[1], rank, id});
    return PARLEY_OK;
}

static parley_status add_stored(pl_tokenizer *t, const pl_merge *list, size_t count, const uint32_t *lost, size_t n_lost, parley_error *error)
{
    size_t before = 0; /* lost merges of lower rank */
    for (size_t i = 0; i < count; i++) {
        if (n_lost && i > 0 && list[i].product <= list[i - 1].product)
            return pl_fail(error, PARLEY_FORMAT,
                           "merges that begin with '#' are missing (token %u), and the order of the others does not show their ranks",
                           (unsigned)lost[0]);
        while (before < n_lost && lost[before] < list[i].product)
            before++;
        pl_merge merge = {list[i].left, list[i].right, (uint32_t)(i + before), list[i].product};
        if (!pl_merges_add(&t->merges, merge))
            return pl_fail(error, PARLEY_FORMAT, "merge %zu, which makes token %u, occurs twice", i, (unsigned)merge.product);
    }
    return PARLEY_OK;
}

parley_status pl_rank_merges(pl_tokenizer *tokenizer, const pl_merge *list, size_t count, bool repair, pl_arena *temporary, parley_error *error)
{
    size_t n_lost = 0;
    uint32_t *lost = repair ? find_lost(tokenizer, list, count, temporary, &n_lost) : NULL;
    if ((repair && !lost) || !pl_merges_init(&tokenizer->merges, &tokenizer->arena, count + n_lost))
        return pl_fail_memory(error, "the tokenizer's merges");
    PL_TRY(add_stored(tokenizer, list, count, lost, n_lost, error));
    for (size_t k = 0, stored = 0; k < n_lost; k++) {
        while (stored < count && list[stored].product < lost[k])
            stored++;
        PL_TRY(put_back(tokenizer, lost[k], (uint32_t)(stored + k), temporary, error));
    }
    return PARLEY_OK;
}
