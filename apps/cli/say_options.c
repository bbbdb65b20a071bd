#include "say_options.h"

#include "output.h"
#include "say_voice.h"
#include "voice_store.h"

#include <string.h>
#include <sys/random.h>

/* In the order of the library's enumerations. */
static const char *const layouts[] = {"streaming", "full", NULL};
static const char *const wav_formats[] = {"s16", "f32", NULL};

#define FIELD(member) .offset = offsetof(say_fields, member)
#define TEXT(option, member, placeholder, about)                                             \
    {                                                                                        \
        .name = option, .kind = CLI_TEXT, FIELD(member), .value = placeholder, .help = about \
    }
#define SHORT(option, short_name, member, placeholder, about)                                                      \
    {                                                                                                              \
        .name = option, .letter = short_name, .kind = CLI_TEXT, FIELD(member), .value = placeholder, .help = about \
    }
#define FLAG(option, member, about)                                    \
    {                                                                  \
        .name = option, .kind = CLI_FLAG, FIELD(member), .help = about \
    }
#define CHOICE(option, member, list, about)                                                                \
    {                                                                                                      \
        .name = option, .kind = CLI_CHOICE, FIELD(member), .value = "NAME", .help = about, .choices = list \
    }
#define WHOLE(option, member, least, most, about)                                                               \
    {                                                                                                           \
        .name = option, .kind = CLI_INT, FIELD(member), .value = "N", .help = about, .low = least, .high = most \
    }
#define REAL(option, member, least, most, without_least, about)                                                                          \
    {                                                                                                                                    \
        .name = option, .kind = CLI_REAL, FIELD(member), .value = "X", .help = about, .low = least, .high = most, .above = without_least \
    }

static const cli_option rows[] = {
    CLI_ROW_MODEL(say_fields, model),
    CLI_ROW_MODEL2(say_fields, model),
    CLI_ROW_CODEC(say_fields, model),
    TEXT("--voice", voice, "NAME", "speaker of the model, voice file, name of a voice, or none; default: the model's first speaker"),
    CLI_ROW_VOICES(say_fields, voices),
    TEXT("--clone", clone, "FILE", "speaks with the voice of a recording, - is standard input (Base models)"),
    TEXT("--language", language, "NAME", "language of the text; default auto"),
    TEXT("--instruct", instruct, "TEXT", "how to speak, for models that take it"),
    TEXT("--xvector", xvector, "FILE.npy", "voice as a vector of float32 (Base models)"),
    TEXT("--ref-codes", ref_codes, "FILE", "codes (.npy or .json) of a reference to continue; with --ref-text and --xvector"),
    TEXT("--ref-text", ref_text, "TEXT", "what the recording or the reference says; with it, cloning is in-context"),
    TEXT("--ref-text-file", ref_text_file, "FILE", "the same from a file"),
    CHOICE("--clone-mode", clone_mode, say_clone_modes, "vector alone, or codes and transcript too; default: icl with a transcript"),
    CLI_ROW_CLONE_SILENCE(say_fields, clone_silence),
    FLAG("--no-cache", no_cache, "encodes the recording again and keeps nothing"),
    CLI_ROWS_SOUND(say_fields, sound),
    CHOICE("--layout", layout, layouts, "text along with the frames, or all of it in front; default: what suits the voice"),
    FLAG("--greedy", greedy, "always the best score: temperature 0 for all codes"),
    REAL("--temperature", temperature, 0, 10, false, "of the first code; 0 is greedy; default: the model's"),
    WHOLE("--top-k", top_k, 0, INT32_MAX, "best scores to draw the first code from; 0 is all; default: the model's"),
    REAL("--top-p", top_p, 0, 1, true, "share of probability to draw the first code from; 1 is all; default: the model's"),
    REAL("--repetition-penalty", repetition_penalty, 0, 10, true, "on first codes that came before; 1 is off; default: the model's"),
    REAL("--sub-temperature", sub_temperature, 0, 10, false, "of the other codes; default: the model's"),
    WHOLE("--sub-top-k", sub_top_k, 0, INT32_MAX, "of the other codes; default: the model's"),
    REAL("--sub-top-p", sub_top_p, 0, 1, true, "of the other codes; default: the model's"),
    {.name = "--seed", .kind = CLI_SEED, FIELD(seed), .value = "N", .help = "of the draws; default: drawn at random and reported"},
    WHOLE("--max-frames", max_frames, 1, INT32_MAX, "most frames (80 ms each) to speak; default: a budget from the length of the text"),
    WHOLE("--split", split, 0, 100000,
          "length of pieces, in characters, that longer texts are cut into at sentences, 20 or more; 0: never; default 1000"),
    REAL("--pause", pause, 0, 10, false, "seconds of silence between two pieces; default 0.3"),
    REAL("--speed", speed, PARLEY_SPEED_LEAST, PARLEY_SPEED_MOST, false, "of speech and pauses, at the same pitch: 2 is half as long; default 1"),
    FLAG("--special-tokens", special_tokens, "read spellings such as <|im_end|> in the text as tokens"),
    FLAG("--allow-empty", allow_empty, "speak an empty text, too"),
    CLI_ROW_SPLITTER(say_fields, model),
    CLI_ROW_THREADS(say_fields, model),
    CLI_ROW_CPU(say_fields, model),
    CLI_ROW_CODEC_TYPE(say_fields, model),
    CHOICE("--kv", kv, cli_kv_choices, "element type of the cache; default f16"),
    CHOICE("--activations", activations, cli_activations_choices, "arithmetic of quantised matrices; default int8 where the processor has it"),
    SHORT("--output", 'o', output, "FILE.wav", "what to write, - is standard output; default speech.wav, unless it exists"),
    CHOICE("--wav-format", wav_format, wav_formats, "16 bit or 32-bit float samples; default s16"),
    TEXT("--json", json, "FILE", "report of the run, - is standard output; of many texts: an array"),
    TEXT("--codes", codes, "FILE", "writes the codes (.npy or .json); of many texts: npy or json, beside each WAV"),
    TEXT("--teacher", teacher, "FILE", "takes these codes (.npy or .json) in place of the chosen ones and reports how many agree"),
    TEXT("--dump", dump, "DIR", "writes every intermediate result as DIR/NAME.npy"),
    SHORT("--file", 'f', file, "FILE", "reads the text from a file, - is standard input"),
    FLAG("--live", live, "speaks the text of standard input while it comes; the speech is the same"),
    FLAG("--lines", lines, "every line of -f that is not empty is a text of its own; with --output-dir"),
    TEXT("--jobs", jobs, "FILE.jsonl", "many texts: a line is an object of text and any of voice, language, instruct, seed"),
    TEXT("--output-dir", output_dir, "DIR", "where many texts go: DIR/0001.wav and so on"),
    WHOLE("--batch", batch, 1, 64, "texts that are computed at once; default 8"),
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, FIELD(quiet), .help = "no progress and no summary"},
};

