/* parley tokenize: ids of a text. */
#include "commands.h"
#include "json_out.h"
#include "model_options.h"
#include "output.h"
#include "text_input.h"

typedef struct tokenize_fields {
    cli_model_fields model;
    cli_flag special_tokens;
    cli_text file;
} tokenize_fields;

static const cli_option rows[] = {
    CLI_ROW_MODEL(tokenize_fields, model),
    CLI_ROW_MODEL2(tokenize_fields, model),
    {.name = "--special-tokens",
     .kind = CLI_FLAG,
     .offset = offsetof(tokenize_fields, special_tokens),
     .help = "read spellings such as <|im_end|> in the text as tokens"},
    CLI_ROW_SPLITTER(tokenize_fields, model),
    {.name = "--file",
     .letter = 'f',
     .kind = CLI_TEXT,
     .offset = offsetof(tokenize_fields, file),
     .value = "FILE",
     .help = "reads the text from a file, - is standard input"},
    CLI_ROW_THREADS(tokenize_fields, model),
    CLI_ROW_CPU(tokenize_fields, model),
};

static const cli_command command = {
    .name = "tokenize",
    .usage = "[options] (TEXT | -f FILE | standard input)",
    .about = "Prints the ids of a text as a JSON array.",
    .options = rows,
    .n_options = CLI_COUNT(rows),
    .max_arguments = 1,
};

static parley_status print_ids(const int32_t *ids, size_t count, parley_error *error)
{
    cli_buffer text = {0};
    cli_json json = {.out = &text};
    cli_json_ids(&json, NULL, ids, count);
    cli_append_text(&text, "\n");
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

static parley_status tokenize(const parley_model *model, const cli_buffer *text, bool special_tokens, parley_error *error)
{
    int32_t *ids = NULL;
    size_t count = 0;
    CLI_TRY(parley_tokenize(model, text->data ? text->data : "", text->size, special_tokens, &ids, &count, error));
    parley_status status = print_ids(ids, count, error);
    parley_free_ids(model, ids, count);
    return status;
}

parley_status cli_tokenize(int argc, char **argv, parley_error *error)
{
    tokenize_fields fields = {0};
    cli_arguments arguments;
    CLI_TRY(cli_parse(&command, argc, argv, &fields, &arguments, error));
    if (arguments.help)
        return cli_print_help(&command, error);
    cli_buffer text = {0};
    parley_model *model = NULL;
    parley_status status = cli_text_input(arguments.count ? arguments.values[0] : NULL, fields.file.value, &text, error);
    if (status == PARLEY_OK)
        status = cli_open_model(&fields.model, PARLEY_PARTS_TEXT, &model, NULL, error);
    if (status == PARLEY_OK)
        status = tokenize(model, &text, fields.special_tokens.given, error);
    parley_model_close(model);
    cli_buffer_free(&text);
    return status;
}
