#include "text/utf8.h"

#include "text/tokenizer.h"

#include <string.h>

/* Leading bytes and what may follow them: the second byte's range shuts out overlong forms, surrogates and values above 10FFFF. */
static const struct {
    unsigned char first, last, length, low, high;
} forms[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F},
    {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

/* Length of the sequence at `s`, which is not ASCII; 0 when it is none. */
static size_t sequence(const unsigned char *s, size_t left)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        size_t n = forms[i].length;
        if (left < n || s[1] < forms[i].low || s[1] > forms[i].high)
            return 0;
        for (size_t k = 2; k < n; k++)
            if ((s[k] & 0xC0) != 0x80)
                return 0;
        return n;
    }
    return 0;
}

size_t pl_utf8_check(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0;
    while (at < length) {
        uint64_t word;
        if (length - at >= sizeof word && (memcpy(&word, s + at, sizeof word), (word & 0x8080808080808080u) == 0)) {
            at += sizeof word;
            continue;
        }
        size_t n = s[at] < 0x80 ? 1 : sequence(s + at, length - at);
        if (n == 0)
            return at;
        at += n;
    }
    return length;
}
