/* The sound of a stored voice case (tests/golden/voice_*): a piece of a 16-bit file, an array, or silence. Faults end the test program. */
#ifndef TESTS_SUPPORT_VOICE_CASE_H
#define TESTS_SUPPORT_VOICE_CASE_H

#include "support/npy.h"

#include <cJSON.h>

typedef struct voice_case {
    char folder[512];
    float *pcm;
    int64_t samples;
} voice_case;

enum { WAV_HEADER = 44 };

static inline void voice_read_wav(const char *path, int64_t start, voice_case *c)
{
    size_t size;
    char *bytes = npy_read_file(path, &size);
    if (size < WAV_HEADER + 2 * (size_t)(start + c->samples) || memcmp(bytes + 36, "data", 4) != 0)
        npy_stop(path, "too short, or header not understood");
    for (int64_t i = 0; i < c->samples; i++) {
        const unsigned char *at = (const unsigned char *)bytes + WAV_HEADER + 2 * (start + i);
        int value = at[0] | at[1] << 8;
        c->pcm[i] = (float)(value >= 32768 ? value - 65536 : value) / 32768.0f;
    }
    free(bytes);
}

static inline double voice_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item))
        npy_stop(key, "no such number in case.json");
    return item->valuedouble;
}

static inline void voice_read_array(const char *path, voice_case *c)
{
    npy_array array = npy_load(path);
    if ((int64_t)array.count != c->samples)
        npy_stop(path, "number of samples differs from case.json");
    memcpy(c->pcm, array.f, array.count * sizeof *array.f);
    npy_free(&array);
}

/* "audio": a file and its place there, or words ("2000 zeros"). */
static inline void voice_read_sound(const cJSON *json, voice_case *c)
{
    char path[1024];
    const cJSON *audio = cJSON_GetObjectItemCaseSensitive(json, "audio");
    const cJSON *file = cJSON_GetObjectItemCaseSensitive(audio, "file");
    if (!cJSON_IsString(file)) {
        if (!cJSON_IsString(audio) || !strstr(audio->valuestring, "zeros"))
            npy_stop(c->folder, "sound not understood");
        return;
    }
    snprintf(path, sizeof path, "%s/%s", c->folder, file->valuestring);
    if (strstr(path, ".npy"))
        voice_read_array(path, c);
    else
        voice_read_wav(path, (int64_t)voice_number(audio, "start"), c);
}

/* `folder` below the test data; release with voice_case_free(). */
static inline voice_case voice_case_read(const char *folder)
{
    voice_case c;
    char path[1024];
    snprintf(c.folder, sizeof c.folder, "%s/%s", TEST_DATA, folder);
    snprintf(path, sizeof path, "%s/case.json", c.folder);
    char *text = npy_read_file(path, NULL);
    cJSON *json = cJSON_Parse(text);
    if (!json)
        npy_stop(path, "not JSON");
    c.samples = (int64_t)voice_number(json, "samples");
    c.pcm = calloc((size_t)c.samples, sizeof *c.pcm);
    if (!c.pcm)
        npy_stop(path, "out of memory");
    voice_read_sound(json, &c);
    cJSON_Delete(json);
    free(text);
    return c;
}

static inline void voice_case_free(voice_case *c)
{
    free(c->pcm);
}

#endif
