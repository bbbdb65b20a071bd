#include "text/image.h"

#include "text/vocabulary.h"

#include <string.h>

_Static_assert(sizeof(pl_merge) == 16 && sizeof(pl_added_node) == 16, "images hold these as four words each");

enum { BYTES = 256, ALIGN = 4, NODE_WORDS = 4 };

/* The head of an image: `magic`, version, then how many of each there are. */
typedef struct image_head {
    uint32_t magic, version;
    uint32_t size;   /* ids */
    uint32_t bytes;  /* of all tokens */
    uint32_t slots;  /* of the table of tokens by bytes */
    uint32_t merges; /* slots of the table of merges */
    uint32_t nodes;  /* of the trie of added tokens, node 0 included */
    uint32_t zero;
} image_head;

static const uint32_t MAGIC = 0x4B545250; /* "PRTK" */

/* Where the parts lie. */
typedef struct image_plan {
    size_t offsets, by_bytes, byte_tokens, merges, first, nodes, special, bytes, end;
} image_plan;

static image_plan plan_of(const image_head *h)
{
    image_plan p;
    p.offsets = sizeof *h;
    p.by_bytes = p.offsets + ((size_t)h->size + 1) * sizeof(uint32_t);
    p.byte_tokens = p.by_bytes + (size_t)h->slots * sizeof(uint32_t);
    p.merges = p.byte_tokens + BYTES * sizeof(uint32_t);
    p.first = p.merges + (size_t)h->merges * sizeof(pl_merge);
    p.nodes = p.first + BYTES * sizeof(uint32_t);
    p.special = p.nodes + (size_t)h->nodes * sizeof(pl_added_node);
    p.bytes = p.special + (size_t)h->size / 8 + 1;
    p.end = p.bytes + h->bytes;
    return p;
}

/* ------------------------------------------------------------------ writing */

static image_head head_of(const pl_tokenizer *t)
{
    return (image_head){.magic = MAGIC,
                        .version = PL_IMAGE_VERSION,
                        .size = t->size,
                        .bytes = t->offsets[t->size],
                        .slots = (uint32_t)(t->by_bytes_mask + 1),
                        .merges = (uint32_t)(t->merges.mask + 1),
                        .nodes = t->added.count ? t->added.count : 1};
}

/* Field by field, since the padding of nodes has no fixed value; node 0 is not used. */
static void put_nodes(const pl_added *added, uint32_t count, uint8_t *out)
{
    memset(out, 0, (size_t)count * sizeof(pl_added_node));
    for (uint32_t i = 1; i < count; i++) {
        const pl_added_node *n = &added->nodes[i];
        const uint32_t words[NODE_WORDS] = {n->child, n->sibling, (uint32_t)n->id, n->byte};
        memcpy(out + (size_t)i * sizeof words, words, sizeof words);
    }
}

size_t pl_tokenizer_image(const pl_tokenizer *tokenizer, uint8_t *bytes)
{
    const pl_tokenizer *t = tokenizer;
    image_head h = head_of(t);
    image_plan p = plan_of(&h);
    if (!bytes)
        return p.end;
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + p.offsets, t->offsets, p.by_bytes - p.offsets);
    memcpy(bytes + p.by_bytes, t->by_bytes, p.byte_tokens - p.by_bytes);
    memcpy(bytes + p.byte_tokens, t->byte_tokens, sizeof t->byte_tokens);
    memcpy(bytes + p.merges, t->merges.slots, p.first - p.merges);
    memcpy(bytes + p.first, t->added.first, sizeof t->added.first);
    put_nodes(&t->added, h.nodes, bytes + p.nodes);
    memcpy(bytes + p.special, t->special, p.bytes - p.special);
    if (h.bytes)
        memcpy(bytes + p.bytes, t->bytes, h.bytes);
    return p.end;
}

/* ------------------------------------------------------------------ checking */

typedef struct checker {
    const pl_tokenizer *t;
    image_plan plan;
    uint32_t bytes, nodes;
    parley_error *error;
} checker;

static parley_status bad(const checker *c, size_t position, const char *text)
{
    return pl_fail_at(c->error, PARLEY_FORMAT, position, "the tokenizer's image is damaged: %s", text);
}

static parley_status check_offsets(const checker *c)
{
    const pl_tokenizer *t = c->t;
    bool sound = t->offsets[0] == 0 && t->offsets[t->size] == c->bytes;
    for (uint32_t i = 0; i < t->size; i++)
        sound = sound && t->offsets[i] <= t->offsets[i + 1];
    return sound ? PARLEY_OK : bad(c, c->plan.offsets, "the tokens' bytes do not follow one another");
}

/* A search ends at an empty slot: one must be there. */
static parley_status check_slots(const checker *c)
{
    const pl_tokenizer *t = c->t;
    bool sound = true, empty = false;
    for (size_t i = 0; i <= t->by_bytes_mask; i++) {
        empty = empty || t->by_bytes[i] == PL_NO_TOKEN;
        sound = sound && (t->by_bytes[i] == PL_NO_TOKEN || t->by_bytes[i] < t->size);
    }
    for (int i = 0; i < BYTES; i++)
        sound = sound && t->byte_tokens[i] < t->size;
    return sound && empty ? PARLEY_OK : bad(c, c->plan.by_bytes, "an id out of range, or no end of the table of tokens");
}

