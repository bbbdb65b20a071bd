#include "text/bytemap.h"

int pl_byte_of(uint32_t point)
{
    if ((point >= 33 && point <= 126) || (point >= 161 && point <= 172) || (point >= 174 && point <= 255))
        return (int)point;
    if (point < 256 || point > 323)
        return -1;
    int n = (int)point - 256; /* which of the others: 0..32, 127..160, 173 */
    return n < 33 ? n : n < 67 ? n - 33 + 127 : 173;
}

/* The byte that the character at `at` stands for, or -1; its length goes to `*length`. */
static int byte_at(pl_span spelling, size_t at, size_t *length)
{
    const unsigned char *s = (const unsigned char *)spelling.text + at;
    *length = 1;
    if (s[0] < 0x80)
        return pl_byte_of(s[0]);
    if (s[0] < 0xC2 || s[0] > 0xC5 || at + 1 == spelling.length || (s[1] & 0xC0) != 0x80) /* all that can occur ends at U+0143 */
        return -1;
    *length = 2;
    return pl_byte_of((s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu));
}

bool pl_spelling_bytes(pl_span spelling, char *bytes, size_t *length)
{
    size_t n = 0;
    for (size_t at = 0, step; at < spelling.length; at += step) {
        int byte = byte_at(spelling, at, &step);
        if (byte < 0)
            return false;
        bytes[n++] = (char)byte;
    }
    *length = n;
    return true;
}

bool pl_spelling_is(pl_span spelling, pl_span bytes)
{
    size_t at = 0, n = 0;
    for (size_t step; at < spelling.length && n < bytes.length; at += step, n++)
        if (byte_at(spelling, at, &step) != (unsigned char)bytes.text[n])
            return false;
    return at == spelling.length && n == bytes.length;
}
