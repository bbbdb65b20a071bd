#include "text/bpe.h"

#include <string.h>

/* ------------------------------------------------------------------ table of merges */

static size_t slot_of(const pl_merges *merges, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << 32 | right;
    key = (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
    return (size_t)(key >> 24 ^ key >> 47) & merges->mask;
}

bool pl_merges_init(pl_merges *merges, pl_arena *arena, size_t count)
{
    size_t slots = 16;
    while (slots / 3 * 2 < count) { /* at most two thirds full */
        if (slots > SIZE_MAX / 2)
            return false;
        slots *= 2;
    }
    merges->mask = slots - 1;
    merges->slots = pl_arena_alloc_raw(arena, slots, sizeof(pl_merge));
    if (!merges->slots)
        return false;
    memset(merges->slots, 0xFF, slots * sizeof(pl_merge));
    return true;
}

const pl_merge *pl_merges_find(const pl_merges *merges, uint32_t left, uint32_t right)
{
    for (size_t i = slot_of(merges, left, right);; i = (i + 1) & merges->mask) {
        const pl_merge *merge = &merges->slots[i];
        if (merge->left == left && merge->right == right)
            return merge->product == UINT32_MAX ? NULL : merge;
        if (merge->product == UINT32_MAX)
            return NULL;
    }
}

bool pl_merges_add(pl_merges *merges, pl_merge merge)
{
    size_t i = slot_of(merges, merge.left, merge.right);
    for (; merges->slots[i].product != UINT32_MAX; i = (i + 1) & merges->mask)
        if (merges->slots[i].left == merge.left && merges->slots[i].right == merge.right)
            return false;
    merges->slots[i] = merge;
    return true;
}

/* The merge of a pair, if it may be done now. */
static const pl_merge *allowed(const pl_merges *merges, uint32_t rank_limit, uint32_t left, uint32_t right)
{
    const pl_merge *merge = pl_merges_find(merges, left, right);
    return merge && merge->rank < rank_limit ? merge : NULL;
}

/* ------------------------------------------------------------------ short words: look for the least rank each time */

enum { SHORT = 32 };

static void short_word(const pl_merges *merges, uint32_t rank_limit, uint32_t *symbols, size_t *count)
{
    const pl_merge *pairs[SHORT]; /* of symbols i and i + 1 */
    size_t n = *count;
    for (size_t i = 0; i + 1 < n; i++)
        pairs[i] = allowed(merges, rank_limit, symbols[i], symbols[i + 1]);
    for (;;) {
        size_t best = n;
        for (size_t i = 0; i + 1 < n; i++)
            if (pairs[i] && (best == n || pairs[i]->rank < pairs[best]->rank))
                best = i;
        if (best == n)
            break;
        symbols[best] = pairs[best]->product;
        memmove(symbols + best + 1, symbols + best + 2, (n - best - 2) * sizeof *symbols);
        if (n - best > 2)
            memmove(pairs + best, pairs + best + 1, (n - best - 2) * sizeof(pairs[0]));
        n--;
        if (best > 0)
            pairs[best - 1] = allowed(merges, rank_limit, symbols[best - 1], symbols[best]);
        if (best + 1 < n)
            pairs[best] = allowed(merges, rank_limit, symbols[best], symbols[best + 1]);
    }
    *count = n;
}

/* ------------------------------------------------------------------ long words: a heap of pairs over a linked list of symbols */

/* Heap entries are rank << 32 | position: equal ranks go leftmost first. An entry is stale when the pair at its position has another rank by now. */
typedef struct long_word {
    const pl_merges *merges;
    uint32_t rank_limit;
    uint32_t *symbols, *next, *previous, *ranks, *products; /* of the pair that begins at a position; PL_NO_RANK = none */
    uint64_t *heap;
    size_t heaped;
    uint32_t end; /* position behind the last */
} long_word;

static void sift_down(uint64_t *heap, size_t count, size_t i)
{
    uint64_t entry = heap[i];
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= entry)
            break;
        heap[i] = heap[child];
    }
    heap[i] = entry;
}

static void heap_push(long_word *w, uint64_t entry)
{
    size_t i = w->heaped++;
    while (i > 0 && w->heap[(i - 1) / 2] > entry) {
        w->heap[i] = w->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->heap[i] = entry;
}

static uint64_t heap_pop(long_word *w)
{
    uint64_t top = w->heap[0];
    w->heap[0] = w->heap[--w->heaped];
    if (w->heaped > 1)
        sift_down(w->heap, w->heaped, 0);
    return top;
}

/* Looks up the pair that begins at a position; true when it can be merged. */
static bool look(long_word *w, uint32_t at)
{
    uint32_t right = w->next[at];
    const pl_merge *merge = right == w->end ? NULL : allowed(w->merges, w->rank_limit, w->symbols[at], w->symbols[right]);
    w->ranks[at] = merge ? merge->rank : PL_NO_RANK;
    w->products[at] = merge ? merge->product : 0;
    return merge != NULL;
}

static void look_and_push(long_word *w, uint32_t at)
{
    if (look(w, at))
        heap_push(w, (uint64_t)w->ranks[at] << 32 | at);
}

static void merge_at(long_word *w, uint32_t at)
{
    uint32_t gone = w->next[at], after = w->next[gone];
    w->symbols[at] = w->products[at];
    w->next[at] = after;
    w->ranks[gone] = PL_NO_RANK;
    if (after != w->end)
        w->previous[after] = at;
    look_and_push(w, at);
    if (at > 0)
        look_and_push(w, w->previous[at]);
}

static void run_long(long_word *w, size_t *count)
{
    for (uint32_t i = 0; i < w->end; i++) {
        w->next[i] = i + 1;
        w->previous[i] = i - 1;
        if (look(w, i))
            w->heap[w->heaped++] = (uint64_t)w->ranks[i] << 32 | i;
    }
    for (size_t i = w->heaped / 2; i-- > 0;)
        sift_down(w->heap, w->heaped, i);
    while (w->heaped > 0) {
        uint64_t top = heap_pop(w);
        uint32_t at = (uint32_t)top;
        if (w->ranks[at] == (uint32_t)(top >> 32))
            merge_at(w, at);
    }
    size_t n = 0;
    for (uint32_t at = 0; at < w->end; at = w->next[at])
        w->symbols[n++] = w->symbols[at];
    *count = n;
}

parley_status pl_bpe(const pl_merges *merges, uint32_t rank_limit, uint32_t *symbols, size_t *count, pl_buffer *scratch, parley_error *error)
{
    size_t n = *count;
    if (n <= SHORT) {
        short_word(merges, rank_limit, symbols, count);
        return PARLEY_OK;
    }
    if (n > (size_t)1 << 30)
        return pl_fail(error, PARLEY_LIMIT, "a word of %zu bytes without a break: more than 2^30", n);
    /* At most one entry a pair at first, then two a merge, each of which takes one entry out: 2 n entries are never passed. */
    PL_TRY(pl_buffer_reserve(scratch, n, 2 * sizeof(uint64_t) + 4 * sizeof(uint32_t), 0, error));
    uint64_t *heap = scratch->data;
    uint32_t *lists = (uint32_t *)(heap + 2 * n);
    long_word w = {merges, rank_limit, symbols, lists, lists + n, lists + 2 * n, lists + 3 * n, heap, 0, (uint32_t)n};
    run_long(&w, count);
    return PARLEY_OK;
}
