#include "options.h"

#include "notice.h"
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const cli_option *option)
{
    return option->kind == CLI_INT || option->kind == CLI_REAL || option->kind == CLI_SEED;
}

/* "0 to 10", "above 0, up to 1", "1 or more" */
static void describe_range(const cli_option *option, cli_buffer *text)
{
    bool endless = option->kind == CLI_INT && option->high >= INT32_MAX;
    if (option->kind == CLI_SEED)
        cli_append_text(text, "0 to 18446744073709551615");
    else if (endless)
        cli_appendf(text, "%g or more", option->low);
    else
        cli_appendf(text, option->above ? "above %g, up to %g" : "%g to %g", option->low, option->high);
}

static void describe_choices(const cli_option *option, cli_buffer *text, const char *between)
{
    for (size_t i = 0; option->choices[i]; i++)
        cli_appendf(text, "%s%s", i ? between : "", option->choices[i]);
}

static parley_status fail_value(const cli_option *option, const char *value, parley_error *error)
{
    cli_buffer text = {0};
    if (option->kind == CLI_CHOICE) {
        cli_append_text(&text, "one of ");
        describe_choices(option, &text, ", ");
    } else {
        cli_append_text(&text, option->kind == CLI_REAL ? "a number, " : "a whole number, ");
        describe_range(option, &text);
    }
    cli_fail(error, PARLEY_ARGUMENT, "%s takes %s, not \"%.100s\"", option->name, text.failed ? "another value" : text.data, value);
    cli_buffer_free(&text);
    return PARLEY_ARGUMENT;
}

/* strtod() and strtoll() take more than decimal numbers: white space, hexadecimals, "inf", "nan". */
static bool only(const char *value, const char *characters)
{
    return *value && strspn(value, characters) == strlen(value);
}

static bool parse_number(const cli_option *option, const char *value, double *number)
{
    char *end;
    if (!only(value, option->kind == CLI_INT ? "+-0123456789" : "+-.eE0123456789"))
        return false;
    *number = strtod(value, &end);
    bool inside = option->above ? *number > option->low : *number >= option->low;
    return *end == 0 && end != value && inside && *number <= option->high && isfinite(*number);
}

static bool parse_seed(const char *value, uint64_t *seed)
{
    if (!only(value, "0123456789"))
        return false;
    errno = 0;
    *seed = strtoull(value, NULL, 10);
    return errno == 0;
}

static bool parse_choice(const cli_option *option, const char *value, int32_t *index)
{
    for (*index = 0; option->choices[*index]; ++*index) {
        if (!strcmp(option->choices[*index], value))
            return true;
    }
    return false;
}

static parley_status store_again(const cli_option *option, const char *value, cli_texts *field, parley_error *error)
{
    if (field->count == CLI_MOST_TEXTS)
        return cli_fail(error, PARLEY_ARGUMENT, "%s is given more than %d times", option->name, (int)CLI_MOST_TEXTS);
    field->given = true;
    field->values[field->count++] = value;
    return PARLEY_OK;
}

static parley_status store(const cli_option *option, const char *value, void *fields, parley_error *error)
{
    char *field = (char *)fields + option->offset;
    double number = 0.0;
    uint64_t seed = 0;
    int32_t index = 0;
    if (option->kind == CLI_TEXTS)
        return store_again(option, value, (cli_texts *)(void *)field, error);
    if (*(bool *)field) /* each of the structures begins with it */
        return cli_fail(error, PARLEY_ARGUMENT, "%s is given twice", option->name);
    bool good = option->kind == CLI_CHOICE ? parse_choice(option, value, &index)
                : option->kind == CLI_SEED ? parse_seed(value, &seed)
                                           : !is_number(option) || parse_number(option, value, &number);
    if (!good)
        return fail_value(option, value, error);
    switch (option->kind) {
    case CLI_FLAG: *(cli_flag *)(void *)field = (cli_flag){true}; break;
    case CLI_TEXTS: break;
    case CLI_TEXT: *(cli_text *)(void *)field = (cli_text){true, value}; break;
    case CLI_INT: *(cli_int *)(void *)field = (cli_int){true, (int32_t)number}; break;
    case CLI_REAL: *(cli_real *)(void *)field = (cli_real){true, number}; break;
    case CLI_SEED: *(cli_seed *)(void *)field = (cli_seed){true, seed}; break;
    case CLI_CHOICE: *(cli_int *)(void *)field = (cli_int){true, index}; break;
    }
    return PARLEY_OK;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->n_options; i++) {
        if (strlen(command->options[i].name) == length && !memcmp(command->options[i].name, name, length))
            return &command->options[i];
    }
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (size_t i = 0; i < command->n_options; i++) {
        if (command->options[i].letter && command->options[i].letter == letter)
            return &command->options[i];
    }
    return NULL;
}

/* A short form of more than a letter: the word as it stands. */
static const cli_option *find_alias(const cli_command *command, const char *word)
{
    for (size_t i = 0; i < command->n_options; i++) {
        if (command->options[i].alias && !strcmp(command->options[i].alias, word))
            return &command->options[i];
    }
    return NULL;
}

