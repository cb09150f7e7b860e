/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix is read once, row by row, in strips of columns whose sums stay in registers or the first
 * cache. The order of every sum is fixed: products of BLOCK rows are added up one after the other, then
 * the blocks. Short sums of short sums also lose fewer bits than one long one. */
#include "image/colour/zca.h"

enum { STRIP = 512, BLOCK = 32 };

static void add_block(float *out, const float *values, const float *matrix, size_t n, size_t n_rows,
                      size_t n_columns) {
    float sum[STRIP];
    memset(sum, 0, n_columns * sizeof *sum);
    for (size_t i = 0; i < n_rows; i++) {
        const float x = values[i], *row = matrix + i * n;
        for (size_t j = 0; j < n_columns; j++) sum[j] += x * row[j];
    }
    for (size_t j = 0; j < n_columns; j++) out[j] += sum[j];
}

void leat__zca_apply(float *out, const float *values, const float *matrix, size_t n) {
    memset(out, 0, n * sizeof *out);
    for (size_t column = 0; column < n; column += STRIP)
        for (size_t i = 0; i < n; i += BLOCK)
            add_block(out + column, values + i, matrix + i * n + column, n, LEAT_MIN(n - i, (size_t)BLOCK),
                      LEAT_MIN(n - column, (size_t)STRIP));
}
