/* Fuzz target: files of voices. The first byte of the input says what the rest is:
 *   'v'  a voice file as it stands
 *   'p'  a voice file without its hash, so that changes come as far as the parser
 *   's'  a .spk file of 4 values        'r' 'q'  a .rvq file of 16 groups of 2048, or of 3 groups of 100 codes
 * What is accepted must be written again as the same bytes (but for sections that are passed over). */
#include "models/qwen3_tts/voice_file.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)      \
    do {                      \
        if (!(condition))     \
            __builtin_trap(); \
    } while (0)

/* A copy of its own size, so that the sanitizer sees every step beyond it. */
static uint8_t *copy_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    HOLDS(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

static void written_again(parley_voice *voice, const uint8_t *data, size_t size)
{
    void *bytes = NULL;
    size_t length = 0;
    parley_error error = {0};
    HOLDS(parley_voice_write(voice, &bytes, &length, &error) == PARLEY_OK);
    HOLDS(length <= size);
    HOLDS(length != size || memcmp(bytes, data, size) == 0);
    parley_voice *back = NULL;
    HOLDS(parley_voice_read(bytes, length, &back, &error) == PARLEY_OK);
    HOLDS(back->vector_length == voice->vector_length && back->frames == voice->frames && !strcmp(back->text, voice->text));
    parley_voice_free(back);
    parley_voice_bytes_free(bytes, length);
}

static void fuzz_voice(const uint8_t *data, size_t size, bool hashed)
{
    enum { HASH = 32 };
    parley_voice *voice = NULL;
    parley_error error = {0};
    parley_status status = hashed ? parley_voice_read(data, size, &voice, &error) : pl_voice_parse(data, size, &voice, &error);
    HOLDS(status == PARLEY_OK || status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED || status == PARLEY_LIMIT);
    HOLDS((status == PARLEY_OK) == (voice != NULL) && (status == PARLEY_OK || error.text[0]));
    if (!voice)
        return;
    if (hashed)
        written_again(voice, data, size);
    else
        HOLDS(voice->vector_length > 0 && (!voice->codes || (voice->frames > 0 && *voice->text)));
    parley_voice_free(voice);
}

static void fuzz_rvq(const uint8_t *data, size_t size, int32_t groups, int32_t codebook)
{
    parley_allocator allocator = pl_default_allocator();
    parley_info info = {.groups = groups, .codebook_size = codebook, .model_type = "base"};
    int32_t *codes = NULL;
    void *bytes = NULL;
    size_t frames = 0, length = 0;
    parley_error error = {0};
    parley_status status = pl_voice_files_qwen3.read_rvq(&allocator, &info, data, size, &codes, &frames, &error);
    HOLDS(status == PARLEY_OK || (status == PARLEY_FORMAT && error.text[0]));
    if (status != PARLEY_OK)
        return;
    HOLDS(parley_voice_write_rvq(codes, frames, groups, codebook, &bytes, &length, &error) == PARLEY_OK);
    HOLDS(length == size && memcmp(bytes, data, size) == 0);
    parley_voice_bytes_free(bytes, length);
    pl_release(&allocator, codes, frames * (size_t)groups, sizeof *codes);
}

static void fuzz_spk(const uint8_t *data, size_t size)
{
    float vector[4];
    parley_info info = {.xvector_length = 4, .model_type = "base"};
    parley_error error = {0};
    parley_status status = pl_voice_files_qwen3.read_spk(&info, data, size, vector, &error);
    HOLDS(status == PARLEY_OK ? size == sizeof vector : status == PARLEY_FORMAT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *input = copy_of(data + 1, size - 1);
    switch (data[0]) {
    case 'v': fuzz_voice(input, size - 1, true); break;
    case 'p': fuzz_voice(input, size - 1, false); break;
    case 's': fuzz_spk(input, size - 1); break;
    case 'r': fuzz_rvq(input, size - 1, 16, 2048); break;
    case 'q': fuzz_rvq(input, size - 1, 3, 100); break;
    default: break;
    }
    free(input);
    return 0;
}
