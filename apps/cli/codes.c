#include "codes.h"

#include "json_in.h"
#include "npy.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 28, MAX_GROUPS = 1024 };

static parley_status fail_empty(const char *name, parley_error *error)
{
    return cli_fail(error, PARLEY_ARGUMENT, "%.200s: no codes in it", name);
}

parley_status cli_codes_name(const char *path, const char *what, parley_error *error)
{
    if (cli_ends_with(path, ".npy") || cli_ends_with(path, ".json"))
        return PARLEY_OK;
    return cli_fail(error, PARLEY_ARGUMENT, "%s \"%.200s\": codes are files whose name ends in .npy or .json", what, path);
}

/* One row; the first one says how many codes the others have. */
static parley_status read_row(cli_json_in *in, cli_buffer *values, cli_codes *codes, parley_error *error)
{
    CLI_TRY(cli_json_expect(in, '[', error));
    int32_t count = 0, value;
    while (cli_json_peek(in) != ']') {
        if (count > 0)
            CLI_TRY(cli_json_expect(in, ',', error));
        cli_json_peek(in);
        CLI_TRY(cli_json_int32(in, &value, error));
        if (++count > MAX_GROUPS)
            return cli_json_fail(in, error, PARLEY_FORMAT, "row %zu has more than %d codes", codes->frames, MAX_GROUPS);
        cli_append(values, &value, sizeof value);
    }
    CLI_TRY(cli_json_expect(in, ']', error));
    if (codes->frames > 0 && count != codes->groups)
        return cli_json_fail(in, error, PARLEY_FORMAT, "ragged codes: row %zu has %d, row 0 has %d", codes->frames, (int)count, (int)codes->groups);
    codes->groups = count;
    codes->frames++;
    return count ? PARLEY_OK : fail_empty(in->name, error);
}

static parley_status read_rows(cli_json_in *in, cli_buffer *values, cli_codes *codes, parley_error *error)
{
    CLI_TRY(cli_json_expect(in, '[', error));
    while (cli_json_peek(in) != ']') {
        if (codes->frames > 0)
            CLI_TRY(cli_json_expect(in, ',', error));
        CLI_TRY(read_row(in, values, codes, error));
    }
    CLI_TRY(cli_json_expect(in, ']', error));
    CLI_TRY(cli_json_end(in, error));
    if (values->failed)
        return cli_fail_memory(error);
    return codes->frames ? PARLEY_OK : fail_empty(in->name, error);
}

parley_status cli_codes_parse_json(const char *name, const char *data, size_t size, cli_codes *codes, parley_error *error)
{
    *codes = (cli_codes){0};
    cli_buffer values = {0};
    cli_json_in in = {.name = name, .data = data, .size = size};
    parley_status status = read_rows(&in, &values, codes, error);
    if (status == PARLEY_OK && !(codes->values = malloc(values.size)))
        status = cli_fail_memory(error);
    if (status == PARLEY_OK)
        memcpy(codes->values, values.data, values.size);
    else
        *codes = (cli_codes){0};
    cli_buffer_free(&values);
    return status;
}

static parley_status check_array(const char *name, const cli_npy *array, parley_error *error)
{
    if (array->type != 'i')
        return cli_fail(error, PARLEY_FORMAT, "%.200s: codes are int32, found float32", name);
    if (array->rank != 2)
        return cli_fail(error, PARLEY_FORMAT, "%.200s: codes have two dimensions (frames, groups), found %d", name, array->rank);
    if (array->count == 0)
        return fail_empty(name, error);
    if (array->shape[1] > MAX_GROUPS)
        return cli_fail(error, PARLEY_FORMAT, "%.200s: %lld codes a frame, at most %d are possible", name, (long long)array->shape[1], MAX_GROUPS);
    return PARLEY_OK;
}

parley_status cli_codes_parse_npy(const char *name, const void *data, size_t size, cli_codes *codes, parley_error *error)
{
    *codes = (cli_codes){0};
    cli_npy array;
    CLI_TRY(cli_npy_parse(name, data, size, &array, error));
    parley_status status = check_array(name, &array, error);
    if (status == PARLEY_OK) {
        *codes = (cli_codes){array.ints, (size_t)array.shape[0], (int32_t)array.shape[1]};
        array.ints = NULL;
    }
    cli_npy_free(&array);
    return status;
}

parley_status cli_codes_read(const char *path, const char *what, cli_codes *codes, parley_error *error)
{
    *codes = (cli_codes){0};
    CLI_TRY(cli_codes_name(path, what, error));
    cli_buffer bytes = {0};
    parley_status status = cli_read_file(path, what, MAX_FILE, &bytes, error);
    if (status == PARLEY_OK && cli_ends_with(path, ".npy"))
        status = cli_codes_parse_npy(path, bytes.data, bytes.size, codes, error);
    else if (status == PARLEY_OK)
        status = cli_codes_parse_json(path, bytes.data, bytes.size, codes, error);
    cli_buffer_free(&bytes);
    return status;
}

void cli_codes_free(cli_codes *codes)
{
    free(codes->values);
    *codes = (cli_codes){0};
}

parley_status cli_codes_check(const cli_codes *codes, const char *what, int32_t groups, parley_error *error)
{
    if (!codes->values || codes->groups == groups)
        return PARLEY_OK;
    return cli_fail(error, PARLEY_ARGUMENT, "%s have %d codes a frame, the model has %d", what, (int)codes->groups, (int)groups);
}

void cli_codes_write(cli_buffer *out, const char *path, const int32_t *values, size_t frames, int32_t groups)
{
    if (cli_ends_with(path, ".npy")) {
        cli_npy_header(out, 'i', (int64_t[]){(int64_t)frames, groups}, 2);
        cli_npy_elements(out, 'i', values, frames * (size_t)groups);
        return;
    }
    cli_append_text(out, "[");
    for (size_t f = 0; f < frames; f++) {
        for (int32_t g = 0; g < groups; g++)
            cli_appendf(out, "%s%d", g ? ", " : f ? ",\n [" : "[", (int)values[f * (size_t)groups + (size_t)g]);
        cli_append_text(out, "]");
    }
    cli_append_text(out, "]\n");
}
