/* parley align: times of the words of a text in a sound. */
#include "commands.h"
#include "dump.h"
#include "hear_options.h"
#include "notice.h"
#include "output.h"
#include "transcript_json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct align_fields {
    cli_model_fields model;
    cli_audio_fields audio;
    cli_unit_fields cutting;
    cli_text text, text_file, units, language, output, dump;
    cli_int attention, format, kv, activations;
    cli_flag quiet;
} align_fields;

#define FIELD(member) .offset = offsetof(align_fields, member)
#define TEXT(option, member, placeholder, about)                                             \
    {                                                                                        \
        .name = option, .kind = CLI_TEXT, FIELD(member), .value = placeholder, .help = about \
    }
#define CHOICE(option, member, list, about)                                                                \
    {                                                                                                      \
        .name = option, .kind = CLI_CHOICE, FIELD(member), .value = "NAME", .help = about, .choices = list \
    }

static const char *const formats[] = {"json", "srt", "vtt", "tsv", "lrc", NULL};
static const int32_t format_of[] = {HEAR_JSON, CLI_FORMAT_SRT, CLI_FORMAT_VTT, CLI_FORMAT_TSV, CLI_FORMAT_LRC};

static const cli_option rows[] = {
    {.name = "--model",
     .letter = 'm',
     .kind = CLI_TEXT,
     FIELD(model.model),
     .value = "ALIGNER",
     .help = "a forced aligner: directory, GGUF file or folder of GGUF files; needed"},
    CLI_ROW_MODEL2(align_fields, model),
    TEXT("--text", text, "TEXT", "what is said"),
    TEXT("--text-file", text_file, "FILE", "the same from a file, - is standard input"),
    TEXT("--units", units, "FILE", "what is said, cut into units already: one a line"),
    TEXT("--language", language, "NAME", "of the text, English name or ISO code: decides how it is cut into units"),
    CLI_ROW_UNITS_BY(align_fields, cutting),
    CLI_ROW_LEXICON(align_fields, cutting),
    CHOICE("--attention", attention, hear_attentions, "windows of 8 s in the encoder, as trained, or all of the sound; default windowed"),
    CHOICE("--format", format, formats, "what to write; default: by the ending of -o, else json"),
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, FIELD(output), .value = "FILE", .help = "what to write; default -, standard output"},
    TEXT("--dump", dump, "DIR", "writes every intermediate result as DIR/NAME.npy"),
    CLI_ROW_RAW(align_fields, audio),
    CLI_ROW_RATE(align_fields, audio),
    CLI_ROW_CHANNELS(align_fields, audio),
    CLI_ROW_SPLITTER(align_fields, model),
    CLI_ROW_THREADS(align_fields, model),
    CLI_ROW_CPU(align_fields, model),
    CHOICE("--kv", kv, cli_kv_choices, "element type of the cache; default f16"),
    CHOICE("--activations", activations, cli_activations_choices, "arithmetic of quantised matrices; default int8 where the processor has it"),
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, FIELD(quiet), .help = "no progress, no summary and no warning"},
};

static const cli_command align_command = {
    .name = "align",
    .usage = "-m ALIGNER [options] (--text TEXT | --text-file FILE | --units FILE) SOUND",
    .about = "Finds when each word of a text is said in a sound file (- is standard input).",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = 1,
};

/* All that one run holds. */
typedef struct run {
    const align_fields *fields;
    const char *file;
    int32_t format;
    cli_buffer text;
    const char **units; /* into text; NULL: none */
    size_t n_units;
    cli_unit_rules cutting;
    parley_audio audio;
    cli_output output;
    cli_dump dump;
    parley_model *model;
    double load; /* seconds */
    parley_alignment *alignment;
    cli_progress progress;
} run;

static void close_run(run *r)
{
    parley_alignment_free(r->alignment);
    parley_model_close(r->model);
    parley_audio_free(&r->audio);
    cli_output_discard(&r->output);
    cli_dump_close(&r->dump);
    free(r->units);
    cli_unit_rules_close(&r->cutting);
    cli_buffer_free(&r->text);
}

/* ------------------------------------------------------------------ input */

/* The lines of the text; their ends become those of strings. */
static parley_status cut_units(run *r, parley_error *error)
{
    size_t room = 1;
    for (size_t i = 0; i < r->text.size; i++)
        room += r->text.data[i] == '\n';
    r->units = calloc(room, sizeof *r->units);
    if (!r->units)
        return cli_fail_memory(error);
    for (char *at = r->text.size ? r->text.data : NULL; at;) {
        char *end = strchr(at, '\n');
        if (end)
            *end = 0;
        size_t length = strlen(at);
        if (length && at[length - 1] == '\r')
            at[--length] = 0;
        if (!length)
            return cli_fail(error, PARLEY_ARGUMENT, "--units \"%.200s\": line %zu is empty, a unit is expected", r->fields->units.value,
                            r->n_units + 1);
        r->units[r->n_units++] = at;
        at = end ? end + 1 : NULL;
    }
    return r->n_units ? PARLEY_OK : cli_fail(error, PARLEY_ARGUMENT, "--units \"%.200s\" is empty", r->fields->units.value);
}

