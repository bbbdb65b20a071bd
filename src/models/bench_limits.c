#include "models/bench_limits.h"

#include <stdio.h>

enum { MOST_READ = 256 << 20 }; /* beyond every cache; more would tell nothing new */

parley_status pl_bench_measure_limits(pl_bench_limits *limits, pl_compute *compute, double bytes, pl_type type, parley_error *error)
{
    *limits = (pl_bench_limits){.bytes = bytes < MOST_READ ? bytes : MOST_READ, .int8 = compute->int8 && pl_type_takes_int8(type)};
    limits->arithmetic = pl_limit_arithmetic(compute, limits->int8);
    return pl_limit_read(compute, (size_t)limits->bytes, &limits->read, error);
}

static const char *arithmetic_name(const pl_bench_limits *limits)
{
    return limits->int8 ? "int8" : "f32";
}

void pl_bench_report_limits(const pl_bench_limits *limits, const pl_compute *compute, pl_report_row report, void *context)
{
    char shape[64];
    parley_bench_row row = {.stage = "limit: read",
                            .shape = shape,
                            .type = "",
                            .level = parley_cpu_name(compute->k->level),
                            .threads = pl_pool_threads(compute->pool),
                            .gigabytes = limits->bytes * 1e-9,
                            .share = 1.0,
                            .limit = "read"};
    snprintf(shape, sizeof shape, "%.0f MB again and again", limits->bytes * 1e-6);
    row.seconds = row.seconds_low = row.seconds_high = limits->bytes / limits->read;
    report(context, &row);
    if (limits->arithmetic <= 0.0)
        return;
    row.stage = "limit: arithmetic";
    row.type = row.limit = arithmetic_name(limits);
    row.gigabytes = 0.0;
    row.giga_operations = limits->arithmetic * 1e-9;
    row.seconds = row.seconds_low = row.seconds_high = 1.0;
    snprintf(shape, sizeof shape, "registers alone");
    report(context, &row);
}

void pl_bench_share(const pl_bench_limits *limits, parley_bench_row *row)
{
    double reading = limits->read > 0.0 ? row->gigabytes * 1e9 / limits->read : 0.0;
    double computing = limits->arithmetic > 0.0 ? row->giga_operations * 1e9 / limits->arithmetic : 0.0;
    double least = reading > computing ? reading : computing;
    row->share = row->seconds > 0.0 ? least / row->seconds : 0.0;
    row->limit = least <= 0.0 ? "" : reading > computing ? "read" : arithmetic_name(limits);
}