const cli_command say_command = {
    .name = "say",
    .usage = "[options] (TEXT | -f FILE | standard input)\n       parley say [options] (--jobs FILE.jsonl | -f FILE --lines) --output-dir DIR",
    .about = "Speaks a text into a WAV file. Ctrl-C finishes the file so far.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = 1,
};

/* Pairs of options where the first is nothing without the second. */
static parley_status check_needs(const say_fields *f, parley_error *error)
{
    bool many = f->jobs.given || f->lines.given, text = f->ref_text.given || f->ref_text_file.given;
    const struct {
        bool given, needed;
        const char *option, *needs;
    } needs[] = {
        {f->ref_codes.given, text, "--ref-codes", "--ref-text"},
        {f->ref_codes.given, f->xvector.given, "--ref-codes", "--xvector"},
        {text, f->ref_codes.given || f->clone.given, f->ref_text.given ? "--ref-text" : "--ref-text-file", "--clone or --ref-codes"},
        {f->clone_mode.given, f->clone.given, "--clone-mode", "--clone"},
        {f->clone_silence.given, f->clone.given, "--clone-silence", "--clone"},
        {f->no_cache.given, f->clone.given, "--no-cache", "--clone"},
        {f->sound.audio.raw.given, f->clone.given, "--raw", "--clone"},
        {f->sound.audio.rate.given, f->clone.given, "--rate", "--clone"},
        {f->sound.audio.channels.given, f->clone.given, "--channels", "--clone"},
        {f->sound.max_audio.given, f->clone.given, "--max-audio", "--clone"},
        {many, f->output_dir.given, f->jobs.given ? "--jobs" : "--lines", "--output-dir"},
        {f->output_dir.given, many, "--output-dir", "--jobs or --lines"},
        {f->batch.given, many, "--batch", "--jobs or --lines"},
    };
    for (size_t i = 0; i < CLI_COUNT(needs); i++) {
        if (needs[i].given && !needs[i].needed)
            return cli_fail(error, PARLEY_ARGUMENT, "%s needs %s", needs[i].option, needs[i].needs);
    }
    return PARLEY_OK;
}

