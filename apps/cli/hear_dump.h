/* The intermediate results of segments that are heard one after the other. */
#ifndef CLI_HEAR_DUMP_H
#define CLI_HEAR_DUMP_H

#include "dump.h"

typedef struct hear_dump {
    const char *directory; /* NULL: no dump */
    bool made;
    cli_dump *segments; /* of the file that is heard */
    size_t count;
    size_t before; /* segments of the files that are done */
    bool failed;   /* out of memory in a tap */
} hear_dump;

parley_status hear_dump_open(hear_dump *dump, const char *directory, parley_error *error);

/* A parley_tap_fn; `context` is the hear_dump. Every segment begins with its "mel". */
void hear_dump_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank);

/* A file of so many segments is done: DIR/NAME.npy of an only segment, DIR/n/NAME.npy of `several`, counted from 1 over all files. */
parley_status hear_dump_write(hear_dump *dump, bool several, size_t segments, parley_error *error);
void hear_dump_close(hear_dump *dump);

#endif
