/* SHA-256 (FIPS 180-4). */
#ifndef PL_BASE_HASH_H
#define PL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { PL_HASH_SIZE = 32, PL_HASH_BLOCK = 64 };

typedef struct pl_hash {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[PL_HASH_BLOCK];
} pl_hash;

void pl_hash_begin(pl_hash *hash);
void pl_hash_add(pl_hash *hash, const void *bytes, size_t size);
void pl_hash_end(pl_hash *hash, uint8_t digest[PL_HASH_SIZE]);

/* All at once. */
void pl_hash_of(const void *bytes, size_t size, uint8_t digest[PL_HASH_SIZE]);

#endif
