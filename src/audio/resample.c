#include "audio/parts.h"

#include "base/checked.h"

#include <math.h>
#include <soxr.h>
#include <string.h>

enum { PIECE = 1 << 16 };

struct pl_resampler_piece {
    pl_resampler_piece *next;
    size_t count;
    float samples[PIECE];
};

static parley_status fail_soxr(soxr_error_t reason, parley_error *error)
{
    if (strstr(reason, "alloc"))
        return pl_fail_memory(error, "a resampler");
    return pl_fail(error, PARLEY_INTERNAL, "the resampler: %s", reason);
}

parley_status pl_resampler_open(pl_resampler *r, const parley_allocator *allocator, int32_t from, int32_t to, parley_error *error)
{
    *r = (pl_resampler){.allocator = *allocator, .name = "sound", .from = from, .to = to};
    pl_arena_init(&r->arena, allocator, sizeof(pl_resampler_piece));
    if (from < PL_AUDIO_RATE_LOW || from > PL_AUDIO_RATE_HIGH || to < PL_AUDIO_RATE_LOW || to > PL_AUDIO_RATE_HIGH)
        return pl_fail(error, PARLEY_ARGUMENT, "resampling from %d to %d Hz: expected rates of %d to %d Hz", (int)from, (int)to,
                       (int)PL_AUDIO_RATE_LOW, (int)PL_AUDIO_RATE_HIGH);
    if (from == to)
        return PARLEY_OK;
    soxr_error_t reason = NULL;
    soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    r->soxr = soxr_create(from, to, 1, &reason, &io, &quality, &runtime);
    if (reason)
        return fail_soxr(reason, error);
    return r->soxr ? PARLEY_OK : pl_fail_memory(error, "a resampler");
}

void pl_resampler_close(pl_resampler *r)
{
    if (r->soxr)
        soxr_delete(r->soxr);
    pl_arena_free(&r->arena);
    *r = (pl_resampler){0};
}

/* A block with room for at least one sample; NULL when out of memory. */
static pl_resampler_piece *room(pl_resampler *r)
{
    if (r->last && r->last->count < PIECE)
        return r->last;
    pl_resampler_piece *piece = pl_arena_alloc_raw(&r->arena, 1, sizeof *piece);
    if (!piece)
        return NULL;
    piece->next = NULL;
    piece->count = 0;
    if (r->last)
        r->last->next = piece;
    else
        r->first = piece;
    r->last = piece;
    return piece;
}

/* One step of soxr, or of copying: takes `*used` of `count` samples and gives `*made`. `samples` NULL: no more will come. */
static parley_status step(pl_resampler *r, const float *samples, size_t count, size_t *used, size_t *made, parley_error *error)
{
    *used = *made = 0;
    pl_resampler_piece *piece = room(r);
    if (!piece)
        return pl_fail_memory(error, "resampled sound");
    size_t space = PIECE - piece->count;
    if (r->soxr) {
        soxr_error_t reason = soxr_process(r->soxr, samples, count, used, piece->samples + piece->count, space, made);
        if (reason)
            return fail_soxr(reason, error);
    } else if (samples) {
        *used = *made = count < space ? count : space;
        memcpy(piece->samples + piece->count, samples, *made * sizeof *samples);
    }
    piece->count += *made;
    r->made += *made;
    return PARLEY_OK;
}

parley_status pl_resampler_add(pl_resampler *r, const float *samples, size_t count, parley_error *error)
{
    while (count > 0) {
        size_t used, made, slice = count < PIECE ? count : PIECE; /* soxr buffers all it is given */
        PL_TRY(step(r, samples, slice, &used, &made, error));
        if (used == 0 && made == 0)
            return pl_fail(error, PARLEY_INTERNAL, "the resampler takes no more after %llu samples", (unsigned long long)r->taken);
        samples += used;
        count -= used;
        r->taken += used;
    }
    return PARLEY_OK;
}

static parley_status flush(pl_resampler *r, uint64_t wanted, parley_error *error)
{
    size_t used, made = 1;
    while (r->soxr && r->taken > 0 && made > 0 && r->made < wanted)
        PL_TRY(step(r, NULL, 0, &used, &made, error));
    return PARLEY_OK;
}

/* The blocks, cut or padded with silence: what soxr gives may differ from the length by one. */
static parley_status join(const pl_resampler *r, float *out, size_t wanted, parley_error *error)
{
    size_t at = 0;
    for (const pl_resampler_piece *p = r->first; p && at < wanted; p = p->next) {
        size_t n = p->count < wanted - at ? p->count : wanted - at;
        memcpy(out + at, p->samples, n * sizeof *out);
        at += n;
    }
    memset(out + at, 0, (wanted - at) * sizeof *out);
    for (size_t i = 0; i < at; i++)
        if (!isfinite(out[i]))
            return pl_fail(error, PARLEY_VALUE, "%s: sample %zu after resampling from %d to %d Hz is not finite: the values are too large", r->name,
                           i, (int)r->from, (int)r->to);
    return PARLEY_OK;
}

parley_status pl_resampler_finish(pl_resampler *r, float **samples, size_t *count, parley_error *error)
{
    uint64_t product, wanted;
    if (!pl_mul_u64(r->taken, (uint64_t)r->to, &product) || !pl_add_u64(product, (uint64_t)r->from - 1, &wanted))
        return pl_fail(error, PARLEY_LIMIT, "%llu samples are too many to resample", (unsigned long long)r->taken);
    wanted /= (uint64_t)r->from;
    PL_TRY(flush(r, wanted, error));
    float *out = wanted <= SIZE_MAX ? pl_alloc(&r->allocator, (size_t)wanted, sizeof *out) : NULL;
    if (!out)
        return pl_fail_memory(error, "resampled sound");
    parley_status status = join(r, out, (size_t)wanted, error);
    if (status != PARLEY_OK) {
        pl_release(&r->allocator, out, (size_t)wanted, sizeof *out);
        return status;
    }
    *samples = out;
    *count = (size_t)wanted;
    return PARLEY_OK;
}

parley_status pl_resample(const parley_allocator *allocator, const float *samples, size_t count, int32_t from, int32_t to, float **out,
                          size_t *out_count, parley_error *error)
{
    pl_resampler r;
    *out = NULL;
    *out_count = 0;
    parley_status status = pl_resampler_open(&r, allocator, from, to, error);
    if (status == PARLEY_OK)
        status = pl_resampler_add(&r, samples, count, error);
    if (status == PARLEY_OK)
        status = pl_resampler_finish(&r, out, out_count, error);
    pl_resampler_close(&r);
    return status;
}
