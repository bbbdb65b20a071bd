#include "inputs.h"

#include "model_files.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

typedef struct input {
    dev_t device;
    ino_t number;
    char *name;
} input;

static struct {
    input *files;
    size_t count;
} known;

static const input *find(const struct stat *is)
{
    for (size_t i = 0; i < known.count; i++)
        if (known.files[i].device == is->st_dev && known.files[i].number == is->st_ino)
            return &known.files[i];
    return NULL;
}

static parley_status remember(const char *name, const struct stat *is, parley_error *error)
{
    if (!S_ISREG(is->st_mode))
        return PARLEY_OK;
    if (!find(is)) {
        input *grown = realloc(known.files, (known.count + 1) * sizeof *grown);
        char *copy = strdup(name);
        if (grown)
            known.files = grown;
        if (!grown || !copy) {
            free(copy);
            return cli_fail_memory(error);
        }
        known.files[known.count++] = (input){is->st_dev, is->st_ino, copy};
    }
    return cli_outputs_check(error);
}

parley_status cli_input(const char *name, int fd, parley_error *error)
{
    struct stat is;
    return fstat(fd, &is) == 0 ? remember(name, &is, error) : PARLEY_OK;
}

parley_status cli_inputs_spared(const char *output, const struct stat *is, parley_error *error)
{
    const input *found = S_ISREG(is->st_mode) ? find(is) : NULL;
    return found ? cli_fail(error, PARLEY_ARGUMENT, "\"%.220s\" is read and would be overwritten by \"%.220s\"", found->name, output) : PARLEY_OK;
}

/* ------------------------------------------------------------------ models */

typedef struct visit {
    parley_status status;
    parley_error *error;
} visit;

static void remember_file(void *context, const char *path, const char *name, const struct stat *is)
{
    visit *v = context;
    (void)name;
    if (v->status == PARLEY_OK)
        v->status = remember(path, is, v->error);
}

parley_status cli_input_model(const char *path, parley_error *error)
{
    visit v = {PARLEY_OK, error};
    CLI_TRY(cli_each_model_file(path, remember_file, &v, error));
    return v.status;
}
