/* labels: sanitize */
/* Sound files of every kind that libsndfile writes here, raw samples, resampling, limits and damage. */
#include "audio/input.h"
#include "base/source.h"
#include "limit_allocator.h"

#include <math.h>
#include <setjmp.h>
#include <sndfile.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

const char *__lsan_default_suppressions(void);

/* libsndfile 1.2.0 loses 5.8 kB with an Ogg file that ends behind its first page. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libvorbis\n";
}

enum { CAPACITY = 1 << 23 };

/* ------------------------------------------------------------------ files in memory */

typedef struct memory_file {
    uint8_t *data;
    sf_count_t size, at;
} memory_file;

static sf_count_t memory_length(void *context)
{
    return ((memory_file *)context)->size;
}

static sf_count_t memory_seek(sf_count_t offset, int whence, void *context)
{
    memory_file *f = context;
    return f->at = offset + (whence == SEEK_CUR ? f->at : whence == SEEK_END ? f->size : 0);
}

static sf_count_t memory_read(void *data, sf_count_t count, void *context)
{
    memory_file *f = context;
    sf_count_t n = f->at + count > f->size ? f->size - f->at : count;
    memcpy(data, f->data + f->at, (size_t)n);
    f->at += n;
    return n;
}

static sf_count_t memory_write(const void *data, sf_count_t count, void *context)
{
    memory_file *f = context;
    assert_true(f->at + count <= CAPACITY);
    memcpy(f->data + f->at, data, (size_t)count);
    f->at += count;
    if (f->at > f->size)
        f->size = f->at;
    return count;
}

static sf_count_t memory_tell(void *context)
{
    return ((memory_file *)context)->at;
}

/* Interleaved samples as a file; false when this libsndfile does not write the format. */
static bool write_file(memory_file *f, int format, int rate, int channels, const float *samples, size_t frames)
{
    static SF_VIRTUAL_IO io = {memory_length, memory_seek, memory_read, memory_write, memory_tell};
    SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
    *f = (memory_file){.data = malloc(CAPACITY)};
    assert_non_null(f->data);
    SNDFILE *file = sf_format_check(&info) ? sf_open_virtual(&io, SFM_WRITE, &info, f) : NULL;
    if (!file)
        return false;
    assert_int_equal(sf_writef_float(file, samples, (sf_count_t)frames), frames);
    assert_int_equal(sf_close(file), 0);
    return true;
}

static void free_file(memory_file *f)
{
    free(f->data);
}

/* A tone of amplitude 0.5; the channels have different pitch and phase. */
static float *tones(size_t frames, int channels, int rate)
{
    float *x = malloc(frames * (size_t)channels * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < frames; i++)
        for (int c = 0; c < channels; c++)
            x[i * (size_t)channels + (size_t)c] = (float)(0.5 * sin(6.283185307179586 * (300.0 + 77.0 * c) * (double)i / rate + c));
    return x;
}

static float mean(const float *frame, int channels)
{
    double sum = 0.0;
    for (int c = 0; c < channels; c++)
        sum += (double)frame[c];
    return (float)(sum / channels);
}

static parley_audio_options at_rate(int rate)
{
    parley_audio_options o;
    parley_audio_options_init(&o);
    o.rate = rate;
    return o;
}

