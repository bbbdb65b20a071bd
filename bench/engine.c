/* Throughput and regularity of an engine: N streams of speech together against one after the other, and gaps between frames.
 *
 *   gcc -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude bench/engine.c build/libparley.a -lcjson -lutf8proc -lsndfile -lsoxr -lpthread -lm \
 *       -o build/bench_engine
 *   build/bench_engine MODEL [streams, 8] [frames, 60] [rounds, 3] [threads, 2] [codec: stored, f32 or int8]
 *
 * A round speaks three texts one by one and all at once, in turns, so that a busy machine shows in both; of each alone, when its first PCM came (with
 * 125 frames: of a speech of 10 s). Then once more at once with a piece of PCM a frame, in which requests come 0.2 s apart and a voice is encoded
 * where the model can: percentiles of the time from one frame of a stream to the next. Frames are those of a budget; the model need not know how to
 * stop. */
#include <parley/parley.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STREAMS = 64, MOST_GAPS = 1 << 20 };

static const char text[] = "It was a bright cold day in April, and the clocks were striking thirteen, when somebody came up the stairs and knocked.";

typedef struct stream {
    parley_request *request;
    uint64_t frames;
    double *gaps;
    size_t n_gaps;
    double begun, first, ended; /* clock */
    pthread_t thread;
} stream;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(parley_status status, const parley_error *error)
{
    if (status == PARLEY_OK)
        return;
    fprintf(stderr, "%s: %s\n", parley_status_name(status), error->text);
    exit(1);
}

static void begin(parley_engine *engine, const parley_tts_options *options, stream *s)
{
    parley_error error;
    s->begun = now();
    s->first = 0;
    need(parley_engine_speak(engine, options, NULL, &s->request, &error), &error);
    need(parley_request_push_text(s->request, text, sizeof text - 1, &error), &error);
    need(parley_request_finish_text(s->request, &error), &error);
}

