#include "bench_earlier.h"

#include "json_in.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20, NUMBER = 40 /* characters of one */, KEYS = 4 };

typedef struct cli_bench_past {
    cli_buffer text[KEYS]; /* stage, shape, type, level */
    double seconds;
} cli_bench_past;

static const char *const keys[KEYS] = {"stage", "shape", "type", "level"};

void cli_bench_earlier_free(cli_bench_earlier *earlier)
{
    for (size_t i = 0; i < earlier->count; i++)
        for (int k = 0; k < KEYS; k++)
            cli_buffer_free(&earlier->rows[i].text[k]);
    free(earlier->rows);
    *earlier = (cli_bench_earlier){0};
}

static cli_bench_past *add_row(cli_bench_earlier *earlier)
{
    if (earlier->count == earlier->capacity) {
        size_t capacity = earlier->capacity ? earlier->capacity * 2 : 16;
        cli_bench_past *rows = realloc(earlier->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        earlier->rows = rows;
        earlier->capacity = capacity;
    }
    earlier->rows[earlier->count] = (cli_bench_past){.seconds = 0.0};
    return &earlier->rows[earlier->count++];
}

static parley_status read_number(cli_json_in *in, double *value, parley_error *error)
{
    char text[NUMBER + 1], *end;
    size_t n = 0;
    (void)cli_json_peek(in); /* stands behind white space */
    while (n < NUMBER && in->at + n < in->size && strchr("+-.0123456789eE", in->data[in->at + n]) && in->data[in->at + n])
        n++;
    memcpy(text, in->data + in->at, n);
    text[n] = '\0';
    *value = strtod(text, &end);
    if (n == 0 || *end)
        return cli_json_fail(in, error, PARLEY_FORMAT, "expected a number");
    in->at += n;
    return PARLEY_OK;
}

/* Members that are not compared may be texts, numbers or null. */
static parley_status read_member(cli_json_in *in, cli_bench_past *row, cli_buffer *key, parley_error *error)
{
    cli_buffer other = {0}, *text = &other;
    double number = 0.0;
    CLI_TRY(cli_json_text(in, key, error));
    CLI_TRY(cli_json_expect(in, ':', error));
    for (int k = 0; k < KEYS; k++)
        if (key->data && strcmp(key->data, keys[k]) == 0 && !row->text[k].data)
            text = &row->text[k];
    if (cli_json_peek(in) == '"') {
        parley_status status = cli_json_text(in, text, error);
        cli_buffer_free(&other);
        return status;
    }
    if (cli_json_null(in))
        return PARLEY_OK;
    CLI_TRY(read_number(in, &number, error));
    if (key->data && strcmp(key->data, "seconds") == 0)
        row->seconds = number;
    return PARLEY_OK;
}

static parley_status read_row(cli_json_in *in, cli_bench_earlier *earlier, parley_error *error)
{
    cli_bench_past *row = add_row(earlier);
    if (!row)
        return cli_fail_memory(error);
    CLI_TRY(cli_json_expect(in, '{', error));
    for (bool first = true; !cli_json_accept(in, '}'); first = false) {
        cli_buffer key = {0};
        if (!first)
            CLI_TRY(cli_json_expect(in, ',', error));
        parley_status status = read_member(in, row, &key, error);
        cli_buffer_free(&key);
        CLI_TRY(status);
    }
    return PARLEY_OK;
}

static parley_status read_rows(cli_json_in *in, cli_bench_earlier *earlier, parley_error *error)
{
    CLI_TRY(cli_json_expect(in, '[', error));
    for (bool first = true; !cli_json_accept(in, ']'); first = false) {
        if (!first)
            CLI_TRY(cli_json_expect(in, ',', error));
        CLI_TRY(read_row(in, earlier, error));
    }
    return cli_json_end(in, error);
}

parley_status cli_bench_earlier_read(const char *path, cli_bench_earlier *earlier, parley_error *error)
{
    cli_buffer bytes = {0};
    *earlier = (cli_bench_earlier){0};
    CLI_TRY(cli_read_file(path, "earlier figures", MOST_BYTES, &bytes, error));
    cli_json_in in = {.name = path, .data = bytes.data ? bytes.data : "", .size = bytes.size};
    parley_status status = read_rows(&in, earlier, error);
    cli_buffer_free(&bytes);
    if (status != PARLEY_OK)
        cli_bench_earlier_free(earlier);
    return status;
}

static bool same_text(const cli_buffer *text, const char *other)
{
    return strcmp(text->data ? text->data : "", other) == 0;
}

double cli_bench_earlier_seconds(const cli_bench_earlier *earlier, const parley_bench_row *row)
{
    for (size_t i = 0; i < earlier->count; i++) {
        const cli_bench_past *past = &earlier->rows[i];
        if (same_text(&past->text[0], row->stage) && same_text(&past->text[1], row->shape) && same_text(&past->text[2], row->type)
            && same_text(&past->text[3], row->level))
            return past->seconds;
    }
    return 0.0;
}
