/* speak.c - speaks one text with libparley and writes a WAV file.
 *
 *     speak MODEL OUTPUT.wav TEXT [SPEAKER [SPEED]]
 *
 * MODEL is what `parley say -m` takes: a directory of the hub, a GGUF file or a folder of GGUF files. Build against an installed Parley:
 *
 *     cc speak.c $(pkg-config --cflags --libs parley) -o speak
 */
#include <parley/parley.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 44, CHUNK = 4096 };

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "speak: %s: %s\n", what, why);
    return 1;
}

static void put(unsigned char *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* The head of a mono 16-bit WAV file. */
static int write_header(FILE *file, uint32_t rate, uint32_t samples)
{
    unsigned char head[HEADER];
    memcpy(head, "RIFF____WAVEfmt ________________data____", HEADER - 4);
    put(head + 4, HEADER - 8 + 2 * samples, 4);
    put(head + 16, 16, 4);
    put(head + 20, 1, 2); /* PCM */
    put(head + 22, 1, 2); /* channels */
    put(head + 24, rate, 4);
    put(head + 28, 2 * rate, 4);
    put(head + 32, 2, 2);  /* bytes a sample of all channels */
    put(head + 34, 16, 2); /* bits */
    put(head + 40, 2 * samples, 4);
    return fwrite(head, 1, HEADER, file) == HEADER;
}

static int write_samples(FILE *file, const float *pcm, size_t count)
{
    unsigned char bytes[2 * CHUNK];
    for (size_t i = 0; i < count; i++)
        put(bytes + 2 * i, (uint32_t)(int32_t)(pcm[i] * 32767.0f + (pcm[i] < 0 ? -0.5f : 0.5f)), 2);
    return fwrite(bytes, 2, count, file) == count;
}

/* Pulls the speech piece by piece, as a player would, and writes it. Returns the status of the program. */
static int write_speech(parley_tts *session, uint32_t rate, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file || !write_header(file, rate, 0)) {
        if (file)
            fclose(file);
        return fail(path, "cannot be written");
    }
    float pcm[CHUNK];
    size_t count = 0;
    uint32_t samples = 0;
    parley_error error;
    do {
        if (parley_tts_pull(session, pcm, CHUNK, &count, &error) != PARLEY_OK) {
            fclose(file);
            return fail("synthesis", error.text);
        }
        if (!write_samples(file, pcm, count))
            break;
        samples += (uint32_t)count;
    } while (count > 0);
    int good = count == 0 && fseek(file, 0, SEEK_SET) == 0 && write_header(file, rate, samples); /* the length is known only now */
    if (fclose(file) != 0 || !good)
        return fail(path, "cannot be written");
    parley_tts_result result = {.size = sizeof result};
    parley_tts_result_get(session, &result);
    printf("%s: %.2f s of speech, %lu frames, %s\n", path, (double)samples / rate, (unsigned long)result.frames, parley_finish_name(result.finish));
    return 0;
}

static int speak(const parley_model *model, const char *path, const char *text, const char *speaker, const char *speed)
{
    parley_error error;
    parley_tts_options options;
    parley_tts_options_init(model, &options);
    options.seed = 1;
    if (speaker)
        options.speaker = speaker;
    if (speed)
        options.speed = strtod(speed, NULL);
    parley_tts *session = NULL;
    if (parley_tts_open(model, &options, &session, &error) != PARLEY_OK)
        return fail("session", error.text);
    int status = 1;
    if (parley_tts_push_text(session, text, strlen(text), &error) != PARLEY_OK || parley_tts_finish_text(session, &error) != PARLEY_OK)
        fail("text", error.text);
    else
        status = write_speech(session, (uint32_t)parley_model_info(model)->sample_rate, path);
    parley_tts_close(session);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 6)
        return fail("usage", "speak MODEL OUTPUT.wav TEXT [SPEAKER [SPEED]]");
    parley_error error;
    parley_model *model = NULL;
    if (parley_model_open(argv[1], NULL, &model, &error) != PARLEY_OK)
        return fail(argv[1], error.text);
    int status = speak(model, argv[2], argv[3], argc > 4 ? argv[4] : NULL, argc > 5 ? argv[5] : NULL);
    parley_model_close(model);
    return status;
}
