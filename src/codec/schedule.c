#include "codec/parts.h"

enum { REFERENCE_CHUNK = 300, REFERENCE_CONTEXT = 25 };

/* Taps come with the rows of the context, as the reference's own layers see them; "pcm" has the samples that count only. */
parley_status pl_codec_decode_reference(pl_compute *compute, const pl_codec_decoder *decoder, pl_codec_state *state, const int32_t *codes,
                                        int64_t frames, float *pcm, const pl_tap *tap, parley_error *error)
{
    PL_TRY(pl_codec_check_codes(&decoder->shape, codes, frames, error));
    for (int64_t start = 0; start < frames; start += REFERENCE_CHUNK) {
        int64_t context = start > 0 ? REFERENCE_CONTEXT : 0;
        int64_t n = frames - start < REFERENCE_CHUNK ? frames - start : REFERENCE_CHUNK;
        codec_run run = {.compute = compute, .decoder = decoder, .state = state, .first_frame = start - context, .tap = tap, .error = error};
        pl_codec_state_reset(state);
        PL_TRY(pl_codec_run_frames(&run, codes + (start - context) * decoder->shape.groups, context));
        run.pcm = pcm + start * decoder->samples_per_frame;
        PL_TRY(pl_codec_run_frames(&run, codes + start * decoder->shape.groups, n));
    }
    pl_codec_state_reset(state);
    return PARLEY_OK;
}

uint64_t pl_codec_cut(uint64_t ref_frames, uint64_t total_frames, uint64_t samples)
{
    double total = total_frames > 0 ? (double)total_frames : 1.0;
    return (uint64_t)((double)ref_frames / total * (double)samples);
}
