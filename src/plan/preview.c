/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/preview.h"

#include "plan/select.h"

struct leat__preview {
    leat__plan *plan;
    int leaf;             /* the number of its first plain source              */
    uint64_t next;        /* samples so far; of a stream all that were read    */
    leat__buf record;     /* of a stream                                       */
    leat__tools *tools;   /* for filters; NULL without them                    */
    leat__preview **part; /* of a combination                                  */
    leat__piece piece[LEAT_STREAMS_MAX];
};

static int n_parts(const leat__preview *preview) {
    return preview->plan->stream ? preview->plan->stream->n_parts : 0;
}

static int make(leat__preview **out, leat__plan *plan, int *leaf, leat_error *err) {
    leat__preview *preview = *out = leat__alloc(LEAT_MEM_PLAN, sizeof *preview);
    if (!preview) return leat__fail_memory(err, sizeof *preview, "a plan");
    preview->plan = plan;
    preview->leaf = *leaf;
    preview->record.kind = LEAT_MEM_WINDOW;
    if (plan->stream && plan->stream->n_filters && !(preview->tools = leat__tools_new(plan, err)))
        return LEAT_ERR_MEMORY;
    if (!plan->stream) LEAT_TRY(leat__order_allocate(&plan->order, err));
    const size_t n = (size_t)n_parts(preview);
    if (n == 0) {
        *leaf += leat__source_leaves(plan->source);
        return 0;
    }
    preview->part = leat__alloc(LEAT_MEM_PLAN, n * sizeof(leat__preview *));
    if (!preview->part) return leat__fail_memory(err, n * sizeof(leat__preview *), "a plan");
    for (size_t k = 0; k < n; k++) LEAT_TRY(make(&preview->part[k], &plan->stream->part[k], leaf, err));
    return 0;
}

int leat__preview_new(leat__preview **out, leat__plan *plan, leat_error *err) {
    int leaf = 0;
    const int rc = make(out, plan, &leaf, err);
    if (rc < 0) leat__preview_free(out);
    return rc;
}

void leat__preview_free(leat__preview **handle) {
    leat__preview *preview = *handle;
    *handle = NULL;
    if (!preview) return;
    for (int k = 0; preview->part && k < n_parts(preview); k++) leat__preview_free(&preview->part[k]);
    if (preview->plan->stream && preview->plan->stream->shards)
        leat__shards_rewind(preview->plan->stream->shards);
    leat__tools_delete(&preview->tools);
    leat__free(preview->part);
    leat__buf_free(&preview->record);
    leat__free(preview);
}

static int next_record(leat__preview *preview, leat_error *err) {
    leat__stream_plan *stream = preview->plan->stream;
    for (;;) {
        leat__piece own = {0};
        if (preview->next >= leat__stream_plan_wants(stream)) return 1;
        const uint64_t number = preview->next++;
        const int rc = leat__shards_next(stream->shards, &preview->record, err);
        if (rc != 0) return rc;
        if (!leat__stream_plan_passes(stream, number)) continue;
        leat__shards_where(stream->shards, &own.shard, &own.number);
        own.data = preview->record.data;
        own.bytes = preview->record.size;
        preview->piece[0] = own;
        preview->piece[0].leaf = preview->leaf;
        if (!preview->tools) return 0;
        const leat__where at = {.piece = &own, .n_pieces = 1, .sample = number};
        const int keeps = leat__filters_keep(preview->tools, &at, err);
        if (keeps != 0) return keeps < 0 ? keeps : 0;
    }
}

static int next_sample(leat__preview *preview, int *n, leat_error *err) {
    leat__plan *plan = preview->plan;
    *n = 1;
    if (!plan->stream) {
        if (preview->next >= leat__order_length(&plan->order)) return 1;
        preview->piece[0] = (leat__piece){.leaf = preview->leaf,
                                          .numbered = true,
                                          .number = leat__order_map(&plan->order, 0, preview->next++).sample};
        return 0;
    }
    if (plan->stream->shards) return next_record(preview, err);
    const int parts = plan->stream->kind == LEAT_BRANCH_ZIP ? plan->stream->n_parts : 1;
    *n = 0;
    for (int k = 0; k < parts; k++) {
        int its_n = 0;
        const int rc = next_sample(preview->part[k], &its_n, err);
        if (rc != 0) return rc;
        memcpy(preview->piece + *n, preview->part[k]->piece, (size_t)its_n * sizeof *preview->piece);
        *n += its_n;
    }
    return 0;
}

int leat__preview_next(leat__preview *preview, const leat__piece **piece, int *n, leat_error *err) {
    *piece = preview->piece;
    return next_sample(preview, n, err);
}