static parley_audio read_good(const memory_file *f, int rate)
{
    parley_audio audio;
    parley_error error = {0};
    parley_audio_options o = at_rate(rate);
    if (parley_audio_read_memory("file", f->data, (size_t)f->size, &o, &audio, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    return audio;
}

/* ------------------------------------------------------------------ formats */

static const struct {
    int format;
    const char *name;
    float error; /* largest */
} kinds[] = {
    {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, "WAV, unsigned 8 bit PCM", 1.01f / 128},
    {SF_FORMAT_WAV | SF_FORMAT_PCM_16, "WAV, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_WAV | SF_FORMAT_PCM_24, "WAV, signed 24 bit PCM", 1.01f / 8388608},
    {SF_FORMAT_WAV | SF_FORMAT_PCM_32, "WAV, signed 32 bit PCM", 1e-7f},
    {SF_FORMAT_WAV | SF_FORMAT_FLOAT, "WAV, 32 bit float", 0.0f},
    {SF_FORMAT_WAV | SF_FORMAT_DOUBLE, "WAV, 64 bit float", 0.0f},
    {SF_FORMAT_WAV | SF_FORMAT_ULAW, "WAV, U-Law", 0.02f},
    {SF_FORMAT_WAV | SF_FORMAT_ALAW, "WAV, A-Law", 0.02f},
    {SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, "WAVEX, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_RF64 | SF_FORMAT_PCM_16, "RF64, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_W64 | SF_FORMAT_PCM_16, "W64, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_AIFF | SF_FORMAT_PCM_16, "AIFF, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_AIFF | SF_FORMAT_FLOAT, "AIFF, 32 bit float", 0.0f},
    {SF_FORMAT_CAF | SF_FORMAT_PCM_24, "CAF, signed 24 bit PCM", 1.01f / 8388608},
    {SF_FORMAT_AU | SF_FORMAT_PCM_16, "AU, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, "FLAC, signed 16 bit PCM", 1.01f / 32768},
    {SF_FORMAT_FLAC | SF_FORMAT_PCM_24, "FLAC, signed 24 bit PCM", 1.01f / 8388608},
    {SF_FORMAT_OGG | SF_FORMAT_VORBIS, "OGG, Vorbis", 0.06f},
    {SF_FORMAT_OGG | SF_FORMAT_OPUS, "OGG, Opus", 0.1f},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void check_kind(size_t kind, int channels)
{
    enum { FRAMES = 9600 };
    float *x = tones(FRAMES, channels, 48000);
    memory_file f;
    assert_true(write_file(&f, kinds[kind].format, 48000, channels, x, FRAMES));
    parley_audio a = read_good(&f, 48000);
    assert_string_equal(a.source_format, kinds[kind].name);
    assert_int_equal(a.source_rate, 48000);
    assert_int_equal(a.source_channels, channels);
    assert_int_equal(a.source_frames, FRAMES);
    assert_int_equal(a.count, FRAMES);
    assert_int_equal(a.rate, 48000);
    int ends = kinds[kind].error > 0.05f ? 400 : 0; /* lossy: a tone that starts or stops at once smears */
    for (int i = ends; i < FRAMES - ends; i++)
        if (!(fabsf(a.samples[i] - mean(x + i * channels, channels)) <= kinds[kind].error))
            fail_msg("%s, %d channels: sample %d is %g", kinds[kind].name, channels, i, (double)a.samples[i]);
    parley_audio_free(&a);
    free_file(&f);
    free(x);
}

static void test_kinds(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (int channels = 1; channels <= 2; channels++)
            check_kind(k, channels);
}

static void test_channels(void **state)
{
    (void)state;
    for (int channels = 3; channels <= 6; channels++) {
        check_kind(4, channels); /* float: exact */
        check_kind(15, channels);
    }
    check_kind(1, 255);
}

/* MP3 pads at both ends, and only newer libraries write it. */
static void test_mp3(void **state)
{
    (void)state;
    enum { FRAMES = 44100 };
    float *x = tones(FRAMES, 1, 44100);
    memory_file f;
    if (write_file(&f, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 1, x, FRAMES)) {
        double energy = 0.0;
        parley_audio a = read_good(&f, 24000);
        assert_in_range(a.source_frames, FRAMES, FRAMES + 2400);
        for (size_t i = 6000; i < 18000; i++)
            energy += (double)a.samples[i] * (double)a.samples[i] / 12000;
        assert_true(fabs(energy - 0.125) < 0.002);
        parley_audio_free(&a);
    }
    free_file(&f);
    free(x);
}

static void test_unclipped(void **state)
{
    (void)state;
    float x[] = {1.5f, -3.0f, 0.25f, 1000.0f};
    memory_file f;
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 24000, 1, x, 4));
    parley_audio a = read_good(&f, 24000);
    assert_memory_equal(a.samples, x, sizeof x);
    parley_audio_free(&a);
    free_file(&f);
}

/* ------------------------------------------------------------------ resampling */

static void check_sine(int from, int to)
{
    size_t n = (size_t)from / 2 + 7, count;
    float *x = tones(n, 1, from), *y;
    parley_allocator allocator = pl_default_allocator();
    parley_error error = {0};
    double worst = 0.0;
    assert_int_equal(pl_resample(&allocator, x, n, from, to, &y, &count, &error), PARLEY_OK);
    assert_int_equal(count, (n * (size_t)to + (size_t)from - 1) / (size_t)from);
    /* The ends ring: the tone starts and stops at once. */
    for (size_t i = count / 5; i < count - count / 5; i++)
        worst = fmax(worst, fabs((double)y[i] - 0.5 * sin(6.283185307179586 * 300.0 * (double)i / to)));
    if (worst > 2e-5)
        fail_msg("%d to %d Hz: error %g", from, to, worst);
    pl_release(&allocator, y, count, sizeof *y);
    free(x);
}

static void test_sines(void **state)
{
    (void)state;
    static const int rates[] = {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 176400, 192000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        check_sine(rates[i], 24000);
        check_sine(rates[i], 16000);
        check_sine(16000, rates[i]);
    }
}

/* Lengths around the resampler's own blocks, and the widest ratios. */
static void test_lengths(void **state)
{
    (void)state;
    static const int pairs[][2] = {{16000, 24000}, {44100, 24000}, {24000, 44100}, {768000, 1000}, {1000, 768000}, {24000, 24000}, {24001, 24000}};
    static const size_t lengths[] = {0, 1, 2, 3, 10, 100, 767, 768, 769, 4000};
    parley_allocator allocator = pl_default_allocator();
    parley_error error = {0};
    float *x = tones(4000, 1, 16000), *y;
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            size_t count, n = lengths[l], from = (size_t)pairs[p][0], to = (size_t)pairs[p][1];
            assert_int_equal(pl_resample(&allocator, x, n, pairs[p][0], pairs[p][1], &y, &count, &error), PARLEY_OK);
            assert_int_equal(count, (n * to + from - 1) / from);
            if (from == to)
                assert_memory_equal(x, y, n * sizeof *x);
            pl_release(&allocator, y, count, sizeof *y);
        }
    size_t count;
    assert_int_equal(pl_resample(&allocator, x, 10, 999, 24000, &y, &count, &error), PARLEY_ARGUMENT);
    assert_int_equal(pl_resample(&allocator, x, 10, 24000, 768001, &y, &count, &error), PARLEY_ARGUMENT);
    free(x);
}

static void check_golden(const char *name)
{
    char folder[256], wav[300];
    snprintf(folder, sizeof folder, TEST_DATA "/voice_a/%s", name);
    snprintf(wav, sizeof wav, "%s/audio.wav", folder);
    pl_source *source;
    pl_bytes npy;
    parley_audio a;
    parley_error error = {0};
    assert_int_equal(pl_source_open(NULL, folder, &source, &error), PARLEY_OK);
    assert_int_equal(pl_source_map(source, "audio_24k.npy", &npy, &error), PARLEY_OK);
    assert_int_equal(parley_audio_read_file(wav, NULL, &a, &error), PARLEY_OK);
    size_t head = 10 + (size_t)npy.data[8] + 256 * (size_t)npy.data[9];
    assert_int_equal(a.count, (npy.size - head) / 4);
    float *want = malloc(a.count * sizeof *want), largest = 0.0f, worst = 0.0f;
    assert_non_null(want);
    memcpy(want, npy.data + head, a.count * sizeof *want);
    for (size_t i = 0; i < a.count; i++) {
        largest = fmaxf(largest, fabsf(want[i]));
        worst = fmaxf(worst, fabsf(want[i] - a.samples[i]));
    }
    assert_true(largest > 0.1f);
    assert_true(worst <= 1e-3f * largest);
    free(want);
    parley_audio_free(&a);
    pl_source_close(source);
}

static void test_golden(void **state)
{
    (void)state;
    check_golden("resample_16000_1");
    check_golden("resample_44100_2");
}

/* ------------------------------------------------------------------ streams and raw samples */

typedef struct pieces {
    const uint8_t *data;
    size_t size, at, piece;
    size_t fails_at; /* byte, SIZE_MAX: never */
} pieces;

static int64_t read_pieces(void *context, void *data, size_t size)
{
    pieces *p = context;
    size_t n = p->size - p->at;
    n = n < p->piece ? n : p->piece;
    n = n < size ? n : size;
    if (p->at + n > p->fails_at)
        return -1;
    memcpy(data, p->data + p->at, n);
    p->at += n;
    p->piece = p->piece * 3 % 4099 + 1;
    return (int64_t)n;
}

static void test_stream(void **state)
{
    (void)state;
    float *x = tones(700000, 1, 44100);
    memory_file f;
    parley_error error = {0};
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 1, x, 700000)); /* more than one block */
    parley_audio whole = read_good(&f, 24000), a;
    pieces p = {.data = f.data, .size = (size_t)f.size, .piece = 1, .fails_at = SIZE_MAX};
    parley_audio_stream stream = {read_pieces, &p};
    assert_int_equal(parley_audio_read("pipe", &stream, NULL, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, whole.count);
    assert_memory_equal(a.samples, whole.samples, a.count * sizeof *a.samples);
    parley_audio_free(&a);
    parley_audio_free(&whole);
    p = (pieces){.data = f.data, .size = (size_t)f.size, .piece = 1, .fails_at = 100000};
    assert_int_equal(parley_audio_read("pipe", &stream, NULL, &a, &error), PARLEY_IO);
    assert_null(a.samples);
    free_file(&f);
    free(x);
}

static void test_raw(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x00, 0x80, 0xFF, 0x7F, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x40, 0x00, 0x20};
    const float mono[] = {-1.0f, 32767.0f / 32768, 1.0f / 32768, -1.0f / 32768, 0.5f, 0.25f};
    parley_audio_options o = at_rate(24000);
    parley_audio a;
    parley_error error = {0};
    o.form = PARLEY_AUDIO_RAW_S16LE;
    assert_int_equal(parley_audio_read_memory("raw", bytes, sizeof bytes, &o, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 6);
    assert_memory_equal(a.samples, mono, sizeof mono);
    assert_string_equal(a.source_format, "raw s16le");
    parley_audio_free(&a);
    o.raw_channels = 3;
    assert_int_equal(parley_audio_read_memory("raw", bytes, sizeof bytes, &o, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 2);
    assert_true(fabsf(a.samples[0] - (mono[0] + mono[1] + mono[2]) / 3) < 1e-7f && fabsf(a.samples[1] - (mono[3] + mono[4] + mono[5]) / 3) < 1e-7f);
    parley_audio_free(&a);
    assert_int_equal(parley_audio_read_memory("raw", bytes, 11, &o, &a, &error), PARLEY_FORMAT);
    assert_int_equal(error.position, 1);
    o.raw_channels = 1;
    o.form = PARLEY_AUDIO_RAW_F32LE;
    const uint8_t floats[] = {0, 0, 0x80, 0x3F, 0, 0, 0x40, 0xC0, 0, 0, 0x80, 0x7F};
    assert_int_equal(parley_audio_read_memory("raw", floats, 8, &o, &a, &error), PARLEY_OK);
    assert_true(a.samples[0] == 1.0f && a.samples[1] == -3.0f);
    parley_audio_free(&a);
    assert_int_equal(parley_audio_read_memory("raw", floats, 12, &o, &a, &error), PARLEY_VALUE);
    assert_int_equal(error.position, 2);
    assert_non_null(strstr(error.text, "sample 2 of channel 0 is infinite"));
    assert_int_equal(parley_audio_read_memory("raw", floats, 0, &o, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 0);
    parley_audio_free(&a);
}

/* ------------------------------------------------------------------ bad input */

static void test_not_finite(void **state)
{
    (void)state;
    float x[200] = {0};
    memory_file f;
    parley_audio a;
    parley_error error = {0};
    x[101] = NAN;
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 2, x, 100));
    assert_int_equal(parley_audio_read_memory("x.wav", f.data, (size_t)f.size, NULL, &a, &error), PARLEY_VALUE);
    assert_int_equal(error.position, 50);
    assert_non_null(strstr(error.text, "sample 50 of channel 1 is not a number"));
    free_file(&f);
    for (int i = 0; i < 200; i++)
        x[i] = i % 2 ? 3.4e38f : -3.4e38f;
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, x, 200));
    parley_status status = parley_audio_read_memory("x.wav", f.data, (size_t)f.size, NULL, &a, &error);
    assert_true(status == PARLEY_VALUE || status == PARLEY_OK);
    for (size_t i = 0; status == PARLEY_OK && i < a.count; i++)
        assert_true(isfinite(a.samples[i]));
    parley_audio_free(&a);
    free_file(&f);
}

