/* Runs a fuzz target on the files named, whole, cut at every byte, and with every byte changed in three ways. Each variant lies in a block of its
 * own size, so that a sanitizer sees a read beyond it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SEED = 1 << 16 };

static int run_copy(const uint8_t *data, size_t size, size_t changed, uint8_t change)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 1;
    memcpy(copy, data, size);
    if (changed < size)
        copy[changed] ^= change;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return 0;
}

static int replay(const uint8_t *data, size_t size)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xFF};
    int failures = run_copy(data, size, size, 0);
    for (size_t at = 0; at < size; at++) {
        failures += run_copy(data, at, at, 0);
        for (size_t i = 0; i < sizeof changes; i++)
            failures += run_copy(data, size, at, changes[i]);
    }
    return failures;
}

int main(int argc, char **argv)
{
    static uint8_t data[MAX_SEED];
    int failures = argc < 2;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        failures += replay(data, size);
    }
    printf("%d files, %d failures\n", argc - 1, failures);
    return failures != 0;
}