static parley_status check_merges(const checker *c)
{
    const pl_tokenizer *t = c->t;
    bool sound = true, empty = false;
    for (size_t i = 0; i <= t->merges.mask; i++) {
        const pl_merge *m = &t->merges.slots[i];
        empty = empty || m->product == PL_NO_TOKEN;
        sound = sound && (m->product == PL_NO_TOKEN || (m->left < t->size && m->right < t->size && m->product < t->size));
    }
    return sound && empty ? PARLEY_OK : bad(c, c->plan.merges, "an id out of range, or no end of the table of merges");
}

/* Nodes are made behind the one that leads to them, but a new child leads to its older siblings: children point onwards, siblings back, and neither
 * can go round. */
static parley_status check_nodes(const checker *c)
{
    const pl_added *a = &c->t->added;
    bool sound = true;
    for (int i = 0; i < BYTES; i++)
        sound = sound && a->first[i] < c->nodes;
    for (uint32_t i = 1; i < c->nodes; i++) {
        const pl_added_node *n = &a->nodes[i];
        sound = sound && (n->child == 0 || (n->child > i && n->child < c->nodes)) && n->sibling < i;
        sound = sound && n->id >= -1 && n->id < (int32_t)c->t->size;
    }
    return sound ? PARLEY_OK : bad(c, c->plan.nodes, "the added tokens are no tree");
}

static bool is_power_of_two(uint32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* What is behind the head must be exactly what it counts. */
static parley_status read_head(const uint8_t *bytes, size_t size, image_head *h, parley_error *error)
{
    if (size < sizeof *h)
        return pl_fail(error, PARLEY_FORMAT, "the tokenizer's image has %zu bytes, expected at least %zu", size, sizeof *h);
    memcpy(h, bytes, sizeof *h);
    if (h->magic != MAGIC)
        return pl_fail(error, PARLEY_FORMAT, "the tokenizer's image does not begin as one");
    if (h->version != PL_IMAGE_VERSION)
        return pl_fail(error, PARLEY_UNSUPPORTED, "the tokenizer's image has version %u, only %d is supported: quantize the model again",
                       (unsigned)h->version, PL_IMAGE_VERSION);
    bool sound = h->size > 0 && h->size < INT32_MAX && is_power_of_two(h->slots) && is_power_of_two(h->merges) && h->nodes > 0;
    size_t expected = plan_of(h).end;
    if (!sound || expected != size)
        return pl_fail(error, PARLEY_FORMAT, "the tokenizer's image has %zu bytes, but its head counts %zu", size, expected);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ reading */

/* The tokenizer does not write to its tables once they are built. */
static void point(pl_tokenizer *t, uint8_t *at, const image_head *h)
{
    image_plan p = plan_of(h);
    t->size = h->size;
    t->offsets = (uint32_t *)(void *)(at + p.offsets);
    t->by_bytes = (uint32_t *)(void *)(at + p.by_bytes);
    t->by_bytes_mask = h->slots - 1;
    memcpy(t->byte_tokens, at + p.byte_tokens, sizeof t->byte_tokens);
    t->merges = (pl_merges){(pl_merge *)(void *)(at + p.merges), h->merges - 1};
    t->added = (pl_added){.nodes = (pl_added_node *)(void *)(at + p.nodes), .count = h->nodes};
    memcpy(t->added.first, at + p.first, sizeof t->added.first);
    t->special = at + p.special;
    t->bytes = (char *)(at + p.bytes);
}

static parley_status check(const pl_tokenizer *t, const image_head *h, parley_error *error)
{
    checker c = {t, plan_of(h), h->bytes, h->nodes, error};
    PL_TRY(check_offsets(&c));
    PL_TRY(check_slots(&c));
    PL_TRY(check_merges(&c));
    return check_nodes(&c);
}

static uint8_t *place(pl_arena *arena, const void *bytes, size_t size)
{
    if ((uintptr_t)bytes % ALIGN == 0)
        return (uint8_t *)(uintptr_t)bytes;
    uint8_t *copy = pl_arena_alloc_raw(arena, size, 1);
    if (copy)
        memcpy(copy, bytes, size);
    return copy;
}

parley_status pl_tokenizer_from_image(const parley_allocator *allocator, const void *bytes, size_t size, pl_tokenizer **tokenizer,
                                      parley_error *error)
{
    image_head h;
    pl_arena arena;
    *tokenizer = NULL;
    PL_TRY(read_head(bytes, size, &h, error));
    pl_arena_init(&arena, allocator, 4096);
    pl_tokenizer *t = PL_NEW(&arena, pl_tokenizer);
    uint8_t *at = t ? place(&arena, bytes, size) : NULL;
    parley_status status = at ? PARLEY_OK : pl_fail_memory(error, "the tokenizer's vocabulary");
    if (status == PARLEY_OK) {
        point(t, at, &h);
        status = check(t, &h, error);
    }
    if (status != PARLEY_OK) {
        pl_arena_free(&arena);
        return status;
    }
    t->arena = arena;
    *tokenizer = t;
    return PARLEY_OK;
}