static int64_t read_noise(void *context, void *data, size_t size)
{
    uint64_t *total = context;
    memset(data, 1, size);
    *total += size;
    return (int64_t)size;
}

static void test_limits(void **state)
{
    (void)state;
    float *x = tones(48000, 1, 24000);
    memory_file f;
    parley_audio a;
    parley_error error = {0};
    parley_audio_options o = at_rate(24000);
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 24000, 1, x, 48000));
    o.max_seconds = 2.0;
    assert_int_equal(parley_audio_read_memory("x.wav", f.data, (size_t)f.size, &o, &a, &error), PARLEY_OK);
    parley_audio_free(&a);
    o.max_seconds = 1.5;
    assert_int_equal(parley_audio_read_memory("x.wav", f.data, (size_t)f.size, &o, &a, &error), PARLEY_LIMIT);
    assert_non_null(strstr(error.text, "at least 2.00 seconds of sound, the limit is 1.5"));
    free_file(&f);
    free(x);
    /* An endless stream: bytes are limited when it may be a sound file, seconds when it is raw. */
    limit_allocator memory = {.limit = 80 << 20, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    uint64_t total = 0;
    parley_audio_stream stream = {read_noise, &total};
    o.allocator = &allocator;
    assert_int_equal(parley_audio_read("noise", &stream, &o, &a, &error), PARLEY_LIMIT);
    assert_true(total < UINT64_C(72) << 20);
    total = 0;
    o.form = PARLEY_AUDIO_RAW_S16LE;
    assert_int_equal(parley_audio_read("noise", &stream, &o, &a, &error), PARLEY_LIMIT);
    assert_true(total < 1 << 20 && !memory.exceeded && memory.held == 0);
}