/* Times between pieces of PCM, the first one left out. */
static void *read_all(void *context)
{
    stream *s = context;
    parley_event event;
    double last = 0;
    while (parley_request_next(s->request, 3600, &event) == PARLEY_EVENT_PCM) {
        double at = now();
        if (last > 0 && s->n_gaps < MOST_GAPS)
            s->gaps[s->n_gaps++] = at - last;
        s->first = s->first > 0 ? s->first : at;
        last = at;
    }
    s->ended = now();
    if (event.status != PARLEY_OK)
        need(event.status, event.error);
    parley_tts_result result;
    if (parley_request_speech(s->request, &result))
        s->frames = result.frames;
    parley_request_release(s->request);
    return NULL;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct speed {
    double frames_a_second, cpu_a_frame; /* the second, in seconds of all threads, says more where others use the machine */
} speed;

static speed measure(parley_engine *engine, const parley_tts_options *options, stream *streams, int count, bool together, double apart)
{
    uint64_t frames = 0;
    double began = now(), cpu = cpu_now();
    for (int i = 0; i < count; i++) {
        parley_tts_options o = *options;
        o.seed = (uint64_t)i;
        begin(engine, &o, &streams[i]);
        pthread_create(&streams[i].thread, NULL, read_all, &streams[i]);
        if (!together)
            pthread_join(streams[i].thread, NULL);
        else if (apart > 0)
            nanosleep(&(struct timespec){0, (long)(apart * 1e9)}, NULL);
    }
    for (int i = 0; i < count && together; i++)
        pthread_join(streams[i].thread, NULL);
    for (int i = 0; i < count; i++)
        frames += streams[i].frames;
    return (speed){(double)frames / (now() - began), (cpu_now() - cpu) / (double)frames};
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report_gaps(stream *streams, int count, const parley_engine_figures *f)
{
    size_t n = 0;
    double *all = malloc(MOST_GAPS * sizeof *all);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < streams[i].n_gaps && n < MOST_GAPS; k++)
            all[n++] = streams[i].gaps[k];
    if (n == 0)
        return;
    qsort(all, n, sizeof *all, by_size);
    printf("gaps between frames, ms: median %.1f, p90 %.1f, p99 %.1f, most %.1f (%zu gaps)\n", 1e3 * all[n / 2], 1e3 * all[n * 9 / 10],
           1e3 * all[n * 99 / 100], 1e3 * all[n - 1], n);
    printf("mean width of the batch %.2f, mean turn %.1f ms, mean time to the first PCM %.3f s\n", (double)f->turn_rows / (double)f->turns,
           1e3 * f->turn_seconds / (double)f->turns, f->first_audio_seconds / (double)f->first_audio_count);
    free(all);
}

static void report_first(stream *streams, int count)
{
    for (int i = 0; i < count; i++) {
        double first = streams[i].first - streams[i].begun, whole = streams[i].ended - streams[i].begun;
        printf("alone: first PCM after %.0f ms of %.0f: %.1f %%\n", 1e3 * first, 1e3 * whole, 100 * first / whole);
    }
}

static void measure_gaps(const parley_model *model, const parley_engine_options *eo, parley_tts_options o, stream *streams, int count)
{
    static float pcm[24000 * 5];
    parley_engine *engine;
    parley_request *voice = NULL;
    parley_engine_figures f;
    parley_error error;
    need(parley_engine_open(model, eo, &engine, &error), &error);
    for (int i = 0; i < count; i++)
        streams[i].n_gaps = 0;
    o.chunk_frames = 1;
    if (parley_model_info(model)->has_speaker_encoder)
        need(parley_engine_encode_voice(engine, pcm, sizeof pcm / sizeof pcm[0], NULL, NULL, &voice, &error), &error);
    speed rate = measure(engine, &o, streams, count, true, 0.2);
    parley_engine_figures_get(engine, &f);
    printf("%d streams 0.2 s apart, a piece a frame%s: %.2f frames/s\n", count, voice ? ", beside the encoding of a voice" : "", rate.frames_a_second);
    report_gaps(streams, count, &f);
    parley_request_release(voice);
    parley_engine_close(engine);
}

int main(int argc, char **argv)
{
    static stream streams[MOST_STREAMS];
    int count = argc > 2 ? atoi(argv[2]) : 8, frames = argc > 3 ? atoi(argv[3]) : 60, rounds = argc > 4 ? atoi(argv[4]) : 3;
    parley_open_options open;
    parley_engine_options eo;
    parley_tts_options o;
    parley_model *model;
    parley_engine *engine;
    parley_error error;
    if (argc < 2 || count < 1 || count > MOST_STREAMS) {
        fprintf(stderr, "bench_engine MODEL [streams] [frames] [rounds] [threads] [codec]\n");
        return 2;
    }
    parley_open_options_init(&open);
    parley_engine_options_init(&eo);
    open.threads = argc > 5 ? atoi(argv[5]) : 2;
    open.parts = PARLEY_PARTS_CLONE;
    if (argc > 6)
        open.codec_type = !strcmp(argv[6], "int8") ? PARLEY_CODEC_INT8 : !strcmp(argv[6], "f32") ? PARLEY_CODEC_F32 : PARLEY_CODEC_STORED;
    eo.max_active = count;
    need(parley_model_open(argv[1], &open, &model, &error), &error);
    parley_tts_options_init(model, &o);
    o.budget = PARLEY_BUDGET_FRAMES;
    o.max_frames = frames;
    for (int i = 0; i < count; i++)
        streams[i].gaps = malloc(MOST_GAPS * sizeof *streams[i].gaps);
    need(parley_engine_open(model, &eo, &engine, &error), &error);
    for (int round = 0; round < rounds; round++) {
        int alone = count < 3 ? count : 3;
        speed one = measure(engine, &o, streams, alone, false, 0);
        report_first(streams, alone);
        speed many = measure(engine, &o, streams, count, true, 0);
        printf("one stream %.2f frames/s (%.2f x real time), %d streams %.2f frames/s (%.2f x): ratio %.2f; processor time a frame %.1f and %.1f ms: "
               "ratio %.2f\n",
               one.frames_a_second, one.frames_a_second * 0.08, count, many.frames_a_second, many.frames_a_second * 0.08,
               many.frames_a_second / one.frames_a_second, 1e3 * one.cpu_a_frame, 1e3 * many.cpu_a_frame, one.cpu_a_frame / many.cpu_a_frame);
        fflush(stdout);
    }
    parley_engine_close(engine);
    measure_gaps(model, &eo, o, streams, count);
    for (int i = 0; i < count; i++)
        free(streams[i].gaps);
    parley_model_close(model);
    return 0;
}
