/* Stored 16 kHz clips and their log-mel in the plainest form (spec/qwen3_asr.md 2.2): double precision, a transform by its sum. */
#ifndef TESTS_SUPPORT_CLIP_MEL_H
#define TESTS_SUPPORT_CLIP_MEL_H

#include "npy.h"

#include <math.h>

enum { CLIP_FFT = 400, CLIP_HOP = 160, CLIP_BINS = 201, CLIP_BANDS = 128, CLIP_PAD = 200, CLIP_WAV_HEAD = 44 };

typedef struct clip_audio {
    double *samples;
    int64_t count;
} clip_audio;

/* Appends a clip's PCM16 file, sample / 32768. */
static inline void clip_append(clip_audio *audio, const char *name)
{
    char path[1024];
    size_t size;
    snprintf(path, sizeof path, "%s/asr_clip_%s/audio.wav", TEST_DATA, name);
    char *bytes = npy_read_file(path, &size);
    int64_t more = (int64_t)(size - CLIP_WAV_HEAD) / 2;
    audio->samples = realloc(audio->samples, (size_t)(audio->count + more) * sizeof *audio->samples);
    if (!audio->samples)
        npy_stop(path, "out of memory");
    for (int64_t i = 0; i < more; i++) {
        int16_t value;
        memcpy(&value, bytes + CLIP_WAV_HEAD + 2 * i, sizeof value);
        audio->samples[audio->count + i] = value / 32768.0;
    }
    audio->count += more;
    free(bytes);
}

static inline double clip_hertz(double mel)
{
    return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

static inline double clip_filter(int band, double hertz)
{
    const double top = 15 + 27 * log(8.0) / log(6.4);
    double low = clip_hertz(top * band / (CLIP_BANDS + 1)), peak = clip_hertz(top * (band + 1) / (CLIP_BANDS + 1)),
           high = clip_hertz(top * (band + 2) / (CLIP_BANDS + 1));
    double rise = (hertz - low) / (peak - low), fall = (high - hertz) / (high - peak), weight = rise < fall ? rise : fall;
    return weight > 0 ? weight * 2 / (high - low) : 0;
}

/* Power of all bins of the frame around sample `centre`. */
static inline void clip_spectrum(const clip_audio *audio, int64_t centre, const double *cosine, double *power)
{
    double windowed[CLIP_FFT];
    for (int i = 0; i < CLIP_FFT; i++) {
        int64_t at = centre - CLIP_PAD + i;
        at = at < 0 ? -at : at >= audio->count ? 2 * (audio->count - 1) - at : at;
        windowed[i] = audio->samples[at] * (0.5 - 0.5 * cosine[i]);
    }
    for (int k = 0; k < CLIP_BINS; k++) {
        double re = 0, im = 0;
        for (int i = 0; i < CLIP_FFT; i++) {
            re += windowed[i] * cosine[k * i % CLIP_FFT];
            im += windowed[i] * cosine[(k * i + CLIP_FFT * 3 / 4) % CLIP_FFT];
        }
        power[k] = re * re + im * im;
    }
}

static inline void clip_bands(const double *power, const double *filters, float *mel)
{
    for (int b = 0; b < CLIP_BANDS; b++) {
        double sum = 0;
        for (int k = 0; k < CLIP_BINS; k++)
            sum += filters[b * CLIP_BINS + k] * power[k];
        mel[b] = (float)log10(sum > 1e-10 ? sum : 1e-10);
    }
}

/* [*frames][128], the caller's to free. */
static inline float *clip_mel(const clip_audio *audio, int64_t *frames)
{
    static double cosine[CLIP_FFT], filters[CLIP_BANDS * CLIP_BINS];
    double power[CLIP_BINS];
    *frames = audio->count / CLIP_HOP;
    float *mel = calloc((size_t)*frames * CLIP_BANDS, sizeof *mel), most = -1e9f;
    if (!mel)
        npy_stop("mel", "out of memory");
    for (int i = 0; i < CLIP_FFT; i++)
        cosine[i] = cos(2 * 3.14159265358979323846 * i / CLIP_FFT);
    for (int i = 0; i < CLIP_BANDS * CLIP_BINS; i++)
        filters[i] = clip_filter(i / CLIP_BINS, i % CLIP_BINS * 40.0);
    for (int64_t t = 0; t < *frames; t++) {
        clip_spectrum(audio, t * CLIP_HOP, cosine, power);
        clip_bands(power, filters, mel + t * CLIP_BANDS);
    }
    for (int64_t i = 0; i < *frames * CLIP_BANDS; i++)
        most = mel[i] > most ? mel[i] : most;
    for (int64_t i = 0; i < *frames * CLIP_BANDS; i++)
        mel[i] = ((mel[i] > most - 8 ? mel[i] : most - 8) + 4) / 4;
    return mel;
}

#endif
