/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `leat top`: what is published now, and the rates of the last minute. */
#include <stdlib.h>
#include <string.h>

#include "top.h"

const char *const top_sort_words[TOP_SORTS] = {"rate", "waiting", "memory", "bad", "pid"};

static double share(double part, double whole) {
    const double x = whole > 0 ? part / whole : 0;
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

double top_rate(const leat_running *r) {
    return r->recent_s > 0 ? (double)r->recent.samples / r->recent_s : 0;
}

double top_waiting(const leat_running *r) {
    return share(r->recent.wait_s, r->recent_s);
}

double top_idle(const leat_running *r) {
    return share(r->recent.full_s, r->recent_s * r->recent.n_threads);
}

/* -------------------------------------------------------------------------------------------- order */

static bool same(const leat_running *a, const leat_running *b) {
    return a->pid == b->pid && a->id == b->id;
}

static double key_of(const leat_running *r, top_sort sort) {
    switch (sort) {
    case TOP_RATE: return top_rate(r);
    case TOP_WAITING: return top_waiting(r);
    case TOP_MEMORY: return (double)r->total.memory_bytes;
    case TOP_BAD: return (double)r->total.bad_samples;
    default: return -(double)r->pid;
    }
}

static bool before(const leat_running *a, const leat_running *b, top_sort sort) {
    const double x = key_of(a, sort), y = key_of(b, sort);
    if (x != y) return x > y;
    return a->pid != b->pid ? a->pid < b->pid : a->id < b->id;
}

void top_order(top_view *view) {
    for (int i = 1; i < view->n; i++) { /* few rows, nearly in order */
        const top_row row = view->row[i];
        int k = i;
        const bool chosen = view->chosen == i;
        for (; k > 0 && before(&row.now, &view->row[k - 1].now, view->sort); k--) {
            view->row[k] = view->row[k - 1];
            if (view->chosen == k - 1) view->chosen = k;
        }
        view->row[k] = row;
        if (chosen) view->chosen = k;
    }
}

/* ------------------------------------------------------------------------------------------ refresh */

typedef struct gathered {
    int64_t pid;
    top_row *row;
    int n, cap;
    bool full; /* no memory */
} gathered;

static int add_row(void *user, const leat_running *one) {
    gathered *g = user;
    if (g->pid && one->pid != g->pid) return 0;
    if (g->n == g->cap) {
        const int cap = g->cap ? 2 * g->cap : 16;
        top_row *grown = realloc(g->row, (size_t)cap * sizeof *grown);
        if (!grown) return g->full = true;
        g->row = grown;
        g->cap = cap;
    }
    g->row[g->n++] = (top_row){.now = *one};
    return 0;
}

static void keep_rates(top_row *row, const top_view *old) {
    for (int i = 0; i < old->n; i++) {
        const top_row *was = &old->row[i];
        if (!same(&row->now, &was->now)) continue;
        const bool fresh = row->now.sequence != was->now.sequence;
        const int drop = was->n_rates == TOP_RATES && fresh;
        row->n_rates = was->n_rates - drop;
        memcpy(row->rate, was->rate + drop, (size_t)row->n_rates * sizeof *row->rate);
        if (!fresh) return;
    }
    row->rate[row->n_rates++] = top_rate(&row->now);
}

int top_refresh(top_view *view, leat_error *err) {
    gathered g = {.pid = view->pid};
    const int rc = leat_top_list(add_row, &g, &view->report, err);
    if (rc < 0 || g.full) {
        if (g.full) snprintf(err->message, sizeof err->message, "there is no memory for so many pipelines");
        free(g.row);
        return CLI_FAILED;
    }
    const bool first = view->n == 0;
    int chosen = -1;
    for (int i = 0; i < g.n; i++) {
        keep_rates(&g.row[i], view);
        if (!first && same(&g.row[i].now, &view->row[view->chosen].now)) chosen = i;
    }
    const int place = view->chosen < g.n ? view->chosen : g.n - 1; /* of the chosen one, if that has ended */
    free(view->row);
    view->row = g.row;
    view->n = g.n;
    view->chosen = chosen;
    top_order(view);
    if (chosen < 0) view->chosen = first || place < 0 ? 0 : place;
    return CLI_OK;
}

void top_free(top_view *view) {
    free(view->row);
    view->row = NULL;
    view->n = 0;
}
