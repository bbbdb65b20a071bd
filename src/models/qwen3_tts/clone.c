/* A recording becomes a speaker vector and codes. */
#include "models/qwen3_tts/family.h"

#include <math.h>

enum { FFT = 1024, HOP = 256 };

/* Constants of the reference's front end (spec 5.1). */
parley_status pl_tts_mel_open(const parley_allocator *allocator, const tts_config *config, pl_mel **mel, parley_error *error)
{
    pl_mel_shape shape = {.sample_rate = 24000,
                          .fft = FFT,
                          .window = FFT,
                          .hop = HOP,
                          .bands = config->speaker.mels,
                          .padding = (FFT - HOP) / 2,
                          .high = 12000,
                          .floor = 1e-5f,
                          .log = PL_MEL_LOG_NATURAL};
    return pl_mel_open(allocator, &shape, mel, error);
}

static parley_status check_samples(const float *pcm, size_t samples, parley_error *error)
{
    for (size_t i = 0; i < samples; i++)
        if (!isfinite(pcm[i]))
            return pl_fail_at(error, PARLEY_VALUE, i, "sample %zu is not finite", i);
    return PARLEY_OK;
}

static parley_status run_speaker(const tts_model *m, pl_compute *compute, const float *pcm, int64_t samples, const parley_voice_options *options,
                                 float *vector, parley_error *error)
{
    const pl_tap tap = {options->tap, options->tap_context};
    const pl_stop stop = {options->cancelled, options->cancel_context};
    int64_t frames = pl_mel_frames(m->mel, samples), bands = m->config.speaker.mels;
    float *mel = pl_step_floats(compute, frames * bands);
    if (!mel)
        return pl_fail_memory(error, "a mel spectrum");
    PL_TRY(pl_mel_run(m->mel, m->env.pool, &compute->step, pcm, samples, mel, error));
    pl_tap_floats(&tap, "mel", mel, frames, bands);
    return pl_speaker_run(compute, m->network.speaker, mel, frames, vector, &stop, &tap, error);
}

parley_status pl_tts_voice_vector(const void *model, const float *pcm, size_t samples, const parley_voice_options *options, float *vector,
                                  parley_error *error)
{
    const tts_model *m = model;
    pl_compute compute;
    if (!m->network.speaker)
        return pl_fail(error, PARLEY_STATE, "the model has no speaker encoder, or was opened without it");
    if (samples < PL_SPEAKER_MIN_SAMPLES)
        return pl_fail(error, PARLEY_ARGUMENT, "a speaker vector needs at least %d samples (24 kHz), there are %zu", PL_SPEAKER_MIN_SAMPLES, samples);
    PL_TRY(check_samples(pcm, samples, error));
    parley_status status = pl_compute_open(&m->env.allocator, m->env.kernels, m->env.pool, false, &compute, error);
    if (status == PARLEY_OK)
        status = run_speaker(m, &compute, pcm, (int64_t)samples, options, vector, error);
    pl_compute_close(&compute);
    return status;
}

parley_status pl_tts_codec_encode(const void *model, const float *pcm, size_t samples, const parley_voice_options *options, int32_t **codes,
                                  size_t *frames, parley_error *error)
{
    const tts_model *m = model;
    const pl_tap tap = {options->tap, options->tap_context};
    const pl_stop stop = {options->cancelled, options->cancel_context};
    pl_compute compute;
    if (!m->network.encoder)
        return pl_fail(error, PARLEY_STATE, "the codec has no encoder, or the model was opened without it");
    if (samples == 0)
        return pl_fail(error, PARLEY_ARGUMENT, "there are no samples to encode");
    PL_TRY(check_samples(pcm, samples, error));
    *frames = (size_t)pl_codec_encoder_frames(m->network.encoder, (int64_t)samples);
    size_t count = *frames * (size_t)m->config.encoder.groups;
    *codes = pl_alloc(&m->env.allocator, count, sizeof **codes);
    if (!*codes)
        return pl_fail_memory(error, "codes");
    parley_status status = pl_compute_open(&m->env.allocator, m->env.kernels, m->env.pool, false, &compute, error);
    if (status == PARLEY_OK)
        status = pl_codec_encode(&compute, m->network.encoder, pcm, (int64_t)samples, *codes, &stop, &tap, error);
    pl_compute_close(&compute);
    if (status != PARLEY_OK) {
        pl_release(&m->env.allocator, *codes, count, sizeof **codes);
        *codes = NULL;
    }
    return status;
}