static void test_rates_of_files(void **state)
{
    (void)state;
    static const int rates[] = {1, 999, 768001, 2000000000};
    float x[10] = {0};
    for (size_t i = 0; i < 4; i++) {
        memory_file f;
        parley_audio a;
        parley_error error = {0};
        assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_PCM_16, rates[i], 1, x, 10));
        assert_int_equal(parley_audio_read_memory("x.wav", f.data, (size_t)f.size, NULL, &a, &error), PARLEY_UNSUPPORTED);
        assert_non_null(strstr(error.text, "expected 1000 to 768000"));
        free_file(&f);
    }
}

/* What programs write when they cannot go back, and what is left when a writer was killed. */
static void test_open_lengths(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{0xFFFFFFFF, 0xFFFFFFFF}, {0, 0}, {36, 0}, {0x7FFFFFFF, 0x7FFFF000}, {0xFFFFFFFF, 0xFFFFFFDB}};
    float *x = tones(5000, 1, 24000);
    memory_file f;
    parley_audio a;
    parley_error error = {0};
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 24000, 1, x, 5000));
    assert_memory_equal(f.data + 36, "data", 4);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < 4; i++) {
            f.data[4 + i] = (uint8_t)(sizes[s][0] >> 8 * i);
            f.data[40 + i] = (uint8_t)(sizes[s][1] >> 8 * i);
        }
        a = read_good(&f, 24000);
        assert_int_equal(a.count, 5000);
        assert_true(fabsf(a.samples[4999] - x[4999]) < 1e-4f);
        parley_audio_free(&a);
    }
    /* An honest length of 0. */
    f.size = 44;
    memcpy(f.data + 4, "\x24\0\0\0", 4);
    memset(f.data + 40, 0, 4);
    a = read_good(&f, 24000);
    assert_int_equal(a.count, 0);
    parley_audio_free(&a);
    /* A length that is a lie. */
    memcpy(f.data + 40, "\0\0\x10\0", 4);
    f.size = 1044;
    assert_int_equal(parley_audio_read_memory("x.wav", f.data, (size_t)f.size, NULL, &a, &error), PARLEY_FORMAT);
    assert_int_equal(error.position, 500);
    assert_non_null(strstr(error.text, "ends at sample 500"));
    free_file(&f);
    free(x);
}

