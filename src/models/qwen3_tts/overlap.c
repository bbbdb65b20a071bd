#include "models/qwen3_tts/overlap.h"

/* Frames read weights: beyond some five threads the memory's bandwidth, or the hand-over between their many short regions, is the limit, and the
 * codec, which computes, can have the others. With fewer threads than LEAST every thread taken from the frames slows them by more than the codec
 * gains: on two cores, a frame of 47 ms and a codec of 16 in turn are 63, but 94 beside each other. */
enum { LEAST = 8, PARTS = 8, CODEC_F32 = 3, CODEC_INT8 = 2 };

parley_status pl_tts_overlap_open(const parley_allocator *allocator, int threads, bool int8, tts_overlap *overlap, parley_error *error)
{
    *overlap = (tts_overlap){0};
    if (threads < LEAST)
        return PARLEY_OK;
    int codec = threads * (int8 ? CODEC_INT8 : CODEC_F32) / PARTS;
    parley_status status = pl_pool_open(allocator, codec, &overlap->codec, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(allocator, threads - codec, &overlap->frames, error);
    if (status == PARLEY_OK)
        status = pl_background_open(allocator, &overlap->thread, error);
    if (status != PARLEY_OK)
        pl_tts_overlap_close(overlap);
    return status;
}

void pl_tts_overlap_close(tts_overlap *overlap)
{
    pl_background_close(overlap->thread);
    pl_pool_close(overlap->frames);
    pl_pool_close(overlap->codec);
    *overlap = (tts_overlap){0};
}

pl_pool *pl_tts_overlap_pool(const tts_overlap *overlap, pl_pool *all)
{
    return overlap->thread && pl_background_busy(overlap->thread) ? overlap->frames : all;
}