static parley_status check_exclusions(const say_fields *f, bool argument, parley_error *error)
{
    bool many = f->jobs.given || f->lines.given, speaker = f->voice.given && say_speaker(f->voice.value);
    bool piped = f->file.given ? !strcmp(f->file.value, "-") : !argument && !f->jobs.given;
    const char *how = f->jobs.given ? "--jobs" : "--lines";
    const struct {
        bool a, b;
        const char *name_a, *name_b;
    } pairs[] = {
        {speaker, f->xvector.given, "--voice NAME", "--xvector"},
        {speaker, f->clone.given, "--voice NAME", "--clone"},
        {f->clone.given, f->xvector.given, "--clone", "--xvector"},
        {f->ref_text.given, f->ref_text_file.given, "--ref-text", "--ref-text-file"},
        {f->clone.given && !strcmp(f->clone.value, "-"), piped, "--clone -", "a text on standard input"},
        {f->ref_text_file.given && !strcmp(f->ref_text_file.value, "-"), piped || (f->clone.given && !strcmp(f->clone.value, "-")),
         "--ref-text-file -", "a text or recording on standard input"},
        {f->greedy.given, f->temperature.given && f->temperature.value > 0, "--greedy", "--temperature above 0"},
        {f->greedy.given, f->sub_temperature.given && f->sub_temperature.value > 0, "--greedy", "--sub-temperature above 0"},
        {argument, f->file.given, "a text", "-f"},
        {many, argument, how, "a text"},
        {f->jobs.given, f->file.given, "--jobs", "-f"},
        {f->jobs.given, f->lines.given, "--jobs", "--lines"},
        {many, f->output.given, how, "-o (the files go to --output-dir)"},
        {many, f->teacher.given, how, "--teacher"},
        {many, f->dump.given, how, "--dump"},
        {f->live.given, argument, "--live", "a text"},
        {f->live.given, f->file.given && strcmp(f->file.value, "-") != 0, "--live", "-f FILE"},
        {f->live.given, many, "--live", how},
        {f->live.given, f->clone.given && !strcmp(f->clone.value, "-"), "--live", "--clone -"},
        {f->live.given, f->teacher.given, "--live", "--teacher"},
        {f->live.given, f->dump.given, "--live", "--dump"},
        {f->live.given, f->special_tokens.given, "--live", "--special-tokens"},
        {f->split.given && f->split.value > 0, f->teacher.given, "--split", "--teacher"},
        {f->split.given && f->split.value > 0, f->dump.given, "--split", "--dump"},
    };
    for (size_t i = 0; i < CLI_COUNT(pairs); i++) {
        if (pairs[i].a && pairs[i].b)
            return cli_fail(error, PARLEY_ARGUMENT, "%s and %s exclude each other", pairs[i].name_a, pairs[i].name_b);
    }
    return PARLEY_OK;
}

/* Files that are written must be told apart, and codes be known by their names, before anything is computed. */
static parley_status check_outputs(const say_fields *f, parley_error *error)
{
    const char *const files[] = {f->output.value, f->json.value, f->codes.value};
    const char *const names[] = {"-o", "--json", "--codes"};
    bool many = f->jobs.given || f->lines.given;
    if (many && f->codes.given && strcmp(f->codes.value, "npy") != 0 && strcmp(f->codes.value, "json") != 0)
        return cli_fail(error, PARLEY_ARGUMENT, "--codes of many texts is npy or json, not \"%.100s\"", f->codes.value);
    if (!many && f->codes.given)
        CLI_TRY(cli_codes_name(f->codes.value, "--codes", error));
    for (size_t i = 0; i < CLI_COUNT(files); i++) {
        for (size_t k = 0; k < i; k++) {
            bool same = files[i] && files[k] && (!strcmp(files[i], files[k]) || (cli_is_stdout(files[i]) && cli_is_stdout(files[k])));
            if (same)
                return cli_fail(error, PARLEY_ARGUMENT, "%s and %s cannot both write \"%.200s\"", names[k], names[i], files[i]);
        }
    }
    return PARLEY_OK;
}

parley_status say_check(const say_fields *fields, const cli_arguments *arguments, parley_error *error)
{
    enum { LEAST_PIECE = 20 }; /* as in parley_tts_options */
    if (fields->split.value > 0 && fields->split.value < LEAST_PIECE)
        return cli_fail(error, PARLEY_ARGUMENT, "--split: %d, expected 0 or at least %d", (int)fields->split.value, LEAST_PIECE);
    CLI_TRY(check_exclusions(fields, arguments->count > 0, error));
    CLI_TRY(check_needs(fields, error));
    return check_outputs(fields, error);
}

parley_status say_draw_seed(uint64_t *seed, parley_error *error)
{
    if (getrandom(seed, sizeof *seed, 0) == (ssize_t)sizeof *seed)
        return PARLEY_OK;
    return cli_fail(error, PARLEY_IO, "no random seed can be drawn; give one with --seed");
}

