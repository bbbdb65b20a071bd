#include "text_input.h"

#include <string.h>
#include <unistd.h>

static void drop_line_end(cli_buffer *text)
{
    if (text->size && text->data[text->size - 1] == '\n') {
        text->size--;
        if (text->size && text->data[text->size - 1] == '\r')
            text->size--;
        text->data[text->size] = 0;
    }
}

/* Editors of some systems mark UTF-8 files with it; nobody means it as text. */
static void drop_byte_order_mark(cli_buffer *text)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t size = sizeof mark - 1;
    if (text->size < size || memcmp(text->data, mark, size) != 0)
        return;
    text->size -= size;
    memmove(text->data, text->data + size, text->size + 1);
}

parley_status cli_text_input(const char *argument, const char *file, cli_buffer *text, parley_error *error)
{
    if (argument && file)
        return cli_fail(error, PARLEY_ARGUMENT, "a text and -f exclude each other");
    if (argument) {
        cli_append_text(text, argument);
        if (text->size > CLI_TEXT_MAX)
            return cli_fail(error, PARLEY_LIMIT, "the text is longer than %d bytes, the most that is read", (int)CLI_TEXT_MAX);
        return text->failed ? cli_fail_memory(error) : PARLEY_OK;
    }
    if (!file && isatty(0))
        return cli_fail(error, PARLEY_ARGUMENT, "no text: give it as an argument, with -f FILE or on standard input");
    CLI_TRY(cli_read_file(file ? file : "-", "text", CLI_TEXT_MAX, text, error));
    drop_byte_order_mark(text);
    drop_line_end(text);
    return PARLEY_OK;
}