static parley_status read_text(run *r, parley_error *error)
{
    const align_fields *f = r->fields;
    if (f->units.given) {
        CLI_TRY(hear_read_text(f->units.value, "--units", &r->text, error));
        return cut_units(r, error);
    }
    if (f->text_file.given)
        return hear_read_text(f->text_file.value, "--text-file", &r->text, error);
    cli_append_text(&r->text, f->text.value);
    return r->text.failed ? cli_fail_memory(error) : PARLEY_OK;
}

static parley_status read_sound(run *r, parley_error *error)
{
    parley_audio_options options;
    CLI_TRY(cli_audio_options(&r->fields->audio, &options, error));
    options.rate = PARLEY_ASR_RATE;
    options.max_seconds = HEAR_MOST_SECONDS;
    CLI_TRY(cli_read_audio(r->file, &options, &r->audio, error));
    return r->audio.count ? PARLEY_OK : cli_fail(error, PARLEY_ARGUMENT, "\"%.300s\" has no samples", r->file);
}

static bool is_language(const cli_text *language, const char *name, const char *code)
{
    return language->given && (!strcasecmp(language->value, name) || !strcasecmp(language->value, code));
}

/* Options that would do nothing are mistakes. */
static parley_status check_cutting(const align_fields *f, parley_error *error)
{
    const struct {
        bool given;
        const char *option, *language, *code;
    } rows_of[] = {{f->cutting.units_by.given, "--units-by", "Japanese", "ja"}, {f->cutting.lexicon.given, "--lexicon", "Korean", "ko"}};
    for (size_t i = 0; i < CLI_COUNT(rows_of); i++) {
        if (!rows_of[i].given)
            continue;
        if (f->units.given)
            return cli_fail(error, PARLEY_ARGUMENT, "%s and --units exclude each other: these units are cut already", rows_of[i].option);
        if (!is_language(&f->language, rows_of[i].language, rows_of[i].code))
            return cli_fail(error, PARLEY_ARGUMENT, "%s is about %s text: it needs --language %s", rows_of[i].option, rows_of[i].language,
                            rows_of[i].language);
    }
    return PARLEY_OK;
}

static parley_status check_readers(const align_fields *f, const char *sound, parley_error *error)
{
    const cli_text *files[] = {&f->text_file, &f->units, &f->cutting.lexicon};
    size_t readers = !strcmp(sound, "-");
    for (size_t i = 0; i < CLI_COUNT(files); i++)
        readers += files[i]->given && !strcmp(files[i]->value, "-");
    return readers > 1 ? cli_fail(error, PARLEY_ARGUMENT, "standard input (-) can be read once, it is named %zu times", readers) : PARLEY_OK;
}

static parley_status check(const align_fields *f, const cli_arguments *arguments, parley_error *error)
{
    int given = f->text.given + f->text_file.given + f->units.given;
    if (arguments->count == 0)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley align\" needs a sound file, or - for standard input");
    if (!f->model.model.given)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley align\" needs -m ALIGNER: no aligner comes with parley");
    if (given != 1)
        return cli_fail(error, PARLEY_ARGUMENT, "\"parley align\" takes one of --text, --text-file and --units, given are %d", given);
    CLI_TRY(check_cutting(f, error));
    return check_readers(f, arguments->values[0], error);
}

/* ------------------------------------------------------------------ work */

static bool draw_progress(void *context, double seconds)
{
    run *r = context;
    cli_progress_draw_heard(&r->progress, seconds, (double)r->audio.count / PARLEY_ASR_RATE, 0, 1);
    return true;
}

static parley_status run_aligner(run *r, parley_error *error)
{
    const align_fields *f = r->fields;
    parley_align_options options;
    parley_align_options_init(r->model, &options);
    options.language = f->language.given ? f->language.value : "";
    options.units = r->units;
    options.n_units = r->n_units;
    cli_unit_rules_apply(&r->cutting, &options);
    if (f->attention.given)
        options.attention = (parley_attention)f->attention.value;
    if (f->kv.given)
        options.kv = (parley_kv)f->kv.value;
    if (f->activations.given)
        options.activations = (parley_activations)f->activations.value;
    if (r->dump.directory) {
        options.tap = cli_dump_tap;
        options.tap_context = &r->dump;
    }
    options.progress = draw_progress;
    options.progress_context = r;
    cli_progress_start(&r->progress, f->quiet.given);
    parley_status status = parley_align(r->model, r->audio.samples, r->audio.count, r->units || !r->text.data ? "" : r->text.data,
                                        r->units ? 0 : r->text.size, &options, &r->alignment, error);
    cli_progress_end(&r->progress);
    return status;
}

