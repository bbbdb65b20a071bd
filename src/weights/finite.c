#include "weights/container.h"

#include <string.h>

/* Where a block holds its half-precision scales; the other scales of the K types are small integers. */
static const struct {
    uint8_t n, at[2];
} scales[PL_TYPE_COUNT] = {
    [PL_Q8_0] = {1, {0}},      [PL_Q4_0] = {1, {0}},   [PL_Q4_1] = {2, {0, 2}}, [PL_Q5_0] = {1, {0}},    [PL_Q5_1] = {2, {0, 2}},
    [PL_Q2_K] = {2, {80, 82}}, [PL_Q3_K] = {1, {108}}, [PL_Q4_K] = {2, {0, 2}}, [PL_Q5_K] = {2, {0, 2}}, [PL_Q6_K] = {1, {208}},
};

enum { STRETCH = 4096 };

static uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint16_t load_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Adding one to an exponent of all ones carries into the bit of the sign, which was masked away: so a stretch is a chain of plain integer
 * operations, which the compiler vectorises, and the value is looked for in the first bad stretch only. */
enum { F32_EXPONENT = 0x7F800000, F32_ONE = 0x00800000, F32_CARRY = 31 };

static uint32_t carry_f32(const uint8_t *p)
{
    return (load_u32(p) & F32_EXPONENT) + F32_ONE;
}

static int64_t find_f32(const uint8_t *data, int64_t n)
{
    for (int64_t first = 0; first < n; first += STRETCH) {
        int64_t end = n - first < STRETCH ? n : first + STRETCH;
        uint32_t carries = 0;
        for (int64_t i = first; i < end; i++)
            carries |= carry_f32(data + 4 * i);
        for (int64_t i = first; carries >> F32_CARRY && i < end; i++)
            if (carry_f32(data + 4 * i) >> F32_CARRY)
                return i;
    }
    return -1;
}

/* `exponent`: the bits of the exponent, without the one above them. */
static uint16_t carry_u16(const uint8_t *p, uint16_t exponent)
{
    uint16_t one = (uint16_t)(exponent & -exponent);
    return (uint16_t)((load_u16(p) & exponent) + one);
}

static int64_t find_u16(const uint8_t *data, int64_t n, uint16_t exponent)
{
    for (int64_t first = 0; first < n; first += STRETCH) {
        int64_t end = n - first < STRETCH ? n : first + STRETCH;
        uint16_t carries = 0;
        for (int64_t i = first; i < end; i++)
            carries = (uint16_t)(carries | carry_u16(data + 2 * i, exponent));
        for (int64_t i = first; carries >> 15 && i < end; i++)
            if (carry_u16(data + 2 * i, exponent) >> 15)
                return i;
    }
    return -1;
}

static int64_t find_block(const pl_tensor *t, const uint8_t *data)
{
    if (scales[t->type].n == 0)
        return -1;
    const pl_type_facts *facts = pl_type_info(t->type);
    size_t bytes = (size_t)facts->bytes, blocks = t->bytes / bytes;
    for (size_t b = 0; b < blocks; b++)
        for (int k = 0; k < scales[t->type].n; k++)
            if ((load_u16(data + b * bytes + scales[t->type].at[k]) & 0x7C00) == 0x7C00)
                return (int64_t)b * facts->values;
    return -1;
}

int64_t pl_first_not_finite(const pl_tensor *tensor)
{
    const uint8_t *data = tensor->data;
    switch (tensor->type) {
    case PL_F32: return find_f32(data, (int64_t)(tensor->bytes / 4));
    case PL_BF16: return find_u16(data, (int64_t)(tensor->bytes / 2), 0x7F80);
    case PL_F16: return find_u16(data, (int64_t)(tensor->bytes / 2), 0x7C00);
    default: return find_block(tensor, data);
    }
}
