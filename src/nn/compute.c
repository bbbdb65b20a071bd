#include "nn/compute.h"

#include "base/checked.h"

enum {
    STEP_CHUNK = 1 << 20,
    PANELS_PER_TASK = 4,    /* a micro-kernel's tile of panels: smaller tasks would waste its registers */
    COLUMNS_PER_TASK = 192, /* the weights are unpacked once for these: as many as a call of a product takes at once */
    COLUMNS = 12,           /* of whole tiles at every level */
    MANY_COLUMNS = 16,      /* arithmetic takes longer than reading the weights: short tasks, so that all threads end together */
    SHORT_TASKS = 32,       /* of a thread then, and .. */
    LONG_TASKS = 2,         /* .. else */
    MAX_PRODUCTS = 8
};

parley_status pl_compute_open(const parley_allocator *allocator, const pl_kernels *kernels, pl_pool *pool, bool int8, pl_compute *compute,
                              parley_error *error)
{
    *compute = (pl_compute){.k = kernels, .pool = pool, .int8 = int8 && kernels->int8, .scratch_stride = (pl_gemm_scratch() + 63) / 64 * 64};
    pl_arena_init(&compute->step, allocator, STEP_CHUNK);
    compute->scratch = pl_alloc(&compute->step.allocator, (size_t)pl_pool_threads(pool), compute->scratch_stride);
    return compute->scratch ? PARLEY_OK : pl_fail_memory(error, "work space");
}

void pl_compute_close(pl_compute *compute)
{
    if (!compute->k)
        return;
    pl_release(&compute->step.allocator, compute->scratch, (size_t)pl_pool_threads(compute->pool), compute->scratch_stride);
    pl_arena_free(&compute->step);
    *compute = (pl_compute){0};
}

float *pl_step_floats(pl_compute *compute, int64_t count)
{
    return pl_arena_alloc_raw(&compute->step, (size_t)count, sizeof(float));
}

/* The grid of tasks of one product: tiles of panels, the outer index, by tiles of columns. */
typedef struct tiles {
    int first, panel_tiles, column_tiles, panels_per_task, columns_per_task;
} tiles;

typedef struct region {
    const pl_compute *compute;
    const pl_gemm *products;
    tiles tiles[MAX_PRODUCTS];
    int count;
} region;

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void run_tile(void *context, int task, int worker)
{
    const region *r = context;
    int i = r->count - 1;
    while (task < r->tiles[i].first)
        i--;
    const tiles *t = &r->tiles[i];
    pl_gemm product = r->products[i], *g = &product;
    if (t->column_tiles == 1) /* the threads take turns, more or less */
        product.next = (pl_pool_threads(r->compute->pool) - 1) * t->panels_per_task;
    int panel = (task - t->first) / t->column_tiles * t->panels_per_task;
    int column = (task - t->first) % t->column_tiles * t->columns_per_task;
    int last_column = smaller(column + t->columns_per_task, g->columns);
    r->compute->k->gemm(g, panel, smaller(panel + t->panels_per_task, pl_panels(g->w)), column, last_column,
                        r->compute->scratch + (size_t)worker * r->compute->scratch_stride);
}

/* Few columns: long runs of panels, so that each thread streams its own part of the weights. Many: tiles in both directions. */
static tiles plan(const pl_gemm *g, int threads, int first)
{
    int panels = pl_panels(g->w);
    tiles t = {.first = first, .column_tiles = 1};
    if (g->columns > COLUMNS_PER_TASK)
        t.column_tiles = ceil_div(g->columns, COLUMNS_PER_TASK);
    /* Equal ones: each unpacks its weights anew, so a full one and a narrow rest would cost more. */
    t.columns_per_task = (ceil_div(g->columns, t.column_tiles) / COLUMNS + 1) * COLUMNS;
    t.columns_per_task = smaller(t.columns_per_task, COLUMNS_PER_TASK);
    t.column_tiles = ceil_div(g->columns, t.columns_per_task);
    int wanted = t.column_tiles > 1 ? 1 : threads * (g->columns < MANY_COLUMNS ? LONG_TASKS : SHORT_TASKS);
    t.panels_per_task = ceil_div(ceil_div(panels, wanted), PANELS_PER_TASK) * PANELS_PER_TASK;
    if (t.column_tiles > 1 && t.panels_per_task > PANELS_PER_TASK) /* weights of a task stay in the second-level cache */
        t.panels_per_task = PANELS_PER_TASK;
    t.panel_tiles = ceil_div(panels, t.panels_per_task);
    return t;
}

void pl_gemm_run(pl_compute *compute, const pl_gemm *products, int count)
{
    while (count > 0) {
        region r = {.compute = compute, .products = products, .count = smaller(count, MAX_PRODUCTS)};
        int tasks = 0;
        for (int i = 0; i < r.count; i++) {
            r.tiles[i] = plan(&products[i], pl_pool_threads(compute->pool), tasks);
            tasks += r.tiles[i].panel_tiles * r.tiles[i].column_tiles;
        }
        pl_pool_run(compute->pool, run_tile, &r, tasks);
        products += r.count;
        count -= r.count;
    }
}
