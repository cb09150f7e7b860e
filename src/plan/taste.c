/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/taste.h"

#include "plan/select.h"

struct leat__taste {
    leat__plan *plan;
    int leaf;           /* the number of its first plain source                 */
    uint64_t next;      /* samples so far, of those that have numbers           */
    leat__buf record;   /* of a stream                                          */
    leat__tools *tools; /* for filters; NULL without them                       */
    leat__taste **part; /* (plan->n_parts)                                      */
    leat__piece piece[LEAT_NODES_MAX];
};

static int new_taste(leat__taste **out, leat__plan *plan, int *leaf, leat_error *err) {
    leat__taste *taste = *out = leat__alloc(LEAT_MEM_PLAN, sizeof *taste);
    if (!taste) return leat__fail_memory(err, sizeof *taste, "a plan");
    taste->plan = plan;
    taste->leaf = *leaf;
    taste->record.kind = LEAT_MEM_WINDOW;
    if (plan->n_filters && !(taste->tools = leat__tools_new(plan, err))) return LEAT_ERR_MEMORY;
    if (!leat__plan_streams(plan)) LEAT_TRY(leat__order_allocate(&plan->order, err));
    if (!plan->n_parts) {
        *leaf += leat__source_leaves(plan->source);
        return 0;
    }
    taste->part = leat__alloc(LEAT_MEM_PLAN, (size_t)plan->n_parts * sizeof(leat__taste *));
    if (!taste->part) return leat__fail_memory(err, (size_t)plan->n_parts * sizeof(leat__taste *), "a plan");
    for (int k = 0; k < plan->n_parts; k++) LEAT_TRY(new_taste(&taste->part[k], &plan->part[k], leaf, err));
    return 0;
}

int leat__taste_new(leat__taste **out, leat__plan *plan, leat_error *err) {
    int leaf = 0;
    const int rc = new_taste(out, plan, &leaf, err);
    if (rc < 0) leat__taste_free(out);
    return rc;
}

void leat__taste_free(leat__taste **handle) {
    leat__taste *taste = *handle;
    *handle = NULL;
    if (!taste) return;
    for (int k = 0; taste->part && k < taste->plan->n_parts; k++) leat__taste_free(&taste->part[k]);
    if (taste->plan->stream) leat__stream_rewind(taste->plan->stream);
    leat__tools_delete(&taste->tools);
    leat__free(taste->part);
    leat__buf_free(&taste->record);
    leat__free(taste);
}

static int next_any(leat__taste *taste, int *n, leat_error *err);

static int next_combined(leat__taste *taste, int *n, leat_error *err) {
    const leat__plan *plan = taste->plan;
    const int parts = plan->joining.kind == LEAT_BRANCH_ZIP ? plan->n_parts : 1;
    for (int k = 0; k < parts; k++) {
        int its_n = 0;
        const int rc = next_any(taste->part[k], &its_n, err);
        if (rc != 0) return rc;
        memcpy(taste->piece + *n, taste->part[k]->piece, (size_t)its_n * sizeof *taste->piece);
        *n += its_n;
    }
    return 0;
}

static int next_one(leat__taste *taste, int *n, leat_error *err) {
    leat__plan *plan = taste->plan;
    leat__piece *piece = taste->piece;
    *n = 0;
    if (plan->n_parts) return next_combined(taste, n, err);
    *n = 1;
    *piece = (leat__piece){.leaf = taste->leaf};
    if (!plan->stream) {
        if (taste->next >= leat__order_length(&plan->order)) return 1;
        piece->numbered = true;
        piece->number = leat__order_map(&plan->order, 0, taste->next++).sample;
        return 0;
    }
    const int rc = leat__stream_next(plan->stream, &taste->record, err);
    if (rc != 0) return rc;
    leat__stream_where(plan->stream, &piece->shard, &piece->number);
    piece->data = taste->record.data;
    piece->bytes = taste->record.size;
    return 0;
}

static int next_any(leat__taste *taste, int *n, leat_error *err) {
    for (;;) {
        leat__piece own[LEAT_NODES_MAX];
        int rc = next_one(taste, n, err);
        if (rc != 0 || !taste->tools) return rc;
        for (int i = 0; i < *n; i++) {
            own[i] = taste->piece[i];
            own[i].leaf -= taste->leaf; /* the plan counts its own */
        }
        rc = leat__stream_keeps(taste->tools, &(leat__where){.piece = own, .n_pieces = *n}, err);
        if (rc != 0) return rc < 0 ? rc : 0;
    }
}

int leat__taste_next(leat__taste *taste, const leat__piece **piece, int *n, leat_error *err) {
    *piece = taste->piece;
    return next_any(taste, n, err);
}
