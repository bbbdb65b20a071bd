/* Reading and writing single code points of UTF-8 that has been checked already. */
#ifndef PL_TEXT_UTF8_H
#define PL_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { PL_UTF8_MAX = 4 }; /* bytes of a code point */

/* The code point that begins at `text`; its length in bytes goes to `*length`. */
static inline uint32_t pl_utf8_get(const char *text, size_t *length)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *length = 1;
        return s[0];
    }
    if (s[0] < 0xE0) {
        *length = 2;
        return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    }
    if (s[0] < 0xF0) {
        *length = 3;
        return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    }
    *length = 4;
    return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

/* Writes `point` (at most 10FFFF, no surrogate) and returns its length. */
static inline size_t pl_utf8_put(uint32_t point, char *text)
{
    unsigned char *s = (unsigned char *)text;
    if (point < 0x80) {
        s[0] = (unsigned char)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6)
        s[i] = (unsigned char)(0x80 | (point & 0x3F));
    s[0] = (unsigned char)((0xF00u >> n & 0xF0u) | point);
    return n;
}

#endif
