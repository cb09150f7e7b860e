/* SPDX-License-Identifier: Apache-2.0 */
#include "image/warp/polygon.h"

enum { CORNERS_MAX = 32 };
#define HORIZON 1e-6 /* what a perspective divides by; below, a place lies behind the camera */

typedef struct polygon { /* convex */
    int n;
    double x[CORNERS_MAX][2];
} polygon;

static void add_corner(polygon *p, double x, double y) {
    if (p->n == CORNERS_MAX) return;
    p->x[p->n][0] = x;
    p->x[p->n++][1] = y;
}

static bool bounds(const polygon *p, double out[4]) {
    if (p->n < 3) return false;
    out[0] = out[2] = p->x[0][0];
    out[1] = out[3] = p->x[0][1];
    for (int i = 1; i < p->n; i++)
        for (int axis = 0; axis < 2; axis++) {
            out[axis] = LEAT_MIN(out[axis], p->x[i][axis]);
            out[2 + axis] = LEAT_MAX(out[2 + axis], p->x[i][axis]);
        }
    return true;
}

static polygon rectangle(const double box[4]) {
    return (polygon){.n = 4, .x = {{box[0], box[1]}, {box[2], box[1]}, {box[2], box[3]}, {box[0], box[3]}}};
}

static double area(const polygon *p) {
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        sum += a[0] * b[1] - a[1] * b[0];
    }
    return (sum < 0 ? -sum : sum) / 2;
}

/* Keeps what lies above (sign 1) or below (-1) a bound on one axis. */
static void cut(polygon *p, int axis, double bound, int sign) {
    polygon out = {0};
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        const double da = sign * (a[axis] - bound), db = sign * (b[axis] - bound);
        if (da >= 0) add_corner(&out, a[0], a[1]);
        if ((da >= 0) == (db >= 0)) continue;
        const double other = a[1 - axis] + (b[1 - axis] - a[1 - axis]) * (da / (da - db));
        add_corner(&out, axis ? other : bound, axis ? bound : other);
    }
    *p = out;
}

static void cut_to(polygon *p, int height, int width) {
    cut(p, 0, 0, 1);
    cut(p, 0, width, -1);
    cut(p, 1, 0, 1);
    cut(p, 1, height, -1);
}

static double third(const double m[9], const double x[2]) {
    return m[6] * x[0] + m[7] * x[1] + m[8];
}

/* What lies in front of the horizon, moved. */
static void move_polygon(polygon *p, const double m[9]) {
    polygon out = {0};
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        const double wa = third(m, a), wb = third(m, b);
        const double share = (wa - HORIZON) / (wa - wb);
        const double between[2] = {a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share};
        const bool ahead = wa >= HORIZON, crosses = ahead != (wb >= HORIZON);
        for (int k = ahead ? 0 : 1; k < (crosses ? 2 : 1); k++) {
            const double *at = k ? between : a, w = k ? HORIZON : wa;
            add_corner(&out, (m[0] * at[0] + m[1] * at[1] + m[2]) / w,
                       (m[3] * at[0] + m[4] * at[1] + m[5]) / w);
        }
    }
    *p = out;
}

bool leat__move_box(const leat__move *move, int n, const double box[4], double out[4], double *visible) {
    *visible = 0;
    if (!(box[2] > box[0] && box[3] > box[1] && box[2] - box[0] < 1e15 && box[3] - box[1] < 1e15))
        return false;
    polygon seen = rectangle(box);
    if (n > 0) cut_to(&seen, move[0].height_before, move[0].width_before);
    polygon whole = seen;
    for (int i = 0; i < n; i++) {
        if (move[i].lost) return false;
        move_polygon(&seen, move[i].m);
        move_polygon(&whole, move[i].m);
        if (!move[i].cuts && i + 1 < n) continue;
        cut_to(&seen, move[i].height, move[i].width);
        if (!bounds(&seen, out)) return false;
        /* Every cut may add four corners; a polygon of very many is as good as its bounds. */
        if (seen.n > CORNERS_MAX - 8) seen = rectangle(out);
    }
    if (!bounds(&seen, out) || !(out[2] > out[0] && out[3] > out[1])) return false;
    const double all = area(&whole);
    *visible = all > 0 ? LEAT_MIN(area(&seen) / all, 1.0) : 0;
    return true;
}

bool leat__move_place(const leat__move *move, int n, const double place[2], double out[2]) {
    bool inside = true;
    out[0] = place[0];
    out[1] = place[1];
    for (int i = 0; i < n; i++) {
        const double *m = move[i].m, w = move[i].lost ? 0 : third(m, out);
        if (!(w >= HORIZON)) {
            out[0] = out[1] = -1;
            return false;
        }
        const double x = (m[0] * out[0] + m[1] * out[1] + m[2]) / w;
        out[1] = (m[3] * out[0] + m[4] * out[1] + m[5]) / w;
        out[0] = x;
        inside &= out[0] >= 0 && out[0] <= move[i].width && out[1] >= 0 && out[1] <= move[i].height;
    }
    return inside;
}