static parley_status read_limited(const uint8_t *data, size_t size, parley_audio *a)
{
    limit_allocator memory = {.limit = 4 << 20, .left = SIZE_MAX};
    parley_allocator allocator = limit_interface(&memory);
    parley_audio_options o = at_rate(24000);
    parley_error error = {0};
    o.max_seconds = 2.0;
    o.allocator = &allocator;
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    parley_status status = parley_audio_read_memory("x", copy, size, &o, a, &error);
    assert_true(status == PARLEY_OK || (error.status == status && error.text[0] && !a->samples));
    assert_int_not_equal(status, PARLEY_INTERNAL);
    assert_false(memory.exceeded);
    parley_audio kept = *a;
    parley_audio_free(a);
    free(copy);
    assert_int_equal(memory.held, 0);
    *a = kept;
    return status;
}

/* Every cut is an error: no file with a known end passes for a shorter one. */
static void check_cuts(int format, size_t step)
{
    enum { FRAMES = 3000 };
    float *x = tones(FRAMES, 1, 24000);
    memory_file f;
    parley_audio a;
    assert_true(write_file(&f, format, 24000, 1, x, FRAMES));
    assert_int_equal(read_limited(f.data, (size_t)f.size, &a), PARLEY_OK);
    for (size_t size = 0; size < (size_t)f.size; size += size < 300 ? 1 : step) {
        parley_status status = read_limited(f.data, size, &a);
        if (status == PARLEY_OK && (format & SF_FORMAT_TYPEMASK) != SF_FORMAT_OGG && a.source_frames < FRAMES)
            fail_msg("format %x, cut to %zu of %d bytes: read as %zu samples", (unsigned)format, size, (int)f.size, a.count);
    }
    free_file(&f);
    free(x);
}

