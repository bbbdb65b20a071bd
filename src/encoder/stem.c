#include "encoder/parts.h"

#include <stdio.h>
#include <string.h>

static int half(int n)
{
    return (n - 1) / 2 + 1;
}

int pl_tower_stem_rows(int frames)
{
    for (int i = 0; i < PL_TOWER_CONVS; i++)
        frames = half(frames);
    return frames;
}

/* ------------------------------------------------------------------ work space */

/* `time` rows of `bands` columns; borders are zero and stay so. Row time + 1 of the bordered image is behind the last one of either parity. */
static parley_status open_image(pl_compute *compute, int time, int bands, int channels, tower_image *image, parley_error *error)
{
    image->stride = (int64_t)(bands + 2) * channels;
    int64_t rows = half(time) + 1;
    image->even = PL_NEW_ARRAY(&compute->step, float, rows * image->stride);
    image->odd = PL_NEW_ARRAY(&compute->step, float, rows * image->stride);
    return image->even && image->odd ? PARLEY_OK : pl_fail_memory(error, "work space of the audio tower");
}

/* Column 0 of row t of the image. */
static float *image_row(const tower_image *image, int t, int channels)
{
    float *row = t % 2 ? image->even + (t + 1) / 2 * image->stride : image->odd + t / 2 * image->stride;
    return row + channels;
}

parley_status pl_tower_stem_open(pl_compute *compute, const pl_tower *tower, int frames, const pl_tap *tap, tower_stem *stem, parley_error *error)
{
    int channels = tower->shape.channels;
    *stem = (tower_stem){.compute = compute, .tower = tower, .tap = tap, .time = {frames}, .bands = {tower->shape.mels}};
    for (int i = 0; i < PL_TOWER_CONVS; i++) {
        stem->time[i + 1] = half(stem->time[i]);
        stem->bands[i + 1] = half(stem->bands[i]);
    }
    for (int i = 0; i < PL_TOWER_CONVS - 1; i++)
        PL_TRY(open_image(compute, stem->time[i + 1], stem->bands[i + 1], channels, &stem->images[i], error));
    stem->mel = PL_NEW_ARRAY(&compute->step, float, (int64_t)(frames + 2) * (stem->bands[0] + 2));
    stem->y = pl_step_floats(compute, (int64_t)stem->time[2] * (stem->bands[2] + 1) * channels);
    return stem->mel && stem->y ? PARLEY_OK : pl_fail_memory(error, "work space of the audio tower");
}

/* ------------------------------------------------------------------ taps */

/* Row t of convolution i, before or behind its GELU: [bands][channels]. */
static float *conv_row(const tower_stem *stem, int i, int t)
{
    int channels = stem->tower->shape.channels;
    return i == 0 ? image_row(&stem->images[0], t, channels) : stem->y + (int64_t)t * (stem->bands[i + 1] + 1) * channels;
}

/* [bands][channels] -> [channels][bands] */
static void turn(const float *from, int bands, int channels, float *to)
{
    for (int b = 0; b < bands; b++)
        for (int c = 0; c < channels; c++)
            to[(int64_t)c * bands + b] = from[(int64_t)b * channels + c];
}

/* Frames by [channels][bands]. Out of memory the tap is left out: taps never change results. */
static void tap_conv(const tower_stem *stem, int i)
{
    char name[24];
    pl_arena_mark mark = pl_arena_save(&stem->compute->step);
    int time = stem->time[i + 1], bands = stem->bands[i + 1], channels = stem->tower->shape.channels;
    float *turned = pl_step_floats(stem->compute, (int64_t)time * bands * channels);
    if (turned) {
        for (int t = 0; t < time; t++)
            turn(conv_row(stem, i, t), bands, channels, turned + (int64_t)t * bands * channels);
        snprintf(name, sizeof name, "tower_conv2d%d", i + 1);
        if (stem->tap->call)
            stem->tap->call(stem->tap->context, name, 'f', turned, (int64_t[]){time, channels, bands}, 3);
    }
    pl_arena_restore(&stem->compute->step, mark);
}

/* ------------------------------------------------------------------ first convolution: a task is a row, which stays in the cache for its GELU */

