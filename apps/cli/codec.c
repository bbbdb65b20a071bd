/* parley codec: codes to sound. */
#include "commands.h"
#include "codes.h"
#include "dump.h"
#include "model_options.h"
#include "notice.h"
#include "signals.h"
#include "wav.h"

#include <parley/tts.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_FRAMES = 8 };

typedef struct decode_fields {
    cli_model_fields model;
    cli_text ref_codes, output, dump;
    cli_int schedule, wav_format;
    cli_flag snr, quiet;
} decode_fields;

enum { SCHEDULE_STREAM, SCHEDULE_REFERENCE };
static const char *const schedules[] = {"stream", "reference", NULL};
static const char *const wav_formats[] = {"s16", "f32", NULL};

#define FIELD(member) .offset = offsetof(decode_fields, member)

static const cli_option decode_rows[] = {
    CLI_ROW_MODEL(decode_fields, model),
    CLI_ROW_MODEL2(decode_fields, model),
    {.name = "--ref-codes", .kind = CLI_TEXT, FIELD(ref_codes), .value = "FILE", .help = "codes to decode in front, whose sound is cut off"},
    {.name = "--schedule",
     .kind = CLI_CHOICE,
     FIELD(schedule),
     .help = "stream: exact, any length; reference: 300 frames at a time as the official code does; default stream",
     .choices = schedules},
    CLI_ROW_CODEC_TYPE(decode_fields, model),
    {.name = "--snr", .kind = CLI_FLAG, FIELD(snr), .help = "decodes with --codec-type f32 too and reports the signal-to-noise ratio against that"},
    CLI_ROW_THREADS(decode_fields, model),
    CLI_ROW_CPU(decode_fields, model),
    {.name = "--output",
     .letter = 'o',
     .kind = CLI_TEXT,
     FIELD(output),
     .value = "FILE.wav",
     .help = "- is standard output; default speech.wav, unless it exists"},
    {.name = "--wav-format", .kind = CLI_CHOICE, FIELD(wav_format), .help = "16 bit or 32-bit float samples; default s16", .choices = wav_formats},
    {.name = "--dump", .kind = CLI_TEXT, FIELD(dump), .value = "DIR", .help = "writes every intermediate result as DIR/NAME.npy"},
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, FIELD(quiet), .help = "no summary"},
};

static const cli_command decode_command = {
    .name = "codec decode",
    .usage = "[options] CODES",
    .about = "Decodes codes (.npy or .json: a row a frame, 80 ms) into a WAV file. MODEL may also be a speech_tokenizer\n"
             "directory or a codec GGUF file.",
    .options = decode_rows,
    .n_options = CLI_COUNT(decode_rows),
    .max_arguments = 1,
};

/* The same codes in float32, and the powers that make a signal-to-noise ratio. */
typedef struct comparison {
    parley_model *model;
    parley_codec *codec;
    float *pcm;
    double signal, noise; /* sums of squares */
} comparison;

/* All that one run holds. */
typedef struct decoding {
    const decode_fields *fields;
    cli_codes codes;   /* the reference's and the new ones */
    size_t ref_frames; /* of these */
    uint64_t samples;  /* decoded so far, those that are cut off included */
    uint64_t cut;      /* samples to drop in front */
    cli_output file;
    cli_wav wav;
    cli_dump dump;
    parley_model *model;
    parley_codec *codec;
    float *pcm;
    comparison exact;
} decoding;

/* After the cut it is the program's own. */
static const char *const own_dumps[] = {"pcm", NULL};

static void close_decoding(decoding *d)
{
    parley_codec_close(d->exact.codec);
    parley_model_close(d->exact.model);
    free(d->exact.pcm);
    parley_codec_close(d->codec);
    parley_model_close(d->model);
    cli_output_discard(&d->file);
    cli_dump_close(&d->dump);
    cli_codes_free(&d->codes);
    free(d->pcm);
}

