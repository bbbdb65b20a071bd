/* What the default arithmetic costs: 16-bit and 8-bit caches, 8-bit activations. The golden codes are forced and the choices that differ are counted;
 * the figures are printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/npy.h"
#include "support/speak.h"

#include <cjson/cJSON.h>
#include <dirent.h>

typedef struct tally {
    uint64_t choices[2], agreed[2];
    int cases;
} tally;

static cJSON *read_case(const char *folder)
{
    char path[700];
    snprintf(path, sizeof path, "%s/case.json", folder);
    char *bytes = npy_read_file(path, NULL);
    cJSON *json = cJSON_Parse(bytes);
    free(bytes);
    return json;
}

static const char *text_of(const cJSON *json, const char *key)
{
    const cJSON *value = cJSON_GetObjectItem(json, key);
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

static parley_tts_options options_of(const parley_model *model, const cJSON *json, const npy_array *codes)
{
    parley_tts_options o = plain_options(model, 1);
    const cJSON *penalty = cJSON_GetObjectItem(json, "repetition_penalty");
    const char *speaker = text_of(json, "speaker");
    o.budget = PARLEY_BUDGET_TEXT;
    o.language = text_of(json, "language");
    o.instruct = text_of(json, "instruct");
    o.layout = strcmp(text_of(json, "layout"), "full") == 0 ? PARLEY_LAYOUT_FULL : PARLEY_LAYOUT_STREAMING;
    o.special_tokens = o.allow_empty = true;
    if (speaker)
        o.speaker = *speaker ? speaker : NULL;
    if (penalty)
        o.talker.repetition_penalty = (float)penalty->valuedouble;
    o.pcm = false;
    o.teacher = codes->i;
    o.teacher_frames = (size_t)codes->shape[0];
    return o;
}

static void run_case(const parley_model *model, const char *folder, parley_kv kv, parley_activations activations, tally *t)
{
    char path[700];
    cJSON *json = read_case(folder);
    snprintf(path, sizeof path, "%s/codes.npy", folder);
    npy_array codes = npy_load(path);
    parley_tts_options o = options_of(model, json, &codes);
    o.kv = kv;
    o.activations = activations;
    speech s = speak(model, &o, text_of(json, "text"));
    assert_int_equal(s.frames, codes.shape[0]);
    for (int i = 0; i < 2; i++) {
        t->choices[i] += s.result.teacher_choices[i];
        t->agreed[i] += s.result.teacher_agreed[i];
    }
    t->cases++;
    free_speech(&s);
    npy_free(&codes);
    cJSON_Delete(json);
}

/* Cases of one text without a clone; "same_" cases of GGUF folders belong to another checkpoint of the folder. */
static bool wanted(const char *folder)
{
    char path[700];
    snprintf(path, sizeof path, "%s/codes.npy", folder);
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    fclose(f);
    cJSON *json = read_case(folder);
    const char *clone = text_of(json, "clone");
    bool ok = (!clone || strcmp(clone, "none") == 0) && text_of(json, "text") && !strstr(folder, "/same_");
    cJSON_Delete(json);
    return ok;
}

static tally run_folder(const parley_model *model, const char *folder, parley_kv kv, parley_activations activations)
{
    tally t = {0};
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && wanted(path))
            run_case(model, path, kv, activations, &t);
    }
    closedir(dir);
    return t;
}

static void check(const char *what, const tally *t, double least)
{
    double all = (double)(t->agreed[0] + t->agreed[1]) / (double)(t->choices[0] + t->choices[1]);
    printf("%-52s %d cases: first codes %.2f %%, others %.2f %%, all %.2f %% (at least %.0f %%)\n", what, t->cases,
           100.0 * (double)t->agreed[0] / (double)t->choices[0], 100.0 * (double)t->agreed[1] / (double)t->choices[1], 100 * all, 100 * least);
    assert_true(t->cases > 0);
    assert_true(all >= least);
}

static const char *const checkpoints[] = {"tts_a_custom", "tts_b_custom", "tts_b_design", "tts_c_custom"};

static void run_checkpoints(parley_kv kv, const char *what, double least)
{
    tally sum = {0};
    for (size_t i = 0; i < sizeof checkpoints / sizeof checkpoints[0]; i++) {
        char model_path[500], folder[500];
        snprintf(model_path, sizeof model_path, TEST_DATA "/models/%s", checkpoints[i]);
        snprintf(folder, sizeof folder, TEST_DATA "/%s", checkpoints[i]);
        parley_model *model = open_model(model_path, NULL, 2, NULL);
        tally t = run_folder(model, folder, kv, PARLEY_ACTIVATIONS_INT8);
        for (int l = 0; l < 2; l++) {
            sum.choices[l] += t.choices[l];
            sum.agreed[l] += t.agreed[l];
        }
        sum.cases += t.cases;
        parley_model_close(model);
    }
    check(what, &sum, least);
}

static void test_float32_agrees_wholly(void **state)
{
    (void)state;
    run_checkpoints(PARLEY_KV_F32, "BF16 weights, f32 cache", 1);
}

static void test_16_bit_caches(void **state)
{
    (void)state;
    run_checkpoints(PARLEY_KV_F16, "BF16 weights, f16 cache (default)", 0.99);
    run_checkpoints(PARLEY_KV_BF16, "BF16 weights, bf16 cache", 0.97);
    run_checkpoints(PARLEY_KV_Q8_0, "BF16 weights, q8_0 cache", 0.97);
}

static void test_8_bit_weights_and_activations(void **state)
{
    (void)state;
    const char *folder = TEST_DATA "/gguf_qwentts_a_custom";
    parley_model *model =
        open_model(TEST_DATA "/gguf_qwentts_a_custom/talker-q8_0.gguf", TEST_DATA "/gguf_qwentts_a_custom/codec-q8_0.gguf", 2, NULL);
    tally exact = run_folder(model, folder, PARLEY_KV_F32, PARLEY_ACTIVATIONS_F32);
    tally usual = run_folder(model, folder, PARLEY_KV_F16, PARLEY_ACTIVATIONS_INT8);
    tally small = run_folder(model, folder, PARLEY_KV_Q8_0, PARLEY_ACTIVATIONS_INT8);
    check("q8_0 weights, f32 cache and activations", &exact, 1);
    check("q8_0 weights, f16 cache, int8 activations (default)", &usual, 0.97);
    check("q8_0 weights, q8_0 cache, int8 activations", &small, 0.95); /* not the default: figures only */
    parley_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float32_agrees_wholly),
        cmocka_unit_test(test_16_bit_caches),
        cmocka_unit_test(test_8_bit_weights_and_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
