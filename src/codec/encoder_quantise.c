#include "codec/encoder_parts.h"

#include <inttypes.h>
#include <math.h>

/* Work space for some frames. */
typedef struct quantiser {
    encoder_run *run;
    float *vectors; /* [frames][codebook_width]: what is to be quantised, then what is left of it */
    float *scores;  /* [frames][codebook_size] */
    int64_t first;  /* frame that they begin with */
    int frames;
    int32_t *codes; /* [frames][groups] */
} quantiser;

static parley_status project(const quantiser *q, const pl_linear *layer, const float *x, float *y)
{
    pl_linear_job job = {.layer = layer, .y = y, .y_stride = layer->w.rows};
    return pl_linear_run(q->run->compute, &job, 1, x, layer->w.cols, q->frames, q->run->error);
}

/* The first of the largest; -1: there is none, since all are NaN or -infinity. */
static int32_t best_of(const float *scores, int n)
{
    float best = -INFINITY;
    int32_t at = -1;
    for (int i = 0; i < n; i++)
        if (scores[i] > best) {
            best = scores[i];
            at = i;
        }
    return at;
}

/* r -= c, with c a row of the packed matrix. */
static void subtract_row(const pl_matrix *m, int row, float *r)
{
    const float *panel = (const float *)(const void *)(m->data + (size_t)(row / PL_PANEL) * m->panel_bytes) + row % PL_PANEL;
    for (int i = 0; i < m->cols; i++)
        r[i] -= panel[(int64_t)i * PL_PANEL];
}

static parley_status choose(const quantiser *q, int group)
{
    const pl_encoder_shape *shape = &q->run->encoder->shape;
    const pl_linear *codebook = &q->run->encoder->codebooks[group];
    PL_TRY(project(q, codebook, q->vectors, q->scores));
    for (int t = 0; t < q->frames; t++) {
        int32_t code = best_of(q->scores + (int64_t)t * shape->codebook_size, shape->codebook_size);
        if (code < 0)
            return pl_fail(q->run->error, PARLEY_VALUE, "frame %" PRId64 ": the encoded sound is not finite (group %d)", q->first + t, group);
        q->codes[(int64_t)t * shape->groups + group] = code;
        subtract_row(&codebook->w, code, q->vectors + (int64_t)t * shape->codebook_width);
    }
    return PARLEY_OK;
}

/* x [frames][width]. Both branches begin with it: what the semantic one leaves is not used. */
static parley_status quantise_some(const quantiser *q, const float *x)
{
    const pl_codec_encoder *e = q->run->encoder;
    PL_TRY(project(q, &e->semantic_in, x, q->vectors));
    pl_tap_floats(q->run->tap, "semantic_in", q->vectors, q->frames, e->shape.codebook_width);
    PL_TRY(choose(q, 0));
    if (e->shape.groups == 1)
        return PARLEY_OK;
    PL_TRY(project(q, &e->acoustic_in, x, q->vectors));
    pl_tap_floats(q->run->tap, "acoustic_in", q->vectors, q->frames, e->shape.codebook_width);
    for (int g = 1; g < e->shape.groups; g++)
        PL_TRY(choose(q, g));
    return PARLEY_OK;
}

parley_status pl_encoder_quantise(encoder_run *run, int32_t *codes)
{
    const pl_encoder_shape *shape = &run->encoder->shape;
    pl_arena_mark mark = pl_arena_save(&run->compute->step);
    int64_t most = run->frames < run->pieces->frames ? run->frames : run->pieces->frames;
    quantiser q = {.run = run, .codes = codes};
    q.vectors = pl_step_floats(run->compute, most * shape->codebook_width);
    q.scores = pl_step_floats(run->compute, most * shape->codebook_size);
    parley_status status = q.vectors && q.scores ? PARLEY_OK : pl_fail_memory(run->error, "work space of the quantiser");
    for (; q.first < run->frames && status == PARLEY_OK; q.first += q.frames) {
        q.frames = (int)(run->frames - q.first < most ? run->frames - q.first : most);
        q.codes = codes + q.first * shape->groups;
        status = pl_encoder_poll(run);
        if (status == PARLEY_OK)
            status = quantise_some(&q, run->quantised + q.first * shape->width);
    }
    pl_arena_restore(&run->compute->step, mark);
    return status;
}