/* Puts the reference in front of the codes. */
static parley_status join_reference(decoding *d, const cli_codes *reference, parley_error *error)
{
    CLI_TRY(cli_codes_check(reference, "--ref-codes and codes differ: they", d->codes.groups, error));
    size_t groups = (size_t)d->codes.groups, head = reference->frames * groups, tail = d->codes.frames * groups;
    int32_t *values = malloc((head + tail) * sizeof *values);
    if (!values)
        return cli_fail_memory(error);
    memcpy(values, reference->values, head * sizeof *values);
    memcpy(values + head, d->codes.values, tail * sizeof *values);
    free(d->codes.values);
    d->codes.values = values;
    d->codes.frames += reference->frames;
    d->ref_frames = reference->frames;
    return PARLEY_OK;
}

static parley_status read_codes(decoding *d, const char *path, parley_error *error)
{
    CLI_TRY(cli_codes_read(path, "codes", &d->codes, error));
    if (!d->fields->ref_codes.given)
        return PARLEY_OK;
    cli_codes reference;
    CLI_TRY(cli_codes_read(d->fields->ref_codes.value, "--ref-codes", &reference, error));
    parley_status status = join_reference(d, &reference, error);
    cli_codes_free(&reference);
    return status;
}

static const char *wav_path(const decoding *d)
{
    return d->fields->output.given ? d->fields->output.value : "speech.wav";
}

static parley_status open_outputs(decoding *d, parley_error *error)
{
    if (cli_is_stdout(wav_path(d)) && isatty(1))
        return cli_fail(error, PARLEY_ARGUMENT, "-o -: standard output is a terminal; send the WAV to a file or a program");
    CLI_TRY(cli_output_open(&d->file, wav_path(d), !d->fields->output.given, "-o", error));
    return cli_dump_open(&d->dump, d->fields->dump.value, own_dumps, error);
}

static parley_status open_exact(decoding *d, const parley_codec_options *options, parley_error *error)
{
    cli_model_fields fields = d->fields->model;
    fields.codec_type.given = true;
    fields.codec_type.value = 0;
    parley_codec_options quiet = *options;
    quiet.tap = NULL;
    CLI_TRY(cli_open_model(&fields, PARLEY_PARTS_CODEC, &d->exact.model, NULL, error));
    return parley_codec_open(d->exact.model, &quiet, &d->exact.codec, error);
}

static parley_status open_codec(decoding *d, parley_error *error)
{
    CLI_TRY(cli_open_model(&d->fields->model, PARLEY_PARTS_CODEC, &d->model, NULL, error));
    CLI_TRY(cli_codes_check(&d->codes, "the codes", parley_model_info(d->model)->groups, error));
    parley_codec_options options;
    parley_codec_options_init(&options);
    options.reference_schedule = d->fields->schedule.value == SCHEDULE_REFERENCE;
    if (d->dump.directory) {
        options.tap = cli_dump_tap;
        options.tap_context = &d->dump;
    }
    CLI_TRY(parley_codec_open(d->model, &options, &d->codec, error));
    return d->fields->snr.given ? open_exact(d, &options, error) : PARLEY_OK;
}

/* Before the samples of the reference are cut off. */
static parley_status compare_piece(decoding *d, const int32_t *codes, size_t frames, size_t samples, parley_error *error)
{
    comparison *e = &d->exact;
    CLI_TRY(parley_codec_decode(e->codec, codes, frames, e->pcm, error));
    for (size_t i = 0; i < samples; i++) {
        double signal = (double)e->pcm[i], noise = (double)d->pcm[i] - signal;
        e->signal += signal * signal;
        e->noise += noise * noise;
    }
    return PARLEY_OK;
}

static void report_snr(const comparison *e)
{
    if (e->noise == 0.0)
        cli_notice("signal-to-noise ratio against f32: the samples are equal");
    else
        cli_notice("signal-to-noise ratio against f32: %.1f dB", 10.0 * log10(e->signal / e->noise));
}

static parley_status keep_samples(decoding *d, size_t count, parley_error *error)
{
    uint64_t left = d->samples < d->cut ? d->cut - d->samples : 0;
    size_t skip = left < count ? (size_t)left : count;
    d->samples += count;
    cli_dump_add(&d->dump, "pcm", 'f', d->pcm + skip, (int64_t[]){(int64_t)(count - skip)}, 1);
    return cli_wav_write(&d->wav, d->pcm + skip, count - skip, error);
}