static const int damaged[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_FLOAT,   SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
                              SF_FORMAT_CAF | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
                              SF_FORMAT_OGG | SF_FORMAT_OPUS};
enum { DAMAGED = sizeof damaged / sizeof damaged[0] };

static void test_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < DAMAGED; i++)
        check_cuts(damaged[i], 37);
}

/* Flipped bits: an error or a result, and in formats with checksums never another sound. */
static void test_flips(void **state)
{
    (void)state;
    enum { FRAMES = 3000 };
    float *x = tones(FRAMES, 1, 24000);
    uint32_t random = 1;
    parley_audio a;
    for (size_t i = 0; i < DAMAGED; i++) {
        memory_file f;
        bool ogg = (damaged[i] & SF_FORMAT_TYPEMASK) == SF_FORMAT_OGG;
        assert_true(write_file(&f, damaged[i], 24000, 1, x, FRAMES));
        for (int round = 0; round < 400; round++) {
            random = random * 1664525 + 1013904223;
            size_t at = random % (size_t)(round % 2 && f.size > 120 ? 120 : f.size);
            uint8_t bit = (uint8_t)(1 << (random >> 29));
            f.data[at] ^= bit;
            parley_status status = read_limited(f.data, (size_t)f.size, &a);
            if (ogg)
                assert_int_not_equal(status, PARLEY_OK);
            f.data[at] ^= bit;
        }
        free_file(&f);
    }
    free(x);
}

