/* The product as a whole: tiles of panels by columns, then what becomes of their sums. */

/* Panels of a tile for that many columns: as many as the registers hold, for latency when columns are few. */
static int tile_panels(int columns, int most)
{
    int panels = most;
    while (panels > 1 && panels * PV * columns > ACC_MAX)
        panels /= 2;
    return panels;
}

static job job_for(const pl_gemm *g, int columns, float *acc, float *weights)
{
    bool int8 = g->q8 != NULL && pl_type_takes_int8(g->w->type), few = is_few(g->w->type);
    int widest = !int8 ? COLUMNS : few ? S_COLUMNS : Q_COLUMNS, step = columns < widest ? columns : widest;
    int most = tile_panels(step, few && is_in_place(g->w->type, columns) ? few_tile_panels : PL_TILE_PANELS);
    if (int8)
        most = few ? (step == 1 ? S_ALONE : S_PANELS) : step == 1 ? Q_ALONE : Q_PANELS;
    return (job){.g = g, .int8 = int8, .step = step, .most = most, .acc = acc, .weights = weights};
}

/* Sums of `count` panels from `panel` on for columns column .. column + columns - 1. */
static void add_up(job j, int panel, int count, int column, int columns)
{
    j.column = column;
    j.columns = columns;
    memset(j.acc, 0, sizeof(float) * (size_t)columns * ACC_STRIDE);
    for (int last = panel + count; panel < last; panel += j.panels, j.acc += j.panels * PL_PANEL) {
        j.panel = panel;
        j.panels = j.most;
        while (j.panels > last - panel)
            j.panels /= 2;
        if (j.int8)
            multiply_int8(&j);
        else
            multiply(&j);
    }
}

/* ------------------------------------------------------------------ results */

/* Which sums are complete now. */
typedef struct done {
    const pl_gemm *g;
    int panel, count, column, columns;
    float *acc, *gate; /* [columns][ACC_STRIDE] */
} done;

/* Rows `row` .. of a sum, with the bias. */
INLINE vf with_bias(const pl_gemm *g, const float *sum, int row)
{
    return g->bias ? vf_add(vf_load(sum), get(g->bias + row, g->w->rows - row)) : vf_load(sum);
}

/* Rows behind the last one of the matrix take part, as zeros: nobody reads them. */
static void put_gate(const done *d)
{
    int first = d->panel * PL_PANEL, rows = d->count * PL_PANEL;
    if (rows > d->g->w->rows - first)
        rows = d->g->w->rows - first;
    for (int c = 0; c < d->columns; c++)
        for (int r = 0; r < rows; r += LANES) {
            float *sum = d->acc + c * ACC_STRIDE + r;
            vf gate = silu_of(with_bias(d->g->gate, d->gate + c * ACC_STRIDE + r, first + r));
            vf_store(sum, vf_mul(gate, with_bias(d->g, sum, first + r)));
        }
}

static void put_quants(const done *d)
{
    int blocks = d->g->w->rows / BLOCK, first = d->panel * PL_PANEL / BLOCK;
    for (int c = 0; c < d->columns; c++)
        for (int b = 0; b < d->count * PL_PANEL / BLOCK; b++) {
            vf values[VECTORS];
            UNROLL(8)
            for (int v = 0; v < VECTORS; v++)
                values[v] = vf_load(d->acc + c * ACC_STRIDE + b * BLOCK + v * LANES);
            quantize_values(values, d->g->y_q8, (int64_t)(d->column + c) * blocks + first + b);
        }
}

static void put_floats(const done *d)
{
    const pl_gemm *g = d->g;
    int first = d->panel * PL_PANEL, rows = d->count * PL_PANEL;
    if (rows > g->w->rows - first)
        rows = g->w->rows - first;
    for (int c = 0; c < d->columns; c++) {
        float *y = g->y + (d->column + c) * g->y_stride + first;
        for (int r = 0; r < rows; r += LANES) {
            const float *sum = d->acc + c * ACC_STRIDE + r;
            vf value = g->gate ? vf_load(sum) : with_bias(g, sum, first + r);
            put(y + r, g->accumulate ? vf_add(get(y + r, rows - r), value) : value, rows - r);
        }
    }
}

static void finish(const done *d)
{
    if (d->g->gate)
        put_gate(d);
    if (d->g->y_q8)
        put_quants(d);
    else
        put_floats(d);
}

/* ------------------------------------------------------------------ the operation */

static void gemm(const pl_gemm *g, int first, int last, int c0, int c1, void *scratch)
{
    float *acc = scratch, *gate_acc = acc + PL_TILE_COLUMNS * ACC_STRIDE, *weights = gate_acc + PL_TILE_COLUMNS * ACC_STRIDE;
    job own = job_for(g, c1 - c0, acc, weights), gate = g->gate ? job_for(g->gate, c1 - c0, gate_acc, weights) : (job){0};
    own.last = gate.last = last;
    own.next = gate.next = g->next;
    done d = {.g = g, .acc = acc, .gate = gate_acc};
    for (d.panel = first; d.panel < last; d.panel += d.count) {
        d.count = last - d.panel < PL_TILE_PANELS ? last - d.panel : PL_TILE_PANELS;
        for (d.column = c0; d.column < c1; d.column += d.columns) {
            d.columns = c1 - d.column < PL_TILE_COLUMNS ? c1 - d.column : PL_TILE_COLUMNS;
            add_up(own, d.panel, d.count, d.column, d.columns);
            if (g->gate)
                add_up(gate, d.panel, d.count, d.column, d.columns);
            finish(&d);
        }
    }
}