static void write_json(const run *r, const cli_word *words, double seconds, cli_buffer *out)
{
    const parley_alignment *a = r->alignment;
    cli_json json = {.out = out};
    cli_hear_costs costs = {.load = r->load, .times = a->times};
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "file", r->file);
    cli_json_real(&json, "audio_seconds", seconds);
    cli_words_member(&json, words, a->n_words);
    cli_json_bool(&json, "reliable", a->reliable);
    cli_json_string(&json, "units_by", cli_unit_rule_name(a->rule));
    cli_json_unsigned(&json, "windows", a->n_windows);
    cli_cost_members(&json, &costs, seconds);
    cli_json_close(&json, '}');
    cli_append_text(out, "\n");
}

/* Only JSON can say that times are not to be believed. */
static parley_status write_words(const run *r, const cli_word *words, cli_buffer *out, parley_error *error)
{
    double seconds = (double)r->audio.count / PARLEY_ASR_RATE;
    cli_segment segment = {.end = seconds,
                           .text = r->units || !r->text.data ? "" : r->text.data,
                           .language = "",
                           .finish_reason = "stop",
                           .words = words,
                           .n_words = r->alignment->n_words};
    cli_transcript transcript = {.file = r->file,
                                 .language = "",
                                 .text = segment.text,
                                 .finish_reason = "stop",
                                 .audio_seconds = seconds,
                                 .segments = &segment,
                                 .n_segments = 1};
    if (r->format != HEAR_JSON && !r->alignment->reliable)
        return cli_fail(error, PARLEY_VALUE,
                        "\"%.200s\": the times contradict each other or the sound, the text may not be what is said; "
                        "--format json shows them",
                        r->file);
    if (r->format != HEAR_JSON)
        return cli_write_text(out, (cli_text_format)r->format, &transcript, error);
    write_json(r, words, seconds, out);
    return out->failed ? cli_fail_memory(error) : PARLEY_OK;
}

static parley_status write_output(run *r, parley_error *error)
{
    const parley_alignment *a = r->alignment;
    cli_buffer out = {0};
    cli_word *words = calloc(a->n_words + 1, sizeof *words);
    for (size_t i = 0; words && i < a->n_words; i++)
        words[i] = (cli_word){a->words[i].text, a->words[i].start, a->words[i].end};
    parley_status status = words ? write_words(r, words, &out, error) : cli_fail_memory(error);
    if (status == PARLEY_OK)
        status = cli_output_write(&r->output, out.data, out.size, error);
    free(words);
    cli_buffer_free(&out);
    return status == PARLEY_OK ? cli_output_commit(&r->output, error) : status;
}

static parley_status align(run *r, parley_error *error)
{
    const align_fields *f = r->fields;
    CLI_TRY(read_text(r, error));
    CLI_TRY(cli_unit_rules_open(&f->cutting, &r->cutting, error));
    CLI_TRY(cli_output_open(&r->output, f->output.given ? f->output.value : "-", false, "-o", error));
    CLI_TRY(read_sound(r, error));
    CLI_TRY(cli_dump_open(&r->dump, f->dump.value, NULL, error));
    CLI_TRY(hear_open_aligner(&f->model, &r->model, &r->load, error));
    CLI_TRY(run_aligner(r, error));
    CLI_TRY(cli_dump_write(&r->dump, error));
    CLI_TRY(write_output(r, error));
    if (!f->quiet.given && !r->alignment->reliable)
        cli_notice("warning: %.300s: the times are not reliable, the text may not be what is said", r->file);
    if (!f->quiet.given)
        cli_notice("%.300s: %zu words in %.2f s of sound, in %.2f s", r->file, r->alignment->n_words, (double)r->audio.count / PARLEY_ASR_RATE,
                   r->alignment->times.total);
    return PARLEY_OK;
}

parley_status cli_align(int argc, char **argv, parley_error *error)
{
    align_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&align_command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&align_command, error);
    CLI_TRY(check(&fields, &arguments, error));
    cli_int format = {fields.format.given, fields.format.given ? format_of[fields.format.value] : 0};
    run r = {.fields = &fields, .file = arguments.values[0], .format = hear_format(&format, &fields.output, HEAR_JSON), .output = CLI_OUTPUT_NONE};
    parley_status status = align(&r, error);
    close_run(&r);
    return status;
}
