/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of warps: 3x3, in rows, for columns (x, y, 1). */
#include "image/warp/warp.h"

void leat__matrix_unit(double m[9]) {
    static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(m, unit, sizeof unit);
}

void leat__matrix_multiply(double out[9], const double a[9], const double b[9]) {
    double made[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            made[3 * r + c] = (a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c]) + a[3 * r + 2] * b[6 + c];
    memcpy(out, made, sizeof made);
}

void leat__matrix_centre(double m[9], double x, double y) {
    const double there[9] = {1, 0, x, 0, 1, y, 0, 0, 1}, back[9] = {1, 0, -x, 0, 1, -y, 0, 0, 1};
    leat__matrix_multiply(m, there, m);
    leat__matrix_multiply(m, m, back);
}

bool leat__matrix_invert(double out[9], const double a[9]) {
    const double cofactor[9] = {
        a[4] * a[8] - a[5] * a[7], a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
        a[5] * a[6] - a[3] * a[8], a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
        a[3] * a[7] - a[4] * a[6], a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3]};
    const double whole = a[0] * cofactor[0] + a[1] * cofactor[3] + a[2] * cofactor[6];
    if (!(whole * whole > 1e-24 && whole * whole < 1e300)) return false;
    for (int i = 0; i < 9; i++) out[i] = cofactor[i] / whole;
    return true;
}

/* Sums, products and quotients of floats are those of float arithmetic when double results are rounded to float. */
static double kept(double x, bool single) {
    return single ? (double)(float)x : x;
}

/* Eight equations by elimination, the largest pivot first. In float, the last step is the product with an inverse: so does
 * TensorFlow, and every operation here has its place there. */
bool leat__matrix_from_points(double m[9], const double from[8], const double to[8], bool single) {
    double a[8][9];
    for (int k = 0; k < 4; k++) {
        const double x = from[2 * k], y = from[2 * k + 1], u = to[2 * k], v = to[2 * k + 1];
        const double rows[2][9] = {{x, y, 1, 0, 0, 0, kept(-u * x, single), kept(-u * y, single), u},
                                   {0, 0, 0, x, y, 1, kept(-v * x, single), kept(-v * y, single), v}};
        memcpy(a[2 * k], rows, sizeof rows);
    }
    for (int k = 0; k < 8; k++) {
        int best = k;
        for (int r = k + 1; r < 8; r++)
            if (a[r][k] * a[r][k] > a[best][k] * a[best][k]) best = r;
        if (!(a[best][k] * a[best][k] > 1e-24)) return false;
        for (int c = k; c < 9; c++) {
            const double other = a[k][c];
            a[k][c] = a[best][c];
            a[best][c] = other;
        }
        for (int r = k + 1; r < 8; r++) {
            const double share = kept(a[r][k] / a[k][k], single);
            for (int c = k; c < 9; c++) a[r][c] = kept(a[r][c] - kept(share * a[k][c], single), single);
        }
    }
    for (int k = 7; k >= 0; k--) {
        double sum = a[k][8];
        for (int c = k + 1; c < 8; c++) sum = kept(sum - kept(a[k][c] * m[c], single), single);
        m[k] = single ? kept(sum * kept(1 / a[k][k], true), true) : sum / a[k][k];
    }
    m[8] = 1;
    return true;
}
