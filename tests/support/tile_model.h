/* AMX tiles in plain C, as Intel's manual defines LDTILECFG, TILELOADD, TDPBSUD and TILESTORED (volume 2, palette 1), for processors without them. */
#ifndef TILE_MODEL_H
#define TILE_MODEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_TILES = 8, MODEL_ROWS = 16, MODEL_ROW = 64 };

static struct {
    int configured;
    uint16_t row_bytes[MODEL_TILES];
    uint8_t rows[MODEL_TILES];
    uint8_t data[MODEL_TILES][MODEL_ROWS][MODEL_ROW];
} tile_model;

/* What the processor answers with an exception. */
static inline void model_require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "tile model: %s\n", what);
        abort();
    }
}

static inline void model_config(const void *config)
{
    const uint8_t *bytes = config;
    model_require(bytes[0] == 1 && bytes[1] == 0, "palette 1, start row 0");
    for (int i = 2; i < 16; i++)
        model_require(bytes[i] == 0, "reserved bytes are 0");
    memset(&tile_model, 0, sizeof tile_model);
    tile_model.configured = 1;
    for (int t = 0; t < MODEL_TILES; t++) {
        memcpy(&tile_model.row_bytes[t], bytes + 16 + 2 * t, 2);
        tile_model.rows[t] = bytes[48 + t];
        model_require(tile_model.row_bytes[t] <= MODEL_ROW && tile_model.rows[t] <= MODEL_ROWS, "at most 16 rows of 64 bytes");
        model_require((tile_model.row_bytes[t] == 0) == (tile_model.rows[t] == 0), "rows and bytes both or neither");
    }
}

static inline void model_release(void)
{
    tile_model.configured = 0;
}

static inline void model_zero(int t)
{
    model_require(tile_model.configured && tile_model.rows[t], "a configured tile");
    memset(tile_model.data[t], 0, sizeof tile_model.data[t]);
}

static inline void model_load(int t, const void *base, int64_t stride)
{
    model_zero(t);
    for (int r = 0; r < tile_model.rows[t]; r++)
        memcpy(tile_model.data[t][r], (const uint8_t *)base + r * stride, tile_model.row_bytes[t]);
}

static inline void model_store(int t, void *base, int64_t stride)
{
    model_require(tile_model.configured && tile_model.rows[t], "a configured tile");
    for (int r = 0; r < tile_model.rows[t]; r++)
        memcpy((uint8_t *)base + r * stride, tile_model.data[t][r], tile_model.row_bytes[t]);
}

/* sums[m][n] += a[m][k] (signed) * b[k / 4][4 n + k % 4] (unsigned) */
static inline void model_dot(int sums, int a, int b)
{
    model_require(tile_model.configured && tile_model.rows[sums] == tile_model.rows[a] && tile_model.row_bytes[sums] == tile_model.row_bytes[b]
                      && tile_model.row_bytes[a] == tile_model.rows[b] * 4,
                  "shapes that fit");
    for (int m = 0; m < tile_model.rows[sums]; m++)
        for (int n = 0; n < tile_model.row_bytes[sums] / 4; n++) {
            int32_t sum;
            memcpy(&sum, &tile_model.data[sums][m][4 * n], sizeof sum);
            for (int k = 0; k < tile_model.row_bytes[a]; k++)
                sum += (int8_t)tile_model.data[a][m][k] * tile_model.data[b][k / 4][4 * n + k % 4];
            memcpy(&tile_model.data[sums][m][4 * n], &sum, sizeof sum);
        }
}

#endif
