/* Any bytes as a sound file and as raw samples: a result within the limits or an error, and never more memory than the limits allow. libsndfile and
 * soxr allocate on their own and are not instrumented. */
#include "limit_allocator.h"

#include <parley/audio.h>

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* Memory that the decoders lose on damaged headers is not ours to find again. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libsndfile\nleak:libvorbis\nleak:libogg\nleak:libopus\nleak:libFLAC\nleak:libmpg123\n";
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void read_as(const uint8_t *data, size_t size, parley_audio_form form, int32_t rate)
{
    limit_allocator memory = {.limit = 4 << 20, .left = SIZE_MAX};
    parley_allocator allocator = {limit_alloc, limit_release, &memory};
    parley_audio_options options;
    parley_audio audio;
    parley_error error = {0};
    parley_audio_options_init(&options);
    options.form = form;
    options.raw_channels = 3;
    options.rate = rate;
    options.max_seconds = 1.0;
    options.allocator = &allocator;
    parley_status status = parley_audio_read_memory("fuzz", data, size, &options, &audio, &error);
    require(status != PARLEY_INTERNAL && !memory.exceeded);
    if (status == PARLEY_OK) {
        require(audio.count <= (size_t)rate && audio.source_frames <= (uint64_t)audio.source_rate && audio.source_format[0]);
        for (size_t i = 0; i < audio.count; i++)
            require(isfinite(audio.samples[i]));
        parley_audio_free(&audio);
    } else {
        require(!audio.samples && error.status == status && error.text[0]);
    }
    require(memory.held == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(data, size, PARLEY_AUDIO_FILE, 24000);
    if (size % 16 == 0) {
        read_as(data, size, PARLEY_AUDIO_RAW_S16LE, 16000);
        read_as(data, size, PARLEY_AUDIO_RAW_F32LE, 24000);
    }
    return 0;
}
