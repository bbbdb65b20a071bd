/* Times gemm of one thread, for each weight type and level. Built by hand (from the root, after the library is built):
 *   gcc -O2 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/kernels.c build/libparley.a -lm -o build/bench_kernels
 * Usage: bench_kernels [rounds] [level ..]. n = 1 walks 256 MiB of weights (more than the cache keeps) and prints GB/s of packed weights; n = 16 and
 * 64 run 3072 x 1024 and print G operations/s (two a weight). All cases go round in turn, medians are printed: the machine's noise comes in phases.
 */
#include "base/cpu.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLS = 1024, ROWS = 3072, WALK = 256 << 20, MOST_ROUNDS = 99, CASES = 160 };

typedef struct bench_case {
    const pl_kernels *k;
    pl_type type;
    bool int8;
    int n, rows;
    double seconds[MOST_ROUNDS];
} bench_case;

static uint8_t *weights; /* WALK bytes */
static float *x, *y;
static pl_q8_rows q8;
static void *scratch;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *block_of(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes) != 0)
        exit(1);
    memset(p, 0x3C, bytes);
    return p;
}

static double run_once(const bench_case *c)
{
    pl_matrix m = {.type = c->type, .rows = c->rows, .cols = COLS, .panel_bytes = pl_panel_bytes(c->type, COLS), .data = weights};
    pl_gemm g = {
        .w = &m, .taps = 1, .width = COLS, .columns = c->n, .x = x, .x_stride = COLS, .q8 = c->int8 ? &q8 : NULL, .y = y, .y_stride = c->rows};
    double start = now();
    c->k->gemm(&g, 0, pl_panels(&m), 0, c->n, scratch);
    return now() - start;
}

static int by_size(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static int list_cases(bench_case *cases, int levels, char **names)
{
    static const struct {
        pl_type type;
        bool int8;
    } kinds[] = {{PL_F32, false}, {PL_BF16, false}, {PL_F16, false}, {PL_Q8_0, false}, {PL_Q8_0, true},
                 {PL_Q4_0, false}, {PL_Q4_0, true}, {PL_Q4_K, false}, {PL_Q4_K, true}, {PL_Q5_K, true}, {PL_Q6_K, false}, {PL_Q6_K, true}};
    static const int columns[] = {1, 16, 64};
    int count = 0;
    for (int l = 0; l < levels; l++)
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            for (int n = 0; n < 3 && count < CASES; n++) {
                parley_cpu level;
                if (!parley_cpu_from_name(names[l], &level) || !pl_cpu_has(level) || !pl_kernels_for(level))
                    continue;
                bench_case *c = &cases[count++];
                *c = (bench_case){.k = pl_kernels_for(level), .type = kinds[i].type, .int8 = kinds[i].int8, .n = columns[n], .rows = ROWS};
                if (c->n == 1)
                    c->rows = (int)(WALK / pl_panel_bytes(c->type, COLS)) * PL_PANEL;
            }
    return count;
}

int main(int argc, char **argv)
{
    static bench_case cases[CASES];
    char *best[] = {"avx512vnni"};
    int rounds = argc > 1 ? atoi(argv[1]) : 7, count = list_cases(cases, argc > 2 ? argc - 2 : 1, argc > 2 ? argv + 2 : best);
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    weights = block_of(WALK);
    x = block_of(64 * COLS * sizeof(float));
    y = block_of((size_t)64 * ROWS * 200 * sizeof(float));
    q8 = (pl_q8_rows){block_of(64 * COLS), block_of(64 * COLS / 8), block_of(64 * COLS / 8), block_of(64 * COLS / 8)};
    scratch = block_of(pl_gemm_scratch());
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < count; i++)
            cases[i].seconds[r] = run_once(&cases[i]);
    for (int i = 0; i < count; i++) {
        bench_case *c = &cases[i];
        qsort(c->seconds, (size_t)rounds, sizeof(double), by_size);
        double s = c->seconds[rounds / 2], best_s = c->seconds[0], bytes = (double)pl_row_bytes(c->type, COLS) * c->rows,
               work = 2.0 * c->rows * COLS * c->n;
        printf("%-10s %-5s%-5s n=%-3d %8.3f ms  median %7.1f %s  best %7.1f\n", parley_cpu_name(c->k->level), pl_type_info(c->type)->name,
               c->int8 ? " int8" : "", c->n, s * 1e3, (c->n == 1 ? bytes : work) / s * 1e-9, c->n == 1 ? "GB/s " : "Gop/s",
               (c->n == 1 ? bytes : work) / best_s * 1e-9);
    }
    return 0;
}