/* The list is longer than an error's text, so this message is printed here. */
static parley_status fail_unknown(const cli_command *command, const char *argument, parley_error *error)
{
    cli_buffer text = {0};
    cli_appendf(&text, "\"parley %s\" takes:", command->name);
    for (size_t i = 0; i < command->n_options; i++)
        cli_appendf(&text, " %s", command->options[i].name);
    cli_append_text(&text, " --help (\"--\" goes before a text that begins with '-')\n");
    cli_notice("unknown option \"%.100s\"", argument);
    if (!text.failed)
        cli_notice_raw(text.data);
    cli_buffer_free(&text);
    cli_fail(error, PARLEY_ARGUMENT, "%s", "");
    return PARLEY_ARGUMENT;
}

/* Whether the next word is an option of this command and so hardly a value that was meant. */
static bool looks_like_option(const cli_command *command, const char *word)
{
    if (!strcmp(word, "--"))
        return true;
    if (word[0] == '-' && word[1] == '-')
        return find_long(command, word, strcspn(word, "=")) != NULL;
    return word[0] == '-' && word[1] && (word[2] ? find_alias(command, word) : find_letter(command, word[1])) != NULL;
}

/* One option at argv[*at] and its value; *at ends on the last word taken. */
static parley_status parse_option(const cli_command *command, int argc, char **argv, int *at, void *fields, parley_error *error)
{
    const char *word = argv[*at], *value = NULL;
    bool is_long = word[1] == '-';
    const cli_option *option = find_alias(command, word);
    size_t length = option ? strlen(word) : is_long ? strcspn(word, "=") : 2;
    if (!option)
        option = is_long ? find_long(command, word, length) : find_letter(command, word[1]);
    if (!option)
        return fail_unknown(command, word, error);
    if (word[length])
        value = word + length + is_long;
    if (option->kind == CLI_FLAG)
        return value ? cli_fail(error, PARLEY_ARGUMENT, "%s takes no value", option->name) : store(option, NULL, fields, error);
    if (!value) {
        if (*at + 1 >= argc || looks_like_option(command, argv[*at + 1]))
            return option->kind == CLI_CHOICE ? fail_value(option, "", error)
                                              : cli_fail(error, PARLEY_ARGUMENT, "%s needs a value (%s)", option->name, option->value);
        value = argv[++*at];
    }
    return store(option, value, fields, error);
}

static parley_status add_argument(const cli_command *command, char *word, cli_arguments *arguments, parley_error *error)
{
    if (arguments->count == command->max_arguments)
        return cli_fail(error, PARLEY_ARGUMENT, "\"%.100s\" is one argument too many for \"parley %s\" (a text with spaces goes in quotes)", word,
                        command->name);
    arguments->values[arguments->count++] = word;
    return PARLEY_OK;
}

static bool wants_help(const cli_command *command, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "--help") || (!strcmp(argv[i], "-h") && !find_letter(command, 'h')))
            return true;
    }
    return false;
}

parley_status cli_parse(const cli_command *command, int argc, char **argv, void *fields, cli_arguments *arguments, parley_error *error)
{
    *arguments = (cli_arguments){.values = argv, .help = wants_help(command, argc, argv)};
    bool options = true;
    for (int i = 0; i < argc && !arguments->help; i++) {
        if (options && !strcmp(argv[i], "--"))
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            CLI_TRY(parse_option(command, argc, argv, &i, fields, error));
        else
            CLI_TRY(add_argument(command, argv[i], arguments, error));
    }
    return PARLEY_OK;
}

static void help_option(const cli_option *option, cli_buffer *text)
{
    enum { COLUMN = 32 };
    size_t start = text->size;
    if (option->letter)
        cli_appendf(text, "  -%c, %s", option->letter, option->name);
    else if (option->alias)
        cli_appendf(text, "  %s, %s", option->alias, option->name);
    else
        cli_appendf(text, "      %s", option->name);
    if (option->kind == CLI_CHOICE) {
        cli_append_text(text, " ");
        describe_choices(option, text, "|");
    } else if (option->kind != CLI_FLAG) {
        cli_appendf(text, " %s", option->value);
    }
    size_t width = text->size - start;
    if (width + 2 > COLUMN)
        cli_appendf(text, "\n%*s", COLUMN, "");
    else
        cli_appendf(text, "%*s", (int)(COLUMN - width), "");
    cli_append_text(text, option->help);
    if (is_number(option)) {
        cli_append_text(text, " (");
        describe_range(option, text);
        cli_append_text(text, ")");
    }
    cli_append_text(text, "\n");
}

void cli_help(const cli_command *command, cli_buffer *text)
{
    cli_appendf(text, "usage: parley %s %s\n\n%s\n\n", command->name, command->usage, command->about);
    for (size_t i = 0; i < command->n_options; i++)
        help_option(&command->options[i], text);
    cli_append_text(text, "  -h, --help                    this text\n");
}

parley_status cli_print_help(const cli_command *command, parley_error *error)
{
    cli_buffer text = {0};
    cli_help(command, &text);
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}
