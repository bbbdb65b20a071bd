#include "codec/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void tap_stage(const codec_run *run, int i, const float *data, int rows, int width)
{
    char name[32];
    snprintf(name, sizeof name, "voc%d", i);
    pl_tap_floats(run->tap, name, data, rows, width);
}

/* ------------------------------------------------------------------ samples */

static float clamped(float x)
{
    return x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : x;
}

static parley_status hand_out(codec_run *run, const float *raw, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(raw[i]))
            return pl_fail(run->error, PARLEY_VALUE, "frame %" PRId64 ": the decoded sound is not finite",
                           run->first_frame + (run->samples + i) / run->decoder->samples_per_frame);
        if (run->pcm)
            run->pcm[i] = clamped(raw[i]);
    }
    pl_tap_floats(run->tap, "pcm_raw", raw, n, 0);
    if (run->pcm) {
        pl_tap_floats(run->tap, "pcm", run->pcm, n, 0);
        run->pcm += n;
    }
    run->samples += n;
    return PARLEY_OK;
}

static parley_status last_layer(codec_run *run, int rows)
{
    pl_codec_state *s = run->state;
    pl_conv_run(run->compute, &run->decoder->last_conv, s->last.data, rows, s->raw);
    pl_codec_rows_keep(&s->last, rows);
    return hand_out(run, s->raw, rows);
}

/* ------------------------------------------------------------------ stages */

/* x += conv2(snake(conv1(snake(x)))) */
static void residual_unit(const codec_run *run, int stage, int unit, int rows)
{
    const codec_unit *u = &run->decoder->stages[stage].units[unit];
    pl_codec_state *s = run->state;
    const codec_rows *in = &s->units[stage][unit];
    pl_snake_run(run->compute, &u->act1, s->x, rows, codec_fresh(in));
    pl_conv_run(run->compute, &u->conv1, in->data, rows, s->y);
    pl_codec_rows_keep(in, rows);
    pl_snake_run(run->compute, &u->act2, s->y, rows, s->y);
    pl_conv_add(run->compute, &u->conv2, s->y, rows, s->x);
}

static parley_status run_stage(codec_run *run, int i, int rows);

/* `rows` input rows at `in` (history in front) through stage i and all that follow. */
static parley_status stage_piece(codec_run *run, int i, const float *in, int rows)
{
    const pl_codec_decoder *d = run->decoder;
    const codec_stage *stage = &d->stages[i];
    pl_codec_state *s = run->state;
    bool last = i == d->shape.n_rates - 1;
    pl_conv_run(run->compute, &stage->conv, in, rows, s->x);
    rows *= stage->conv.stride;
    for (int u = 0; u < PL_CODEC_UNITS; u++)
        residual_unit(run, i, u, rows);
    tap_stage(run, i + 1, s->x, rows, stage->conv.out);
    if (last) {
        pl_snake_run(run->compute, &d->last_snake, s->x, rows, codec_fresh(&s->last));
        return last_layer(run, rows);
    }
    pl_snake_run(run->compute, &d->stages[i + 1].snake, s->x, rows, codec_fresh(&s->stages[i + 1]));
    return run_stage(run, i + 1, rows);
}

/* The stage's new rows are waiting behind its history. */
static parley_status run_stage(codec_run *run, int i, int rows)
{
    const codec_rows *in = &run->state->stages[i];
    int most = run->state->stage_rows[i];
    for (int at = 0; at < rows; at += most)
        PL_TRY(stage_piece(run, i, in->data + (int64_t)at * in->width, rows - at < most ? rows - at : most));
    pl_codec_rows_keep(in, rows);
    return PARLEY_OK;
}

parley_status pl_codec_vocoder(codec_run *run, int rows)
{
    const pl_codec_decoder *d = run->decoder;
    pl_codec_state *s = run->state;
    pl_conv_run(run->compute, &d->voc0, s->voc0.data, rows, s->voc0_out);
    pl_codec_rows_keep(&s->voc0, rows);
    tap_stage(run, 0, s->voc0_out, rows, d->shape.decoder_dim);
    pl_snake_run(run->compute, &d->stages[0].snake, s->voc0_out, rows, codec_fresh(&s->stages[0]));
    return run_stage(run, 0, rows);
}
