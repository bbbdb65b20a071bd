/* Intermediate results as files: the library's taps are collected by name and written as DIR/NAME.npy at the end. */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include "buffer.h"

typedef struct cli_dump_array cli_dump_array;

typedef struct cli_dump {
    const char *directory;  /* NULL: no dump */
    bool made;              /* the directory is ours to remove when nothing was written */
    const char *const *own; /* names that the program writes itself and ignores as taps, NULL at the end; NULL: none */
    cli_dump_array *arrays;
    size_t count;
    parley_error failure; /* a tap cannot return one */
} cli_dump;

/* Makes the directory when it is missing. */
parley_status cli_dump_open(cli_dump *dump, const char *directory, const char *const *own, parley_error *error);

/* A parley_tap_fn; `context` is the cli_dump. What comes again under a name is appended along the first axis, the other axes being the same. */
void cli_dump_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank);
/* The same for results of the program, names of `own` included. */
void cli_dump_add(cli_dump *dump, const char *name, char type, const void *data, const int64_t *shape, int rank);

/* Writes all files. */
parley_status cli_dump_write(cli_dump *dump, parley_error *error);
/* Frees; removes the directory when it was made here and is empty. */
void cli_dump_close(cli_dump *dump);

#endif
