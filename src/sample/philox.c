#include "sample/sampler.h"

enum { PHILOX_ROUNDS = 10 };

/* One round: two 32 x 32 -> 64 bit products; high halves are mixed with key and the other words, low halves go through. */
static void philox_round(uint32_t c[4], const uint32_t key[2])
{
    uint64_t a = (uint64_t)0xD2511F53u * c[0];
    uint64_t b = (uint64_t)0xCD9E8D57u * c[2];
    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ key[0];
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ key[1];
    c[1] = (uint32_t)b;
    c[3] = (uint32_t)a;
}

void pl_philox4x32(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k[2] = {key[0], key[1]};
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (int i = 0; i < PHILOX_ROUNDS; i++) {
        philox_round(c, k);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

float pl_draw(uint64_t seed, uint32_t frame, uint32_t group)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {frame, group, 0, 0};
    uint32_t words[4];
    pl_philox4x32(key, counter, words);
    return (float)(words[0] >> 8) * 0x1p-24f;
}
