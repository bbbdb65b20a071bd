/* Vectors of recognition that belong to no other test: counts of rows, lengths and values of resampled sound, sound of several channels. */
#include "rules_fixture.h"

#include "audio/input.h"
#include "audio/segment.h"
#include "encoder/tower.h"
#include "support/npy.h"

#include <math.h>

static void rows_of_frames(void **state)
{
    (void)state;
    const pl_tower_shape shape = {.window = 50, .window_infer = 800};
    cJSON *json = read_case("asr_rules/case.json");
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(json, "tokens"))
    {
        assert_int_equal(pl_tower_tokens(&shape, whole(member(item, "frames"))), whole(member(item, "tokens")));
        count++;
    }
    assert_int_equal(count, 22);
    cJSON_Delete(json);
}

static void lengths(void **state)
{
    (void)state;
    cJSON *json = read_case("asr_rules/case.json");
    const cJSON *item;
    parley_allocator allocator = pl_default_allocator();
    int checked = 0;
    cJSON_ArrayForEach(item, member(json, "resampled_length"))
    {
        size_t samples = (size_t)whole(member(item, "samples")), count;
        float *x = calloc(samples, sizeof *x), *y;
        assert_non_null(x);
        assert_int_equal(pl_resample(&allocator, x, samples, (int32_t)whole(member(item, "rate")), 16000, &y, &count, NULL), PARLEY_OK);
        assert_int_equal(count, whole(member(item, "out")));
        pl_release(&allocator, y, count, sizeof *y);
        free(x);
        checked++;
    }
    assert_int_equal(checked, 8);
    cJSON_Delete(json);
}

static void check_resampled(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/case.json", name);
    cJSON *json = read_case(path);
    snprintf(path, sizeof path, "%s/%s/audio.npy", TEST_DATA, name);
    npy_array in = npy_load(path);
    snprintf(path, sizeof path, "%s/%s/out.npy", TEST_DATA, name);
    npy_array out = npy_load(path);
    const float *want = out.data;
    parley_allocator allocator = pl_default_allocator();
    float *got, largest = 0, worst = 0;
    size_t count;
    assert_int_equal(in.count, whole(member(json, "samples")));
    assert_int_equal(pl_resample(&allocator, in.data, in.count, (int32_t)whole(member(json, "rate")), 16000, &got, &count, NULL), PARLEY_OK);
    assert_int_equal(count, whole(member(json, "samples_out")));
    assert_int_equal(count, out.count);
    for (size_t i = 0; i < count; i++) {
        largest = fmaxf(largest, fabsf(want[i]));
        worst = fmaxf(worst, fabsf(want[i] - got[i]));
    }
    assert_true(largest > 0.1f);
    if (!(worst <= 1e-5f * largest)) /* 1e-6 is expected of the same library */
        fail_msg("%s: off by %g of %g", name, (double)worst, (double)largest);
    pl_release(&allocator, got, count, sizeof *got);
    npy_free(&in);
    npy_free(&out);
    cJSON_Delete(json);
}

static void resampled(void **state)
{
    (void)state;
    check_resampled("asr_resample_8000");
    check_resampled("asr_resample_44100");
}

/* The array of the case as a file has it. It lies by channels where these are fewer than the frames. */
static size_t interleave(const cJSON *in, size_t frames, float *out)
{
    size_t rows = (size_t)cJSON_GetArraySize(in), columns = (size_t)cJSON_GetArraySize(in->child), channels = rows == frames ? columns : rows;
    for (size_t f = 0; f < frames; f++)
        for (size_t c = 0; c < channels; c++) {
            const cJSON *row = cJSON_GetArrayItem(in, (int)(rows == frames ? f : c));
            out[f * channels + c] = (float)cJSON_GetArrayItem(row, (int)(rows == frames ? c : f))->valuedouble;
        }
    return channels;
}

static void channels(void **state)
{
    (void)state;
    cJSON *json = read_case("asr_rules/case.json");
    const cJSON *item;
    int checked = 0;
    cJSON_ArrayForEach(item, member(json, "levels"))
    {
        const cJSON *in = member(item, "in"), *out = member(item, "out");
        if (!cJSON_IsArray(in->child)) /* one channel: test_segment.c */
            continue;
        float samples[64];
        size_t frames = (size_t)cJSON_GetArraySize(out);
        parley_audio_options options;
        parley_audio audio;
        parley_audio_options_init(&options);
        options.form = PARLEY_AUDIO_RAW_F32LE;
        options.rate = options.raw_rate = 16000;
        options.raw_channels = (int32_t)interleave(in, frames, samples);
        size_t bytes = frames * (size_t)options.raw_channels * sizeof *samples;
        assert_int_equal(parley_audio_read_memory("case", samples, bytes, &options, &audio, NULL), PARLEY_OK);
        assert_int_equal(audio.count, frames);
        pl_level(audio.samples, (int64_t)audio.count);
        for (size_t i = 0; i < frames; i++)
            assert_true(audio.samples[i] == (float)cJSON_GetArrayItem(out, (int)i)->valuedouble);
        parley_audio_free(&audio);
        checked++;
    }
    assert_int_equal(checked, 4);
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_frames), cmocka_unit_test(lengths), cmocka_unit_test(resampled),
                                       cmocka_unit_test(channels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
