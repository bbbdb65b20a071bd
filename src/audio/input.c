#include "audio/parts.h"

#include <string.h>

/* Bytes that a sound file may have for its length in seconds: float32 stereo at 192 kHz, and 64 MiB for pictures and the like. */
static const uint64_t bytes_per_second = 192000 * 2 * 4, bytes_beside = UINT64_C(64) << 20, most_bytes = UINT64_C(4) << 30;

/* ------------------------------------------------------------------ bytes */

size_t pl_audio_bytes_copy(const pl_audio_bytes *bytes, uint64_t position, void *data, size_t size)
{
    uint64_t left = position < bytes->size ? bytes->size - position : 0;
    if (size > left)
        size = (size_t)left;
    if (bytes->whole && size > 0)
        memcpy(data, bytes->whole + position, size);
    for (size_t done = 0; !bytes->whole && done < size;) {
        size_t at = (size_t)((position + done) % PL_AUDIO_BLOCK), n = PL_AUDIO_BLOCK - at;
        if (n > size - done)
            n = size - done;
        memcpy((uint8_t *)data + done, bytes->blocks[(position + done) / PL_AUDIO_BLOCK] + at, n);
        done += n;
    }
    return size;
}

parley_status pl_audio_fill(const char *name, const parley_audio_stream *stream, void *data, size_t size, size_t *got, parley_error *error)
{
    *got = 0;
    while (*got < size) {
        int64_t n = stream->read(stream->context, (uint8_t *)data + *got, size - *got);
        if (n < 0 || (uint64_t)n > size - *got)
            return pl_fail(error, PARLEY_IO, "%s: cannot be read", name);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ streams */

typedef struct memory_stream {
    const uint8_t *data;
    size_t left;
} memory_stream;

static int64_t read_memory(void *context, void *data, size_t size)
{
    memory_stream *m = context;
    size_t n = size < m->left ? size : m->left;
    if (n > 0) {
        memcpy(data, m->data, n);
        m->data += n;
        m->left -= n;
    }
    return (int64_t)n;
}

static uint64_t byte_limit(const parley_audio_options *options)
{
    double limit = options->max_seconds * (double)bytes_per_second + (double)bytes_beside;
    return limit < (double)most_bytes ? (uint64_t)limit : most_bytes;
}

/* `arena` holds the blocks. */
static parley_status buffer(const char *name, const parley_audio_stream *stream, const parley_audio_options *options, pl_arena *arena,
                            pl_audio_bytes *bytes, parley_error *error)
{
    uint64_t limit = byte_limit(options);
    size_t got;
    *bytes = (pl_audio_bytes){.blocks = PL_NEW_ARRAY(arena, uint8_t *, limit / PL_AUDIO_BLOCK + 1)};
    if (!bytes->blocks)
        return pl_fail_memory(error, "a sound file");
    for (size_t i = 0;; i++) {
        bytes->blocks[i] = pl_arena_alloc_raw(arena, 1, PL_AUDIO_BLOCK);
        if (!bytes->blocks[i])
            return pl_fail_memory(error, "a sound file");
        PL_TRY(pl_audio_fill(name, stream, bytes->blocks[i], PL_AUDIO_BLOCK, &got, error));
        bytes->size += got;
        if (bytes->size > limit)
            return pl_fail(error, PARLEY_LIMIT, "%s: more than %llu bytes, the limit for %g seconds of sound", name, (unsigned long long)limit,
                           options->max_seconds);
        if (got < PL_AUDIO_BLOCK)
            return PARLEY_OK;
    }
}

/* ------------------------------------------------------------------ entry points */

static void start(const parley_audio_options *options, parley_audio *audio)
{
    *audio = (parley_audio){.allocator = options->allocator ? *options->allocator : pl_default_allocator()};
}

parley_status pl_audio_read(const char *name, const parley_audio_stream *stream, const parley_audio_options *options, parley_audio *audio,
                            parley_error *error)
{
    start(options, audio);
    if (options->form != PARLEY_AUDIO_FILE)
        return pl_audio_read_raw(name, stream, options, audio, error);
    pl_arena arena;
    pl_audio_bytes bytes;
    pl_arena_init(&arena, &audio->allocator, PL_AUDIO_BLOCK);
    parley_status status = buffer(name, stream, options, &arena, &bytes, error);
    if (status == PARLEY_OK)
        status = pl_audio_decode(name, &bytes, options, audio, error);
    pl_arena_free(&arena);
    return status;
}

parley_status pl_audio_read_memory(const char *name, const void *data, size_t size, const parley_audio_options *options, parley_audio *audio,
                                   parley_error *error)
{
    start(options, audio);
    memory_stream memory = {data, size};
    parley_audio_stream stream = {read_memory, &memory};
    if (options->form != PARLEY_AUDIO_FILE)
        return pl_audio_read_raw(name, &stream, options, audio, error);
    pl_audio_bytes bytes = {.whole = data, .size = size};
    return pl_audio_decode(name, &bytes, options, audio, error);
}

void pl_audio_free(parley_audio *audio)
{
    pl_release(&audio->allocator, audio->samples, audio->count, sizeof *audio->samples);
    audio->samples = NULL;
    audio->count = 0;
}
