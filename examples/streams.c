/* streams.c - both directions while they happen: text that is typed becomes sound, sound that comes becomes text.
 *
 *     streams say MODEL    text on standard input, raw samples (float32, mono, 24 kHz) on standard output
 *     streams hear MODEL   raw samples (float32, mono, 16 kHz) on standard input, text on standard output: a line when a segment has ended
 *
 * Sound leaves before the text has ended, text before the sound has. Samples are in the byte order of the machine. Build against an installed Parley:
 *
 *     cc streams.c $(pkg-config --cflags --libs parley) -o streams
 */
#include <parley/parley.h>

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 4096, LINE = 4096 };

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "streams: %s: %s\n", what, why);
    return 1;
}

/* Writes what can be said of the text so far. */
static int write_ready(parley_tts *session)
{
    parley_error error;
    float pcm[SAMPLES];
    size_t count;
    do {
        if (parley_tts_pull(session, pcm, SAMPLES, &count, &error) != PARLEY_OK)
            return fail("synthesis", error.text);
        if (fwrite(pcm, sizeof *pcm, count, stdout) != count)
            return fail("standard output", "cannot be written");
    } while (count > 0); /* the end, or the speech has caught up with the text */
    return fflush(stdout) == 0 ? 0 : fail("standard output", "cannot be written");
}

static int say_lines(parley_tts *session)
{
    parley_error error;
    char line[LINE];
    while (fgets(line, sizeof line, stdin)) {
        if (parley_tts_push_text(session, line, strlen(line), &error) != PARLEY_OK)
            return fail("text", error.text);
        if (write_ready(session) != 0)
            return 1;
    }
    if (parley_tts_finish_text(session, &error) != PARLEY_OK)
        return fail("text", error.text);
    return write_ready(session);
}

static int say(const parley_model *model)
{
    parley_error error;
    parley_tts_options options;
    parley_tts_options_init(model, &options);
    options.layout = PARLEY_LAYOUT_STREAMING; /* the other layout wants the whole text first */
    options.live_text = true;
    options.seed = 1;
    parley_tts *session = NULL;
    if (parley_tts_open(model, &options, &session, &error) != PARLEY_OK)
        return fail("session", error.text);
    int status = say_lines(session);
    parley_tts_close(session);
    return status;
}

/* Hears whole chunks of what was pushed. */
static int print_updates(parley_asr *session)
{
    parley_error error;
    parley_asr_update update = {.size = sizeof update};
    bool got;
    for (;;) {
        if (parley_asr_poll(session, &update, &got, &error) != PARLEY_OK)
            return fail("recognition", error.text);
        if (!got)
            return 0;
        if (update.final)
            printf("%.*s\n", (int)update.length, update.text);
        else
            fprintf(stderr, "%.*s ..\n", (int)update.stable, update.text); /* this much will not change */
        fflush(stdout);
    }
}

static int hear_samples(parley_asr *session)
{
    parley_error error;
    float pcm[SAMPLES];
    size_t count;
    while ((count = fread(pcm, sizeof *pcm, SAMPLES, stdin)) > 0) {
        if (parley_asr_push(session, pcm, count, &error) != PARLEY_OK)
            return fail("sound", error.text);
        if (print_updates(session) != 0)
            return 1;
    }
    if (parley_asr_finish(session, &error) != PARLEY_OK)
        return fail("sound", error.text);
    return print_updates(session);
}

static int hear(const parley_model *model)
{
    parley_error error;
    parley_asr_options options;
    parley_asr_options_init(model, &options);
    options.stream = true;
    parley_asr *session = NULL;
    if (parley_asr_open(model, &options, &session, &error) != PARLEY_OK)
        return fail("session", error.text);
    int status = hear_samples(session);
    parley_asr_close(session);
    return status;
}

int main(int argc, char **argv)
{
    bool says = argc == 3 && strcmp(argv[1], "say") == 0;
    if (!says && !(argc == 3 && strcmp(argv[1], "hear") == 0))
        return fail("usage", "streams say|hear MODEL");
    parley_error error;
    parley_model *model = NULL;
    if (parley_model_open(argv[2], NULL, &model, &error) != PARLEY_OK)
        return fail(argv[2], error.text);
    int status = says ? say(model) : hear(model);
    parley_model_close(model);
    return status;
}
