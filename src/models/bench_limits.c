#include "models/bench_limits.h"

#include <stdio.h>

enum { MOST_READ = 256 << 20 }; /* beyond every cache; more would tell nothing new */

parley_status pl_bench_measure_limits(pl_bench_limits *limits, pl_compute *compute, double bytes, pl_type type, parley_error *error)
{
    *limits = (pl_bench_limits){.bytes = bytes < MOST_READ ? bytes : MOST_READ, .int8 = compute->int8 && pl_type_takes_int8(type)};
    limits->arithmetic = pl_limit_arithmetic(compute, limits->int8);
    return pl_limit_read(compute, (size_t)limits->bytes, &limits->read, error);
}

void pl_bench_measure_arithmetic(pl_bench_limits *limits, const pl_compute *compute, bool int8)
{
    *limits = (pl_bench_limits){.int8 = int8, .arithmetic = pl_limit_arithmetic(compute, int8)};
}

static const char *arithmetic_name(const pl_bench_limits *limits)
{
    return limits->int8 ? "int8" : "f32";
}

static void report_read(const pl_bench_limits *limits, parley_bench_row row, pl_report_row report, void *context)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%.0f MB again and again", limits->bytes * 1e-6);
    row.stage = "limit: read";
    row.shape = shape;
    row.limit = "read";
    row.gigabytes = limits->bytes * 1e-9;
    row.seconds = row.seconds_low = row.seconds_high = limits->bytes / limits->read;
    report(context, &row);
}

static void report_arithmetic(const pl_bench_limits *limits, parley_bench_row row, pl_report_row report, void *context)
{
    row.stage = "limit: arithmetic";
    row.shape = "registers alone";
    row.type = row.limit = arithmetic_name(limits);
    row.giga_operations = limits->arithmetic * 1e-9;
    row.seconds = row.seconds_low = row.seconds_high = 1.0;
    report(context, &row);
}

void pl_bench_report_limits(const pl_bench_limits *limits, const pl_compute *compute, pl_report_row report, void *context)
{
    const parley_bench_row row = {.type = "", .level = parley_cpu_name(compute->k->level), .threads = pl_pool_threads(compute->pool), .share = 1.0};
    if (limits->read > 0.0)
        report_read(limits, row, report, context);
    if (limits->arithmetic > 0.0)
        report_arithmetic(limits, row, report, context);
}

void pl_bench_share(const pl_bench_limits *limits, parley_bench_row *row)
{
    double reading = limits->read > 0.0 ? row->gigabytes * 1e9 / limits->read : 0.0;
    double computing = limits->arithmetic > 0.0 ? row->giga_operations * 1e9 / limits->arithmetic : 0.0;
    double least = reading > computing ? reading : computing;
    row->share = row->seconds > 0.0 ? least / row->seconds : 0.0;
    row->limit = least <= 0.0 ? "" : reading > computing ? "read" : arithmetic_name(limits);
}
