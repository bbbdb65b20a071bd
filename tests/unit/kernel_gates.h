/* Checks of products with gates; part of kernel_checks.h, whose products it uses. */
#ifndef KERNEL_GATES_H
#define KERNEL_GATES_H

/* silu(gate) * up out of the two products by themselves, rounded once. */
static void expect_gated(const pl_kernels *k, operands *up, operands *gate, const product *p, float *want)
{
    up->g.accumulate = gate->g.accumulate = false;
    int panels = pl_panels(&up->w);
    float *a = run_product(k, up, p, panels, p->columns), *b = run_product(k, gate, p, panels, p->columns);
    up->g.accumulate = p->accumulate;
    for (int c = 0; c < p->columns; c++) {
        k->silu(b + c * up->g.y_stride, p->rows);
        for (int r = 0; r < p->rows; r++) {
            float value = b[c * up->g.y_stride + r] * a[c * up->g.y_stride + r];
            want[c * p->rows + r] = p->accumulate ? up->y_before[c * up->g.y_stride + r] + value : value;
        }
    }
    free(a), free(b);
}

static const char *compare_gated(const product *p, const float *y, int64_t stride, const float *want)
{
    for (int c = 0; c < p->columns; c++)
        if (memcmp(y + c * stride, want + c * p->rows, (size_t)p->rows * sizeof(float)) != 0)
            return differ("%s: with a gate, column %d is not silu(gate) * value", product_name(p), c);
    return NULL;
}

/* The gated product as 8-bit rows, in calls of `step` panels. */
static const char *check_gated_rows(const pl_kernels *k, operands *o, const product *p, const float *want, int step)
{
    size_t values = (size_t)p->columns * (size_t)p->rows, blocks = values / 32;
    pl_q8_rows rows[2];
    for (int i = 0; i < 2; i++)
        rows[i] = (pl_q8_rows){exact(values), exact(blocks * sizeof(float)), exact(blocks * sizeof(int32_t)), exact(blocks * sizeof(int32_t))};
    k->quantize_rows(want, p->rows, p->rows, 0, p->columns, &rows[0]);
    o->g.y_q8 = &rows[1];
    free(run_product(k, o, p, step, p->columns));
    o->g.y_q8 = NULL;
    bool same = memcmp(rows[0].q, rows[1].q, values) == 0 && memcmp(rows[0].scale, rows[1].scale, blocks * sizeof(float)) == 0
                && memcmp(rows[0].sum, rows[1].sum, blocks * sizeof(int32_t)) == 0
                && memcmp(rows[0].half, rows[1].half, blocks * sizeof(int32_t)) == 0;
    for (int i = 0; i < 2; i++)
        free(rows[i].q), free(rows[i].scale), free(rows[i].sum), free(rows[i].half);
    return same ? NULL : differ("%s: with a gate, the 8-bit rows in calls of %d panels are others", product_name(p), step);
}

/* A product with a gate of type `gate_type`. Rows that are no multiple of 32 cannot be 8-bit rows. */
static const char *check_gated(const pl_kernels *k, const product *p, pl_type gate_type)
{
    operands up = {0}, gate = {0};
    product other = *p;
    other.type = other.source = gate_type;
    other.int8 = p->int8 && pl_type_takes_int8(gate_type);
    make_weights(&up, p);
    make_inputs(&up, p);
    make_weights(&gate, &other);
    make_inputs(&gate, &other);
    float *want = exact((size_t)p->columns * (size_t)p->rows * sizeof *want);
    expect_gated(k, &up, &gate, p, want);
    up.g.gate = &gate.g;
    const char *fault = NULL;
    for (int step = 1; step <= 7 && !fault; step += 3) {
        float *y = run_product(k, &up, p, step, step == 4 ? 5 : p->columns);
        fault = compare_gated(p, y, up.g.y_stride, want);
        free(y);
    }
    for (int step = 2; step <= 8 && !fault && p->rows % 32 == 0 && !p->accumulate; step += 2)
        fault = check_gated_rows(k, &up, p, want, step);
    free(want);
    free_operands(&up);
    free_operands(&gate);
    return fault;
}

static const char *check_gemm_gate(const pl_kernels *k)
{
    static const pl_type types[][2] = {{PL_F32, PL_F32},   {PL_BF16, PL_BF16}, {PL_Q8_0, PL_Q8_0},
                                       {PL_Q8_0, PL_Q4_K}, {PL_Q6_K, PL_Q8_0}, {PL_Q4_0, PL_F16}};
    static const int columns[] = {1, 2, 7, 16, 33, 195}, rows[] = {32, 50, 160, 15};
    for (int t = 0; t < 6; t++)
        for (int c = 0; c < 6; c++)
            for (int i = 0; i < 4; i++) {
                product p = {types[t][0], types[t][0], rows[i], 1, 256, columns[c], i == 3, i == 1 && c % 2, c % 2 == 0 && k->int8};
                p.int8 = p.int8 && pl_type_takes_int8(p.type);
                const char *fault = check_gated(k, &p, types[t][1]);
                if (fault)
                    return fault;
            }
    return NULL;
}

#endif