static parley_status read_vector(const char *path, cli_npy *vector, parley_error *error)
{
    CLI_TRY(cli_npy_read(path, "--xvector", vector, error));
    if (vector->type != 'f')
        return cli_fail(error, PARLEY_FORMAT, "%.200s: a voice is a vector of float32, found int32", path);
    if (vector->rank != 1 && !(vector->rank == 2 && vector->shape[0] == 1))
        return cli_fail(error, PARLEY_FORMAT, "%.200s: a voice has one dimension, found %d", path, vector->rank);
    return vector->count ? PARLEY_OK : cli_fail(error, PARLEY_ARGUMENT, "%.200s: an empty vector", path);
}

parley_status say_read_inputs(const say_fields *fields, say_inputs *inputs, parley_error *error)
{
    *inputs = (say_inputs){0};
    if (fields->xvector.given)
        CLI_TRY(read_vector(fields->xvector.value, &inputs->xvector, error));
    if (fields->ref_codes.given)
        CLI_TRY(cli_codes_read(fields->ref_codes.value, "--ref-codes", &inputs->ref_codes, error));
    if (fields->teacher.given)
        CLI_TRY(cli_codes_read(fields->teacher.value, "--teacher", &inputs->teacher, error));
    return PARLEY_OK;
}

void say_free_inputs(say_inputs *inputs)
{
    cli_npy_free(&inputs->xvector);
    cli_buffer_free(&inputs->ref_text);
    parley_voice_free(inputs->clone.voice);
    say_voice_free(&inputs->voice);
    cli_codes_free(&inputs->ref_codes);
    cli_codes_free(&inputs->teacher);
}

static void set_sampling(const say_fields *f, parley_tts_options *options)
{
    const struct {
        const cli_real *from;
        float *to;
    } reals[] = {
        {&f->temperature, &options->talker.temperature},
        {&f->top_p, &options->talker.top_p},
        {&f->repetition_penalty, &options->talker.repetition_penalty},
        {&f->sub_temperature, &options->predictor.temperature},
        {&f->sub_top_p, &options->predictor.top_p},
    };
    for (size_t i = 0; i < CLI_COUNT(reals); i++) {
        if (reals[i].from->given)
            *reals[i].to = (float)reals[i].from->value;
    }
    if (f->top_k.given)
        options->talker.top_k = f->top_k.value;
    if (f->sub_top_k.given)
        options->predictor.top_k = f->sub_top_k.value;
    if (f->greedy.given)
        options->talker.temperature = options->predictor.temperature = 0.0f;
}

static void set_text(const say_fields *f, const say_inputs *inputs, parley_tts_options *options)
{
    if (f->language.given)
        options->language = f->language.value;
    if (f->instruct.given && *f->instruct.value)
        options->instruct = f->instruct.value;
    options->teacher = inputs->teacher.values;
    options->teacher_frames = inputs->teacher.frames;
}

/* A text has at least as many bytes as the library counts characters: one of no more bytes than the length is one piece either way. */
void say_set_pieces(const say_fields *fields, size_t bytes, parley_tts_options *options)
{
    enum { LENGTH = 1000 }; /* a minute or so of speech */
    int32_t length = fields->split.given ? fields->split.value : LENGTH;
    if (options->tap || options->teacher || bytes <= (size_t)length)
        length = 0;
    options->piece_length = length;
    options->exact_cut = options->exact_cut && length == 0 && !fields->live.given;
    options->live_text = fields->live.given;
    if (fields->pause.given)
        options->pause_seconds = fields->pause.value;
}

parley_status say_tts_options(const parley_model *model, const say_fields *fields, const say_inputs *inputs, const say_voice *row,
                              parley_tts_options *options, parley_error *error)
{
    int32_t groups = parley_model_info(model)->groups;
    CLI_TRY(cli_codes_check(&inputs->ref_codes, "--ref-codes", groups, error));
    CLI_TRY(cli_codes_check(&inputs->teacher, "--teacher", groups, error));
    parley_tts_options_init(model, options);
    say_set_voice(fields, inputs, row, options);
    set_text(fields, inputs, options);
    set_sampling(fields, options);
    if (fields->layout.given)
        options->layout = (parley_layout)fields->layout.value;
    else if (options->xvector)
        options->layout = PARLEY_LAYOUT_STREAMING; /* the init function cannot know of the vector */
    if (fields->kv.given)
        options->kv = (parley_kv)fields->kv.value;
    if (fields->activations.given)
        options->activations = (parley_activations)fields->activations.value;
    if (fields->max_frames.given) {
        options->budget = PARLEY_BUDGET_FRAMES;
        options->max_frames = fields->max_frames.value;
    }
    if (fields->speed.given)
        options->speed = fields->speed.value;
    options->special_tokens = fields->special_tokens.given;
    options->allow_empty = fields->allow_empty.given;
    options->seed = fields->seed.value;
    return fields->seed.given ? PARLEY_OK : say_draw_seed(&options->seed, error);
}