static void first_product(void *context, int t, int worker)
{
    const tower_stem *stem = context;
    const pl_tower *tower = stem->tower;
    const pl_compute *compute = stem->compute;
    int64_t stride = stem->bands[0] + 2;
    pl_gemm g = {.w = &tower->first,
                 .taps = 3,
                 .width = 3,
                 .columns = stem->bands[1],
                 .x = stem->mel + 2 * t * stride,
                 .x_stride = 2,
                 .tap_stride = stride,
                 .y = conv_row(stem, 0, t),
                 .y_stride = tower->shape.channels,
                 .bias = tower->first_bias};
    compute->k->gemm(&g, 0, pl_panels(g.w), 0, g.columns, compute->scratch + (size_t)worker * compute->scratch_stride);
}

static void first_activation(void *context, int t, int worker)
{
    (void)worker;
    const tower_stem *stem = context;
    stem->compute->k->gelu(conv_row(stem, 0, t), (int64_t)stem->bands[1] * stem->tower->shape.channels);
}

static void first_row(void *context, int t, int worker)
{
    first_product(context, t, worker);
    first_activation(context, t, worker);
}

static void first_conv(tower_stem *stem)
{
    pl_pool *pool = stem->compute->pool;
    if (!stem->tap) {
        pl_pool_run(pool, first_row, stem, stem->time[1]);
        return;
    }
    pl_pool_run(pool, first_product, stem, stem->time[1]);
    tap_conv(stem, 0);
    pl_pool_run(pool, first_activation, stem, stem->time[1]);
}

/* ------------------------------------------------------------------ later convolutions */

/* Output (t, b) starts at bordered row 2 t, column 2 b, and a bordered row is bands + 1 such steps: so column t * (bands + 1) + b of the product, and
 * the last one of each row is none. */
static void later_product(const tower_stem *stem, int i)
{
    const tower_conv *conv = &stem->tower->later[i - 1];
    const tower_image *from = &stem->images[i - 1];
    int channels = stem->tower->shape.channels;
    pl_gemm g = {.w = &conv->outer,
                 .taps = 2,
                 .width = 3 * channels,
                 .columns = stem->time[i + 1] * (stem->bands[i + 1] + 1) - 1,
                 .x = from->even,
                 .x_stride = 2 * (int64_t)channels,
                 .tap_stride = from->stride,
                 .y = stem->y,
                 .y_stride = channels,
                 .bias = conv->bias};
    pl_gemm_run(stem->compute, &g, 1);
    g.w = &conv->inner;
    g.taps = 1;
    g.x = from->odd;
    g.bias = NULL;
    g.accumulate = true;
    pl_gemm_run(stem->compute, &g, 1);
}

static void second_activation(void *context, int t, int worker)
{
    (void)worker;
    const tower_stem *stem = context;
    int64_t channels = stem->tower->shape.channels, count = stem->bands[2] * channels;
    float *to = image_row(&stem->images[1], t, (int)channels);
    memcpy(to, conv_row(stem, 1, t), (size_t)count * sizeof *to);
    stem->compute->k->gelu(to, count);
}

/* Where the last rows go. */
typedef struct last {
    const tower_stem *stem;
    float *out;
} last;

static void last_activation(void *context, int t, int worker)
{
    (void)worker;
    const last *l = context;
    int channels = l->stem->tower->shape.channels, bands = l->stem->bands[PL_TOWER_CONVS];
    int64_t count = (int64_t)bands * channels;
    float *row = conv_row(l->stem, PL_TOWER_CONVS - 1, t);
    l->stem->compute->k->gelu(row, count);
    turn(row, bands, channels, l->out + t * count);
}

/* ------------------------------------------------------------------ a chunk */

static void set_mel(tower_stem *stem, const float *mel, int valid)
{
    int bands = stem->bands[0], stride = bands + 2;
    for (int t = 0; t < stem->time[0]; t++) {
        float *row = stem->mel + (int64_t)(t + 1) * stride + 1;
        if (t < valid)
            memcpy(row, mel + (int64_t)t * bands, (size_t)bands * sizeof *row);
        else
            memset(row, 0, (size_t)bands * sizeof *row);
    }
}

void pl_tower_stem_run(tower_stem *stem, const float *mel, int valid, int rows, float *out)
{
    last l = {stem, out};
    set_mel(stem, mel, valid);
    first_conv(stem);
    later_product(stem, 1);
    if (stem->tap)
        tap_conv(stem, 1);
    pl_pool_run(stem->compute->pool, second_activation, stem, stem->time[2]);
    later_product(stem, 2);
    if (stem->tap)
        tap_conv(stem, 2);
    pl_pool_run(stem->compute->pool, last_activation, &l, rows);
}
