/* Which codec the codes of a voice belong to. */
#include "models/qwen3_tts/fingerprint.h"

#include "kernels/kernels.h"

#include <string.h>

enum {
    BITS = 256,
    DIGITS = BITS / 4,
    /* Bits that may differ. Bits of unrelated codebooks agree by chance: 128 +- 8 of 256 differ. Rounding turns a bit only where the two numbers
     * nearly agree, hardly ever with q8_0, some 7 of 256 with q4_0. */
    MOST_DIFFERENT = BITS / 8
};

/* Knuth's multiplicative hash (2^32 over the golden ratio): spreads the comparisons over groups, rows and columns. */
static const uint32_t golden = 2654435761u;

static const char digits[] = "0123456789abcdef";

/* Two entries of one column of one codebook. */
typedef struct comparison {
    int64_t group, row[2], column;
} comparison;

static comparison comparison_at(const pl_codec_shape *shape, uint32_t i)
{
    uint32_t a = (i + 1) * golden, b = (a ^ a >> 15) * golden, size = (uint32_t)shape->codebook_size;
    comparison c = {.group = i % (uint32_t)shape->groups, .row = {(a >> 8) % size, 0}, .column = (b >> 8) % (uint32_t)shape->codebook_width};
    c.row[1] = size > 1 ? (c.row[0] + 1 + (b >> 4) % (size - 1)) % size : 0;
    return c;
}

/* One entry, by way of the block that it lies in. */
static float value_at(const pl_tensor *tensor, int64_t index)
{
    enum { LARGEST_BLOCK = 256 };
    const pl_type_facts *type = pl_type_info(tensor->type);
    float block[LARGEST_BLOCK];
    pl_dequantize(tensor->type, (const char *)tensor->data + (size_t)(index / type->values) * (size_t)type->bytes, type->values, block);
    return block[index % type->values];
}

/* As the codec computes it. */
static float entry_of(const pl_codec_tensors *t, const comparison *c, int which)
{
    const pl_tensor *sums = &t->codebooks[c->group], *usage = &t->usages[c->group];
    float value = value_at(sums, c->row[which] * sums->shape[1] + c->column);
    return usage->data ? value / pl_codec_row_count(value_at(usage, c->row[which])) : value;
}

static bool has_codebooks(const pl_codec_shape *shape, const pl_codec_tensors *t)
{
    for (int g = 0; t->codebooks && g < shape->groups; g++)
        if (!t->codebooks[g].data)
            return false;
    return t->codebooks && shape->groups > 0;
}

static char digit_at(const pl_codec_shape *shape, const pl_codec_tensors *tensors, uint32_t at)
{
    unsigned digit = 0;
    for (uint32_t bit = 0; bit < 4; bit++) {
        comparison c = comparison_at(shape, 4 * at + bit);
        float first = entry_of(tensors, &c, 0), second = entry_of(tensors, &c, 1);
        digit |= (unsigned)(first > second) << bit;
    }
    return digits[digit];
}

parley_status pl_codec_fingerprint(pl_arena *arena, const pl_codec_shape *shape, const pl_codec_tensors *tensors, const char **text,
                                   parley_error *error)
{
    char made[DIGITS + 1] = "";
    if (has_codebooks(shape, tensors))
        for (uint32_t i = 0; i < DIGITS; i++)
            made[i] = digit_at(shape, tensors, i);
    *text = pl_arena_text(arena, made, strlen(made));
    return *text ? PARLEY_OK : pl_fail_memory(error, "a codec's fingerprint");
}

bool pl_codec_fingerprint_is(const char *text, size_t length)
{
    size_t good = 0;
    while (good < length && text[good] && strchr(digits, text[good]))
        good++;
    return good == length && length == DIGITS;
}

static unsigned value_of(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

bool pl_codec_fingerprints_agree(const char *a, const char *b)
{
    int different = 0;
    for (int i = 0; i < DIGITS; i++)
        different += __builtin_popcount(value_of(a[i]) ^ value_of(b[i]));
    return different <= MOST_DIFFERENT;
}
