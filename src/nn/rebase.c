#include "nn/rebase.h"

#include <math.h>
#include <string.h>

/* Angles exactly as the forward made them, so that a turned key is what it would have been at the new position. */
static void turn_tables(const pl_transformer *t, int64_t from, int64_t to, float *cosine, float *sine)
{
    for (int i = 0; i < t->shape.head / 2; i++) {
        float old_angle = (float)from * t->inverse_frequency[i], new_angle = (float)to * t->inverse_frequency[i];
        double turn = (double)new_angle - (double)old_angle;
        cosine[i] = (float)cos(turn);
        sine[i] = (float)sin(turn);
    }
}

static void turn_keys(const pl_compute *compute, const pl_kv *kv, int64_t position, const float *cosine, const float *sine)
{
    uint8_t *block = kv->blocks[position / PL_KV_BLOCK];
    size_t row = (size_t)(position % PL_KV_BLOCK) * kv->row_bytes;
    for (int layer = 0; layer < kv->shape.layers; layer++)
        for (int head = 0; head < kv->shape.heads; head++)
            compute->k->rope((float *)(void *)(block + pl_kv_offset(kv, layer, head, false) + row), cosine, sine, kv->shape.width);
}

void pl_transformer_rebase(const pl_compute *compute, const pl_transformer *transformer, pl_kv *kv, int64_t shift, float *cosine, float *sine)
{
    pl_kv_drop_before(kv, shift);
    for (int64_t p = shift; p < kv->length; p++) {
        turn_tables(transformer, p, p - shift, cosine, sine);
        turn_keys(compute, kv, p, cosine, sine);
    }
    int64_t blocks = shift / PL_KV_BLOCK;
    memmove(kv->blocks, kv->blocks + blocks, (size_t)(kv->used - blocks) * sizeof *kv->blocks);
    kv->used -= blocks;
    kv->length -= shift;
}
