/* Little-endian numbers. */
#ifndef CLI_BYTES_H
#define CLI_BYTES_H

#include <stdint.h>
#include <string.h>

static inline void cli_put16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static inline void cli_put32(uint8_t *to, uint32_t value)
{
    cli_put16(to, (uint16_t)value);
    cli_put16(to + 2, (uint16_t)(value >> 16));
}

static inline uint32_t cli_get32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline uint64_t cli_get64(const uint8_t *from)
{
    return (uint64_t)cli_get32(from) | (uint64_t)cli_get32(from + 4) << 32;
}

static inline uint32_t cli_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float cli_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
