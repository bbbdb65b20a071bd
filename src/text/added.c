#include "text/added.h"

#include <string.h>

bool pl_added_init(pl_added *added, pl_arena *arena, size_t bytes)
{
    *added = (pl_added){.count = 1};
    if (bytes > UINT32_MAX - 1)
        return false;
    added->nodes = PL_NEW_ARRAY(arena, pl_added_node, bytes + 1);
    return added->nodes != NULL;
}

static uint32_t among(const pl_added *added, uint32_t node, unsigned char byte)
{
    while (node && added->nodes[node].byte != byte)
        node = added->nodes[node].sibling;
    return node;
}

static uint32_t new_node(pl_added *added, unsigned char byte, uint32_t sibling)
{
    added->nodes[added->count] = (pl_added_node){.sibling = sibling, .id = -1, .byte = byte};
    return added->count++;
}

bool pl_added_put(pl_added *added, pl_span content, int32_t id)
{
    const unsigned char *s = (const unsigned char *)content.text;
    if (!added->first[s[0]])
        added->first[s[0]] = new_node(added, s[0], 0);
    uint32_t node = added->first[s[0]];
    for (size_t i = 1; i < content.length; i++) {
        uint32_t child = among(added, added->nodes[node].child, s[i]);
        if (!child) {
            child = new_node(added, s[i], added->nodes[node].child);
            added->nodes[node].child = child;
        }
        node = child;
    }
    if (added->nodes[node].id >= 0)
        return false;
    added->nodes[node].id = id;
    return true;
}

/* The longest token that begins at `at`. */
static bool longest(const pl_added *added, pl_span text, size_t at, pl_added_match *match)
{
    const unsigned char *s = (const unsigned char *)text.text;
    bool found = false;
    uint32_t node = added->first[s[at]];
    for (size_t i = at + 1; node; i++) {
        if (added->nodes[node].id >= 0) {
            *match = (pl_added_match){at, i, added->nodes[node].id};
            found = true;
        }
        node = i < text.length ? among(added, added->nodes[node].child, s[i]) : 0;
    }
    return found;
}

int32_t pl_added_find(const pl_added *added, pl_span content)
{
    pl_added_match match;
    return content.length && longest(added, content, 0, &match) && match.end == content.length ? match.id : -1;
}

bool pl_added_next(const pl_added *added, pl_span text, size_t at, pl_added_match *match)
{
    for (; at < text.length; at++)
        if (added->first[(unsigned char)text.text[at]] && longest(added, text, at, match))
            return true;
    return false;
}
