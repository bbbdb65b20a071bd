#include "audio/parts.h"

#include <math.h>
#include <string.h>

parley_status pl_intake_open(pl_intake *intake, const char *name, const parley_audio_options *options, int32_t rate, int32_t channels,
                             parley_audio *audio, parley_error *error)
{
    *intake = (pl_intake){.name = name, .options = options, .audio = audio};
    audio->source_rate = rate;
    audio->source_channels = channels;
    if (rate < PL_AUDIO_RATE_LOW || rate > PL_AUDIO_RATE_HIGH)
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: a sample rate of %d Hz, expected %d to %d", name, (int)rate, (int)PL_AUDIO_RATE_LOW,
                       (int)PL_AUDIO_RATE_HIGH);
    if (channels < 1 || channels > PL_INTAKE_MAX_CHANNELS)
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: %d channels, expected 1 to %d", name, (int)channels, (int)PL_INTAKE_MAX_CHANNELS);
    intake->limit = (uint64_t)(options->max_seconds * rate);
    intake->values = pl_alloc(&audio->allocator, PL_INTAKE_VALUES, sizeof(float));
    intake->mono = pl_alloc(&audio->allocator, PL_INTAKE_VALUES, sizeof(float));
    if (!intake->values || !intake->mono)
        return pl_fail_memory(error, "decoded sound");
    PL_TRY(pl_resampler_open(&intake->resampler, &audio->allocator, rate, options->rate, error));
    intake->resampler.name = name;
    return PARLEY_OK;
}

void pl_intake_close(pl_intake *intake)
{
    pl_release(&intake->audio->allocator, intake->values, PL_INTAKE_VALUES, sizeof(float));
    pl_release(&intake->audio->allocator, intake->mono, PL_INTAKE_VALUES, sizeof(float));
    pl_resampler_close(&intake->resampler);
}

static parley_status fail_value(const pl_intake *intake, size_t at, parley_error *error)
{
    size_t channels = (size_t)intake->audio->source_channels;
    uint64_t frame = intake->audio->source_frames + at / channels;
    return pl_fail_at(error, PARLEY_VALUE, frame, "%s: sample %llu of channel %zu is %s", intake->name, (unsigned long long)frame, at % channels,
                      isnan(intake->values[at]) ? "not a number" : "infinite");
}

static parley_status average(const pl_intake *intake, size_t frames, parley_error *error)
{
    size_t channels = (size_t)intake->audio->source_channels;
    for (size_t i = 0; i < frames; i++) {
        const float *frame = intake->values + i * channels;
        double sum = 0.0;
        for (size_t c = 0; c < channels; c++) {
            if (!isfinite(frame[c]))
                return fail_value(intake, i * channels + c, error);
            sum += (double)frame[c];
        }
        intake->mono[i] = (float)(sum / (double)channels);
    }
    return PARLEY_OK;
}

parley_status pl_intake_add(pl_intake *intake, size_t frames, parley_error *error)
{
    parley_audio *audio = intake->audio;
    uint64_t total = audio->source_frames + frames;
    if (total > intake->limit)
        return pl_fail(error, PARLEY_LIMIT, "%s: at least %.2f seconds of sound, the limit is %g", intake->name,
                       (double)total / (double)audio->source_rate, intake->options->max_seconds);
    PL_TRY(average(intake, frames, error));
    PL_TRY(pl_resampler_add(&intake->resampler, intake->mono, frames, error));
    audio->source_frames = total;
    return PARLEY_OK;
}

parley_status pl_intake_finish(pl_intake *intake, parley_error *error)
{
    PL_TRY(pl_resampler_finish(&intake->resampler, &intake->audio->samples, &intake->audio->count, error));
    intake->audio->rate = intake->options->rate;
    return PARLEY_OK;
}
