/* Rows of an earlier bench --json, to compare with. */
#ifndef CLI_BENCH_EARLIER_H
#define CLI_BENCH_EARLIER_H

#include "buffer.h"

#include <parley/core.h>

typedef struct cli_bench_earlier {
    struct cli_bench_past *rows;
    size_t count, capacity;
} cli_bench_earlier;

/* Errors: as cli_read_file(), FORMAT with the file's name and the byte. */
parley_status cli_bench_earlier_read(const char *path, cli_bench_earlier *earlier, parley_error *error);
void cli_bench_earlier_free(cli_bench_earlier *earlier);

/* Seconds of the earlier row of this stage, shape, type and level; 0 when there is none. */
double cli_bench_earlier_seconds(const cli_bench_earlier *earlier, const parley_bench_row *row);

#endif
