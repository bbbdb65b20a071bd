#include "models/qwen3_asr/family.h"

int64_t pl_asr_audio_rows(const asr_model *model, int64_t samples)
{
    return pl_tower_tokens(&model->config.tower, pl_mel_frames(model->mel, samples));
}

static parley_status run(pl_compute *compute, const asr_model *model, const float *pcm, int64_t samples, const pl_tower_options *options, float *rows,
                         parley_error *error)
{
    int64_t frames = pl_mel_frames(model->mel, samples), bands = model->config.tower.mels;
    float *mel = pl_step_floats(compute, frames * bands);
    if (!mel)
        return pl_fail_memory(error, "a mel spectrum");
    PL_TRY(pl_mel_run(model->mel, model->env.pool, &compute->step, pcm, samples, mel, error));
    pl_tap_floats(&options->tap, "mel", mel, frames, bands);
    return pl_tower_run(compute, model->network.tower, mel, frames, options, rows, error);
}

parley_status pl_asr_encode(pl_compute *compute, const asr_model *model, const float *pcm, int64_t samples, bool full_attention,
                            const atomic_bool *cancel, const pl_tap *tap, float *rows, parley_error *error)
{
    pl_tower_options options = {.full_attention = full_attention, .cancel = cancel, .tap = *tap};
    pl_arena_mark mark = pl_arena_save(&compute->step);
    parley_status status = run(compute, model, pcm, samples, &options, rows, error);
    pl_arena_restore(&compute->step, mark);
    return status;
}
