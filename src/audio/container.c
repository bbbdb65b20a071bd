#include "audio/container.h"

#include <string.h>

/* ------------------------------------------------------------------ kinds */

typedef struct kind {
    const char *name;
    const char *magic;       /* at 0 */
    const char *form;        /* at 8, NULL: any */
    const char *sound_chunk; /* NULL: no chunks, or sizes that are not checked */
    unsigned head;           /* bytes before the first chunk */
    unsigned size_bytes;     /* of a chunk's size */
    bool big_endian;
    bool padded; /* chunks have even lengths */
} kind;

static const kind kinds[] = {
    {"WAV", "RIFF", "WAVE", "data", 12, 4, false, true}, {"WAV", "RIFX", "WAVE", "data", 12, 4, true, true},
    {"AIFF", "FORM", "AIFF", "SSND", 12, 4, true, true}, {"AIFF", "FORM", "AIFC", "SSND", 12, 4, true, true},
    {"CAF", "caff", NULL, "data", 8, 8, true, false},    {"RF64", "RF64", "WAVE", NULL, 0, 0, false, false},
    {"W64", "riff", NULL, NULL, 0, 0, false, false},     {"FLAC", "fLaC", NULL, NULL, 0, 0, false, false},
    {"Ogg", "OggS", NULL, NULL, 0, 0, false, false},     {"AU", ".snd", NULL, NULL, 0, 0, false, false},
};

static const kind *find_kind(const pl_audio_bytes *bytes)
{
    char head[12] = "";
    size_t got = pl_audio_bytes_copy(bytes, 0, head, sizeof head);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const kind *k = &kinds[i];
        if (got >= 4 && memcmp(head, k->magic, 4) == 0 && (!k->form || (got == sizeof head && memcmp(head + 8, k->form, 4) == 0)))
            return k;
    }
    return NULL;
}

const char *pl_audio_kind(const pl_audio_bytes *bytes)
{
    const kind *k = find_kind(bytes);
    return k ? k->name : NULL;
}

/* ------------------------------------------------------------------ chunks */

static uint64_t read_size(const uint8_t *at, unsigned size, bool big_endian)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | at[big_endian ? i : size - 1 - i];
    return value;
}

/* A writer that cannot go back leaves 0 or one of the numbers that programs use for "until the end". A chunk may also be empty in truth: then the
 * size of the whole, which stands in front, is right. */
static bool size_unknown(const kind *k, const pl_audio_bytes *bytes, uint64_t size)
{
    uint8_t whole[4];
    if (size >= (k->size_bytes == 4 ? UINT64_C(0x7FFFF000) : UINT64_C(0x7FFFFFFFFFFFF000)))
        return true;
    if (size > 0 || k->size_bytes != 4 || pl_audio_bytes_copy(bytes, 4, whole, sizeof whole) != sizeof whole)
        return false;
    uint64_t told = read_size(whole, 4, k->big_endian) + 8;
    return told != bytes->size && told + 1 != bytes->size;
}

static pl_audio_chunk judge(const kind *k, const pl_audio_bytes *bytes, uint64_t size_at, uint64_t size)
{
    uint64_t left = bytes->size - size_at - k->size_bytes;
    pl_audio_chunk chunk = {.patch_at = size_at};
    if (size > 0 && size <= left)
        return chunk;
    if (!size_unknown(k, bytes, size)) {
        chunk.lacks = size > left ? size - left : 0;
        return chunk;
    }
    chunk.patch_size = k->size_bytes;
    for (unsigned i = 0; i < k->size_bytes; i++)
        chunk.patch[k->big_endian ? k->size_bytes - 1 - i : i] = (uint8_t)(left >> 8 * i);
    return chunk;
}

pl_audio_chunk pl_audio_sound_chunk(const pl_audio_bytes *bytes)
{
    const kind *k = find_kind(bytes);
    if (!k || !k->sound_chunk)
        return (pl_audio_chunk){0};
    uint8_t head[12];
    uint64_t at = k->head;
    size_t head_size = 4 + k->size_bytes, got;
    while ((got = pl_audio_bytes_copy(bytes, at, head, head_size)) == head_size) {
        uint64_t size = read_size(head + 4, k->size_bytes, k->big_endian), left = bytes->size - at - head_size;
        if (memcmp(head, k->sound_chunk, 4) == 0)
            return judge(k, bytes, at + 4, size);
        if (size > left)
            return (pl_audio_chunk){.lacks = size - left};
        at += head_size + size + (k->padded ? size & 1 : 0);
    }
    return (pl_audio_chunk){.lacks = got > 0 ? head_size - got : 0};
}

/* ------------------------------------------------------------------ Ogg pages */

enum { PAGE_HEAD = 27, PAGE_MOST = PAGE_HEAD + 255 + 255 * 255, CHECKSUM_AT = 22 };

static void checksum_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i << 24;
        for (int bit = 0; bit < 8; bit++)
            sum = sum << 1 ^ (sum >> 31 ? UINT32_C(0x04C11DB7) : 0);
        table[i] = sum;
    }
}

/* Of a page, its own four bytes counted as zeros. */
static uint32_t checksum(const uint32_t table[256], const uint8_t *page, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = i - CHECKSUM_AT < 4 ? 0 : page[i];
        sum = sum << 8 ^ table[(sum >> 24 ^ byte) & 0xFF];
    }
    return sum;
}

/* Length of the page of which `got` bytes are there; 0: cut short. */
static size_t page_size(const uint8_t *page, size_t got)
{
    if (got < PAGE_HEAD || got < PAGE_HEAD + (size_t)page[26])
        return 0;
    size_t size = PAGE_HEAD + (size_t)page[26];
    for (int i = 0; i < page[26]; i++)
        size += page[PAGE_HEAD + i];
    return size <= got ? size : 0;
}

static parley_status fail_page(const char *name, uint64_t at, const char *what, parley_error *error)
{
    return pl_fail_at(error, PARLEY_FORMAT, at, "%s: damaged Ogg file: %s at byte %llu", name, what, (unsigned long long)at);
}

parley_status pl_audio_check_pages(const char *name, const pl_audio_bytes *bytes, parley_error *error)
{
    const kind *k = find_kind(bytes);
    if (!k || strcmp(k->name, "Ogg") != 0)
        return PARLEY_OK;
    uint32_t table[256];
    uint8_t page[PAGE_MOST];
    checksum_table(table);
    for (uint64_t at = 0; at < bytes->size;) {
        size_t got = pl_audio_bytes_copy(bytes, at, page, sizeof page);
        if (got < 4 || memcmp(page, "OggS", 4) != 0)
            return fail_page(name, at, "no page where one is expected,", error);
        size_t size = page_size(page, got);
        if (size == 0)
            return fail_page(name, at, "the end of the file cuts the page", error);
        if (checksum(table, page, size) != read_size(page + CHECKSUM_AT, 4, false))
            return fail_page(name, at, "a wrong checksum of the page", error);
        at += size;
    }
    return PARLEY_OK;
}
