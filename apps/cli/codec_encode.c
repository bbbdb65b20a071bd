/* parley codec encode: sound to codes. */
#include "clone.h"
#include "codes.h"
#include "commands.h"
#include "notice.h"
#include "output.h"
#include "signals.h"

#include <math.h>
#include <stdlib.h>

typedef struct encode_fields {
    cli_model_fields model;
    cli_sound_fields sound;
    cli_text output, dump;
    cli_flag snr, quiet;
} encode_fields;

#define FIELD(member) .offset = offsetof(encode_fields, member)

static const cli_option rows[] = {
    CLI_ROW_MODEL(encode_fields, model),
    CLI_ROW_MODEL2(encode_fields, model),
    CLI_ROWS_SOUND(encode_fields, sound),
    {.name = "--snr", .kind = CLI_FLAG, FIELD(snr), .help = "decodes the codes again and prints the signal-to-noise ratio"},
    CLI_ROW_THREADS(encode_fields, model),
    CLI_ROW_CPU(encode_fields, model),
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, FIELD(output), .value = "CODES", .help = "where the codes go, .npy or .json"},
    {.name = "--dump", .kind = CLI_TEXT, FIELD(dump), .value = "DIR", .help = "writes every intermediate result as DIR/NAME.npy"},
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, FIELD(quiet), .help = "no summary"},
};

static const cli_command command = {
    .name = "codec encode",
    .usage = "[options] -o CODES SOUND",
    .about = "Encodes a recording into codes (a row a frame, 80 ms). MODEL may also be a speech_tokenizer directory or a codec\n"
             "GGUF file.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = 1,
};

/* All that one run holds. */
typedef struct encoding {
    const encode_fields *fields;
    parley_audio audio;
    cli_output file;
    cli_dump dump;
    parley_model *model;
    int32_t *codes; /* [frames][groups] */
    size_t frames;
    int32_t groups;
} encoding;

/* The program writes them itself. */
static const char *const own_dumps[] = {"codes", NULL};

static void close_encoding(encoding *e)
{
    if (e->model)
        parley_free_ids(e->model, e->codes, e->frames * (size_t)e->groups);
    parley_model_close(e->model);
    cli_output_discard(&e->file);
    cli_dump_close(&e->dump);
    parley_audio_free(&e->audio);
}

static parley_status compute(encoding *e, const char *path, parley_error *error)
{
    parley_voice_options options;
    cli_encoder_options(&e->dump, &options);
    cli_signals_graceful(true);
    cli_dump_add(&e->dump, "audio_24k", 'f', e->audio.samples, (int64_t[]){(int64_t)e->audio.count}, 1);
    CLI_TRY(cli_open_model(&e->fields->model, PARLEY_PARTS_CODEC_ENCODER, &e->model, NULL, error));
    e->groups = parley_model_info(e->model)->groups;
    CLI_TRY(cli_in_file(parley_codec_encode(e->model, e->audio.samples, e->audio.count, &options, &e->codes, &e->frames, error), path, error));
    cli_dump_add(&e->dump, "codes", 'i', e->codes, (int64_t[]){(int64_t)e->frames, e->groups}, 2);
    return PARLEY_OK;
}

static parley_status write_codes(encoding *e, parley_error *error)
{
    cli_buffer bytes = {0};
    cli_codes_write(&bytes, e->fields->output.value, e->codes, e->frames, e->groups);
    parley_status status = bytes.failed ? cli_fail_memory(error) : cli_output_write(&e->file, bytes.data, bytes.size, error);
    cli_buffer_free(&bytes);
    if (status == PARLEY_OK)
        status = cli_dump_write(&e->dump, error);
    return status == PARLEY_OK ? cli_output_commit(&e->file, error) : status;
}

/* ------------------------------------------------------------------ signal-to-noise ratio */

static parley_status decode(const encoding *e, const parley_model *model, float **pcm, parley_error *error)
{
    parley_codec *codec = NULL;
    size_t bytes;
    if (__builtin_mul_overflow(e->frames, (size_t)parley_model_info(model)->samples_per_frame * sizeof **pcm, &bytes) || !(*pcm = malloc(bytes)))
        return cli_fail_memory(error);
    CLI_TRY(parley_codec_open(model, NULL, &codec, error));
    parley_status status = parley_codec_decode(codec, e->codes, e->frames, *pcm, error);
    parley_codec_close(codec);
    return status;
}

/* Power of the recording against that of its difference from what the codes give back; the last frame's filling is left out. */
static void tell_ratio(const encoding *e, const float *pcm)
{
    double signal = 0.0, noise = 0.0;
    for (size_t i = 0; i < e->audio.count; i++) {
        double x = (double)e->audio.samples[i], d = x - (double)pcm[i];
        signal += x * x;
        noise += d * d;
    }
    if (signal > 0.0 && noise > 0.0)
        cli_notice("signal-to-noise ratio of the round trip: %.2f dB", 10.0 * log10(signal / noise));
    else
        cli_notice("signal-to-noise ratio of the round trip: none, the %s is zero", signal > 0.0 ? "noise" : "sound");
}

static parley_status report_ratio(const encoding *e, parley_error *error)
{
    parley_model *model = NULL;
    float *pcm = NULL;
    CLI_TRY(cli_open_model(&e->fields->model, PARLEY_PARTS_CODEC, &model, NULL, error));
    parley_status status = decode(e, model, &pcm, error);
    if (status == PARLEY_OK)
        tell_ratio(e, pcm);
    parley_model_close(model);
    free(pcm);
    return status;
}

static parley_status encode(encoding *e, const char *path, parley_error *error)
{
    const encode_fields *f = e->fields;
    CLI_TRY(cli_output_open(&e->file, f->output.value, false, "-o", error));
    CLI_TRY(cli_dump_open(&e->dump, f->dump.value, own_dumps, error));
    CLI_TRY(cli_read_sound(path, &f->sound, &e->audio, error));
    double start = cli_seconds();
    CLI_TRY(compute(e, path, error));
    CLI_TRY(write_codes(e, error));
    if (!f->quiet.given)
        cli_notice("%.300s: %zu frames from %.2f s of sound in %.2f s", f->output.value, e->frames, (double)e->audio.count / CLI_SOUND_RATE,
                   cli_seconds() - start);
    return f->snr.given ? report_ratio(e, error) : PARLEY_OK;
}

parley_status cli_codec_encode(int argc, char **argv, parley_error *error)
{
    encode_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&command, error);
    if (arguments.count == 0 || !fields.output.given)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley codec encode\" needs %s", arguments.count == 0 ? "a recording" : "-o CODES");
    CLI_TRY(cli_codes_name(fields.output.value, "-o", error));
    encoding e = {.fields = &fields, .file = CLI_OUTPUT_NONE};
    parley_status status = encode(&e, arguments.values[0], error);
    close_encoding(&e);
    return status;
}
