#include "lm/decoder.h"

#include <string.h>

void pl_embed_sum(const pl_kernels *k, const pl_tensor *const *tables, const int32_t *ids, int count, int width, float *y)
{
    memset(y, 0, (size_t)width * sizeof *y);
    for (int i = 0; i < count; i++) {
        size_t row_bytes = pl_row_bytes(tables[i]->type, width);
        k->add_row(tables[i]->type, (const uint8_t *)tables[i]->data + (size_t)ids[i] * row_bytes, width, y);
    }
}

static int rows_of(const pl_forward *f)
{
    if (f->rows)
        return f->n_rows;
    int n = 0;
    for (int s = 0; s < f->n_sequences; s++)
        n += f->sequences[s].count;
    return n;
}

parley_status pl_decoder_forward(pl_compute *compute, const pl_transformer *network, const pl_forward *forward, const pl_linear *head, float *scores,
                                 parley_error *error)
{
    PL_TRY(pl_transformer_forward(compute, network, forward, error));
    if (!head)
        return PARLEY_OK;
    pl_linear_job job = {.layer = head, .y = scores, .y_stride = head->w.rows};
    return pl_linear_run(compute, &job, 1, forward->out, network->shape.width, rows_of(forward), error);
}
