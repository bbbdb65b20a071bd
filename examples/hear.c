/* hear.c - writes down what is said in a sound file.
 *
 *     hear MODEL SOUND [LANGUAGE]
 *
 * MODEL is what `parley hear -m` takes. Each segment is a line: start and end in seconds, then the text. Build against an installed Parley:
 *
 *     cc hear.c $(pkg-config --cflags --libs parley) -o hear
 */
#include <parley/parley.h>

#include <stdio.h>

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "hear: %s: %s\n", what, why);
    return 1;
}

static void print_segments(parley_asr *session)
{
    parley_asr_result result = {.size = sizeof result};
    parley_asr_result_get(session, &result);
    for (size_t i = 0; i < result.n_segments; i++) {
        const parley_asr_segment *segment = &result.segments[i];
        printf("%.2f %.2f %s\n", segment->start, segment->end, segment->text);
    }
}

static int hear(const parley_model *model, const parley_audio *sound, const char *language)
{
    parley_error error;
    parley_asr_options options;
    parley_asr_options_init(model, &options);
    if (language)
        options.language = language;
    parley_asr *session = NULL;
    if (parley_asr_open(model, &options, &session, &error) != PARLEY_OK)
        return fail("session", error.text);
    int status = 0;
    if (parley_asr_push(session, sound->samples, sound->count, &error) != PARLEY_OK || parley_asr_finish(session, &error) != PARLEY_OK
        || parley_asr_run(session, &error) != PARLEY_OK)
        status = fail("recognition", error.text);
    else
        print_segments(session);
    parley_asr_close(session);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4)
        return fail("usage", "hear MODEL SOUND [LANGUAGE]");
    parley_error error;
    parley_audio_options options;
    parley_audio_options_init(&options);
    options.rate = PARLEY_ASR_RATE;
    parley_audio sound;
    if (parley_audio_read_file(argv[2], &options, &sound, &error) != PARLEY_OK)
        return fail(argv[2], error.text);
    parley_model *model = NULL;
    int status;
    if (parley_model_open(argv[1], NULL, &model, &error) != PARLEY_OK) {
        status = fail(argv[1], error.text);
    } else {
        status = hear(model, &sound, argc > 3 ? argv[3] : NULL);
        parley_model_close(model);
    }
    parley_audio_free(&sound);
    return status;
}
