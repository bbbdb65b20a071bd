#include "dump.h"

#include "inputs.h"
#include "npy.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAME = 60 };

struct cli_dump_array {
    char name[MAX_NAME + 1];
    char type;
    int rank;
    int64_t shape[CLI_NPY_MAX_RANK];
    cli_buffer elements; /* as in the file */
};

parley_status cli_dump_open(cli_dump *dump, const char *directory, const char *const *own, parley_error *error)
{
    *dump = (cli_dump){.directory = directory, .own = own};
    return directory ? cli_output_directory(directory, &dump->made, error) : PARLEY_OK;
}

static bool good_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t length = strlen(name);
    return length > 0 && length <= MAX_NAME && strspn(name, letters) == length;
}

static cli_dump_array *find(const cli_dump *dump, const char *name)
{
    for (size_t i = 0; i < dump->count; i++) {
        if (!strcmp(dump->arrays[i].name, name))
            return &dump->arrays[i];
    }
    return NULL;
}

static cli_dump_array *create(cli_dump *dump, const char *name, char type, const int64_t *shape, int rank)
{
    cli_dump_array *arrays = realloc(dump->arrays, (dump->count + 1) * sizeof *arrays);
    if (!arrays)
        return NULL;
    dump->arrays = arrays;
    cli_dump_array *array = &arrays[dump->count++];
    *array = (cli_dump_array){.type = type, .rank = rank};
    memcpy(array->name, name, strlen(name) + 1);
    memcpy(array->shape, shape, (size_t)rank * sizeof *shape);
    array->shape[0] = 0;
    return array;
}

static bool same_rows(const cli_dump_array *array, char type, const int64_t *shape, int rank)
{
    return array->type == type && array->rank == rank && !memcmp(array->shape + 1, shape + 1, (size_t)(rank - 1) * sizeof *shape);
}

static parley_status add(cli_dump *dump, const char *name, char type, const void *data, const int64_t *shape, int rank, parley_error *error)
{
    if (!good_name(name) || (type != 'f' && type != 'i') || rank < 1 || rank > CLI_NPY_MAX_RANK)
        return cli_fail(error, PARLEY_INTERNAL, "stage \"%.60s\" cannot be dumped: its name, type or rank is wrong", name);
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(count, (size_t)shape[i], &count))
            return cli_fail(error, PARLEY_INTERNAL, "stage \"%.60s\" cannot be dumped: its shape is wrong", name);
    }
    cli_dump_array *array = find(dump, name);
    if (!array)
        array = create(dump, name, type, shape, rank);
    if (!array)
        return cli_fail_memory(error);
    if (!same_rows(array, type, shape, rank))
        return cli_fail(error, PARLEY_INTERNAL, "stage \"%.60s\" came twice with different shapes", name);
    cli_npy_elements(&array->elements, type, data, count);
    array->shape[0] += shape[0];
    return array->elements.failed ? cli_fail_memory(error) : PARLEY_OK;
}

void cli_dump_add(cli_dump *dump, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    parley_error error;
    if (dump->directory && dump->failure.status == PARLEY_OK && add(dump, name, type, data, shape, rank, &error) != PARLEY_OK)
        dump->failure = error;
}

void cli_dump_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    cli_dump *dump = context;
    for (const char *const *own = dump->own; own && *own; own++) {
        if (!strcmp(*own, name))
            return;
    }
    cli_dump_add(dump, name, type, data, shape, rank);
}

/* Before the first is written. */
static parley_status check_array(const char *directory, const cli_dump_array *array, parley_error *error)
{
    cli_buffer path = {0};
    struct stat is;
    cli_appendf(&path, "%s/%s.npy", directory, array->name);
    parley_status status = path.failed ? cli_fail_memory(error) : PARLEY_OK;
    if (status == PARLEY_OK && stat(path.data, &is) == 0)
        status = cli_inputs_spared(path.data, &is, error);
    cli_buffer_free(&path);
    return status;
}

static parley_status write_array(const char *directory, const cli_dump_array *array, parley_error *error)
{
    cli_buffer path = {0}, header = {0};
    cli_output output = CLI_OUTPUT_NONE;
    cli_appendf(&path, "%s/%s.npy", directory, array->name);
    cli_npy_header(&header, array->type, array->shape, array->rank);
    parley_status status = path.failed || header.failed ? cli_fail_memory(error) : cli_output_open(&output, path.data, false, "", error);
    if (status == PARLEY_OK)
        status = cli_output_write(&output, header.data, header.size, error);
    if (status == PARLEY_OK)
        status = cli_output_write(&output, array->elements.data, array->elements.size, error);
    if (status == PARLEY_OK)
        status = cli_output_commit(&output, error);
    cli_output_discard(&output);
    cli_buffer_free(&path);
    cli_buffer_free(&header);
    return status;
}

parley_status cli_dump_write(cli_dump *dump, parley_error *error)
{
    if (dump->failure.status != PARLEY_OK) {
        *error = dump->failure;
        return error->status;
    }
    for (size_t i = 0; i < dump->count; i++)
        CLI_TRY(check_array(dump->directory, &dump->arrays[i], error));
    for (size_t i = 0; i < dump->count; i++)
        CLI_TRY(write_array(dump->directory, &dump->arrays[i], error));
    return PARLEY_OK;
}

void cli_dump_close(cli_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        cli_buffer_free(&dump->arrays[i].elements);
    free(dump->arrays);
    if (dump->made)
        rmdir(dump->directory); /* fails, as it should, when files are in it */
    *dump = (cli_dump){0};
}