static void test_no_sound_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "R",
                                        "Good morning.\n",
                                        "http://example.com/a.wav\n",
                                        "#EXTM3U\n#EXTINF:2,\n/etc/passwd\n",
                                        "ffconcat version 1.0\nfile 'a.wav'\n",
                                        "RIFF    AVI LIST"};
    parley_audio a;
    parley_error error = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(parley_audio_read_memory("x", texts[i], strlen(texts[i]), NULL, &a, &error), PARLEY_FORMAT);
        assert_string_equal(a.source_format, i ? "" : "empty");
        assert_null(a.samples);
    }
    assert_int_equal(parley_audio_read_file("/dev/zero", NULL, &a, &error), PARLEY_UNSUPPORTED);
    assert_int_equal(parley_audio_read_file("/", NULL, &a, &error), PARLEY_UNSUPPORTED);
    assert_int_equal(parley_audio_read_file("/nothing/here.wav", NULL, &a, &error), PARLEY_MISSING);
    assert_int_equal(parley_audio_read_file(NULL, NULL, &a, &error), PARLEY_ARGUMENT);
}

static void test_arguments(void **state)
{
    (void)state;
    parley_audio a;
    parley_error error = {0};
    static const struct {
        int rate, raw_rate, raw_channels;
        double max_seconds;
    } bad[] = {{999, 24000, 1, 10},  {768001, 24000, 1, 10}, {24000, 0, 1, 10},        {24000, 24000, 0, 10},         {24000, 24000, 65, 10},
               {24000, 24000, 1, 0}, {24000, 24000, 1, -1},  {24000, 24000, 1, 1e300}, {24000, 24000, 1, (double)NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        parley_audio_options o = at_rate(bad[i].rate);
        o.raw_rate = bad[i].raw_rate;
        o.raw_channels = bad[i].raw_channels;
        o.max_seconds = bad[i].max_seconds;
        assert_int_equal(parley_audio_read_memory("x", "abcd", 4, &o, &a, &error), PARLEY_ARGUMENT);
    }
    parley_audio_options o = {0};
    assert_int_equal(parley_audio_read_memory("x", "abcd", 4, &o, &a, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_audio_read_memory("x", NULL, 4, NULL, &a, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_audio_read_memory(NULL, "abcd", 4, NULL, &a, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_audio_read("x", NULL, NULL, &a, &error), PARLEY_ARGUMENT);
    parley_audio_free(NULL);
}

/* Each allocation fails once: the error is MEMORY and nothing is lost. */
static void test_out_of_memory(void **state)
{
    (void)state;
    float *x = tones(100000, 2, 44100);
    memory_file f;
    parley_error error = {0};
    assert_true(write_file(&f, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 2, x, 100000));
    parley_status status = PARLEY_MEMORY;
    size_t calls = 0;
    for (; status == PARLEY_MEMORY && calls < 100; calls++) {
        limit_allocator memory = {.limit = SIZE_MAX, .left = calls};
        parley_allocator allocator = limit_interface(&memory);
        parley_audio_options o = at_rate(24000);
        parley_audio a;
        pieces p = {.data = f.data, .size = (size_t)f.size, .piece = 4000, .fails_at = SIZE_MAX};
        parley_audio_stream stream = {read_pieces, &p};
        o.allocator = &allocator;
        status = parley_audio_read("x", &stream, &o, &a, &error);
        if (status == PARLEY_OK)
            parley_audio_free(&a);
        assert_int_equal(memory.held, 0);
    }
    assert_int_equal(status, PARLEY_OK);
    assert_in_range(calls, 5, 50);
    free_file(&f);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),         cmocka_unit_test(test_channels),  cmocka_unit_test(test_mp3),
        cmocka_unit_test(test_unclipped),     cmocka_unit_test(test_sines),     cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_golden),        cmocka_unit_test(test_stream),    cmocka_unit_test(test_raw),
        cmocka_unit_test(test_not_finite),    cmocka_unit_test(test_limits),    cmocka_unit_test(test_rates_of_files),
        cmocka_unit_test(test_open_lengths),  cmocka_unit_test(test_cuts),      cmocka_unit_test(test_flips),
        cmocka_unit_test(test_no_sound_file), cmocka_unit_test(test_arguments), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