/* Pieces, so that the WAV grows as it is made; with a dump, or by the reference's schedule, one call for all. */
static parley_status decode_all(decoding *d, parley_error *error)
{
    size_t frames = d->codes.frames, groups = (size_t)d->codes.groups, length = (size_t)parley_model_info(d->model)->samples_per_frame;
    bool whole = d->dump.directory || d->fields->schedule.value == SCHEDULE_REFERENCE;
    size_t piece = whole || frames < PIECE_FRAMES ? frames : PIECE_FRAMES, bytes;
    if (__builtin_mul_overflow(piece, length * sizeof(float), &bytes) || !(d->pcm = malloc(bytes)))
        return cli_fail_memory(error);
    if (d->exact.codec && !(d->exact.pcm = malloc(bytes)))
        return cli_fail_memory(error);
    d->cut = parley_codec_reference_cut(d->ref_frames, frames, (uint64_t)frames * length);
    if (!whole)
        cli_signals_graceful(true);
    for (size_t at = 0; at < frames && !cli_signals_cancelled(); at += piece) {
        size_t n = frames - at < piece ? frames - at : piece;
        CLI_TRY(parley_codec_decode(d->codec, d->codes.values + at * groups, n, d->pcm, error));
        if (d->exact.codec)
            CLI_TRY(compare_piece(d, d->codes.values + at * groups, n, n * length, error));
        CLI_TRY(keep_samples(d, n * length, error));
    }
    return PARLEY_OK;
}

static parley_status decode(decoding *d, const char *path, parley_error *error)
{
    CLI_TRY(read_codes(d, path, error));
    CLI_TRY(open_outputs(d, error));
    CLI_TRY(open_codec(d, error));
    int32_t rate = parley_model_info(d->model)->sample_rate;
    double start = cli_seconds();
    CLI_TRY(cli_wav_begin(&d->wav, &d->file, (cli_wav_format)d->fields->wav_format.value, rate, error));
    CLI_TRY(decode_all(d, error));
    CLI_TRY(cli_wav_end(&d->wav, error));
    CLI_TRY(cli_dump_write(&d->dump, error));
    CLI_TRY(cli_output_commit(&d->file, error));
    double seconds = rate ? (double)d->wav.samples / rate : 0.0;
    if (cli_signals_cancelled())
        return cli_fail(error, PARLEY_CANCELLED, "cancelled: \"%.300s\" is complete with the %.2f s made so far", wav_path(d), seconds);
    if (d->fields->snr.given)
        report_snr(&d->exact);
    if (!d->fields->quiet.given)
        cli_notice("%.300s: %.2f s of sound in %.2f s", wav_path(d), seconds, cli_seconds() - start);
    return PARLEY_OK;
}

static parley_status run_decode(int argc, char **argv, parley_error *error)
{
    decode_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&decode_command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&decode_command, error);
    if (arguments.count == 0)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley codec decode\" needs a file of codes");
    decoding d = {.fields = &fields, .file = CLI_OUTPUT_NONE};
    parley_status status = decode(&d, arguments.values[0], error);
    close_decoding(&d);
    return status;
}

static parley_status print_parts(parley_error *error)
{
    cli_buffer text = {0};
    cli_help(&decode_command, &text);
    cli_append_text(&text,
                    "\nusage: parley codec encode [options] -o CODES SOUND\n\nEncodes a recording; parley codec encode --help names its options.\n");
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

parley_status cli_codec(int argc, char **argv, parley_error *error)
{
    if (argc > 0 && !strcmp(argv[0], "decode"))
        return run_decode(argc - 1, argv + 1, error);
    if (argc > 0 && !strcmp(argv[0], "encode"))
        return cli_codec_encode(argc - 1, argv + 1, error);
    if (argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
        return print_parts(error);
    return cli_fail(error, PARLEY_ARGUMENT, "\"parley codec\" is followed by decode or encode%s%.100s%s", argc > 0 ? ", not \"" : "",
                    argc > 0 ? argv[0] : "", argc > 0 ? "\"" : "");
}
